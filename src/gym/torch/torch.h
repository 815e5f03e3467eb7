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
#include "gym/timing/ledger.h"
#include "gym/torch/problem/input_plan.h"
#include "gym/torch/problem/suite.h"
#include "gym/torch/problem/task.h"
#include "gym/torch/process/pyrunner.h"

enum kg_instance_kind { KG_INSTANCE_PUBLISHED, KG_INSTANCE_TINY, KG_INSTANCE_SHAPE, KG_INSTANCES };

/* What the reference is measured by: itself in double; itself in float, where it does not run in
 * double, with what rounding the inputs does for its error; or itself and nothing else. */
enum kg_toracle { KG_TO_NONE, KG_TO_FP64, KG_TO_FP32, KG_TO_SELF };

/* Ids of the judge's cases. Part p of a list of state has the id of its part 0 and so many times p
 * (judging/state_parts.h). */
#define KG_TORCH_CASES 192

/* The judge's case that is timed, that of the state which a timed call leaves, and where in IN its
 * tensors may lie: at one of so many places. */
#define KG_TORCH_TIMING_ID   (KG_TORCH_CASES - 1)
#define KG_TORCH_LEFT_ID     (KG_TORCH_CASES - 2)
#define KG_TORCH_PLACES      4
#define KG_TORCH_PLACE_BYTES 8192u

/* A runner and its port; the judge is the worker's. */
struct kg_trunner {
    struct kg_pyrunner runner;
    int port;
    uint64_t in_bytes, out_bytes; /* of its regions, as they were asked for */
    int64_t verified;             /* right answers that it gave at the published shape, untimed */
    double own_ns;                /* of an empty call that was launched ahead; 0: not known */
    char source[320];             /* its own file, which goes with it; "": another's */
    bool up;
    bool stopped; /* runner holds exit and output of one that was stopped */
};

struct kg_tcase {
    int id;                       /* the judge's */
    int after_id;                 /* of the state after the call, where that is compared; -1 */
    int written_id, unwritten_id; /* of inputs that the reference writes to, after and before; -1 */
    enum kg_tlaw law;
    uint64_t seed;       /* of the draw: secret, a runner could draw the inputs again */
    struct kg_key key;   /* of the judge's laws */
    bool ready, applies; /* expected answers are there; the reference meets its own bound */
    bool after;          /* and so does the state after the call: it is compared */
    double near;         /* how far rounding its inputs moves the answer, over the bound; 0:
                            unknown */
    bool self;           /* no oracle but the reference itself, under the same seed */
    bool products;       /* league tf32: these are what its answer's error comes from */
    bool forced;         /* seed and key come from a record that is replayed */
    bool chooses_not;    /* a call has shown: no discrete choice is in the reference's answer */
    uint64_t asked;      /* evaluations that it served */
    uint64_t used; /* number of its last use: the least is forgotten first where memory is short */
    uint64_t ever; /* and those before it under this law */
};

struct kg_tinstance {
    enum kg_instance_kind kind;
    json_t *consts; /* {NAME: int}, NULL: as published; owned */
    struct kg_task_desc desc;
    bool described, ready;
    bool chooses;  /* a call has shown: the reference makes discrete choices */
    bool single;   /* the oracle is fp32: decided before any candidate is there */
    bool narrows;  /* its oracle left out casts to narrow types (the harness's unrounded.py) */
    bool carries;  /* the oracle carries them out: what they do to the answer is too much */
    bool rare;     /* a few elements of answers to its own inputs may be further off (KG_DJ_RARE) */
    int slices;    /* in which the oracle works, where memory is short; 0: as a whole */
    bool whole;    /* it was shown that it cannot */
    char why[200]; /* what it does in double instead of answering */
    struct kg_trunner ref;
    struct kg_key state_key[2]; /* of the two sets of parameters */
    bool state_made[2];
    int state_loaded;   /* in the reference: 0, 1; -1 none */
    int edited, needed; /* elements of the inputs that were edited (timing/torch_floor.h), and those
                           that changed the answer; 0: not asked, -1: it can't be told */
    struct kg_tcase cases[KG_TL_COUNT];
};

/* How much of a device's memory an evaluation takes, from all that is comfortable downwards. */
enum kg_tmemory_rung {
    KG_TM_NONE,     /* nothing was planned */
    KG_TM_RESIDENT, /* all cases stay with the judge */
    KG_TM_ONE,      /* cases are made anew where there is no room */
    KG_TM_SLICED,   /* and the oracle works in slices */
    KG_TM_HOSTED,   /* and the host keeps its answers */
    KG_TM_SINGLE,   /* the oracle is in float, on the device as a whole */
    KG_TM_LAST,     /* and the host keeps its answers */
    KG_TM_RUNGS
};

/* The worker's part of the device's memory (judging/memory.h). */
struct kg_tmemory {
    struct kg_ledger ledger;
    bool open;         /* the ledger */
    int64_t used_ns;   /* end of the last evaluation */
    int64_t wanted_ns; /* since when somebody has been seen to wait; 0: nobody */
    uint64_t left;     /* bytes that the judge found free when no other job had any; 0: none did */
    uint64_t capacity; /* bytes that all jobs may take together */
    uint64_t judge;    /* most that the judge may hold; bytes of one case with its answers */
    uint64_t one_case;
    uint64_t lacks; /* bytes that a candidate is owed and does not get; what timing needs */
    uint64_t timed;
    enum kg_tmemory_rung rung;
};

/* A runner that makes its context (kg_trunner_boot). */
struct kg_tboot {
    struct kg_lease turn, device;
    bool apart; /* nobody is timed until it is made */
    int64_t since_ns;
};

