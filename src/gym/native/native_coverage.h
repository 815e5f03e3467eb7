/* How much of a C candidate's time is its own: pure functions of what the stage profile measured.
 *
 * coverage = 1 - t_lib / min(t_candidate, t_reference), within 0..1. t_lib is the larger of two:
 * the time that the counting build of kgops claims, and the time that the candidate saves where
 * kgops computes nothing. The broker takes the second one itself. So a claim can only raise t_lib.
 */
#ifndef KG_GYM_NATIVE_NATIVE_COVERAGE_H
#define KG_GYM_NATIVE_NATIVE_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KG_COVERAGE_CALLS 24 /* calls of each kind that count, at most */
#define KG_COVERAGE_USUAL 9  /* so many do on a quiet host */
#define KG_COVERAGE_LEAST 5  /* with fewer nothing is said */

/* Why the candidate's process did not outlive the library that computes nothing. */
enum kg_coverage_end { KG_COVERAGE_ALIVE, KG_COVERAGE_ENDED, KG_COVERAGE_KILLED };

/* ns of the calls of one kind that count; windows of timing, K included. */
struct kg_coverage_times {
    double ns[KG_COVERAGE_CALLS];
    size_t n;
};

struct kg_coverage_calls { /* zeroed: nothing was measured */
    struct kg_coverage_times reference, candidate;
    struct kg_coverage_times without; /* the candidate with the library that computes nothing */
    struct kg_coverage_times library; /* claimed by the counting build, within a call's window */
    double k_ns;                      /* K; 0: unknown */
    uint64_t operators;               /* calls of operators, as the counting build claims */
    enum kg_coverage_end end;         /* of the process without the library */
    size_t right_without;             /* answers there that were right */
    bool wrong_without;               /* an answer was wrong there */
    bool miscounted;                  /* the process with the counting build died or hung */
};

struct kg_coverage {
    double coverage;                                           /* 0..1; NaN: it can't be told */
    double candidate_ns, reference_ns, counted_ns, dropped_ns; /* medians, after K; NaN: none */
    double noise;    /* standard error of dropped_ns, as a share of the lesser time; NaN: none */
    bool disturbed;  /* more calls may tell what these do not */
    bool decoy;      /* it calls the library, and its answer is right without it */
    const char *why; /* static; NULL where the formula gave the coverage */
};

void kg_coverage_of(const struct kg_coverage_calls *c, struct kg_coverage *out);
#endif
