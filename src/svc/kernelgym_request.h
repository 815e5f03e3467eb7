/* Requests of the KernelGYM protocol (docs/trainers.md): bytes of a body in, what the gym is asked
 * out. Pure: no socket, no store, no clock.
 *
 * A body that KernelGYM's own server would not accept is refused with status 400, in one of two
 * forms. A refusal names the member and the rule, and repeats nothing of the body. A request that
 * is accepted may still be one that cannot be judged (no class in the source): `failure_code` is
 * set then. A client that waits for its result gets it at once. One that polls needs a job whose
 * state it can read.
 *
 * Ownership: a request owns all that its pointers name, until deinit. Texts may hold NUL bytes.
 * Threads: calls are independent. */
#ifndef KG_SVC_KERNELGYM_REQUEST_H
#define KG_SVC_KERNELGYM_REQUEST_H

#include "base/hash.h"
#include "base/json.h"

#define KG_KERNELGYM_TASKS 100 /* of a batch, at most; KernelGYM's own limit */

/* What the host of the service decides. Zeroed: its defaults. */
struct kg_kernelgym_settings {
    const char *preset;    /* NULL: the service's own */
    const char *precision; /* arithmetic of its requests; NULL: "tf32", Triton's own default */
    int most_gpus;         /* that one request may ask for; 0: 1 */
    bool no_profile;       /* profiling where a request does not say: off; else on */
};

/* KG_E_USAGE: the preset `kernelbench` earns no reward, so a trainer must not be served by it; a
 * precision other than "fp32" and "tf32". */
enum kg_code kg_kernelgym_check(const struct kg_kernelgym_settings *s,
                                struct kg_err *err) KG_MUST_USE;

/* A request that is not accepted. */
struct kg_kernelgym_refusal {
    int status;        /* 400 */
    bool detail;       /* the body is {"detail": message}; else the long form */
    char message[240]; /* names the member and the rule */
};

enum kg_kernelgym_priority { KG_KERNELGYM_LOW, KG_KERNELGYM_NORMAL, KG_KERNELGYM_HIGH };

struct kg_kernelgym_text {
    const char *bytes; /* NUL-terminated after len */
    size_t len;
};

struct kg_kernelgym_request {
    json_t *body; /* owned */
    const char *task_id;
    struct kg_kernelgym_text reference, kernel;
    const char *entry; /* of the reference; the candidate defines it with `New` at its end */
    enum kg_kernelgym_priority priority;
    bool force_refresh;
    bool polls;         /* it said `detect_decoy_kernel`: a client that polls */
    const char *preset; /* of the settings; NULL: none */
    int64_t budget_s;   /* of the evaluation, without its wait */
    json_t *options;    /* owned: ["key=value", ...] over the preset */
    /* Owned: what the answer must repeat or heed, small. Kept beside the job, since a result is
     * made from it and the record alone. */
    json_t *echo;
    /* SHA-256 of all that the verdict depends on: sources, class, options. Two requests with equal
     * keys ask the same. `task_id`, `uuid` and `priority` are not part of it. */
    char content_key[KG_SHA256_HEX];
    const char *failure_code;  /* static; NULL: to be judged */
    bool unserved;             /* failure_code is about `resources`: no record will say so */
    const char *failure_fault; /* "candidate", "reference", "system"; of failure_code */
    char failure[240];
};

/* The body of POST /evaluate. false: *no is filled, and *out needs no deinit. */
bool kg_kernelgym_request_read(const char *body, size_t len, const struct kg_kernelgym_settings *s,
                               struct kg_kernelgym_request *out, struct kg_kernelgym_refusal *no);
/* The body of POST /workflow/submit. */
bool kg_kernelgym_workflow_read(const char *body, size_t len, const struct kg_kernelgym_settings *s,
                                struct kg_kernelgym_request *out, struct kg_kernelgym_refusal *no);
void kg_kernelgym_request_deinit(struct kg_kernelgym_request *r); /* idempotent */

struct kg_kernelgym_batch {
    json_t *body; /* owned */
    const char *id;
    struct kg_kernelgym_request *task; /* [n] */
    size_t n;                          /* 1 to KG_KERNELGYM_TASKS */
};
/* The body of POST /evaluate/batch: one bad task refuses all. */
bool kg_kernelgym_batch_read(const char *body, size_t len, const struct kg_kernelgym_settings *s,
                             struct kg_kernelgym_batch *out, struct kg_kernelgym_refusal *no);
void kg_kernelgym_batch_deinit(struct kg_kernelgym_batch *b); /* idempotent */

/* The report of POST /debug/validate: a new object. */
json_t *kg_kernelgym_validation(const struct kg_kernelgym_request *r);

/* The body of a refusal: a new object. now_us: microseconds since 1970. */
json_t *kg_kernelgym_refusal_body(const struct kg_kernelgym_refusal *no, int64_t now_us);

#endif
