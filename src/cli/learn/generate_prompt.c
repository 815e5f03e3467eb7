/* The ids of the prompt of `kgym generate`. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/learn/generate.h"
#include "gym/kgym.h"
#include "rl/judge/judge.h"

#define MAX_PROMPT  (64u << 20) /* bytes */
#define MAX_MESSAGE 1024

static enum kg_code encode(const struct rl_talker *t, const struct lm_chat_message *m, size_t n,
                           struct lm_ids *out, struct kg_err *err)
{
    return lm_chat_encode(&t->chat, m, n, true, out, err);
}

/* One user message, after the system message if there is one. */
static enum kg_code one_message(const struct kg_generate *g, const struct rl_talker *t,
                                const char *text, size_t len, struct lm_ids *out,
                                struct kg_err *err)
{
    struct lm_chat_message m[2] = {{.role = LM_CHAT_USER, .content = text, .len = len}};
    if (g->system == NULL) {
        return encode(t, m, 1, out, err);
    }
    m[1] = m[0];
    m[0] = (struct lm_chat_message){
        .role = LM_CHAT_SYSTEM, .content = g->system, .len = strlen(g->system)};
    return encode(t, m, 2, out, err);
}

static enum kg_code text_prompt(const struct kg_generate *g, const struct rl_talker *t,
                                const char *text, size_t len, struct lm_ids *out,
                                struct kg_err *err)
{
    if (!g->raw) {
        return one_message(g, t, text, len, out, err);
    }
    return len > 0 ? lm_bpe_encode(t->bpe, text, len, LM_BPE_TEXT, out, err)
                   : kg_fail(err, KG_E_USAGE, "--raw: the prompt is empty");
}

static enum kg_code file_prompt(const struct kg_generate *g, const struct rl_talker *t,
                                struct lm_ids *out, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, MAX_PROMPT);
    enum kg_code code = kg_file_read(g->prompt_file, &text, err);
    code = code != KG_OK ? code : text_prompt(g, t, text.data, text.len, out, err);
    kg_buf_deinit(&text);
    return code;
}

/* --- messages --- */

static enum kg_code message_of(const json_t *j, size_t i, size_t n, struct lm_chat_message *out,
                               struct kg_err *err)
{
    static const char *const names[] = {"system", "user", "assistant"};
    const char *role = json_string_value(json_object_get(j, "role"));
    const json_t *content = json_object_get(j, "content");
    int r = 0;
    while (r < 3 && (role == NULL || strcmp(role, names[r]) != 0)) {
        r++;
    }
    if (r == 3 || !json_is_string(content)) {
        return kg_fail(err, KG_E_INPUT, "message %zu: %s", i + 1,
                       r == 3 ? "no `role` that is system, user or assistant"
                              : "no text `content`");
    }
    if ((r == LM_CHAT_SYSTEM && i > 0) || (i + 1 == n && r != LM_CHAT_USER)) {
        return kg_fail(err, KG_E_INPUT, "message %zu: %s", i + 1,
                       r == LM_CHAT_SYSTEM && i > 0 ? "a system message stands first"
                                                    : "the last one must be of the user");
    }
    *out = (struct lm_chat_message){.role = (enum lm_chat_role)r,
                                    .content = json_string_value(content),
                                    .len = json_string_length(content)};
    return KG_OK;
}

static enum kg_code messages_of(const json_t *j, const struct rl_talker *t, struct lm_ids *out,
                                struct kg_err *err)
{
    struct lm_chat_message m[MAX_MESSAGE];
    const json_t *list = json_is_object(j) ? json_object_get(j, "messages") : j;
    size_t n = json_array_size(list);
    if (n < 1 || n > MAX_MESSAGE) {
        return kg_fail(err, KG_E_INPUT, "an array of 1 to %d messages is needed", MAX_MESSAGE);
    }
    for (size_t i = 0; i < n; i++) {
        if (message_of(json_array_get(list, i), i, n, &m[i], err) != KG_OK) {
            return err->code;
        }
    }
    return encode(t, m, n, out, err);
}

static enum kg_code messages_prompt(const struct kg_generate *g, const struct rl_talker *t,
                                    struct lm_ids *out, struct kg_err *err)
{
    struct kg_buf text;
    json_t *j = NULL;
    kg_buf_init(&text, MAX_PROMPT);
    enum kg_code code = kg_file_read(g->messages, &text, err);
    code = code != KG_OK ? code : kg_json_parse(text.data, text.len, g->messages, &j, err);
    if (code == KG_OK && messages_of(j, t, out, err) != KG_OK) {
        code = kg_err_prefix(err, "%.300s", g->messages);
    }
    json_decref(j);
    kg_buf_deinit(&text);
    return code;
}

/* --- problems --- */

static enum kg_code gym_prompt(const struct kg_generate *g, const struct rl_talker *t,
                               struct lm_ids *out, struct kg_err *err)
{
    struct kgym_pool *pool = NULL;
    struct kgym_error e = {0};
    char *text = NULL;
    if (kgym_open(NULL, &pool, &e) != KGYM_OK) {
        return rl_judge_fail(err, &e);
    }
    enum kg_code code = kgym_prompt(pool, g->problem, NULL, 0, NULL, &text, &e) == KGYM_OK
                            ? one_message(g, t, text, strlen(text), out, err)
                            : rl_judge_fail(err, &e);
    kgym_free(text);
    kgym_close(pool);
    return code;
}

/* A chain has the short message that small models are trained on. */
static enum kg_code problem_prompt(const struct kg_generate *g, const struct rl_talker *t,
                                   struct lm_ids *out, struct kg_err *err)
{
    struct rl_chain chain;
    struct kg_err none = KG_ERR_INIT;
    return !g->full_prompt && rl_chain_parse(g->problem, &chain, &none) == KG_OK
               ? rl_talker_prompt(t, &chain, out, err)
               : gym_prompt(g, t, out, err);
}

enum kg_code kg_generate_prompt(const struct kg_generate *g, const struct rl_talker *t,
                                struct lm_ids *out, struct kg_err *err)
{
    return g->prompt != NULL        ? text_prompt(g, t, g->prompt, strlen(g->prompt), out, err)
           : g->prompt_file != NULL ? file_prompt(g, t, out, err)
           : g->messages != NULL    ? messages_prompt(g, t, out, err)
                                    : problem_prompt(g, t, out, err);
}
