/* Private to the PyTorch executor: what a worker keeps between candidates of one problem (zygotes,
 * judge, reference runner, cases with their expected answers), and what one evaluation holds.
 *
 * An instance is a problem at one set of its module-level constants: the published ones, a tiny
 * variant for Triton's interpreter, or another shape that is tried as a grade. Each has a
 * description, a reference runner, two sets of parameters and one case per law, with ids of the
 * judge of its own.
 */
#ifndef KG_GYM_TORCH_TORCH_H
#define KG_GYM_TORCH_TORCH_H

#include <string.h>

#include "gym/device/device_judge.h"
#include "gym/eval/executor.h"
#include "gym/timing/lease.h"
#include "gym/torch/judging/input_plan.h"
#include "gym/torch/problem/suite.h"
#include "gym/torch/problem/task.h"
#include "gym/torch/runner/pyrunner.h"

enum kg_instance_kind { KG_INSTANCE_PUBLISHED, KG_INSTANCE_TINY, KG_INSTANCE_SHAPE, KG_INSTANCES };
const char *kg_instance_name(enum kg_instance_kind kind); /* "published", "tiny", "shape" */

/* What the reference is measured by: itself in double; itself in float, where it does not run in
 * double, with what rounding the inputs does for its error; or itself and nothing else. */
enum kg_toracle { KG_TO_NONE, KG_TO_FP64, KG_TO_FP32, KG_TO_SELF };
const char *kg_toracle_name(enum kg_toracle o); /* "none", "fp64", "fp32", "self" */

/* The judge's case that is timed, and where in IN its tensors may lie: at one of so many places. */
#define KG_TORCH_TIMING_ID   (KG_DJ_CASES - 1)
#define KG_TORCH_PLACES      4
#define KG_TORCH_PLACE_BYTES 8192u

/* A runner and its port; the judge is the worker's. */
struct kg_trunner {
    struct kg_pyrunner runner;
    int port;
    uint64_t in_bytes, out_bytes; /* of its regions, as they were asked for */
    int64_t verified;             /* right answers that it gave at the published shape, untimed */
    char source[320];             /* its own file, which goes with it; "": another's */
    bool up;
    bool stopped; /* runner holds exit and output of one that was stopped */
};

struct kg_tcase {
    int id;       /* the judge's */
    int after_id; /* of the state after the call, where that is compared; -1 */
    enum kg_tlaw law;
    uint64_t seed;       /* of the draw: secret, a runner could draw the inputs again */
    struct kg_key key;   /* of the judge's laws */
    bool ready, applies; /* expected answers are there; the reference meets its own bound */
    double near;    /* how far rounding its inputs moves the answer, over the bound; 0: unknown */
    bool self;      /* no oracle but the reference itself, under the same seed */
    bool products;  /* league tf32: these are what its answer's error comes from */
    bool forced;    /* seed and key come from a record that is replayed */
    uint64_t asked; /* evaluations that it served */
};

struct kg_tinstance {
    enum kg_instance_kind kind;
    json_t *consts; /* {NAME: int}, NULL: as published; owned */
    struct kg_task_desc desc;
    bool described, ready;
    bool single;   /* the oracle is fp32: decided before any candidate is there */
    char why[200]; /* what it does in double instead of answering */
    struct kg_trunner ref;
    struct kg_key state_key[2]; /* of the two sets of parameters */
    bool state_made[2];
    int state_loaded; /* in the reference: 0, 1; -1 none */
    struct kg_tcase cases[KG_TL_COUNT];
};

