/* Private to the stage profile of C: its state, its processes and single calls. A step is ON, VOID
 * (the call does not count), FAILED (a process can't answer; for the candidate as it is the record
 * has a verdict) or ERROR (*err filled). */
#ifndef KG_GYM_NATIVE_PROFILE_CALLS_H
#define KG_GYM_NATIVE_PROFILE_CALLS_H

#include "gym/native/native.h"

enum kg_profile_side { KG_PROFILE_PLAIN, KG_PROFILE_COUNTED, KG_PROFILE_STUB, KG_PROFILE_SIDES };

struct kg_profiling {
    struct kg_evaluation *e;
    struct kg_shape shape;
    struct kg_runner runner[KG_PROFILE_SIDES];
    bool up[KG_PROFILE_SIDES];
    struct kg_coverage_calls *calls;
    int64_t asked, right, longest_ns; /* of the candidate as it is: calls, right answers, longest */
    int64_t rounds;
    bool accused; /* the record has a verdict from here */
    bool timed;   /* the windows of timing serve */
    uint64_t ticks0;
    int64_t ns0;
};

enum kg_profile_step { KG_PROFILE_ON, KG_PROFILE_VOID, KG_PROFILE_FAILED, KG_PROFILE_ERROR };

/* Starts a side's process. */
enum kg_profile_step kg_profile_start(struct kg_profiling *s, enum kg_profile_side side,
                                      struct kg_err *err);
void kg_profile_stop(struct kg_profiling *s, enum kg_profile_side side);

/* A reference's answer, taken as that side; *ns: its window. */
enum kg_profile_step kg_profile_ask_reference(struct kg_profiling *s, const struct kg_case *c,
                                              enum kg_side side, double *ns, struct kg_err *err);
int64_t kg_profile_reference_deadline(const struct kg_profiling *s);
enum kg_profile_step kg_profile_reference_failed(const struct kg_profiling *s,
                                                 enum kg_run_status status, struct kg_err *err);
/* A call of one of the candidate's processes; the answer is compared where it says something. */
enum kg_profile_step kg_profile_ask(struct kg_profiling *s, const struct kg_case *c,
                                    enum kg_profile_side side, enum kg_compare_mode mode,
                                    double *ns, struct kg_err *err);
/* Calls on one set of inputs, not compared. longest: the longest window, NULL: not wanted. */
enum kg_profile_step kg_profile_warm_up(struct kg_profiling *s, struct kg_runner *run,
                                        int64_t deadline_ns, int64_t *longest,
                                        enum kg_run_status *status, struct kg_err *err);
enum kg_profile_step kg_profile_warm_side(struct kg_profiling *s, enum kg_profile_side side,
                                          struct kg_err *err);

#endif
