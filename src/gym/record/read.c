/* The record back from JSON. A record file may come from anywhere, so every type, name and size is
 * checked; the first fault found is the one reported, with the key's full name. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "gym/record/reader.h"

static void read_identity(struct kg_reader *rd)
{
    static const char hex[] = "0123456789abcdef";
    static const char crockford[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    struct kg_record *r = rd->r;
    struct kg_reader in;
    const char *schema = kg_reader_text(rd, "schema");
    if (schema == NULL || strcmp(schema, KG_RECORD_SCHEMA) != 0) {
        kg_reader_fault(rd, "schema", "expected \"" KG_RECORD_SCHEMA "\"");
    }
    kg_reader_id(rd, "id", crockford, r->id, sizeof r->id);
    r->batch_id = kg_reader_string(rd, "batch_id");
    if (!rd->failed && json_object_get(rd->at, "replay") != NULL) { /* added later */
        kg_reader_id(rd, "replay", crockford, r->replay, sizeof r->replay);
    }
    kg_reader_id(rd, "input_sha256", hex, r->input_sha256, sizeof r->input_sha256);
    if (kg_reader_enter(rd, "problem", false, &in)) {
        r->problem.name = kg_reader_string(&in, "name");
        r->problem.suite = kg_reader_string(&in, "suite");
        int64_t level = kg_reader_count(&in, "level");
        r->problem.level = level > INT_MAX ? INT_MAX : (int)level;
        r->problem.language = kg_reader_string(&in, "language");
        r->problem.entry = kg_reader_string(&in, "entry");
        r->problem.sha256 = kg_reader_string(&in, "sha256");
        kg_reader_leave(rd, &in);
    }
    if (kg_reader_enter(rd, "candidate", false, &in)) {
        r->candidate.language = kg_reader_string(&in, "language");
        kg_reader_id(&in, "sha256", hex, r->candidate.sha256, sizeof r->candidate.sha256);
        r->candidate.bytes = kg_reader_count(&in, "bytes");
        r->candidate.rule = kg_reader_string(&in, "rule");
        r->candidate.code = kg_reader_string(&in, "code");
        kg_reader_copy(&in, "flags", true, false, &r->candidate.flags);
        kg_reader_leave(rd, &in);
    }
}

static void read_error(struct kg_reader *rd, struct kg_err *out)
{
    struct kg_reader in;
    if (!kg_reader_enter(rd, "error", true, &in)) {
        return;
    }
    const char *code = kg_reader_text(&in, "code"), *blame = kg_reader_text(&in, "blame"),
               *message = kg_reader_text(&in, "message");
    int c = KG_E_NEEDS_GPU, b = KG_BLAME_CANDIDATE;
    while (code != NULL && c > KG_OK && strcmp(code, kg_code_name((enum kg_code)c)) != 0) {
        c--;
    }
    while (blame != NULL && b >= 0 && strcmp(blame, kg_blame_name((enum kg_blame)b)) != 0) {
        b--;
    }
    if (code == NULL || c == KG_OK) {
        kg_reader_fault(&in, "code", "not an error code");
    } else if (blame == NULL || b < 0) {
        kg_reader_fault(&in, "blame", "expected \"host\", \"gym\", \"problem\" or \"candidate\"");
    } else if (message == NULL) {
        kg_reader_fault(&in, "message", "expected a string");
    } else {
        kg_fail(out, (enum kg_code)c, "%s", message);
        out->blame = (enum kg_blame)b;
        rd->r->has_error = true;
    }
    kg_reader_leave(rd, &in);
}

static void read_verdict(struct kg_reader *rd)
{
    struct kg_record *r = rd->r;
    const char *verdict = kg_reader_text(rd, "verdict");
    r->reason = kg_reader_string(rd, "reason");
    r->message = kg_reader_string(rd, "message");
    read_error(rd, &r->error);
    if (verdict != NULL && !kg_verdict_parse(verdict, &r->verdict)) {
        kg_reader_fault(rd, "verdict", "not a verdict");
    } else if (verdict == NULL ? r->reason != NULL : !kg_reason_valid(r->verdict, r->reason)) {
        kg_reader_fault(rd, "reason", "not a reason of this verdict");
    } else if (verdict != NULL && r->has_error) {
        kg_reader_fault(rd, "error", "a record has a verdict or an error, not both");
    }
    const char *stage = kg_reader_text(rd, "stage");
    if (stage != NULL && !kg_stage_parse(stage, &r->stage)) {
        kg_reader_fault(rd, "stage", "not a stage");
    }
}

