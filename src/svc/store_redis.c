/* The Redis store: opening it, and its rows of functions. */
#include "svc/store_redis.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "svc/confine.h"
#include "svc/segment.h"

enum { SCHEMA = 2, GROUP_BYTES = 512 << 20 };

static void close_store(struct kg_svc_store *store)
{
    struct kg_svc_redis *s = (struct kg_svc_redis *)store;
    if (s == NULL) {
        return;
    }
    kg_svc_link_down(&s->write);
    kg_svc_link_down(&s->read);
    kg_buf_deinit(&s->args);
    free(s->op);
    free(s);
}

/* The value that a key has for good: mine, if nobody has set it before. The caller frees it. NULL:
 * *err. */
static redisReply *settle(struct kg_svc_redis *s, const char *key, const char *mine,
                          struct kg_err *err)
{
    const char *const set[] = {"SET", key, mine, "NX"};
    const char *const get[] = {"GET", key};
    redisReply *r = kg_svc_link_ask(s, &s->write, err, 4, set);
    if (r == NULL) {
        return NULL;
    }
    freeReplyObject(r);
    return kg_svc_link_ask(s, &s->write, err, 2, get);
}

/* Marks an empty server with the schema, and refuses a newer one. *older: it has an older one. */
static enum kg_code check_schema(struct kg_svc_redis *s, bool *older, struct kg_err *err)
{
    char mine[16];
    snprintf(mine, sizeof mine, "%d", SCHEMA);
    redisReply *r = settle(s, "kgym:schema", mine, err);
    if (r == NULL) {
        return err->code;
    }
    long schema = r->str != NULL ? strtol(r->str, NULL, 10) : 0;
    freeReplyObject(r);
    *older = schema < SCHEMA;
    return schema <= SCHEMA
               ? KG_OK
               : kg_fail(err, KG_E_USAGE,
                         "%s: the store has schema %ld, and this kgym knows %d: use a newer kgym",
                         s->place.shown, schema, SCHEMA);
}

/* Schema 1 had lanes by when they were served alone. A process that dies in here leaves an older
 * store, which the next one brings up to date. */
static enum kg_code migrate(struct kg_svc_redis *s, struct kg_err *err)
{
    char mine[16];
    snprintf(mine, sizeof mine, "%d", SCHEMA);
    const char *const set[] = {"SET", "kgym:schema", mine};
    if (kg_svc_redis_begin(&s->base, err) != KG_OK) {
        return err->code;
    }
    if (kg_svc_redis_op(s, "index", OP_CHANGE, "", err) == NULL) {
        kg_svc_redis_rollback(&s->base);
        return err->code;
    }
    if (kg_svc_redis_commit(&s->base, err) != KG_OK) {
        return err->code;
    }
    redisReply *r = kg_svc_link_ask(s, &s->write, err, 3, set);
    if (r == NULL) {
        return err->code;
    }
    freeReplyObject(r);
    return KG_OK;
}

static enum kg_code open_as(const char *place, const struct kg_svc_store_kind *kind, bool relaxed,
                            struct kg_svc_store **out, struct kg_err *err)
{
    bool older = false;
    *out = NULL;
    struct kg_svc_redis *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a store");
    }
    s->base.kind = kind;
    kg_buf_init(&s->args, GROUP_BYTES);
    if (kg_svc_redis_parse(place, &s->place, err) != KG_OK ||
        kg_ulid_new(s->handle, err) != KG_OK || kg_svc_redis_check(s, relaxed, err) != KG_OK ||
        check_schema(s, &older, err) != KG_OK || kg_svc_redis_load(s, err) != KG_OK ||
        (older && migrate(s, err) != KG_OK) || kg_svc_link_up(s, &s->read, err) != KG_OK) {
        close_store(&s->base);
        return err->code;
    }
    *out = &s->base;
    return KG_OK;
}

static enum kg_code open_store(const char *place, struct kg_svc_store **out, struct kg_err *err)
{
    return open_as(place, &kg_svc_store_redis, false, out, err);
}

static enum kg_code open_relaxed(const char *place, struct kg_svc_store **out, struct kg_err *err)
{
    return open_as(place, &kg_svc_store_redis_relaxed, true, out, err);
}

/* --- the folder of records, which all who share the store must share --- */

/* A file with a fresh mark, whole on disk. */
static enum kg_code write_mark(const char *path, struct kg_err *err)
{
    char fresh[KG_ULID_LEN];
    if (kg_ulid_new(fresh, err) != KG_OK) {
        return err->code;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot create", path);
    }
    if (kg_file_write_all(fd, fresh, KG_ULID_LEN - 1, err) == KG_OK && fsync(fd) != 0) {
        kg_fail(err, KG_E_IO, "%s: cannot write", path);
    }
    close(fd);
    return err->code;
}

/* Where folder has no mark yet, it gets one under its name at once, whole: a process that is killed
 * leaves none, or one that the next process can read. Of several processes the first one wins. An
 * empty file is what an older kgym left when it was killed: it is no mark. */
