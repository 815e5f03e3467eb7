/* The loop: begins what can begin, takes what has ended, counts it in order, decides. */
#include "trial/refine/rounds_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 200

const char tr_no_feedback[] = "Now send another, faster version that is correct, complete, in one "
                              "code block.";

const char *tr_ending_name(enum tr_ending e)
{
    static const char *const name[] = {"none", "turns",    "target", "patience", "budget",
                                       "full", "unjudged", "defect", "no_reply"};
    return name[e];
}

static enum kg_code check(const struct tr_plan *p, struct kg_err *err)
{
    if (p->rounds < 1 || p->rounds > TR_ROUNDS_MAX) {
        return kg_fail(err, KG_E_USAGE, "turns: %d is not from 1 to %d", p->rounds, TR_ROUNDS_MAX);
    }
    if (p->w < 1 || p->depth < 1) {
        return kg_fail(err, KG_E_USAGE, "w and depth: at least 1");
    }
    return KG_OK;
}

enum kg_code tr_rounds_create(const struct tr_rounds_options *o, const struct tr_maker *maker,
                              struct tr_rounds **out, struct kg_err *err)
{
    if (check(&o->plan, err) != KG_OK) {
        return err->code;
    }
    size_t n = (size_t)o->plan.rounds;
    struct tr_rounds *r = *out = calloc(1, sizeof *r);
    if (r == NULL) {
        return kg_fail(err, KG_E_HOST, "refine: no memory");
    }
    r->o = *o;
    r->context = o->plan.context;
    r->m = maker;
    r->slot = calloc(n, sizeof *r->slot);
    r->counted = calloc(n, sizeof *r->counted);
    r->past = calloc(n, sizeof *r->past);
    r->message = calloc(2 * n + 1, sizeof *r->message);
    if (!r->slot || !r->counted || !r->past || !r->message) {
        tr_rounds_destroy(r);
        *out = NULL;
        return kg_fail(err, KG_E_HOST, "refine: no memory");
    }
    return KG_OK;
}

static void drop(struct tr_rounds *r, struct tr_round *x)
{
    free(x->shown);
    free(x->again.record);
    r->m->release(r->m->self, x->result);
}

void tr_rounds_destroy(struct tr_rounds *r)
{
    if (r == NULL) {
        return;
    }
    for (int i = 0; r->counted != NULL && i < r->ncounted; i++) {
        drop(r, &r->counted[i]);
    }
    for (int i = r->ncounted; r->slot != NULL && i < r->begun; i++) {
        drop(r, &r->slot[i].r);
    }
    free(r->slot);
    free(r->counted);
    free(r->past);
    free(r->message);
    free(r);
}

enum tr_ending tr_rounds_ending(const struct tr_rounds *r)
{
    return r->ending;
}

const char *tr_rounds_why(const struct tr_rounds *r)
{
    return r->why;
}

const struct tr_round *tr_rounds_list(const struct tr_rounds *r, int *n)
{
    *n = r->ncounted;
    return r->counted;
}

/* --- beginning --- */

static int compose(struct tr_rounds *r, const struct tr_choice *c)
{
    struct tr_message *m = r->message;
    bool told = r->o.plan.strategy != TR_NO_FEEDBACK;
    int n = 0;
    m[n++] = (struct tr_message){.role = TR_USER, .text = r->o.prompt, .len = strlen(r->o.prompt)};
    for (int i = 0; i < c->n; i++) {
        const struct tr_turn *t = r->counted[c->shown[i] - 1].result;
        const char *after = told ? t->feedback : tr_no_feedback;
        m[n++] = (struct tr_message){.role = TR_ASSISTANT,
                                     .text = t->reply->text,
                                     .len = t->reply->len,
                                     .ids = t->reply->ids,
                                     .nids = t->reply->nids};
        m[n++] = (struct tr_message){.role = TR_USER, .text = after, .len = strlen(after)};
    }
    return n;
}

static enum kg_code keep_choice(struct tr_rounds *r, const struct tr_choice *c, struct slot *s,
                                int round, struct kg_err *err)
{
    free(s->r.shown);
    s->r = (struct tr_round){.round = round,
                             .sample = c->sample,
                             .turn = c->turn,
                             .nshown = c->n,
                             .shrunk = c->shrunk,
                             .tokens = c->tokens,
                             .context = r->o.plan.context};
    s->r.shown = malloc(((size_t)c->n + 1) * sizeof(int));
    if (s->r.shown == NULL) {
        return kg_fail(err, KG_E_HOST, "refine: no memory");
    }
    memcpy(s->r.shown, c->shown, (size_t)c->n * sizeof(int));
    return KG_OK;
}

static void say_full(struct tr_rounds *r, const struct tr_choice *c)
{
    snprintf(r->why, sizeof r->why,
             "a context of %lld tokens and a reply of up to %lld do not fit %lld%s",
             (long long)c->tokens, (long long)r->o.plan.reply, (long long)r->o.plan.context,
             r->o.plan.reserve > 0 ? ", with the reserve" : "");
    r->closed = r->full = true;
}

