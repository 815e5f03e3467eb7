/* A comparison as JSON and as text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/term.h"
#include "trial/bench/compare_parts.h"
#include "trial/bench/tables_parts.h"

enum { SHOWN = 8 }; /* names of a kind on the terminal */

static const char *const left_names[TR_LEFT_KINDS] = {"only_a", "only_b", "other_text",
                                                      "defective"};

/* --- JSON --- */

static json_t *run_json(const struct tr_bench *b)
{
    json_t *policy = json_object_get(b->run, "policy");
    return json_pack("{s:o,s:o,s:I,s:I,s:I,s:o,s:O?}", "folder",
                     kg_json_text(b->folder, strlen(b->folder)), "suite",
                     kg_json_text(b->suite, strlen(b->suite)), "problems", (json_int_t)b->problems,
                     "samples", (json_int_t)b->samples, "turns", (json_int_t)b->turns, "device",
                     kg_json_text(b->device, strlen(b->device)), "policy", policy);
}

static json_t *view_json(const struct tr_compare *c, const struct tr_compare_view *v)
{
    json_t *rows = json_object();
    for (size_t i = 0; i < c->rows; i++) {
        const struct tr_compare_row *r = &v->row[i];
        json_object_set_new(
            rows, r->name,
            json_pack("{s:o,s:o,s:[o,o,o],s:o}", "a", kg_json_real(r->a), "b", kg_json_real(r->b),
                      "difference", kg_json_real(r->difference.value),
                      kg_json_real(r->difference.lo), kg_json_real(r->difference.hi), "detectable",
                      kg_json_real(r->detectable)));
    }
    return json_pack("{s:s,s:s,s:I,s:o}", "name", v->name, "of",
                     v->of.of == RL_OF_BEST ? "best" : "turn", "turn", (json_int_t)v->of.turn,
                     "rows", rows);
}

json_t *tr_compare_json(const struct tr_compare *c)
{
    json_t *tables = json_array(), *left = json_object();
    for (size_t i = 0; i < c->n; i++) {
        const struct tr_compare_table *x = &c->table[i];
        json_t *views = json_array();
        for (size_t v = 0; v < x->views; v++) {
            json_array_append_new(views, view_json(c, &x->view[v]));
        }
        json_array_append_new(tables,
                              json_pack("{s:o,s:I,s:o}", "level",
                                        x->level < 0 ? json_null() : json_integer(x->level),
                                        "problems", (json_int_t)x->problems, "views", views));
    }
    for (int i = 0; i < TR_LEFT_KINDS; i++) {
        json_object_set(left, left_names[i], c->left[i]);
    }
    return json_pack("{s:s,s:o,s:o,s:I,s:O,s:O,s:o,s:o}", "schema", "kgym.bench-compare/1", "a",
                     run_json(c->a), "b", run_json(c->b), "turn", (json_int_t)c->turn, "warnings",
                     c->warnings, "policies_differ", c->policies, "left_out", left, "tables",
                     tables);
}

/* --- text --- */

static void add_run(struct kg_buf *out, const char *name, const struct tr_bench *b)
{
    const char *model =
        json_string_value(json_object_get(json_object_get(b->run, "policy"), "model"));
    kg_buf_addf(out, "%s  ", name);
    kg_term_add_line(out, b->folder);
    kg_buf_adds(out, ": ");
    kg_term_add_line(out, model != NULL ? model : "(no model's name)");
    kg_buf_addf(out, ", %zu problem%s x %zu sample%s x %zu turn%s\n", b->problems,
                b->problems == 1 ? "" : "s", b->samples, b->samples == 1 ? "" : "s", b->turns,
                b->turns == 1 ? "" : "s");
}

