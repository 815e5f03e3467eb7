/* Which rows of a group train: the choice among oversampled rollouts, the filter, winners. */
#include <string.h>

#include "rl/methods/streams.h"
#include "rl/step/step_parts.h"

/* G of turn 1 and the tokens of each rollout that has a verdict; the others' numbers follow them in
 * order. Returns how many have one. */
static size_t list_rollouts(struct rl_step *s, size_t first, uint32_t *number)
{
    size_t n = 0, end;
    for (size_t i = first; i < s->rows.n; i = end) {
        end = rl_rows_rollout_end(&s->rows, i);
        if (s->row[i].flags & RL_INFRA) {
            continue;
        }
        s->value[n] = s->row[i].ret;
        s->size[n] = 0;
        for (size_t k = i; k < end; k++) {
            s->size[n] += s->row[k].length;
        }
        number[n++] = s->row[i].rollout;
    }
    return n;
}

static bool chosen(const uint32_t *number, size_t n, uint32_t rollout)
{
    for (size_t i = 0; i < n; i++) {
        if (number[i] == rollout) {
            return true;
        }
    }
    return false;
}

/* Keeps the rows of `wanted` rollouts. Those without a verdict go first. */
static void thin(struct rl_step *s, uint32_t group, size_t first)
{
    uint32_t *number = s->order + s->rollouts;
    size_t wanted = s->o.methods.rollouts, n = list_rollouts(s, first, number), to = first;
    size_t take = rl_oversample_choose(s->o.over, s->o.seed, s->step, group, s->value, s->size, n,
                                       wanted, s->order);
    for (size_t i = 0; i < take; i++) {
        s->order[i] = number[s->order[i]];
    }
    size_t spare = wanted - take; /* rollouts without a verdict that fill up */
    uint32_t last = 0;
    for (size_t i = first; i < s->rows.n; i++) {
        struct rl_row *r = &s->row[i];
        bool begins = r->rollout != last;
        bool infra = (r->flags & RL_INFRA) != 0;
        bool keep = infra
                        ? (begins ? spare > 0 : to > first && s->row[to - 1].rollout == r->rollout)
                        : chosen(s->order, take, r->rollout);
        spare -= infra && begins && keep;
        last = r->rollout;
        if (begins) {
            rl_count(&s->counts, RL_C_OVER, !keep);
            s->stats.spare += !keep;
        }
        if (keep) {
            s->row[to++] = *r;
        }
    }
    s->rows.n = to;
}

/* FNV-1a over ids. Source: Fowler, Noll and Vo. */
static uint64_t hash(const int32_t *ids, int n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint32_t)ids[i]) * 0x100000001b3u;
    }
    return h;
}

/* Sets the weight of each row: that of a winner, or 0. */
static void win(struct rl_step *s, const struct rl_rollouts *r, size_t first)
{
    struct rl_bestof_report report = {0};
    size_t n = s->rows.n - first;
    for (size_t i = 0; i < n; i++) {
        const struct rl_row *row = &s->row[first + i];
        const struct rl_walk *w = &r->walk[row->group * s->rollouts + row->rollout - 1];
        const struct rl_turn *t = &w->turn[row->turn - 1];
        s->answer[i] =
            (struct rl_candidate){.correct = row->correct && rl_row_live(row),
                                  .reward = row->reward,
                                  .speedup_lo = t->verdict != NULL ? t->verdict->speedup_lo : 0,
                                  .tokens = (uint32_t)row->length,
                                  .sample = (uint32_t)i,
                                  .hash = hash(w->ids + t->first, t->length)};
    }
    s->stats.winners += (int)rl_bestof_choose(s->answer, n, &s->o.bestof, &report, &s->counts);
    for (size_t i = 0; i < n; i++) {
        s->row[first + i].win = s->answer[i].weight;
    }
}

void rl_step_group(struct rl_step *s, const struct rl_rollouts *r, uint32_t group, size_t first)
{
    if (s->rollouts > s->o.methods.rollouts) {
        thin(s, group, first);
    }
    enum rl_drop why =
        rl_filter_group(&s->rows, first, s->rows.n, &s->o.methods.filter, &s->counts);
    s->groups++;
    s->stats.groups++;
    s->stats.of_drop[why]++;
    s->drop[group] = (uint8_t)why;
    if (why != RL_DROP_NO) {
        s->stats.dropped++;
        s->rows.n = first;
        return;
    }
    s->passed++;
    if (s->o.best) {
        win(s, r, first);
    }
}

void rl_step_choose(struct rl_step *s)
{
    uint32_t want = s->o.methods.groups, k = 0, place = 0;
    size_t to = 0, end;
    if (s->o.refills == 0 && s->groups <= want) {
        return;
    }
    size_t take = rl_refill_choose(s->o.seed, s->step, s->passed, want, s->order);
    for (size_t i = 0; i < s->rows.n; i = end, place++) {
        end = rl_rows_group_end(&s->rows, i);
        bool keep = k < take && s->order[k] == place;
        rl_count(&s->counts, RL_C_SURPLUS, !keep);
        k += keep;
        if (keep) {
            memmove(s->row + to, s->row + i, (end - i) * sizeof *s->row);
            to += end - i;
        } else {
            uint32_t group = s->row[i].group;
            s->drop[group] = RL_DROP_SURPLUS;
            s->stats.of_drop[RL_DROP_NO]--;
            s->stats.of_drop[RL_DROP_SURPLUS]++;
            s->stats.dropped++;
        }
    }
    s->rows.n = to;
}
