/* Judges the last replies of a generated corpus, so that nobody trains on code that the gym
 * refuses. Not thread safe. */
#ifndef KG_RL_RUN_VERIFY_H
#define KG_RL_RUN_VERIFY_H

#include <stdio.h>

#include "rl/data/corpus.h"

enum { RL_VERIFY_TICKETS = 64 };

struct rl_verify_counts {
    size_t asked, ok, refused;
    size_t failed;   /* without a verdict */
    char worst[120]; /* one that was refused: its problem, verdict and reason */
};

/* n documents of the corpus, drawn by the seed; all of them where there are not more. The judge is
 * of the caller and has RL_VERIFY_TICKETS tickets; nothing is in flight. *cancel not 0:
 * KG_E_CANCELLED. Errors: those of the judge. */
enum kg_code rl_verify(const struct rl_corpus *c, const struct rl_talker *talker,
                       struct rl_judge *judge, size_t n, uint64_t seed, const volatile int *cancel,
                       struct rl_verify_counts *out, struct kg_err *err) KG_MUST_USE;

/* How many of n documents "all", "none" or "sample N" names. Errors: KG_E_USAGE. */
enum kg_code rl_verify_parse(const char *text, size_t *n, struct kg_err *err) KG_MUST_USE;

/* Prints one line for people. `of` is the size of the corpus. Errors: KG_E_INPUT, where fewer than
 * 95 of 100 are right. */
enum kg_code rl_verify_tell(const struct rl_verify_counts *n, size_t of, FILE *terminal,
                            struct kg_err *err) KG_MUST_USE;

#endif
