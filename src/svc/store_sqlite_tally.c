/* The SQLite store: tallies for the dashboard, and counters. */
#include <string.h>

#include "svc/store_sqlite.h"

static const char *or_none(const char *text)
{
    return text != NULL ? text : "";
}

static enum kg_code count_end(struct kg_svc_sqlite *s, const struct kg_svc_end *e,
                              struct kg_err *err)
{
    int64_t changed = 0;
    const char *verdict = or_none(e->verdict), *stage = or_none(e->stage);
    const char *reason = or_none(verdict[0] != '\0' ? e->reason : e->error);
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_TALLY_UP, err, "ttt", verdict, reason, stage);
    if (kg_svc_sql_done(s, st, &changed, err) != KG_OK || changed > 0) {
        return err->code;
    }
    st = kg_svc_sql_bind(s, SQL_TALLY_NEW, err, "ttti", verdict, reason, stage,
                         (int64_t)KG_SVC_TALLIES);
    return kg_svc_sql_done(s, st, NULL, err);
}

enum kg_code kg_svc_sqlite_count(struct kg_svc_sqlite *s, const struct kg_svc_job *job,
                                 const struct kg_svc_end *e, struct kg_err *err)
{
    char speedup[32];
    int64_t minute = e->now_ms / 60000, ok = strcmp(or_none(e->verdict), "ok") == 0;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_MINUTE, err, "ii", minute % KG_SVC_MINUTES, minute);
    if (kg_svc_sql_done(s, st, NULL, err) != KG_OK || e->replay || count_end(s, e, err) != KG_OK) {
        return err->code;
    }
    if (strncmp(job->problem, "sha256:", 7) == 0) { /* a text of a client's */
        return KG_OK;
    }
    snprintf(speedup, sizeof speedup, "%.9g", e->speedup);
    st = kg_svc_sql_bind(s, SQL_BEST, err, "titt", job->problem, ok, speedup,
                         e->speedup > 0 ? job->id : "");
    return kg_svc_sql_done(s, st, NULL, err);
}

static const char *text_of(sqlite3_stmt *st, int column)
{
    return or_none((const char *)sqlite3_column_text(st, column));
}

/* The statement is read to its end, or each() has had enough. */
static enum kg_code ended(sqlite3_stmt *st, const struct kg_err *e, struct kg_err *err)
{
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e->code != KG_OK) {
        *err = *e;
    }
    return e->code;
}

enum kg_code kg_svc_sqlite_tallies(struct kg_svc_store *store, kg_svc_on_tally *each, void *ctx,
                                   struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_TALLIES, &e, "");
    for (bool more = st != NULL; more && kg_svc_sql_row(s, st, &e);) {
        const struct kg_svc_tally t = {.verdict = text_of(st, 0),
                                       .reason = text_of(st, 1),
                                       .stage = text_of(st, 2),
                                       .n = sqlite3_column_int64(st, 3)};
        more = each(ctx, &t);
    }
    return ended(st, &e, err);
}

enum kg_code kg_svc_sqlite_bests(struct kg_svc_store *store, kg_svc_on_best *each, void *ctx,
                                 struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_BESTS, &e, "");
    for (bool more = st != NULL; more && kg_svc_sql_row(s, st, &e);) {
        const struct kg_svc_best b = {.problem = text_of(st, 0),
                                      .done = sqlite3_column_int64(st, 1),
                                      .ok = sqlite3_column_int64(st, 2),
                                      .speedup = sqlite3_column_double(st, 3),
                                      .id = text_of(st, 4)};
        more = each(ctx, &b);
    }
    return ended(st, &e, err);
}

enum kg_code kg_svc_sqlite_minutes(struct kg_svc_store *store, int64_t now_ms, int64_t *out,
                                   struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct kg_err e = KG_ERR_INIT;
    memset(out, 0, KG_SVC_MINUTES * sizeof *out);
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_MINUTES, &e, "");
    while (st != NULL && kg_svc_sql_row(s, st, &e)) {
        int64_t ago = now_ms / 60000 - sqlite3_column_int64(st, 0);
        if (ago >= 0 && ago < KG_SVC_MINUTES) {
            out[ago] = sqlite3_column_int64(st, 1);
        }
    }
    return ended(st, &e, err);
}

/* --- counters --- */

enum kg_code kg_svc_sqlite_add_counts(struct kg_svc_store *store, const struct kg_svc_count *list,
                                      size_t n, struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    for (size_t i = 0; i < n; i++) {
        sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_COUNTER_ADD, err, "ti", list[i].name, list[i].n);
        if (kg_svc_sql_done(s, st, NULL, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

enum kg_code kg_svc_sqlite_counts(struct kg_svc_store *store, kg_svc_on_count *each, void *ctx,
                                  struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_COUNTER_LIST, &e, "");
    for (bool more = st != NULL; more && kg_svc_sql_row(s, st, &e);) {
        more = each(ctx, text_of(st, 0), sqlite3_column_int64(st, 1));
    }
    return ended(st, &e, err);
}