struct kg_torch {
    struct kg_tproblem *problem;
    char device[32]; /* resolved: "cpu", "cuda:0" */
    char problem_file[320];
    char python[1024];          /* the zygotes' */
    struct kg_zygote zygote[2]; /* plain, interpreting Triton */
    bool zygote_up[2];
    struct kg_dj judge;
    bool judge_up;
    bool contexts_apart; /* until the end of this timing, whatever the configuration says */
    bool beside;         /* code of a candidate is there, which may take memory */
    bool shared;         /* and other evaluations are on the device, which do */
    struct kg_tinstance instance[KG_INSTANCES];
    bool no_tiny;            /* the problem has no tiny variant: it was looked for */
    struct kg_trunner null;  /* of timing, and of any problem: holds no code, answers KG_TC_NULL */
    struct kg_trunner spare; /* the next candidate's runner, with an empty source */
    struct kg_trunner after; /* the one after that, which has no context yet; of the same zygote */
    struct kg_trunner last[KG_INSTANCES]; /* of the problem before */
    bool spare_interprets;                /* it is of the second zygote */
    uint64_t sources;       /* files made for candidates so far: each has a name of its own */
    uint64_t spares, taken; /* begun, and of them become a candidate's */
    const struct kg_tinstance
        *quiet_of;                /* whose quiet set-up, K and error are known (pairs.h), or NULL */
    double quiet_k_ns;            /* median of null windows while no candidate was there */
    bool quiet_drawn, quiet_self; /* whose inputs, and whose oracle, that error is of */
    double null_half_width;       /* of the null test, as a log ratio; 0: not measured yet */
    struct kg_gpu *gpu;           /* of gpu.h, NULL: none, or not asked yet */
    json_t *gpu_facts;
    bool gpu_asked;
};

struct kg_torch_run {
    struct kg_lease device;        /* a place on it, or all of it */
    struct kg_tinstance *instance; /* the one that the candidate is up for */
    struct kg_trunner cand;
    bool interpret;         /* it imports triton, and there is no GPU */
    enum kg_toracle oracle; /* the weakest that a case of its has had */
    bool called;            /* its first call at this instance has been made */
    int state;              /* set of parameters that it holds */
    uint64_t stages;        /* cases compared so far */
    uint64_t peak;          /* of its allocator on a GPU, bytes: what its processes claim */
    json_t *asked;          /* for the record's `private`; borrowed */
    json_t *clocks;         /* as they were after its last pairs; NULL: not known */
    json_t *profile; /* its runners keep launch records: of LOAD's request; NULL: they do not */
    char builds[520], builds_key[KG_SHA256_HEX]; /* cache of what it builds, "": none; its key */
    bool builds_kept;                            /* there is an entry, or there shall be none */
};

extern const struct kg_executor kg_executor_torch;

/* NULL: the worker has judged no PyTorch problem yet. */
static inline struct kg_torch *kg_torch_of(const struct kg_worker *w)
{
    return kg_worker_part(w, &kg_executor_torch);
}

static inline struct kg_torch_run *kg_torch_run_of(const struct kg_evaluation *e)
{
    return e->run;
}

/* Modules are run as KernelBench runs them (kernelbench.h). */
static inline bool kg_torch_compat(const struct kg_worker *w)
{
    return w->config.protocol == KG_PROTOCOL_KERNELBENCH;
}

/* The league: products whose operands are TF32 are right. */
static inline bool kg_torch_tf32(const struct kg_worker *w)
{
    return strcmp(w->config.precision, "tf32") == 0 && !kg_torch_compat(w);
}

/* The reference's error is what it answers to inputs, and by operations, that are off (KG_TF_NEAR),
 * not how far its answer is from its oracle's. */
static inline bool kg_tinstance_off(const struct kg_worker *w, const struct kg_tinstance *s)
{
    return s->single || kg_torch_tf32(w);
}

/* --- worker.c: the device, zygotes, the judge --- */
enum kg_code kg_torch_open(struct kg_worker *w, struct kg_err *err) KG_MUST_USE; /* its part */
enum kg_code kg_torch_zygote(struct kg_worker *w, bool interpret, struct kg_zygote **out,
                             struct kg_err *err) KG_MUST_USE;
/* On a GPU the judge looks for answers all the time, so it must not share the runners' core: the
 * one half of the allowed ones further. cpu where there is no other, or it is none of them. */
