/* Makes the tables of a run: which statistics there are, over which problems and turns. */
#include "trial/bench/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial/bench/tables_parts.h"

/* The curve of fast_p over p. */
enum { CURVE = 71 };
#define CURVE_FROM .5
#define CURVE_STEP .05

/* Source: the normal distribution's 97.5 percentile. */
#define HALF_OF_95 1.959964

static void choose_k(struct tr_tables *t)
{
    size_t n = t->bench->samples;
    for (size_t k = 1; k < n; k *= 2) {
        t->k[t->nk++] = k;
    }
    t->k[t->nk++] = n;
}

static void name_view(struct tr_view *v, size_t at, size_t turns)
{
    v->of = at < turns ? (struct rl_view){RL_OF_TURN, at + 1}
                       : (struct rl_view){RL_OF_BEST, at - turns + 2};
    if (at >= turns) {
        snprintf(v->name, sizeof v->name, "best of %zu", v->of.turn);
    } else if (at + 1 == turns) {
        snprintf(v->name, sizeof v->name, "last");
    } else {
        snprintf(v->name, sizeof v->name, "turn %zu", at + 1);
    }
}

static enum kg_code allocate(const struct tr_tables *t, struct tr_table *x, struct kg_err *err)
{
    x->views = 2 * t->bench->turns - 1;
    x->view = calloc(x->views, sizeof *x->view);
    x->last = calloc(2 * (1 + t->np), sizeof *x->last);
    bool good = x->view != NULL && x->last != NULL;
    for (size_t i = 0; i < x->views && good; i++) {
        x->view[i].row = calloc(TR_MOST_ROWS, sizeof *x->view[i].row);
        good = x->view[i].row != NULL;
    }
    if (!good) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for the tables of %zu turns",
                              t->bench->turns);
    }
    x->best = x->last + 1 + t->np;
    return KG_OK;
}

/* --- what they say --- */

static void add_row(const struct tr_tables *t, const struct tr_outcomes *o, struct rl_view v,
                    struct tr_row *row, struct tr_stats *stats)
{
    struct tr_stats_room room = tr_stats_room(stats);
    const double none = (double)NAN;
    size_t n = o->results.problems;
    row->half_full = none;
    double *den = tr_metric_sums(o, v, row->metric, row->p, room.num, room.den);
    if (den == NULL && t->bench->of > t->bench->problems) {
        row->half_full =
            HALF_OF_95 * rl_standard_error(room.num, n) * sqrt((double)n / (double)t->bench->of);
    }
    const struct rl_statistic s = {.num = room.num, .den = den};
    tr_stats_add(stats, &s, tr_metric_exps(row->metric), &row->x);
}

static void add_view(const struct tr_tables *t, const struct tr_outcomes *o, struct tr_view *v,
                     struct tr_stats *stats, double *work)
{
    const double none = (double)NAN;
    for (size_t i = 0; i < t->rows; i++) {
        struct tr_row *row = &v->row[i];
        if (row->metric == TR_M_MEDIAN) {
            row->x = (struct rl_interval){rl_metrics_speeds(&o->results, v->of, work).median, none,
                                          none, none, 0};
            row->half_full = none;
        } else {
            add_row(t, o, v->of, row, stats);
        }
    }
}

static enum kg_code add_pass(const struct tr_tables *t, const struct tr_outcomes *o,
                             struct rl_view v, struct tr_pass *pass, struct tr_stats *stats,
                             struct kg_err *err)
{
    enum kg_code code = KG_OK;
    double mean;
    for (size_t i = 0; i <= t->np; i++) {
        pass[i].p = i == 0 ? -1 : t->p[i - 1];
        if (i == 0) {
            snprintf(pass[i].name, sizeof pass->name, "pass");
        } else {
            tr_tables_name_p(pass[i].name, sizeof pass->name, "fast_", pass[i].p, "");
        }
        for (size_t j = 0; j < t->nk && code == KG_OK; j++) {
            struct tr_stats_room room = tr_stats_room(stats);
            code = rl_metrics_pass_at(&o->results, v, t->k[j], pass[i].p, &mean, room.num, err);
            const struct rl_statistic s = {.num = room.num};
            tr_stats_add(stats, &s, false, &pass[i].x[j]);
        }
    }
    return code;
}

static void add_curve(const struct tr_outcomes *o, struct tr_curve *c, struct tr_stats *stats)
{
    const struct rl_view view[] = {rl_view_last(&o->results), {RL_OF_BEST, o->results.turns}};
    for (size_t i = 0; i < 2 * c->n; i++) {
        struct tr_stats_room room = tr_stats_room(stats);
        bool best = i >= c->n;
        size_t at = best ? i - c->n : i;
        (void)rl_metrics_fast(&o->results, view[best], c->p[at], false, room.num);
        const struct rl_statistic s = {.num = room.num};
        tr_stats_add(stats, &s, false, best ? &c->best[at] : &c->last[at]);
    }
}

static void count_correct(const struct tr_outcomes *o, struct tr_table *x)
{
    const struct rl_results *r = &o->results;
    for (size_t i = 0; i < r->problems * r->samples; i++) {
        const struct rl_outcome *last =
            rl_metrics_at(r, rl_view_last(r), i / r->samples, i % r->samples);
        x->correct += last != NULL && last->correct;
        x->timed += rl_metrics_speed(last, false) > 0;
    }
}

