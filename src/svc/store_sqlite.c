/* The SQLite store: opening it, its schema, its groups, and the helpers that run a statement. */
#include "svc/store_sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "svc/segment.h"

enum { LOCK_TRIES = 250, LOCK_WAIT_US = 20000 };

enum kg_code kg_svc_sql_fail(sqlite3 *db, const char *path, struct kg_err *err)
{
    int code = sqlite3_errcode(db) & 0xff;
    return kg_fail(err, code == SQLITE_NOMEM ? KG_E_HOST : KG_E_IO, "%s: %s", path,
                   sqlite3_errmsg(db));
}

static sqlite3 *connection(const struct kg_svc_sqlite *s, enum sql which)
{
    return which < SQL_WRITES ? s->write : s->read;
}

sqlite3_stmt *kg_svc_sql_bind(struct kg_svc_sqlite *s, enum sql which, struct kg_err *err,
                              const char *types, ...)
{
    sqlite3 *db = connection(s, which);
    if (s->stmt[which] == NULL &&
        sqlite3_prepare_v3(db, kg_svc_sql[which], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[which],
                           NULL) != SQLITE_OK) {
        kg_svc_sql_fail(db, s->path, err);
        return NULL;
    }
    sqlite3_stmt *st = s->stmt[which];
    sqlite3_reset(st);
    va_list ap;
    va_start(ap, types);
    int code = SQLITE_OK;
    for (int i = 0; types[i] != '\0' && code == SQLITE_OK; i++) {
        code = types[i] == 't'
                   ? sqlite3_bind_text(st, i + 1, va_arg(ap, const char *), -1, SQLITE_STATIC)
                   : sqlite3_bind_int64(st, i + 1, va_arg(ap, int64_t));
    }
    va_end(ap);
    if (code != SQLITE_OK) {
        kg_svc_sql_fail(db, s->path, err);
        return NULL;
    }
    return st;
}

bool kg_svc_sql_row(struct kg_svc_sqlite *s, sqlite3_stmt *st, struct kg_err *err)
{
    int code = sqlite3_step(st);
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code != SQLITE_DONE) {
        kg_svc_sql_fail(sqlite3_db_handle(st), s->path, err);
    }
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return false;
}

enum kg_code kg_svc_sql_done(struct kg_svc_sqlite *s, sqlite3_stmt *st, int64_t *changed,
                             struct kg_err *err)
{
    if (st == NULL) {
        return err->code;
    }
    struct kg_err e = KG_ERR_INIT;
    while (kg_svc_sql_row(s, st, &e)) {
    }
    if (e.code != KG_OK) {
        *err = e;
        return e.code;
    }
    if (changed != NULL) {
        *changed = sqlite3_changes64(sqlite3_db_handle(st));
    }
    return KG_OK;
}

enum kg_code kg_svc_sql_event(struct kg_svc_sqlite *s, int64_t ms, const char *id, const char *type,
                              const char *detail, struct kg_err *err)
{
    return kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_EVENT, err, "ittt", ms, id, type, detail),
                           NULL, err);
}

/* --- groups --- */

static struct kg_svc_sqlite *own(struct kg_svc_store *s)
{
    return (struct kg_svc_sqlite *)s;
}

static enum kg_code begin(struct kg_svc_store *store, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    return kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_BEGIN, err, ""), NULL, err);
}

static void rollback(struct kg_svc_store *store)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_err ignored = KG_ERR_INIT;
    if (!sqlite3_get_autocommit(s->write)) {
        (void)!kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_ROLLBACK, &ignored, ""), NULL, &ignored);
    }
}

static enum kg_code commit(struct kg_svc_store *store, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    enum kg_code code = kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_COMMIT, err, ""), NULL, err);
    if (code != KG_OK) {
        rollback(store);
    }
    return code;
}

/* --- opening --- */

static void close_store(struct kg_svc_store *store)
{
    struct kg_svc_sqlite *s = own(store);
    if (s == NULL) {
        return;
    }
    for (int i = 0; i < SQL_N; i++) {
        sqlite3_finalize(s->stmt[i]);
    }
    sqlite3_close(s->read);
    sqlite3_close(s->write);
    if (s->lock >= 0) {
        close(s->lock);
    }
    free(s);
}

