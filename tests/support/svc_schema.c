#include "tests/support/svc_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "svc/api_private.h"

const json_t *svc_schema_openapi(void)
{
    static json_t *whole;
    if (whole == NULL) {
        json_error_t e;
        whole = json_loads(kg_svc_openapi, JSON_REJECT_DUPLICATES, &e);
        if (whole == NULL) {
            fail_msg("openapi.json:%d: %s", e.line, e.text);
        }
    }
    return whole;
}

/* --- schemas --- */

static bool no(char why[200], const char *what, const char *which)
{
    snprintf(why, 200, "%s %s", what, which);
    return false;
}

static bool is_of(const json_t *value, const char *type)
{
    return strcmp(type, "string") == 0    ? json_is_string(value)
           : strcmp(type, "integer") == 0 ? json_is_integer(value)
           : strcmp(type, "number") == 0  ? json_is_number(value)
           : strcmp(type, "boolean") == 0 ? json_is_boolean(value)
           : strcmp(type, "object") == 0  ? json_is_object(value)
           : strcmp(type, "array") == 0   ? json_is_array(value)
                                          : strcmp(type, "null") == 0 && json_is_null(value);
}

static bool has_type(const json_t *type, const json_t *value, char why[200])
{
    bool any = json_is_string(type) && is_of(value, json_string_value(type));
    for (size_t i = 0; i < json_array_size(type); i++) {
        any = any || is_of(value, json_string_value(json_array_get(type, i)));
    }
    char *text = any ? NULL : json_dumps(type, JSON_ENCODE_ANY);
    return any || (no(why, "is not of type", text), free(text), false);
}

static bool has_members(const json_t *schema, const json_t *value, char why[200])
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *more = json_object_get(schema, "additionalProperties"), *v;
    const json_t *required = json_object_get(schema, "required");
    const char *name;
    for (size_t i = 0; json_is_object(value) && i < json_array_size(required); i++) {
        name = json_string_value(json_array_get(required, i));
        if (json_object_get(value, name) == NULL) {
            return no(why, "lacks the member", name);
        }
    }
    json_object_foreach((json_t *)(uintptr_t)value, name, v)
    {
        const json_t *own = json_object_get(properties, name);
        own = own != NULL ? own : more;
        if (json_is_false(own)) {
            return no(why, "has another member:", name);
        }
        if (json_is_object(own) && !svc_schema_fits(own, v, why)) {
            char inner[160];
            snprintf(inner, sizeof inner, "%.150s", why);
            snprintf(why, 200, "%.30s: %s", name, inner);
            return false;
        }
    }
    return true;
}

static bool has_items(const json_t *items, const json_t *value, char why[200])
{
    for (size_t i = 0; items != NULL && i < json_array_size(value); i++) {
        if (!svc_schema_fits(items, json_array_get(value, i), why)) {
            return false;
        }
    }
    return true;
}

static bool is_among(const json_t *list, const json_t *value, char why[200])
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_equal(json_array_get(list, i), value)) {
            return true;
        }
    }
    return no(why, "is none of", "the enumeration");
}

static bool fits_any(const json_t *list, const json_t *value, char why[200])
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (svc_schema_fits(json_array_get(list, i), value, why)) {
            return true;
        }
    }
    return false;
}

static const json_t *named(const json_t *reference)
{
    const char *text = json_string_value(reference), *name = strrchr(text, '/') + 1;
    const json_t *schemas =
        json_object_get(json_object_get(svc_schema_openapi(), "components"), "schemas");
    const json_t *s = json_object_get(schemas, name);
    if (s == NULL || strncmp(text, "#/components/schemas/", 21) != 0) {
        fail_msg("openapi.json: nothing at %s", text);
    }
    return s;
}

