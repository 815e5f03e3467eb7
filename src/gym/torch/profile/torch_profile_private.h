/* Private to the stage profile: what it keeps while it runs, the calls that it makes, and the part
 * of it that asks which kernels matter. */
#ifndef KG_GYM_TORCH_PROFILE_TORCH_PROFILE_PRIVATE_H
#define KG_GYM_TORCH_PROFILE_TORCH_PROFILE_PRIVATE_H

#include "gym/torch/profile/phase.h"

struct kg_tprofiling {
    struct kg_evaluation *e;
    struct kg_err *err;
    struct kg_tprofile sum, call; /* of the calls that count; the last one */
    struct kg_tphase phase;       /* of the process that is there */
    bool left;                    /* it leaves its own kernels, in two processes */
    const char *why;              /* the records count for nothing */
    bool absent;                  /* there are none to be had: why says what is missing */
    bool fresh;                   /* each question in a process of its own */
    bool failed;                  /* the stage ends with KG_STAGE_ERROR: *err is filled */
    int asked, processes;
    json_t *modules; /* of the last call's records, as the runner has them; NULL: none */
};

#define KG_TPROFILE_CALLS   3                             /* that count */
#define KG_TPROFILE_UNTIMED (86400 * (int64_t)1000000000) /* window of a call that has none */

/* A process's series of calls, noted in s->phase, and the profiled ones, in s->sum too. A call that
 * goes wrong has a verdict, or s->why says so. */
enum kg_stage_result kg_tprofile_calls(struct kg_tprofiling *s);
/* Another series in a process that has done nothing yet: s->left, whether it ends alike. */
enum kg_stage_result kg_tprofile_again(struct kg_tprofiling *s);

/* The next runner's own kernels of these names do nothing from the start; "*": none does anything.
 * Takes names. */
void kg_tprofile_process(struct kg_tprofiling *s, json_t *names);
/* PROFILE: the reply, or NULL. Takes the request. window_ns is for tests. */
json_t *kg_tprofile_tell(struct kg_tprofiling *s, json_t *request, int64_t window_ns);
/* One more call on what is bound. 1 right, 0 not (no answer, too), -1: *err is filled. */
int kg_tprofile_call(struct kg_tprofiling *s, enum kg_tlaw law, int64_t *window_ns);

/* The dead are marked. *launched: it has kernels of its own; *right_without: the answer is right
 * without any of them. s->why, s->failed: it could not be told. */
void kg_tprofile_find_dead(struct kg_tprofiling *s, bool *launched, bool *right_without);

#endif
