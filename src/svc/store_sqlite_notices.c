/* The SQLite store: what api processes tell each other. */
#include "svc/store_sqlite.h"

enum kg_code kg_svc_sqlite_notice(struct kg_svc_store *store, const struct kg_svc_notice *notice,
                                  int64_t now_ms, struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    int64_t changed = 0;
    if (kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_NOTICES_OLD, err, "i", now_ms), NULL, err) !=
        KG_OK) {
        return err->code;
    }
    sqlite3_stmt *st =
        notice->text != NULL
            ? kg_svc_sql_bind(s, SQL_NOTICE, err, "ttit", notice->kind, notice->name,
                              notice->until_ms, notice->text)
            : kg_svc_sql_bind(s, SQL_NOTICE_DROP, err, "tt", notice->kind, notice->name);
    if (kg_svc_sql_done(s, st, &changed, err) != KG_OK) {
        return err->code;
    }
    return changed > 0 ? KG_OK
                       : kg_fail(err, KG_E_NOT_FOUND, "no %s `%.100s`", notice->kind, notice->name);
}

enum kg_code kg_svc_sqlite_notices(struct kg_svc_store *store, const char *kind, int64_t now_ms,
                                   kg_svc_on_notice *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_NOTICES, &e, "ti", kind, now_ms);
    bool more = st != NULL;
    while (more && kg_svc_sql_row(s, st, &e)) {
        const struct kg_svc_notice notice = {.kind = kind,
                                             .name = (const char *)sqlite3_column_text(st, 0),
                                             .text = (const char *)sqlite3_column_text(st, 1),
                                             .until_ms = sqlite3_column_int64(st, 2)};
        more = each(ctx, &notice);
    }
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}
