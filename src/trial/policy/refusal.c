/* Reads refusals of endpoints. Their bodies differ: OpenAI and vLLM have {"error": {"message",
 * "type", "param", "code"}} or the same without `error`, FastAPI has {"detail": ...}, proxies send
 * pages of HTML. */
#include "trial/policy/refusal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/utf8.h"

/* --- words --- */

static void clean(const char *text, size_t len, char *out, size_t cap)
{
    size_t n = 0;
    bool space = false, ok, cut = false;
    uint32_t cp;
    for (size_t at = 0, step; at < len && !cut; at += step) {
        step = kg_utf8_next(text + at, len - at, &cp, &ok);
        if (!ok || !kg_utf8_in_line(cp) || cp == ' ') {
            space = n > 0;
            continue;
        }
        cut = n + space + step + 4 > cap; /* room for "..." */
        if (!cut) {
            if (space) {
                out[n++] = ' ';
            }
            memcpy(out + n, text + at, step);
            n += step;
            space = false;
        }
    }
    snprintf(out + n, cap - n, "%s", cut ? "..." : "");
}

/* The key goes first: a cut would leave its beginning. */
void tr_words_clean(const char *text, size_t len, const char *key, char *out, size_t cap)
{
    struct kg_buf all;
    kg_buf_init(&all, 1u << 16);
    kg_buf_add(&all, text, len);
    tr_key_hide(key, all.data, &all.len);
    clean(all.data, all.len, out, cap);
    kg_buf_deinit(&all);
}

/* Text of a page between its tags. */
static void without_tags(const char *body, size_t len, struct kg_buf *out)
{
    bool tag = false;
    for (size_t i = 0; i < len; i++) {
        if (body[i] == '<') {
            tag = true;
            kg_buf_addc(out, ' ');
        } else if (tag) {
            tag = body[i] != '>';
        } else {
            kg_buf_addc(out, body[i]);
        }
    }
}

static void take(const json_t *j, const char *key, char *out, size_t cap)
{
    if (json_is_string(j)) {
        tr_words_clean(json_string_value(j), json_string_length(j), key, out, cap);
    } else if (json_is_integer(j)) {
        snprintf(out, cap, "%lld", (long long)json_integer_value(j));
    }
}

static void read_error(const json_t *e, const char *key, struct tr_words *out)
{
    static const char *const members[] = {"message", "detail", "msg", "error"};
    const json_t *code = json_object_get(e, "code");
    if (json_is_string(e)) {
        take(e, key, out->text, sizeof out->text);
        return;
    }
    for (size_t i = 0; i < sizeof members / sizeof *members && out->text[0] == '\0'; i++) {
        take(json_object_get(e, members[i]), key, out->text, sizeof out->text);
    }
    if (json_is_integer(code) && json_integer_value(code) >= 400 &&
        json_integer_value(code) < 600) {
        out->status = (int)json_integer_value(code);
    }
    take(json_is_string(code) ? code : json_object_get(e, "type"), key, out->code,
         sizeof out->code);
    const json_t *place = json_object_get(json_array_get(json_object_get(e, "detail"), 0), "loc");
    const json_t *param = json_array_get(place, json_array_size(place) - 1); /* FastAPI */
    take(param != NULL ? param : json_object_get(e, "param"), key, out->param, sizeof out->param);
}

/* Words of a nested form that has no text member: its JSON. */
static void read_rest(const json_t *j, const char *key, struct tr_words *out)
{
    struct kg_buf text;
    kg_buf_init(&text, 1u << 16);
    kg_json_dump(j, &text);
    tr_words_clean(text.data, text.len, key, out->text, sizeof out->text);
    kg_buf_deinit(&text);
}

void tr_words_read(const char *body, size_t len, const json_t *error, const char *key,
                   struct tr_words *out)
{
    struct kg_err none = KG_ERR_INIT;
    json_t *root = NULL;
    *out = (struct tr_words){.status = 0};
    if (error == NULL && kg_json_parse_loose(body, len, "an error", &root, &none) == KG_OK) {
        error = json_object_get(root, "error");
        error = json_is_object(error) || json_is_string(error) ? error : root;
    }
    if (error != NULL) {
        read_error(error, key, out);
        if (out->text[0] == '\0') {
            read_rest(error, key, out);
        }
    } else {
        struct kg_buf text;
        kg_buf_init(&text, 1u << 16);
        without_tags(body, len, &text);
        tr_words_clean(text.data, text.len, key, out->text, sizeof out->text);
        kg_buf_deinit(&text);
    }
    json_decref(root);
}

void tr_key_hide(const char *key, char *text, size_t *n)
{
    static const char mark[] = "[key]";
    size_t len = strlen(key), put = strlen(mark);
    if (len < 8) {
        return;
    }
    for (char *at = text; (at = memmem(at, *n - (size_t)(at - text), key, len)) != NULL;) {
        char *behind = at + len;
        memcpy(at, mark, put);
        memmove(at + put, behind, (size_t)(text + *n - behind));
        *n -= len - put;
        text[*n] = '\0';
        at += put;
    }
}

/* --- fate --- */

static bool says(const struct tr_words *w, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcasestr(w->text, *list) != NULL || strcasestr(w->code, *list) != NULL) {
            return true;
        }
    }
    return false;
}

/* Sources: OpenAI's code; vLLM and SGLang's words; llama.cpp's type and words; those of gateways.
 */
static bool is_full(int status, const struct tr_words *w)
{
    static const char *const words[] = {"context_length_exceeded",
                                        "exceed_context_size",
                                        "maximum context length",
                                        "maximum model length",
                                        "model's context length",
                                        "context window",
                                        "available context size",
                                        "maximum allowed length",
                                        "prompt is too long",
                                        "input is too long",
                                        NULL};
    return status == 413 || says(w, words);
}

enum tr_fate tr_refusal_fate(int status, const struct tr_words *w)
{
    status = w->status != 0 && (status < 400 || status >= 600) ? w->status : status;
    if (status >= 400 && status != 401 && status != 403 && status != 429 && is_full(status, w)) {
        return TR_FULL;
    }
    if (strcmp(w->code, "insufficient_quota") == 0) { /* OpenAI sends it with 429 */
        return TR_NEVER;
    }
    if (status == 408 || status == 409 || status == 425 || status == 429 || status >= 500 ||
        status < 300) {
        return TR_AGAIN;
    }
    return TR_NEVER;
}

/* --- waiting --- */

double tr_retry_after(const char *text, int64_t date, int64_t now_s)
{
    const double year = 366.0 * 86400;
    char *end = NULL;
    while (*text == ' ' || *text == '\t') {
        text++;
    }
    if (isdigit((unsigned char)*text)) {
        double s = strtod(text, &end);
        while (*end == ' ' || *end == '\t') {
            end++;
        }
        return *end != '\0' || isnan(s) ? -1 : s < year ? s : year;
    }
    if (date < 0) {
        return -1;
    }
    double s = (double)(date - now_s);
    return s < 0 ? 0 : s < year ? s : year;
}

double tr_backoff(int tries, uint64_t seed, double patience_s)
{
    struct kg_rng r;
    double most = patience_s / 20 < 30 ? patience_s / 20 : 30;
    double s = ldexp(0.5, tries - 1 < 16 ? tries - 1 : 16);
    kg_rng_init(&r, (struct kg_key){{seed, (uint64_t)tries}}, 0);
    double part = 0.5 + 0.5 * kg_rng_unit(&r);
    kg_rng_deinit(&r);
    return (s < most ? s : most) * part;
}
