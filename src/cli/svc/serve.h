/* Private to the command `serve`: its settings, and the gym as the service asks it. */
#ifndef KG_CLI_SVC_SERVE_H
#define KG_CLI_SVC_SERVE_H

#include "base/opt.h"
#include "svc/gym.h"

struct kg_serve_config {
    char host[64], folder[1024], store[1024], store_file[1024];
    int64_t port, jobs, queue_limit, queue_limit_token, free_mb, body_mb;
    double term_s;
    bool work, store_relaxed;
    int kernelgym_precision;
    char kernelgym_preset[64];
};

const struct kg_opts *kg_serve_options(void);
/* c->store from the first line of c->store_file. Errors: USAGE (a store is named twice, others may
 * read the file, it has no such line), IO. */
enum kg_code kg_serve_store_file(struct kg_serve_config *c, struct kg_err *err) KG_MUST_USE;

/* The gym of this program. Errors: those of finding the suites. */
enum kg_code kg_serve_gym(struct kg_svc_gym *out, struct kg_err *err) KG_MUST_USE;

#endif
