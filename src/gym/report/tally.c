/* Counts a list of records: verdicts, stages, reasons, speed-ups. */
#include "gym/report/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/timing/stats.h"

bool kg_tally_has_speed(const struct kg_record *r)
{
    return r->verdict == KG_V_OK && r->has_speedup && r->timing.status == KG_T_MEASURED;
}

int kg_tally_side(const struct kg_record *r)
{
    if (isfinite(r->speedup.lo) && r->speedup.lo > 1) {
        return 1;
    }
    return isfinite(r->speedup.hi) && r->speedup.hi < 1 ? -1 : 0;
}

static enum kg_stage stage_of(const struct kg_record *r)
{
    for (int i = 0; i < KG_ST_COUNT; i++) {
        if (r->stages[i].status == KG_SS_FAIL) {
            return (enum kg_stage)i;
        }
    }
    return r->stage;
}

static void count_reason(struct kg_tally *t, const struct kg_record *r)
{
    struct kg_tally_reason one = {r->verdict, stage_of(r), r->reason != NULL ? r->reason : "", 1};
    for (size_t i = 0; i < t->nreasons; i++) {
        struct kg_tally_reason *known = &t->reasons[i];
        if (known->verdict == one.verdict && known->stage == one.stage &&
            strcmp(known->reason, one.reason) == 0) {
            known->n++;
            return;
        }
    }
    if (t->nreasons == KG_TALLY_REASONS) {
        t->reasons[KG_TALLY_REASONS - 1].reason = "other";
        t->reasons[KG_TALLY_REASONS - 1].n++;
        return;
    }
    t->reasons[t->nreasons++] = one;
}

static void count_stages(struct kg_tally *t, const struct kg_record *r)
{
    t->total_ns += r->setup_ns > 0 ? (double)r->setup_ns : 0;
    for (int i = 0; i < KG_ST_COUNT; i++) {
        size_t *const counts[] = {[KG_SS_SKIP] = &t->stages[i].skip,
                                  [KG_SS_PASS] = &t->stages[i].pass,
                                  [KG_SS_FAIL] = &t->stages[i].fail,
                                  [KG_SS_OFF] = &t->stages[i].off};
        bool untimed = i == KG_ST_TIMING && kg_record_untimed(r);
        t->stages[i].cached += r->stages[i].cached;
        ++*(untimed ? &t->stages[i].unmeasured : counts[r->stages[i].status]);
        t->total_ns += r->stages[i].ns > 0 ? (double)r->stages[i].ns : 0;
    }
}

static void count_record(struct kg_tally *t, const struct kg_record *r)
{
    count_stages(t, r);
    if (r->has_error) {
        t->errors++;
        t->blamed += kg_record_is_candidates(r);
        return;
    }
    t->verdicts[r->verdict]++;
    if (r->verdict > KG_V_OK) {
        count_reason(t, r);
    }
    if (kg_tally_has_speed(r)) {
        int side = kg_tally_side(r);
        t->measured++;
        t->faster += side > 0;
        t->slower += side < 0;
    }
}

static void medians(struct kg_tally *t, double *x)
{
    size_t n = 0;
    for (size_t k = 0; k < t->n; k++) {
        if (kg_tally_has_speed(&t->r[k])) {
            x[n++] = t->r[k].speedup.ratio;
        }
    }
    t->median_ratio = kg_median(x, n);
    for (int i = 0; i < KG_ST_COUNT; i++) {
        n = 0;
        for (size_t k = 0; k < t->n; k++) {
            enum kg_stage_status s = t->r[k].stages[i].status;
            bool ran = (s == KG_SS_PASS || s == KG_SS_FAIL) && !t->r[k].stages[i].cached;
            if (ran && t->r[k].stages[i].ns >= 0) {
                x[n++] = (double)t->r[k].stages[i].ns;
            }
        }
        t->stages[i].median_ns = kg_median(x, n);
    }
}

static int by_count(const void *a, const void *b)
{
    const struct kg_tally_reason *x = a, *y = b;
    if (x->n != y->n) {
        return x->n < y->n ? 1 : -1;
    }
    return strcmp(x->reason, y->reason);
}

enum kg_code kg_tally_of(const json_t *records, struct kg_tally *out, struct kg_err *err)
{
    memset(out, 0, sizeof *out);
    if (!json_is_array(records)) {
        return kg_fail(err, KG_E_INPUT, "report: expected a list of records");
    }
    size_t n = json_array_size(records);
    out->r = calloc(n + 1, sizeof *out->r);
    double *x = calloc(n + 1, sizeof *x);
    if (out->r == NULL || x == NULL) {
        free(x);
        kg_tally_deinit(out);
        return kg_fail(err, KG_E_HOST, "report: no memory for %zu records", n);
    }
    for (size_t i = 0; i < n; i++) {
        struct kg_record *r = &out->r[out->n];
        if (kg_record_parse(json_array_get(records, i), r, err) != KG_OK) {
            kg_err_prefix(err, "report: record %zu", i + 1);
            free(x);
            kg_tally_deinit(out);
            return err->code;
        }
        if (r->replay[0] != '\0') {
            kg_record_deinit(r);
            out->replays++;
            continue;
        }
        count_record(out, r);
        out->n++;
    }
    medians(out, x);
    qsort(out->reasons, out->nreasons, sizeof out->reasons[0], by_count);
    free(x);
    return KG_OK;
}

void kg_tally_deinit(struct kg_tally *t)
{
    for (size_t i = 0; i < t->n; i++) {
        kg_record_deinit(&t->r[i]);
    }
    free(t->r);
    t->r = NULL;
    t->n = 0;
}

size_t kg_tally_reasons_of(const struct kg_tally *t, enum kg_verdict v, struct kg_tally_reason *out)
{
    size_t n = 0;
    for (size_t i = 0; i < t->nreasons; i++) {
        size_t k = 0;
        while (k < n && strcmp(out[k].reason, t->reasons[i].reason) != 0) {
            k++;
        }
        if (t->reasons[i].verdict == v && k < n) {
            out[k].n += t->reasons[i].n;
        } else if (t->reasons[i].verdict == v) {
            out[n++] = t->reasons[i];
        }
    }
    qsort(out, n, sizeof *out, by_count);
    return n;
}