int kg_torch_across(const cpu_set_t *allowed, int cpu);
enum kg_code kg_torch_judge(struct kg_worker *w, struct kg_err *err) KG_MUST_USE;
/* The plain zygote and the judge, which start side by side; of two errors the zygote's. */
enum kg_code kg_torch_start(struct kg_worker *w, struct kg_err *err) KG_MUST_USE;
void kg_torch_forget(struct kg_worker *w, enum kg_forget what);
void kg_torch_close(struct kg_worker *w);
/* The current problem, for another of this executor's: a spare runner, which knows of none, stays.
 * Its own runners wait for kg_torch_end_last(), which whoever boots next calls meanwhile. */
void kg_torch_leave(struct kg_worker *w);
void kg_torch_end_last(struct kg_worker *w);
bool kg_torch_on_cpu(const struct kg_worker *w);
/* The device that this configuration means: for `auto` cuda:0 where the driver's control device is
 * there, else cpu. Whether it works is the judge's to find out. */
const char *kg_torch_device(const struct kg_config *c);
/* For times that count: nothing of this worker's boots, and with exclusive the device is its alone.
 * The caller gives it back whether it got it or not. */
enum kg_code kg_torch_take_device(struct kg_worker *w, bool exclusive, struct kg_lease *out,
                                  struct kg_err *err) KG_MUST_USE;
void kg_torch_give_device(struct kg_worker *w, struct kg_lease *l);
/* For a context that is made or ended, which is felt by whoever is timed there (docs/gpu.md: how
 * much). *l may hold nothing after it: what is the worker's already is not asked for twice. */
enum kg_code kg_torch_device_acquire(struct kg_worker *w, struct kg_lease *l,
                                     struct kg_err *err) KG_MUST_USE;
void kg_torch_device_release(struct kg_worker *w, struct kg_lease *l);

/* --- side.c: runners with a port each --- */
/* A fresh runner of the source file on a new port. */
enum kg_code kg_trunner_start(struct kg_worker *w, bool interpret, const char *source,
                              uint64_t in_bytes, uint64_t out_bytes, struct kg_trunner *out,
                              struct kg_err *err) KG_MUST_USE;
/* Its two halves, for a judge and a zygote that are up: a port, and a runner that has not touched
 * the device; then, in its turn and while nobody is timed, it makes its context, is READY, and the
 * judge watches it. A side that does not get there is stopped. */
enum kg_code kg_trunner_begin(struct kg_worker *w, struct kg_zygote *z, const char *source,
                              uint64_t in_bytes, uint64_t out_bytes, struct kg_trunner *out,
                              struct kg_err *err) KG_MUST_USE;
enum kg_code kg_trunner_ready(struct kg_worker *w, struct kg_trunner *s,
                              struct kg_err *err) KG_MUST_USE;
/* The second half in two: it makes its context from boot on, and the caller may use the device
 * until booted, but not wait for it. */
struct kg_tboot {
    struct kg_lease turn, device;
    int64_t since_ns;
};
enum kg_code kg_trunner_boot(struct kg_worker *w, struct kg_trunner *s, struct kg_tboot *boot,
                             struct kg_err *err) KG_MUST_USE;
enum kg_code kg_trunner_booted(struct kg_worker *w, struct kg_trunner *s, struct kg_tboot *boot,
                               struct kg_err *err) KG_MUST_USE;
/* So much of its OUT from now on, until the next time: before it builds a module. */
enum kg_code kg_trunner_use(struct kg_worker *w, const struct kg_trunner *s, uint64_t out_bytes,
                            struct kg_err *err) KG_MUST_USE;
void kg_trunner_stop(struct kg_worker *w, struct kg_trunner *s); /* idempotent */

/* --- spare.c: runners of candidates --- */
/* One that holds this text: the spare, where there is one that fits, else a fresh one. The text is
 * in a file of its own that no other runner is shown. */
