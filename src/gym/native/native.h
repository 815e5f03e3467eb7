/* Private to native/: what the C executor keeps of a worker between candidates of one problem
 * (references, judge, pool of inputs), and what it holds during one evaluation. */
#ifndef KG_GYM_NATIVE_NATIVE_H
#define KG_GYM_NATIVE_NATIVE_H

#include "gym/eval/executor.h"
#include "gym/judge/judge.h"
#include "gym/native/case_pool.h"
#include "gym/native/native_coverage.h"
#include "gym/run/runner.h"
#include "gym/timing/pairs.h"

/* What is kept of a problem while others are judged: built references and the pool. */
struct kg_native_kept {
    char sha256[KG_SHA256_HEX]; /* "": unused */
    char object_float[320], object_double[320];
    struct kg_case_pool pool;
    uint64_t used; /* evaluation at which it was current */
};
#define KG_NATIVE_KEPT       32
#define KG_NATIVE_KEPT_CPU_S 3600 /* CPU seconds of a runner that is kept */

struct kg_native {
    struct kg_judge judge;
    bool judge_open;
    struct kg_problem *problem; /* the current one, or NULL */
    char object_float[320], object_double[320];
    /* Of the current problem. null: used where timing keeps its runners. */
    struct kg_pairs_own own;
    struct kg_case_pool pool; /* of the current problem */
    struct kg_native_kept kept[KG_NATIVE_KEPT];
    double null_half_width; /* of the null test, as a log ratio; 0: not measured yet */
    int64_t least_k_ns[2];  /* of its core, warm and cold (kg_native_least_k); 0: none yet */
};

/* Some windows of the pairs that timing measured, K included; n 0: none. */
struct kg_native_timed {
    struct kg_coverage_times reference, candidate;
};

struct kg_native_run {
    char object[320];      /* the candidate's */
    struct kg_handle cand; /* of the stages tiny and full */
    bool default_passed;   /* a case at the default shape has passed */
    struct kg_native_timed timed;
    bool calls_library; /* the object imports operators of kgops */
    bool loads_code;    /* it imports the loader's functions, and no operator */
    bool alone;         /* it is known to import neither */
};

extern const struct kg_executor kg_executor_native;

/* NULL: the worker has judged no C problem yet. */
static inline struct kg_native *kg_native_of(const struct kg_worker *w)
{
    return kg_worker_part(w, &kg_executor_native);
}

static inline struct kg_native_run *kg_native_run_of(const struct kg_evaluation *e)
{
    return e->run;
}

/* --- references.c: the current problem --- */
/* Make problem the worker's current one: parse, build both references (or take those that are
 * kept), open the judge. A problem that is current already (same bytes) costs a hash. */
enum kg_code kg_native_problem(struct kg_worker *w, const char *name,
                               struct kg_err *err) KG_MUST_USE;
/* KG_E_GYM when the object is gone (a cache that was emptied): trying again builds it. */
enum kg_code kg_native_check_built(const char *object, struct kg_err *err) KG_MUST_USE;
/* Both reference runners up: started when first needed, and again where they died. */
enum kg_code kg_native_references(struct kg_worker *w, struct kg_err *err) KG_MUST_USE;
void kg_native_forget(struct kg_worker *w, enum kg_forget what);
/* The inputs that were drawn for a problem so far: what comes next is drawn anew. sha256: of the
 * problem, current or kept. */
void kg_native_forget_cases(struct kg_worker *w, const char *sha256);
void kg_native_close(struct kg_worker *w);

/* --- native_build.c --- */
/* kg_cc_build in dir, emptied first. A compiler that was killed, or ended at a limit without a
 * word, may have met the host's want of memory: it is asked once more before that counts. */
enum kg_code kg_native_build(struct kg_worker *w, enum kg_cc_kind kind, const char *source,
                             size_t len, const char *dir, struct kg_cc_result *out,
                             struct kg_err *err) KG_MUST_USE;
void kg_native_runner_spec(const struct kg_worker *w, const char *object, bool wide,
                           struct kg_runner_spec *out);

/* The candidate's runner. An object that imports no operator of kgops, nor the loader's functions,
 * gets the library that computes nothing: it can't reach the other one, whatever it searches. */
void kg_native_candidate_spec(const struct kg_evaluation *e, struct kg_runner_spec *out);

/* --- the stages: PASS, FAIL (the record has a verdict), ERROR (*err filled) --- */
enum kg_stage_result kg_native_stage_static(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_native_stage_compile(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_native_stage_tiny(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_native_stage_full(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_native_stage_timing(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_native_stage_profile(struct kg_evaluation *e, struct kg_err *err);

/* The least K of the worker's core in ns, with that of all workers of this host; 0: none is known.
 * ns: what the timing protocol measured just now, which others learn too; 0: nothing. cold: with
 * cold buffers. */
int64_t kg_native_least_k(struct kg_worker *w, bool cold, int64_t ns);

/* --- native_candidate.c --- */
void kg_native_candidate_stop(struct kg_evaluation *e);
/* Keeps what a stopped candidate printed, and its memory. */
void kg_native_candidate_keep(struct kg_evaluation *e);
/* One case through the candidate and the judge. */
enum kg_stage_result kg_native_candidate_case(struct kg_evaluation *e, enum kg_stage stage,
                                              struct kg_pooled_case *c, struct kg_err *err);
/* The same inputs without the edit, verified like any other case. */
enum kg_stage_result kg_native_candidate_twin(struct kg_evaluation *e, enum kg_stage stage,
                                              struct kg_pooled_case *edited, struct kg_err *err);

/* --- native_delegation.c --- */
/* What the candidate's object imports: operators of kgops, or the loader's functions. Operators
 * that the source's own words did not show are noted as its calls are. */
enum kg_code kg_native_read_imports(struct kg_evaluation *e, struct kg_err *err) KG_MUST_USE;
/* A right candidate that may load code: does its answer need the library? Asked in a process where
 * kgops computes nothing, and noted as a call is. Cost: a process start and a few calls; nothing
 * for objects that load no code. */
enum kg_code kg_native_note_loaded(struct kg_evaluation *e, struct kg_err *err) KG_MUST_USE;

/* --- native_verdicts.c --- */
/* From what a runner did to a verdict (crash, timeout, out_of_memory, wrong by fault address). */
void kg_native_verdict_of_run(struct kg_evaluation *e, enum kg_stage stage,
                              const struct kg_runner *runner, enum kg_run_status status);
/* From a failed comparison to a verdict. */
void kg_native_verdict_of_case(struct kg_evaluation *e, const struct kg_pooled_case *c,
                               const struct kg_take_report *take, const struct kg_judgement *j);

/* --- native_onboard.c --- */
enum kg_code kg_native_onboard(struct kg_worker *w, const char *path, struct kg_onboard *out,
                               struct kg_err *err) KG_MUST_USE;

#endif
