/* Judges the last replies of a generated corpus, so that nobody trains on code that the gym
 * refuses. Not thread safe. */
#ifndef KG_RL_VERIFY_H
#define KG_RL_VERIFY_H

#include "rl/corpus.h"

struct rl_verify_counts {
    size_t asked, ok, refused;
    size_t failed;   /* without a verdict */
    char worst[120]; /* one that was refused: its problem, verdict and reason */
};

/* n documents of the corpus, drawn by the seed; all of them where there are not more. The judge is
 * of the caller, and nothing is in flight. *cancel not 0: KG_E_CANCELLED. Errors: those of the
 * judge. */
enum kg_code rl_verify(const struct rl_corpus *c, const struct rl_talker *talker,
                       struct rl_judge *judge, int tickets, size_t n, uint64_t seed,
                       const volatile int *cancel, struct rl_verify_counts *out,
                       struct kg_err *err) KG_MUST_USE;

#endif
