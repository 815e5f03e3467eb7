#include "bench/common/chain_task.h"

#include <stdio.h>

#include "bench/common/host.h"

void kg_bench_chain_task(struct kgym_pool *pool, const struct rl_chain *chain,
                         struct rl_style style, const char *tag)
{
    struct kgym_error err;
    struct kg_buf problem, text;
    char name[RL_CHAIN_NAME], file[64];
    rl_chain_name(chain, name);
    snprintf(file, sizeof file, "%s.c", name);
    kg_buf_init(&problem, RL_CHAIN_BYTES);
    kg_buf_init(&text, RL_CHAIN_BYTES);
    rl_chain_problem(chain, &problem);
    rl_chain_code(chain, style, &text);
    const struct kgym_task t = {.size = sizeof t,
                                .problem = file,
                                .problem_text = problem.data,
                                .problem_text_len = problem.len,
                                .text = text.data,
                                .text_len = text.len,
                                .source = 1,
                                .tag = tag};
    kg_bench_need(kgym_submit(pool, &t, NULL, &err) == KGYM_OK, "%s", err.message);
    kg_buf_deinit(&text);
    kg_buf_deinit(&problem);
}
