/* Private to the executors: what a worker holds between evaluations, and what one evaluation
 * carries from stage to stage. */
#ifndef KG_GYM_EVAL_WORKER_H
#define KG_GYM_EVAL_WORKER_H

#include <sched.h>

#include "gym/build/cc.h"
#include "gym/eval/evaluate.h"
#include "gym/eval/paths.h"
#include "gym/judge/judge.h"
#include "gym/native/case_pool.h"
#include "gym/reply/extract.h"
#include "gym/run/runner.h"
#include "gym/timing/lease.h"

/* What is kept of a problem while others are judged: built references and the pool. */
struct kg_kept {
    char sha256[KG_SHA256_HEX]; /* "": unused */
    char object_float[320], object_double[320];
    struct kg_case_pool pool;
    uint64_t used; /* evaluation at which it was current */
};
#define KG_KEPT_PROBLEMS 32

struct kg_executor;
struct kg_torch;
struct kg_torch_run;

struct kg_worker {
    struct kg_config config;
    struct kg_paths paths;
    int cpu;
    const volatile int *cancelled; /* not zero: end what is under way; never NULL */
    cpu_set_t allowed; /* cores that its process might use before it was pinned to that one */
    const struct kg_executor *executor; /* of the current problem; never NULL */
    struct kg_torch *torch;             /* the PyTorch executor's part, or NULL */
    struct kg_common *common;           /* with other workers, or NULL */
    /* what follows but scratch, rng and evaluations is the C executor's */
    struct kg_cc *cc;
    struct kg_scratch scratch;
    struct kg_judge judge;
    bool judge_open;
    struct kg_problem *problem; /* the current one, or NULL */
    char object_float[320], object_double[320];
    struct kg_runner ref, oracle; /* of the current problem */
    bool ref_up, oracle_up;
    struct kg_case_pool pool; /* of the current problem */
    struct kg_kept kept[KG_KEPT_PROBLEMS];
    struct kg_rng rng; /* draws of the pool that no evaluation's key may predict */
    uint64_t evaluations;
    double null_half_width; /* of the null test, as a log ratio; 0: not measured yet */
};

struct kg_evaluation {
    struct kg_worker *w;
    const struct kg_task *task;
    struct kg_record *r;
    struct kg_key key;   /* secret of this evaluation */
    struct kg_rng rng;   /* its draws */
    int64_t deadline_ns; /* of the whole evaluation, monotonic */
    const char *code;
    size_t code_len;
    bool built;                 /* stage compile has passed: there is something to run */
    struct kg_torch_run *torch; /* the PyTorch executor's part, or NULL */
    /* the C executor's */
    char object[320];      /* the candidate's */
    struct kg_runner cand; /* of the stages tiny and full */
    bool cand_up;
    bool default_passed; /* a case at the default shape has passed */
    bool lost;           /* its process was killed, and not by the gym: cause unknown */
    bool attached;       /* its code has run beside this judge and these references */
    bool judge_lost;     /* the judge died after that */
    bool on_device;      /* what runs its code has a device's memory besides the host's */
    bool alone;          /* it must have the device to itself */
    bool shared;         /* other evaluations were on the device meanwhile */
    struct kg_lease device;
    uint64_t compared; /* outputs compared so far */
    bool repeats_twin; /* of the last comparison */
};

enum kg_stage_result { KG_STAGE_PASS, KG_STAGE_FAIL, KG_STAGE_ERROR };

/* Make problem the worker's current one: parse, build both references (or take those that are
 * kept), open the judge. A problem that is current already (same bytes) costs a hash. */
enum kg_code kg_worker_problem(struct kg_worker *w, const char *name,
                               struct kg_err *err) KG_MUST_USE;
/* Where what was built is kept; "": nowhere. */
void kg_worker_cache(const struct kg_config *c, char *out, size_t cap);
/* kg_cc_build in dir, emptied first. A compiler that ended at a limit without a word may have been
 * killed by the host: it is asked once more before that counts. */
enum kg_code kg_worker_build(struct kg_worker *w, enum kg_cc_kind kind, const char *source,
                             size_t len, const char *dir, struct kg_cc_result *out,
                             struct kg_err *err) KG_MUST_USE;
/* KG_E_GYM when the object is gone (a cache that was emptied): trying again builds it. */
enum kg_code kg_worker_check_built(const char *object, struct kg_err *err) KG_MUST_USE;
/* Both reference runners up: started when first needed, and again where they died. */
enum kg_code kg_worker_references(struct kg_worker *w, struct kg_err *err) KG_MUST_USE;
/* What a worker lets go of: the current problem and its references; the judge, too; and what runs
 * no code of candidates (zygotes) as well. */
enum kg_forget { KG_FORGET_PROBLEM, KG_FORGET_JUDGE, KG_FORGET_ALL };
void kg_worker_forget(struct kg_worker *w, enum kg_forget what);
void kg_worker_runner_spec(const struct kg_worker *w, const char *object, bool wide,
                           struct kg_runner_spec *out);
/* Sizes of the regions that every case of the problem fits into. */
enum kg_code kg_worker_region_sizes(const struct kg_problem *p, size_t *in, size_t *out,
                                    struct kg_err *err) KG_MUST_USE;

/* The stages. PASS, FAIL (the record has a verdict), ERROR (*err filled). */
enum kg_stage_result kg_stage_extract(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_stage_static(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_stage_compile(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_stage_tiny(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_stage_full(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_stage_timing(struct kg_evaluation *e, struct kg_err *err);

/* All stages once, from the problem on; what there was of the record's stages must be empty. */
enum kg_code kg_evaluation_attempt(struct kg_evaluation *e, struct kg_err *err) KG_MUST_USE;

/* The candidate's runner for tiny and full. */
enum kg_stage_result kg_candidate_start(struct kg_evaluation *e, enum kg_stage stage,
                                        struct kg_err *err);
void kg_candidate_stop(struct kg_evaluation *e);
/* One case through the candidate and the judge. */
enum kg_stage_result kg_candidate_case(struct kg_evaluation *e, enum kg_stage stage,
                                       struct kg_pooled_case *c, struct kg_err *err);

/* The same inputs without the edit, verified like any other case. */
enum kg_stage_result kg_candidate_twin(struct kg_evaluation *e, enum kg_stage stage,
                                       struct kg_pooled_case *edited, struct kg_err *err);

/* From what a runner did to a verdict (crash, timeout, out_of_memory, wrong by fault address). */
void kg_verdict_of_run(struct kg_evaluation *e, enum kg_stage stage, const struct kg_runner *runner,
                       enum kg_run_status status);
/* From a failed comparison to a verdict. */
void kg_verdict_of_case(struct kg_evaluation *e, const struct kg_pooled_case *c,
                        const struct kg_take_report *take, const struct kg_judgement *j);
/* Earlier of now + seconds and the evaluation's own deadline. */
int64_t kg_evaluation_deadline(const struct kg_evaluation *e, double seconds);

#endif
