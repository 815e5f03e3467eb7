/* Gives a candidate of a generated chain to a pool. */
#ifndef KG_BENCH_CHAIN_TASK_H
#define KG_BENCH_CHAIN_TASK_H

#include "gym/kgym.h"
#include "rl/chains/chains.h"

/* A pool that refuses it ends the bench. */
void kg_bench_chain_task(struct kgym_pool *pool, const struct rl_chain *chain,
                         struct rl_style style, const char *tag);

#endif
