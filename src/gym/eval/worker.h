/* Private to eval/ and the executors: what a worker holds between evaluations, and what one
 * evaluation carries from stage to stage. Only what every executor needs is here. What one executor
 * alone needs is its own part of a worker, or its own run of an evaluation; each is a pointer that
 * only that executor sets, follows and frees. */
#ifndef KG_GYM_EVAL_WORKER_H
#define KG_GYM_EVAL_WORKER_H

#include <sched.h>

#include "gym/build/cc.h"
#include "gym/eval/evaluate.h"
#include "gym/eval/paths.h"
#include "gym/reply/extract.h"
#include "gym/sandbox/sandbox.h"

#define KG_EXECUTORS_MAX 4

struct kg_executor;

struct kg_worker {
    struct kg_config config;
    struct kg_paths paths;
    int cpu;
    const volatile int *cancelled; /* not zero: end what is under way; never NULL */
    cpu_set_t allowed; /* cores that its process might use before it was pinned to that one */
    const struct kg_executor *executor; /* of the current problem; never NULL */
    void *part[KG_EXECUTORS_MAX];       /* of each row of the table; kg_worker_part() */
    struct kg_common *common;           /* with other workers, or NULL */
    struct kg_cc *cc;
    struct kg_scratch scratch;
    struct kg_rng rng; /* draws that no evaluation's key may predict */
    uint64_t evaluations;
};

struct kg_evaluation {
    struct kg_worker *w;
    const struct kg_task *task;
    struct kg_record *r;
    struct kg_key key;   /* secret of this evaluation */
    struct kg_rng rng;   /* its draws */
    int64_t deadline_ns; /* of the whole evaluation, monotonic */
    int64_t lost_ns;     /* kg_clock_lost_ns() that deadline_ns allows for already */
    const char *code;
    size_t code_len;
    bool built;        /* stage compile has passed: there is something to run */
    void *run;         /* of the executor of the problem, from its begin() to its stop() */
    bool lost;         /* its process was killed, and not by the gym: cause unknown */
    bool attached;     /* its code has run beside this judge and these references */
    bool judge_lost;   /* the judge died after that */
    bool memory;       /* what it died of may be that it found no memory */
    bool spoiled;      /* an error came after a failure that stays: the judge starts afresh */
    bool on_device;    /* what runs its code has a device's memory besides the host's */
    bool tight;        /* and that leaves a candidate less than it is owed */
    bool alone;        /* it must have the device to itself */
    bool shared;       /* other evaluations were on the device meanwhile */
    uint64_t compared; /* outputs compared so far */
    bool repeats_twin; /* of the last comparison */
};

enum kg_stage_result { KG_STAGE_PASS, KG_STAGE_FAIL, KG_STAGE_ERROR };

/* Where what was built is kept; "": nowhere. */
void kg_worker_cache(const struct kg_config *c, char *out, size_t cap);
/* What a worker lets go of: the current problem and its references; the judge, too; and what runs
 * no code of candidates (zygotes) as well. */
enum kg_forget { KG_FORGET_PROBLEM, KG_FORGET_JUDGE, KG_FORGET_ALL };

/* Stage extract, which all executors share. PASS, FAIL (the record has a verdict), ERROR (*err
 * filled). */
enum kg_stage_result kg_stage_extract(struct kg_evaluation *e, struct kg_err *err);

/* All stages once, from the problem on; what there was of the record's stages must be empty. */
enum kg_code kg_evaluation_attempt(struct kg_evaluation *e, struct kg_err *err) KG_MUST_USE;
/* The gym's own work since then (references, searches, queues) is not the candidate's time. */
void kg_evaluation_excuse(struct kg_evaluation *e, int64_t since_ns);
/* Moves the evaluation's deadline by the time for which this process stood still. */
void kg_evaluation_move(struct kg_evaluation *e);
/* Earlier of now + seconds and the evaluation's own deadline, moved like that. */
int64_t kg_evaluation_deadline(const struct kg_evaluation *e, double seconds);
/* Is its own time over? */
bool kg_evaluation_over(const struct kg_evaluation *e);

#endif
