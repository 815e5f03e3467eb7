/* Best-of-N: which answers to a problem are kept for fine-tuning, and with which weight.
 *
 * Candidates are answers with C = 1 and, if asked, R strictly above a least reward; of equal
 * answers (hash of the normalised tokens) the one that ranks first. Rank: R downwards, lower bound
 * of s downwards, tokens upwards, sample upwards. The first K win. Wrong answers never fill up. The
 * winner of N equal candidates looks 1.54 standard deviations better by chance (N = 10), so time
 * winners again on fresh inputs before their s is trusted. As a policy gradient this is advantage 1
 * on winners and 0 elsewhere: estimator `topk`. No allocation. Threads: one call, one thread.
 * Source: Beyond TritonRL (N = 10, K = 3); rejection-sampling fine-tuning. */
#ifndef KG_RL_METHODS_BESTOF_H
#define KG_RL_METHODS_BESTOF_H

#include "rl/methods/counts.h"
#include "rl/methods/rows.h"

struct rl_candidate {
    bool correct;
    double reward;     /* R */
    double speedup_lo; /* lower end of the interval of s */
    uint32_t tokens;
    uint32_t sample; /* its number among the answers to this problem */
    uint64_t hash;   /* of the normalised tokens of its code */
    double weight;   /* out: 1, or 1 / winners; 0: not a winner */
};

struct rl_bestof_options {
    uint32_t keep;       /* K: 3 */
    bool least;          /* use reward_least */
    double reward_least; /* strict */
    bool each_one;       /* weight 1 for a winner; else 1 / winners of its problem (default) */
};

struct rl_bestof_report {
    size_t problems, without; /* all; with no winner */
    size_t candidates;        /* answers looked at */
    size_t correct, repeated; /* of them: right; right and equal to a better one */
    size_t kept;              /* winners */
};

/* K 3, no least reward, each problem weighs 1. */
void rl_bestof_defaults(struct rl_bestof_options *o);

/* The n answers to one problem: sets weight of each, adds to *report. Returns the winners. */
size_t rl_bestof_choose(struct rl_candidate *answers, size_t n, const struct rl_bestof_options *o,
                        struct rl_bestof_report *report, struct rl_counts *counts);

/* Does a rank before b? */
bool rl_bestof_before(const struct rl_candidate *a, const struct rl_candidate *b);

/* With success p of one answer: chance that any of n is right, and expected number kept,
 * E min(K, Binomial(n, p)). For the size of a round. */
void rl_bestof_yield(uint32_t n, uint32_t keep, double p, double *any, double *kept);

#endif
