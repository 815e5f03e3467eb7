/* Names of verdicts and timing states in records, and the reasons that each verdict allows. */
#include <string.h>

#include "gym/record/record.h"

static const char *const verdict_names[KG_V_COUNT] = {
    [KG_V_OK] = "ok",
    [KG_V_NO_CODE] = "no_code",
    [KG_V_REJECTED] = "rejected",
    [KG_V_COMPILE_ERROR] = "compile_error",
    [KG_V_CRASH] = "crash",
    [KG_V_TIMEOUT] = "timeout",
    [KG_V_OUT_OF_MEMORY] = "out_of_memory",
    [KG_V_WRONG] = "wrong",
    [KG_V_HACK] = "hack",
};
static const char *const stage_names[KG_ST_COUNT] = {"extract", "static", "compile", "tiny",
                                                     "full",    "timing", "profile"};
static const char *const status_names[] = {
    [KG_SS_SKIP] = "skip", [KG_SS_PASS] = "pass", [KG_SS_FAIL] = "fail", [KG_SS_OFF] = "off"};
static const char *const timing_names[] = {[KG_T_OFF] = "off",
                                           [KG_T_MEASURED] = "measured",
                                           [KG_T_NOT_MEASURED] = "not_measured",
                                           [KG_T_NOT_TRUSTED] = "not_trusted"};

/* The table of docs/record.md. Verdicts without a row here have a rule of their own below. */
static const char *const reasons[KG_V_COUNT][16] = {
    [KG_V_NO_CODE] = {"empty", "no_block", "missing_entry", "thinking_only", "diff", "cut_off"},
    [KG_V_COMPILE_ERROR] = {"syntax", "link", "missing_entry", "load", "limits"},
    [KG_V_CRASH] = {"signal", "exit", "exception", "device", "protocol"},
    [KG_V_OUT_OF_MEMORY] = {"host", "device"},
    [KG_V_WRONG] = {"value", "precision", "nonfinite", "nondeterministic", "out_of_bounds",
                    "input_modified", "unwritten", "unordered", "shape", "dtype", "device",
                    "structure", "alias", "state", "params", "variant"},
    [KG_V_HACK] = {"replay", "stale", "async", "clock", "tamper", "floor", "decoy", "fallback",
                   "phase", "escape", "channel", "poison", "delegation"},
};

static int find(const char *const *names, int n, const char *name)
{
    for (int i = 0; name != NULL && i < n; i++) {
        if (names[i] != NULL && strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *kg_verdict_name(enum kg_verdict v)
{
    KG_ASSERT(v >= KG_V_NONE && v < KG_V_COUNT);
    return verdict_names[v];
}

bool kg_verdict_parse(const char *name, enum kg_verdict *out)
{
    int i = find(verdict_names, KG_V_COUNT, name);
    if (i >= 0) {
        *out = (enum kg_verdict)i;
    }
    return i >= 0;
}

const char *kg_stage_name(enum kg_stage s)
{
    KG_ASSERT(s >= KG_ST_EXTRACT && s < KG_ST_COUNT);
    return stage_names[s];
}

bool kg_stage_parse(const char *name, enum kg_stage *out)
{
    int i = find(stage_names, KG_ST_COUNT, name);
    if (i >= 0) {
        *out = (enum kg_stage)i;
    }
    return i >= 0;
}

const char *kg_stage_status_name(enum kg_stage_status s)
{
    KG_ASSERT(s >= KG_SS_SKIP && s <= KG_SS_OFF);
    return status_names[s];
}

bool kg_stage_status_parse(const char *name, enum kg_stage_status *out)
{
    int i = find(status_names, KG_SS_OFF + 1, name);
    if (i >= 0) {
        *out = (enum kg_stage_status)i;
    }
    return i >= 0;
}

const char *kg_timing_status_name(enum kg_timing_status s)
{
    KG_ASSERT(s >= KG_T_OFF && s <= KG_T_NOT_TRUSTED);
    return timing_names[s];
}

bool kg_timing_status_parse(const char *name, enum kg_timing_status *out)
{
    int i = find(timing_names, KG_T_NOT_TRUSTED + 1, name);
    if (i >= 0) {
        *out = (enum kg_timing_status)i;
    }
    return i >= 0;
}

/* Rule ids are the static check's; the record asks only that they look like one. */
static bool is_rule_id(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n < 64 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == n;
}

bool kg_reason_valid(enum kg_verdict v, const char *reason)
{
    enum kg_stage stage;
    if (v <= KG_V_NONE || v >= KG_V_COUNT) {
        return false;
    }
    if (v == KG_V_OK || reason == NULL) {
        return v == KG_V_OK && reason == NULL;
    }
    if (v == KG_V_REJECTED) {
        return is_rule_id(reason);
    }
    if (v == KG_V_TIMEOUT) {
        return kg_stage_parse(reason, &stage);
    }
    return find(reasons[v], sizeof reasons[v] / sizeof reasons[v][0], reason) >= 0;
}
