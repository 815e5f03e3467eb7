/* Models in folders of Hugging Face: what training begins from and what samples; and writing such
 * folders. Not thread safe. */
#ifndef KG_RL_RUN_SOURCE_H
#define KG_RL_RUN_SOURCE_H

#include "lm/io/checkpoint.h"
#include "rl/data/talker.h"

struct rl_source {
    const char *model;     /* folder: config.json, weights */
    const char *adapter;   /* folder of PEFT; "": none */
    const char *tokenizer; /* a tokenizer.json, or the folder of one; "": that of `model` */
    const char *template;  /* name of a chat template; "auto": by the file in the folder */
    bool thinking;         /* of qwen3: prompts leave room for a thought */
};

/* The shape of the model, and whether its folder is whole. Errors: those of lm_checkpoint_check()
 * and lm_hfconfig_read(). */
enum kg_code rl_source_config(const struct rl_source *s, struct lm_config *out,
                              struct kg_err *err) KG_MUST_USE;
/* Tokenizer and chat template. c: the model's shape, whose vocabulary must hold the tokenizer's
 * ids; NULL: no model. Errors: KG_E_INPUT, KG_E_NOT_FOUND (a file; a template that is not known:
 * the message says how to name one), KG_E_USAGE (no such template). */
enum kg_code rl_source_talker(const struct rl_source *s, const struct lm_config *c, int feedback,
                              struct rl_talker *out, struct kg_err *err) KG_MUST_USE;
/* The weights, with the adapter. Errors: those of lm_checkpoint_open(). */
enum kg_code rl_source_model(const struct rl_source *s, struct lm_model **out,
                             struct kg_err *err) KG_MUST_USE;

/* Ids that end a reply: the end of a turn, the end of a text, the begin of a turn. Never the id of
 * a word: code may hold "user" and "assistant". Returns how many. */
enum { RL_STOPS = 3 };
int rl_source_stops(const struct rl_talker *t, int32_t out[RL_STOPS]);

/* Writes a folder that transformers, or PEFT, reads: weights, configuration, tokenizer, chat
 * template, tokenizer_config.json and generation_config.json. The last three are those of `from`, a
 * folder, where it has them; NULL: made here. The template is made here too where that of `from` is
 * of another kind than the talker's; and both configurations name the token that ends a reply. t
 * and run: as in lm_checkpoint_save(), for resuming; else NULL. The folder appears whole or not at
 * all. Errors: those of lm_checkpoint_save(). */
enum kg_code rl_source_save(const char *dir, const struct lm_model *m, struct lm_trainer *t,
                            const struct rl_talker *talker, const char *from, const json_t *run,
                            struct kg_err *err) KG_MUST_USE;

#endif
