/* Private to worker*.c: a worker's claims and its pools, one for each configuration. */
#ifndef KG_SVC_WORKER_PRIVATE_H
#define KG_SVC_WORKER_PRIVATE_H

#include "gym/kgym.h"
#include "svc/client.h"
#include "svc/job.h"
#include "svc/worker.h"

enum {
    KG_SVC_WORKER_SLOTS = 512,
    KG_SVC_POOLS = KG_SVC_WORKER_SLOTS + 1, /* so that one is free, whatever runs */
    KG_SVC_POOLS_KEPT = 4                   /* beyond these, one that is idle is closed */
};

struct kg_svc_worker;

struct kg_svc_pool {
    struct kg_svc_worker *worker;
    char *configuration; /* JSON text; NULL: the place is free */
    struct kgym_pool *pool;
    struct event *event; /* results are there */
    int running;
    int64_t used_ms;
};

struct kg_svc_claimed {
    char id[KG_ULID_LEN], claim[KG_SVC_CLAIM_LEN];
    int64_t fence;
    int slot;
    struct kg_svc_pool *pool; /* NULL: judged, the answer is under way */
    uint64_t task;
    bool lost;      /* the claim has ended: nobody wants the result */
    json_t *answer; /* how it ended; NULL: it runs */
    struct event *retry;
    struct kg_svc_worker *worker;
    struct kg_svc_claimed *next, **link;
};

struct kg_svc_worker {
    const struct kg_svc_worker_options *o;
    struct event_base *base;
    struct kg_svc_client *claims, *news, *answers;
    struct kg_svc_pool pool[KG_SVC_POOLS];
    struct kg_svc_claimed *held;
    char name[96];
    struct {
        bool busy;
        char lane[KG_SHA256_HEX];
        int64_t since_ms; /* that it holds this lane */
    } slot[KG_SVC_WORKER_SLOTS];
    int nslots;
    int64_t term_ms;                /* of its claims */
    int asked[KG_SVC_WORKER_SLOTS]; /* slots of the claim under way */
    bool claiming, renewing, stopping, left;
    struct event *again; /* claim or renew after a failure */
};

enum { KG_SVC_AGAIN_MS = 300 }; /* after a request that had no answer */
void kg_svc_worker_later(struct event *e, int ms);
/* Claims for all idle slots; nothing where it claims already, or stops. */
void kg_svc_worker_claim(struct kg_svc_worker *w);
/* Ends the loop of a worker that stops, once nothing is held. */
void kg_svc_worker_end_if_done(struct kg_svc_worker *w);
/* The attempt has ended: its slot is free, and the service is told until it has heard. more:
 * members of the answer; taken. c may be gone afterwards. */
void kg_svc_worker_end_attempt(struct kg_svc_claimed *c, const char *outcome, json_t *more);
void kg_svc_worker_drop(struct kg_svc_claimed *c); /* forgets it */
/* {"error", "blame", "message"} */
json_t *kg_svc_worker_error(const char *code, const char *blame, const char *message);

/* The pool for a configuration (JSON); it is opened where there is none. NULL and *err: as of
 * kgym_open. */
struct kg_svc_pool *kg_svc_pool_for(struct kg_svc_worker *w, const json_t *configuration,
                                    struct kg_err *err);
void kg_svc_pools_close(struct kg_svc_worker *w);
/* Gives a claimed task to the pool. */
enum kg_code kg_svc_pool_submit(struct kg_svc_pool *p, const json_t *task, double deadline_s,
                                uint64_t *id, struct kg_err *err) KG_MUST_USE;
/* Called by a pool for each of its results: NULL, with *err, when the pool has ended. */
void kg_svc_worker_result(struct kg_svc_pool *p, const struct kgym_result *r,
                          const struct kgym_error *err);

#endif
