/* The SQLite store: the steps of its schema. */
#include "svc/store_sqlite.h"

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
