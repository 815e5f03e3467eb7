/* Scores of the evaluations before and after, and their paired differences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/report/parts.h"

const char *rl_row_name(enum rl_row r)
{
    static const char *const name[RL_ROWS] = {"valid",    "compiled", "correct", "fast_1",
                                              "fast_1.1", "fast_1.2", "geomean", "coverage",
                                              "lazy",     "hack"};
    return name[r];
}

const char *rl_part_name(enum rl_part p)
{
    static const char *const name[RL_PARTS_SHOWN] = {"pairs", "triples", "others"};
    return name[p];
}

static enum rl_part part_of(const char *problem)
{
    struct kg_err err = KG_ERR_INIT;
    struct rl_chain c;
    bool chain = rl_chain_parse(problem, &c, &err) == KG_OK;
    return chain && c.n == 2 ? RL_PART_PAIRS : chain && c.n == 3 ? RL_PART_TRIPLES : RL_PART_OTHERS;
}

void rl_view_name(const struct rl_score_table *t, int view, char out[24])
{
    if (view + 1 < t->views) {
        snprintf(out, 24, "turn %d", view + 1);
    } else if (t->views > 1) {
        snprintf(out, 24, "best of %d turns", t->views - 1);
    } else {
        snprintf(out, 24, "one turn");
    }
}

/* One evaluation, and per problem the sums that a row divides. */
struct side {
    size_t *count; /* [all problems] samples */
    struct rl_outcome *outcome;
    struct rl_results results;
    double *num, *den; /* [problems] */
};

struct work {
    const struct rl_walks *w;
    size_t *place; /* [all problems] in the table; SIZE_MAX: not in it */
    struct side side[2];
    double *scratch; /* [resamples] */
};

static const enum rl_when whens[2] = {RL_WHEN_BEFORE, RL_WHEN_AFTER};

static void work_deinit(struct work *k)
{
    for (int i = 0; i < 2; i++) {
        free(k->side[i].count);
        free(k->side[i].outcome);
        free(k->side[i].num);
        free(k->side[i].den);
    }
    free(k->place);
    free(k->scratch);
}

/* Problems of the part that each present evaluation has. */
static size_t count_problems(struct work *k, enum rl_part part, size_t *most)
{
    size_t all = k->w->problem.n, n = 0;
    for (size_t i = 0; i < k->w->n; i++) {
        const struct rl_seen *s = &k->w->seen[i];
        for (int e = 0; e < 2; e++) {
            k->side[e].count[s->problem] += s->when == whens[e];
        }
    }
    for (size_t p = 0; p < all; p++) {
        bool in = part_of(k->w->problem.word[p]) == part;
        for (int e = 0; e < 2; e++) {
            size_t samples = k->side[e].count[p];
            in = in && (samples > 0 || k->w->of[whens[e]] == 0);
            *most = samples > *most ? samples : *most;
        }
        in = in && k->side[0].count[p] + k->side[1].count[p] > 0;
        k->place[p] = in ? n : SIZE_MAX;
        n += in;
    }
    return n;
}

static bool fill(struct work *k, size_t n, size_t samples)
{
    size_t turns = (size_t)k->w->turns;
    for (int e = 0; e < 2; e++) {
        struct side *s = &k->side[e];
        s->outcome = calloc(n * samples * turns, sizeof *s->outcome);
        s->num = calloc(n, sizeof *s->num);
        s->den = calloc(n, sizeof *s->den);
        s->results = (struct rl_results){n, samples, turns, s->outcome};
        if (s->outcome == NULL || s->num == NULL || s->den == NULL) {
            return false;
        }
        memset(s->count, 0, k->w->problem.n * sizeof *s->count);
        for (size_t i = 0; i < k->w->n; i++) {
            const struct rl_seen *seen = &k->w->seen[i];
            size_t at = k->place[seen->problem];
            if (seen->when != whens[e] || at == SIZE_MAX) {
                continue;
            }
            size_t nth = s->count[seen->problem]++, before = k->w->apart ? nth : nth * turns;
            for (size_t t = 0; t < seen->turns && before + t < samples * turns; t++) {
                s->outcome[at * samples * turns + before + t] = k->w->turn[seen->first + t].o;
            }
        }
    }
    return true;
}