enum kg_code kg_tspare_take(struct kg_worker *w, bool interpret, const char *text, size_t len,
                            uint64_t in_bytes, uint64_t out_bytes, struct kg_trunner *out,
                            struct kg_err *err) KG_MUST_USE;
/* The next one begins to boot, where `torch.spare` has it so, there is none yet, and all that it
 * needs is up. Nothing depends on it: what fails here is told to whoever wants a runner. */
void kg_tspare_begin(struct kg_worker *w, bool interpret, uint64_t in_bytes, uint64_t out_bytes);
/* Ends this one, and where the spare waits for its turn to make its context it does so meanwhile,
 * until followed, which waits for it: neither delays the other, nor what is done in between. While
 * it waits it begins the one after that, if asked to: a worker that would do so later waits for
 * whoever is timed first. */
struct kg_tfollow {
    bool ahead; /* in: one more will be needed */
    bool boots; /* the spare does */
    struct kg_tboot boot;
};
void kg_tspare_follow(struct kg_worker *w, struct kg_trunner *last, struct kg_tfollow *f);
void kg_tspare_followed(struct kg_worker *w, struct kg_tfollow *f);
/* Until it has booted: before a device is measured, and nothing else may be at work there. */
void kg_tspare_settle(struct kg_worker *w);
void kg_tspare_drop(struct kg_worker *w); /* idempotent */
/* Regions for a runner that may serve other problems, too: on a GPU larger than these. answers:
 * false for one that gives none. */
void kg_tspare_regions(const struct kg_worker *w, bool answers, uint64_t *in_bytes,
                       uint64_t *out_bytes);

/* --- builds.c: what a candidate's compilers make --- */
/* Where the evaluation finds and keeps it; before its first runner. */
void kg_tbuilds_open(struct kg_evaluation *e);
/* Into the /tmp of the candidate's runner, which holds no code yet. */
void kg_tbuilds_restore(struct kg_evaluation *e);
/* A descriptor of that /tmp, which outlives the runner; -1: the stage compile has not passed, the
 * runner is at work or dead, or something is kept already. */
int kg_tbuilds_hold(const struct kg_evaluation *e);
/* From there, when the runner has ended; takes the descriptor. A cache that fails costs time only.
 */
void kg_tbuilds_keep(struct kg_evaluation *e, int tmp);

/* --- instance.c: the reference --- */
/* Described, built, parameters loaded. Errors are the problem's, the host's or the gym's. */
enum kg_code kg_tinstance_open(struct kg_worker *w, struct kg_tinstance *s,
                               struct kg_err *err) KG_MUST_USE;
/* Only the description, with these constants, in the instance's reference runner. KG_E_PROBLEM: its
 * code does not take them. */
enum kg_code kg_tinstance_describe(struct kg_worker *w, struct kg_tinstance *s,
                                   const json_t *consts, bool run, struct kg_task_desc *out,
                                   struct kg_err *err) KG_MUST_USE;
/* {init, kwargs, inputs}: how a candidate is constructed and called. New reference. */
json_t *kg_tinstance_build_request(const struct kg_task_desc *d);
void kg_tinstance_close(struct kg_worker *w, struct kg_tinstance *s);
/* The judge's id of a set of parameters, made when first asked for. */
enum kg_code kg_tinstance_state(struct kg_worker *w, struct kg_tinstance *s, int set, int *id,
                                struct kg_err *err) KG_MUST_USE;
/* A fresh module in the instance's reference, which is up, and in *reply the `seeds` of so many
 * trials (KernelBench's procedure). The caller owns *reply. */
enum kg_code kg_tinstance_rebuild(struct kg_worker *w, struct kg_tinstance *s, int64_t trials,
                                  json_t **reply, struct kg_err *err) KG_MUST_USE;
/* Bytes of IN and OUT that every command of the instance fits into. */
void kg_tinstance_regions(const struct kg_worker *w, const struct kg_tinstance *s, bool wide,
                          uint64_t *in, uint64_t *out);
