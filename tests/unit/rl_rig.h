/* Batches for the tests of src/rl: rows appended one by one, tokens with given differences. */
#ifndef RL_RIG_H
#define RL_RIG_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rl/methods/select.h"

#define RIG_ROWS   4096
#define RIG_TOKENS 65536

struct rig {
    struct rl_row row[RIG_ROWS];
    struct rl_rows rows;
    struct rl_tokens t;
    struct rl_counts counts;
    float mu[RIG_TOKENS], old[RIG_TOKENS], theta[RIG_TOKENS], ref[RIG_TOKENS], entropy[RIG_TOKENS];
    float tis[RIG_TOKENS], adv[RIG_TOKENS], coef[RIG_TOKENS], eta[RIG_TOKENS];
    uint8_t keep[RIG_TOKENS];
};

static inline void rig_clear(struct rig *g)
{
    g->rows = (struct rl_rows){.n = 0, .row = g->row};
    g->counts = (struct rl_counts){0};
    g->t = (struct rl_tokens){
        .mu = g->mu, .old = g->old, .theta = g->theta, .keep = g->keep, .coef = g->coef};
}

static inline struct rig *rig_new(void)
{
    struct rig *g = calloc(1, sizeof *g);
    assert_non_null(g);
    rig_clear(g);
    return g;
}

/* A live, kept row; its group, rollout and turn ascend. */
static inline struct rl_row *rig_row(struct rig *g, uint32_t group, uint32_t rollout, uint32_t turn,
                                     double reward, size_t length)
{
    assert_true(g->rows.n < RIG_ROWS && g->t.n + length <= RIG_TOKENS);
    struct rl_row *r = &g->row[g->rows.n++];
    *r = (struct rl_row){.group = group,
                         .rollout = rollout,
                         .turn = turn,
                         .flags = RL_REAL | RL_KEPT,
                         .reward = reward,
                         .ret = reward,
                         .weight = 1,
                         .coverage = 1,
                         .first = g->t.n,
                         .length = length};
    for (size_t k = 0; k < length; k++) {
        g->keep[r->first + k] = 1;
        g->mu[r->first + k] = g->old[r->first + k] = g->theta[r->first + k] = -1;
    }
    g->t.n += length;
    return r;
}

static inline struct rl_row *rig_find(struct rig *g, uint32_t group, uint32_t rollout,
                                      uint32_t turn)
{
    for (size_t i = 0; i < g->rows.n; i++) {
        struct rl_row *r = &g->row[i];
        if (r->group == group && r->rollout == rollout && r->turn == turn) {
            return r;
        }
    }
    fail_msg("no row %u, %u, %u", group, rollout, turn);
    return NULL;
}

/* Four rollouts of one problem: a regression at (3, 2) is void, rollout 4 has two turns. */
static inline void rig_four(struct rig *g)
{
    static const double r[4][3] = {{0, 2.02, 3.30}, {0, 0, 0}, {2.10, 0, 2.60}, {1.90, 2.40, 0}};
    rig_clear(g);
    for (uint32_t i = 1; i <= 4; i++) {
        for (uint32_t t = 1; t <= (i == 4 ? 2 : 3); t++) {
            rig_row(g, 0, i, t, r[i - 1][t - 1], 1);
        }
    }
    struct rl_return_options o;
    rl_return_defaults(&o, 3);
    o.void_turns = true;
    rl_void_mark(&g->rows, &o, &g->counts);
    rl_returns(&g->rows, &o, &g->counts);
    rl_rows_keep_live(&g->rows, &g->t);
}

static inline void near_within(double got, double want, double within, const char *file, int line)
{
    if (!(fabs(got - want) <= within)) {
        print_error("%s:%d: %.9g is not %.9g within %g\n", file, line, got, want, within);
        fail();
    }
}
#define assert_near(got, want)        near_within(got, want, 1e-4, __FILE__, __LINE__)
#define assert_close(got, want, with) near_within(got, want, with, __FILE__, __LINE__)

static inline const struct rl_estimator *rig_estimator(const char *name)
{
    const struct rl_estimator *e = NULL;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(rl_estimator_find(name, &e, &err), KG_OK);
    return e;
}

/* Advantages by an estimator's name, n1 = zero. */
static inline void rig_advantage(struct rig *g, const char *name, enum rl_set set)
{
    struct rl_adv_options o;
    rl_adv_defaults(&o);
    o.estimator = rig_estimator(name);
    o.set = set;
    rl_advantage(&g->rows, &g->t, &o, &g->counts);
}

#endif
