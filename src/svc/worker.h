/* A worker of the service: claims jobs from an api process, judges them with pools of kgym.h, and
 * answers. It keeps nothing that matters: what it holds when it dies is taken back by the service.
 *
 * SIGTERM and SIGINT: what runs is handed back, uncounted, and the worker ends. An api process that
 * is gone is asked again until it is back; what runs goes on until its claim has run out, and is
 * ended then, since another worker may have the job.
 *
 * A slot is one evaluation at a time, on a core and a device of its own, whatever configurations it
 * is asked for. A device on which an attempt failed by no fault of the job judges a known good
 * candidate, its canary; if that fails twice, the service is asked to put the device aside. */
#ifndef KG_SVC_WORKER_H
#define KG_SVC_WORKER_H

#include "base/err.h"

struct kg_svc_worker_options {
    const char *host;
    int port;
    const char *token;           /* NULL: none */
    const char *name;            /* of this host in the names of its devices; NULL: its own */
    int jobs;                    /* evaluations at once; 0: as a pool has */
    const char *devices;         /* such as "cuda:0,cuda:1", dealt out to slots; NULL: one */
    const char *const *settings; /* "key=value" of this host, before those of a job */
    size_t nsettings;
    const char *program; /* `kgym`; NULL: as kgym_open finds it */
    /* What `program` is executed with to look at a device, which follows: it prints {"device",
     * "words", "memory_mb", "isolation", "canaries"} (docs/service.md). NULL: every device offers
     * "cpu" alone. */
    const char *facts;
    /* The service has answered for the first time. host: the name it knows this one by. NULL:
     * nobody is told. */
    void (*joined)(void *ctx, const char *host, int slots);
    void *ctx;
};

/* Until a signal. Errors: those of kgym_open, HOST, USAGE (the service refuses the token). */
enum kg_code kg_svc_worker_run(const struct kg_svc_worker_options *o,
                               struct kg_err *err) KG_MUST_USE;

#endif
