/* A conversation becomes a row of parts, special tokens and texts, each counted by the loss or not;
 * a sink takes them as ids or as text. Neighbouring texts of one kind are encoded together, as the
 * template's text would be. */
#include "lm/tok/chat.h"

#include <string.h>

#define MAX_TEXT (512u << 20) /* bytes between two special tokens */

struct sink {
    const struct lm_chat *c;
    struct lm_ids *ids;  /* or */
    struct kg_buf *text; /* one is NULL */
    struct kg_buf run;   /* text that is not yet encoded */
    bool counts;         /* of run */
    struct kg_err *err;
    enum kg_code code; /* the first error */
};

static void flush(struct sink *s)
{
    if (s->ids != NULL && s->run.len > 0 && s->code == KG_OK) {
        size_t from = s->ids->n;
        s->code =
            kg_buf_ok(&s->run)
                ? lm_bpe_encode(s->c->bpe, s->run.data, s->run.len, LM_BPE_TEXT, s->ids, s->err)
                : kg_fail(s->err, KG_E_LIMIT, "a turn of more than %u bytes", MAX_TEXT);
        lm_ids_set_mask(s->ids, from, s->counts);
    }
    kg_buf_reset(&s->run);
}

static void put(struct sink *s, const char *text, size_t len, bool counts)
{
    if (len == 0) {
        return;
    }
    if (s->text != NULL) {
        kg_buf_add(s->text, text, len);
        return;
    }
    if (counts != s->counts) {
        flush(s);
        s->counts = counts;
    }
    kg_buf_add(&s->run, text, len);
}

static void put_text(struct sink *s, const char *text, bool counts)
{
    put(s, text, strlen(text), counts);
}

static void put_token(struct sink *s, int32_t id, bool counts)
{
    if (s->text != NULL) {
        lm_bpe_decode(s->c->bpe, &id, 1, false, s->text);
        return;
    }
    flush(s);
    size_t from = s->ids->n;
    lm_ids_add(s->ids, &id, 1);
    lm_ids_set_mask(s->ids, from, counts);
}

static enum kg_code finish(struct sink *s)
{
    flush(s);
    kg_buf_deinit(&s->run);
    if (s->code == KG_OK &&
        ((s->ids != NULL && s->ids->failed) || (s->text != NULL && !kg_buf_ok(s->text)))) {
        s->code = kg_fail(s->err, KG_E_LIMIT, "a conversation does not fit into memory");
    }
    return s->code;
}

static void put_plain_turn(struct sink *s, const char *role, const char *content, size_t len)
{
    put_token(s, s->c->start_id, false);
    put_text(s, role, false);
    put_text(s, "\n", false);
    put(s, content, len, false);
    put_token(s, s->c->end_id, false);
    put_text(s, "\n", false);
}

/* A part of a text. */
struct part {
    const char *p;
    size_t n;
};

static struct part skip_lines(struct part a)
{
    while (a.n > 0 && a.p[0] == '\n') {
        a.p++;
        a.n--;
    }
    return a;
}

static struct part drop_lines(struct part a)
{
    while (a.n > 0 && a.p[a.n - 1] == '\n') {
        a.n--;
    }
    return a;
}

static const char *find_last(struct part a, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = a.n; i-- > 0;) {
        if (a.n - i >= len && memcmp(a.p + i, word, len) == 0) {
            return a.p + i;
        }
    }
    return NULL;
}

/* Content and reasoning of an assistant's turn as Qwen3's template tells them apart. */
static void split_reasoning(const struct lm_chat_message *m, struct part *content,
                            struct part *reasoning)
{
    static const char open[] = "<think>", close[] = "</think>";
    *content = (struct part){m->content, m->len};
    *reasoning = (struct part){m->reasoning, m->reasoning_len};
    const char *last = m->reasoning == NULL ? find_last(*content, close) : NULL;
    if (last == NULL) {
        return;
    }
    const char *first = memmem(m->content, m->len, close, sizeof close - 1);
    struct part before = drop_lines((struct part){m->content, (size_t)(first - m->content)});
    const char *begin = find_last(before, open);
    if (begin != NULL) {
        begin += sizeof open - 1;
        before = (struct part){begin, (size_t)(before.p + before.n - begin)};
    }
    *reasoning = skip_lines(before);
    last += sizeof close - 1;
    *content = skip_lines((struct part){last, (size_t)(m->content + m->len - last)});
}

/* A user's turn that only hands back what tools said. */
static bool is_tool_response(const struct lm_chat_message *m)
{
    static const char open[] = "<tool_response>", close[] = "</tool_response>";
    size_t a = sizeof open - 1, b = sizeof close - 1;
    return m->len >= a && memcmp(m->content, open, a) == 0 && m->len >= b &&
           memcmp(m->content + m->len - b, close, b) == 0;
}

/* Turns after this one may show their reasoning. */
static size_t last_query(const struct lm_chat_message *m, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        if (m[i].role == LM_CHAT_USER && !is_tool_response(&m[i])) {
            return i;
        }
    }
    return n - 1;
}