static void read_stages(struct kg_reader *rd)
{
    const json_t *list = kg_reader_member(rd, "stages");
    if (list != NULL && json_array_size(list) != KG_ST_COUNT) {
        kg_reader_fault(rd, "stages", "expected a list of the seven stages");
    }
    for (int i = 0; i < KG_ST_COUNT && !rd->failed; i++) {
        struct kg_reader in = {.r = rd->r, .err = rd->err, .at = json_array_get(list, (size_t)i)};
        snprintf(in.where, sizeof in.where, "stages[%d].", i);
        const char *name = kg_reader_text(&in, "name"), *status = kg_reader_text(&in, "status");
        rd->r->stages[i].ns = kg_reader_count(&in, "ns");
        rd->r->stages[i].cached = json_is_true(json_object_get(in.at, "cached")); /* added later */
        if (name == NULL || strcmp(name, kg_stage_name((enum kg_stage)i)) != 0) {
            kg_reader_fault(&in, "name", "stages are listed in the order of the funnel");
        } else if (!kg_stage_status_parse(status, &rd->r->stages[i].status)) {
            kg_reader_fault(&in, "status", "expected pass, fail, skip or off");
        }
        kg_reader_leave(rd, &in);
    }
}

static void read_speed(struct kg_reader *rd)
{
    struct kg_record *r = rd->r;
    struct kg_reader in;
    if (kg_reader_enter(rd, "speedup", true, &in)) {
        r->has_speedup = true;
        r->speedup.ratio = kg_reader_real(&in, "ratio", 0);
        r->speedup.lo = kg_reader_real(&in, "lo", 0);
        r->speedup.hi = kg_reader_real(&in, "hi", 0);
        r->speedup.pairs = kg_reader_count(&in, "pairs");
        if (!(r->speedup.ratio > 0)) {
            kg_reader_fault(&in, "ratio", "expected a number above 0");
        }
        kg_reader_leave(rd, &in);
    }
    if (kg_reader_enter(rd, "timing", false, &in)) {
        if (!kg_timing_status_parse(kg_reader_text(&in, "status"), &r->timing.status)) {
            kg_reader_fault(&in, "status", "expected measured, not_measured, not_trusted or off");
        }
        r->timing.why = kg_reader_string(&in, "why");
        r->timing.preset = kg_reader_string(&in, "preset");
        r->timing.candidate_ns = kg_reader_count(&in, "candidate_ns");
        r->timing.reference_ns = kg_reader_count(&in, "reference_ns");
        r->timing.overhead_ns = kg_reader_count(&in, "overhead_ns");
        if (!rd->failed && json_object_get(in.at, "shortest_ns") != NULL) { /* added later */
            r->timing.shortest_ns = kg_reader_count(&in, "shortest_ns");
        }
        r->timing.cv = kg_reader_real(&in, "cv", 0);
        r->timing.warmups = kg_reader_count(&in, "warmups");
        if (!rd->failed && json_object_get(in.at, "voided") != NULL) { /* added later */
            r->timing.voided = kg_reader_count(&in, "voided");
        }
        kg_reader_copy(&in, "samples", true, true, &r->timing.samples);
        if (!rd->failed && json_object_get(in.at, "claims") != NULL) { /* added later */
            kg_reader_copy(&in, "claims", false, true, &r->timing.claims);
        }
        kg_reader_leave(rd, &in);
    }
}

/* Steps that this version does not know are ignored, as unknown keys are. */
static uint32_t read_steps(struct kg_reader *rd, const char *key)
{
    const json_t *list = kg_reader_member(rd, key);
    uint32_t bits = 0;
    size_t i;
    json_t *v;
    if (list != NULL && !json_is_array(list)) {
        kg_reader_fault(rd, key, "expected a list");
    }
    json_array_foreach(list, i, v)
    {
        for (int b = 0; json_is_string(v) && b < KG_STEP_COUNT; b++) {
            if (strcmp(json_string_value(v), kg_step_name(1 << b)) == 0) {
                bits |= UINT32_C(1) << b;
            }
        }
    }
    return bits;
}

