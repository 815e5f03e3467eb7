/* Drives policy and judge: tokens come from one, verdicts from the other, and each moves its own
 * trajectory on. */
#include "rl/rollout/rollout.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define REPLY_BYTES (1u << 20)
#define LOOK_MS     200 /* between two looks at cancel */

struct drive {
    struct rl_rollouts *r;
    const struct rl_talker *talker;
    struct rl_policy *policy;
    struct rl_judge *judge;
    const struct rl_chain *chains;
    int groups, begun; /* groups that have begun */
    int live, left;    /* trajectories that hold a conversation; that have not ended */
    int drawing;       /* of those that live */
    const struct rl_rollout_options *o;
    struct rl_rollout_stats *stats;
    struct lm_ids ids; /* scratch */
    struct kg_buf text;
};

enum kg_code rl_rollouts_create(int cap, int max_tokens, int max_live, struct rl_rollouts **out,
                                struct kg_err *err)
{
    size_t n = (size_t)cap * (size_t)max_tokens;
    struct rl_rollouts *r = calloc(1, sizeof *r);
    *out = NULL;
    if (r != NULL) {
        *r = (struct rl_rollouts){.cap = cap, .max_tokens = max_tokens, .max_live = max_live};
        r->walk = calloc((size_t)cap, sizeof *r->walk);
        r->ids = calloc(n, sizeof *r->ids);
        r->mu = calloc(n, sizeof *r->mu);
        r->events = calloc((size_t)max_live, sizeof *r->events);
        r->request = calloc((size_t)max_live, sizeof *r->request);
        r->conversation = calloc((size_t)max_live, sizeof *r->conversation);
    }
    if (r == NULL || r->walk == NULL || r->ids == NULL || r->mu == NULL || r->events == NULL ||
        r->request == NULL || r->conversation == NULL) {
        rl_rollouts_destroy(r);
        return kg_fail(err, KG_E_HOST, "rollouts: no memory for %d of %d tokens", cap, max_tokens);
    }
    *out = r;
    return KG_OK;
}

void rl_rollouts_destroy(struct rl_rollouts *r)
{
    if (r != NULL) {
        free(r->walk);
        free(r->ids);
        free(r->mu);
        free(r->events);
        free(r->request);
        free(r->conversation);
        free(r);
    }
}

/* --- a trajectory --- */

static void append(struct drive *d, struct rl_walk *w)
{
    KG_ASSERT(w->n + (int)d->ids.n <= d->r->max_tokens);
    memcpy(w->ids + w->n, d->ids.id, d->ids.n * sizeof *w->ids);
    memset(w->mu + w->n, 0, d->ids.n * sizeof *w->mu);
    w->n += (int)d->ids.n;
}

static void begin_turn(struct drive *d, struct rl_walk *w)
{
    struct rl_turn *t = &w->turn[w->turns++];
    *t = (struct rl_turn){.first = w->n, .finish = LM_GOING};
    t->index = rl_row_index(w->group, w->rollout, (uint32_t)w->turns, d->o->rollouts, d->o->turns);
}

static void release(struct drive *d, struct rl_walk *w)
{
    if (w->conversation >= 0) {
        d->policy->release(d->policy->self, w->conversation);
        w->conversation = -1;
        d->live--;
    }
}

static void end(struct drive *d, struct rl_walk *w, enum rl_walk_end how)
{
    release(d, w);
    w->end = how;
    d->left--;
    d->stats->infra += how == RL_WALK_INFRA;
    d->stats->defect += how == RL_WALK_DEFECT;
    d->stats->full += how == RL_WALK_FULL;
}

