/* Fenced blocks as models write them. A fence opens at the beginning of a line (behind `>` or a
 * list marker) or glued to the end of prose; it closes on a line of its own, glued to the last line
 * of code, or in front of leaked text. A fence inside a comment or a triple-quoted string of the
 * block is part of the code. Cost: linear; each block is lexed once. */
#include <string.h>

#include "gym/reply/extract_private.h"
#include "gym/reply/fences.h"

/* Each doubt reads the rest of the reply once more. */
#define MAX_DOUBTS 4

struct fence {
    char mark;
    size_t run;
    int quotes;
    size_t indent; /* where the run begins in the line */
    size_t after;  /* position in the line behind the run */
};

static size_t run_length(struct kg_slice s, size_t at)
{
    size_t n = at;
    while (n < s.len && s.at[n] == s.at[at]) {
        n++;
    }
    return n - at;
}

static size_t skip_blanks(struct kg_slice s, size_t at)
{
    while (at < s.len && (s.at[at] == ' ' || s.at[at] == '\t')) {
        at++;
    }
    return at;
}

/* Behind `- `, `* `, `+ `, `1. ` or `1) `. */
static size_t skip_marker(struct kg_slice s, size_t at)
{
    size_t p = at;
    while (p < s.len && p - at < 4 && s.at[p] >= '0' && s.at[p] <= '9') {
        p++;
    }
    bool numbered = p > at && p < s.len && (s.at[p] == '.' || s.at[p] == ')');
    bool bullet = p == at && p < s.len && (s.at[p] == '-' || s.at[p] == '*' || s.at[p] == '+');
    bool ends = (numbered || bullet) && p + 1 < s.len && s.at[p + 1] == ' ';
    return ends ? skip_blanks(s, p + 1) : at;
}

static bool fence_at_start(struct kg_slice line, struct fence *f)
{
    size_t p = skip_blanks(line, 0);
    f->quotes = 0;
    while (p < line.len && line.at[p] == '>' && f->quotes < 8) {
        f->quotes++;
        p = skip_blanks(line, p + 1);
    }
    p = skip_marker(line, p);
    if (p >= line.len || (line.at[p] != '`' && line.at[p] != '~')) {
        return false;
    }
    f->mark = line.at[p];
    f->indent = p;
    f->run = run_length(line, p);
    f->after = p + f->run;
    return f->run >= 3;
}

/* The first run of three or more backticks anywhere in the line. */
static bool fence_in_line(struct kg_slice line, size_t from, struct fence *f)
{
    const char *hit = from < line.len ? kg_lex_find(line.at + from, line.len - from, "```") : NULL;
    if (hit == NULL) {
        return false;
    }
    size_t p = (size_t)(hit - line.at);
    *f = (struct fence){'`', run_length(line, p), 0, 0, 0};
    f->after = p + f->run;
    return true;
}

static struct kg_block *add_block(struct kg_blocks *b)
{
    if (b->n == KG_BLOCKS_MAX) {
        /* Forget the older half at once, so that the cost stays linear. */
        memmove(b->list, b->list + KG_BLOCKS_MAX / 2, sizeof *b->list * (KG_BLOCKS_MAX / 2));
        b->n = KG_BLOCKS_MAX / 2;
        b->dropped = true;
    }
    struct kg_block *n = &b->list[b->n++];
    *n = (struct kg_block){.tag = KG_TAG_NEUTRAL};
    return n;
}

/* What follows the tag on the opening line is code when it looks like code, not like attributes. */
static bool is_code(struct kg_slice s)
{
    if (s.len == 0) {
        return false;
    }
    char last = s.at[s.len - 1];
    bool imports = kg_slice_starts(s, "import ") ||
                   (kg_slice_starts(s, "from ") && kg_lex_find(s.at, s.len, " import ") != NULL);
    return imports || *s.at == '#' || memchr(s.at, ';', s.len) != NULL || last == '{' ||
           (last == ':' && memchr(s.at, ' ', s.len) != NULL);
}

static bool one_line(struct kg_slice line, const struct fence *f, struct kg_blocks *out)
{
    struct fence end;
    size_t from = f->after;
    while (f->mark == '`' && fence_in_line(line, from, &end)) {
        if (end.run < f->run) {
            from = end.after;
            continue;
        }
        struct kg_slice body = {line.at + f->after, end.after - end.run - f->after}, rest;
        bool known;
        enum kg_tag tag = kg_tag_read(body, &known, &rest);
        struct kg_block *b = add_block(out);
        b->code = known ? rest : body;
        if (known && b->code.len > 1 && memcmp(b->code.at, "\\n", 2) == 0) {
            b->code = (struct kg_slice){b->code.at + 2, b->code.len - 2};
        }
        b->tag = tag;
        b->closed = true;
        return true;
    }
    return false;
}

