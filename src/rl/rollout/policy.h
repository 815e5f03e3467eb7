/* What answers in a rollout: the engine, or a script. Both hold conversations that grow by ids and
 * give replies token by token. A policy is a table of functions over its own state.
 *
 *   engine    samples from the model; log-probs are those of the draw
 *   scripted  says what a function tells it; log-probs are 0, so it never trains
 * Not thread safe. */
#ifndef KG_RL_ROLLOUT_POLICY_H
#define KG_RL_ROLLOUT_POLICY_H

#include "lm/infer/engine.h"
#include "rl/data/talker.h"

/* Who speaks, for scripts. */
struct rl_speaker {
    struct rl_chain chain;
    uint32_t rollout, turn; /* from 1 */
};

struct rl_policy {
    void *self;
    /* Begins n conversations with ids [len]; as lm_engine_submit. */
    enum kg_code (*begin)(void *self, const int32_t *ids, int len, const struct rl_speaker *who,
                          int n, const uint64_t *requests, int *conversations, struct kg_err *err);
    /* The next turn, after ids [len] are appended. */
    enum kg_code (*extend)(void *self, int conversation, const int32_t *ids, int len,
                           const struct rl_speaker *who, struct kg_err *err);
    void (*release)(void *self, int conversation);
    int (*step)(void *self, struct lm_event *events, int max);
    bool (*busy)(const void *self);
};

/* The engine, with the sampling of `turn`. Both are borrowed. */
struct rl_engine_policy {
    struct lm_engine *engine;
    struct lm_turn turn;
};
struct rl_policy rl_policy_engine(struct rl_engine_policy *p);

/* Appends the reply of `who`. */
typedef void rl_script(void *user, const struct rl_speaker *who, struct kg_buf *out);

struct rl_scripted;
/* At most `conversations` at once, of max_tokens ids each. The talker is borrowed. KG_E_HOST. */
enum kg_code rl_scripted_create(const struct rl_talker *talker, rl_script *script, void *user,
                                int conversations, int max_tokens, struct rl_scripted **out,
                                struct kg_err *err) KG_MUST_USE;
void rl_scripted_destroy(struct rl_scripted *s); /* NULL is nothing */
struct rl_policy rl_policy_scripted(struct rl_scripted *s);

#endif
