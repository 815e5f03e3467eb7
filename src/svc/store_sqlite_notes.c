/* The SQLite store: its schema's steps, counters and notes. */
#include "svc/store_sqlite.h"

static struct kg_svc_sqlite *own(struct kg_svc_store *s)
{
    return (struct kg_svc_sqlite *)s;
}

/* --- schema --- */

enum kg_code kg_svc_sql_version(sqlite3 *db, const char *path, int *version, struct kg_err *err)
{
    sqlite3_stmt *st = NULL;
    bool there = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL) == SQLITE_OK &&
                 sqlite3_step(st) == SQLITE_ROW;
    *version = there ? sqlite3_column_int(st, 0) : 0;
    sqlite3_finalize(st);
    return there ? KG_OK : kg_svc_sql_fail(db, path, err);
}

static bool run_text(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

enum kg_code kg_svc_sql_migrate(sqlite3 *db, const char *path, const char *const *steps, int n,
                                struct kg_err *err)
{
    int version;
    char mark[64];
    if (kg_svc_sql_version(db, path, &version, err) != KG_OK) {
        return err->code;
    }
    if (version > n) {
        return kg_fail(err, KG_E_USAGE,
                       "%s: the store has schema %d, and this kgym knows %d: use a newer kgym",
                       path, version, n);
    }
    for (; version < n; version++) {
        snprintf(mark, sizeof mark, "PRAGMA user_version=%d", version + 1);
        if (!run_text(db, "BEGIN IMMEDIATE") || !run_text(db, steps[version]) ||
            !run_text(db, mark) || !run_text(db, "COMMIT")) {
            kg_svc_sql_fail(db, path, err);
            (void)!run_text(db, "ROLLBACK");
            return err->code;
        }
    }
    return KG_OK;
}

/* --- counters and notes --- */

enum kg_code kg_svc_sqlite_tally(struct kg_svc_store *store, const struct kg_svc_count *list,
                                 size_t n, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    for (size_t i = 0; i < n; i++) {
        sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_TALLY, err, "ti", list[i].name, list[i].n);
        if (kg_svc_sql_done(s, st, NULL, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

static const char *text_of(sqlite3_stmt *st, int column)
{
    const unsigned char *t = sqlite3_column_text(st, column);
    return t != NULL ? (const char *)t : "";
}

enum kg_code kg_svc_sqlite_counts(struct kg_svc_store *store, kg_svc_on_count *each, void *ctx,
                                  struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_COUNTER_LIST, &e, "");
    bool more = st != NULL;
    while (more && kg_svc_sql_row(s, st, &e)) {
        more = each(ctx, text_of(st, 0), sqlite3_column_int64(st, 1));
    }
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

enum kg_code kg_svc_sqlite_note(struct kg_svc_store *store, const char *name, const char *text,
                                struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    sqlite3_stmt *st = text != NULL ? kg_svc_sql_bind(s, SQL_NOTE, err, "tt", name, text)
                                    : kg_svc_sql_bind(s, SQL_NOTE_DROP, err, "t", name);
    return kg_svc_sql_done(s, st, NULL, err);
}

enum kg_code kg_svc_sqlite_notes(struct kg_svc_store *store, const char *prefix,
                                 kg_svc_on_note *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_NOTES, &e, "t", prefix);
    bool more = st != NULL;
    while (more && kg_svc_sql_row(s, st, &e)) {
        more = each(ctx, text_of(st, 0), text_of(st, 1));
    }
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}
