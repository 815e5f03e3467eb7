/* Private to worker*.c: a worker's claims, its slots with their pools, and its devices. */
#ifndef KG_SVC_WORKER_PRIVATE_H
#define KG_SVC_WORKER_PRIVATE_H

#include "gym/kgym.h"
#include "svc/client.h"
#include "svc/job.h"
#include "svc/worker.h"

enum {
    KG_SVC_WORKER_SLOTS = 512,
    KG_SVC_WORKER_DEVICES = 16,
    KG_SVC_WORKER_UNHEARD = 64, /* answers that the service has not heard: no claims beyond */
    KG_SVC_WORKER_LINKS = 8, /* connections for answers: so many can share one sync of the store */
    KG_SVC_POOLS_KEPT = 4    /* of a slot: beyond these, the one that was used last closes */
};

struct event;
struct kg_svc_worker;

/* A pool of one worker process, for one configuration, on a slot's core. */
struct kg_svc_pool {
    struct kg_svc_worker *worker;
    int slot;
    char *configuration; /* JSON text; NULL: the place is free */
    struct kgym_pool *pool;
    struct event *event; /* results are there */
    int running;
    int64_t used_ms;
};

struct kg_svc_claimed {
    char id[KG_ULID_LEN], claim[KG_SVC_CLAIM_LEN];
    int64_t fence, until_ms; /* the claim runs out, unless it is renewed */
    char lane[KG_SHA256_HEX];
    int slot;
    int64_t came_ns, began_ns;
    json_t *waiting;          /* the claim as it came; NULL: its evaluation has begun */
    bool torch;               /* the job needs PyTorch */
    struct kg_svc_pool *pool; /* NULL: nothing of it is in a pool */
    uint64_t task;
    bool asked;     /* the renewal under way names it */
    bool lost;      /* the claim has ended: nobody wants the result */
    int canaries;   /* that have failed since its attempt failed; -1: it has not */
    json_t *failed; /* members of the answer, while canaries run */
    json_t *answer; /* how it ended; NULL: it runs */
    struct event *retry;
    struct kg_svc_worker *worker;
    struct kg_svc_claimed *next, **link;
};

struct kg_svc_device {
    struct kg_svc_worker *worker;
    char given[40]; /* as the options name it; "": none */
    char name[120]; /* "HOST/cuda:0" */
    json_t *facts;  /* what looking at it has found */
    int look_fd;    /* -1: nobody looks */
    int look_pid;
    struct kg_buf found;
    struct event *look, *again; /* again: after a look that failed */
    int failures;               /* looks that failed, one after the other */
};

struct kg_svc_worker {
    const struct kg_svc_worker_options *o;
    struct event_base *base;
    struct kg_svc_client *claims, *news, *answers[KG_SVC_WORKER_LINKS];
    struct kg_svc_claimed *held;
    int unheard; /* of these, how many have ended */
    char host[61], name[96];
    struct kg_svc_device device[KG_SVC_WORKER_DEVICES];
    int ndevices;
    struct {
        bool busy;
        int waiting;                /* claimed jobs that have not begun */
        int64_t usual_ns, began_ns; /* an evaluation here takes so long; 0: none has ended */
        char lane[KG_SHA256_HEX];
        int64_t since_ms; /* when its turn began (lanes.h); 0: it has held no lane */
        int core, device;
        struct kg_svc_pool pool[KG_SVC_POOLS_KEPT];
    } slot[KG_SVC_WORKER_SLOTS];
    int nslots;
    int64_t term_ms;                /* of its claims */
    int64_t renewed_ms;             /* when the renewal under way was sent */
    int pause_ms;                   /* after the next failure */
    int asked[KG_SVC_WORKER_SLOTS]; /* [nasked] slots of the claim under way */
    int nasked;
    bool ahead, dry; /* the claim is for busy slots; the last one of that kind found too few */
    bool claiming, renewing, greeting, greeted, misread, stopping, leaving, left, silent, refused;
    struct event *again; /* claim or renew after a failure */
    struct event *go_on; /* slots are free, or jobs that wait */
    struct event *watch; /* claims that have run out */
    struct event *hello;
};