static enum kg_code make_table(struct tr_tables *t, const struct tr_outcomes *o, int level,
                               struct tr_curve *curve, struct kg_err *err)
{
    struct tr_table *x = &t->table[t->n++];
    struct tr_stats *stats = NULL;
    bool prices = t->bench->price_in > 0 || t->bench->price_out > 0;
    x->level = level;
    x->problems = o->results.problems;
    double *work = calloc(o->results.problems * o->results.samples, sizeof *work);
    enum kg_code code = work != NULL ? allocate(t, x, err)
                                     : kg_fail_memory(err, KG_E_HOST, "no memory for a table");
    code = code == KG_OK ? tr_stats_create(x->problems, &t->options, &stats, err) : code;
    for (size_t i = 0; i < x->views && code == KG_OK; i++) {
        name_view(&x->view[i], i, t->bench->turns);
        t->rows = tr_tables_rows(t->p, t->np, prices, x->view[i].row);
        add_view(t, o, &x->view[i], stats, work);
    }
    if (code == KG_OK) {
        struct rl_view best = {RL_OF_BEST, t->bench->turns};
        count_correct(o, x);
        code = add_pass(t, o, rl_view_last(&o->results), x->last, stats, err);
        code = code == KG_OK ? add_pass(t, o, best, x->best, stats, err) : code;
    }
    if (code == KG_OK && curve != NULL) {
        add_curve(o, curve, stats);
    }
    if (code == KG_OK) {
        tr_stats_run(stats);
    }
    tr_stats_destroy(stats);
    free(work);
    return code;
}

/* --- all of it --- */

static void count_turn(struct tr_tables *t, const struct tr_bench_turn *x, bool ended)
{
    struct tr_counts_of_turns *c = &t->counts;
    const struct tr_facts *f = &x->facts;
    bool there = x->replied || f->state != TR_FACT_NONE, judged = f->state == TR_FACT_JUDGED;
    c->turns++;
    c->replied += there;
    c->judged += judged;
    c->no_verdict += there && !judged;
    c->missing += !there && !ended;
    c->full += !there && ended;
    c->cut += x->cut;
    c->hacks += judged && f->hack;
    c->correct += judged && f->correct;
    c->untimed += judged && f->correct && isnan(f->speedup);
}

static void count_turns(struct tr_tables *t)
{
    const struct tr_bench *b = t->bench;
    size_t each = b->samples * b->turns;
    for (size_t i = 0; i < b->problems * each; i++) {
        t->tokens_in += b->turn[i].tokens_in;
        t->tokens_out += b->turn[i].tokens_out;
        if (!b->problem[i / each].defect) {
            count_turn(t, &b->turn[i], b->ended[i / b->turns] != TR_BENCH_OPEN);
        }
    }
    for (size_t q = 0; q < b->problems; q++) {
        t->counts.defects += b->problem[q].defect;
    }
    t->money = ((double)t->tokens_in * b->price_in + (double)t->tokens_out * b->price_out) / 1e6;
    t->partial = t->counts.no_verdict > 0 || t->counts.missing > 0;
}

static enum kg_code make_curve(struct tr_curve *c, struct kg_err *err)
{
    c->p = calloc(CURVE, sizeof *c->p);
    c->last = calloc(2 * CURVE, sizeof *c->last);
    if (c->p == NULL || c->last == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a curve");
    }
    c->best = c->last + CURVE;
    c->n = CURVE;
    for (size_t i = 0; i < c->n; i++) {
        c->p[i] = round((CURVE_FROM + CURVE_STEP * (double)i) * 100) / 100;
    }
    return KG_OK;
}

static enum kg_code make_all(struct tr_tables *t, const struct tr_outcomes *o, struct kg_err *err)
{
    size_t n = tr_outcomes_levels(o), to;
    if (n > TR_MOST_LEVELS) {
        return kg_fail(err, KG_E_LIMIT, "%s: problems of more than %d levels", t->bench->folder,
                       TR_MOST_LEVELS);
    }
    t->table = calloc(1 + TR_MOST_LEVELS, sizeof *t->table);
    if (t->table == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for the tables");
    }
    enum kg_code code = n > 0 ? make_curve(&t->curve, err) : KG_OK;
    code = code == KG_OK && n > 0 ? make_table(t, o, -1, &t->curve, err) : code;
    for (size_t from = 0; from < o->results.problems && n > 1 && code == KG_OK; from = to) {
        to = tr_outcomes_level_end(o, from);
        struct tr_outcomes part = tr_outcomes_part(o, from, to);
        code = make_table(t, &part, t->bench->problem[o->problem[from]].level, NULL, err);
    }
    return code;
}

enum kg_code tr_tables_make(const struct tr_bench *b, const struct tr_tables_options *o,
                            struct tr_tables *out, struct kg_err *err)
{
    struct tr_outcomes outcomes = {.problem = NULL};
    *out = (struct tr_tables){.bench = b, .options = *o};
    enum kg_code code = tr_tables_thresholds(o, out->p, &out->np, err);
    out->options.p = NULL; /* the caller's; t->p has them */
    out->options.np = 0;
    choose_k(out);
    count_turns(out);
    code = code == KG_OK ? tr_outcomes_make(b, NULL, 0, &outcomes, err) : code;
    code = code == KG_OK ? make_all(out, &outcomes, err) : code;
    tr_outcomes_deinit(&outcomes);
    if (code != KG_OK) {
        tr_tables_deinit(out);
    }
    return code;
}

void tr_tables_deinit(struct tr_tables *t)
{
    for (size_t i = 0; i < t->n; i++) {
        for (size_t v = 0; v < t->table[i].views && t->table[i].view != NULL; v++) {
            free(t->table[i].view[v].row);
        }
        free(t->table[i].view);
        free(t->table[i].last);
    }
    free(t->table);
    free(t->curve.p);
    free(t->curve.last);
    *t = (struct tr_tables){.n = 0};
}
