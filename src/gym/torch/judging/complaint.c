/* Picks from a build log the lines that a candidate may be told. */
#include "gym/torch/judging/complaint.h"

#include <ctype.h>
#include <string.h>

#include "gym/build/diag.h"

#define MOST   (64u << 10)
#define QUOTES 4 /* lines after an error in which the compiler may quote the source */
#define SHORT  4 /* a line of fewer letters ("}", "x;") tells no place */

struct span {
    const char *s;
    size_t n;
};

static struct span trimmed(const char *s, size_t n)
{
    while (n > 0 && isspace((unsigned char)*s)) {
        s++, n--;
    }
    while (n > 0 && isspace((unsigned char)s[n - 1])) {
        n--;
    }
    return (struct span){s, n};
}

/* gcc quotes "   12 |     x = y;", nvcc the line alone. */
static struct span quoted(const char *s, size_t n)
{
    const char *bar = memchr(s, '|', n);
    bool numbered = bar != NULL && bar > s;
    for (const char *p = s; numbered && p < bar; p++) {
        numbered = *p == ' ' || isdigit((unsigned char)*p);
    }
    return numbered ? trimmed(bar + 1, (size_t)(s + n - bar - 1)) : trimmed(s, n);
}

/* The line of the source that is this text and no other is; 0: none or several. */
static int line_of(const char *code, struct span q)
{
    int found = 0, number = 1;
    for (const char *s = code; *s != '\0'; number++) {
        size_t n = strcspn(s, "\n");
        struct span one = trimmed(s, n);
        if (one.n == q.n && memcmp(one.s, q.s, q.n) == 0) {
            if (found > 0) {
                return 0;
            }
            found = number;
        }
        s += n + (s[n] == '\n');
    }
    return found;
}

/* Extensions are text within the candidate's own, so that lines of their files are none of its. */
static int place(const char *text, const char *code)
{
    const char *error = strstr(text, "error");
    const char *s = error != NULL ? strchr(error, '\n') : NULL;
    for (int i = 0; s != NULL && i < QUOTES; i++) {
        size_t n = strcspn(++s, "\n");
        struct span q = quoted(s, n);
        int line = q.n >= SHORT ? line_of(code, q) : 0;
        if (line > 0) {
            return line;
        }
        s = s[n] == '\n' ? s + n : NULL;
    }
    return 0;
}

/* gcc's driver and nvcc name the linker that failed; a loader names the symbol. */
static const char *reason_of(const char *text)
{
    static const char *const linkers[] = {"ld returned", "undefined reference to ",
                                          "multiple definition of ", "cannot find -l"};
    if (kg_diag_exhausted(text) || strstr(text, "Killed signal terminated program") != NULL) {
        return "limits";
    }
    for (size_t i = 0; i < sizeof linkers / sizeof *linkers; i++) {
        if (strstr(text, linkers[i]) != NULL) {
            return "link";
        }
    }
    return strstr(text, "undefined symbol: ") != NULL ? "load" : "syntax";
}

void kg_tcomplaint_read(const char *log, const char *code, struct kg_buf *text,
                        struct kg_tcomplaint *out)
{
    int ignored;
    size_t from = text->len;
    kg_diag_clean(log, strnlen(log, MOST), text);
    const char *said = text->len > from ? text->data + from : "";
    out->reason = reason_of(said);
    out->line = place(said, code);
    kg_diag_first(said, "", &ignored, out->first, sizeof out->first);
}
