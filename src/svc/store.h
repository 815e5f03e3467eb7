/* The store of the service, which is its queue as well: one interface, one row of functions for
 * each implementation, one conformance suite (tests/unit/test_svc_store.c) that takes any row.
 *
 * Promise. What lies between begin() and commit() is durable once commit() has returned KG_OK, and
 * none of it is there if it failed or the process ended before. So nothing is answered to anybody
 * before commit(). Reads (get, find, list, events, stats) see what is committed.
 *
 * One record per job is ever visible. finish(), fail() and give_back() name claim and fence; where
 * they are not those of the running attempt, nothing changes, KG_E_NOT_FOUND is returned and the
 * refusal is counted. A job whose claim has run out is taken back by expire(): it waits again, or
 * is dead after KG_SVC_ATTEMPTS.
 *
 * Answers. A call between begin() and commit() may answer at once, or only take its arguments,
 * return KG_OK and answer in commit(). So whoever asks looks at *err and at what it gave pointers
 * to after commit() alone, and keeps them until commit() or rollback() has returned. Calls that
 * follow one another with the same err are a chain: the first that fails fills it, and those after
 * it are left out.
 *
 * Threads. Calls between begin() and commit(), these included, are made by one thread at a time;
 * reads may be made by one other thread meanwhile.
 *
 * Errors. NOT_FOUND, USAGE and FULL as said at each call: they leave the group as it is, and it may
 * go on. IO, HOST and LIMIT: the store cannot; the caller rolls back. */
#ifndef KG_SVC_STORE_H
#define KG_SVC_STORE_H

#include "svc/job.h"
#include "svc/offer.h"
#include "svc/traj.h"

struct kg_svc_store {
    const struct kg_svc_store_kind *kind;
};

enum {
    KG_SVC_LOOK_MOST = 5120,       /* jobs that a page of a list may cost */
    KG_SVC_CLAIM_BYTES = 32 << 20, /* of tasks, after which a claim takes no further job */
    KG_SVC_TALLIES = 500,          /* kinds of ends that are counted apart; further ones are not */
    KG_SVC_MINUTES = 60
};

/* How many jobs may wait for one more to be accepted. 0: no limit. */
struct kg_svc_room {
    int64_t most, most_of_owner; /* of all, of the job's owner ("" has no limit) */
    int64_t more; /* jobs of the same owner that follow in the group, and must fit as well */
};

struct kg_svc_slot {
    const char *lane;                 /* kg_svc_lane_name() of what it holds; "": nothing */
    int64_t held_ms;                  /* since its turn began (lanes.h) */
    const struct kg_svc_offer *offer; /* of its device; NULL: `devices` of the ask */
};

struct kg_svc_ask {
    const char *worker;
    const char *const *devices; /* what slots without an offer of their own offer: words */
    size_t ndevices;
    const struct kg_svc_slot *slots; /* that are idle */
    size_t nslots;
    int64_t term_ms; /* the claims last so long without renewal */
    int64_t now_ms;
};

/* How an attempt ended. */
struct kg_svc_end {
    const char *id, *claim;
    int64_t fence, now_ms;
    const struct kg_svc_place *record;   /* NULL: none */
    const char *verdict, *reason;        /* NULL: none */
    const char *error, *blame, *message; /* NULL: none */
    const char *stage;                   /* the last one that the record entered; NULL: unknown */
    double speedup;                      /* as measured; 0: none */
    bool replay;                         /* of recorded cases: no count of verdicts has it */
    bool last; /* fail(): the job is dead at once, as any further attempt would end like this one */
};

struct kg_svc_filter {
    int state;                             /* enum kg_svc_state; -1: any */
    const char *problem, *verdict, *batch; /* NULL: any */
    const char *after;                     /* id: those before it in the list are left out */
    bool by_line;                          /* of a batch, in order of its lines from `from` on */
    int64_t from;
    size_t limit;
    /* [KG_ULID_LEN], by_line false: where the next page begins, "" at the end. A store may then
     * look at KG_SVC_LOOK_MOST jobs and no more, so a page may be short. NULL: not wanted. */
    char *next;
};

/* Something that happened to a job. type: "submitted", "claimed", "finished", "failed", "expired",
 * "handed_back", "cancelled", "dead", "requeued". */
struct kg_svc_event {
    int64_t seq, ms;
    const char *id, *type, *detail; /* detail: a worker's name, a verdict, or "" */
};
/* What api processes tell each other through the store: "worker" (its devices, by its name),
 * "aside" (why nothing runs there, by a device's name), and those of api_kernelgym_workers.c.
 * text: JSON. */
