/* From a model's reply to the candidate's source: one function for grading, hashing, showing and
 * storing. The last complete block that defines the entry wins; nothing is ever renamed or edited
 * to make it work. docs/extraction.md lists the rules in order; `rule` says which one fired. */
#ifndef KG_GYM_REPLY_EXTRACT_H
#define KG_GYM_REPLY_EXTRACT_H

#include "base/arena.h"
#include "gym/reply/lex.h"

#define KG_REPLY_MAX_BYTES 200000 /* longer replies keep their last 200 000 bytes, flagged */

enum kg_extract_flag {
    KG_XF_TRUNCATED = 1 << 0,
    KG_XF_NUL = 1 << 1,
    KG_XF_UTF8 = 1 << 2,
    KG_XF_UNCLOSED = 1 << 3,
    KG_XF_DEDENT = 1 << 4,
    KG_XF_PROMPTS = 1 << 5,
    KG_XF_GUTTER = 1 << 6,
    KG_XF_ENTITIES = 1 << 7,
    KG_XF_ESCAPED = 1 << 8,
    KG_XF_JSON = 1 << 9,
    KG_XF_QUOTES = 1 << 10,
    KG_XF_CONCAT = 1 << 11,
    KG_XF_DEMO = 1 << 12,
    KG_XF_NORMALISED = 1 << 13,
    KG_XF_MAGICS = 1 << 14,
};
#define KG_XF_COUNT 15
const char *kg_extract_flag_name(int bit); /* bit number 0..KG_XF_COUNT-1: "truncated", ... */

struct kg_extract {
    bool found;
    const char *code; /* NUL-terminated, in the arena; NULL when not found */
    size_t bytes;
    const char *rule;    /* "fence-closed", "fence-unclosed", "fences-joined", "pre-code", "json",
                            "bare", ...;    "source-file" is set by callers that skip extraction */
    const char *reason;  /* no_code: empty, no_block, missing_entry, thinking_only, diff, cut_off */
    const char *message; /* one line, in the arena */
    uint32_t flags;
};

/* finish: why generation stopped ("stop", "length") or NULL. Fails only on the arena's cap. */
enum kg_code kg_extract_reply(const char *text, size_t len, const char *finish, enum kg_lang lang,
                              const char *entry, struct kg_arena *arena, struct kg_extract *out,
                              struct kg_err *err) KG_MUST_USE;

/* Sets KG_XF_DEMO when the code is, token by token, a demonstration that the prompt showed. Such a
 * reply is judged as any other. For callers that know what the prompt held. */
void kg_extract_mark_demo(struct kg_extract *x, enum kg_lang lang, const char *demo, size_t len);

#endif
