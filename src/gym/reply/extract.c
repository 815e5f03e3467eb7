/* Extracts the candidate's source from a model's reply. */
#include "gym/reply/extract.h"

#include <stdlib.h>
#include <string.h>

#include "gym/reply/extract_private.h"

static const char *const flag_names[KG_XF_COUNT] = {
    "truncated", "nul",  "utf8",   "unclosed", "dedent", "prompts",    "gutter", "entities",
    "escaped",   "json", "quotes", "concat",   "demo",   "normalised", "magics",
};

const char *kg_extract_flag_name(int bit)
{
    return bit >= 0 && bit < KG_XF_COUNT ? flag_names[bit] : NULL;
}

/* Length of `<|name|>` at the end of t, 0 if there is none. The bars are ASCII or full-width. */
static size_t bar_mark(struct kg_slice t)
{
    static const char *const opening[] = {"<|", "<\xEF\xBD\x9C"};
    static const char *const closing[] = {"|>", "\xEF\xBD\x9C>"};
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(closing[i]);
        if (t.len <= n || memcmp(t.at + t.len - n, closing[i], n) != 0) {
            continue;
        }
        while (n < t.len && n < 40 && t.at[t.len - n - 1] != '<' && t.at[t.len - n - 1] != '\n') {
            n++;
        }
        if (n == t.len || n + 1 <= strlen(opening[i]) + strlen(closing[i])) {
            return 0;
        }
        struct kg_slice mark = {t.at + t.len - n - 1, n + 1};
        return kg_slice_starts(mark, opening[i]) ? mark.len : 0;
    }
    return 0;
}

/* Control strings of chat templates that a model wrote as text at the very end. */
static struct kg_slice without_end_marks(struct kg_slice text, uint32_t *flags)
{
    static const char *const marks[] = {"</s>",  "<eos>", "<end_of_turn>", "[/INST]",
                                        "<pad>", "<unk>", "<eot>"};
    struct kg_slice start = kg_slice_trim(text);
    text.len -= (size_t)(start.at - text.at); /* trimmed once: marks may be many */
    const char *blanks = text.at;
    text.at = start.at;
    for (;;) {
        struct kg_slice t = kg_slice_trim(text);
        size_t cut = 0;
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
            size_t n = strlen(marks[i]);
            cut = t.len >= n && memcmp(t.at + t.len - n, marks[i], n) == 0 ? n : cut;
        }
        cut = cut == 0 ? bar_mark(t) : cut;
        if (cut == 0) {
            return (struct kg_slice){blanks, text.len + (size_t)(text.at - blanks)};
        }
        *flags |= KG_XF_NORMALISED;
        text.len = (size_t)(t.at - text.at) + t.len - cut;
    }
}

/* Why there is no code. outer: the whole reply; text: what follows the reasoning. */
static const char *reason_of(const struct kg_reply *r, const struct kg_blocks *b,
                             struct kg_slice outer, struct kg_slice text, bool thought)
{
    if (kg_slice_trim(outer).len == 0) {
        return "empty";
    }
    size_t hidden = (size_t)(text.at - outer.at);
    bool only_thought = thought && b->n == 0 &&
                        (kg_slice_trim(text).len == 0 || memmem(outer.at, hidden, "```", 3));
    if (only_thought || (b->thinking && b->n == 0)) {
        return "thinking_only";
    }
    bool diff = r->diff, cut = r->finish != NULL && strcmp(r->finish, "length") == 0;
    for (int i = 0; i < b->n; i++) {
        const struct kg_block *k = &b->list[i];
        diff |= k->tag == KG_TAG_DIFF;
        bool tagged = k->tag != KG_TAG_NEUTRAL && kg_tag_accepts(r->lang, k->tag);
        cut |= k->to_end && kg_slice_trim(k->code).len > 0 && (tagged || r->cut);
    }
    return diff ? "diff" : cut ? "cut_off" : b->n > 0 ? "missing_entry" : "no_block";
}

