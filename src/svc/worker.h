/* A worker of the service: claims jobs from an api process, judges them with pools of kgym.h, and
 * answers. It keeps nothing that matters: what it holds when it dies is taken back by the service.
 *
 * SIGTERM and SIGINT: what runs is handed back, uncounted, and the worker ends. An api process that
 * is gone is asked again until it is back; what runs goes on meanwhile. */
#ifndef KG_SVC_WORKER_H
#define KG_SVC_WORKER_H

#include "base/err.h"

struct kg_svc_worker_options {
    const char *host;
    int port;
    const char *token;   /* NULL: none */
    int jobs;            /* worker processes of a pool; 0: its default */
    const char *program; /* `kgym`; NULL: as kgym_open finds it */
};

/* Until a signal. Errors: those of kgym_open, HOST. */
enum kg_code kg_svc_worker_run(const struct kg_svc_worker_options *o,
                               struct kg_err *err) KG_MUST_USE;

#endif
