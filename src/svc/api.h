/* The api process of the service: routes of /v1 over a store. It judges nothing and starts nothing;
 * workers ask it for jobs (api_worker.c). It keeps no state that matters: what it has accepted is
 * in the store. */
#ifndef KG_SVC_API_H
#define KG_SVC_API_H

#include "svc/gym.h"
#include "svc/kernelgym_request.h"
#include "svc/store.h"

struct kg_svc_api_options {
    int fd;             /* a socket that listens; taken */
    int ready_fd;       /* gets one byte once it serves, and is closed; -1: nobody is told */
    const char *folder; /* of the segments */
    const char *place;  /* of the store, as its kind takes it */
    int64_t queue_limit, queue_limit_token; /* jobs that may wait, and those of one token; 0: any */
    int64_t free_bytes; /* that the disk of the folder must have for a job to be accepted; 0: any */
    int64_t body_bytes;
    int64_t term_ms;          /* of a claim without renewal */
    const char *worker_token; /* of the local worker; NULL: none */
    bool needs_tokens;        /* serves nobody without one (auth.h) */
    const struct kg_svc_store_kind *kind;
    const struct kg_svc_gym *gym;
    struct kg_kernelgym_settings kernelgym; /* of requests by that protocol */
};

/* Serves until SIGTERM or SIGINT. Errors: of the store, HOST. */
enum kg_code kg_svc_api_run(const struct kg_svc_api_options *o, struct kg_err *err) KG_MUST_USE;

#endif