/* A line that no code holds and that chat templates leak: the block ends in front of it. */
static bool is_control(struct kg_slice line)
{
    struct kg_slice t = kg_slice_trim(line);
    bool wide = kg_slice_starts(t, "<\xEF\xBD\x9C"); /* full-width bars */
    return wide ? memmem(t.at, t.len, "\xEF\xBD\x9C>", 4) != NULL
                : kg_slice_starts(t, "<|") && memmem(t.at, t.len, "|>", 2) != NULL;
}

enum ending { GOES_ON, CLOSES, INTERRUPTS };

/* Does this line of an open block end it? *at: position in the line where the code ends. */
static enum ending line_ends(struct kg_slice line, const struct fence *open, size_t *at)
{
    struct fence f;
    if (fence_at_start(line, &f) && f.mark == open->mark) {
        *at = 0;
        if (f.run < open->run) {
            return GOES_ON;
        }
        struct kg_slice info = {line.at + f.after, line.len - f.after}, rest;
        bool known;
        kg_tag_read(info, &known, &rest);
        return known ? INTERRUPTS : CLOSES;
    }
    struct kg_slice t = kg_slice_trim(line);
    size_t end = (size_t)(t.at - line.at) + t.len, p = end;
    while (p > 0 && line.at[p - 1] == open->mark && open->mark == '`') {
        p--;
    }
    *at = p;
    return end - p >= open->run ? CLOSES : is_control(line) ? INTERRUPTS : GOES_ON;
}

struct cursor {
    struct kg_slice text;
    size_t at;
    enum kg_lang lang;
    int doubts; /* fences that turned out not to be inside a string; few are believed */
};

static enum kg_lang probe_lang(enum kg_tag tag, enum kg_lang lang)
{
    return tag == KG_TAG_C || tag == KG_TAG_CUDA ? KG_LANG_C
           : tag == KG_TAG_PYTHON                ? KG_LANG_PYTHON
                                                 : lang;
}

/* Three or more marks of either kind and nothing else. */
static bool is_bare(struct kg_slice line)
{
    struct fence f;
    return fence_at_start(line, &f) && skip_blanks(line, f.after) == line.len;
}

/* Reads the block whose first line begins at c->at and leaves c->at behind its end. */
static void read_block(struct cursor *c, const struct fence *open, struct kg_block *b)
{
    size_t start = c->at, at = c->at, col;
    size_t other_end = 0, other_next = 0; /* the first fence in a string, or of another kind */
    struct kg_fence_probe probe;
    kg_fence_probe_init(&probe, probe_lang(b->tag, c->lang), c->text, start);
    struct kg_slice line;
    b->quotes = open->quotes;
    for (size_t from = at; kg_slice_line(c->text, &at, &line); from = at) {
        enum ending e = line_ends(line, open, &col);
        bool doubt = c->doubts < MAX_DOUBTS;
        if (e == GOES_ON && (other_next != 0 || !doubt || !is_bare(line))) {
            continue;
        }
        col = e == GOES_ON ? 0 : col;
        bool inside = doubt && kg_fence_probe_inside(&probe, from + col);
        if (e == GOES_ON || inside) {
            if (other_next == 0 && (e != GOES_ON || !inside)) {
                other_end = from + col;
                other_next = at;
            }
            continue;
        }
        b->closed = e == CLOSES;
        b->code = (struct kg_slice){c->text.at + start, from + col - start};
        c->at = e == CLOSES ? at : from;
        if (e == INTERRUPTS && is_control(line)) {
            b->code.len = from - start;
            c->at = at;
        }
        return;
    }
    if (other_next != 0) { /* the string never ended, or the right fence never came */
        c->doubts++;
        b->closed = true;
        b->code = (struct kg_slice){c->text.at + start, other_end - start};
        c->at = other_next;
        return;
    }
    b->to_end = true;
    b->code = (struct kg_slice){c->text.at + start, c->text.len - start};
    c->at = c->text.len;
}

/* The blanks to take off each line of a block within a list. Only Python asks: in C they change
 * nothing. A block whose first line has fewer was not written at the depth of its fence. */
static size_t indent_of(const struct cursor *c, const struct fence *open, const struct kg_block *b)
{
    struct kg_slice line = {NULL, 0};
    size_t at = 0;
    while (kg_slice_line(b->code, &at, &line) && kg_slice_trim(line).len == 0) {
    }
    bool deep = c->lang == KG_LANG_PYTHON && open->quotes == 0 &&
                skip_blanks(line, 0) >= open->indent && kg_slice_trim(line).len > 0;
    return deep ? open->indent : 0;
}