/* "<think>\n" + reasoning + "\n</think>\n\n"; what the prompt has of it is not counted. */
static void put_thought(struct sink *s, struct part reasoning)
{
    bool in_prompt = s->c->kind == LM_CHAT_QWEN3 && !s->c->thinking && reasoning.n == 0;
    bool opened = in_prompt || s->c->kind == LM_CHAT_QWEN3_THINKING;
    put_token(s, s->c->think_id, !opened);
    put_text(s, "\n", !opened);
    put(s, reasoning.p, reasoning.n, !in_prompt);
    put_text(s, "\n", !in_prompt);
    put_token(s, s->c->end_think_id, !in_prompt);
    put_text(s, "\n\n", !in_prompt);
}

static bool thinks(const struct lm_chat *c)
{
    return c->kind == LM_CHAT_QWEN3 || c->kind == LM_CHAT_QWEN3_THINKING;
}

static void put_assistant(struct sink *s, const struct lm_chat_message *m, bool after_query,
                          bool last)
{
    struct part content = {m->content, m->len}, reasoning = {NULL, 0};
    put_token(s, s->c->start_id, false);
    put_text(s, "assistant\n", false);
    if (thinks(s->c)) {
        split_reasoning(m, &content, &reasoning);
        if (after_query && (last || reasoning.n > 0)) {
            put_thought(s, drop_lines(skip_lines(reasoning)));
            content = skip_lines(content);
        }
    }
    put(s, content.p, content.n, true);
    put_token(s, s->c->end_id, true);
    put_text(s, "\n", false);
}

static void put_prompt(struct sink *s)
{
    put_token(s, s->c->start_id, false);
    put_text(s, "assistant\n", false);
    if (s->c->kind == LM_CHAT_QWEN3 && !s->c->thinking) {
        put_thought(s, (struct part){"", 0});
    } else if (s->c->kind == LM_CHAT_QWEN3_THINKING) {
        put_token(s, s->c->think_id, false);
        put_text(s, "\n", false);
    }
}

static const char *default_system(enum lm_chat_kind kind)
{
    return kind == LM_CHAT_QWEN25
               ? "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
           : kind == LM_CHAT_QWEN25_BASE ? "You are a helpful assistant."
                                         : NULL;
}

static enum kg_code put_all(struct sink *s, const struct lm_chat_message *m, size_t n, bool prompt)
{
    if (n == 0) {
        return s->code = kg_fail(s->err, KG_E_INPUT, "a conversation without messages");
    }
    const char *system = default_system(s->c->kind);
    if (system != NULL && m[0].role != LM_CHAT_SYSTEM) {
        put_plain_turn(s, "system", system, strlen(system));
    }
    size_t query = last_query(m, n);
    for (size_t i = 0; i < n; i++) {
        if (m[i].role == LM_CHAT_ASSISTANT) {
            put_assistant(s, &m[i], i > query, i == n - 1);
        } else {
            put_plain_turn(s, m[i].role == LM_CHAT_SYSTEM ? "system" : "user", m[i].content,
                           m[i].len);
        }
    }
    if (prompt) {
        put_prompt(s);
    }
    return s->code;
}

enum kg_code lm_chat_encode(const struct lm_chat *c, const struct lm_chat_message *m, size_t n,
                            bool prompt, struct lm_ids *out, struct kg_err *err)
{
    struct sink s = {.c = c, .ids = out, .err = err};
    kg_buf_init(&s.run, MAX_TEXT);
    put_all(&s, m, n, prompt);
    return finish(&s);
}

enum kg_code lm_chat_render(const struct lm_chat *c, const struct lm_chat_message *m, size_t n,
                            bool prompt, struct kg_buf *out, struct kg_err *err)
{
    struct sink s = {.c = c, .text = out, .err = err};
    kg_buf_init(&s.run, MAX_TEXT);
    put_all(&s, m, n, prompt);
    return finish(&s);
}

enum kg_code lm_chat_continue(const struct lm_chat *c, bool ended, const char *content, size_t len,
                              struct lm_ids *out, struct kg_err *err)
{
    struct sink s = {.c = c, .ids = out, .err = err};
    kg_buf_init(&s.run, MAX_TEXT);
    if (!ended) {
        put_token(&s, c->end_id, false); /* the model did not say it */
    }
    put_text(&s, "\n", false);
    put_plain_turn(&s, "user", content, len);
    put_prompt(&s);
    return finish(&s);
}

enum kg_code lm_chat_init(struct lm_chat *c, enum lm_chat_kind kind, struct lm_bpe *bpe,
                          struct kg_err *err)
{
    *c = (struct lm_chat){
        .kind = kind,
        .bpe = bpe,
        .start_id = lm_bpe_added_id(bpe, "<|im_start|>"),
        .end_id = lm_bpe_added_id(bpe, "<|im_end|>"),
        .pad_id = lm_bpe_added_id(bpe, "<|endoftext|>"),
        .think_id = lm_bpe_added_id(bpe, "<think>"),
        .end_think_id = lm_bpe_added_id(bpe, "</think>"),
        .thinking = true,
    };
    const char *lacks = c->start_id < 0                                         ? "<|im_start|>"
                        : c->end_id < 0                                         ? "<|im_end|>"
                        : c->pad_id < 0                                         ? "<|endoftext|>"
                        : thinks(c) && (c->think_id < 0 || c->end_think_id < 0) ? "<think>"
                                                                                : NULL;
    return lacks == NULL ? KG_OK
                         : kg_fail(err, KG_E_INPUT,
                                   "the vocabulary has no added token %s, which "
                                   "the template %s needs",
                                   lacks, lm_chat_kind_name(kind));
}
