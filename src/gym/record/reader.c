/* Reads typed fields of a JSON object, with messages that name the place of a fault. */
#include "gym/record/reader.h"

#include <stdio.h>
#include <string.h>

void kg_reader_fault(struct kg_reader *rd, const char *key, const char *what)
{
    if (!rd->failed) {
        kg_fail(rd->err, KG_E_INPUT, "record: `%s%s`: %s", rd->where, key, what);
        rd->failed = true;
    }
}

const json_t *kg_reader_member(struct kg_reader *rd, const char *key)
{
    const json_t *v = rd->failed ? NULL : json_object_get(rd->at, key);
    if (v == NULL) {
        kg_reader_fault(rd, key, "missing");
    }
    return v;
}

const char *kg_reader_text(struct kg_reader *rd, const char *key)
{
    const json_t *v = kg_reader_member(rd, key);
    if (v == NULL || json_is_null(v)) {
        return NULL;
    }
    if (!json_is_string(v)) {
        kg_reader_fault(rd, key, "expected a string or null");
        return NULL;
    }
    if (strlen(json_string_value(v)) != json_string_length(v)) {
        kg_reader_fault(rd, key, "holds a NUL");
        return NULL;
    }
    return json_string_value(v);
}

char *kg_reader_keep(struct kg_reader *rd, const char *s, size_t n)
{
    char *copy = rd->failed ? NULL : kg_arena_dup(&rd->r->arena, s, n, rd->err);
    rd->failed = copy == NULL;
    return copy;
}

char *kg_reader_string(struct kg_reader *rd, const char *key)
{
    const char *s = kg_reader_text(rd, key);
    return s == NULL ? NULL : kg_reader_keep(rd, s, strlen(s));
}

void kg_reader_id(struct kg_reader *rd, const char *key, const char *alphabet, char *out,
                  size_t width)
{
    const char *s = kg_reader_text(rd, key);
    if (s == NULL) {
        return;
    }
    if (strlen(s) != width - 1 || strspn(s, alphabet) != width - 1) {
        kg_reader_fault(rd, key,
                        width == KG_ULID_LEN ? "expected a ULID" : "expected 64 hex digits");
        return;
    }
    memcpy(out, s, width);
}

int64_t kg_reader_count(struct kg_reader *rd, const char *key)
{
    const json_t *v = kg_reader_member(rd, key);
    if (v == NULL || json_is_null(v)) {
        return -1;
    }
    if (!json_is_integer(v) || json_integer_value(v) < 0) {
        kg_reader_fault(rd, key, "expected a count or null");
        return -1;
    }
    return json_integer_value(v);
}

double kg_reader_real(struct kg_reader *rd, const char *key, double lo)
{
    const json_t *v = kg_reader_member(rd, key);
    if (v == NULL || json_is_null(v)) {
        return __builtin_nan("");
    }
    double x = json_number_value(v);
    if (!json_is_number(v) || x < lo) {
        kg_reader_fault(rd, key, "expected a number that is not negative, or null");
    }
    return x;
}

double kg_reader_share(struct kg_reader *rd, const char *key)
{
    double x = kg_reader_real(rd, key, 0);
    if (x > 1) {
        kg_reader_fault(rd, key, "expected a number from 0 to 1, or null");
    }
    return x;
}

int kg_reader_flag(struct kg_reader *rd, const char *key)
{
    const json_t *v = kg_reader_member(rd, key);
    if (v != NULL && !json_is_null(v) && !json_is_boolean(v)) {
        kg_reader_fault(rd, key, "expected true, false or null");
    }
    return v == NULL || json_is_null(v) ? -1 : json_is_true(v);
}

void kg_reader_copy(struct kg_reader *rd, const char *key, bool list, bool may_be_null,
                    json_t **out)
{
    const json_t *v = kg_reader_member(rd, key);
    if (v == NULL) {
        return;
    }
    if (may_be_null && json_is_null(v)) {
        json_decref(*out);
        *out = NULL;
    } else if (list ? json_is_array(v) : json_is_object(v)) {
        json_decref(*out);
        *out = json_deep_copy(v);
    } else {
        kg_reader_fault(rd, key, list ? "expected a list" : "expected an object");
    }
}

void kg_reader_copy_named(struct kg_reader *rd, const char *key, const char *name, json_t **out)
{
    kg_reader_copy(rd, key, true, false, out);
    size_t i;
    json_t *v;
    json_array_foreach(*out, i, v)
    {
        if (!json_is_string(json_object_get(v, name))) {
            char what[96];
            snprintf(what, sizeof what, "entry %zu: expected an object with a string `%s`", i,
                     name);
            kg_reader_fault(rd, key, what);
            return;
        }
    }
}

bool kg_reader_enter(struct kg_reader *rd, const char *key, bool may_be_null, struct kg_reader *in)
{
    const json_t *v = kg_reader_member(rd, key);
    if (v == NULL || (may_be_null && json_is_null(v))) {
        return false;
    }
    if (!json_is_object(v)) {
        kg_reader_fault(rd, key, may_be_null ? "expected an object or null" : "expected an object");
        return false;
    }
    *in = (struct kg_reader){.r = rd->r, .err = rd->err, .at = v};
    snprintf(in->where, sizeof in->where, "%s%.40s.", rd->where, key);
    for (char *p = in->where; *p != '\0'; p++) { /* names of rewards are the file's own words */
        *p = *p < ' ' || *p > '~' ? '?' : *p;
    }
    return true;
}

void kg_reader_leave(struct kg_reader *rd, const struct kg_reader *in)
{
    rd->failed = rd->failed || in->failed;
}
