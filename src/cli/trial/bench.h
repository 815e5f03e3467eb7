/* Private to bench*.c: what a command line of `kgym bench` asks for, and the run. */
#ifndef KG_CLI_TRIAL_BENCH_H
#define KG_CLI_TRIAL_BENCH_H

#include "cli/trial/trial_args.h"

struct kg_bench {
    struct tr_args args;
    const char *suite, *subset, *p; /* subset: ""; p: thresholds of fast_p; NULL: the usual ones */
    int64_t samples, turns;
};

/* A run, from where its folder stands to its end, then the tables. Returns an exit status; what
 * kept it from its end is printed. */
int kg_bench_run(const struct kg_bench *b);

#endif
