/* Statistics over the same problems: their resamples are drawn once for some of them at a time. */
#include <math.h>
#include <stdlib.h>

#include "trial/bench/tables_parts.h"

enum { ROOM = 64, ARRAYS = 4 }; /* ROOM: 5 MB of values at 10 000 resamples */

struct tr_stats {
    size_t problems, resamples, n;
    uint64_t seed;
    struct rl_statistic s[ROOM];
    bool exps[ROOM];
    struct rl_interval *to[ROOM], out[ROOM];
    double *sums; /* [ROOM][ARRAYS][problems] */
    double *work; /* [ROOM][resamples] */
    size_t *draw; /* [problems] */
};

enum kg_code tr_stats_create(size_t problems, const struct tr_tables_options *o,
                             struct tr_stats **out, struct kg_err *err)
{
    struct tr_stats *p = calloc(1, sizeof *p);
    *out = p;
    if (p != NULL) {
        p->problems = problems;
        p->resamples = o->resamples > 0 ? o->resamples : RL_BOOTSTRAP_RESAMPLES;
        p->seed = o->seed;
        p->sums = calloc(ROOM * ARRAYS * problems, sizeof *p->sums);
        p->work = calloc(ROOM * p->resamples, sizeof *p->work);
        p->draw = calloc(problems, sizeof *p->draw);
    }
    if (p == NULL || p->sums == NULL || p->work == NULL || p->draw == NULL) {
        tr_stats_destroy(p);
        *out = NULL;
        return kg_fail_memory(err, KG_E_HOST, "no memory for the intervals of %zu problems",
                              problems);
    }
    return KG_OK;
}

void tr_stats_destroy(struct tr_stats *p)
{
    if (p != NULL) {
        free(p->sums);
        free(p->work);
        free(p->draw);
        free(p);
    }
}

struct tr_stats_room tr_stats_room(struct tr_stats *p)
{
    if (p->n == ROOM) {
        tr_stats_run(p);
    }
    double *at = p->sums + p->n * ARRAYS * p->problems;
    return (struct tr_stats_room){at, at + p->problems, at + 2 * p->problems, at + 3 * p->problems};
}

void tr_stats_add(struct tr_stats *p, const struct rl_statistic *s, bool exps,
                  struct rl_interval *to)
{
    KG_ASSERT(p->n < ROOM);
    p->s[p->n] = *s;
    p->exps[p->n] = exps;
    p->to[p->n] = to;
    p->n++;
}

void tr_stats_run(struct tr_stats *p)
{
    rl_bootstrap_list(p->s, p->n, p->problems, p->seed, p->resamples, p->out, p->work, p->draw);
    for (size_t i = 0; i < p->n; i++) {
        struct rl_interval x = p->out[i];
        if (p->problems < 2) { /* one problem says nothing about the spread between problems */
            x.lo = x.hi = (double)NAN;
        }
        if (p->exps[i]) {
            x.value = exp(x.value);
            x.lo = exp(x.lo);
            x.hi = exp(x.hi);
        }
        *p->to[i] = x;
    }
    p->n = 0;
}
