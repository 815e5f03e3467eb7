/* Answers of the KernelGYM protocol (docs/trainers.md), made from a record (kgym.record/1), what
 * the request asked to be repeated, and the times of the job. Pure.
 *
 * Codes and states come from the record's own words for a verdict, never from a text that a
 * candidate can print. A speed-up is given where the gym itself would reward it: measured, trusted,
 * by a candidate that its league admits. What the gym could not do is `SYSTEM_ERROR` with
 * `fault` "system", or "reference" where the problem is at fault. Stock clients of the protocol
 * turn every failed task into their penalty; they have no word for "ask again".
 *
 * Ownership: each call returns a new object. Numbers are finite, strings UTF-8 without control
 * characters but line breaks and tabs. Threads: calls are independent. */
#ifndef KG_SVC_KERNELGYM_REPLY_H
#define KG_SVC_KERNELGYM_REPLY_H

#include "base/json.h"

enum kg_kernelgym_state {
    KG_KERNELGYM_PENDING,
    KG_KERNELGYM_PROCESSING,
    KG_KERNELGYM_COMPLETED,
    KG_KERNELGYM_FAILED
};
const char *kg_kernelgym_state_name(enum kg_kernelgym_state s); /* as on the wire */

/* What is known of a task beside its record. Times in microseconds since 1970; 0: not yet. */
struct kg_kernelgym_task {
    const char *id;
    const json_t *echo; /* of the request (kernelgym_request.h); NULL: none */
    int64_t submitted_us, started_us, completed_us;
    int attempts;       /* that were made; 0: not known */
    bool cancelled;     /* by its client */
    bool cached;        /* the record was made for an equal request */
    bool waits;         /* without a result: not begun */
    int64_t position;   /* in the queue, from 1; 0: not known */
    const char *device; /* that it runs on; NULL: not known */
};

/* Status and the 14 members of a result. record NULL: none yet (`pending`, `processing`), or
 * cancelled. */
json_t *kg_kernelgym_result(const json_t *record, const struct kg_kernelgym_task *t);
/* A result without an evaluation: a request that can't be judged, a job that the service gave up.
 * code: of KernelGYM's list. fault: "candidate", "reference", "system". */
json_t *kg_kernelgym_failed(const struct kg_kernelgym_task *t, const char *code, const char *fault,
                            const char *message);
/* Of /status, from a result of the calls above. */
json_t *kg_kernelgym_status(const json_t *result, const struct kg_kernelgym_task *t);
/* Of /workflow: the result as a member. Takes result. */
json_t *kg_kernelgym_workflow(json_t *result);
/* Of /evaluate/batch. Takes results, a list in the order of the request. Where some have not ended,
 * its `batch_status` is `processing`, and there is no `completed_at`. */
json_t *kg_kernelgym_batch(const char *id, json_t *results, int64_t submitted_us,
                           int64_t completed_us);

#endif
