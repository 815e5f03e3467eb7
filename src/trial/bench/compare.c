/* Paired differences between two runs. */
#include "trial/bench/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial/bench/compare_parts.h"
#include "trial/bench/tables_parts.h"

/* 1.959964 + 0.841621: 5 % on both sides, 80 % power. Source: the normal distribution. */
#define DETECTABLE 2.801585

/* What differences are taken over. */
struct sides {
    struct tr_outcomes a, b; /* the same problems in the same order */
    struct tr_row row[TR_MOST_ROWS];
    const struct tr_tables_options *options;
};

static double detectable(const double *a, const double *b, size_t n, double *work)
{
    for (size_t i = 0; i < n; i++) {
        work[i] = b[i] - a[i];
    }
    return DETECTABLE * rl_standard_error(work, n);
}

/* The value of one side alone. */
static double alone(const double *num, const double *den, size_t n, bool exps)
{
    double top = 0, bottom = 0;
    for (size_t i = 0; i < n; i++) {
        top += num[i];
        bottom += den != NULL ? den[i] : 1;
    }
    double x = bottom > 0 ? top / bottom : (double)NAN;
    return exps ? exp(x) : x;
}

static void add_row(const struct sides *s, struct rl_view v, struct tr_compare_row *row,
                    struct tr_stats *stats, double *work)
{
    struct tr_stats_room room = tr_stats_room(stats);
    size_t n = s->a.results.problems;
    bool exps = tr_metric_exps(row->metric);
    double *da = tr_metric_sums(&s->a, v, row->metric, row->p, room.num_a, room.den_a);
    double *db = tr_metric_sums(&s->b, v, row->metric, row->p, room.num, room.den);
    row->a = alone(room.num_a, da, n, exps);
    row->b = alone(room.num, db, n, exps);
    row->detectable =
        da == NULL && db == NULL ? detectable(room.num_a, room.num, n, work) : (double)NAN;
    const struct rl_statistic x = {room.num_a, da, room.num, db, exps};
    tr_stats_add(stats, &x, false, &row->difference);
}

static enum kg_code add_view(const struct tr_compare *c, const struct sides *s,
                             struct tr_compare_view *out, struct tr_stats *stats, double *work,
                             struct kg_err *err)
{
    bool best = out->of.of == RL_OF_BEST;
    snprintf(out->name, sizeof out->name, best ? "best of %zu" : "turn %zu", out->of.turn);
    out->row = calloc(TR_MOST_ROWS, sizeof *out->row);
    if (out->row == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a table");
    }
    for (size_t i = 0; i < c->rows; i++) {
        struct tr_compare_row *row = &out->row[i];
        *row = (struct tr_compare_row){.metric = s->row[i].metric, .p = s->row[i].p};
        memcpy(row->name, s->row[i].name, sizeof row->name);
        add_row(s, out->of, row, stats, work);
    }
    return KG_OK;
}

static enum kg_code make_table(struct tr_compare *c, const struct sides *s, int level,
                               struct kg_err *err)
{
    struct tr_compare_table *x = &c->table[c->n++];
    struct tr_stats *stats = NULL;
    x->level = level;
    x->problems = s->a.results.problems;
    double *work = calloc(x->problems, sizeof *work);
    if (work == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a table");
    }
    enum kg_code code = tr_stats_create(x->problems, s->options, &stats, err);
    for (size_t i = 0; i < (c->turn > 1 ? 2 : 1) && code == KG_OK; i++) {
        struct tr_compare_view *v = &x->view[x->views++];
        v->of = (struct rl_view){i == 0 ? RL_OF_TURN : RL_OF_BEST, c->turn};
        code = add_view(c, s, v, stats, work, err);
    }
    if (code == KG_OK) {
        tr_stats_run(stats);
    }
    tr_stats_destroy(stats);
    free(work);
    return code;
}

static enum kg_code make_tables(struct tr_compare *c, struct sides *s, struct kg_err *err)
{
    size_t n = tr_outcomes_levels(&s->a), all = s->a.results.problems, to;
    if (n > TR_MOST_LEVELS) {
        return kg_fail(err, KG_E_LIMIT, "%s: problems of more than %d levels", c->a->folder,
                       TR_MOST_LEVELS);
    }
    c->table = calloc(1 + TR_MOST_LEVELS, sizeof *c->table);
    if (c->table == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for the tables");
    }
    enum kg_code code = make_table(c, s, -1, err);
    for (size_t from = 0; from < all && n > 1 && code == KG_OK; from = to) {
        struct sides part = *s;
        to = tr_outcomes_level_end(&s->a, from);
        part.a = tr_outcomes_part(&s->a, from, to);
        part.b = tr_outcomes_part(&s->b, from, to);
        code = make_table(c, &part, c->a->problem[s->a.problem[from]].level, err);
    }
    return code;
}

/* Rows with a paired interval: all but the median. */
static enum kg_code choose_rows(struct tr_compare *c, struct sides *s, struct kg_err *err)
{
    double p[TR_MOST_P];
    size_t np;
    bool prices =
        (c->a->price_in > 0 || c->a->price_out > 0) && (c->b->price_in > 0 || c->b->price_out > 0);
    enum kg_code code = tr_tables_thresholds(s->options, p, &np, err);
    size_t n = code == KG_OK ? tr_tables_rows(p, np, prices, s->row) : 0;
    for (size_t i = 0; i < n; i++) {
        if (s->row[i].metric != TR_M_MEDIAN) {
            s->row[c->rows++] = s->row[i];
        }
    }
    return code;
}

enum kg_code tr_compare_make(const struct tr_bench *a, const struct tr_bench *b, size_t turn,
                             const struct tr_tables_options *o, struct tr_compare *out,
                             struct kg_err *err)
{
    struct tr_pairs pairs = {.n = 0};
    struct sides s = {.options = o};
    *out = (struct tr_compare){.a = a, .b = b, .warnings = json_array(), .policies = json_array()};
    for (int i = 0; i < TR_LEFT_KINDS; i++) {
        out->left[i] = json_array();
    }
    enum kg_code code = tr_compare_turn(out, turn, err);
    code = code == KG_OK ? choose_rows(out, &s, err) : code;
    code = code == KG_OK ? tr_compare_pairs(out, &pairs, err) : code;
    if (code == KG_OK) {
        tr_compare_look(out, &pairs);
        code = tr_outcomes_make(a, pairs.a, pairs.n, &s.a, err);
    }
    code = code == KG_OK ? tr_outcomes_make(b, pairs.b, pairs.n, &s.b, err) : code;
    code = code == KG_OK ? make_tables(out, &s, err) : code;
    tr_outcomes_deinit(&s.a);
    tr_outcomes_deinit(&s.b);
    free(pairs.a);
    free(pairs.b);
    if (code != KG_OK) {
        tr_compare_deinit(out);
    }
    return code;
}

void tr_compare_deinit(struct tr_compare *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->table[i].view[0].row);
        free(c->table[i].view[1].row);
    }
    for (int i = 0; i < TR_LEFT_KINDS; i++) {
        json_decref(c->left[i]);
    }
    free(c->table);
    json_decref(c->warnings);
    json_decref(c->policies);
    *c = (struct tr_compare){.n = 0};
}
