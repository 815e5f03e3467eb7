/* Typed readings of a record: what comes out is a name of a list, a bounded number, or nothing. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/feedback/feedback_parts.h"

enum kg_fb_share kg_fb_share(const struct kg_record *r)
{
    static const char *const names[] = {"", "<1%", "<10%", "<50%", "more"};
    const char *share =
        json_string_value(json_object_get(kg_record_find(r, "check", "mismatch"), "share"));
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
        const json_t *e = kg_record_find(r, "check", checks[i]);
        bool fits =
            i == 2 || r->reason == NULL || (strcmp(r->reason, "out_of_bounds") == 0) == (i == 0);
        if (e != NULL && fits) {
            return e;
        }
    }
    return NULL;
}

/* Names of both executors. */
static const struct {
    const char *name, *words;
    bool open; /* its dimensions are the problem's own */
} shapes[] = {
    {"default", "the published shape", true},
    {"published", "the published shape", true},
    {"tiny", "a tiny shape", false},
    {"x2", "a shape with doubled sizes", false},
    {"larger", "a larger shape with odd sizes", false},
    {"odd", "a smaller shape with odd sizes", false},
    {"no16", "a shape whose sizes are no multiples of 16", false},
    {"one", "a shape whose sizes are 1", false},
    {"quarter", "a smaller shape whose sizes are no multiples of 16", false},
    {"shape", "another shape than the published one", false},
};

static int shape_of(const json_t *entry)
{
    const char *name = json_string_value(json_object_get(entry, "variant"));
    for (size_t i = 0; name != NULL && i < sizeof shapes / sizeof shapes[0]; i++) {
        if (strcmp(name, shapes[i].name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

const char *kg_fb_shape(const struct kg_record *r)
{
    int i = shape_of(place(r));
    return i >= 0 ? shapes[i].words : NULL;
}

bool kg_fb_shape_public(const json_t *entry)
{
    int i = shape_of(entry);
    return i >= 0 && shapes[i].open;
}

/* One part of a path: an index of up to three digits, a word that we gave it, or one of the
 * candidate's source: a name in the answer itself may be made of what was read from an input. */
static bool part_passes(const struct kg_record *r, const char *s, size_t n)
{
    static const char *const ours[] = {"out", "output", "answer"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (strlen(ours[i]) == n && memcmp(ours[i], s, n) == 0) {
            return true;
        }
    }
    if (strspn(s, "0123456789") >= n) {
        return n <= 3;
    }
    return !isdigit((unsigned char)s[0]) && kg_fb_stands_in(r->candidate.code, s, n);
}

bool kg_fb_output(const struct kg_record *r, char out[40])
{
    const char *name = json_string_value(json_object_get(place(r), "output"));
    size_t n = name != NULL ? strlen(name) : 0, parts = 0;
    if (n == 0 || n > 32) {
        return false;
    }
    for (size_t i = 0; i < n;) {
        size_t len = 0;
        while (isalnum((unsigned char)name[i + len]) || name[i + len] == '_') {
            len++;
        }
        if (len == 0 ? strchr(".[]", name[i]) == NULL : !part_passes(r, name + i, len)) {
            return false;
        }
        parts += len > 0;
        i += len > 0 ? len : 1;
    }
    snprintf(out, 40, "%s", name);
    return parts > 0;
}

const char *kg_fb_signal(const struct kg_record *r)
{
    static const struct {
        int signal;
        const char *words, *access; /* access: the entry's; NULL: any */
    } table[] = {
        {SIGSEGV, "a write far outside the buffers (SIGSEGV)", "write"},
        {SIGSEGV, "a read far outside the buffers (SIGSEGV)", "read"},
        {SIGSEGV, "an invalid memory access (SIGSEGV)", NULL},
        {SIGBUS, "a write far outside the buffers (SIGBUS)", "write"},
        {SIGBUS, "a read far outside the buffers (SIGBUS)", "read"},
        {SIGBUS, "an invalid memory access (SIGBUS)", NULL},
        {SIGFPE, "an arithmetic fault (SIGFPE), such as a division by zero", NULL},
        {SIGILL, "an instruction that this CPU does not have (SIGILL)", NULL},
        {SIGABRT, "an abort (SIGABRT)", NULL},
        {SIGSYS, "a system call that is not allowed (SIGSYS)", NULL},
    };
    const json_t *e = kg_record_find(r, "check", "signal");
    const char *access = json_string_value(json_object_get(e, "access"));
    json_int_t signal = json_integer_value(json_object_get(e, "signal"));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (signal == table[i].signal &&
            (table[i].access == NULL || (access != NULL && strcmp(access, table[i].access) == 0))) {
            return table[i].words;
        }
    }
    return "a signal";
}

bool kg_fb_limit(const struct kg_record *r, double *out, const char **unit)
{
    const json_t *e = kg_record_find(r, "check", "limit");
    const char *said = json_string_value(json_object_get(e, "unit"));
    *unit = r->verdict == KG_V_TIMEOUT ? "s" : r->verdict == KG_V_OUT_OF_MEMORY ? "MB" : "";
    *out = json_number_value(json_object_get(e, "value"));
    return said != NULL && **unit != '\0' && strcmp(said, *unit) == 0 && *out >= 0.001 &&
           *out <= 1e7;
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

/* lines of the source; 0 for NULL */
static int lines_of(const char *code)
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
    return line > 0 && line <= lines_of(r->candidate.code) ? (int)line : 0;
}
