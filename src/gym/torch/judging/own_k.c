/* Empty calls in a process that nobody can have changed. What they take there is no part of what a
 * candidate's code takes later. */
#include "gym/torch/judging/own_k.h"

#include "base/clock.h"
#include "gym/timing/stats.h"
#include "gym/torch/judging/reference.h"
#include "gym/torch/runner/torch_device.h"
#include "gym/torch/runner/torch_runner.h"

#define FIRST 8 /* calls that do not count: each stream's first one is not held back */
#define SIDES 2
#define CALLS 64 /* their median errs by 0.1 us */

bool kg_tahead_may(const struct kg_task_desc *d)
{
    return !d->random && !d->updates_state;
}

static enum kg_code call(struct kg_worker *w, struct kg_tinstance *s, struct kg_trunner *side,
                         struct kg_dj_report *rep, struct kg_err *err)
{
    struct kg_torch *t = kg_torch_of(w);
    struct kg_dj_call c = {
        .port = side->port,
        .id = KG_TORCH_TIMING_ID,
        .command = KG_TC_NULL,
        .flags = KG_TF_AHEAD,
        .lent = 1 + s->ref.port, /* inputs never come into its own memory */
        .timed = true,
        .deadline_ns = kg_clock_ns() + (int64_t)(w->config.deadline_run * 1e9),
    };
    if ((t->test.run ? t->test.run : kg_dj_run)(&t->judge, &c, rep, err) != KG_OK) {
        return err->code;
    }
    if (side == &s->ref) {
        return kg_treference_check(w, side, "an empty call", rep, err);
    }
    if (rep->status == KG_DJ_ANSWERED && rep->said == KG_TA_OK) {
        return KG_OK;
    }
    kg_trunner_stop(w, side);
    return kg_fail(err, KG_E_GYM, "timing: a new runner failed (status %d, said %d)",
                   (int)rep->status, (int)rep->said);
}

static enum kg_code learn(struct kg_worker *w, struct kg_tinstance *s,
                          struct kg_trunner *const side[SIDES], struct kg_err *err)
{
    double ns[SIDES][CALLS];
    size_t n[SIDES] = {0};
    for (int i = 0; i < (FIRST + CALLS) * SIDES; i++) {
        struct kg_dj_report rep;
        int k = i % SIDES;
        if (call(w, s, side[k], &rep, err) != KG_OK) {
            return err->code;
        }
        if (!rep.loud && i >= FIRST * SIDES) {
            ns[k][n[k]++] = (double)rep.answer_ns;
        }
    }
    for (int k = 0; k < SIDES; k++) {
        side[k]->own_ns = n[k] > CALLS / 2 ? kg_median(ns[k], n[k]) : 0;
    }
    return KG_OK;
}

enum kg_code kg_town_k_learn(struct kg_worker *w, struct kg_tinstance *s, struct kg_trunner *side,
                             struct kg_err *err)
{
    struct kg_lease lease = KG_LEASE_NONE;
    struct kg_trunner *const both[] = {&s->ref, side};
    side->own_ns = 0;
    if (!w->config.timing_ahead || !kg_tahead_may(&s->desc) || kg_torch_of(w)->quiet_of != s) {
        return KG_OK;
    }
    enum kg_code code = kg_torch_take_device(w, w->config.timing_exclusive, &lease, err);
    code = code == KG_OK ? learn(w, s, both, err) : code;
    kg_torch_give_device(w, &lease);
    return code;
}
