/* Trajectories as rows, what they show, and the groups that are dropped. */
#include <math.h>
#include <string.h>

#include "rl/step_parts.h"

#define FAST 1.2

static void add_row(struct rl_step *s, const struct rl_walk *w, int t, uint32_t step)
{
    const struct rl_turn *turn = &w->turn[t];
    const struct rl_verdict *v = turn->verdict;
    bool judged = v != NULL && v->state == RL_JUDGED;
    struct rl_row *r = &s->row[s->rows.n++];
    *r = (struct rl_row){.birth = step,
                         .group = w->group,
                         .rollout = w->rollout,
                         .turn = (uint32_t)t + 1,
                         .index = turn->index,
                         .flags = RL_REAL,
                         .coverage = judged ? v->coverage : (double)NAN,
                         .weight = 1,
                         .first = s->tokens.n,
                         .length = (size_t)turn->length};
    r->flags |= judged ? 0 : RL_INFRA;
    r->flags |= w->end == RL_WALK_DEFECT ? RL_BAD_PROBLEM : 0;
    r->flags |= turn->finish == LM_STOP ? 0 : RL_CUT;
    if (judged) {
        r->correct = v->correct;
        r->speedup = v->speedup;
        r->reward = v->reward;
    }
    memcpy(s->mu + r->first, w->mu + turn->first, r->length * sizeof *s->mu);
    s->tokens.n += r->length;
}

enum kg_code rl_step_rows_make(struct rl_step *s, const struct rl_rollouts *r, uint32_t step,
                               struct kg_err *err)
{
    s->rows = (struct rl_rows){.row = s->row};
    s->tokens = (struct rl_tokens){.mu = s->mu,
                                   .old = s->theta,
                                   .theta = s->theta,
                                   .entropy = s->entropy,
                                   .keep = s->keep,
                                   .tis = s->tis,
                                   .adv = s->o.methods.adv.estimator->per_token ? s->adv : NULL,
                                   .coef = s->coef,
                                   .eta = s->eta};
    KG_ASSERT(r->n <= s->o.walks && r->max_tokens <= s->o.max_tokens);
    for (int i = 0; i < r->n; i++) {
        for (int t = 0; t < r->walk[i].turns; t++) {
            s->first_token[i * RL_TURNS_MAX + t] = (int)s->tokens.n;
            add_row(s, &r->walk[i], t, step);
        }
        s->trains[i] = true;
    }
    return rl_rows_check(&s->rows, s->tokens.n, err);
}

void rl_step_measure(const struct rl_step *s, struct rl_step_stats *out)
{
    double fast = 0, correct = 0, coverage = 0, known = 0, judged = 0, length = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct rl_row *r = &s->rows.row[i];
        bool knows = r->correct && !isnan(r->coverage);
        judged += (r->flags & RL_INFRA) == 0;
        correct += r->correct;
        fast += r->correct && r->speedup > FAST;
        coverage += knows ? r->coverage : 0;
        known += knows;
        out->live += rl_row_live(r);
        out->reward += rl_row_live(r) ? r->reward : 0;
        length += (double)r->length;
    }
    out->rows = (int)s->rows.n;
    out->reward = out->live > 0 ? out->reward / out->live : 0;
    out->correct = judged > 0 ? correct / judged : 0;
    out->fast = judged > 0 ? fast / judged : 0;
    out->coverage = known > 0 ? coverage / known : (double)NAN;
    out->length = out->rows > 0 ? length / out->rows : 0;
}

double rl_step_hacks(const struct rl_rollouts *r)
{
    int hacks = 0, judged = 0;
    for (int i = 0; i < r->n; i++) {
        for (int t = 0; t < r->walk[i].turns; t++) {
            const struct rl_verdict *v = r->walk[i].turn[t].verdict;
            judged += v != NULL && v->state == RL_JUDGED;
            hacks += v != NULL && strcmp(v->name, "hack") == 0;
        }
    }
    return judged > 0 ? (double)hacks / judged : 0;
}

void rl_step_filter(struct rl_step *s, struct rl_step_stats *out)
{
    size_t n = 0;
    for (size_t first = 0, end; first < s->rows.n; first = end) {
        end = rl_rows_group_end(&s->rows, first);
        enum rl_drop why = rl_filter_group(&s->rows, first, end, &s->o.methods.filter, &s->counts);
        out->groups++;
        out->dropped += why != RL_DROP_NO;
        out->of_drop[why]++;
        if (why == RL_DROP_NO) {
            memcpy(s->all + n, s->row + first, (end - first) * sizeof *s->all);
            n += end - first;
        }
    }
    memcpy(s->row, s->all, n * sizeof *s->row);
    s->rows.n = n;
}