static bool affords(const struct tr_rounds *r, const struct tr_choice *c)
{
    const struct tr_maker *m = r->m;
    return m->spent(m->self)[0] == '\0' ||
           (m->kept != NULL && m->kept(m->self, c->sample, c->turn));
}

/* A round of an earlier process is chosen for the window that was known then. A smaller one, which
 * a later refusal taught, need not have room for it: lengths were less well known, too. */
static int64_t window_for(const struct tr_rounds *r, int round, bool refused)
{
    int64_t known = refused || r->o.window_of == NULL ? -1 : r->o.window_of(r->o.user, round);
    return known >= 0 ? known : r->context;
}

/* Begins the round, or says that it cannot be. refused: the model refused an earlier choice. */
static enum kg_code begin(struct tr_rounds *r, int round, bool refused, struct kg_err *err)
{
    struct slot *s = &r->slot[round - 1];
    struct tr_choice c;
    r->o.plan.context = window_for(r, round, refused);
    tr_strategy_choose(&r->o.plan, r->past, round, &c);
    bool alone = c.n == 0 || r->o.plan.strategy != TR_PARALLEL_SEQUENTIAL;
    if (c.full && alone) {
        say_full(r, &c);
        return KG_OK;
    }
    if (!c.full && !affords(r, &c)) {
        r->closed = true;
        return KG_OK;
    }
    if (keep_choice(r, &c, s, round, err) != KG_OK) {
        return err->code;
    }
    s->begun = true;
    r->begun = round > r->begun ? round : r->begun;
    if (c.full) { /* others of the conversations side by side go on */
        s->ended = true;
        return KG_OK;
    }
    r->under_way++;
    return r->m->begin(r->m->self, c.sample, c.turn, r->message, compose(r, &c), err);
}

static enum kg_code begin_all(struct tr_rounds *r, struct kg_err *err)
{
    while (!r->closed && r->begun < r->o.plan.rounds && r->m->room(r->m->self) > 0 &&
           tr_strategy_needs(&r->o.plan, r->begun + 1) <= r->ncounted) {
        if (begin(r, r->begun + 1, false, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

/* --- taking --- */

/* The model refused the context. The window is smaller than was known: *again, if the strategy can
 * show less. */
static bool yields(struct tr_rounds *r, const struct slot *s)
{
    const struct tr_plan *p = &r->o.plan;
    const struct tr_choice c = {.n = s->r.nshown};
    int64_t less = (int64_t)((double)s->r.tokens * (1 + p->reserve)) + p->reply - 1;
    if (!tr_strategy_yields(p, &c)) {
        return false;
    }
    r->context = r->context == 0 || less < r->context ? less : r->context;
    return true;
}

static struct slot *slot_of(struct tr_rounds *r, const struct tr_turn *t)
{
    for (int i = r->ncounted; i < r->begun; i++) {
        struct slot *s = &r->slot[i];
        if (!s->ended && s->r.sample == t->sample && s->r.turn == t->turn) {
            return s;
        }
    }
    return NULL;
}

static enum kg_code take(struct tr_rounds *r, struct kg_err *err)
{
    struct tr_turn *t = NULL;
    if (r->m->next(r->m->self, WAIT_MS, &t, err) != KG_OK) {
        return err->code;
    }
    if (t == NULL) {
        if (r->o.waits != NULL) {
            r->o.waits(r->o.user);
        }
        return KG_OK;
    }
    struct slot *s = slot_of(r, t);
    KG_ASSERT(s != NULL);
    r->under_way--;
    bool refused = t->state == TR_NO_REPLY && t->err.code == KG_E_LIMIT;
    if (refused && r->ending == TR_END_NONE && yields(r, s)) {
        r->m->release(r->m->self, t);
        s->begun = false;
        return begin(r, s->r.round, true, err);
    }
    s->r.result = t;
    s->ended = true;
    return KG_OK;
}

/* Nothing is under way and nothing can begin. */
static void finish(struct tr_rounds *r)
{
    if (r->ncounted == r->o.plan.rounds) {
        tr_rounds_end(r, TR_END_TURNS, "");
    } else if (r->full) {
        r->ending = TR_END_FULL;
    } else {
        tr_rounds_end(r, TR_END_SPENT, r->m->spent(r->m->self));
    }
}

enum kg_code tr_rounds_run(struct tr_rounds *r, struct kg_err *err)
{
    while (r->ending == TR_END_NONE) {
        if (begin_all(r, err) != KG_OK || (r->under_way > 0 && take(r, err) != KG_OK) ||
            tr_rounds_count(r, err) != KG_OK) {
            return err->code;
        }
        bool waits = r->ncounted < r->begun && r->slot[r->ncounted].ended;
        bool more = !r->closed && r->begun < r->o.plan.rounds;
        if (r->ending == TR_END_NONE && r->under_way == 0 && !waits && !more) {
            finish(r);
        }
    }
    while (r->under_way > 0) {
        if (take(r, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}