static void read_isolation(struct kg_reader *rd)
{
    struct kg_reader in;
    if (!kg_reader_enter(rd, "isolation", false, &in)) {
        return;
    }
    struct kg_isolation *iso = &rd->r->isolation;
    const char *level = kg_reader_text(&in, "level");
    if (level != NULL) {
        if (level[0] != 'L' || level[1] < '0' || level[1] > '3' || level[2] != '\0') {
            kg_reader_fault(&in, "level", "expected L0, L1, L2, L3 or null");
        } else {
            iso->level = level[1] - '0';
        }
    }
    iso->has = read_steps(&in, "has");
    iso->lacks = read_steps(&in, "lacks");
    kg_reader_leave(rd, &in);
}

static void read_terms(struct kg_reader *rd, struct kg_reward *w)
{
    const json_t *terms = kg_reader_member(rd, "terms");
    if (terms == NULL || !json_is_object(terms) || json_object_size(terms) > KG_MAX_TERMS) {
        kg_reader_fault(rd, "terms", "expected an object of a few numbers");
        return;
    }
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)terms, key, v)
    {
        if (!json_is_number(v)) {
            kg_reader_fault(rd, "terms", "expected numbers");
            return;
        }
        w->term[w->nterms].name = kg_reader_keep(rd, key, strlen(key));
        w->term[w->nterms++].value = json_number_value(v);
    }
}

static void read_rewards(struct kg_reader *rd)
{
    struct kg_reader in, one;
    struct kg_record *r = rd->r;
    if (!kg_reader_enter(rd, "rewards", false, &in)) {
        return;
    }
    if (json_object_size(in.at) > KG_MAX_REWARDS) {
        kg_reader_fault(rd, "rewards", "too many");
    }
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)in.at, key, v)
    {
        if (rd->failed || !kg_reader_enter(&in, key, false, &one)) {
            break;
        }
        struct kg_reward *w = &r->rewards[r->nrewards++];
        w->name = kg_reader_keep(&one, key, strlen(key));
        const json_t *value = kg_reader_member(&one, "value");
        if (value != NULL && !json_is_number(value)) {
            kg_reader_fault(&one, "value", "expected a number");
        }
        w->value = json_number_value(value);
        read_terms(&one, w);
        const char *why = json_string_value(json_object_get(one.at, "why")); /* added later */
        snprintf(w->why, sizeof w->why, "%s", why != NULL ? why : "");
        kg_reader_leave(&in, &one);
    }
    kg_reader_leave(rd, &in);
}

static void read_output(struct kg_reader *rd)
{
    struct kg_record *r = rd->r;
    struct kg_reader in;
    if (kg_reader_enter(rd, "league", false, &in)) {
        r->league.name = kg_reader_string(&in, "name");
        int eligible = kg_reader_flag(&in, "eligible");
        r->league.eligible = eligible != 0;
        kg_reader_copy_named(&in, "findings", "rule", &r->league.findings);
        kg_reader_leave(rd, &in);
    }
    kg_reader_copy_named(rd, "evidence", "check", &r->evidence);
    if (kg_reader_enter(rd, "output", false, &in)) {
        r->output.stdout_text = kg_reader_string(&in, "stdout");
        r->output.stderr_text = kg_reader_string(&in, "stderr");
        r->output.bytes = kg_reader_count(&in, "bytes");
        kg_reader_leave(rd, &in);
    }
    r->peak_bytes = kg_reader_count(rd, "peak_bytes");
    r->setup_ns = kg_reader_count(rd, "setup_ns");
}

enum kg_code kg_record_parse(const json_t *j, struct kg_record *out, struct kg_err *err)
{
    struct kg_reader rd = {.r = out, .err = err, .at = j};
    kg_record_init(out);
    if (!json_is_object(j)) {
        kg_fail(err, KG_E_INPUT, "record: expected an object");
        rd.failed = true;
    }
    read_identity(&rd);
    read_verdict(&rd);
    read_stages(&rd);
    out->compiled = kg_reader_flag(&rd, "compiled");
    out->correct = kg_reader_flag(&rd, "correct");
    read_speed(&rd);
    out->coverage = kg_reader_share(&rd, "coverage");
    out->shape_generality = kg_reader_share(&rd, "shape_generality");
    read_output(&rd);
    read_isolation(&rd);
    kg_reader_copy(&rd, "environment", false, true, &out->environment);
    kg_reader_copy(&rd, "config", false, true, &out->config);
    read_rewards(&rd);
    if (!rd.failed && json_object_get(j, "private") != NULL) {
        kg_reader_copy(&rd, "private", false, true, &out->secret);
    }
    if (rd.failed) {
        kg_record_deinit(out);
        return err->code;
    }
    return KG_OK;
}
