/* Trajectories as rows, and what they show. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/step/step_parts.h"

#define FAST 1.2

const char *rl_cause_name(int cause)
{
    static const char *const name[RL_CAUSES] = {"no_logp", "mrs", "veto", "prs", "void"};
    return name[cause];
}

static void add_row(struct rl_step *s, const struct rl_walk *w, int t)
{
    const struct rl_turn *turn = &w->turn[t];
    const struct rl_verdict *v = turn->verdict;
    bool judged = v != NULL && v->state == RL_JUDGED;
    struct rl_row *r = &s->row[s->rows.n++];
    *r = (struct rl_row){.birth = s->step,
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
    r->flags |= t + 1 == w->turns && w->end == RL_WALK_DONE ? RL_STOPPED : 0;
    if (judged) {
        r->correct = v->correct;
        r->speedup = v->speedup;
        r->reward = v->reward;
    }
    memcpy(s->mu + r->first, w->mu + turn->first, r->length * sizeof *s->mu);
    s->tokens.n += r->length;
}

void rl_step_rows_add(struct rl_step *s, const struct rl_walk *w, int i)
{
    for (int t = 0; t < w->turns; t++) {
        s->first_token[i * RL_TURNS_MAX + t] = (int)s->tokens.n;
        add_row(s, w, t);
    }
}

static const struct rl_verdict *verdict_of(const struct rl_step *s, const struct rl_walk *walks,
                                           const struct rl_row *r)
{
    return walks[r->group * s->rollouts + r->rollout - 1].turn[r->turn - 1].verdict;
}

static void measure_turn(struct rl_step *s, const struct rl_row *r)
{
    struct rl_step_turn *t = &s->stats.turn[r->turn - 1];
    t->rows++;
    t->reward += r->reward;
    t->correct += r->correct;
    t->fast += r->correct && r->speedup > FAST;
}

/* What later turns, coverage and early stops were looked at for. */
static void count_row(struct rl_step *s, const struct rl_walk *walks, const struct rl_row *r)
{
    const struct rl_verdict *v = verdict_of(s, walks, r);
    if (r->turn > 1) {
        const struct rl_row *before = r - 1;
        bool better = r->correct && (!before->correct || r->speedup > before->speedup);
        rl_count(&s->counts, RL_C_TURNS, better);
    }
    if (s->o.pays_coverage) {
        rl_count(&s->counts, RL_C_COVERAGE, r->correct && !isnan(r->coverage));
    }
    if (s->o.early_stop > 0 && r->turn < s->o.methods.turns) {
        rl_count(&s->counts, RL_C_EARLY_STOP, r->correct && v->speedup_lo >= s->o.early_stop);
    }
}

/* The last turn of a level-1 trajectory decides its part in the curriculum. */
static void measure_level(struct rl_step *s, const struct rl_walk *walks, size_t i, size_t end)
{
    const struct rl_row *r = &s->row[i];
    bool last = i + 1 == end || r[1].rollout != r->rollout;
    const struct rl_walk *w = &walks[r->group * s->rollouts + r->rollout - 1];
    if (last && w->chain.n <= 2 && (r->flags & RL_INFRA) == 0) {
        s->stats.level1++;
        s->stats.right += r->correct;
    }
}

void rl_step_measure(struct rl_step *s, const struct rl_walk *walks, size_t first, size_t end)
{
    struct rl_step_sums *m = &s->sums;
    for (size_t i = first; i < end; i++) {
        const struct rl_row *r = &s->row[i];
        const struct rl_verdict *v = verdict_of(s, walks, r);
        s->stats.rows++;
        m->length += (double)r->length;
        measure_level(s, walks, i, end);
        if (v != NULL && v->state == RL_JUDGED) {
            m->judged++;
            m->hack += strcmp(v->name, "hack") == 0;
            m->correct += r->correct;
            m->fast += r->correct && r->speedup > FAST;
            count_row(s, walks, r);
            measure_turn(s, r);
        }
        if (r->correct && !isnan(r->coverage)) {
            m->coverage += r->coverage;
            m->known++;
        }
        if (rl_row_live(r)) {
            s->stats.live++;
            m->reward += r->reward;
        }
    }
}

static int by_length(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rows by quartile of length, and in each the causes that took rows out. */
static void causes(struct rl_step *s)
{
    size_t n = s->rows.n;
    for (size_t i = 0; i < n; i++) {
        s->value[i] = (double)s->rows.row[i].length;
    }
    qsort(s->value, n, sizeof *s->value, by_length);
    for (size_t i = 0; i < n; i++) {
        const struct rl_row *r = &s->rows.row[i];
        int q = 0;
        while (q + 1 < RL_QUARTILES &&
               (double)r->length > s->value[((size_t)q + 1) * n / RL_QUARTILES]) {
            q++;
        }
        s->stats.of_length[q]++;
        for (int c = 0; c + 1 < RL_CAUSES; c++) {
            s->stats.of_cause[c][q] += (r->why & 1u << c) != 0;
        }
        s->stats.of_cause[RL_CAUSES - 1][q] += (r->flags & RL_VOID) != 0;
    }
}

static double per(double sum, double n)
{
    return n > 0 ? sum / n : 0;
}

void rl_step_summarize(struct rl_step *s)
{
    struct rl_step_stats *o = &s->stats;
    const struct rl_step_sums *m = &s->sums;
    double entropy = 0, n = 0;
    o->reward = per(m->reward, o->live);
    o->correct = per(m->correct, m->judged);
    o->fast = per(m->fast, m->judged);
    o->hack = per(m->hack, m->judged);
    o->coverage = m->known > 0 ? m->coverage / m->known : (double)NAN;
    o->length = per(m->length, o->rows);
    for (int t = 0; t < RL_TURNS_MAX; t++) {
        struct rl_step_turn *turn = &o->turn[t];
        turn->reward = per(turn->reward, turn->rows);
        turn->correct = per(turn->correct, turn->rows);
        turn->fast = per(turn->fast, turn->rows);
    }
    for (size_t i = 0; i < s->rows.n; i++) {
        const struct rl_row *r = &s->rows.row[i];
        o->kept += rl_row_kept(r);
        for (size_t k = 0; k < r->length && rl_row_live(r); k++, n++) {
            entropy += (double)s->entropy[r->first + k];
        }
    }
    o->entropy = per(entropy, n);
    causes(s);
}
