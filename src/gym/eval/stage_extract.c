/* Stage extract: from the reply to the candidate's source. */
#include <string.h>

#include "gym/eval/executor.h"
#include "gym/prompt/demonstration.h"

#define BINARY_LOOKED 4096 /* bytes in which control characters are counted */

static enum kg_stage_result take_source(struct kg_evaluation *e, const char *code, size_t len,
                                        const char *rule, struct kg_err *err)
{
    struct kg_record *r = e->r;
    char *copy = kg_arena_dup(&r->arena, code, len, err);
    if (!copy) {
        return KG_STAGE_ERROR;
    }
    e->code = copy;
    e->code_len = len;
    r->candidate.language = e->w->executor->language;
    r->candidate.rule = rule;
    r->candidate.code = copy;
    r->candidate.bytes = (int64_t)len;
    kg_sha256_hex(copy, len, r->candidate.sha256);
    return KG_STAGE_PASS;
}

/* Where a text holds a byte that no text holds: a NUL, or so many control characters that it is
 * none. -1: it is text. Sources in an old 8-bit encoding are text. */
static long binary_at(const char *text, size_t len)
{
    size_t looked = len < BINARY_LOOKED ? len : BINARY_LOOKED, controls = 0;
    const char *nul = memchr(text, 0, len);
    for (size_t i = 0; i < looked; i++) {
        unsigned char c = (unsigned char)text[i];
        controls += c == 0x7f || (c < 0x20 && (c < '\t' || c > '\r') && c != 0x1b);
    }
    return nul ? nul - text : controls > looked / 10 ? 0 : -1;
}

enum kg_stage_result kg_stage_extract(struct kg_evaluation *e, struct kg_err *err)
{
    const struct kg_task *t = e->task;
    struct kg_record *r = e->r;
    if (t->source) {
        if (t->len > KG_REPLY_MAX_BYTES) {
            kg_record_verdict(r, KG_V_NO_CODE, "no_block",
                              "the source has %zu bytes, at most %d are read", t->len,
                              KG_REPLY_MAX_BYTES);
            return KG_STAGE_FAIL;
        }
        long at = binary_at(t->text, t->len);
        if (at >= 0) {
            kg_record_verdict(
                r, KG_V_NO_CODE, "no_block",
                "the source is a binary file, not text (the byte at offset %ld is 0x%02x);"
                " expected the source of a candidate that defines `%s`",
                at, (unsigned)(unsigned char)t->text[at], e->w->executor->entry(e->w));
            return KG_STAGE_FAIL;
        }
        return take_source(e, t->text, t->len, "source-file", err);
    }
    const struct kg_executor *executor = e->w->executor;
    struct kg_extract x;
    if (kg_extract_reply(t->text, t->len, NULL, executor->lang, executor->entry(e->w), &r->arena,
                         &x, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    kg_demonstration_mark(&x, executor->lang);
    for (int bit = 0; bit < KG_XF_COUNT; bit++) {
        if (x.flags & (1u << bit)) {
            json_array_append_new(r->candidate.flags, json_string(kg_extract_flag_name(bit)));
        }
    }
    if (!x.found) {
        bool binary = binary_at(t->text, t->len) >= 0;
        kg_record_verdict(r, KG_V_NO_CODE, x.reason, "%s%s",
                          binary ? "the reply is a binary file, not text: " : "", x.message);
        return KG_STAGE_FAIL;
    }
    return take_source(e, x.code, x.bytes, x.rule, err);
}