static void coverage(const struct rl_results *r, struct rl_view v, double *num, double *den)
{
    for (size_t p = 0; p < r->problems; p++) {
        num[p] = den[p] = 0;
        for (size_t i = 0; i < r->samples; i++) {
            const struct rl_outcome *o = rl_metrics_at(r, v, p, i);
            if (o != NULL && o->correct && isfinite(o->coverage)) {
                num[p] += o->coverage;
                den[p]++;
            }
        }
    }
}

/* The sums of a row; a mean over problems has den 1. */
static void sums(const struct side *s, struct rl_view v, enum rl_row row)
{
    static const double limit[RL_ROWS] = {
        [RL_ROW_FAST_1] = 1, [RL_ROW_FAST_11] = 1.1, [RL_ROW_FAST_12] = 1.2};
    static const enum rl_rate rate[RL_ROWS] = {[RL_ROW_VALID] = RL_RATE_VALID,
                                               [RL_ROW_COMPILED] = RL_RATE_COMPILED,
                                               [RL_ROW_CORRECT] = RL_RATE_CORRECT,
                                               [RL_ROW_LAZY] = RL_RATE_LAZY,
                                               [RL_ROW_HACK] = RL_RATE_HACK};
    const struct rl_results *r = &s->results;
    for (size_t p = 0; p < r->problems; p++) {
        s->den[p] = 1;
    }
    if (limit[row] > 0) {
        rl_metrics_fast(r, v, limit[row], false, s->num);
    } else if (row == RL_ROW_GEOMEAN) {
        rl_metrics_logs(r, v, false, s->num, s->den);
    } else if (row == RL_ROW_COVERAGE) {
        coverage(r, v, s->num, s->den);
    } else {
        rl_metrics_rate(r, v, rate[row], s->num);
    }
}

static double value(const struct side *s, bool exps)
{
    double num = 0, den = 0;
    for (size_t p = 0; p < s->results.problems; p++) {
        num += s->num[p];
        den += s->den[p];
    }
    double x = den > 0 ? num / den : (double)NAN;
    return exps ? exp(x) : x;
}

static struct rl_score_row row_of(struct work *k, struct rl_view v, enum rl_row row)
{
    const struct side *a = &k->side[0], *b = &k->side[1];
    bool exps = row == RL_ROW_GEOMEAN, has[2];
    for (int e = 0; e < 2; e++) {
        has[e] = k->w->of[whens[e]] > 0;
        sums(&k->side[e], v, row);
    }
    const double none = (double)NAN;
    struct rl_score_row out = {.before = has[0] ? value(a, exps) : none,
                               .after = has[1] ? value(b, exps) : none,
                               .difference = {.value = none, .lo = none, .hi = none}};
    if (isfinite(out.before) && isfinite(out.after)) {
        out.difference =
            rl_bootstrap_difference(a->num, a->den, b->num, b->den, a->results.problems, exps, 0,
                                    RL_BOOTSTRAP_RESAMPLES, k->scratch);
    }
    return out;
}

enum kg_code rl_score_table(const struct rl_walks *w, enum rl_part part,
                            struct rl_score_table *table, struct kg_err *err)
{
    size_t all = w->problem.n, most = 0;
    struct work k = {.w = w, .place = calloc(all + 1, sizeof *k.place)};
    *table = (struct rl_score_table){0};
    k.scratch = calloc(RL_BOOTSTRAP_RESAMPLES, sizeof *k.scratch);
    for (int e = 0; e < 2; e++) {
        k.side[e].count = calloc(all + 1, sizeof *k.side[e].count);
    }
    bool ok = k.place && k.scratch && k.side[0].count && k.side[1].count;
    size_t n = ok ? count_problems(&k, part, &most) : 0;
    size_t turns = w->apart ? (size_t)w->turns : 1;
    most = (most + turns - 1) / turns;
    if (n > 0 && (ok = fill(&k, n, most))) {
        table->problems = n;
        table->samples = most;
        table->views = w->turns > 1 ? w->turns + 1 : 1;
        for (int v = 0; v < table->views; v++) {
            bool best = v + 1 == table->views;
            const struct rl_view view = {best ? RL_OF_BEST : RL_OF_TURN,
                                         best ? (size_t)w->turns : (size_t)v + 1};
            for (int r = 0; r < RL_ROWS; r++) {
                table->row[v][r] = row_of(&k, view, (enum rl_row)r);
            }
        }
    }
    work_deinit(&k);
    return ok ? KG_OK : kg_fail(err, KG_E_HOST, "report: no memory for scores");
}
