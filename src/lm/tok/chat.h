/* Conversations as Qwen2.5 and Qwen3 were trained on them (ChatML), without tools: the text, its
 * ids, and which ids the loss counts. Training, sampling and evaluation all render here, so that
 * they cannot differ.
 * The loss counts what an assistant says and the <|im_end|> that ends its turn; never a prompt, a
 * header, or the line end after a turn. Text that a model generates is encoded apart from its
 * header, as sampling sees it. Special tokens are put in by id: content that spells one is text.
 * Padding is <|endoftext|>, which is not the token that ends a turn.
 * The file's own template (Jinja) is not run: it is recognised by its hash, and an unknown one is
 * refused. Not thread safe: it uses the tokenizer's working memory. */
#ifndef KG_LM_TOK_CHAT_H
#define KG_LM_TOK_CHAT_H

#include "lm/tok/bpe.h"

enum lm_chat_kind {
    LM_CHAT_QWEN25,         /* default system text: "You are Qwen, ..." */
    LM_CHAT_QWEN25_BASE,    /* "You are a helpful assistant." */
    LM_CHAT_QWEN3,          /* hybrid: thinks, or has an empty block of thought */
    LM_CHAT_QWEN3_INSTRUCT, /* of 2507: never thinks */
    LM_CHAT_QWEN3_THINKING, /* of 2507: the prompt opens the thought */
    LM_CHAT_KINDS,
};

enum lm_chat_role { LM_CHAT_SYSTEM, LM_CHAT_USER, LM_CHAT_ASSISTANT };

struct lm_chat_message {
    enum lm_chat_role role;
    const char *content; /* UTF-8; broken parts become U+FFFD in ids */
    size_t len;
    const char
        *reasoning; /* of an assistant, Qwen3; NULL: what stands in content before </think> */
    size_t reasoning_len;
};

struct lm_chat {
    enum lm_chat_kind kind;
    struct lm_bpe *bpe; /* borrowed */
    int32_t start_id, end_id, pad_id;
    int32_t think_id, end_think_id; /* -1: not in this vocabulary */
    bool thinking; /* of LM_CHAT_QWEN3; false: prompts hold an empty block of thought */
};

/* A template of this kind in Jinja, without tools, for folders that are written here. Its text is
 * one that lm_chat_detect() knows. */
const char *lm_chat_template(enum lm_chat_kind kind);

/* "qwen2.5", "qwen2.5-base", "qwen3", "qwen3-instruct", "qwen3-thinking" */
const char *lm_chat_kind_name(enum lm_chat_kind kind);
/* USAGE: no such name. */
enum kg_code lm_chat_kind_parse(const char *name, enum lm_chat_kind *out,
                                struct kg_err *err) KG_MUST_USE;
/* By the template in a model folder: chat_template.jinja, or chat_template of
 * tokenizer_config.json. NOT_FOUND: neither; INPUT: its hash is unknown. */
enum kg_code lm_chat_detect(const char *dir, enum lm_chat_kind *out,
                            struct kg_err *err) KG_MUST_USE;
/* By the text of a template. False: unknown. */
bool lm_chat_recognise(const char *jinja, size_t len, enum lm_chat_kind *out);

/* INPUT: the vocabulary lacks <|im_start|>, <|im_end|> or <|endoftext|>, or for Qwen3 <think>. */
enum kg_code lm_chat_init(struct lm_chat *c, enum lm_chat_kind kind, struct lm_bpe *bpe,
                          struct kg_err *err) KG_MUST_USE;

/* Append the ids and masks of m [n]; with prompt, also the header of the assistant's next turn.
 * INPUT: no messages. */
enum kg_code lm_chat_encode(const struct lm_chat *c, const struct lm_chat_message *m, size_t n,
                            bool prompt, struct lm_ids *out, struct kg_err *err) KG_MUST_USE;
/* Append the same as text. */
enum kg_code lm_chat_render(const struct lm_chat *c, const struct lm_chat_message *m, size_t n,
                            bool prompt, struct kg_buf *out, struct kg_err *err) KG_MUST_USE;
/* Append what follows a generated turn: its end if it has none (ended false), the user's next
 * turn, and the header of the assistant's. Generated ids stay as they are. */
enum kg_code lm_chat_continue(const struct lm_chat *c, bool ended, const char *content, size_t len,
                              struct lm_ids *out, struct kg_err *err) KG_MUST_USE;

#endif
