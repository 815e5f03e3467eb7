/* The gym of a run: a pool with the keys of its configuration. */
#ifndef KG_RL_RUN_GYM_H
#define KG_RL_RUN_GYM_H

#include "rl/data/corpus.h"
#include "rl/run/options.h"

/* An unknown reward or key is refused. Errors: those of kgym_open. The caller closes *out. */
enum kg_code rl_gym_open(const struct rl_config *c, struct kgym_pool **out,
                         struct kg_err *err) KG_MUST_USE;

/* Fills the feedback of first turns, as many in flight at once as the judge has tickets: at least
 * n. *cancel not 0: KG_E_CANCELLED. Errors: those of the judge. */
enum kg_code rl_gym_answers(struct rl_judge *j, struct rl_first_turn *turn, size_t n,
                            const volatile int *cancel, struct kg_err *err) KG_MUST_USE;

/* Of rl_gym_ask(). */
struct rl_gym_asker {
    const struct rl_config *config;
    struct kgym_pool *pool;
    const volatile int *cancel;
};
/* An rl_feedback_fn; user is a struct rl_gym_asker. Errors: those of the judge, KG_E_CANCELLED. */
enum kg_code rl_gym_ask(void *user, struct rl_first_turn *turn, size_t n,
                        struct kg_err *err) KG_MUST_USE;

#endif