static enum kg_code mark(const char *folder, const char *path, struct kg_err *err)
{
    char own[4200], fresh[KG_ULID_LEN];
    struct stat st;
    if (kg_ulid_new(fresh, err) != KG_OK) {
        return err->code;
    }
    snprintf(own, sizeof own, "%s.%s", path, fresh);
    bool good = write_mark(own, err) == KG_OK;
    if (good && link(own, path) != 0) {
        bool empty = errno == EEXIST && stat(path, &st) == 0 && st.st_size == 0;
        good = empty ? rename(own, path) == 0 : errno == EEXIST;
    }
    unlink(own);
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    good = good && dir >= 0 && fsync(dir) == 0;
    if (dir >= 0) {
        close(dir);
    }
    return good || err->code != KG_OK ? err->code : kg_fail(err, KG_E_IO, "%s: cannot write", path);
}

/* The mark of a folder: a text that its first process wrote there. */
static enum kg_code read_mark(const char *folder, char out[KG_ULID_LEN], struct kg_err *err)
{
    char path[4096];
    struct stat st;
    struct kg_buf text;
    snprintf(path, sizeof path, "%.4000s/" KG_SVC_SHARED_BY, folder);
    bool there = stat(path, &st) == 0 && st.st_size > 0;
    if (!there && mark(folder, path, err) != KG_OK) {
        return err->code;
    }
    kg_buf_init(&text, KG_ULID_LEN);
    if (kg_file_read(path, &text, err) == KG_OK && text.len != KG_ULID_LEN - 1) {
        kg_fail(err, KG_E_IO, "%s: is not the mark of a folder of records", path);
    }
    snprintf(out, KG_ULID_LEN, "%s", text.data);
    kg_buf_deinit(&text);
    return err->code;
}

/* The folder is looked at first: another process marks the store before it writes there. */
static enum kg_code begins_well(struct kg_svc_redis *s, const char *folder, struct kg_err *err)
{
    static const char *const get[] = {"GET", "kgym:folder"};
    struct kg_err some = KG_ERR_INIT;
    if (kg_svc_segments_need_none(folder, &some) == KG_OK) {
        return KG_OK;
    }
    redisReply *r = kg_svc_link_ask(s, &s->write, err, 2, get);
    if (r == NULL) {
        return err->code;
    }
    bool marked = r->str != NULL;
    freeReplyObject(r);
    if (!marked) {
        *err = some;
        return some.code;
    }
    return KG_OK;
}

static enum kg_code share(struct kg_svc_store *store, const char *folder, struct kg_err *err)
{
    struct kg_svc_redis *s = (struct kg_svc_redis *)store;
    char mark[KG_ULID_LEN];
    if (begins_well(s, folder, err) != KG_OK || read_mark(folder, mark, err) != KG_OK) {
        return err->code;
    }
    redisReply *r = settle(s, "kgym:folder", mark, err);
    if (r == NULL) {
        return err->code;
    }
    bool same = r->str != NULL && strcmp(r->str, mark) == 0;
    freeReplyObject(r);
    return same ? KG_OK
                : kg_fail(err, KG_E_USAGE,
                          "%s: is not the folder of records that the others who serve %s have: "
                          "share one between all of them",
                          folder, s->place.shown);
}

static int connects(const char *place)
{
    struct kg_svc_redis_place p;
    struct kg_err ignored = KG_ERR_INIT;
    if (kg_svc_redis_parse(place, &p, &ignored) != KG_OK) {
        return KG_SVC_NO_CONNECTION;
    }
    return p.socket[0] != '\0' ? KG_SVC_LOCAL_SOCKET : p.port;
}

/* clang-format off */
#define FUNCTIONS                                                                                  \
    .close = close_store,                                                                          \
    .share = share,                                                                                \
    .connects = connects,                                                                          \
    .begin = kg_svc_redis_begin,                                                                   \
    .commit = kg_svc_redis_commit,                                                                 \
    .rollback = kg_svc_redis_rollback,                                                             \
    .submit = kg_svc_redis_submit,                                                                 \
    .has_room = kg_svc_redis_has_room,                                                             \
    .claim = kg_svc_redis_claim,                                                                   \
    .renew = kg_svc_redis_renew,                                                                   \
    .holds = kg_svc_redis_holds,                                                                   \
    .finish = kg_svc_redis_finish,                                                                 \
    .fail = kg_svc_redis_failed,                                                                   \
    .give_back = kg_svc_redis_give_back,                                                           \
    .cancel = kg_svc_redis_cancel,                                                                 \
    .requeue = kg_svc_redis_requeue,                                                               \
    .expire = kg_svc_redis_expire,                                                                 \
    .extend = kg_svc_redis_extend,                                                                 \
    .notice = kg_svc_redis_notice,                                                                     \
    .notices = kg_svc_redis_notices,                                                                   \
    .get = kg_svc_redis_get,                                                                       \
    .list = kg_svc_redis_list,                                                                     \
    .events = kg_svc_redis_events,                                                                 \
    .stats = kg_svc_redis_stats,                                                                   \
    .trajectories = &kg_svc_redis_traj,                                                             \
    .tallies = kg_svc_redis_tallies,                                                               \
    .bests = kg_svc_redis_bests,                                                                   \
    .minutes = kg_svc_redis_minutes,                                                               \
    .add_counts = kg_svc_redis_add_counts,                                                         \
    .counts = kg_svc_redis_counts
/* clang-format on */

const struct kg_svc_store_kind kg_svc_store_redis = {
    .name = "redis", .open = open_store, FUNCTIONS};
const struct kg_svc_store_kind kg_svc_store_redis_relaxed = {
    .name = "redis, relaxed", .open = open_relaxed, FUNCTIONS};