/* Leaves out `%%writefile x.py`, `!pip install x` and alike before the code of a notebook's cell:
 * they speak to the notebook, and no file of either language begins so. */
static void skip_magics(struct kg_block *b)
{
    struct kg_slice line;
    size_t at = 0, from = 0;
    for (; kg_slice_line(b->code, &at, &line); from = at) {
        struct kg_slice t = kg_slice_trim(line);
        for (int i = 0; i < b->quotes && kg_slice_starts(t, ">"); i++) {
            t = kg_slice_trim((struct kg_slice){t.at + 1, t.len - 1});
        }
        bool percent = t.len > 1 && t.at[0] == '%' && t.at[1] != ':'; /* `%:` is C's `#` */
        if (t.len > 0 && !percent && *t.at != '!') {
            break;
        }
        b->magics = b->magics || t.len > 0;
    }
    size_t skip = b->magics ? from : 0;
    b->code = (struct kg_slice){b->code.at + skip, b->code.len - skip};
}

/* A fence that opens a block on this line, at its start or glued behind prose. */
static bool opens(struct kg_slice line, struct fence *f)
{
    if (fence_at_start(line, f)) {
        return true;
    }
    if (!fence_in_line(line, 0, f)) {
        return false;
    }
    struct kg_slice info = {line.at + f->after, line.len - f->after}, rest;
    bool known;
    kg_tag_read(info, &known, &rest);
    return kg_slice_trim(info).len == 0 || (known && rest.len == 0) ||
           kg_lex_find(info.at, info.len, "```") != NULL;
}

void kg_blocks_parse(struct kg_slice text, enum kg_lang lang, struct kg_blocks *out)
{
    struct cursor c = {text, 0, lang, 0};
    struct kg_slice line;
    bool first = true;
    out->n = 0;
    out->dropped = out->thinking = false;
    out->seen = text;
    for (size_t from = 0; kg_slice_line(text, &c.at, &line); from = c.at) {
        if (kg_reply_opens_thinking(line, first)) {
            out->thinking = true;
            out->seen.len = from;
            return;
        }
        first &= kg_slice_trim(line).len == 0;
        struct fence f;
        if (!opens(line, &f) || one_line(line, &f, out)) {
            continue;
        }
        struct kg_slice info = {line.at + f.after, line.len - f.after}, rest;
        bool known;
        enum kg_tag tag = kg_tag_read(info, &known, &rest);
        if (tag == KG_TAG_MARKDOWN) {
            continue; /* a wrapper: the blocks inside are what matters */
        }
        rest = known ? rest : kg_slice_trim(info);
        if (is_code(rest)) {
            c.at = (size_t)(rest.at - text.at);
        }
        struct kg_block *b = add_block(out);
        b->tag = tag;
        read_block(&c, &f, b);
        skip_magics(b);
        b->indent = indent_of(&c, &f, b);
        b->escaped = kg_repair_is_escaped(lang, b->code);
    }
}

/* The language's word alone on the first line, as the rest of a fence that the prompt began. */
static bool tag_line(struct kg_slice line, enum kg_lang lang)
{
    struct kg_slice rest;
    bool known;
    enum kg_tag tag = kg_tag_read(kg_slice_trim(line), &known, &rest);
    return known && tag != KG_TAG_NEUTRAL && rest.len == 0 && kg_tag_accepts(lang, tag);
}

void kg_blocks_opened(struct kg_slice text, enum kg_lang lang, struct kg_blocks *out)
{
    size_t at = 0, start = 0, end = text.len;
    struct kg_slice line;
    bool closed = false, tagged = false, first = true;
    for (size_t from = 0; kg_slice_line(text, &at, &line) && !closed; from = at) {
        struct fence f;
        if (first && tag_line(line, lang)) {
            tagged = true;
            start = at;
        } else if (fence_at_start(line, &f)) {
            struct kg_slice info = {line.at + f.after, line.len - f.after}, rest;
            bool known; /* else a remark follows, and the fence closes */
            kg_tag_read(info, &known, &rest);
            if (known || kg_lex_find(info.at, info.len, "```") != NULL) {
                return;
            }
            closed = true;
            end = from;
        }
        first = first && kg_slice_trim(line).len == 0;
    }
    if ((!closed && !tagged) || end <= start || out->n == KG_BLOCKS_MAX) {
        return;
    }
    struct kg_block b = {.code = {text.at + start, end - start},
                         .closed = closed,
                         .to_end = !closed,
                         .opened = true};
    skip_magics(&b);
    b.escaped = kg_repair_is_escaped(lang, b.code);
    if (!kg_lex_plausible(lang, b.code.at, b.code.len)) {
        return;
    }
    memmove(&out->list[1], out->list, (size_t)out->n * sizeof *out->list);
    out->list[0] = b;
    out->n++;
}