static void add_warnings(const struct tr_compare *c, bool colour, struct kg_buf *out)
{
    size_t i;
    json_t *text;
    json_array_foreach(c->warnings, i, text)
    {
        kg_term_add(out, colour, KG_YELLOW, "WARNING: ");
        kg_term_add_line(out, json_string_value(text));
        kg_buf_addc(out, '\n');
    }
    json_array_foreach(c->policies, i, text)
    {
        kg_buf_adds(out, "policy  ");
        kg_term_add_line(out, json_string_value(json_array_get(text, 0)));
        for (size_t side = 1; side <= 2; side++) {
            struct kg_buf value;
            kg_buf_init(&value, 200);
            kg_json_dump(json_array_get(text, side), &value);
            kg_buf_adds(out, side == 1 ? ": A " : ", B ");
            kg_term_add_line(out, value.data);
            kg_buf_deinit(&value);
        }
        kg_buf_addc(out, '\n');
    }
}

static void add_left(const struct tr_compare *c, struct kg_buf *out)
{
    static const char *const why[TR_LEFT_KINDS] = {"only in A", "only in B", "another text in B",
                                                   "defective"};
    for (int k = 0; k < TR_LEFT_KINDS; k++) {
        size_t i, n = json_array_size(c->left[k]);
        json_t *name;
        if (n == 0) {
            continue;
        }
        kg_buf_addf(out, "left out, %s: %zu:", why[k], n);
        json_array_foreach(c->left[k], i, name)
        {
            if (i < SHOWN) {
                kg_buf_addc(out, ' ');
                kg_term_add_line(out, json_string_value(name));
            }
        }
        kg_buf_adds(out, n > SHOWN ? " ...\n" : "\n");
    }
}

/* With a sign: "+12.5" */
static void signed_number(char out[32], enum tr_metric m, double x)
{
    char text[24];
    tr_text_number(text, m, fabs(x));
    snprintf(out, 32, "%s%s", signbit(x) ? "-" : "+", text);
}

static void add_row(const struct tr_compare_row *r, struct kg_buf *out)
{
    char a[32], b[32], d[32] = "-", lo[32], hi[32], range[80] = "", least[32] = "", name[40];
    struct tr_row row = {.metric = r->metric, .p = r->p};
    const struct rl_interval *x = &r->difference;
    memcpy(row.name, r->name, sizeof row.name);
    tr_text_label(name, &row);
    tr_text_value(a, r->metric, r->a);
    tr_text_value(b, r->metric, r->b);
    if (!isnan(x->value)) {
        signed_number(d, r->metric, x->value);
    }
    if (!isnan(x->value) && !isnan(x->lo)) {
        signed_number(lo, r->metric, x->lo);
        signed_number(hi, r->metric, x->hi);
        snprintf(range, sizeof range, "[%s, %s]%s", lo, hi, x->lo > 0 || x->hi < 0 ? " *" : "");
    }
    if (r->detectable > 0) { /* 0: the problems went alike, which says nothing */
        tr_text_number(least, r->metric, r->detectable);
    }
    kg_buf_addf(out, "  %-18s%9s%9s%9s  %-22s%7s", name, a, b, d, range, least);
    tr_text_end_line(out);
}

void tr_compare_text(const struct tr_compare *c, bool colour, struct kg_buf *out)
{
    add_run(out, "A", c->a);
    add_run(out, "B", c->b);
    add_warnings(c, colour, out);
    add_left(c, out);
    for (size_t i = 0; i < c->n; i++) { /* that of all levels last, as in tr_tables_text */
        const struct tr_compare_table *x = &c->table[(i + 1) % c->n];
        for (size_t v = 0; v < x->views; v++) {
            char level[24], head[200], what[80];
            tr_text_level(level, x->level);
            snprintf(what, sizeof what, "%s, %zu problem%s", level, x->problems,
                     x->problems == 1 ? "" : "s");
            snprintf(head, sizeof head, "\n%s, %s\n%20s%9s%9s%9s  %-22s%7s\n", what,
                     x->view[v].name, "", "A", "B", "B - A", "95 % interval", "least");
            kg_term_add(out, colour, KG_BOLD, head);
            for (size_t r = 0; r < c->rows; r++) {
                add_row(&x->view[v].row[r], out);
            }
        }
    }
    kg_buf_adds(out, "\n* the interval does not hold 0.  least: the true difference that 4 of 5 "
                     "such\ncomparisons would show. Intervals are paired, by problem.\n");
}