static enum kg_code begin_group(struct drive *d, struct kg_err *err)
{
    const struct rl_chain *chain = &d->chains[d->begun];
    uint32_t g = d->o->first + (uint32_t)d->begun++, n = d->o->rollouts;
    const struct rl_speaker who = {.chain = *chain, .rollout = 1, .turn = 1};
    uint64_t *request = d->r->request;
    int *conversation = d->r->conversation;
    lm_ids_reset(&d->ids);
    if (rl_talker_prompt(d->talker, chain, &d->ids, err) != KG_OK) {
        return err->code;
    }
    if ((int)d->ids.n + d->o->min_reply > d->r->max_tokens) {
        return kg_fail(err, KG_E_LIMIT, "a prompt of %zu tokens leaves no room in %d", d->ids.n,
                       d->r->max_tokens);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct rl_walk *w = &d->r->walk[g * n + i];
        size_t at = (size_t)(g * n + i) * (size_t)d->r->max_tokens;
        *w = (struct rl_walk){.chain = *chain, .group = g, .rollout = i + 1};
        w->ids = d->r->ids + at;
        w->mu = d->r->mu + at;
        append(d, w);
        begin_turn(d, w);
        request[i] = rl_request_id(d->o->step, w->turn[0].index);
    }
    if (d->policy->begin(d->policy->self, d->ids.id, (int)d->ids.n, &who, (int)n, request,
                         conversation, err) != KG_OK) {
        return err->code;
    }
    for (uint32_t i = 0; i < n; i++) {
        d->r->walk[g * n + i].conversation = conversation[i];
    }
    d->live += (int)n;
    d->drawing += (int)n;
    return KG_OK;
}

/* A reply is complete: it goes to the judge at once. */
static enum kg_code end_reply(struct drive *d, int i, enum lm_finish finish, struct kg_err *err)
{
    struct rl_walk *w = &d->r->walk[i];
    struct rl_turn *t = &w->turn[w->turns - 1];
    t->finish = finish;
    d->stats->cut += finish != LM_STOP;
    d->drawing--;
    if (w->turns == (int)d->o->turns) {
        release(d, w);
    }
    kg_buf_reset(&d->text);
    rl_talker_text(d->talker, w->ids + t->first, (size_t)t->length, &d->text);
    return rl_judge_submit(d->judge, i, &w->chain, d->text.data, d->text.len, err);
}

static enum kg_code take_token(struct drive *d, const struct lm_event *e, struct kg_err *err)
{
    int i = (int)((uint32_t)e->request / d->o->turns); /* the request has the index of turn 1 */
    struct rl_walk *w = &d->r->walk[i];
    KG_ASSERT(w->conversation == e->conversation && w->n == e->position && w->n < d->r->max_tokens);
    w->ids[w->n] = e->token;
    w->mu[w->n++] = (float)e->logp;
    w->turn[w->turns - 1].length++;
    d->stats->sampled++;
    return e->finish == LM_GOING ? KG_OK : end_reply(d, i, e->finish, err);
}

/* The next turn, or the end. */
static enum kg_code take_verdict(struct drive *d, int i, const struct rl_verdict *v,
                                 struct kg_err *err)
{
    struct rl_walk *w = &d->r->walk[i];
    struct rl_turn *t = &w->turn[w->turns - 1];
    t->verdict = v;
    t->shared = rl_judge_shared(d->judge, i);
    if (v->state != RL_JUDGED) {
        end(d, w, v->state == RL_DEFECT ? RL_WALK_DEFECT : RL_WALK_INFRA);
        return KG_OK;
    }
    bool fast = d->o->early_stop > 0 && v->correct && v->speedup_lo >= d->o->early_stop;
    if (w->turns == (int)d->o->turns || fast) {
        end(d, w, RL_WALK_DONE);
        return KG_OK;
    }
    lm_ids_reset(&d->ids);
    bool ended = w->ids[w->n - 1] == d->talker->end;
    if (rl_talker_feedback(d->talker, ended, v->feedback, &d->ids, err) != KG_OK) {
        return err->code;
    }
    if (w->n + (int)d->ids.n + d->o->min_reply > d->r->max_tokens) {
        end(d, w, RL_WALK_FULL);
        return KG_OK;
    }
    append(d, w);
    begin_turn(d, w);
    d->drawing++;
    const struct rl_speaker who = {
        .chain = w->chain, .rollout = w->rollout, .turn = (uint32_t)w->turns};
    return d->policy->extend(d->policy->self, w->conversation, d->ids.id, (int)d->ids.n, &who, err);
}

/* --- all of them --- */