enum { KG_SVC_AGAIN_MS = 200, KG_SVC_AGAIN_MOST_MS = 5000 }; /* after a request without an answer */
void kg_svc_worker_later(struct event *e, int ms);
/* How long to wait after this failure: longer each time. */
int kg_svc_worker_pause(struct kg_svc_worker *w);
/* True: a request was answered as it should. Else it is asked again later, or, without the right
 * token, not at all. */
bool kg_svc_worker_heard(struct kg_svc_worker *w, int status);
/* Renews what is held; nothing where it does already. */
void kg_svc_worker_renew(struct kg_svc_worker *w);

/* --- claims (worker_claim.c) --- */

/* Claims for all idle slots, or ahead for busy ones; nothing where it claims already, or stops. */
void kg_svc_worker_claim(struct kg_svc_worker *w);
/* Free slots begin what waits here, and claim. */
void kg_svc_worker_go_on(struct kg_svc_worker *w);
/* What waits here for too long. */
void kg_svc_worker_hand_back(struct kg_svc_worker *w);
/* The job waits no longer; nothing where it has begun. */
void kg_svc_worker_leave_slot(struct kg_svc_claimed *c);
/* An evaluation of the slot has ended: how long it took tells how far to claim ahead. */
void kg_svc_worker_took(struct kg_svc_claimed *c);

/* --- answers (worker_held.c) --- */

/* A worker that stops leaves once nothing is held, and then ends its loop. */
void kg_svc_worker_end_if_done(struct kg_svc_worker *w);
/* The attempt has ended: its slot is free, and the service is told until it has heard. more:
 * members of the answer; taken. c may be gone afterwards. */
void kg_svc_worker_end_attempt(struct kg_svc_claimed *c, const char *outcome, json_t *more);
/* The attempt failed by no fault of the job: the same, once canaries have said what the device is
 * worth. */
void kg_svc_worker_fail_attempt(struct kg_svc_claimed *c, json_t *more);
void kg_svc_worker_drop(struct kg_svc_claimed *c); /* forgets it */
/* {"error", "blame", "message"} */
json_t *kg_svc_worker_error(const char *code, const char *blame, const char *message);

/* --- devices (worker_devices.c) --- */

/* Names, and who looks at them. Errors: HOST. */
enum kg_code kg_svc_devices_open(struct kg_svc_worker *w, struct kg_err *err) KG_MUST_USE;
void kg_svc_devices_close(struct kg_svc_worker *w);
/* What they offer, for a claim; with_slots: and how many slots they have, and what runs there. */
json_t *kg_svc_devices_json(const struct kg_svc_worker *w, bool with_slots);
/* {"problem", "text", "stop_after"} of the known good candidate; borrowed. NULL: there is none. */
const json_t *kg_svc_device_canary(const struct kg_svc_device *d, bool torch);
/* Tells the service what there is; changed: other than before, so a claim that waits is asked anew.
 */
void kg_svc_worker_greet(struct kg_svc_worker *w, bool changed);

/* --- pools --- */

/* How many slots, and on which cores. Errors: of kgym_open; USAGE: there are more devices. */
enum kg_code kg_svc_slots_open(struct kg_svc_worker *w, struct kg_err *err) KG_MUST_USE;
/* The pool of a slot for a configuration (JSON); it is opened where there is none. NULL and *err:
 * as of kgym_open. Nothing runs on the slot. */
struct kg_svc_pool *kg_svc_pool_for(struct kg_svc_worker *w, int slot, const json_t *configuration,
                                    struct kg_err *err);
void kg_svc_pools_close(struct kg_svc_worker *w);
/* Gives a claimed task to the pool. */
enum kg_code kg_svc_pool_submit(struct kg_svc_pool *p, const json_t *task, double deadline_s,
                                uint64_t *id, struct kg_err *err) KG_MUST_USE;
/* Called by a pool for each of its results: NULL, with *err, when the pool has ended. */
void kg_svc_worker_result(struct kg_svc_pool *p, const struct kgym_result *r,
                          const struct kgym_error *err);

#endif