/* Those of a null runner, of whose OUT as much is looked at as an answer has. */
void kg_tinstance_null_regions(const struct kg_tinstance *s, uint64_t *in, uint64_t *out);

/* --- cases.c --- */
/* A case of this law with its expected answers; *out->applies tells whether it may be asked. */
enum kg_code kg_tcase_ready(struct kg_worker *w, struct kg_tinstance *s, enum kg_tlaw law,
                            struct kg_tcase **out, struct kg_err *err) KG_MUST_USE;
/* Which laws' cases are there; of those that are drawn, one that has served enough is forgotten. */
void kg_tcases_kept(struct kg_worker *w, struct kg_tinstance *s, bool kept[KG_TL_COUNT]);
/* Wrong, but in so few elements, and by so little, as an honest kernel's other order of operations
 * would be at inputs where rounding them moves the answer: nothing is held against the candidate.
 */
bool kg_tcase_lets_off(const struct kg_tcase *c, const struct kg_dj_judgement *j);
/* The seed of both sides' calls: follows from the draw's and tells nothing about it. */
uint64_t kg_tcase_call_seed(const struct kg_tcase *c);
/* What became of a command to a reference that should have been answered well. KG_OK, or an error
 * that blames the problem, the host or the gym. */
enum kg_code kg_treference_check(struct kg_worker *w, struct kg_trunner *ref, const char *what,
                                 const struct kg_dj_report *rep, struct kg_err *err) KG_MUST_USE;

/* --- shapes.c --- */
/* What Triton's interpreter has to go through, in elements. */
uint64_t kg_tshapes_size(const struct kg_task_desc *d);
/* The instance gets constants that bring that down to most; KG_E_PROBLEM: none were found. */
enum kg_code kg_tshapes_tiny(struct kg_worker *w, struct kg_tinstance *s, int64_t most,
                             struct kg_err *err) KG_MUST_USE;
/* The instance gets another shape than base's that the problem takes, smaller or (grow) up to four
 * times as large; false: none was found. */
bool kg_tshapes_other(struct kg_worker *w, const struct kg_tinstance *base, struct kg_tinstance *s,
                      bool grow, struct kg_rng *rng);
/* shape_generality: the share of other shapes, `torch.shapes` of them, at which the candidate is
 * right too. A grade: the verdict stays, unless `torch.shapes_gate`. */
enum kg_stage_result kg_tshapes_grade(struct kg_evaluation *e, struct kg_err *err);

/* One command with data to the instance's reference, which must do it; what: for the message. */
enum kg_code kg_treference_ask(struct kg_worker *w, struct kg_tinstance *s, struct kg_dj_call call,
                               const char *what, struct kg_dj_report *rep,
                               struct kg_err *err) KG_MUST_USE;

/* --- executor.c --- */
/* From a place among other evaluations on the device to the device alone, once they have ended;
 * waiting is not the candidate's time. */
enum kg_code kg_tdevice_alone(struct kg_evaluation *e, struct kg_err *err) KG_MUST_USE;

/* --- candidate.c --- */
/* The gym's own work since then (references, searches) is not the candidate's time. */
void kg_tevaluation_excuse(struct kg_evaluation *e, int64_t since_ns);
enum kg_stage_result kg_tcandidate_start(struct kg_evaluation *e, struct kg_tinstance *s,
                                         enum kg_stage stage, struct kg_err *err);
/* The same, with the first set of parameters whatever it has been asked before. */
enum kg_stage_result kg_tcandidate_again(struct kg_evaluation *e, struct kg_tinstance *s,
                                         enum kg_stage stage, struct kg_err *err);
