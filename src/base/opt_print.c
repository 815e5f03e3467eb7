/* What is printed from the table: the configuration in force, --help, docs/options.md. */
#include "base/opt_table.h"

#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 30
#define HELP_WIDTH  96
#define COLUMNS     78 /* of a comment */

static void add_range(const struct kg_opt *opt, struct kg_buf *out)
{
    if (opt->type == KG_OPT_INT || opt->type == KG_OPT_REAL) {
        kg_buf_add_real(out, opt->lo);
        kg_buf_adds(out, "..");
        kg_buf_add_real(out, opt->hi);
        if (opt->unit[0] != '\0') {
            kg_buf_addf(out, " %s", opt->unit);
        }
    } else if (opt->type == KG_OPT_ENUM) {
        for (size_t i = 0; opt->names[i] != NULL; i++) {
            kg_buf_addf(out, "%s%s", i == 0 ? "" : ", ", opt->names[i]);
        }
    }
}

/* Breaks the comment from start on at spaces, so that it fits a terminal. */
static void wrap(struct kg_buf *out, size_t start)
{
    char text[1024];
    size_t len = out->len - start, at = 0;
    if (len <= COLUMNS || len >= sizeof text) {
        return;
    }
    memcpy(text, out->data + start, len);
    out->len = start;
    while (len - at > COLUMNS) {
        size_t end = at + COLUMNS;
        while (end > at + 2 && text[end] != ' ') {
            end--;
        }
        end = end > at + 2 ? end : at + COLUMNS;
        kg_buf_addf(out, "%.*s\n#", (int)(end - at), text + at);
        at = end; /* the space stays, behind the # */
    }
    kg_buf_addf(out, "%.*s", (int)(len - at), text + at);
}

void kg_opts_dump(const struct kg_opts *o, const void *config, bool help, struct kg_buf *out)
{
    for (size_t i = 0; i < o->n; i++) {
        const struct kg_opt *opt = &o->table[i];
        if (help) {
            size_t start = out->len;
            kg_buf_addf(out, "# %s", opt->help);
            if (opt->type != KG_OPT_BOOL && opt->type != KG_OPT_STRING) {
                kg_buf_adds(out, " (");
                add_range(opt, out);
                kg_buf_adds(out, ")");
            }
            KG_ASSERT(memchr(out->data + start, '\n', out->len - start) == NULL);
            wrap(out, start);
            kg_buf_addc(out, '\n');
        }
        kg_buf_addf(out, "%s: ", opt->key);
        kg_opt_show(opt, config, out);
        kg_buf_adds(out, help && i + 1 < o->n ? "\n\n" : "\n");
    }
}

static void add_flag(const struct kg_opt *opt, struct kg_buf *out)
{
    static const char *const words[] = {
        [KG_OPT_INT] = "N", [KG_OPT_REAL] = "X", [KG_OPT_STRING] = "TEXT", [KG_OPT_ENUM] = "NAME"};
    char flag[KG_OPT_KEY_MAX];
    kg_opt_flag_name(opt, flag);
    if (opt->type == KG_OPT_BOOL) {
        kg_buf_addf(out, "--[no-]%s", flag);
    } else {
        kg_buf_addf(out, "--%s %s", flag, words[opt->type]);
    }
}

/* text in lines of at most HELP_WIDTH columns, indented by HELP_COLUMN; column: where it starts. */
static void add_wrapped(const char *text, size_t column, struct kg_buf *out)
{
    while (*text != '\0') {
        size_t n = strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + n > HELP_WIDTH) {
            kg_buf_addf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            kg_buf_addc(out, ' ');
            column++;
        }
        kg_buf_add(out, text, n);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    kg_buf_addc(out, '\n');
}

static size_t section_length(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot == NULL ? 0 : (size_t)(dot - key);
}

static bool same_section(const char *a, const char *b)
{
    size_t n = section_length(a);
    return n == section_length(b) && strncmp(a, b, n) == 0;
}

void kg_opts_help(const struct kg_opts *o, struct kg_buf *out)
{
    for (size_t i = 0; i < o->n; i++) {
        const struct kg_opt *opt = &o->table[i];
        if (i > 0 && !same_section(o->table[i - 1].key, opt->key)) {
            kg_buf_addc(out, '\n');
        }
        size_t start = out->len;
        kg_buf_adds(out, "  ");
        add_flag(opt, out);
        size_t used = out->len - start;
        if (used + 2 > HELP_COLUMN) {
            kg_buf_addc(out, '\n');
            used = 0;
        }
        kg_buf_addf(out, "%*s", (int)(HELP_COLUMN - used), "");
        struct kg_buf text;
        kg_buf_init(&text, 2000);
        kg_buf_addf(&text, "%s [%s", opt->help, opt->def[0] != '\0' ? opt->def : "empty");
        if (opt->type != KG_OPT_BOOL && opt->type != KG_OPT_STRING) {
            kg_buf_adds(&text, "; ");
            add_range(opt, &text);
        }
        kg_buf_addc(&text, ']');
        add_wrapped(text.data, HELP_COLUMN, out);
        kg_buf_deinit(&text);
    }
}

/* Inside a cell of a table a bar would end the cell. */
static void add_cell(const char *text, struct kg_buf *out)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '|') {
            kg_buf_addc(out, '\\');
        }
        kg_buf_addc(out, *p);
    }
}

void kg_opts_markdown(const struct kg_opts *o, struct kg_buf *out)
{
    static const char *const types[] = {[KG_OPT_BOOL] = "boolean",
                                        [KG_OPT_INT] = "integer",
                                        [KG_OPT_REAL] = "number",
                                        [KG_OPT_STRING] = "text",
                                        [KG_OPT_ENUM] = "one of"};
    bool clients = false; /* of a table without such options nobody asks */
    for (size_t i = 0; i < o->n; i++) {
        clients = clients || o->table[i].client;
    }
    kg_buf_addf(out, "| key | flag | environment | values | default |%s meaning |\n",
                clients ? " client |" : "");
    kg_buf_addf(out, "|---|---|---|---|---|%s---|\n", clients ? "---|" : "");
    for (size_t i = 0; i < o->n; i++) {
        const struct kg_opt *opt = &o->table[i];
        char env[KG_OPT_KEY_MAX + 8];
        kg_opt_env_name(opt, env);
        kg_buf_addf(out, "| `%s` | `", opt->key);
        add_flag(opt, out);
        kg_buf_addf(out, "` | `%s` | %s", env, types[opt->type]);
        if (opt->type != KG_OPT_BOOL && opt->type != KG_OPT_STRING) {
            kg_buf_addc(out, ' ');
            add_range(opt, out);
        }
        kg_buf_adds(out, " | ");
        if (opt->def[0] != '\0') {
            kg_buf_addc(out, '`');
            add_cell(opt->def, out);
            kg_buf_addc(out, '`');
        }
        kg_buf_adds(out, clients ? opt->client ? " | yes | " : " | | " : " | ");
        add_cell(opt->help, out);
        kg_buf_adds(out, " |\n");
    }
}
