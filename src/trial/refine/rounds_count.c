/* Counts rounds in their order: what they give to later contexts, the best kernel, the ending. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trial/refine/rounds_parts.h"

#define UNJUDGED_MOST 3

void tr_rounds_end(struct tr_rounds *r, enum tr_ending e, const char *why)
{
    if (r->ending == TR_END_NONE) {
        r->ending = e;
        snprintf(r->why, sizeof r->why, "%s", why);
    }
    r->closed = true;
}

static bool judged(const struct tr_turn *t)
{
    return t != NULL && t->state == TR_JUDGED && t->reply != NULL && t->feedback != NULL;
}

/* Tokens of a turn in a later context. What a model thought is not repeated there. */
static int64_t length_of(struct tr_rounds *r, const struct tr_turn *t)
{
    const char *after = r->o.plan.strategy == TR_NO_FEEDBACK ? tr_no_feedback : t->feedback;
    const struct tr_reply *y = t->reply;
    bool usage = y->usage.counted && y->reasoning == NULL;
    int64_t reply = usage ? y->usage.tokens_out : (int64_t)r->m->count(r->m->self, y->text, y->len);
    return reply + (int64_t)r->m->count(r->m->self, after, strlen(after));
}

static void remember(struct tr_rounds *r, const struct tr_round *x)
{
    const struct tr_turn *t = x->result;
    struct tr_past *p = &r->past[x->round - 1];
    *p = (struct tr_past){.sample = x->sample, .turn = x->turn, .judged = judged(t)};
    if (!p->judged) {
        return;
    }
    p->correct = t->correct;
    p->reward = t->reward;
    p->speedup = t->speedup;
    p->coverage = t->coverage;
    p->tokens = length_of(r, t);
    if (x->nshown == 0 && t->reply->usage.counted) {
        r->o.plan.prompt = t->reply->usage.tokens_in;
    }
}

static double speed(double s)
{
    return isfinite(s) && s > 0 ? s : 0;
}

/* An earlier round sent the same code, and that has its second verdict. Another measurement of it
 * would only be another chance to be lucky. */
static bool known(const struct tr_rounds *r, const struct tr_turn *t)
{
    for (int i = 0; i < r->ncounted; i++) {
        const struct tr_round *x = &r->counted[i];
        if (x->tried && x->again.judged && t->code_hash[0] != '\0' &&
            strcmp(x->result->code_hash, t->code_hash) == 0) {
            return true;
        }
    }
    return false;
}

/* Has the turn to be judged again: could it be a new best? */
static bool challenges(const struct tr_rounds *r, const struct tr_turn *t)
{
    return judged(t) && t->correct && (r->best == 0 || speed(t->speedup) > r->best_speedup) &&
           !known(r, t);
}

static enum kg_code look_at_best(struct tr_rounds *r, struct tr_round *x, struct kg_err *err)
{
    const struct tr_again *a = &x->again;
    if (challenges(r, x->result)) {
        x->tried = true;
        if (r->m->again(r->m->self, x->result, &x->again, err) != KG_OK) {
            return err->code;
        }
        bool faster = r->best == 0 || speed(a->speedup) > r->best_speedup;
        x->new_best = a->judged && a->correct && faster;
    }
    if (x->new_best) {
        r->best = x->round;
        r->best_speedup = speed(a->speedup);
        r->best_lo = a->speedup_lo;
    }
    r->since_best = x->new_best ? 0 : r->since_best + 1;
    x->best = r->best;
    x->best_speedup = r->best_speedup;
    return KG_OK;
}

/* Target and patience look at the best so far. They wait for the last round of an earlier process:
 * an ending before it would put an earlier, slower kernel in place of the best. */
static void look_at_bounds(struct tr_rounds *r, const struct tr_round *x)
{
    char why[120];
    if (x->round < r->o.before) {
        return;
    }
    if (r->best > 0 && r->o.target > 0 && r->best_lo >= r->o.target) {
        snprintf(why, sizeof why, "%.3gx, at least %.3gx", r->best_speedup, r->best_lo);
        tr_rounds_end(r, TR_END_TARGET, why);
    } else if (r->o.patience > 0 && r->since_best >= r->o.patience) {
        snprintf(why, sizeof why, "%d round%s in a row brought no new best", r->since_best,
                 r->since_best == 1 ? "" : "s");
        tr_rounds_end(r, TR_END_PATIENCE, why);
    }
}

static void decide(struct tr_rounds *r, const struct tr_round *x)
{
    const struct tr_turn *t = x->result;
    bool lost = t != NULL && t->state == TR_NO_VERDICT;
    r->unjudged = lost ? r->unjudged + 1 : t != NULL ? 0 : r->unjudged;
    if (t != NULL && t->state == TR_DEFECT) {
        tr_rounds_end(r, TR_END_DEFECT, t->err.message);
    } else if (t != NULL && t->state == TR_NO_REPLY) {
        bool full = t->err.code == KG_E_LIMIT;
        bool others = full && r->o.plan.strategy == TR_PARALLEL_SEQUENTIAL && x->nshown > 0;
        if (!others) {
            tr_rounds_end(r, full ? TR_END_FULL : TR_END_NO_REPLY, t->err.message);
        }
    } else if (r->unjudged == UNJUDGED_MOST) {
        tr_rounds_end(r, TR_END_UNJUDGED, t->err.message);
    } else {
        look_at_bounds(r, x);
    }
}

enum kg_code tr_rounds_count(struct tr_rounds *r, struct kg_err *err)
{
    while (r->ending == TR_END_NONE && r->ncounted < r->begun && r->slot[r->ncounted].ended) {
        struct tr_round *x = &r->slot[r->ncounted].r;
        remember(r, x);
        if (look_at_best(r, x, err) != KG_OK) {
            return err->code;
        }
        r->counted[r->ncounted++] = *x;
        if (r->o.seen != NULL && r->o.seen(r->o.user, x, err) != KG_OK) {
            return err->code;
        }
        decide(r, x);
    }
    return KG_OK;
}