void kg_tcandidate_stop(struct kg_evaluation *e);
/* The same in two: until kg_tspare_followed() the next one's context is made (kg_tspare_follow). */
void kg_tcandidate_leave(struct kg_evaluation *e, struct kg_tfollow *f);
/* Until when a call may take, the first at a shape longer. */
int64_t kg_tcandidate_deadline(const struct kg_evaluation *e);
/* One command with data; a candidate that did not do it has a verdict, and is stopped. */
enum kg_stage_result kg_tcandidate_ask(struct kg_evaluation *e, const struct kg_dj_call *call,
                                       enum kg_stage stage, struct kg_dj_report *rep,
                                       struct kg_err *err);
enum kg_stage_result kg_tcandidate_load(struct kg_evaluation *e, int set, enum kg_stage stage,
                                        struct kg_err *err);
/* One case through candidate and judge. */
enum kg_stage_result kg_tcandidate_case(struct kg_evaluation *e, struct kg_tinstance *s,
                                        enum kg_tlaw law, enum kg_stage stage, struct kg_err *err);

/* --- precision.c --- */
enum kg_toracle kg_tcase_oracle(const struct kg_tinstance *s, const struct kg_tcase *c);
/* Where the probe was asked in the league tf32: is the answer's error one that its products'
 * operands make, and not a narrower type's? True elsewhere. */
bool kg_tprecision_holds(const struct kg_worker *w, const struct kg_tcase *c,
                         const struct kg_dj_judgement *j);

/* --- replay.c --- */
/* What a record needs to be replayed, under `private`: keys of the parameters, and cases. */
json_t *kg_treplay_parameters(const struct kg_tinstance *s);
json_t *kg_treplay_case(const struct kg_tinstance *s, const struct kg_tcase *c);
/* From there: the instance's next parameters, and its next case of the law that the entry names. */
enum kg_code kg_treplay_take_parameters(struct kg_worker *w, struct kg_tinstance *s,
                                        const json_t *parameters, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_treplay_take_case(struct kg_tinstance *s, const json_t *entry, enum kg_tlaw *law,
                                  struct kg_err *err) KG_MUST_USE;

/* --- outcome.c: verdicts --- */
/* From an answer that was no plain "done" to a command without data, or to one with data. FAIL: the
 * record has a verdict. ERROR: it needs a GPU. */
enum kg_stage_result kg_toutcome_command(struct kg_evaluation *e, enum kg_tcommand command,
                                         enum kg_stage stage, const struct kg_pyanswer *a,
                                         struct kg_err *err);
enum kg_stage_result kg_toutcome_call(struct kg_evaluation *e, enum kg_tcommand command,
                                      enum kg_stage stage, const struct kg_dj_report *rep,
                                      struct kg_err *err);
/* From what the judge saw round a call, and from its comparison. */
enum kg_stage_result kg_toutcome_case(struct kg_evaluation *e, const struct kg_tinstance *s,
                                      const struct kg_tcase *c, const struct kg_dj_report *rep,
                                      const struct kg_dj_judgement *j);
/* The same of the state that a call has left. */
enum kg_stage_result kg_toutcome_state(struct kg_evaluation *e, const struct kg_tinstance *s,
                                       const struct kg_tcase *c, const struct kg_dj_report *rep,
                                       const struct kg_dj_judgement *j);

/* --- stages.c --- */
enum kg_stage_result kg_tstage_static(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_tstage_compile(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_tstage_tiny(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_tstage_full(struct kg_evaluation *e, struct kg_err *err);
enum kg_stage_result kg_tstage_timing(struct kg_evaluation *e, struct kg_err *err);
/* Before a worker's first candidate of an instance is there, what timing would have to end its
 * process for: how long the judge's copies take on a quiet device. Where that fails, timing says
 * why. */
void kg_tstage_timing_ahead(struct kg_evaluation *e, struct kg_tinstance *instance);
enum kg_stage_result kg_tstage_profile(struct kg_evaluation *e, struct kg_err *err);

/* --- onboard.c --- */
enum kg_code kg_tonboard(struct kg_worker *w, const char *path, struct kg_onboard *out,
                         struct kg_err *err) KG_MUST_USE;

#endif
