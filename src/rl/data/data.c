/* Lines and files, and where their messages are kept. */
#include "rl/data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json_foreign.h"
#include "rl/data/data_parts.h"

#define MAX_TEXT (4ull << 30) /* bytes of all messages */
#define MAX_FILE (4ull << 30)

void rl_data_init(struct rl_data *d, enum rl_data_turns turns)
{
    *d = (struct rl_data){.turns = turns};
    kg_buf_init(&d->text, MAX_TEXT);
}

void rl_data_deinit(struct rl_data *d)
{
    kg_buf_deinit(&d->text);
    free(d->message);
    free(d->conversation);
}

bool rl_data_key(const char *hex, uint64_t *key)
{
    *key = 0;
    if (strlen(hex) != KG_SHA256_HEX - 1 || strspn(hex, "0123456789abcdef") != KG_SHA256_HEX - 1) {
        return false;
    }
    for (int i = 0; i < 16; i++) {
        *key = *key << 4 | (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
    }
    return true;
}

uint64_t rl_data_key_of(const char *text, size_t len)
{
    char hex[KG_SHA256_HEX];
    uint64_t key;
    kg_sha256_hex(text, len, hex);
    rl_data_key(hex, &key);
    return key;
}

/* --- a conversation that is being read --- */

/* Doubles an array that is full. */
static bool grow(void **array, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return true;
    }
    size_t want = *cap > 0 ? 2 * *cap : 64;
    void *more = realloc(*array, want * size);
    if (more == NULL) {
        return false;
    }
    *array = more;
    *cap = want;
    return true;
}

static enum kg_code begin(struct rl_data *d, struct kg_err *err)
{
    if (!grow((void **)&d->conversation, d->n, &d->cap, sizeof *d->conversation)) {
        return kg_fail_memory(err, KG_E_HOST, "data: no memory for %zu conversations", d->n + 1);
    }
    d->conversation[d->n] = (struct rl_conversation){.first = d->n_messages};
    return KG_OK;
}

/* A message without text yet. */
static enum kg_code add_message(struct rl_data *d, enum lm_chat_role role, bool trained,
                                struct kg_err *err)
{
    if (!grow((void **)&d->message, d->n_messages, &d->message_cap, sizeof *d->message)) {
        return kg_fail_memory(err, KG_E_HOST, "data: no memory for %zu messages",
                              d->n_messages + 1);
    }
    d->message[d->n_messages++] =
        (struct rl_message){.role = role, .at = d->text.len, .trained = trained};
    d->conversation[d->n].n++;
    return KG_OK;
}

/* Appends to the text of the last message. */
static void add_text(struct rl_data *d, const char *text, size_t len)
{
    kg_buf_add(&d->text, text, len);
    d->message[d->n_messages - 1].len += len;
}

static enum kg_code text_fits(const struct rl_data *d, struct kg_err *err)
{
    return kg_buf_ok(&d->text) ? KG_OK
                               : kg_fail(err, KG_E_LIMIT, "data: more than %llu bytes of text",
                                         (unsigned long long)MAX_TEXT);
}

enum kg_code rl_data_add(struct rl_data *d, enum lm_chat_role role, const json_t *text,
                         bool trained, struct kg_err *err)
{
    if (add_message(d, role, trained, err) != KG_OK) {
        return err->code;
    }
    add_text(d, json_string_value(text), json_string_length(text));
    return text_fits(d, err);
}

enum kg_code rl_data_add_thought(struct rl_data *d, const json_t *thought, const json_t *content,
                                 bool trained, const char *where, struct kg_err *err)
{
    static const char open[] = "<think>\n", close[] = "\n</think>\n\n";
    const char *t = json_string_value(thought), *c = json_string_value(content);
    size_t n = json_string_length(thought), m = json_string_length(content);
    if (add_message(d, LM_CHAT_ASSISTANT, trained, err) != KG_OK) {
        return err->code;
    }
    for (; n > 0 && t[0] == '\n'; t++, n--) { /* as the template does */
    }
    for (; n > 0 && t[n - 1] == '\n'; n--) {
    }
    for (; m > 0 && c[0] == '\n'; c++, m--) {
    }
    add_text(d, open, sizeof open - 1);
    add_text(d, t, n);
    add_text(d, close, sizeof close - 1);
    add_text(d, c, m);
    if (d->thought[0] == '\0') {
        snprintf(d->thought, sizeof d->thought, "%s", where);
    }
    return text_fits(d, err);
}

bool rl_data_keep(struct rl_data *d)
{
    struct rl_conversation *c = &d->conversation[d->n];
    while (c->n > 0 && !d->message[c->first + c->n - 1].trained) {
        c->n--;
        d->n_messages--;
    }
    if (c->n == 0) {
        return false;
    }
    const struct rl_message *last = &d->message[d->n_messages - 1];
    d->text.len = last->at + last->len;
    for (size_t i = c->first; i < c->first + c->n; i++) {
        d->counts.replies += d->message[i].role == LM_CHAT_ASSISTANT;
        d->counts.untrained += d->message[i].role == LM_CHAT_ASSISTANT && !d->message[i].trained;
    }
    d->n++;
    return true;
}

/* --- lines and files --- */

enum kg_code rl_data_line(struct rl_data *d, const char *line, size_t len, const char *source,
                          struct kg_err *err)
{
    json_t *j;
    size_t n = d->n, messages = d->n_messages, text = d->text.len, blank = 0;
    bool thought = d->thought[0] != '\0';
    while (blank < len && strchr(" \t\r\n", line[blank]) != NULL && line[blank] != '\0') {
        blank++;
    }
    if (blank == len) {
        return KG_OK;
    }
    if (len > RL_DATA_LINE) {
        return kg_fail(err, KG_E_LIMIT, "%s: longer than %u bytes", source, RL_DATA_LINE);
    }
    if (begin(d, err) != KG_OK ||
        kg_json_parse_foreign(line, len, source, true, &j, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = rl_data_read(d, j, source, err);
    json_decref(j);
    d->counts.lines += code == KG_OK;
    if (code != KG_OK || d->n == n) { /* nothing of it stays */
        d->n_messages = messages;
        d->text.len = text;
        d->text.truncated = false;
        if (!thought) {
            d->thought[0] = '\0';
        }
    }
    return code;
}

enum kg_code rl_data_file(struct rl_data *d, const char *path, struct kg_err *err)
{
    struct kg_buf file;
    uint64_t before = d->counts.lines;
    size_t number = 0;
    kg_buf_init(&file, MAX_FILE);
    enum kg_code code = kg_file_read(path, &file, err);
    for (size_t at = 0; code == KG_OK && at < file.len;) {
        char source[340];
        const char *end = memchr(file.data + at, '\n', file.len - at);
        size_t len = end != NULL ? (size_t)(end - file.data) - at : file.len - at;
        snprintf(source, sizeof source, "%.300s:%zu", path, ++number);
        code = rl_data_line(d, file.data + at, len, source, err);
        at += len + 1;
    }
    kg_buf_deinit(&file);
    return code != KG_OK || d->counts.lines > before
               ? code
               : kg_fail(err, KG_E_INPUT, "%.300s: holds no line", path);
}
