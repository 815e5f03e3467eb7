/* The table of members, and what becomes of values of other JSON types: the rules are those of the
 * library with which KernelGYM reads its requests. */
#include "svc/kernelgym_members.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

enum type { INT, BOOL, TEXT, CHOICE, LIST, OBJECT };

struct member {
    const char *name;
    enum type type;
    bool nullable, required;
    long low, high;        /* of an INT; of a TEXT its characters, 0 0: any */
    const char *fallback;  /* JSON; NULL: null */
    const char *choice[4]; /* of a CHOICE */
    bool source;           /* at least 10 characters without blanks around */
};

enum { SOURCE_LEAST = 10, SOURCE_MOST = 100000 };

static const struct member members[] = {
    {"task_id", TEXT, .required = true, .low = 1, .high = 100},
    {"reference_code", TEXT, .nullable = true, .high = SOURCE_MOST, .source = true},
    {"kernel_code", TEXT, .required = true, .high = SOURCE_MOST, .source = true},
    {"toolkit", TEXT, .fallback = "\"kernelbench\""},
    {"backend_adapter", TEXT, .fallback = "\"kernelbench\""},
    {"backend", CHOICE, .fallback = "\"triton\"", .choice = {"cuda", "triton"}},
    {"num_correct_trials", INT, .low = 1, .high = 20, .fallback = "5"},
    {"num_perf_trials", INT, .low = 1, .high = 1000, .fallback = "100"},
    {"num_warmup", INT, .low = 0, .high = 100, .fallback = "3"},
    {"timeout", INT, .low = 10, .high = 3600, .fallback = "300"},
    {"priority", CHOICE, .fallback = "\"normal\"", .choice = {"low", "normal", "high"}},
    {"device_preference", TEXT, .nullable = true},
    {"force_refresh", BOOL, .fallback = "false"},
    {"entry_point", TEXT, .fallback = "\"Model\""},
    {"reference_backend", TEXT, .nullable = true},
    {"uuid", TEXT, .nullable = true},
    {"use_reference_cache", BOOL, .fallback = "false"},
    {"is_valid", BOOL, .fallback = "false"},
    {"verbose_errors", BOOL, .nullable = true},
    {"enable_profiling", BOOL, .nullable = true},
    {"run_triton_detection", BOOL, .nullable = true},
    {"enable_triton_detection", BOOL, .nullable = true},
    {"run_performance", BOOL, .nullable = true},
    {"measure_performance", BOOL, .nullable = true},
    {"run_correctness", BOOL, .nullable = true},
    {"cases_code", TEXT, .nullable = true},
    {"cases", LIST, .nullable = true},
    {"workflow", TEXT, .nullable = true, .fallback = "\"kernelbench\""},
    {"resources", OBJECT, .nullable = true},
};

bool kg_kernelgym_refuse(struct kg_kernelgym_refusal *no, bool detail, const char *fmt, ...)
{
    va_list args;
    *no = (struct kg_kernelgym_refusal){.status = 400, .detail = detail};
    va_start(args, fmt);
    vsnprintf(no->message, sizeof no->message, fmt, args);
    va_end(args);
    return false;
}

/* --- lengths --- */

static size_t characters(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += ((unsigned char)s[i] & 0xC0) != 0x80;
    }
    return count;
}

/* What Python's str.strip() takes away. */
static bool is_blank(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

static size_t characters_without_blanks_around(const char *s, size_t n)
{
    size_t count = 0, pending = 0;
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        bool ok;
        at += kg_utf8_next(s + at, n - at, &cp, &ok);
        if (is_blank(cp)) {
            pending += count > 0;
        } else {
            count += pending + 1;
            pending = 0;
        }
    }
    return count;
}

/* --- coercions --- */

/* "300", " 5.0 ": decimal text of a whole number. */
static bool int_of_text(const json_t *v, long *out)
{
    const char *s = json_string_value(v), *end = s + json_string_length(v);
    while (s < end && isspace((unsigned char)*s)) {
        s++;
    }
    while (end > s && isspace((unsigned char)end[-1])) {
        end--;
    }
    size_t sign = s < end && (*s == '-' || *s == '+');
    size_t digits = strspn(s + sign, "0123456789");
    const char *rest = s + sign + digits;
    if (digits == 0 || digits > 9 || rest > end) {
        return false;
    }
    if (rest < end) {
        size_t zeros = *rest == '.' ? strspn(rest + 1, "0") : 0;
        if (zeros == 0 || rest + 1 + zeros != end) {
            return false;
        }
    }
    *out = strtol(s, NULL, 10);
    return true;
}

