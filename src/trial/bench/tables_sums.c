/* From turns to outcomes, and from outcomes to the sums by problem that a metric is made of. */
#include <math.h>
#include <stdlib.h>

#include "trial/bench/tables_parts.h"

static double known(double x)
{
    return isnan(x) ? 0 : x;
}

struct rl_outcome tr_outcome_of(const struct tr_bench_turn *t)
{
    const struct tr_facts *f = &t->facts;
    struct rl_outcome o = {.sampled = t->replied || f->state != TR_FACT_NONE,
                           .coverage = (double)NAN};
    if (f->state != TR_FACT_JUDGED) {
        return o;
    }
    o.extracted = f->extracted;
    o.valid = f->valid;
    o.compiled = f->compiled;
    o.correct = f->correct;
    o.numerics = f->numerics;
    o.hack = f->hack;
    o.speedup = known(f->speedup);
    o.speedup_lo = known(f->speedup_lo);
    o.coverage = f->coverage;
    return o;
}

enum kg_code tr_outcomes_make(const struct tr_bench *b, const size_t *which, size_t n,
                              struct tr_outcomes *out, struct kg_err *err)
{
    size_t each = b->samples * b->turns;
    struct rl_outcome *o = calloc(b->problems * each + 1, sizeof *o);
    *out = (struct tr_outcomes){.bench = b, .problem = calloc(b->problems + 1, sizeof(size_t))};
    out->results = (struct rl_results){0, b->samples, b->turns, o};
    KG_ASSERT(which == NULL || n <= b->problems);
    if (o == NULL || out->problem == NULL) {
        tr_outcomes_deinit(out);
        return kg_fail_memory(err, KG_E_HOST, "%s: no memory for its outcomes", b->folder);
    }
    for (size_t at = 0; at < (which != NULL ? n : b->problems); at++) {
        size_t q = which != NULL ? which[at] : at;
        if (which == NULL && b->problem[q].defect) {
            continue;
        }
        const struct tr_bench_turn *t = tr_bench_turn(b, q, 0, 0);
        for (size_t i = 0; i < each; i++) {
            *o++ = tr_outcome_of(&t[i]);
        }
        out->problem[out->results.problems++] = q;
    }
    return KG_OK;
}

void tr_outcomes_deinit(struct tr_outcomes *o)
{
    free((void *)(uintptr_t)o->results.outcome);
    free(o->problem);
    *o = (struct tr_outcomes){.problem = NULL};
}

size_t tr_outcomes_level_end(const struct tr_outcomes *o, size_t from)
{
    const struct tr_bench_problem *p = o->bench->problem;
    size_t to = from + 1;
    while (to < o->results.problems && p[o->problem[to]].level == p[o->problem[from]].level) {
        to++;
    }
    return to;
}

size_t tr_outcomes_levels(const struct tr_outcomes *o)
{
    size_t n = 0;
    for (size_t q = 0; q < o->results.problems; q = tr_outcomes_level_end(o, q)) {
        n++;
    }
    return n;
}

struct tr_outcomes tr_outcomes_part(const struct tr_outcomes *o, size_t from, size_t to)
{
    struct tr_outcomes part = *o;
    part.results.problems = to - from;
    part.results.outcome += from * o->results.samples * o->results.turns;
    part.problem += from;
    return part;
}

/* Of the outcome that counts, what a ratio of sums adds to both of them. */
static void add_ratio(const struct rl_outcome *o, enum tr_metric m, double *num, double *den)
{
    if (m == TR_M_HACK && o->numerics) {
        *num += !o->correct;
        ++*den;
    } else if (m == TR_M_COVERAGE && o->correct && !isnan(o->coverage)) {
        *num += o->coverage;
        ++*den;
    } else if ((m == TR_M_TOKENS || m == TR_M_MONEY) && o->correct) {
        ++*den;
    }
}

/* What turns 1..t of a sample took. */
static double cost(const struct tr_outcomes *o, size_t problem, size_t sample, size_t turn,
                   bool money)
{
    const struct tr_bench *b = o->bench;
    const struct tr_bench_turn *t = tr_bench_turn(b, o->problem[problem], sample, 0);
    double sum = 0;
    for (size_t i = 0; i < turn; i++) {
        double in = (double)t[i].tokens_in, out = (double)t[i].tokens_out;
        sum += money ? in * b->price_in / 1e6 + out * b->price_out / 1e6 : in + out;
    }
    return sum;
}

static void ratio(const struct tr_outcomes *o, struct rl_view v, enum tr_metric m, double *num,
                  double *den)
{
    const struct rl_results *r = &o->results;
    for (size_t q = 0; q < r->problems; q++) {
        num[q] = den[q] = 0;
        for (size_t i = 0; i < r->samples; i++) {
            const struct rl_outcome *x = rl_metrics_at(r, v, q, i);
            if (x != NULL) {
                add_ratio(x, m, &num[q], &den[q]);
            }
            if (m == TR_M_TOKENS || m == TR_M_MONEY) {
                num[q] += cost(o, q, i, v.turn, m == TR_M_MONEY);
            }
        }
    }
}

double *tr_metric_sums(const struct tr_outcomes *o, struct rl_view v, enum tr_metric m, double p,
                       double *num, double *den)
{
    const struct rl_results *r = &o->results;
    switch (m) {
    case TR_M_VALID:
        rl_metrics_rate(r, v, RL_RATE_VALID, num);
        return NULL;
    case TR_M_COMPILED:
        rl_metrics_rate(r, v, RL_RATE_COMPILED, num);
        return NULL;
    case TR_M_CORRECT:
        rl_metrics_rate(r, v, RL_RATE_CORRECT, num);
        return NULL;
    case TR_M_FAST:
    case TR_M_FAST_LO:
        (void)rl_metrics_fast(r, v, p, m == TR_M_FAST_LO, num);
        return NULL;
    case TR_M_GEOMEAN:
    case TR_M_GEO_FLOOR1:
        rl_metrics_logs(r, v, m == TR_M_GEO_FLOOR1, num, den);
        return den;
    case TR_M_HACK:
    case TR_M_COVERAGE:
    case TR_M_TOKENS:
    case TR_M_MONEY:
    case TR_M_MEDIAN:
        break;
    }
    KG_ASSERT(m != TR_M_MEDIAN);
    ratio(o, v, m, num, den);
    return den;
}
