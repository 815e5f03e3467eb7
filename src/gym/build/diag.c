/* Cleans a compiler's messages, and finds the first error in them. */
#include "gym/build/diag.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool in_path(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("/._-+@~", c) != NULL);
}

/* True for a quoted line of source (" 12 | x = a /b/c;"), which is not changed. */
static bool is_excerpt(const char *line, size_t n)
{
    size_t i = 0;
    while (i < n && (line[i] == ' ' || isdigit((unsigned char)line[i]))) {
        i++;
    }
    return i < n && i > 0 && line[i] == '|';
}

static void clean_line(const char *line, size_t n, struct kg_buf *out)
{
    for (size_t i = 0; i < n;) {
        bool starts = line[i] == '/' && (i == 0 || !in_path(line[i - 1]));
        size_t end = i;
        while (starts && end < n && in_path(line[end])) {
            end++;
        }
        size_t base = end;
        while (base > i && line[base - 1] != '/') {
            base--;
        }
        if (starts && base < end && base > i + 1) {
            kg_buf_add(out, line + base, end - base);
            i = end;
        } else {
            kg_buf_addc(out, line[i++]);
        }
    }
}

void kg_diag_clean(const char *text, size_t n, struct kg_buf *out)
{
    for (size_t i = 0; i < n;) {
        const char *nl = memchr(text + i, '\n', n - i);
        size_t len = nl != NULL ? (size_t)(nl - (text + i)) : n - i;
        if (is_excerpt(text + i, len)) {
            kg_buf_add(out, text + i, len);
        } else {
            clean_line(text + i, len, out);
        }
        if (nl != NULL) {
            kg_buf_addc(out, '\n');
        }
        i += len + (nl != NULL);
    }
}

/* The start of the message in a line that reports an error, or NULL. */
static const char *error_in(const char *line, size_t n)
{
    static const char *const marks[] = {"error: ", "Error: "};
    for (size_t m = 0; m < 2; m++) {
        const char *p = memmem(line, n, marks[m], strlen(marks[m]));
        if (p != NULL) {
            return p + strlen(marks[m]);
        }
    }
    static const char *const linkers[] = {"undefined reference", "multiple definition of ",
                                          "cannot find -l"};
    for (size_t m = 0; m < sizeof linkers / sizeof *linkers; m++) {
        const char *p = memmem(line, n, linkers[m], strlen(linkers[m]));
        if (p != NULL) {
            return p;
        }
    }
    return NULL;
}

static int line_number(const char *line, const char *file)
{
    size_t n = strlen(file);
    if (strncmp(line, file, n) != 0 || line[n] != ':' || !isdigit((unsigned char)line[n + 1])) {
        return 0;
    }
    long v = strtol(line + n + 1, NULL, 10);
    return v > 0 && v < 10000000 ? (int)v : 0;
}

void kg_diag_first(const char *text, const char *file, int *line, char *first, size_t cap)
{
    *line = 0;
    first[0] = '\0';
    for (const char *p = text; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        const char *message = is_excerpt(p, n) ? NULL : error_in(p, n);
        if (message != NULL) {
            *line = line_number(p, file);
            snprintf(first, cap, "%.*s", (int)(p + n - message), message);
            return;
        }
        p += n + (p[n] == '\n');
    }
    snprintf(first, cap, "%.*s", (int)strcspn(text, "\n"), text);
}

bool kg_diag_exhausted(const char *text)
{
    static const char *const signs[] = {
        "out of memory",           "memory exhausted",        "Cannot allocate memory",
        "No space left on device", "File too large",          "Cannot fork",
        "virtual memory",          "Resource temporarily un", "Disk quota exceeded",
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strstr(text, signs[i]) != NULL) {
            return true;
        }
    }
    return false;
}
