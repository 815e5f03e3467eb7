/* Drops what ended long ago from a SQLite store. */
#include "svc/store_trim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/term.h"
#include "svc/segment.h"
#include "svc/store_sqlite.h"

/* Parameters of all statements: ?1 a time, ?2 and ?3 texts. `kept`: jobs that stay whatever their
 * age; `staying`: batches with a job that did not end by then. Triggers of this connection take
 * along what belongs to a row. */
#define ENDED "state>1 AND finished<=?1"

static const char make_temporary[] =
    "PRAGMA cache_size=-262144;" /* KiB: each job has a place in ten indexes */
    "CREATE TEMP TABLE kept(id TEXT PRIMARY KEY) WITHOUT ROWID;"
    "CREATE TEMP TABLE staying(batch TEXT PRIMARY KEY) WITHOUT ROWID;"
    "CREATE TEMP TABLE named(segment TEXT PRIMARY KEY) WITHOUT ROWID;"
    "CREATE TEMP TRIGGER job_gone AFTER DELETE ON jobs BEGIN"
    " UPDATE states SET n=n-1 WHERE state=old.state;"
    " DELETE FROM tasks WHERE id=old.id;"
    " DELETE FROM events WHERE id=old.id; END;"
    "CREATE TEMP TRIGGER trajectory_gone AFTER DELETE ON trajectories BEGIN"
    " DELETE FROM turns WHERE trajectory=old.id; END;";

static const char drop_trajectories[] =
    "DELETE FROM trajectories WHERE id IN (SELECT id FROM trajectories t WHERE seq>0 AND ended<=?1"
    " AND seq<(SELECT max(seq) FROM trajectories) AND NOT EXISTS("
    "SELECT 1 FROM turns JOIN jobs j ON j.id=turns.job WHERE turns.trajectory=t.id"
    " AND (j.state<2 OR j.finished>?1)) LIMIT 1000)";

static const char keep_jobs[] = "INSERT OR IGNORE INTO kept SELECT job FROM turns"
                                " UNION SELECT id FROM bests WHERE id<>''";

static const char find_staying[] = "INSERT INTO staying SELECT DISTINCT batch FROM jobs"
                                   " WHERE batch<>'' AND NOT (" ENDED ")";

static const char count_jobs[] = "SELECT count(*) FROM jobs WHERE " ENDED;

/* Some thousand jobs, which are whole batches. One that stays is a job of its own from now on. */
#define BATCHES                                                                                    \
    " WHERE batch<>'' AND batch>?2 AND batch<=?3 AND batch NOT IN (SELECT batch FROM staying)"
static const char next_batches[] = "SELECT max(batch) FROM (SELECT batch FROM jobs"
                                   " WHERE batch<>'' AND batch>?2 ORDER BY batch LIMIT 5000)";
static const char leave_batches[] =
    "UPDATE jobs SET batch='',batch_at=0,key=''" BATCHES " AND +id IN (SELECT id FROM kept)";
static const char drop_batches[] = "DELETE FROM jobs" BATCHES;

static const char next_jobs[] =
    "SELECT max(id) FROM (SELECT id FROM jobs WHERE id>?2 ORDER BY id LIMIT 5000)";
static const char drop_jobs[] = "DELETE FROM jobs WHERE id>?2 AND id<=?3 AND batch='' AND " ENDED
                                " AND id NOT IN (SELECT id FROM kept)";

enum { TEXT_MAX = 256 }; /* of an id or a batch, NUL included */

struct trim {
    struct kg_svc_sqlite *s;
    int64_t before_ms;
    struct kg_svc_trimmed *out;
    struct kg_progress bar; /* of jobs that are gone */
    struct kg_err err;
};

/* --- statements --- */

/* One step of a statement. text [TEXT_MAX]: its first column, "" where there is no row or it is
 * NULL. Returns how many rows it changed, or read; -1 and the error. */
static int64_t ask(struct trim *t, const char *sql, const char *a, const char *b, char *text)
{
    sqlite3_stmt *st = NULL;
    sqlite3 *db = t->s->write;
    int step = SQLITE_ERROR;
    int64_t n = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(st, 1, t->before_ms); /* what a statement lacks is not bound */
        sqlite3_bind_text(st, 2, a, -1, SQLITE_STATIC);
        sqlite3_bind_text(st, 3, b, -1, SQLITE_STATIC);
        step = sqlite3_step(st);
        n = step == SQLITE_ROW ? 1 : sqlite3_stmt_readonly(st) ? 0 : sqlite3_changes(db);
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE) {
        kg_svc_sql_fail(db, t->s->path, &t->err);
        n = -1;
    }
    if (text != NULL) {
        const unsigned char *first = step == SQLITE_ROW ? sqlite3_column_text(st, 0) : NULL;
        if (snprintf(text, TEXT_MAX, "%s", first != NULL ? (const char *)first : "") >= TEXT_MAX) {
            kg_fail(&t->err, KG_E_IO, "%.400s: `%.100s...` is too long", t->s->path, text);
            n = -1;
        }
    }
    sqlite3_finalize(st);
    return n;
}

/* Two statements in one group; *gone: rows that the second one changed are added. first NULL:
 * none. Returns these; -1: an error, and the group did nothing. */
