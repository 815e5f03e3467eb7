/* The form of conversations of a run: a tokenizer and a chat template. SFT, rollouts and evaluation
 * put contexts together here alone, so they see the same ids. Contexts grow by ids: a reply is
 * never encoded again. Not thread safe. */
#ifndef KG_RL_DATA_TALKER_H
#define KG_RL_DATA_TALKER_H

#include "lm/tok/bpe_train.h"
#include "lm/tok/chat.h"
#include "rl/chains/chains.h"

struct rl_talker {
    struct lm_bpe *bpe; /* owned */
    struct lm_chat chat;
    int vocab;    /* ids are 0..vocab-1 */
    int32_t end;  /* ends a reply */
    int feedback; /* most ids of a feedback */
};

/* Takes the vocabulary over, also on error; the added tokens of Qwen3 are given to it. Errors:
 * those of lm_bpe_create and lm_chat_init. */
enum kg_code rl_talker_open(struct lm_bpe_def *def, int feedback, struct rl_talker *out,
                            struct kg_err *err) KG_MUST_USE;
void rl_talker_close(struct rl_talker *t);
/* Appends prompt and header of the first reply. */
enum kg_code rl_talker_prompt(const struct rl_talker *t, const struct rl_chain *c,
                              struct lm_ids *out, struct kg_err *err) KG_MUST_USE;
/* Appends what follows a reply: its end unless it has one, the feedback, cut to `feedback` ids,
 * the header of the next reply. */
enum kg_code rl_talker_feedback(const struct rl_talker *t, bool ended, const char *text,
                                struct lm_ids *out, struct kg_err *err) KG_MUST_USE;
/* Appends a reply and the id that ends it; mask 1. */
enum kg_code rl_talker_reply(const struct rl_talker *t, const char *code, size_t len,
                             struct lm_ids *out, struct kg_err *err) KG_MUST_USE;
/* Ids of a text; for a judge, which takes a talker as `user`. */
size_t rl_talker_count(void *talker, const char *text, size_t len);
/* Appends the text of reply ids, without special ones. */
void rl_talker_text(const struct rl_talker *t, const int32_t *ids, size_t n, struct kg_buf *out);

#endif