static enum kg_code take_lock(struct kg_svc_sqlite *s, const char *folder, struct kg_err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%.4000s/lock", folder);
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot make: %s", path, strerror(errno));
    }
    /* A process that was killed with its parent may take a moment to go. */
    for (int tries = 0; flock(s->lock, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (tries == LOCK_TRIES) {
            return kg_fail(err, KG_E_USAGE, "%s: another process serves this store", folder);
        }
        usleep(LOCK_WAIT_US);
    }
    return KG_OK;
}

enum kg_code kg_svc_sql_text(struct kg_svc_sqlite *s, const char *sql, struct kg_err *err)
{
    return sqlite3_exec(s->write, sql, NULL, NULL, NULL) == SQLITE_OK
               ? KG_OK
               : kg_svc_sql_fail(s->write, s->path, err);
}

/* A database without a schema is a new store. Its first step comes before its first segment. */
static enum kg_code begins_well(const struct kg_svc_sqlite *s, const char *folder,
                                struct kg_err *err)
{
    char segments[4200];
    int version = 0;
    snprintf(segments, sizeof segments, "%.4000s/segments", folder);
    enum kg_code code = kg_svc_sql_version(s->write, s->path, &version, err);
    return code != KG_OK || version > 0 ? code : kg_svc_segments_need_none(segments, err);
}

static enum kg_code open_files(struct kg_svc_sqlite *s, const char *folder, struct kg_err *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    if (sqlite3_open_v2(s->path, &s->write, flags | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK) {
        return kg_svc_sql_fail(s->write, s->path, err);
    }
    if (begins_well(s, folder, err) != KG_OK) {
        return err->code;
    }
    if (kg_svc_sql_text(s,
                        "PRAGMA journal_mode=WAL;PRAGMA synchronous=FULL;PRAGMA busy_timeout=10000;"
                        "PRAGMA temp_store=MEMORY",
                        err) != KG_OK) {
        return kg_svc_sql_fail(s->write, s->path, err);
    }
    if (kg_svc_sql_migrate(s->write, s->path, kg_svc_sql_steps, KG_SVC_SCHEMA, err) != KG_OK) {
        return err->code;
    }
    /* No temporary files: the api process may not write where they would be. */
    if (sqlite3_open_v2(s->path, &s->read, flags, NULL) != SQLITE_OK ||
        sqlite3_exec(s->read, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL) != SQLITE_OK) {
        return kg_svc_sql_fail(s->read, s->path, err);
    }
    sqlite3_busy_timeout(s->read, 10000);
    return KG_OK;
}

static enum kg_code open_store(const char *folder, struct kg_svc_store **out, struct kg_err *err)
{
    *out = NULL;
    if (kg_file_mkdirs(folder, 0700, err) != KG_OK) {
        return err->code;
    }
    struct kg_svc_sqlite *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a store");
    }
    s->base.kind = &kg_svc_store_sqlite;
    s->lock = -1;
    snprintf(s->path, sizeof s->path, "%.4000s/store.db", folder);
    if (take_lock(s, folder, err) != KG_OK || open_files(s, folder, err) != KG_OK) {
        close_store(&s->base);
        return err->code;
    }
    *out = &s->base;
    return KG_OK;
}

const struct kg_svc_store_kind kg_svc_store_sqlite = {
    .name = "sqlite",
    .open = open_store,
    .close = close_store,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .submit = kg_svc_sqlite_submit,
    .has_room = kg_svc_sqlite_has_room,
    .claim = kg_svc_sqlite_claim,
    .renew = kg_svc_sqlite_renew,
    .holds = kg_svc_sqlite_holds,
    .finish = kg_svc_sqlite_finish,
    .fail = kg_svc_sqlite_failed,
    .give_back = kg_svc_sqlite_give_back,
    .cancel = kg_svc_sqlite_cancel,
    .requeue = kg_svc_sqlite_requeue,
    .expire = kg_svc_sqlite_expire,
    .extend = kg_svc_sqlite_extend,
    .notice = kg_svc_sqlite_notice,
    .notices = kg_svc_sqlite_notices,
    .get = kg_svc_sqlite_get,
    .list = kg_svc_sqlite_list,
    .events = kg_svc_sqlite_events,
    .stats = kg_svc_sqlite_stats,
    .trajectories = &kg_svc_sqlite_traj,
    .tallies = kg_svc_sqlite_tallies,
    .bests = kg_svc_sqlite_bests,
    .minutes = kg_svc_sqlite_minutes,
    .add_counts = kg_svc_sqlite_add_counts,
    .counts = kg_svc_sqlite_counts,
};
