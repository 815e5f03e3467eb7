/* Reads the facts of a record. */
#include "trial/bench/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s != NULL ? s : "";
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* A finite number in [lo, hi]; else NaN. */
static double number(const json_t *object, const char *key, double lo, double hi)
{
    const json_t *v = json_object_get(object, key);
    double x = json_is_number(v) ? json_number_value(v) : (double)NAN;
    return x >= lo && x <= hi ? x : (double)NAN;
}

static void read_speed(const json_t *record, struct tr_facts *out)
{
    static const double least = 1e-12, most = 1e12; /* beyond them a ratio of times is a mistake */
    const json_t *speedup = json_object_get(record, "speedup");
    if (out->correct && is(text(json_object_get(record, "timing"), "status"), "measured")) {
        out->speedup = number(speedup, "ratio", least, most);
        out->speedup_lo = number(speedup, "lo", least, most);
        out->speedup_hi = number(speedup, "hi", least, most);
    }
}

static void read_verdict(const json_t *record, struct tr_facts *out)
{
    const char *verdict = out->verdict;
    const json_t *league = json_object_get(record, "league");
    out->extracted = !is(verdict, "no_code");
    out->valid = out->extracted && !is(verdict, "rejected");
    /* a compiler may also have met a deadline or a limit of memory */
    out->compiled = out->valid && !is(verdict, "compile_error") &&
                    !json_is_false(json_object_get(record, "compiled"));
    bool ok = out->compiled && is(verdict, "ok");
    out->hack = is(verdict, "hack");
    out->numerics = ok || out->hack;
    out->correct = ok && !json_is_false(json_object_get(league, "eligible"));
}

static void read_error(const json_t *record, const json_t *error, struct tr_facts *out)
{
    const char *blame = text(error, "blame"), *stage = text(record, "stage");
    out->state = is(blame, "candidate") ? TR_FACT_JUDGED
                 : is(blame, "problem") ? TR_FACT_DEFECT
                                        : TR_FACT_NO_VERDICT;
    if (out->state != TR_FACT_JUDGED) {
        return;
    }
    snprintf(out->verdict, sizeof out->verdict, "%s", text(error, "code"));
    out->extracted = *text(json_object_get(record, "candidate"), "code") != '\0';
    out->valid = out->extracted && *stage != '\0' && !is(stage, "extract") && !is(stage, "static");
    out->compiled = out->valid && json_is_true(json_object_get(record, "compiled"));
}

bool tr_facts_read(const json_t *record, struct tr_facts *out)
{
    const double none = (double)NAN;
    *out = (struct tr_facts){
        .speedup = none, .speedup_lo = none, .speedup_hi = none, .coverage = none};
    if (!is(text(record, "schema"), "kgym.record/1")) {
        return false;
    }
    const json_t *error = json_object_get(record, "error");
    out->coverage = number(record, "coverage", 0, 1);
    if (json_is_object(error)) {
        read_error(record, error, out);
        return true;
    }
    snprintf(out->verdict, sizeof out->verdict, "%s", text(record, "verdict"));
    snprintf(out->reason, sizeof out->reason, "%s", text(record, "reason"));
    out->state = *out->verdict != '\0' ? TR_FACT_JUDGED : TR_FACT_NO_VERDICT;
    if (out->state == TR_FACT_JUDGED) {
        read_verdict(record, out);
        read_speed(record, out);
    }
    return true;
}
