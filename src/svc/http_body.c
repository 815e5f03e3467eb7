/* Strict bodies, and errors in their one shape. */
#include <string.h>

#include "base/yaml.h"
#include "svc/http_private.h"

void kg_svc_reply_json(struct kg_svc_exchange *x, int status, json_t *body)
{
    static const char large[] =
        "{\"code\":\"too_large\",\"message\":\"the answer is too large\"}\n";
    struct kg_buf text;
    kg_buf_init(&text, 256u << 20);
    kg_json_dump(body, &text);
    kg_buf_addc(&text, '\n');
    json_decref(body);
    bool whole = kg_buf_ok(&text);
    kg_svc_reply(x, whole ? status : 503, "application/json", whole ? text.data : large,
                 whole ? text.len : sizeof large - 1);
    kg_buf_deinit(&text);
}

void kg_svc_reply_error(struct kg_svc_exchange *x, int status, const char *code, const char *field,
                        const char *fmt, ...)
{
    char message[480];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    kg_svc_reply_json(x, status,
                      json_pack("{s:s, s:o, s:s?}", "code", code, "message",
                                kg_json_text(message, strlen(message)), "field",
                                field[0] != '\0' ? field : NULL));
}

/* A name of the client's fit for a message: short, and no word of a source. */
static bool shown(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    size_t n = strlen(name);
    return n > 0 && n <= 40 && strspn(name, plain) == n;
}

static bool among(const char *name, const char *const *known)
{
    for (; *known != NULL; known++) {
        if (strcmp(name, *known) == 0) {
            return true;
        }
    }
    return false;
}

static void refuse_member(struct kg_svc_exchange *x, const char *name, const char *const *known)
{
    size_t n = 0;
    while (known[n] != NULL) {
        n++;
    }
    const char *near = kg_nearest(name, known, n);
    const char *word = shown(name) ? name : "?";
    if (near != NULL) {
        kg_svc_reply_error(x, 400, "unknown_member", word,
                           "unknown member `%s`; did you mean `%s`?", word, near);
    } else {
        kg_svc_reply_error(x, 400, "unknown_member", word, "unknown member `%s`", word);
    }
}

json_t *kg_svc_body(struct kg_svc_exchange *x, const char *const *known)
{
    const struct kg_svc_request *r = kg_svc_request(x);
    return kg_svc_body_of(x, r->body, r->len, known);
}

json_t *kg_svc_body_of(struct kg_svc_exchange *x, const char *text, size_t len,
                       const char *const *known)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *body = NULL;
    if (kg_json_parse(text, len, "body", &body, &err) != KG_OK) {
        kg_svc_reply_error(x, 400, "bad_json", "", "the body is no JSON with unique keys");
        return NULL;
    }
    if (!json_is_object(body)) {
        json_decref(body);
        kg_svc_reply_error(x, 400, "bad_body", "", "the body must be a JSON object");
        return NULL;
    }
    const char *name;
    json_t *value;
    json_object_foreach(body, name, value)
    {
        if (!among(name, known)) {
            refuse_member(x, name, known);
            json_decref(body);
            return NULL;
        }
    }
    return body;
}

const char *kg_svc_body_text(struct kg_svc_exchange *x, const json_t *body, const char *name,
                             bool *ok)
{
    const json_t *value = json_object_get(body, name);
    if (value == NULL || json_is_null(value)) {
        return NULL;
    }
    const char *text = json_string_value(value);
    if (text == NULL) {
        *ok = false;
        kg_svc_reply_error(x, 400, "bad_type", name, "`%s` must be a string", name);
    } else if (strlen(text) != json_string_length(value)) {
        *ok = false;
        text = NULL;
        kg_svc_reply_error(x, 400, "bad_text", name, "`%s` must hold no NUL", name);
    }
    return text;
}