static bool int_of(const json_t *v, long *out)
{
    switch (json_typeof(v)) {
    case JSON_INTEGER:
        *out = (long)json_integer_value(v);
        return true;
    case JSON_REAL: {
        double x = json_real_value(v);
        bool whole = x == floor(x) && fabs(x) < 1e9;
        *out = whole ? (long)x : 0;
        return whole;
    }
    case JSON_TRUE:
    case JSON_FALSE:
        *out = json_is_true(v);
        return true;
    case JSON_STRING:
        return int_of_text(v, out);
    default:
        return false;
    }
}

static bool bool_of(const json_t *v, bool *out)
{
    static const char *const words[2][6] = {{"false", "no", "off", "f", "n", "0"},
                                            {"true", "yes", "on", "t", "y", "1"}};
    double x = json_number_value(v);
    if (json_is_boolean(v) || (json_is_number(v) && (x == 0 || x == 1))) {
        *out = json_is_true(v) || x == 1;
        return true;
    }
    for (size_t i = 0; json_is_string(v) && i < 12; i++) {
        const char *word = words[i / 6][i % 6];
        if (strlen(word) == json_string_length(v) && strcasecmp(json_string_value(v), word) == 0) {
            *out = i / 6 == 1;
            return true;
        }
    }
    return false;
}

/* --- one member --- */

static bool text_fits(const struct member *m, const json_t *v, const char *where,
                      struct kg_kernelgym_refusal *no)
{
    const char *s = json_string_value(v);
    size_t n = json_string_length(v), count = characters(s, n);
    if ((m->high > 0 && count > (size_t)m->high) || count < (size_t)m->low) {
        return kg_kernelgym_refuse(no, false, "%s%s: %ld to %ld characters are allowed", where,
                                   m->name, m->low, m->high);
    }
    if (m->source && characters_without_blanks_around(s, n) < SOURCE_LEAST) {
        return kg_kernelgym_refuse(no, false,
                                   "%s%s: at least %d characters are needed, blanks around not "
                                   "counted",
                                   where, m->name, SOURCE_LEAST);
    }
    return true;
}

static bool is_choice(const struct member *m, const json_t *v)
{
    for (size_t i = 0; json_is_string(v) && i < 4 && m->choice[i]; i++) {
        if (strlen(m->choice[i]) == json_string_length(v) &&
            strcmp(m->choice[i], json_string_value(v)) == 0) {
            return true;
        }
    }
    return false;
}

/* A new reference to the value as the table's type, or NULL and *no. */
static json_t *coerced(const struct member *m, json_t *v, const char *where,
                       struct kg_kernelgym_refusal *no)
{
    static const char *const wanted[] = {
        [INT] = "a whole number",  [BOOL] = "true or false", [TEXT] = "a string",
        [CHOICE] = "a known word", [LIST] = "a list",        [OBJECT] = "an object"};
    long number = 0;
    bool flag = false;
    bool good = m->type == INT      ? int_of(v, &number)
                : m->type == BOOL   ? bool_of(v, &flag)
                : m->type == TEXT   ? json_is_string(v)
                : m->type == CHOICE ? is_choice(m, v)
                : m->type == LIST   ? json_is_array(v)
                                    : json_is_object(v);
    if (!good) {
        kg_kernelgym_refuse(no, false, "%s%s: must be %s%s", where, m->name, wanted[m->type],
                            m->nullable ? " or null" : "");
        return NULL;
    }
    if (m->type == INT && (number < m->low || number > m->high)) {
        kg_kernelgym_refuse(no, false, "%s%s: %ld to %ld are allowed", where, m->name, m->low,
                            m->high);
        return NULL;
    }
    if (m->type == TEXT && !text_fits(m, v, where, no)) {
        return NULL;
    }
    return m->type == INT    ? json_integer(number)
           : m->type == BOOL ? json_boolean(flag)
                             : json_incref(v);
}

bool kg_kernelgym_members(json_t *task, const char *where, struct kg_kernelgym_refusal *no)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct member *m = &members[i];
        json_t *v = json_object_get(task, m->name), *value;
        if (!v && m->required) {
            return kg_kernelgym_refuse(no, false, "%s%s: is missing", where, m->name);
        }
        if (!v) {
            value = m->fallback ? json_loads(m->fallback, JSON_DECODE_ANY, NULL) : json_null();
        } else if (json_is_null(v) && m->nullable) {
            value = json_null();
        } else {
            value = coerced(m, v, where, no);
        }
        if (!value) {
            return false;
        }
        json_object_set_new(task, m->name, value);
    }
    return true;
}
