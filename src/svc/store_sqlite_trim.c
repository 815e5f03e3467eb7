/* The SQLite store: events that nobody will ask for any more. They are looked at from the oldest
 * on, some at each call, so a call has a bound in time. Those of a job that has not ended stay, and
 * are looked at again once the walk has come to events that are too young. */
#include "svc/store_sqlite.h"

enum { LOOKED_AT = 1000 }; /* events at each call, and a call comes each second */

enum kg_code kg_svc_sqlite_trim(struct kg_svc_sqlite *s, int64_t now_ms, struct kg_err *err)
{
    const int64_t since = now_ms - KG_SVC_EVENTS_KEEP_MS;
    int64_t gone[LOOKED_AT], last = 0;
    size_t n = 0;
    bool more = true;
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st =
        kg_svc_sql_bind(s, SQL_OLD_EVENTS, &e, "iii", s->looked, since, (int64_t)LOOKED_AT);
    while (st != NULL && more && kg_svc_sql_row(s, st, &e)) {
        more = sqlite3_column_int64(st, 1) <= since;
        if (more) {
            last = sqlite3_column_int64(st, 0);
        }
        if (more && sqlite3_column_int(st, 2) != 0) {
            gone[n++] = last;
        }
    }
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
        return e.code;
    }
    s->looked = more && last > 0 ? last : 0;
    for (size_t i = 0; i < n; i++) {
        st = kg_svc_sql_bind(s, SQL_EVENT_DROP, err, "i", gone[i]);
        if (kg_svc_sql_done(s, st, NULL, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}
