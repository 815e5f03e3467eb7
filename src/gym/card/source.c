/* The error where it is: the line that the compiler or a rule names, with its neighbours. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "gym/card/parts.h"

struct place {
    long line, column; /* 1-based; 0 unknown */
    char what[240];
};

/* Digits at *s as a number up to 9 digits; *s moves on. -1 where there are none. */
static long number(const char **s)
{
    long n = -1;
    for (int digits = 0; isdigit((unsigned char)**s) && digits < 9; digits++, ++*s) {
        n = (n < 0 ? 0 : n) * 10 + (**s - '0');
    }
    return n;
}

/* "name:LINE[:COLUMN]: [fatal ]error: what", as compilers write; false where the line is not. */
static bool parse_diagnostic(const char *s, size_t n, struct place *out)
{
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), s);
    const char *error = strstr(text, "error: ");
    if (error == NULL) {
        return false;
    }
    for (const char *p = strchr(text, ':'); p != NULL && p < error; p = strchr(p + 1, ':')) {
        const char *at = p + 1;
        long line = number(&at), column = 0;
        if (line <= 0 || *at != ':') {
            continue;
        }
        at++;
        if (isdigit((unsigned char)*at)) {
            column = number(&at);
        }
        *out = (struct place){.line = line, .column = column > 0 ? column : 0};
        snprintf(out->what, sizeof out->what, "%s", error + strlen("error: "));
        return true;
    }
    return false;
}

static int errors_in(const char *text, struct place *out, int cap)
{
    int n = 0;
    for (const char *line = text; text != NULL && n < cap;) {
        size_t len = strcspn(line, "\n");
        n += parse_diagnostic(line, len, &out[n]);
        if (line[len] == '\0') {
            break;
        }
        line += len + 1;
    }
    return n;
}

/* Tabs become four blanks. Compilers count columns as displayed with a tab stop every eight; *caret
 * comes in so and goes out as the column (1-based) in what is shown here. */
static void expand(const char *line, size_t n, char *out, size_t cap, long *caret)
{
    size_t used = 0;
    long theirs = 0, ours = 0, found = 0;
    for (size_t at = 0; at < n && used + 8 < cap;) {
        uint32_t cp;
        bool ok;
        char one[8] = "";
        size_t len = kg_utf8_next(line + at, n - at, &cp, &ok);
        memcpy(one, line + at, len);
        found = found == 0 && theirs + 1 >= *caret ? ours + 1 : found;
        bool tab = cp == '\t';
        theirs = tab ? theirs / 8 * 8 + 8 : theirs + (long)kg_term_columns(one);
        ours += tab ? 4 : (long)kg_term_columns(one);
        used += (size_t)snprintf(out + used, cap - used, "%s", tab ? "    " : one);
        at += len;
    }
    out[used] = '\0';
    *caret = *caret == 0 ? 0 : found != 0 ? found : ours + 1;
}

/* The rest of text after at least `columns` columns; *columns becomes what was left out. */
static const char *skip_columns(const char *text, long *columns)
{
    long skipped = 0;
    size_t n = strlen(text), at = 0;
    while (at < n && skipped < *columns) {
        uint32_t cp;
        bool ok;
        char one[8] = "";
        size_t len = kg_utf8_next(text + at, n - at, &cp, &ok);
        memcpy(one, text + at, len);
        skipped += (long)kg_term_columns(one);
        at += len;
    }
    *columns = skipped;
    return text + at;
}

static void code_line(struct kg_pen *p, long number, const char *line, size_t n,
                      const struct place *at)
{
    char text[2048] = "";
    const char *shown = text;
    bool here = number == at->line;
    long caret = here ? at->column : 0, skip = 0;
    expand(line, n, text, sizeof text, &caret);
    kg_pen_to(p, KG_CARD_INDENT);
    kg_pen_put(p, KG_RED, here ? kg_pen_pick(p, "▶", ">") : " ");
    kg_pen_putf(p, KG_DIM, "%5ld %s ", number, kg_pen_pick(p, "│", "|"));
    long margin = p->column, room = p->width - margin;
    if (caret > room - 2) { /* a long line: show where the error is, not where the line begins */
        skip = caret - room / 2;
        shown = skip_columns(text, &skip);
        kg_pen_put(p, KG_DIM, kg_pen_pick(p, "…", "~"));
        skip--;
    }
    kg_pen_put(p, here ? KG_BOLD : KG_PLAIN, shown);
    kg_pen_line(p);
    if (caret > 0) {
        kg_pen_to(p, (int)margin - 2);
        kg_pen_put(p, KG_DIM, kg_pen_pick(p, "│", "|"));
        kg_pen_to(p, (int)(margin + caret - 1 - skip));
        kg_pen_put(p, KG_RED, "^");
        kg_pen_line(p);
    }
}

static void context(struct kg_pen *p, const char *code, const struct place *at)
{
    const char *line = code;
    for (long number = 1; *line != '\0' && number <= at->line + 2; number++) {
        size_t n = strcspn(line, "\n");
        if (number >= at->line - 2) {
            code_line(p, number, line, n, at);
        }
        line += n + (line[n] == '\n');
    }
}

