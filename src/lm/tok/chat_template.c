/* Names and hashes. A template of Hugging Face is recognised by SHA-256 of its text without the
 * line ends at its end, because Jinja drops them; one of chat_jinja.c by its text. */
#include "lm/tok/chat.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json_foreign.h"

#define MAX_TEMPLATE (1u << 20)
#define MAX_CONFIG   (16u << 20)

static const char *const names[LM_CHAT_KINDS] = {
    [LM_CHAT_QWEN25] = "qwen2.5",
    [LM_CHAT_QWEN25_BASE] = "qwen2.5-base",
    [LM_CHAT_QWEN3] = "qwen3",
    [LM_CHAT_QWEN3_INSTRUCT] = "qwen3-instruct",
    [LM_CHAT_QWEN3_THINKING] = "qwen3-thinking",
};

static const struct {
    const char *sha256;
    enum lm_chat_kind kind;
} known[] = {
    {"55b2f4a26ac9ee719330a61a0c39d9e538b0e9322212f048326318cff4f8674a", LM_CHAT_QWEN25},
    {"4e9918361c284a93880606d182d64da6a9fe97cdc1f5c5a78c1c8840444246fc", LM_CHAT_QWEN25},
    {"4039eed0f28b7aaa337e70c76cfedba3271ee32505835a095a8c92e536b3c355", LM_CHAT_QWEN25_BASE},
    {"e7ef0c0550d1e3baa43eda35eaaf927e2e0af29a5c052c45c811201acbea4090", LM_CHAT_QWEN25_BASE},
    {"87a2728cb8dc9fe424d624542f6060ec05a1d285ebbec578bb078900e33396b5", LM_CHAT_QWEN3},
};

const char *lm_chat_kind_name(enum lm_chat_kind kind)
{
    return names[kind];
}

enum kg_code lm_chat_kind_parse(const char *name, enum lm_chat_kind *out, struct kg_err *err)
{
    for (int i = 0; i < LM_CHAT_KINDS; i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (enum lm_chat_kind)i;
            return KG_OK;
        }
    }
    return kg_fail(err, KG_E_USAGE,
                   "no chat template \"%.40s\": qwen2.5, qwen2.5-base, qwen3, "
                   "qwen3-instruct and qwen3-thinking are there",
                   name);
}

/* Without the line ends at its end. */
static size_t trimmed(const char *jinja, size_t len)
{
    while (len > 0 && jinja[len - 1] == '\n') {
        len--;
    }
    return len;
}

bool lm_chat_recognise(const char *jinja, size_t len, enum lm_chat_kind *out)
{
    char hex[KG_SHA256_HEX];
    len = trimmed(jinja, len);
    for (int i = 0; i < LM_CHAT_KINDS; i++) {
        const char *own = lm_chat_template((enum lm_chat_kind)i);
        if (trimmed(own, strlen(own)) == len && memcmp(own, jinja, len) == 0) {
            *out = (enum lm_chat_kind)i;
            return true;
        }
    }
    kg_sha256_hex(jinja, len, hex);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].sha256, hex) == 0) {
            *out = known[i].kind;
            return true;
        }
    }
    return false;
}

static enum kg_code recognise(const char *path, const char *jinja, size_t len,
                              enum lm_chat_kind *out, struct kg_err *err)
{
    return lm_chat_recognise(jinja, len, out)
               ? KG_OK
               : kg_fail(err, KG_E_INPUT,
                         "%s: the chat template is not one that is known; name "
                         "the kind it is like",
                         path);
}

/* chat_template is a text, or a list of named ones. */
static const json_t *template_of(const json_t *config)
{
    const json_t *t = json_object_get(config, "chat_template");
    for (size_t i = 0; json_is_array(t) && i < json_array_size(t); i++) {
        const json_t *one = json_array_get(t, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name != NULL && strcmp(name, "default") == 0) {
            return json_object_get(one, "template");
        }
    }
    return t;
}

static enum kg_code detect_in_config(const char *path, enum lm_chat_kind *out, struct kg_err *err)
{
    struct kg_buf text;
    json_t *j = NULL;
    kg_buf_init(&text, MAX_CONFIG);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code == KG_OK ? kg_json_parse_foreign(text.data, text.len, path, false, &j, err) : code;
    if (code == KG_OK) {
        const json_t *t = template_of(j);
        code = json_is_string(t)
                   ? recognise(path, json_string_value(t), json_string_length(t), out, err)
                   : kg_fail(err, KG_E_NOT_FOUND, "%s: no text \"chat_template\"", path);
    }
    json_decref(j);
    kg_buf_deinit(&text);
    return code;
}

enum kg_code lm_chat_detect(const char *dir, enum lm_chat_kind *out, struct kg_err *err)
{
    char path[PATH_MAX];
    struct kg_buf text;
    if (strlen(dir) > PATH_MAX - 64) {
        return kg_fail(err, KG_E_IO, "%s: path too long", dir);
    }
    snprintf(path, sizeof path, "%s/chat_template.jinja", dir);
    if (!kg_file_exists(path)) {
        snprintf(path, sizeof path, "%s/tokenizer_config.json", dir);
        return detect_in_config(path, out, err);
    }
    kg_buf_init(&text, MAX_TEMPLATE);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code == KG_OK ? recognise(path, text.data, text.len, out, err) : code;
    kg_buf_deinit(&text);
    return code;
}
