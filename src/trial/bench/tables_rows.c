/* Which thresholds of fast_p and which rows a table has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trial/bench/tables_parts.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum kg_code tr_tables_thresholds(const struct tr_tables_options *o, double out[TR_MOST_P],
                                  size_t *count, struct kg_err *err)
{
    static const double always[] = {1, 1.2, 1.5, 2};
    double all[TR_MOST_P];
    size_t n = sizeof always / sizeof *always;
    *count = 0;
    if (o->np > TR_MORE_P) {
        return kg_fail(err, KG_E_USAGE, "fast_p: at most %d thresholds beside 1, 1.2, 1.5 and 2",
                       TR_MORE_P);
    }
    memcpy(all, always, sizeof always);
    for (size_t i = 0; i < o->np; i++) {
        if (!isfinite(o->p[i]) || o->p[i] <= 0) {
            return kg_fail(err, KG_E_USAGE, "fast_p: a threshold is a number above 0");
        }
        all[n++] = o->p[i];
    }
    qsort(all, n, sizeof *all, ascending);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || all[i] > all[i - 1]) {
            out[(*count)++] = all[i];
        }
    }
    return KG_OK;
}

enum kg_code tr_tables_parse_p(const char *text, double out[TR_MORE_P], size_t *n,
                               struct kg_err *err)
{
    const char *at = text;
    for (*n = 0;; at++) {
        char *end;
        double x = strtod(at, &end);
        bool number = end > at && (*end == '\0' || *end == ',') && isfinite(x) && x > 0;
        if (!number || *n == TR_MORE_P) {
            return number ? kg_fail(err, KG_E_USAGE, "--p: more than %d thresholds", TR_MORE_P)
                          : kg_fail(err, KG_E_USAGE,
                                    "--p: `%.40s`: numbers above 0 with commas, as 1,1.1,3", at);
        }
        out[(*n)++] = x;
        at = end;
        if (*at == '\0') {
            return KG_OK;
        }
    }
}

void tr_tables_name_p(char *out, size_t cap, const char *before, double p, const char *after)
{
    struct kg_buf number;
    kg_buf_init(&number, 64);
    kg_buf_add_real(&number, p);
    snprintf(out, cap, "%s%s%s", before, number.data, after);
    kg_buf_deinit(&number);
}

size_t tr_tables_rows(const double *p, size_t np, bool prices, struct tr_row *row)
{
    static const struct {
        enum tr_metric metric;
        const char *name;
    } head[] = {{TR_M_VALID, "valid"}, {TR_M_COMPILED, "compiled"}, {TR_M_CORRECT, "correct"}},
      tail[] = {{TR_M_GEOMEAN, "geomean"},        {TR_M_GEO_FLOOR1, "geo_floor1"},
                {TR_M_MEDIAN, "median"},          {TR_M_HACK, "hack"},
                {TR_M_COVERAGE, "coverage"},      {TR_M_TOKENS, "tokens_per_correct"},
                {TR_M_MONEY, "money_per_correct"}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
        row[n].metric = head[i].metric;
        snprintf(row[n++].name, sizeof row->name, "%s", head[i].name);
    }
    for (size_t i = 0; i < 2 * np; i++) {
        bool lower = i >= np;
        row[n].metric = lower ? TR_M_FAST_LO : TR_M_FAST;
        row[n].p = p[lower ? i - np : i];
        tr_tables_name_p(row[n].name, sizeof row->name, "fast_", row[n].p, lower ? "_lo" : "");
        n++;
    }
    for (size_t i = 0; i < sizeof tail / sizeof *tail - !prices; i++) {
        row[n].metric = tail[i].metric;
        snprintf(row[n++].name, sizeof row->name, "%s", tail[i].name);
    }
    return n;
}

const struct tr_row *tr_tables_row(const struct tr_tables *t, const struct tr_view *v,
                                   enum tr_metric m, double p)
{
    bool by_p = m == TR_M_FAST || m == TR_M_FAST_LO;
    for (size_t i = 0; i < t->rows; i++) {
        if (v->row[i].metric == m && (!by_p || v->row[i].p == p)) {
            return &v->row[i];
        }
    }
    return NULL;
}
