/* A record in memory: creation, verdict, error, evidence. */
#include "gym/record/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Code (200 kB at most) twice over, bounded output, messages, names. */
#define RECORD_ARENA_BYTES ((size_t)4 << 20)
#define MESSAGE_BYTES      2000

void kg_record_init(struct kg_record *r)
{
    memset(r, 0, sizeof *r);
    kg_arena_init(&r->arena, "record", RECORD_ARENA_BYTES);
    r->problem.level = -1;
    r->candidate.bytes = -1;
    r->candidate.flags = json_array();
    r->compiled = r->correct = -1;
    for (int i = 0; i < KG_ST_COUNT; i++) {
        r->stages[i].ns = -1;
    }
    r->timing.candidate_ns = r->timing.reference_ns = r->timing.overhead_ns = -1;
    r->timing.warmups = r->timing.voided = r->timing.shortest_ns = -1;
    r->timing.cv = NAN;
    r->coverage = r->shape_generality = NAN;
    r->league.eligible = true;
    r->league.findings = json_array();
    r->evidence = json_array();
    r->peak_bytes = r->setup_ns = -1;
    r->isolation.level = -1;
    r->environment = json_object();
    r->config = json_object();
    r->secret = json_object();
}

void kg_record_deinit(struct kg_record *r)
{
    json_t **owned[] = {&r->candidate.flags, &r->timing.samples, &r->timing.claims,
                        &r->league.findings, &r->evidence,       &r->environment,
                        &r->config,          &r->secret};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        json_decref(*owned[i]);
        *owned[i] = NULL;
    }
    kg_arena_deinit(&r->arena);
}

void kg_record_verdict(struct kg_record *r, enum kg_verdict v, const char *reason, const char *fmt,
                       ...)
{
    KG_ASSERT(kg_reason_valid(v, reason));
    KG_ASSERT(!r->has_error);
    char text[MESSAGE_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *p = text; *p != '\0'; p++) { /* one line, whatever was quoted in it */
        if (*p == '\n' || *p == '\r') {
            *p = ' ';
        }
    }
    struct kg_err err = KG_ERR_INIT;
    char *kept_reason =
        reason == NULL ? NULL : kg_arena_dup(&r->arena, reason, strlen(reason), &err);
    char *kept = kg_arena_dup(&r->arena, text, strlen(text), &err);
    r->verdict = v;
    r->reason = reason == NULL || kept_reason != NULL ? kept_reason : reason;
    r->message = kept != NULL ? kept : "(the record's memory is used up)";
}

void kg_record_error(struct kg_record *r, const struct kg_err *e)
{
    KG_ASSERT(e->code != KG_OK);
    r->has_error = true;
    r->error = *e;
    kg_err_one_line(&r->error);
    r->verdict = KG_V_NONE;
    r->reason = r->message = NULL;
    r->nrewards = 0;
}

bool kg_record_is_candidates(const struct kg_record *r)
{
    return r->has_error && r->error.blame == KG_BLAME_CANDIDATE;
}

const json_t *kg_record_find(const struct kg_record *r, const char *field, const char *text)
{
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        const char *has = json_string_value(json_object_get(e, field));
        if (has != NULL && strcmp(has, text) == 0) {
            return e;
        }
    }
    return NULL;
}

void kg_record_evidence(struct kg_record *r, const char *check, json_t *fields)
{
    json_t *entry = json_object();
    json_object_set_new(entry, "check", kg_json_text(check, strlen(check)));
    const char *key;
    json_t *value;
    json_object_foreach(fields, key, value)
    {
        if (strcmp(key, "check") != 0) {
            json_object_set(entry, key, value);
        }
    }
    json_decref(fields);
    json_array_append_new(r->evidence, entry);
}

void kg_record_limit(struct kg_record *r, double value, const char *unit)
{
    kg_record_evidence(r, "limit", json_pack("{s:f, s:s}", "value", value, "unit", unit));
}

void kg_record_signal(struct kg_record *r, int signal, const char *access)
{
    kg_record_evidence(r, "signal", json_pack("{s:i, s:s?}", "signal", signal, "access", access));
}

bool kg_record_untimed(const struct kg_record *r)
{
    return r->stages[KG_ST_TIMING].status == KG_SS_PASS && r->timing.status != KG_T_MEASURED &&
           r->timing.claims == NULL;
}

bool kg_record_is_wide(const struct kg_record *r, double widest)
{
    double lo = r->speedup.lo, hi = r->speedup.hi;
    return r->has_speedup && widest > 0 && !(isfinite(lo) && isfinite(hi) && hi <= widest * lo);
}
