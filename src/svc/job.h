/* A job of the service: one evaluation that was accepted, from its acceptance to its end. Plain
 * data, as a store keeps it. Strings are in the job's own arena, so that a job may be passed from
 * thread to thread and is released at once. A job without a value has "" or 0 there.
 *
 * States. A job waits, runs under a claim, and ends once: done (there is a record), cancelled, or
 * dead (three attempts failed, or one that no other could better; it can be queued again). Only
 * these three are final, and of a job that is done the record never changes.
 *
 * Lanes. Jobs wait in lanes, one for each device class, configuration, problem and priority:
 * docs/service.md, "Which job next". Times are milliseconds since 1970 by kg_svc_now_ms(). */
#ifndef KG_SVC_JOB_H
#define KG_SVC_JOB_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/ulid.h"

enum {
    KG_SVC_KEY_MAX = 200,       /* bytes of an idempotency key */
    KG_SVC_CLAIM_LEN = 33,      /* 32 hex digits and NUL */
    KG_SVC_OWNER_LEN = 17,      /* 16 hex digits and NUL */
    KG_SVC_ATTEMPTS = 3,        /* then a job is dead */
    KG_SVC_TASK_MAX = 64 << 20, /* bytes of a job's task as JSON */
};

enum kg_svc_state {
    KG_SVC_WAITING,
    KG_SVC_RUNNING,
    KG_SVC_DONE,
    KG_SVC_CANCELLED,
    KG_SVC_DEAD,
    KG_SVC_STATES
};
/* "waiting", "running", "done", "cancelled", "dead". Static. */
const char *kg_svc_state_name(enum kg_svc_state s);
bool kg_svc_state_parse(const char *name, enum kg_svc_state *out);

enum kg_svc_priority { KG_SVC_HIGH, KG_SVC_NORMAL, KG_SVC_LOW, KG_SVC_PRIORITIES };
const char *kg_svc_priority_name(enum kg_svc_priority p); /* "high", "normal", "low" */
bool kg_svc_priority_parse(const char *name, enum kg_svc_priority *out);

/* Where the record of a finished job is: in a segment of the run directory (segment.h). */
struct kg_svc_place {
    char segment[KG_ULID_LEN]; /* "": nowhere */
    int64_t offset, len;       /* bytes of the compressed frame */
    char sum[KG_SHA256_HEX];   /* of these bytes */
};

struct kg_svc_job {
    struct kg_arena arena; /* of all strings below */
    char id[KG_ULID_LEN];
    const char *key;               /* of the client; "": none */
    char body_hash[KG_SHA256_HEX]; /* of what was asked: the same key with another one is refused */
    /* The lane. device: "cpu", "cuda"; configuration: JSON text {"preset", "set"} in one order;
     * problem: its name, or "sha256:..." of a text that was sent along. */
    const char *device, *configuration, *problem;
    enum kg_svc_priority priority;
    int64_t deadline_ms; /* the answer must be there; 0: no limit */
    /* What the worker gets, JSON: {"problem", "problem_text"?, "text", "source"?, "tag"?,
     * "rewards"?, "stop_after"?, "replay"?}, as in struct kgym_task. "" once the job is done or
     * cancelled. */
    const char *task;
    const char *batch; /* id of its batch; "": none */
    int64_t batch_at;  /* its line there, from 0 */
    /* Whose it is: http.h, `owner`. For submit() alone; reads leave it "". */
    char owner[KG_SVC_OWNER_LEN];
    /* For submit() alone: it takes the key of a job that was lost (kg_svc_job_was_lost). */
    bool renews;

    enum kg_svc_state state;
    int attempts;                 /* that have begun and were not handed back */
    int64_t fence;                /* number of the last claim; grows with each */
    char claim[KG_SVC_CLAIM_LEN]; /* of the running attempt; a secret of its holder */
    const char *worker;           /* of the last claim */
    int64_t claim_until_ms;
    int64_t created_ms, started_ms, finished_ms; /* started: the last attempt */

    struct kg_svc_place record;
    const char *verdict, *reason;        /* of a record; "": none */
    const char *error, *blame, *message; /* of a job, or a record, without a verdict */
};

/* Zeroed, all strings "". */
void kg_svc_job_init(struct kg_svc_job *job);
void kg_svc_job_deinit(struct kg_svc_job *job);
/* A copy of text [n bytes] in the job's arena. Errors: LIMIT. */
enum kg_code kg_svc_job_keep(struct kg_svc_job *job, const char **field, const char *text, size_t n,
                             struct kg_err *err) KG_MUST_USE;
/* It ended, and not by what its candidate or its problem did: another try may have a verdict. */
bool kg_svc_job_was_lost(const struct kg_svc_job *job);
/* What the lane's place in a slot is compared by: device, configuration and problem as one text.
 * Lanes of one problem that differ in priority have the same. */
void kg_svc_lane_name(const struct kg_svc_job *job, char out[KG_SHA256_HEX]);

/* Now, in ms since 1970: the wall clock as it was when the process began, and the monotonic clock
 * since. A wall clock that jumps expires no claim. Thread safe. */
int64_t kg_svc_now_ms(void);
/* It is so late: for services that share a store, which date claims by its clock. Thread safe. */
void kg_svc_now_is(int64_t ms);

#endif
