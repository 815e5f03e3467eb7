/* One evaluation: problem and reply in, record out. A worker owns what is reused between
 * evaluations: toolchain, judge, reference runners and the pool of the current problem. One worker
 * per pinned core; a worker is not thread safe, processes are the unit of parallelism. */
#ifndef KG_GYM_EVAL_EVALUATE_H
#define KG_GYM_EVAL_EVALUATE_H

#include <stdatomic.h>

#include "gym/eval/config.h"
#include "gym/record/record.h"

struct kg_worker;

struct kg_task {
    const char *problem;  /* name or path */
    const char *batch_id; /* or NULL */
    const char *text;     /* reply, or source */
    size_t len;
    bool source;              /* text is the candidate byte for byte */
    enum kg_stage stop_after; /* KG_ST_PROFILE: run all */
    bool any_problem;         /* also one that is put aside (findings.h): it is being looked at */
    bool more; /* another is likely to follow in this worker: what it needs may be begun */
    const char *rewards;   /* comma-separated presets; NULL: the configuration's */
    const json_t *replay;  /* "private" of a record: repeat its verdict on those inputs; or NULL */
    const char *replay_id; /* id of that record; NULL where replay is */
};

/* What workers of the same configuration and device learn for each other. Lies in memory that they
 * share, all zero at first; the owner keeps it until the last of them is closed. */
struct kg_common {
    _Atomic double
        torch_null_half_width; /* of the device's null test, as a log ratio; 0: unknown */
    atomic_uint told;          /* what has been logged by one for all: kg_log_share */
};

/* Cores that this process may use, best first for timing: the highest number first, since core 0
 * takes most interrupts. Returns how many were stored. */
int kg_worker_cores(int *out, int cap);
/* cpu: the core it is pinned to; -1: none. cancelled: as long as it is not zero, what the worker
 * does ends within milliseconds with KG_E_CANCELLED; it outlives the worker, and a signal handler
 * may set it. NULL: nothing is ever cancelled. */
enum kg_code kg_worker_open(const struct kg_config *config, int cpu, const volatile int *cancelled,
                            struct kg_worker **out, struct kg_err *err) KG_MUST_USE;
/* Without it each worker learns all by itself. */
void kg_worker_share(struct kg_worker *w, struct kg_common *common);
void kg_worker_close(struct kg_worker *w);
/* Nothing is to be done at the moment: gives back what other processes wait for. */
void kg_worker_idle(struct kg_worker *w);
/* Forgets its problem and ends all of its processes: after a task that was cancelled, since what it
 * spoke to may have been interrupted in mid-sentence. */
void kg_worker_reset(struct kg_worker *w);
/* A folder of its own, removed when it is closed. */
const char *kg_worker_scratch(const struct kg_worker *w);
const char *kg_worker_compiler(const struct kg_worker *w); /* name and version, one line */
/* Always fills *out (initialised by the caller): a verdict, or an error recorded in it. */
void kg_eval(struct kg_worker *w, const struct kg_task *task, struct kg_record *out);
/* Hash of problem, bytes of the reply or, is_source, of the source, and resolved configuration:
 * equal inputs, equal hash. */
void kg_eval_input_sha256(const struct kg_config *c, const char *problem, size_t problem_len,
                          const char *text, size_t text_len, bool is_source,
                          char out[KG_SHA256_HEX]);
#endif
