/* Private to the stage profile: what it keeps while it runs, and the half of it that asks which
 * kernels matter. */
#ifndef KG_GYM_TORCH_PROFILE_PRIVATE_H
#define KG_GYM_TORCH_PROFILE_PRIVATE_H

#include "gym/torch/profile.h"

struct kg_tprofiling {
    struct kg_evaluation *e;
    struct kg_err *err;
    struct kg_tprofile sum;
    const char *why; /* the records count for nothing */
    bool absent;     /* there are none to be had: why says what is missing */
    bool fresh;      /* each question in a process of its own */
    bool failed;     /* the stage ends with KG_STEP_ERROR: *err is filled */
    int asked, processes;
};

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
