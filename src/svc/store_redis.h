/* Private to store_redis*.c: the store in a Redis server, which any number of processes share.
 *
 * Keys begin with "kgym:". A hash per job (job:ID) and the list of its events (life:ID); sorted
 * sets of waiting jobs for each lane (lane:PRIORITY/NAME/DEVICE), of lanes by when they were served
 * (lanes), of claims by deadline (claims), of waiting jobs by age and by deadline (waiting, late),
 * and how many of each owner wait (owners); those that lists go by (all, state:N, problem:,
 * verdict:, batch:); a stream of events; counts, and those of the dashboard (tallies, bests,
 * minutes); notices, in a hash and a sorted set for each kind (notices:KIND, until:KIND).
 * store_redis_traj.lua names those of trajectories. store_redis.lua changes them, one call for each
 * group.
 *
 * A link is one connection, which comes back by itself: an operation that finds it broken tries
 * once, and then none does before the back-off is over (50 ms, doubled to 2 s). */
#ifndef KG_SVC_STORE_REDIS_H
#define KG_SVC_STORE_REDIS_H

#include <hiredis/hiredis.h>

#include "base/buf.h"
#include "svc/store.h"

struct kg_svc_link {
    redisContext *c; /* NULL: broken */
    int64_t next_try_ms, pause_ms;
    bool scripted;       /* the script is loaded, as far as is known */
    int64_t clock_at_ms; /* when its clock was looked at (monotonic); 0: not on this connection */
};

struct kg_svc_redis_place {
    char socket[512]; /* "": host and port */
    char host[256], user[128], password[256];
    int port, db;
    char shown[600]; /* for messages: without user and password */
};

/* An operation of a group, whose answer comes with commit(). */
struct kg_svc_redis_op {
    enum {
        OP_SUBMIT,
        OP_CLAIM,
        OP_CHANGE,
        OP_END, /* of an attempt */
        OP_CANCEL,
        OP_EXPIRE,
        OP_TRAJ_OPEN, /* this one and those after it: store_redis_traj.c */
        OP_TRAJ_TAKE,
        OP_TRAJ_PUT_OFF,
        OP_TRAJ_END
    } type;
    struct kg_err *err;
    char id[KG_ULID_LEN];
    union {
        struct {
            char *id; /* [KG_ULID_LEN] */
            bool *known;
        } submit;
        struct {
            struct kg_svc_job *out;
            size_t *of, *n, nslots;
        } claim;
        bool *changed;
        int64_t *count;
        int64_t fence; /* of an attempt that ends */
    } u;
};

struct kg_svc_redis {
    struct kg_svc_store base;
    struct kg_svc_redis_place place;
    struct kg_svc_link write, read;
    char handle[KG_ULID_LEN]; /* of this process, for KEYS[1] of the script */
    char sha[41];             /* of the script */
    int64_t group;            /* number of the last one that was sent */
    bool doubt;               /* whether it was done is unknown */
    struct kg_buf args;       /* of the group that is open, as the protocol wants them */
    size_t nargs;
    struct kg_svc_redis_op *op; /* [nops] */
    size_t nops, cap;
    int64_t chain;
};

/* "redis://[user:password@]host[:port][/db]" or "redis+unix://[user:password@]/path".
 * Errors: USAGE. */
enum kg_code kg_svc_redis_parse(const char *text, struct kg_svc_redis_place *out,
                                struct kg_err *err) KG_MUST_USE;

/* --- links (store_redis_link.c) --- */

/* Connected, and let in. Errors: IO (also: it is too early for another try). */
enum kg_code kg_svc_link_up(struct kg_svc_redis *s, struct kg_svc_link *l,
                            struct kg_err *err) KG_MUST_USE;
void kg_svc_link_down(struct kg_svc_link *l);
/* The next answer. NULL and *err (IO): the link is down then, or Redis answered an error. The
 * caller frees it (freeReplyObject). */