static char *message_of(const char *reason, const struct kg_reply *r, const struct kg_blocks *b,
                        struct kg_arena *arena, struct kg_err *err)
{
    const char *lang = r->lang == KG_LANG_C ? "C" : "Python";
    const char *tag = r->lang == KG_LANG_C ? "c" : "python";
    bool other = b->n > 0;
    for (int i = 0; i < b->n; i++) {
        other &= !kg_tag_accepts(r->lang, b->list[i].tag);
    }
    const char *why =
        strcmp(reason, "empty") == 0           ? "the reply is empty"
        : strcmp(reason, "thinking_only") == 0 ? "nothing with code follows the reasoning"
        : strcmp(reason, "diff") == 0          ? "the reply is a patch, and patches are not applied"
        : strcmp(reason, "cut_off") == 0       ? "the reply was cut off before its code ended"
        : other                                ? "every code block is tagged as another language"
        : strcmp(reason, "no_block") == 0
            ? "the reply holds no code block, and as a whole it is no source file with the entry"
            : "no code block defines the entry";
    return kg_arena_printf(arena, err,
                           "%s; expected one closed ```%s block of %s that defines `%.100s`", why,
                           tag, lang, r->entry);
}

/* Blocks and names are large: about 300 KB, on the heap for the time of one extraction. */
struct workplace {
    struct kg_reply reply;
    struct kg_blocks blocks[2];
    struct kg_buf text, spoken;
};

/* Looks for code in all that is no reasoning, where that is more than the text behind it. */
static bool spoken_code(struct workplace *w, struct kg_slice outer, struct kg_slice text)
{
    if (!kg_reply_without_thinking(outer, &w->spoken)) {
        return false;
    }
    struct kg_slice spoken = without_end_marks(kg_slice_buf(&w->spoken), &w->reply.flags);
    return spoken.len > text.len && kg_reply_ladder(&w->reply, spoken, 0, w->blocks);
}

static enum kg_code extract(struct workplace *w, struct kg_arena *arena, struct kg_extract *out,
                            struct kg_err *err)
{
    struct kg_reply *r = &w->reply;
    struct kg_slice outer = kg_slice_buf(&w->text);
    bool thought;
    struct kg_slice text = kg_reply_after_thinking(outer, &thought);
    text = without_end_marks(text, &r->flags);
    out->found = spoken_code(w, outer, text) || kg_reply_ladder(r, text, 0, w->blocks);
    out->flags = r->flags;
    if (out->found) {
        out->rule = r->rule;
        out->bytes = r->code.len;
        out->code = kg_arena_dup(arena, r->code.data, r->code.len, err);
        return out->code != NULL ? KG_OK : err->code;
    }
    out->reason = reason_of(r, &w->blocks[0], outer, text, thought);
    out->message = message_of(out->reason, r, &w->blocks[0], arena, err);
    return out->message != NULL ? KG_OK : err->code;
}

enum kg_code kg_extract_reply(const char *text, size_t len, const char *finish, enum kg_lang lang,
                              const char *entry, struct kg_arena *arena, struct kg_extract *out,
                              struct kg_err *err)
{
    *out = (struct kg_extract){0};
    struct workplace *w = malloc(sizeof *w);
    if (w == NULL) {
        return kg_fail(err, KG_E_HOST, "extraction: no memory for %zu bytes", sizeof *w);
    }
    struct kg_reply *r = &w->reply;
    *r = (struct kg_reply){.lang = lang, .entry = entry, .finish = finish};
    struct kg_buf *bufs[] = {&w->text,    &w->spoken, &r->code,    &r->unquoted,
                             &r->decoded, &r->inner,  &r->work[0], &r->work[1]};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++) {
        kg_buf_init(bufs[i], 4u * KG_REPLY_MAX_BYTES);
    }
    kg_reply_normalise(text, len, &w->text, &r->flags);
    enum kg_code code = extract(w, arena, out, err);
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++) {
        if (!kg_buf_ok(bufs[i]) && code == KG_OK) { /* the maximum leaves room for any reply */
            code = kg_fail(err, KG_E_HOST, "extraction: no memory for the text of the reply");
        }
        kg_buf_deinit(bufs[i]);
    }
    free(w);
    return code;
}
