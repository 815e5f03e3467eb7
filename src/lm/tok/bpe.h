/* The tokenizer: text -> ids by byte-level BPE, ids -> bytes. Ids are those of the tokenizers
 * library for the same tokenizer.json. Its NFC is of an older Unicode: texts with one of 75 rare
 * combining marks, such as U+0899, can differ. Letters that are newer than PCRE2's tables can too.
 * Special tokens are named by id: encoding plain text never makes one, so a text that spells
 * <|im_end|> cannot end its turn. Bytes that are not UTF-8 become U+FFFD.
 * Generated ids are never decoded and encoded again: the result can differ.
 * Not thread safe, because encoding keeps working memory and a cache of words: one struct lm_bpe
 * for each thread. Memory for Qwen's vocabulary: about 15 MB. */
#ifndef KG_LM_TOK_BPE_H
#define KG_LM_TOK_BPE_H

#include "lm/tok/bpe_def.h"
#include "lm/tok/ids.h"

/* Most bytes of one text. */
#define LM_BPE_MAX_TEXT (256u << 20)

enum lm_bpe_mode {
    LM_BPE_PLAIN, /* no added token is made from text */
    LM_BPE_TEXT,  /* those that are not special are: <think>, <tool_call> */
    LM_BPE_ALL,   /* all are, as the tokenizers library does; for trusted text only */
};

struct lm_bpe;

/* A tokenizer.json; *out is closed by the caller. The errors of lm_bpe_read and lm_bpe_create. */
enum kg_code lm_bpe_open(const char *path, struct lm_bpe **out, struct kg_err *err) KG_MUST_USE;
/* Takes the contents of *d over, also on error. INPUT: a merge is there twice, or the pattern is
 * refused; source is for messages. */
enum kg_code lm_bpe_create(struct lm_bpe_def *d, const char *source, struct lm_bpe **out,
                           struct kg_err *err) KG_MUST_USE;
void lm_bpe_close(struct lm_bpe *b); /* NULL is nothing */

const struct lm_bpe_def *lm_bpe_contents(const struct lm_bpe *b);
/* Greatest id + 1. A model's vocabulary may be larger: ids from here on decode to nothing. */
int32_t lm_bpe_size(const struct lm_bpe *b);
/* The id of an added token, such as "<|im_end|>"; -1: there is none. */
int32_t lm_bpe_added_id(const struct lm_bpe *b, const char *content);
/* Bytes of a token, not NUL-terminated; NULL and 0: an id that no token has. */
const char *lm_bpe_token(const struct lm_bpe *b, int32_t id, size_t *len);
bool lm_bpe_is_special(const struct lm_bpe *b, int32_t id);

/* Append the ids of text [len]. LIMIT: too long, or the pattern takes too long; HOST: memory. */
enum kg_code lm_bpe_encode(struct lm_bpe *b, const char *text, size_t len, enum lm_bpe_mode mode,
                           struct lm_ids *out, struct kg_err *err) KG_MUST_USE;
/* Append the ids of bytes [len] as one piece: no repair, no split, no added tokens. Decoding gives
 * the same bytes. */
enum kg_code lm_bpe_encode_piece(struct lm_bpe *b, const char *bytes, size_t len,
                                 struct lm_ids *out, struct kg_err *err) KG_MUST_USE;

/* Append the bytes of ids [n]; they may end within a character. */
void lm_bpe_decode(const struct lm_bpe *b, const int32_t *ids, size_t n, bool drop_special,
                   struct kg_buf *out);

/* Decoding token by token: only whole characters come out. Zeroed is empty. */
struct lm_bpe_stream {
    char pending[4];
    size_t n;
};

/* Append what id completes; broken characters become U+FFFD. */
void lm_bpe_stream_push(const struct lm_bpe *b, struct lm_bpe_stream *s, int32_t id,
                        bool drop_special, struct kg_buf *out);
/* The end: a character that is not complete becomes U+FFFD. */
void lm_bpe_stream_end(struct lm_bpe_stream *s, struct kg_buf *out);

#endif
