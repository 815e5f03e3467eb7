/* timing.samples of a record as arrays: for histograms and reports. They are windows after their
 * process's K. A record file may hold anything there, so what is not a pair of integers is left
 * out. Pure; thread safe. */
#ifndef KG_GYM_RECORD_SAMPLES_H
#define KG_GYM_RECORD_SAMPLES_H

#include "gym/record/record.h"

struct kg_sample_pair {
    double reference_ns, candidate_ns; /* at least 1: as the estimator counts times at K */
    int process;                       /* 0-based position in the list */
    bool candidate_first;              /* false where the record does not say */
};

/* Returns how many there are; stores at most cap. */
size_t kg_samples_pairs(const struct kg_timing *t, struct kg_sample_pair *out, size_t cap);

/* Counts of x[0..n) in bins of equal width over [lo, hi]; what lies outside goes into the end bins.
 * n == 0 or hi <= lo: all counts 0, or all in the middle bin. */
void kg_samples_bins(const double *x, size_t n, double lo, double hi, unsigned *count, size_t bins);

#endif
