/* The record as JSON: every key of kgym.record/1, in the order of docs/record.md. Nothing in the
 * result is shared with the record. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "gym/record/record.h"

static json_t *text_or_null(const char *s)
{
    return s == NULL ? json_null() : kg_json_text(s, strlen(s));
}

static json_t *filled_or_null(const char *s)
{
    return s[0] == '\0' ? json_null() : kg_json_text(s, strlen(s));
}

static json_t *count_or_null(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static json_t *flag_or_null(int yes)
{
    return yes < 0 ? json_null() : json_boolean(yes);
}

static json_t *copy_or_null(const json_t *j)
{
    return j == NULL ? json_null() : json_deep_copy(j);
}

static json_t *copy_or_list(const json_t *j)
{
    return j == NULL ? json_array() : json_deep_copy(j);
}

static void put(json_t *object, const char *key, json_t *value)
{
    int rc = json_object_set_new(object, key, value);
    KG_ASSERT(rc == 0);
}

static json_t *problem_json(const struct kg_record *r)
{
    json_t *o = json_object();
    put(o, "name", text_or_null(r->problem.name));
    put(o, "suite", text_or_null(r->problem.suite));
    put(o, "level", count_or_null(r->problem.level));
    put(o, "language", text_or_null(r->problem.language));
    put(o, "entry", text_or_null(r->problem.entry));
    put(o, "sha256", text_or_null(r->problem.sha256));
    return o;
}

static json_t *candidate_json(const struct kg_record *r)
{
    json_t *o = json_object();
    put(o, "language", text_or_null(r->candidate.language));
    put(o, "sha256", filled_or_null(r->candidate.sha256));
    put(o, "bytes", count_or_null(r->candidate.bytes));
    put(o, "rule", text_or_null(r->candidate.rule));
    put(o, "code", text_or_null(r->candidate.code));
    put(o, "flags", copy_or_list(r->candidate.flags));
    return o;
}

static json_t *error_json(const struct kg_record *r)
{
    if (!r->has_error) {
        return json_null();
    }
    json_t *o = json_object();
    put(o, "code", text_or_null(kg_code_name(r->error.code)));
    put(o, "blame", text_or_null(kg_blame_name(r->error.blame)));
    put(o, "message", text_or_null(r->error.message));
    return o;
}

/* null as long as no stage has run: the problem was not found, say. */
static json_t *stage_json(const struct kg_record *r)
{
    bool entered = r->stage != KG_ST_EXTRACT;
    for (int i = 0; i < KG_ST_COUNT; i++) {
        enum kg_stage_status s = r->stages[i].status;
        entered = entered || s == KG_SS_PASS || s == KG_SS_FAIL;
    }
    return entered ? json_string(kg_stage_name(r->stage)) : json_null();
}

