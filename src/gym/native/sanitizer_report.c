/* From the sanitizers' words to a line for the author of a problem. */
#include "gym/native/sanitized_reference.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE "reference.c:"
#define PAGE   4096 /* what lies further from every array is not called theirs */

/* The line of the reference in the first frame that lies in it; 0: none. */
static int line_of(const char *text)
{
    for (const char *p = text; (p = strstr(p, SOURCE)) != NULL; p += sizeof SOURCE - 1) {
        int line = atoi(p + sizeof SOURCE - 1);
        if (line > 0) {
            return line;
        }
    }
    return 0;
}

static void until_newline(const char *from, char *out, size_t cap)
{
    snprintf(out, cap, "%.*s", (int)strcspn(from, "\r\n"), from);
}

/* "reference.c:12:7: runtime error: signed integer overflow: ..." */
static bool undefined(const char *text, char *out, size_t cap)
{
    static const char says[] = "runtime error: ";
    const char *p = strstr(text, says);
    if (p == NULL) {
        return false;
    }
    const char *start = p;
    while (start > text && start[-1] != '\n') {
        start--;
    }
    char what[300];
    until_newline(p + sizeof says - 1, what, sizeof what);
    const char *file = strstr(start, SOURCE);
    int line = file != NULL && file < p ? atoi(file + sizeof SOURCE - 1) : 0;
    if (line > 0) {
        snprintf(out, cap, "line %d: undefined behaviour: %s", line, what);
    } else {
        snprintf(out, cap, "undefined behaviour: %s", what);
    }
    return true;
}

/* Where the program names the arrays of its last case: between the last two lines that announce a
 * case. Earlier ones are gone, and their addresses may be used again. */
static const char *last_arrays(const char *text, const char *error)
{
    const char *last = text, *before = text;
    for (const char *p = text; (p = strstr(p, "kgym: case ")) != NULL && p < error; p++) {
        before = last;
        last = p;
    }
    return before;
}

/* The array that lies nearest to an address of the report. */
static bool array_of(const struct kg_problem *p, const char *text, const char *error, char *out,
                     size_t cap)
{
    static const char word[] = "address 0x";
    const char *said = strstr(error, word);
    unsigned long long at, base, bytes, address;
    int arg, nearest = -1;
    long long offset = 0;
    if (said == NULL || sscanf(said + 8, "%llx", &address) != 1) {
        return false;
    }
    unsigned long long size = 0, distance = PAGE;
    for (const char *a = last_arrays(text, error);
         (a = strstr(a, "kgym: array ")) != NULL && a < error; a++) {
        if (sscanf(a, "kgym: array %d at %llx bytes %llu", &arg, &base, &bytes) != 3 || arg < 0 ||
            arg >= p->nargs) {
            continue;
        }
        at = address < base ? base - address : address >= base + bytes ? address - base - bytes : 0;
        if (at <= distance) { /* of those at the same distance the last one said */
            distance = at;
            nearest = arg;
            offset = (long long)(address - base);
            size = bytes;
        }
    }
    if (nearest >= 0 && offset < 0) {
        snprintf(out, cap, "%lld bytes before the start of `%s`", -offset, p->args[nearest].name);
    } else if (nearest >= 0) {
        snprintf(out, cap, "at byte %lld of `%s`, which has %llu", offset, p->args[nearest].name,
                 size);
    }
    return nearest >= 0;
}

static bool outside(const struct kg_problem *p, const char *text, char *out, size_t cap)
{
    static const char says[] = "ERROR: AddressSanitizer: ";
    const char *error = strstr(text, says);
    if (error == NULL) {
        return false;
    }
    char kind[64], where[200] = "", access[32] = "touches";
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(error + sizeof says - 1, " \r\n"),
             error + sizeof says - 1);
    if (strstr(error, "WRITE ") != NULL) {
        snprintf(access, sizeof access, "writes");
    } else if (strstr(error, "READ ") != NULL) {
        snprintf(access, sizeof access, "reads");
    }
    int line = line_of(error);
    size_t n =
        line > 0 ? (size_t)snprintf(out, cap, "line %d ", line) : (size_t)snprintf(out, cap, "it ");
    n = n < cap ? n : cap;
    if (array_of(p, text, error, where, sizeof where)) {
        snprintf(out + n, cap - n, "%s outside an array: %s", access, where);
    } else {
        snprintf(out + n, cap - n, "%s memory that is not its own (%s)", access, kind);
    }
    return true;
}

bool kg_sanitized_report(const struct kg_problem *p, const char *text, char *out, size_t cap)
{
    return outside(p, text, out, cap) || undefined(text, out, cap);
}
