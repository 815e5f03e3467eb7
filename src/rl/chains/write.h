/* Private to chains/: what the writers of problems and candidates share. */
#ifndef KG_RL_CHAINS_WRITE_H
#define KG_RL_CHAINS_WRITE_H

#include "rl/chains/chains.h"
#include "rl/chains/ops.h"

/* The arguments of a chain in the order of its parameters, without n and m: "xbgzcdy" at most. */
void rl_write_args(const struct rl_chain *c, char out[8]);
/* Extents of an argument: "n,m", "m" or "n". */
const char *rl_write_extents(const struct rl_chain *c, char arg);
/* Does it add up exponentials of which half are one number? Rounding errors of such a run add up.
 */
bool rl_chain_runs(const struct rl_chain *c);
/* Appends the problem's line `laws`, with the laws that the chain leaves out; none: nothing. */
void rl_write_laws(const struct rl_chain *c, struct kg_buf *out);
/* `void k(const T*x,...,int64_t n,int64_t m){`; without: an argument that is left out, 0: none. */
void rl_write_head(const struct rl_chain *c, const char *type, bool spaced, char without,
                   struct kg_buf *out);
/* The calls of kgops with their temporaries, and the closing bracket of the function. rows: on one
 * row after the other. spaced: one statement a line. */
void rl_write_calls(const struct rl_chain *c, const char *type, bool rows, bool spaced,
                    struct kg_buf *out);
/* Own loops, and the closing bracket of the function. */
void rl_write_loops(const struct rl_chain *c, struct rl_style s, struct kg_buf *out);
/* The candidate whose parameters are those of `c` and whose body computes `body`. */
void rl_write_candidate(const struct rl_chain *c, const struct rl_chain *body, struct rl_style s,
                        char without, struct kg_buf *out);

#endif
