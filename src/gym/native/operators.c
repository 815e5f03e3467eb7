/* The table of docs/kgops.md as it stands in the tree; built from the tree's root. */
#include "gym/native/operators.h"

#include <string.h>

#include "gym/reply/lex.h"

extern const char kg_kgops_page[];
__asm__(".pushsection .rodata\n"
        ".type kg_kgops_page, @object\n"
        ".hidden kg_kgops_page\n"
        ".global kg_kgops_page\n"
        "kg_kgops_page:\n"
        ".incbin \"docs/kgops.md\"\n"
        ".byte 0\n"
        ".size kg_kgops_page, . - kg_kgops_page\n"
        ".popsection\n");

#define COLUMNS 4 /* operator, arguments, shapes, definition */

struct cell {
    const char *s;
    int n;
};

/* The cells of a row, without blanks around them; false: the line is no row of the table. */
static bool row_of(const char *line, size_t n, struct cell cell[COLUMNS])
{
    size_t at = 1;
    if (n < 3 || strncmp(line, "| `", 3) != 0) {
        return false;
    }
    for (int c = 0; c < COLUMNS; c++) {
        const char *bar = at < n ? memchr(line + at, '|', n - at) : NULL;
        if (!bar) {
            return false;
        }
        const char *from = line + at, *to = bar;
        from += strspn(from, " ");
        while (to > from && to[-1] == ' ') {
            to--;
        }
        cell[c] = (struct cell){from, (int)(to - from)};
        at = (size_t)(bar - line) + 1;
    }
    return true;
}

/* Without the backticks around it. */
static struct cell code_of(struct cell c)
{
    bool ticks = c.n >= 2 && c.s[0] == '`' && c.s[c.n - 1] == '`';
    return ticks ? (struct cell){c.s + 1, c.n - 2} : c;
}

/* Does the source have the word kgops_NAME, perhaps with _f32 or _f64 behind it? */
static bool calls(const char *source, size_t len, struct cell name)
{
    static const char prefix[] = "kgops_";
    size_t p = sizeof prefix - 1, m = p + (size_t)name.n;
    struct kg_lexer lx;
    struct kg_tok t;
    kg_lex_init(&lx, KG_LANG_C, source, len);
    do {
        t = kg_lex_next(&lx);
        const char *s = source + t.at;
        if (t.kind == KG_TOK_NAME && (t.len == m || t.len == m + 4) && strncmp(s, prefix, p) == 0 &&
            strncmp(s + p, name.s, (size_t)name.n) == 0 &&
            (t.len == m || strncmp(s + m, "_f32", 4) == 0 || strncmp(s + m, "_f64", 4) == 0)) {
            return true;
        }
    } while (t.kind != KG_TOK_END);
    return false;
}

/* The table's `R` is float in a candidate. */
static void add_text(struct cell c, struct kg_buf *out)
{
    for (int i = 0; i < c.n; i++) {
        bool type = c.s[i] == 'R' && i + 2 < c.n && c.s[i + 1] == ' ' && c.s[i + 2] == '*';
        kg_buf_add(out, type ? "float" : c.s + i, type ? 5 : 1);
    }
}

void kg_operators_describe(const char *source, size_t len, struct kg_buf *out)
{
    for (const char *line = kg_kgops_page; *line;) {
        size_t n = strcspn(line, "\n");
        struct cell cell[COLUMNS];
        if (row_of(line, n, cell) && calls(source, len, code_of(cell[0]))) {
            struct cell name = code_of(cell[0]), arguments = code_of(cell[1]);
            kg_buf_addf(out, "- `kgops_%.*s(%.*s)`: ", name.n, name.s, arguments.n, arguments.s);
            add_text(cell[2], out);
            kg_buf_adds(out, "; ");
            add_text(cell[3], out);
            kg_buf_addc(out, '\n');
        }
        line += n + (line[n] == '\n');
    }
}