static void first_lines(struct kg_pen *p, const char *text, int lines)
{
    for (const char *line = text; line != NULL && *line != '\0' && lines > 0; lines--) {
        size_t n = strcspn(line, "\n");
        char one[400];
        snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one - 1), line);
        kg_pen_to(p, KG_CARD_INDENT + 2);
        kg_pen_put(p, KG_DIM, one);
        kg_pen_line(p);
        line += n + (line[n] == '\n');
    }
    kg_pen_line(p);
}

/* A PyTorch candidate's compilers speak of files that it wrote: their lines are not its own. */
static void extension_error(struct kg_pen *p, const struct kg_record *r, const char *text,
                            long line)
{
    struct place at = {.line = line};
    first_lines(p, text, 6);
    if (line > 0 && r->candidate.code != NULL) {
        context(p, r->candidate.code, &at);
        kg_pen_line(p);
    }
}

/* Where line `number` of text begins; NULL: there are not so many. */
static const char *line_of(const char *text, long number)
{
    for (; text != NULL && number > 1; number--) {
        text = strchr(text, '\n');
        text = text == NULL ? NULL : text + 1;
    }
    return text;
}

/* Python counts characters, `expand` columns with a tab stop every eight. */
static long column_of(const char *line, long character)
{
    size_t n = strcspn(line, "\n"), at = 0;
    long column = 1;
    while (character > 1 && at < n) {
        uint32_t cp;
        bool ok;
        char one[8] = "";
        size_t len = kg_utf8_next(line + at, n - at, &cp, &ok);
        memcpy(one, line + at, len);
        column = cp == '\t' ? (column - 1) / 8 * 8 + 9 : column + (long)kg_term_columns(one);
        at += len;
        character--;
    }
    return column;
}

/* "LINE:COLUMN what", the line in its context and a mark, as for C. */
static void syntax_error(struct kg_pen *p, const struct kg_record *r, const json_t *entry)
{
    const char *message = json_string_value(json_object_get(entry, "message"));
    struct place at = {.line = (long)json_integer_value(json_object_get(entry, "line"))};
    long character = (long)json_integer_value(json_object_get(entry, "column"));
    const char *line = line_of(r->candidate.code, at.line);
    if (line == NULL) {
        return;
    }
    kg_pen_to(p, KG_CARD_INDENT);
    if (character > 0) {
        at.column = column_of(line, character);
        kg_pen_putf(p, KG_BOLD, "%ld:%ld ", at.line, character);
    } else {
        kg_pen_putf(p, KG_BOLD, "%ld ", at.line);
    }
    kg_pen_wrap(p, KG_PLAIN, KG_CARD_INDENT + 4, message != NULL ? message : "");
    kg_pen_line(p);
    context(p, r->candidate.code, &at);
    kg_pen_line(p);
}

static void compile_error(struct kg_pen *p, const struct kg_record *r)
{
    struct place found[4];
    const json_t *entry = kg_record_find(r, "check", "compiler");
    if (kg_record_find(r, "check", "syntax") != NULL) {
        syntax_error(p, r, kg_record_find(r, "check", "syntax"));
        return;
    }
    const char *text = json_string_value(json_object_get(entry, "text"));
    long line = (long)json_integer_value(json_object_get(entry, "line"));
    text = text != NULL ? text : r->output.stderr_text;
    if (r->candidate.language != NULL && strcmp(r->candidate.language, "python") == 0) {
        if (text != NULL && text[0] != '\0') {
            extension_error(p, r, text, line);
        }
        return;
    }
    int n = errors_in(text, found, 4);
    if (n == 0) {
        if (line <= 0 || r->candidate.code == NULL) {
            first_lines(p, text, 6);
            return;
        }
        found[n++] = (struct place){.line = line};
    }
    for (int i = 0; i < n && i < 3; i++) {
        kg_pen_to(p, KG_CARD_INDENT);
        kg_pen_putf(p, KG_BOLD, "%ld:%ld ", found[i].line, found[i].column);
        kg_pen_wrap(p, KG_PLAIN, KG_CARD_INDENT + 4, found[i].what);
        kg_pen_line(p);
        if (i == 0 && r->candidate.code != NULL) {
            context(p, r->candidate.code, &found[0]);
        }
    }
    if (n > 3) {
        kg_pen_to(p, KG_CARD_INDENT);
        kg_pen_put(p, KG_DIM, "and more errors");
        kg_pen_line(p);
    }
    kg_pen_line(p);
}

void kg_card_source(struct kg_pen *p, const struct kg_record *r)
{
    if (r->verdict == KG_V_COMPILE_ERROR) {
        compile_error(p, r);
    } else if (r->verdict == KG_V_REJECTED && r->candidate.code != NULL) {
        struct place at = {.line = (long)json_integer_value(
                               json_object_get(kg_record_find(r, "check", "static"), "line"))};
        if (at.line > 0) {
            context(p, r->candidate.code, &at);
            kg_pen_line(p);
        }
    }
}