static json_t *stages_json(const struct kg_record *r)
{
    json_t *list = json_array();
    for (int i = 0; i < KG_ST_COUNT; i++) {
        json_t *o = json_object();
        put(o, "name", json_string(kg_stage_name((enum kg_stage)i)));
        put(o, "status", json_string(kg_stage_status_name(r->stages[i].status)));
        put(o, "ns", count_or_null(r->stages[i].ns));
        if (i == KG_ST_COMPILE) {
            put(o, "cached", json_boolean(r->stages[i].cached));
        }
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *speedup_json(const struct kg_record *r)
{
    if (!r->has_speedup) {
        return json_null();
    }
    KG_ASSERT(isfinite(r->speedup.ratio) && r->speedup.ratio > 0);
    json_t *o = json_object();
    put(o, "ratio", json_real(r->speedup.ratio));
    put(o, "lo", kg_json_real(r->speedup.lo));
    put(o, "hi", kg_json_real(r->speedup.hi));
    put(o, "pairs", count_or_null(r->speedup.pairs));
    return o;
}

static json_t *timing_json(const struct kg_timing *t)
{
    json_t *o = json_object();
    put(o, "status", json_string(kg_timing_status_name(t->status)));
    put(o, "why", text_or_null(t->why));
    put(o, "preset", text_or_null(t->preset));
    put(o, "candidate_ns", count_or_null(t->candidate_ns));
    put(o, "reference_ns", count_or_null(t->reference_ns));
    put(o, "overhead_ns", count_or_null(t->overhead_ns));
    put(o, "shortest_ns", count_or_null(t->shortest_ns));
    put(o, "cv", kg_json_real(t->cv));
    put(o, "warmups", count_or_null(t->warmups));
    put(o, "voided", count_or_null(t->voided));
    put(o, "samples", copy_or_null(t->samples));
    put(o, "claims", copy_or_null(t->claims));
    return o;
}

static json_t *league_json(const struct kg_record *r)
{
    json_t *o = json_object();
    put(o, "name", text_or_null(r->league.name));
    put(o, "eligible", json_boolean(r->league.eligible));
    put(o, "findings", copy_or_list(r->league.findings));
    return o;
}

static json_t *output_json(const struct kg_record *r)
{
    json_t *o = json_object();
    put(o, "stdout", text_or_null(r->output.stdout_text));
    put(o, "stderr", text_or_null(r->output.stderr_text));
    put(o, "bytes", count_or_null(r->output.bytes));
    return o;
}

static json_t *steps_json(uint32_t bits)
{
    json_t *list = json_array();
    for (int i = 0; i < KG_STEP_COUNT; i++) {
        if ((bits >> i & 1) != 0) {
            json_array_append_new(list, json_string(kg_step_name(1 << i)));
        }
    }
    return list;
}

static json_t *isolation_json(const struct kg_isolation *i)
{
    static const char *const levels[] = {"L0", "L1", "L2", "L3"};
    json_t *o = json_object();
    KG_ASSERT(i->level <= 3);
    put(o, "level", i->level < 0 ? json_null() : json_string(levels[i->level]));
    put(o, "has", steps_json(i->has));
    put(o, "lacks", steps_json(i->lacks));
    return o;
}

static json_t *rewards_json(const struct kg_record *r)
{
    json_t *all = json_object();
    for (int i = 0; i < r->nrewards; i++) {
        const struct kg_reward *w = &r->rewards[i];
        KG_ASSERT(isfinite(w->value));
        json_t *terms = json_object();
        for (int k = 0; k < w->nterms; k++) {
            put(terms, w->term[k].name, json_real(w->term[k].value));
        }
        json_t *one = json_object();
        put(one, "value", json_real(w->value));
        put(one, "terms", terms);
        put(one, "why", filled_or_null(w->why));
        put(all, w->name, one);
    }
    return all;
}

static void put_verdict(json_t *o, const struct kg_record *r)
{
    KG_ASSERT(!r->has_error || r->verdict == KG_V_NONE);
    put(o, "verdict", text_or_null(kg_verdict_name(r->verdict)));
    put(o, "reason", text_or_null(r->reason));
    put(o, "message", text_or_null(r->message));
    put(o, "error", error_json(r));
    put(o, "stage", stage_json(r));
    put(o, "stages", stages_json(r));
    put(o, "compiled", flag_or_null(r->compiled));
    put(o, "correct", flag_or_null(r->correct));
}

json_t *kg_record_json(const struct kg_record *r, bool public_only)
{
    json_t *o = json_object();
    put(o, "schema", json_string(KG_RECORD_SCHEMA));
    put(o, "id", filled_or_null(r->id));
    put(o, "batch_id", text_or_null(r->batch_id));
    put(o, "replay", filled_or_null(r->replay));
    put(o, "input_sha256", filled_or_null(r->input_sha256));
    put(o, "problem", problem_json(r));
    put(o, "candidate", candidate_json(r));
    put_verdict(o, r);
    put(o, "speedup", speedup_json(r));
    put(o, "timing", timing_json(&r->timing));
    put(o, "coverage", kg_json_real(r->coverage));
    put(o, "shape_generality", kg_json_real(r->shape_generality));
    put(o, "league", league_json(r));
    put(o, "evidence", copy_or_list(r->evidence));
    put(o, "output", output_json(r));
    put(o, "peak_bytes", count_or_null(r->peak_bytes));
    put(o, "setup_ns", count_or_null(r->setup_ns));
    put(o, "isolation", isolation_json(&r->isolation));
    put(o, "environment", copy_or_null(r->environment));
    put(o, "config", copy_or_null(r->config));
    put(o, "rewards", rewards_json(r));
    if (!public_only) {
        put(o, "private", copy_or_null(r->secret));
    }
    return o;
}