/* Tests only: what is made up where there is no device for it. */
struct kg_torch_test {
    bool times_anywhere;    /* the stage timing runs though windows are no times there */
    bool profiles_anywhere; /* the stage profile, too */
    bool orders_anywhere;   /* calls are asked in order though there is no stream */
    bool draws_anywhere;    /* inputs are drawn on the device, though that is the CPU */
    bool spread;            /* the rule about K's spread holds there */
    bool shared;            /* evaluations share the device, or have it alone, as they do a GPU */
    int64_t series;         /* calls before those that count in a profile; 0: drawn */
    /* In place of kg_dj_run in timing, of kg_dj_start, and of a runner's answer to PROFILE; NULL:
     * those. */
    enum kg_code (*run)(struct kg_dj *j, const struct kg_dj_call *c, struct kg_dj_report *out,
                        struct kg_err *err);
    enum kg_code (*start)(const struct kg_dj_spec *spec, struct kg_dj *out, struct kg_err *err);
    /* Told after each call of a candidate in timing: its inputs, and whether it is one of a pair.
     */
    void (*watch)(enum kg_tlaw law, int place, bool timed);
    json_t *(*reply)(const json_t *request, int64_t window_ns);
};

struct kg_torch {
    struct kg_torch_test test;
    struct kg_tproblem *problem;
    char device[32]; /* resolved: "cpu", "cuda:0" */
    char problem_file[320];
    char python[1024];          /* the zygotes' */
    struct kg_zygote zygote[2]; /* plain, interpreting Triton */
    bool zygote_up[2];
    struct kg_dj judge;
    bool judge_up;
    struct kg_tmemory memory;
    uint64_t uses;       /* of cases so far */
    bool contexts_apart; /* until the end of this timing, whatever the configuration says */
    bool beside;         /* code of a candidate is there, which may take memory */
    bool shared;         /* and other evaluations are on the device, which do */
    struct kg_tinstance instance[KG_INSTANCES];
    bool no_tiny;            /* the problem has no tiny variant: it was looked for */
    bool settled;            /* doubts about the problem are (eval/first_look.h) */
    char defect[200];        /* and what is wrong with it; "": nothing */
    struct kg_trunner null;  /* of timing, and of any problem: holds no code, answers KG_TC_NULL */
    struct kg_trunner spare; /* the next candidate's runner, with an empty source */
    struct kg_tboot boot;    /* of the spare, while it boots: from kg_tspare_follow to followed */
    bool boots;
    struct kg_trunner last[KG_INSTANCES]; /* of the problem before */
    bool spare_interprets;                /* it is of the second zygote */
    uint64_t sources;       /* files made for candidates so far: each has a name of its own */
    uint64_t described;     /* descriptions that references were asked for */
    uint64_t spares, taken; /* begun, and of them become a candidate's */
    const struct kg_tinstance
        *quiet_of;          /* whose quiet set-up, K and error are known (pairs.h), or NULL */
    double quiet_k_ns;      /* median of null windows while no candidate was there */
    double quiet_behind_ns; /* and of what comes behind the reference's answers between them */
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
    bool interpret;         /* it has kernels of Triton's, and there is no GPU */
    unsigned right;         /* kinds of instances where it gave a right answer, 1 << kind */
    bool elsewhere;         /* after a failure at the tiny shape the published one was looked at */
    enum kg_toracle oracle; /* the weakest that a case of its has had */
    bool called;            /* its first call at this instance has been made */
    int ordered;            /* calls of its process whose answer had to be ready at once */
    bool late;              /* the last of them had inputs that came late */
    int state;              /* set of parameters that it holds */
    uint64_t stages;        /* cases compared so far */
    uint64_t peak;          /* of its allocator on a GPU, bytes: what its processes claim */
    json_t *asked;          /* for the record's `private`; borrowed */
    json_t *clocks;         /* as they were after its last pairs; NULL: not known */
    json_t *profile; /* its runners keep launch records: of LOAD's request; NULL: they do not */
    char builds[520], builds_key[KG_SHA256_HEX]; /* cache of what it builds, "": none; its key */
    bool builds_kept;                            /* there is an entry, or there shall be none */
    bool builds_earlier; /* the entry is of an earlier evaluation, and a process has it */
    json_t *own_state;   /* of its module, as it was constructed: a claim; NULL: not known */
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

/* By whose procedure modules are run and judged: the gym's own, or KernelBench's. All that differs
 * between them outside torch/kernelbench is said here. */
struct kg_torch_protocol {
    bool as_there; /* runners run modules as that project does; no tiny variant, no spare regions */
    uint64_t seed; /* everybody's, of each command: parameters and inputs come again; 0: secret ones
                      of the gym's */
    /* The stages full and timing; NULL: the gym's own. Timing is never a verdict then. */
    enum kg_stage_result (*full)(struct kg_evaluation *e, struct kg_err *err);
    enum kg_stage_result (*timing)(struct kg_evaluation *e, struct kg_err *err);
};
/* What the worker's configuration asks for. Defined in torch/kernelbench. */
const struct kg_torch_protocol *kg_torch_protocol(const struct kg_worker *w);

/* The league: products whose operands are TF32 are right. */
static inline bool kg_torch_tf32(const struct kg_worker *w)
{
    return strcmp(w->config.precision, "tf32") == 0 && !kg_torch_protocol(w)->as_there;
}

/* The reference's error is what it answers to inputs, and by operations, that are off (KG_TF_NEAR),
 * not how far its answer is from its oracle's. */
static inline bool kg_tinstance_off(const struct kg_worker *w, const struct kg_tinstance *s)
{
    return s->single || kg_torch_tf32(w);
}

#endif
