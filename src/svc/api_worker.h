/* Private to api_worker.c, api_claim.c, api_devices.c and api_reason.c: a worker's request that
 * waits, for a job (an idle claim) or for news of its claims. */
#ifndef KG_SVC_API_WORKER_H
#define KG_SVC_API_WORKER_H

#include "svc/api_private.h"

enum { KG_SVC_WORKER_NAME_MAX = 100, KG_SVC_DEVICES_MAX = 16 };

/* A device of a claim. */
struct kg_svc_claim_device {
    const char *name; /* "": it has none, and is never put aside */
    const char *words[KG_SVC_WORDS_MAX];
    struct kg_svc_offer offer;
};

struct kg_svc_poll {
    struct kg_svc_op op; /* of a claim; must be first */
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    json_t *body;
    const char *worker;
    bool is_claim, posted, gone;
    bool again; /* a job may have come since it was posted */
    int64_t until_ms;
    struct event *timer;                /* at until_ms; NULL: it does not wait */
    struct kg_svc_claim_device *device; /* [ndevices] */
    struct kg_svc_slot *slot;           /* [nslots], as are the next three */
    struct kg_svc_job *job;
    size_t *of, *on; /* on: the slot's device */
    size_t ndevices, nslots, n;
    struct kg_svc_poll *next;
};

/* The body of a claim or a renewal: members among known, `worker` a name, `wait_s` a number from 0
 * to 60. NULL: it was answered. */
json_t *kg_svc_worker_body(struct kg_svc_exchange *x, const char *const *known, double *wait_s);
/* Takes body. */
struct kg_svc_poll *kg_svc_poll_new(struct kg_svc_api *a, struct kg_svc_exchange *x, json_t *body,
                                    double wait_s);
void kg_svc_poll_free(struct kg_svc_poll *p);
/* Answers 200 with body, which is taken, and ends the poll. */
void kg_svc_poll_answer(struct kg_svc_poll *p, json_t *body);
/* Has this worker (a notice's text) been heard of lately? */
bool kg_svc_worker_is_there(const json_t *worker, int64_t now_ms);
/* Looks for a job once more. */
void kg_svc_claim_again(struct kg_svc_poll *p);

#endif