static enum kg_code draw(struct drive *d, struct kg_err *err)
{
    int64_t began = kg_clock_ns();
    int n = d->policy->step(d->policy->self, d->r->events, d->r->max_live);
    d->stats->draw_seconds += (double)(kg_clock_ns() - began) * 1e-9;
    for (int i = 0; i < n; i++) {
        if (take_token(d, &d->r->events[i], err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

/* Takes the verdicts that are there; waits for one where nothing can be drawn. */
static enum kg_code judge(struct drive *d, bool wait, struct kg_err *err)
{
    int64_t began = kg_clock_ns();
    int ticket = 0;
    const struct rl_verdict *v = NULL;
    for (bool first = true; ticket >= 0; first = false) {
        int timeout = wait && first ? LOOK_MS : 0;
        if (rl_judge_next(d->judge, timeout, &ticket, &v, err) != KG_OK ||
            (ticket >= 0 && take_verdict(d, ticket, v, err) != KG_OK)) {
            return err->code;
        }
    }
    d->stats->judge_seconds += wait ? (double)(kg_clock_ns() - began) * 1e-9 : 0;
    return KG_OK;
}

static bool may_begin(const struct drive *d)
{
    return d->begun < d->groups && d->live + (int)d->o->rollouts <= d->r->max_live;
}

/* Is it time to draw? With cores to hold only if nothing is being judged, or if half of those that
 * live would draw: a burst with few of them costs as much as one with many. */
static bool is_due(const struct drive *d)
{
    bool some = may_begin(d) || d->policy->busy(d->policy->self);
    int would = d->drawing + (may_begin(d) ? (int)d->o->rollouts : 0);
    return some && (d->o->cores == NULL || rl_judge_pending(d->judge) == 0 || 2 * would >= d->live);
}

/* The cores of the gym, after its running evaluations: that counts as waiting for them. */
static enum kg_code hold_cores(struct drive *d, struct kg_err *err)
{
    int64_t began = kg_clock_ns();
    enum kg_code code = rl_cores_hold(d->o->cores, err);
    d->stats->judge_seconds += (double)(kg_clock_ns() - began) * 1e-9;
    return code;
}

/* Draws one token of each; with cores to hold, until nobody draws. */
static enum kg_code burst(struct drive *d, struct kg_err *err)
{
    bool hold = d->o->cores != NULL;
    enum kg_code code = hold ? hold_cores(d, err) : KG_OK;
    do {
        while (code == KG_OK && may_begin(d)) {
            code = begin_group(d, err);
        }
        code = code != KG_OK ? code : draw(d, err);
        code = code != KG_OK || !hold ? code : judge(d, false, err); /* of replies seen before */
    } while (hold && code == KG_OK && d->policy->busy(d->policy->self) &&
             !(d->o->cancel != NULL && *d->o->cancel));
    if (hold) {
        struct kg_err after = KG_ERR_INIT;
        enum kg_code released = rl_cores_release(d->o->cores, &after);
        if (code == KG_OK && released != KG_OK) {
            *err = after;
            code = released;
        }
    }
    return code;
}

static enum kg_code drive(struct drive *d, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    while (d->left > 0 && code == KG_OK) {
        if (d->o->cancel != NULL && *d->o->cancel) {
            return kg_fail(err, KG_E_CANCELLED, "interrupted");
        }
        code = is_due(d) ? burst(d, err) : KG_OK;
        code = code != KG_OK ? code : judge(d, !is_due(d), err);
    }
    return code;
}

enum kg_code rl_rollout_run(struct rl_rollouts *r, const struct rl_talker *talker,
                            struct rl_policy *policy, struct rl_judge *judge,
                            const struct rl_chain *chains, int groups,
                            const struct rl_rollout_options *o, struct rl_rollout_stats *stats,
                            struct kg_err *err)
{
    int64_t began = kg_clock_ns();
    struct drive d = {.r = r,
                      .talker = talker,
                      .policy = policy,
                      .judge = judge,
                      .chains = chains,
                      .groups = groups,
                      .o = o,
                      .stats = stats};
    d.left = groups * (int)o->rollouts;
    r->n = (int)o->first * (int)o->rollouts + d.left;
    KG_ASSERT(r->n <= r->cap && (int)o->rollouts <= r->max_live && o->turns >= 1 &&
              o->turns <= RL_TURNS_MAX);
    *stats = (struct rl_rollout_stats){0};
    lm_ids_init(&d.ids);
    kg_buf_init(&d.text, REPLY_BYTES);
    enum kg_code code = drive(&d, err);
    lm_ids_deinit(&d.ids);
    kg_buf_deinit(&d.text);
    stats->seconds = (double)(kg_clock_ns() - began) * 1e-9;
    return code;
}
