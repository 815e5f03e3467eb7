/* The tables as JSON: kgym.bench/1. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "trial/bench/tables_parts.h"

static json_t *interval(const struct rl_interval *x)
{
    return json_pack("[o,o,o]", kg_json_real(x->value), kg_json_real(x->lo), kg_json_real(x->hi));
}

static json_t *count(size_t n)
{
    return json_integer((json_int_t)n);
}

static void put(json_t *object, const char *key, json_t *value)
{
    int rc = json_object_set_new(object, key, value);
    KG_ASSERT(rc == 0);
}

static json_t *view_json(const struct tr_tables *t, const struct tr_view *v)
{
    json_t *o = json_object(), *rows = json_object();
    put(o, "name", json_string(v->name));
    put(o, "of", json_string(v->of.of == RL_OF_BEST ? "best" : "turn"));
    put(o, "turn", count(v->of.turn));
    for (size_t i = 0; i < t->rows; i++) {
        put(rows, v->row[i].name, interval(&v->row[i].x));
    }
    put(o, "rows", rows);
    return o;
}

static json_t *pass_json(const struct tr_tables *t, const struct tr_pass *pass)
{
    json_t *list = json_array();
    for (size_t i = 0; i <= t->np; i++) {
        json_t *k = json_array(), *value = json_array(), *o = json_object();
        for (size_t j = 0; j < t->nk; j++) {
            json_array_append_new(k, count(t->k[j]));
            json_array_append_new(value, interval(&pass[i].x[j]));
        }
        put(o, "name", json_string(pass[i].name));
        put(o, "p", pass[i].p < 0 ? json_null() : json_real(pass[i].p));
        put(o, "k", k);
        put(o, "value", value);
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *table_json(const struct tr_tables *t, const struct tr_table *x)
{
    json_t *o = json_object(), *views = json_array();
    put(o, "level", x->level < 0 ? json_null() : json_integer(x->level));
    put(o, "problems", count(x->problems));
    put(o, "correct", count(x->correct));
    put(o, "timed", count(x->timed));
    for (size_t i = 0; i < x->views; i++) {
        json_array_append_new(views, view_json(t, &x->view[i]));
    }
    put(o, "views", views);
    put(o, "pass", pass_json(t, x->last));
    put(o, "pass_best", pass_json(t, x->best));
    return o;
}

static json_t *defects_json(const struct tr_bench *b)
{
    json_t *list = json_array();
    for (size_t q = 0; q < b->problems; q++) {
        const struct tr_bench_problem *p = &b->problem[q];
        if (p->defect) {
            json_array_append_new(list, json_pack("{s:s,s:o}", "problem", p->name, "why",
                                                  kg_json_text(p->why, strlen(p->why))));
        }
    }
    return list;
}

static json_t *counts_json(const struct tr_counts_of_turns *c)
{
    const struct {
        const char *name;
        size_t n;
    } all[] = {{"turns", c->turns},     {"replied", c->replied},
               {"judged", c->judged},   {"no_verdict", c->no_verdict},
               {"missing", c->missing}, {"full", c->full},
               {"cut", c->cut},         {"hacks", c->hacks},
               {"correct", c->correct}, {"untimed", c->untimed},
               {"defects", c->defects}};
    json_t *o = json_object();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        put(o, all[i].name, count(all[i].n));
    }
    return o;
}

static const struct tr_view *last_of(const struct tr_tables *t, const struct tr_table *x)
{
    return &x->view[t->bench->turns - 1];
}

static json_t *of_last(const struct tr_tables *t, enum tr_metric m)
{
    const struct tr_row *row = t->n > 0 ? tr_tables_row(t, last_of(t, &t->table[0]), m, 0) : NULL;
    return row != NULL ? interval(&row->x) : json_null();
}

/* Of a part of a suite: how wide intervals would be with all of it. */
static json_t *subset_json(const struct tr_tables *t)
{
    const struct tr_bench *b = t->bench;
    if (b->of == b->problems) {
        return json_null();
    }
    json_t *o = json_object(), *half = json_object();
    put(o, "subset", kg_json_text(b->subset, strlen(b->subset)));
    put(o, "problems", count(b->problems));
    put(o, "of", count(b->of));
    for (size_t i = 0; i < t->rows && t->n > 0; i++) {
        const struct tr_row *row = &last_of(t, &t->table[0])->row[i];
        if (!isnan(row->half_full)) {
            put(half, row->name, json_real(row->half_full));
        }
    }
    put(o, "half_width_of_all", half);
    return o;
}

static json_t *curve_json(const struct tr_curve *c)
{
    json_t *p = json_array(), *last = json_array(), *best = json_array();
    for (size_t i = 0; i < c->n; i++) {
        json_array_append_new(p, json_real(c->p[i]));
        json_array_append_new(last, interval(&c->last[i]));
        json_array_append_new(best, interval(&c->best[i]));
    }
    return json_pack("{s:o,s:o,s:o}", "p", p, "last", last, "best", best);
}

static json_t *notes_json(const struct tr_bench *b)
{
    json_t *list = json_array();
    for (int i = 0; i < TR_BENCH_NOTES && b->note[i] != NULL; i++) {
        json_array_append_new(list, kg_json_text(b->note[i], strlen(b->note[i])));
    }
    return list;
}

static void put_cost(json_t *o, const struct tr_tables *t)
{
    const struct tr_bench *b = t->bench;
    bool prices = b->price_in > 0 || b->price_out > 0;
    put(o, "tokens",
        json_pack("{s:I,s:I,s:o}", "in", (json_int_t)t->tokens_in, "out", (json_int_t)t->tokens_out,
                  "per_correct", of_last(t, TR_M_TOKENS)));
    put(o, "money",
        prices ? json_pack("{s:f,s:o}", "total", t->money, "per_correct", of_last(t, TR_M_MONEY))
               : json_null());
}

json_t *tr_tables_json(const struct tr_tables *t)
{
    const struct tr_bench *b = t->bench;
    json_t *o = json_object(), *tables = json_array();
    put(o, "schema", json_string("kgym.bench/1"));
    put(o, "suite", json_string(b->suite));
    put(o, "subset", subset_json(t));
    put(o, "partial", json_boolean(t->partial));
    put(o, "problems", count(b->problems));
    put(o, "samples", count(b->samples));
    put(o, "turns", count(b->turns));
    put(o, "device", *b->device ? kg_json_text(b->device, strlen(b->device)) : json_null());
    put(o, "devices_differ", json_boolean(b->devices_differ));
    put(o, "seed", json_integer((json_int_t)t->options.seed));
    put(o, "resamples",
        count(t->options.resamples > 0 ? t->options.resamples : RL_BOOTSTRAP_RESAMPLES));
    put(o, "counts", counts_json(&t->counts));
    put(o, "defects", defects_json(b));
    put(o, "aside", json_is_array(b->aside) ? json_deep_copy(b->aside) : json_array());
    put_cost(o, t);
    for (size_t i = 0; i < t->n; i++) {
        json_array_append_new(tables, table_json(t, &t->table[i]));
    }
    put(o, "tables", tables);
    put(o, "curve", curve_json(&t->curve));
    put(o, "lines_left_out", count(b->left_out));
    put(o, "notes", notes_json(b));
    return o;
}
