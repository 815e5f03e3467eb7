/* Winners among the answers to a problem. */
#include "rl/methods/bestof.h"

#include <math.h>

void rl_bestof_defaults(struct rl_bestof_options *o)
{
    *o = (struct rl_bestof_options){.keep = 3};
}

bool rl_bestof_before(const struct rl_candidate *a, const struct rl_candidate *b)
{
    if (a->reward != b->reward) {
        return a->reward > b->reward;
    }
    if (a->speedup_lo != b->speedup_lo) {
        return a->speedup_lo > b->speedup_lo;
    }
    if (a->tokens != b->tokens) {
        return a->tokens < b->tokens;
    }
    return a->sample < b->sample;
}

static bool able(const struct rl_candidate *a, const struct rl_bestof_options *o)
{
    return a->correct && (!o->least || a->reward > o->reward_least);
}

/* Is answer i able, and the first by rank of those with its hash? */
static bool stands(const struct rl_candidate *answers, size_t n, size_t i,
                   const struct rl_bestof_options *o)
{
    if (!able(&answers[i], o)) {
        return false;
    }
    for (size_t j = 0; j < n; j++) {
        if (j != i && answers[j].hash == answers[i].hash && able(&answers[j], o) &&
            rl_bestof_before(&answers[j], &answers[i])) {
            return false;
        }
    }
    return true;
}

size_t rl_bestof_choose(struct rl_candidate *answers, size_t n, const struct rl_bestof_options *o,
                        struct rl_bestof_report *report, struct rl_counts *counts)
{
    size_t won = 0;
    for (size_t i = 0; i < n; i++) {
        size_t before = 0;
        bool in = stands(answers, n, i, o);
        for (size_t j = 0; in && j < n; j++) {
            before +=
                j != i && stands(answers, n, j, o) && rl_bestof_before(&answers[j], &answers[i]);
        }
        bool winner = in && before < o->keep;
        answers[i].weight = winner ? 1 : 0;
        won += winner;
        report->correct += answers[i].correct;
        report->repeated += able(&answers[i], o) && !in;
        rl_count(counts, RL_C_TOPK, winner);
    }
    for (size_t i = 0; i < n && won > 0 && !o->each_one; i++) {
        answers[i].weight /= (double)won;
    }
    report->problems++;
    report->without += won == 0;
    report->candidates += n;
    report->kept += won;
    return won;
}

void rl_bestof_yield(uint32_t n, uint32_t keep, double p, double *any, double *kept)
{
    *kept = 0;
    for (uint32_t c = 0; c <= n; c++) {
        double ways = exp(lgamma(n + 1.0) - lgamma(c + 1.0) - lgamma(n - c + 1.0));
        double chance = ways * pow(p, c) * pow(1 - p, n - c);
        *kept += chance * (c < keep ? c : keep);
    }
    *any = 1 - pow(1 - p, n);
}