static int64_t change(struct trim *t, const char *first, const char *sql, const char *a,
                      const char *b, int64_t *gone)
{
    const struct kg_svc_store_kind *kind = t->s->base.kind;
    if (kind->begin(&t->s->base, &t->err) != KG_OK) {
        return -1;
    }
    int64_t n = first != NULL ? ask(t, first, a, b, NULL) : 0;
    n = n >= 0 ? ask(t, sql, a, b, NULL) : n;
    if (n < 0) {
        kind->rollback(&t->s->base);
        return n;
    }
    if (kind->commit(&t->s->base, &t->err) != KG_OK) {
        return -1;
    }
    *gone += n;
    kg_progress_step(&t->bar, t->out->jobs, NULL);
    return n;
}

/* --- the database --- */

/* Part by part: next names its last row, first (or NULL) and drop change it in one group. */
static enum kg_code trim_rows(struct trim *t, const char *next, const char *first, const char *drop)
{
    char at[TEXT_MAX] = "", end[TEXT_MAX];
    while (ask(t, next, at, NULL, end) >= 0 && end[0] != '\0') {
        if (change(t, first, drop, at, end, &t->out->jobs) < 0) {
            break;
        }
        memcpy(at, end, sizeof at);
    }
    return t->err.code;
}

static enum kg_code trim_database(struct trim *t)
{
    int64_t ignored = 0;
    char most[TEXT_MAX];
    if (kg_svc_sql_text(t->s, make_temporary, &t->err) != KG_OK ||
        ask(t, count_jobs, NULL, NULL, most) < 0) {
        return t->err.code;
    }
    t->bar.total = strtoll(most, NULL, 10);
    while (change(t, NULL, drop_trajectories, NULL, NULL, &t->out->trajectories) > 0) {
    }
    if (t->err.code == KG_OK && change(t, keep_jobs, find_staying, NULL, NULL, &ignored) >= 0 &&
        trim_rows(t, next_batches, leave_batches, drop_batches) == KG_OK) {
        (void)!trim_rows(t, next_jobs, NULL, drop_jobs);
    }
    return t->err.code;
}

/* --- segments --- */

static enum kg_code drop_segment(struct trim *t, int folder, const char *name)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || unlinkat(folder, name, 0) != 0) {
        return kg_fail(&t->err, KG_E_IO, "%s: cannot remove: %s", name, strerror(errno));
    }
    t->out->segments++;
    t->out->bytes += st.st_size;
    return KG_OK;
}

/* Is it a segment's file whose name nothing in the store has? -1: an error. */
static int is_nameless(struct trim *t, const char *file)
{
    char name[KG_ULID_LEN], found[TEXT_MAX];
    if (strlen(file) != KG_ULID_LEN - 1 + 4 || strcmp(file + KG_ULID_LEN - 1, ".zst") != 0) {
        return 0;
    }
    snprintf(name, sizeof name, "%s", file);
    return ask(t, "SELECT segment FROM named WHERE segment=?2", name, NULL, found) < 0
               ? -1
               : found[0] == '\0';
}

static enum kg_code trim_segments(struct trim *t, const char *store)
{
    char path[4200], sql[1024];
    snprintf(path, sizeof path, "%.4000s/segments", store);
    snprintf(sql, sizeof sql, "INSERT INTO named SELECT DISTINCT segment FROM (%s)",
             kg_svc_sql_places(KG_SVC_SCHEMA));
    if (kg_svc_sql_text(t->s, sql, &t->err) != KG_OK) {
        return t->err.code;
    }
    DIR *d = opendir(path);
    if (d == NULL) {
        return errno == ENOENT
                   ? KG_OK
                   : kg_fail(&t->err, KG_E_IO, "%s: cannot read: %s", path, strerror(errno));
    }
    for (struct dirent *e; t->err.code == KG_OK && (e = readdir(d)) != NULL;) {
        if (is_nameless(t, e->d_name) > 0) {
            (void)!drop_segment(t, dirfd(d), e->d_name);
        }
    }
    closedir(d);
    return t->err.code;
}

enum kg_code kg_svc_store_trim(const char *folder, int64_t before_ms, FILE *progress,
                               struct kg_svc_trimmed *out, struct kg_err *err)
{
    char path[4096];
    struct kg_svc_store *s;
    struct kg_svc_stats stats;
    *out = (struct kg_svc_trimmed){0};
    snprintf(path, sizeof path, "%.4000s/store.db", folder);
    if (!kg_file_exists(path)) {
        return kg_fail(err, KG_E_USAGE,
                       "%.400s: has no store.db: a store in Redis can't be trimmed", folder);
    }
    snprintf(path, sizeof path, "%.4000s/segments/" KG_SVC_SHARED_BY, folder);
    if (kg_file_exists(path)) { /* its processes hold no lock of the folder */
        return kg_fail(err, KG_E_USAGE,
                       "%.400s: a store in Redis has records here, and it can't be trimmed",
                       folder);
    }
    if (kg_svc_store_sqlite.open(folder, &s, err) != KG_OK) {
        return err->code;
    }
    struct trim t = {
        .s = (struct kg_svc_sqlite *)s, .before_ms = before_ms, .out = out, .err = KG_ERR_INIT};
    kg_progress_init(&t.bar, progress, "trimming", 0);
    if (trim_database(&t) == KG_OK && trim_segments(&t, folder) == KG_OK &&
        s->kind->stats(s, &stats, &t.err) == KG_OK) {
        for (int i = 0; i < KG_SVC_STATES; i++) {
            out->left += stats.jobs[i];
        }
    }
    kg_progress_end(&t.bar);
    s->kind->close(s);
    if (t.err.code != KG_OK) {
        *err = t.err;
    }
    return t.err.code;
}