redisReply *kg_svc_link_answer(struct kg_svc_redis *s, struct kg_svc_link *l, struct kg_err *err);
/* One command and its answer; a link that broke before is tried anew once, so the command only
 * reads. */
redisReply *kg_svc_link_ask(struct kg_svc_redis *s, struct kg_svc_link *l, struct kg_err *err,
                            int argc, const char *const *argv);
/* As kg_svc_link_up(). Once a minute, and on each new connection, it also sets the service's clock
 * by Redis's. Services that share a store date claims by it: one whose host's clock was set right
 * after its start would end the others' claims. Less than a second is let be. */
enum kg_code kg_svc_link_clock(struct kg_svc_redis *s, struct kg_svc_link *l,
                               struct kg_err *err) KG_MUST_USE;
/* Is the server one that keeps what it has answered, and may this user do all that is needed?
 * Errors: USAGE (no: the message says which setting, or which command), IO. */
enum kg_code kg_svc_redis_check(struct kg_svc_redis *s, bool relaxed,
                                struct kg_err *err) KG_MUST_USE;
/* Loads the script. Errors: IO. */
enum kg_code kg_svc_redis_load(struct kg_svc_redis *s, struct kg_err *err) KG_MUST_USE;

/* --- groups (store_redis_group.c) --- */

/* Arguments of an operation, a letter each in types. t: const char *, NULL is ""; i: int64_t. */
void kg_svc_redis_add(struct kg_svc_redis *s, const char *types, ...);
/* A new operation of the group, its name and chain added. NULL: *err, HOST or LIMIT. */
struct kg_svc_redis_op *kg_svc_redis_op(struct kg_svc_redis *s, const char *name, int type,
                                        const char *id, struct kg_err *err);
enum kg_code kg_svc_redis_begin(struct kg_svc_store *store, struct kg_err *err);
enum kg_code kg_svc_redis_commit(struct kg_svc_store *store, struct kg_err *err);
void kg_svc_redis_rollback(struct kg_svc_store *store);
/* What the script answered op is given to who asked. Errors: HOST, IO (no answer of the script). */
enum kg_code kg_svc_redis_give(const struct kg_svc_redis_op *op, const redisReply *answer,
                               struct kg_err *err) KG_MUST_USE;

/* The same for an operation on a trajectory. */
enum kg_code kg_svc_redis_give_traj(const struct kg_svc_redis_op *op, const redisReply *answer,
                                    struct kg_err *err) KG_MUST_USE;
/* Fills *err with what the answer `full` says. */
void kg_svc_redis_full(const redisReply *answer, struct kg_err *err);
/* The arguments of a job that is submitted, in the script's order. */
void kg_svc_redis_add_job(struct kg_svc_redis *s, const struct kg_svc_job *job,
                          const struct kg_svc_room *room);

/* A member of a struct that is a field of a hash. */
struct kg_svc_redis_member {
    const char *name;
    enum {
        REDIS_CHARS, /* char [size] */
        REDIS_INT64,
        REDIS_INT,
        REDIS_KEPT /* a text that a job keeps; not of kg_svc_redis_set() */
    } type;
    size_t at, size;
};
#define KG_SVC_REDIS_MEMBER(of, name, type, member)                                                \
    {                                                                                              \
        name, type, offsetof(struct of, member), sizeof(((struct of *)0)->member)                  \
    }
/* A field's value into the struct; one that is absent changes nothing. */
void kg_svc_redis_set(const struct kg_svc_redis_member *m, void *of, const redisReply *value);
/* HMGET key, and the names of members [n]: argv [n + 2]. Returns argc. */
int kg_svc_redis_hmget(const struct kg_svc_redis_member *m, size_t n, const char *key,
                       const char **argv);
/* "": there is none. */
const char *kg_svc_redis_text(const redisReply *array, size_t i);

/* Name and value of a field of a job's hash into a job that is initialised. */
enum kg_code kg_svc_redis_field(struct kg_svc_job *job, const char *name, const redisReply *value,
                                struct kg_err *err) KG_MUST_USE;