bool svc_schema_fits(const json_t *schema, const json_t *value, char why[200])
{
    static const char *const inner[] = {"properties", "required", "additionalProperties"};
    const char *word;
    json_t *s;
    bool fits = true;
    json_object_foreach((json_t *)(uintptr_t)schema, word, s)
    {
        bool member = false;
        for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
            member = member || strcmp(word, inner[i]) == 0;
        }
        if (strcmp(word, "$ref") == 0) {
            fits = svc_schema_fits(named(s), value, why);
        } else if (strcmp(word, "type") == 0) {
            fits = has_type(s, value, why);
        } else if (strcmp(word, "items") == 0) {
            fits = has_items(s, value, why);
        } else if (strcmp(word, "enum") == 0) {
            fits = is_among(s, value, why);
        } else if (strcmp(word, "const") == 0) {
            fits = json_equal(s, value) || no(why, "is not", "the constant");
        } else if (strcmp(word, "anyOf") == 0) {
            fits = fits_any(s, value, why);
        } else if (!member) {
            fail_msg("openapi.json: a schema says `%s`, which is not checked", word);
        }
        if (!fits) {
            return false;
        }
    }
    return has_members(schema, value, why);
}

/* --- answers --- */

/* Does a path as it was sent fit one of the description? The last {parameter} takes the rest where
 * the route does. */
static bool path_fits(const char *described, const char *path, bool rest)
{
    for (;;) {
        described += strspn(described, "/");
        path += strspn(path, "/");
        size_t d = strcspn(described, "/"), p = strcspn(path, "/");
        if (d == 0 || p == 0) {
            return d == p;
        }
        if (described[0] == '{' && described[d] == '\0' && rest) {
            return true;
        }
        if (described[0] != '{' && (d != p || memcmp(described, path, d) != 0)) {
            return false;
        }
        described += d;
        path += p;
    }
}

const json_t *svc_schema_path(const char *path)
{
    const json_t *paths = json_object_get(svc_schema_openapi(), "paths");
    const char *described;
    json_t *entry;
    for (int rest = 0; rest < 2; rest++) {
        json_object_foreach((json_t *)(uintptr_t)paths, described, entry)
        {
            if (path_fits(described, path, rest && strstr(described, "{task_id}") != NULL)) {
                return entry;
            }
        }
    }
    return NULL;
}

static const json_t *operation(const char *method, const char *path)
{
    char bare[4096], lower[16] = "";
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(path, "?"), path);
    for (size_t i = 0; method[i] != '\0' && i < sizeof lower - 1; i++) {
        lower[i] = (char)(method[i] | 0x20);
    }
    return json_object_get(svc_schema_path(bare), lower);
}

/* Of an answer that no route has given: its path or its method is unknown. */
static const json_t *refusal(int status, const char *path)
{
    if (status < 400) {
        fail_msg("%s: openapi.json has no such route, and the answer is %d", path, status);
    }
    return json_object_get(
        json_object_get(json_object_get(svc_schema_openapi(), "components"), "schemas"), "Error");
}

/* The schema of an answer of this status and type. */
static const json_t *schema_of(const json_t *op, int status, const char *type, const char *path)
{
    char code[16];
    snprintf(code, sizeof code, "%d", status);
    const json_t *responses = json_object_get(op, "responses");
    const json_t *r = json_object_get(responses, code);
    if (r == NULL && status < 400) {
        fail_msg("%s: openapi.json has no answer %d", path, status);
    }
    r = r != NULL ? r : json_object_get(responses, "default");
    const json_t *content = json_object_get(json_object_get(r, "content"), type);
    if (content == NULL) {
        fail_msg("%s: openapi.json has no answer %d of type %s", path, status, type);
    }
    return json_object_get(content, "schema");
}

/* What evhttp itself refuses, before any route: its answers are HTML. */
static bool is_of_the_server(int status, const char *type)
{
    return strcmp(type, "text/html") == 0 && (status == 400 || status == 413);
}

void svc_schema_hold(const char *method, const char *path, int status, const char *type,
                     const char *body, size_t len)
{
    char why[200] = "";
    json_error_t e;
    if (is_of_the_server(status, type)) {
        return;
    }
    const json_t *op = operation(method, path);
    const json_t *schema = op != NULL ? schema_of(op, status, type, path) : refusal(status, path);
    if (strcmp(type, "application/json") != 0) {
        return;
    }
    json_t *value = json_loadb(body, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
    if (value == NULL && strncmp(path, "/v1/trajectories/", 17) == 0) {
        return; /* `extra` comes back byte for byte, and may hold what jansson cannot read */
    }
    if (value == NULL) {
        fail_msg("%s %s: %d: no JSON: %s", method, path, status, e.text);
    }
    if (!svc_schema_fits(schema, value, why)) {
        fail_msg("%s %s: %d is not as openapi.json says: %s", method, path, status, why);
    }
    json_decref(value);
}
