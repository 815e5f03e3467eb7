/* Copies and checks of a SQLite store. */
#include "svc/store_backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "svc/store_sqlite.h"

enum { PIECE = 1 << 20, BUSY_MS = 10000 };

static enum kg_code io(struct kg_err *err, const char *path, const char *what)
{
    return kg_fail(err, KG_E_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* The database of a folder, to be read. */
static enum kg_code open_store(const char *folder, sqlite3 **db, int *schema, struct kg_err *err)
{
    char path[4096];
    *db = NULL;
    snprintf(path, sizeof path, "%.4000s/store.db", folder);
    if (!kg_file_exists(path)) {
        return kg_fail(err, KG_E_USAGE,
                       "%.400s: has no store.db: a store in Redis is saved by Redis itself",
                       folder);
    }
    if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        return kg_svc_sql_fail(*db, path, err);
    }
    sqlite3_busy_timeout(*db, BUSY_MS);
    if (kg_svc_sql_version(*db, path, schema, err) != KG_OK) {
        return err->code;
    }
    return *schema <= KG_SVC_SCHEMA
               ? KG_OK
               : kg_fail(err, KG_E_USAGE,
                         "%s: the store has schema %d, and this kgym knows %d: use a newer kgym",
                         path, *schema, KG_SVC_SCHEMA);
}

/* --- check --- */

static bool is_intact(const char *path, int64_t offset, int64_t len, const char *sum)
{
    char have[KG_SHA256_HEX],
        *bytes = len > 0 && len < (int64_t)1 << 31 ? malloc((size_t)len) : NULL;
    int fd = bytes != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    int64_t got = 0;
    for (ssize_t n = 1; fd >= 0 && got < len && n > 0;) {
        n = pread(fd, bytes + got, (size_t)(len - got), offset + got);
        got += n > 0 ? n : 0;
    }
    bool intact = fd >= 0 && got == len;
    if (intact) {
        kg_sha256_hex(bytes, (size_t)len, have);
        intact = strcmp(have, sum) == 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    free(bytes);
    return intact;
}

static const char *text_of(sqlite3_stmt *st, int column)
{
    const unsigned char *t = sqlite3_column_text(st, column);
    return t != NULL ? (const char *)t : "";
}

static void check_record(sqlite3_stmt *st, const char *folder, struct kg_svc_inventory *out)
{
    char path[4200];
    int64_t len = sqlite3_column_int64(st, 3);
    out->jobs += sqlite3_column_int(st, 5);
    if (text_of(st, 1)[0] == '\0') {
        return;
    }
    snprintf(path, sizeof path, "%.4000s/segments/%.40s.zst", folder, text_of(st, 1));
    out->records++;
    out->bytes += len;
    if (!is_intact(path, sqlite3_column_int64(st, 2), len, text_of(st, 4))) {
        out->damaged++;
        if (out->first_damaged[0] == '\0') {
            snprintf(out->first_damaged, sizeof out->first_damaged, "%s", text_of(st, 0));
        }
    }
}

/* Calls each for the rows of a statement; false: an error of the database. */
static bool rows(sqlite3 *db, const char *sql, sqlite3_stmt **st)
{
    return *st != NULL || sqlite3_prepare_v2(db, sql, -1, st, NULL) == SQLITE_OK;
}

static bool is_sound(sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    bool sound = rows(db, "PRAGMA quick_check(1)", &st) && sqlite3_step(st) == SQLITE_ROW &&
                 strcmp(text_of(st, 0), "ok") == 0;
    sqlite3_finalize(st);
    return sound;
}

enum kg_code kg_svc_store_check(const char *folder, struct kg_svc_inventory *out,
                                struct kg_err *err)
{
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    memset(out, 0, sizeof *out);
    enum kg_code code = open_store(folder, &db, &out->schema, err);
    if (code == KG_OK && !is_sound(db)) {
        code = kg_fail(err, KG_E_IO, "%.400s: the database is damaged", folder);
    }
    char query[512];
    snprintf(query, sizeof query, "SELECT id,segment,offset,len,sum,job FROM (%s) ORDER BY 2,3",
             kg_svc_sql_places(out->schema));
    if (code == KG_OK && !rows(db, query, &st)) {
        code = kg_svc_sql_fail(db, folder, err);
    }
    int step = SQLITE_DONE;
    while (code == KG_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
        check_record(st, folder, out);
    }
    if (code == KG_OK && step != SQLITE_DONE) {
        code = kg_svc_sql_fail(db, folder, err);
    }
    sqlite3_finalize(st);
    sqlite3_close(db);
    return code;
}

/* --- copy --- */

/* A snapshot: SQLite's own backup, in one step. */
static enum kg_code copy_database(const char *from, const char *path, struct kg_err *err)
{
    sqlite3 *source, *db = NULL;
    int schema, step = SQLITE_ERROR;
    if (open_store(from, &source, &schema, err) != KG_OK) {
        sqlite3_close(source);
        return err->code;
    }
    if (sqlite3_open(path, &db) == SQLITE_OK) {
        sqlite3_backup *b = sqlite3_backup_init(db, "main", source, "main");
        step = b != NULL ? sqlite3_backup_step(b, -1) : SQLITE_ERROR;
        sqlite3_backup_finish(b);
    }
    enum kg_code code = step == SQLITE_DONE ? KG_OK : kg_svc_sql_fail(db, path, err);
    sqlite3_close(db);
    sqlite3_close(source);
    return code;
}

static enum kg_code copy_bytes(int in, int out, int64_t n, const char *path, struct kg_err *err)
{
    char *piece = malloc(PIECE);
    enum kg_code code = piece != NULL ? KG_OK : kg_fail_memory(err, KG_E_HOST, "no memory to copy");
    while (n > 0 && code == KG_OK) {
        ssize_t got = read(in, piece, (size_t)(n < PIECE ? n : PIECE));
        if (got <= 0) {
            code = got < 0 ? io(err, path, "read")
                           : kg_fail(err, KG_E_IO, "%s: it is shorter than it was", path);
        } else {
            code = kg_file_write_all(out, piece, (size_t)got, err);
            n -= got;
        }
    }
    free(piece);
    if (code == KG_OK && fsync(out) != 0) {
        code = io(err, path, "sync a copy");
    }
    return code;
}

/* The first n bytes of a file that is open; closes it. */
static enum kg_code copy_file(int in, const char *source, const char *target, int64_t n,
                              mode_t mode, struct kg_err *err)
{
    int out = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum kg_code code = out >= 0 && fchmod(out, mode) == 0 ? copy_bytes(in, out, n, source, err)
                                                           : io(err, target, "make");
    close(in);
    if (out >= 0) {
        close(out);
    }
    return code;
}

static enum kg_code copy_segment(const char *from, const char *to, const char *name, int64_t n,
                                 struct kg_err *err)
{
    char source[4200], target[4200];
    snprintf(source, sizeof source, "%.4000s/segments/%.40s.zst", from, name);
    snprintf(target, sizeof target, "%.4000s/segments/%.40s.zst", to, name);
    int in = open(source, O_RDONLY | O_CLOEXEC);
    return in >= 0 ? copy_file(in, source, target, n, 0600, err) : io(err, source, "open");
}

/* Without it whoever reaches the copy's service could use it. Its mode is kept: a file that others
 * may write lets nobody in. */
static enum kg_code copy_tokens(const char *from, const char *to, struct kg_err *err)
{
    char source[4200], target[4200];
    struct stat st;
    snprintf(source, sizeof source, "%.4000s/tokens", from);
    snprintf(target, sizeof target, "%.4000s/tokens", to);
    int in = open(source, O_RDONLY | O_CLOEXEC);
    if (in < 0) {
        return errno == ENOENT ? KG_OK : io(err, source, "open");
    }
    if (fstat(in, &st) != 0) {
        close(in);
        return io(err, source, "read");
    }
    return copy_file(in, source, target, st.st_size, st.st_mode & 0777, err);
}

static enum kg_code copy_segments(const char *from, const char *to, const char *database,
                                  struct kg_err *err)
{
    char query[512];
    int schema = 0;
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int step = SQLITE_DONE;
    enum kg_code code = sqlite3_open_v2(database, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK
                            ? kg_svc_sql_version(db, database, &schema, err)
                            : kg_svc_sql_fail(db, database, err);
    snprintf(query, sizeof query,
             "SELECT segment,max(offset+len) FROM (%s) WHERE segment<>'' GROUP BY segment",
             kg_svc_sql_places(schema));
    if (code == KG_OK && !rows(db, query, &st)) {
        code = kg_svc_sql_fail(db, database, err);
    }
    while (code == KG_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
        code = copy_segment(from, to, text_of(st, 0), sqlite3_column_int64(st, 1), err);
    }
    if (code == KG_OK && step != SQLITE_DONE) {
        code = kg_svc_sql_fail(db, database, err);
    }
    sqlite3_finalize(st);
    sqlite3_close(db);
    return code;
}

static enum kg_code fill(const char *from, const char *to, struct kg_svc_inventory *out,
                         struct kg_err *err)
{
    char database[4200], segments[4200];
    snprintf(database, sizeof database, "%.4000s/store.db", to);
    snprintf(segments, sizeof segments, "%.4000s/segments", to);
    if (kg_file_mkdirs(segments, 0700, err) != KG_OK ||
        copy_database(from, database, err) != KG_OK ||
        copy_segments(from, to, database, err) != KG_OK || copy_tokens(from, to, err) != KG_OK ||
        kg_svc_store_check(to, out, err) != KG_OK) {
        return err->code;
    }
    return out->damaged == 0
               ? KG_OK
               : kg_fail(err, KG_E_IO, "%.400s: %lld records are damaged, that of %s first", from,
                         (long long)out->damaged, out->first_damaged);
}

enum kg_code kg_svc_store_copy(const char *from, const char *to, struct kg_svc_inventory *out,
                               struct kg_err *err)
{
    char half[4096];
    struct kg_err ignored = KG_ERR_INIT;
    size_t n = strlen(to);
    while (n > 1 && to[n - 1] == '/') {
        n--;
    }
    snprintf(half, sizeof half, "%.*s.tmp.%d", (int)(n < 4000 ? n : 4000), to, (int)getpid());
    if (rmdir(to) != 0 && errno != ENOENT) {
        return kg_fail(err, KG_E_USAGE, "%.400s: must be a new folder, or an empty one", to);
    }
    enum kg_code code = fill(from, half, out, err);
    if (code == KG_OK && rename(half, to) != 0) {
        code = io(err, to, "make");
    }
    if (code != KG_OK) {
        (void)!kg_file_remove_tree(half, &ignored);
    }
    return code;
}