extern const struct kg_svc_traj_rows kg_svc_redis_traj;

/* --- the functions of the row, by file --- */

enum kg_code kg_svc_redis_submit(struct kg_svc_store *s, const struct kg_svc_job *job,
                                 const struct kg_svc_room *room, char id[KG_ULID_LEN], bool *known,
                                 struct kg_err *err);
enum kg_code kg_svc_redis_has_room(struct kg_svc_store *s, const char *owner,
                                   const struct kg_svc_room *room, struct kg_err *err);
enum kg_code kg_svc_redis_claim(struct kg_svc_store *s, const struct kg_svc_ask *ask,
                                struct kg_svc_job *out, size_t *of, size_t *n, struct kg_err *err);
enum kg_code kg_svc_redis_renew(struct kg_svc_store *s, const char *id, const char *claim,
                                int64_t fence, int64_t until_ms, struct kg_err *err);
enum kg_code kg_svc_redis_holds(struct kg_svc_store *s, const char *id, const char *claim,
                                int64_t fence, struct kg_err *err);
enum kg_code kg_svc_redis_finish(struct kg_svc_store *s, const struct kg_svc_end *e,
                                 struct kg_err *err);
enum kg_code kg_svc_redis_failed(struct kg_svc_store *s, const struct kg_svc_end *e,
                                 struct kg_err *err);
enum kg_code kg_svc_redis_give_back(struct kg_svc_store *s, const struct kg_svc_end *e,
                                    struct kg_err *err);
enum kg_code kg_svc_redis_cancel(struct kg_svc_store *s, const char *id, int64_t now_ms,
                                 bool *changed, struct kg_err *err);
enum kg_code kg_svc_redis_requeue(struct kg_svc_store *s, const char *id, int64_t now_ms,
                                  struct kg_err *err);
enum kg_code kg_svc_redis_expire(struct kg_svc_store *s, int64_t now_ms, int64_t *n,
                                 struct kg_err *err);
enum kg_code kg_svc_redis_extend(struct kg_svc_store *s, int64_t until_ms, struct kg_err *err);
enum kg_code kg_svc_redis_notice(struct kg_svc_store *s, const struct kg_svc_notice *notice,
                                 int64_t now_ms, struct kg_err *err);
enum kg_code kg_svc_redis_notices(struct kg_svc_store *s, const char *kind, int64_t now_ms,
                                  kg_svc_on_notice *each, void *ctx, struct kg_err *err);
enum kg_code kg_svc_redis_get(struct kg_svc_store *s, const char *id, bool with_task,
                              struct kg_svc_job *out, struct kg_err *err);
enum kg_code kg_svc_redis_list(struct kg_svc_store *s, const struct kg_svc_filter *f,
                               kg_svc_on_job *each, void *ctx, struct kg_err *err);
enum kg_code kg_svc_redis_events(struct kg_svc_store *s, int64_t after, const char *id,
                                 size_t limit, kg_svc_on_event *each, void *ctx,
                                 struct kg_err *err);
enum kg_code kg_svc_redis_stats(struct kg_svc_store *s, struct kg_svc_stats *out,
                                struct kg_err *err);
enum kg_code kg_svc_redis_tallies(struct kg_svc_store *s, kg_svc_on_tally *each, void *ctx,
                                  struct kg_err *err);
enum kg_code kg_svc_redis_bests(struct kg_svc_store *s, kg_svc_on_best *each, void *ctx,
                                struct kg_err *err);
enum kg_code kg_svc_redis_minutes(struct kg_svc_store *s, int64_t now_ms, int64_t *out,
                                  struct kg_err *err);
enum kg_code kg_svc_redis_add_counts(struct kg_svc_store *s, const struct kg_svc_count *list,
                                     size_t n, struct kg_err *err);
enum kg_code kg_svc_redis_counts(struct kg_svc_store *s, kg_svc_on_count *each, void *ctx,
                                 struct kg_err *err);

#endif