struct kg_svc_notice {
    const char *kind, *name, *text;
    int64_t until_ms; /* forgotten then */
};
typedef bool kg_svc_on_notice(void *ctx, const struct kg_svc_notice *notice);
/* False: no more of them. */
typedef bool kg_svc_on_event(void *ctx, const struct kg_svc_event *e);
/* job lives during the call only. */
typedef bool kg_svc_on_job(void *ctx, const struct kg_svc_job *job);

struct kg_svc_count {
    const char *name; /* a word of metrics.h, without NUL, at most 100 bytes */
    int64_t n;
};
typedef bool kg_svc_on_count(void *ctx, const char *name, int64_t n);

struct kg_svc_stats {
    int64_t jobs[KG_SVC_STATES];
    int64_t lanes;      /* with a job that waits */
    int64_t oldest_ms;  /* when the oldest waiting job was accepted; 0: none waits */
    int64_t expired;    /* claims that ran out */
    int64_t refused;    /* answers under an old claim */
    int64_t last_event; /* seq */
};

/* How many jobs are done, by how. verdict "": an error, and reason is its code. */
struct kg_svc_tally {
    const char *verdict, *reason, *stage;
    int64_t n;
};
typedef bool kg_svc_on_tally(void *ctx, const struct kg_svc_tally *t);

/* Jobs of a problem of the suites that are done. id, speedup: the first of those that are fastest;
 * "" and 0: none was timed. */
struct kg_svc_best {
    const char *problem;
    int64_t done, ok;
    double speedup;
    const char *id;
};
typedef bool kg_svc_on_best(void *ctx, const struct kg_svc_best *b);

struct kg_svc_store_kind {
    const char *name; /* "sqlite" */
    /* place: a folder (sqlite), an address (redis). Errors: IO, HOST, USAGE (a store of a newer
     * schema; a new one beside segments of another). */
    enum kg_code (*open)(const char *place, struct kg_svc_store **out, struct kg_err *err);
    void (*close)(struct kg_svc_store *s); /* NULL is nothing */
    /* Is this the folder of records that all who share the store have? The first process marks it.
     * folder: is there. USAGE: it is another one, or has records and the store is new. NULL: nobody
     * shares the store. */
    enum kg_code (*share)(struct kg_svc_store *s, const char *folder, struct kg_err *err);
    /* What a store at that place connects to while it serves: as of struct kg_svc_reach
     * (confine.h). NULL: nothing. */
    int (*connects)(const char *place);

    enum kg_code (*begin)(struct kg_svc_store *s, struct kg_err *err);
    enum kg_code (*commit)(struct kg_svc_store *s, struct kg_err *err);
    void (*rollback)(struct kg_svc_store *s);

    /* Accepts job, whose id, task, lane, priority, owner, body_hash, created_ms the caller has set.
     * Where a job has its key already: *known is true and *id [KG_ULID_LEN] is that job's; USAGE if
     * that one asked for something else. Where it `renews` and that one was lost, the key becomes
     * its own, and *known is false. FULL: there is no such room. room NULL: no limit. */
    enum kg_code (*submit)(struct kg_svc_store *s, const struct kg_svc_job *job,
                           const struct kg_svc_room *room, char id[KG_ULID_LEN], bool *known,
                           struct kg_err *err);
    /* Is there this room, before anything is kept for a job? It answers at once. FULL: no. */
    enum kg_code (*has_room)(struct kg_svc_store *s, const char *owner,
                             const struct kg_svc_room *room, struct kg_err *err);
    /* Claims at most one job for each slot: out [nslots], where of[i] is the slot of out[i]; *n of
     * them. The caller has initialised them and deinitialises all nslots. */
    enum kg_code (*claim)(struct kg_svc_store *s, const struct kg_svc_ask *ask,
                          struct kg_svc_job *out, size_t *of, size_t *n, struct kg_err *err);
    /* NOT_FOUND: not held (any more), or cancelled: its holder ends the attempt. */
    enum kg_code (*renew)(struct kg_svc_store *s, const char *id, const char *claim, int64_t fence,
                          int64_t until_ms, struct kg_err *err);
    /* Is this the claim of the running attempt, before anything is kept for it? It answers at once,
     * and knows the ends of the same group. NOT_FOUND: no, and the refusal is counted. */
    enum kg_code (*holds)(struct kg_svc_store *s, const char *id, const char *claim, int64_t fence,
                          struct kg_err *err);
    /* The job is done: its record is at e->record. NOT_FOUND. */
    enum kg_code (*finish)(struct kg_svc_store *s, const struct kg_svc_end *e, struct kg_err *err);
    /* The attempt failed by no fault of the job: it waits again, or is dead, with what e says.
     * NOT_FOUND. */
    enum kg_code (*fail)(struct kg_svc_store *s, const struct kg_svc_end *e, struct kg_err *err);
    /* The holder can't go on: the job waits again, and the attempt does not count. NOT_FOUND. */
    enum kg_code (*give_back)(struct kg_svc_store *s, const struct kg_svc_end *e,
                              struct kg_err *err);
    /* NOT_FOUND. *changed false: it had ended already. */
    enum kg_code (*cancel)(struct kg_svc_store *s, const char *id, int64_t now_ms, bool *changed,
                           struct kg_err *err);
    /* A dead job waits again, with no attempt counted. NOT_FOUND; USAGE: it is not dead. */
    enum kg_code (*requeue)(struct kg_svc_store *s, const char *id, int64_t now_ms,
                            struct kg_err *err);
    /* Takes back claims that have run out, and ends waiting jobs whose deadline has passed. *n: how
     * many jobs changed. */
    enum kg_code (*expire)(struct kg_svc_store *s, int64_t now_ms, int64_t *n, struct kg_err *err);
    /* Claims that run last until_ms: after a start of the service, when their holders could not
     * renew them. A store of one process shortens those that last longer, which a clock that was
     * set back since has left; one that processes share leaves them to the others. */
    enum kg_code (*extend)(struct kg_svc_store *s, int64_t until_ms, struct kg_err *err);

