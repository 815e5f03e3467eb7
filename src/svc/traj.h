/* A trajectory of the service: one conversation about one problem, and what a store keeps of it.
 * Plain data. Its large parts (messages, replies, what trainers add) are in segments, and the
 * verdict of a turn is that of the job which judges it, so a turn is a row of few bytes.
 *
 * A trajectory is open, then it has ended once, with a number (seq) that grows with each end. What
 * has ended never changes. A turn belongs to the content it was sent with: the same number with
 * other content is refused, and so is a number that is not the next one. */
#ifndef KG_SVC_TRAJ_H
#define KG_SVC_TRAJ_H

#include "svc/job.h"

struct kg_svc_store;
struct kg_svc_room;

enum {
    KG_SVC_TURNS_MAX = 64,      /* turns of one trajectory */
    KG_SVC_TURN_JOBS = 8,       /* jobs that are made for one turn, one after the other was lost */
    KG_SVC_TRAJ_END = 16,       /* bytes of how it ended, NUL included */
    KG_SVC_EXTRA_MAX = 4 << 20, /* bytes of a turn's `extra`, and of its reply */
    KG_SVC_META_MAX = 64 << 10, /* of `meta`, `usage`, `system` */
};

struct kg_svc_traj {
    char id[KG_ULID_LEN];
    char key[KG_SVC_KEY_MAX + 1]; /* of the client; "": none */
    char body_hash[KG_SHA256_HEX];
    char problem[KG_SVC_KEY_MAX + 1], group[KG_SVC_KEY_MAX + 1]; /* group "": none */
    int64_t most_turns, idle_ms, created_ms;
    int64_t due_ms;            /* it is looked at then: does it end? */
    struct kg_svc_place head;  /* what it was opened with (traj_text.h) */
    int64_t turns;             /* taken so far */
    int64_t seq, ended_ms;     /* 0: open */
    char end[KG_SVC_TRAJ_END]; /* "done", "full", "idle", "infra", "defect"; "": open */
};

struct kg_svc_turn {
    char trajectory[KG_ULID_LEN];
    int64_t n;                /* from 1 */
    char hash[KG_SHA256_HEX]; /* of its content */
    char job[KG_ULID_LEN];    /* that judges it */
    int64_t jobs;             /* made for it so far */
    int64_t taken_ms;
    struct kg_svc_place content; /* reply, extra and the like (traj_text.h) */
};

struct kg_svc_traj_filter {
    enum {
        KG_SVC_TRAJ_NEWEST, /* by id, the newest first, after `after` */
        KG_SVC_TRAJ_ENDED,  /* that have ended, in order of seq, above `above` */
        KG_SVC_TRAJ_DUE     /* open and due at `above`, the longest due first */
    } by;
    const char *problem, *group, *after; /* NULL: any; of NEWEST only */
    int64_t above;
    size_t limit;
};

/* False: no more of them. What it gets lives during the call only. */
typedef bool kg_svc_on_traj(void *ctx, const struct kg_svc_traj *t);
typedef bool kg_svc_on_turn(void *ctx, const struct kg_svc_turn *t);

/* The part of a store that keeps them. The promises, threads and errors of store.h hold: open,
 * take, put_off and end lie between begin() and commit(), and answer there. */
struct kg_svc_traj_rows {
    /* t: id, key, body_hash, problem, group, most_turns, idle_ms, created_ms, due_ms, head. Where
     * its key is there already: *known, and *id is that one's; USAGE if it was opened with
     * something else. */
    enum kg_code (*open)(struct kg_svc_store *s, const struct kg_svc_traj *t, char id[KG_ULID_LEN],
                         bool *known, struct kg_err *err);
    /* Takes turn t (its jobs are counted here) and submits job for it, both or neither; due_ms: of
     * the trajectory then. Where the turn is there with the same hash: *known and *job_id is its
     * job, unless that is `lost`, which job then takes the place of. lost "": none.
     * NOT_FOUND: no such trajectory. USAGE: it has ended; other content under n; n is not the
     * next, or beyond most_turns; KG_SVC_TURN_JOBS are lost. FULL: as of submit(). */
    enum kg_code (*take)(struct kg_svc_store *s, const struct kg_svc_turn *t, int64_t due_ms,
                         const char *lost, const struct kg_svc_job *job,
                         const struct kg_svc_room *room, char job_id[KG_ULID_LEN], bool *known,
                         struct kg_err *err);
    /* It is due later, if it is open and has that many turns; else nothing. */
    enum kg_code (*put_off)(struct kg_svc_store *s, const char *id, int64_t turns, int64_t due_ms,
                            struct kg_err *err);
    /* It ends, if it is open, has that many turns (-1: any), and no job of theirs waits or runs;
     * *changed says so. NOT_FOUND. */
    enum kg_code (*end)(struct kg_svc_store *s, const char *id, int64_t turns, const char *how,
                        int64_t now_ms, bool *changed, struct kg_err *err);

    /* NOT_FOUND. */
    enum kg_code (*get)(struct kg_svc_store *s, const char *id, struct kg_svc_traj *out,
                        struct kg_err *err);
    /* Turns from number n on, in order. */
    enum kg_code (*turns)(struct kg_svc_store *s, const char *id, int64_t n, size_t limit,
                          kg_svc_on_turn *each, void *ctx, struct kg_err *err);
    enum kg_code (*list)(struct kg_svc_store *s, const struct kg_svc_traj_filter *f,
                         kg_svc_on_traj *each, void *ctx, struct kg_err *err);
};

#endif
