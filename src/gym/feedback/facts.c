/* Typed readings of a record: what comes out is a name of a list, a bounded number, or nothing. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gym/feedback/parts.h"
#include "gym/problem/variant.h"

const json_t *kg_fb_entry(const struct kg_record *r, const char *check)
{
    for (size_t i = json_array_size(r->evidence); i > 0; i--) {
        const json_t *e = json_array_get(r->evidence, i - 1);
        const char *name = json_string_value(json_object_get(e, "check"));
        if (name != NULL && strcmp(name, check) == 0) {
            return e;
        }
    }
    return NULL;
}

enum kg_fb_share kg_fb_share(const struct kg_record *r)
{
    static const char *const names[] = {"", "<1%", "<10%", "<50%", "more"};
    const char *share = json_string_value(json_object_get(kg_fb_entry(r, "mismatch"), "share"));
    for (int i = KG_FB_SHARE_1; share != NULL && i <= KG_FB_MORE; i++) {
        if (strcmp(share, names[i]) == 0) {
            return (enum kg_fb_share)i;
        }
    }
    return KG_FB_SHARE_NONE;
}

/* The entry that says where a wrong answer was seen. */
static const json_t *place(const struct kg_record *r)
{
    static const char *const checks[] = {"guard", "shape", "mismatch"};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        const json_t *e = kg_fb_entry(r, checks[i]);
        bool fits =
            i == 2 || r->reason == NULL || (strcmp(r->reason, "out_of_bounds") == 0) == (i == 0);
        if (e != NULL && fits) {
            return e;
        }
    }
    return NULL;
}

const char *kg_fb_shape(const struct kg_record *r)
{
    static const char *const words[KG_VARIANT_COUNT] = {
        [KG_VARIANT_DEFAULT] = "the published shape",
        [KG_VARIANT_TINY] = "a tiny shape",
        [KG_VARIANT_X2] = "a shape with doubled sizes",
        [KG_VARIANT_LARGER] = "a larger shape with odd sizes",
        [KG_VARIANT_ODD] = "a smaller shape with odd sizes",
        [KG_VARIANT_NO16] = "a shape whose sizes are no multiples of 16",
        [KG_VARIANT_ONE] = "a shape whose sizes are 1",
    };
    const char *name = json_string_value(json_object_get(place(r), "variant"));
    for (int i = 0; name != NULL && i < KG_VARIANT_COUNT; i++) {
        if (strcmp(name, kg_variant_name((enum kg_variant)i)) == 0) {
            return words[i];
        }
    }
    return NULL;
}

bool kg_fb_shape_public(const json_t *entry)
{
    const char *name = json_string_value(json_object_get(entry, "variant"));
    return name != NULL && strcmp(name, kg_variant_name(KG_VARIANT_DEFAULT)) == 0;
}

bool kg_fb_output(const struct kg_record *r, char out[40])
{
    const char *name = json_string_value(json_object_get(place(r), "output"));
    size_t n = name != NULL ? strlen(name) : 0;
    if (n == 0 || n > 32 || !(isalpha((unsigned char)name[0]) || name[0] == '_')) {
        return false;
    }
    size_t digits = 0; /* an index, not a number */
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name[i];
        digits = isdigit(c) ? digits + 1 : 0;
        if (digits > 3 || !(isalnum(c) || strchr("_.[]", c) != NULL)) {
            return false;
        }
    }
    snprintf(out, 40, "%s", name);
    return true;
}

/* The message is one of the pipeline's own; only which one is read from it. */
const char *kg_fb_signal(const struct kg_record *r)
{
    static const struct {
        const char *begin, *words;
    } table[] = {
        {"killed by signal 11 ", "an invalid memory access (SIGSEGV)"},
        {"killed by signal 7 ", "an invalid memory access (SIGBUS)"},
        {"killed by signal 8 ", "an arithmetic fault (SIGFPE), such as a division by zero"},
        {"killed by signal 4 ", "an instruction that this CPU does not have (SIGILL)"},
        {"killed by signal 6 ", "an abort (SIGABRT)"},
        {"killed by signal 31 ", "a system call that is not allowed (SIGSYS)"},
        {"Segmentation fault: a write ", "a write far outside the buffers (SIGSEGV)"},
        {"Segmentation fault: a read ", "a read far outside the buffers (SIGSEGV)"},
        {"Bus error: a write ", "a write far outside the buffers (SIGBUS)"},
        {"Bus error: a read ", "a read far outside the buffers (SIGBUS)"},
    };
    for (size_t i = 0; r->message != NULL && i < sizeof table / sizeof table[0]; i++) {
        if (strncmp(r->message, table[i].begin, strlen(table[i].begin)) == 0) {
            return table[i].words;
        }
    }
    return "a signal";
}

bool kg_fb_limit(const struct kg_record *r, const char *key, double lo, double hi, double *out)
{
    const json_t *v = json_object_get(r->config, key);
    *out = json_number_value(v);
    return json_is_number(v) && *out >= lo && *out <= hi;
}

bool kg_fb_identifier(const char *s)
{
    size_t n = s != NULL ? strlen(s) : 0;
    if (n == 0 || n > 64 || isdigit((unsigned char)s[0])) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)s[i]) && s[i] != '_') {
            return false;
        }
    }
    return true;
}

int kg_fb_lines_of(const char *code)
{
    int lines = 0;
    for (const char *p = code; p != NULL && *p != '\0' && lines < 1000000; lines++) {
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    return lines;
}

int kg_fb_line(const struct kg_record *r, const json_t *entry, const char *key)
{
    const json_t *v = json_object_get(entry, key);
    json_int_t line = json_integer_value(v);
    return line > 0 && line <= kg_fb_lines_of(r->candidate.code) ? (int)line : 0;
}