    /* Writes a notice in place of the one of that kind and name. text NULL: it is forgotten now;
     * NOT_FOUND: there was none. */
    enum kg_code (*notice)(struct kg_svc_store *s, const struct kg_svc_notice *notice,
                           int64_t now_ms, struct kg_err *err);

    /* Notices of a kind that are not forgotten, in order of their names. There are few: whoever
     * writes them bounds their number. */
    enum kg_code (*notices)(struct kg_svc_store *s, const char *kind, int64_t now_ms,
                            kg_svc_on_notice *each, void *ctx, struct kg_err *err);
    /* out: initialised. NOT_FOUND. with_task: its task as well. */
    enum kg_code (*get)(struct kg_svc_store *s, const char *id, bool with_task,
                        struct kg_svc_job *out, struct kg_err *err);
    /* Newest first, without tasks; a batch by line. */
    enum kg_code (*list)(struct kg_svc_store *s, const struct kg_svc_filter *f, kg_svc_on_job *each,
                         void *ctx, struct kg_err *err);
    /* After seq, oldest first. id NULL: of all jobs. */
    enum kg_code (*events)(struct kg_svc_store *s, int64_t after, const char *id, size_t limit,
                           kg_svc_on_event *each, void *ctx, struct kg_err *err);
    enum kg_code (*stats)(struct kg_svc_store *s, struct kg_svc_stats *out, struct kg_err *err);

    const struct kg_svc_traj_rows *trajectories;
    /* Counts that finish() keeps: they cost the same however many jobs there are. */
    enum kg_code (*tallies)(struct kg_svc_store *s, kg_svc_on_tally *each, void *ctx,
                            struct kg_err *err);
    enum kg_code (*bests)(struct kg_svc_store *s, kg_svc_on_best *each, void *ctx,
                          struct kg_err *err);
    /* out [KG_SVC_MINUTES]: jobs done in the minute of now_ms, and in each one before it. */
    enum kg_code (*minutes)(struct kg_svc_store *s, int64_t now_ms, int64_t *out,
                            struct kg_err *err);

    /* Counters. Each event counts itself, by the store, as "event:TYPE"; one that is finished as
     * "event:finished:DETAIL". add_counts() adds to others, in a group: list [n]. */
    enum kg_code (*add_counts)(struct kg_svc_store *s, const struct kg_svc_count *list, size_t n,
                               struct kg_err *err);
    enum kg_code (*counts)(struct kg_svc_store *s, kg_svc_on_count *each, void *ctx,
                           struct kg_err *err);
};

extern const struct kg_svc_store_kind kg_svc_store_sqlite;
/* place: "redis://[user:password@]host[:port][/db]", or "redis+unix://[user:password@]/path" of a
 * socket. Any number of processes share it. open() refuses (USAGE) a server that may lose what it
 * has answered (docs/service.md names the settings). The process ignores SIGPIPE. */
extern const struct kg_svc_store_kind kg_svc_store_redis;
/* The same, on any server. */
extern const struct kg_svc_store_kind kg_svc_store_redis_relaxed;

#endif
