/* Two runs of `kgym bench` side by side: differences B - A over the problems that both have, with
 * 95 % intervals. The difference is paired: a resample takes the same problems for both.
 *
 * Problems are the same where name and text are (the hash in run.json); others, and those that are
 * defective in either run, are left out and listed. Runs with different numbers of turns are
 * compared at a turn that both have, which the caller names: a last turn would not be the same
 * thing in both. What else differs and may explain a difference (device, configuration of the gym,
 * samples) is said in the warnings. Pure; not thread safe. */
#ifndef KG_TRIAL_BENCH_COMPARE_H
#define KG_TRIAL_BENCH_COMPARE_H

#include "trial/bench/tables.h"

struct tr_compare_row {
    enum tr_metric metric;
    double p;
    char name[40]; /* as struct tr_row */
    double a, b;
    struct rl_interval difference; /* B - A; of rates as shares, of speeds as factors */
    double detectable; /* the least true difference that 4 of 5 such comparisons would show (80 %
                          power at 5 %), from the spread between problems; NaN: no mean */
};

struct tr_compare_view {
    struct rl_view of;
    char name[40];              /* "turn 3", "best of 3" */
    struct tr_compare_row *row; /* [rows] */
};

struct tr_compare_table {
    int level; /* -1: all */
    size_t problems;
    size_t views; /* the turn; from turn 2 on also best of turns 1 to it */
    struct tr_compare_view view[2];
};

enum tr_left { TR_ONLY_A, TR_ONLY_B, TR_OTHER_TEXT, TR_DEFECTIVE, TR_LEFT_KINDS };

struct tr_compare {
    const struct tr_bench *a, *b; /* borrowed */
    size_t turn, rows;
    size_t n;
    struct tr_compare_table *table; /* all, then each level where there are several */
    json_t *left[TR_LEFT_KINDS];    /* arrays of names */
    json_t *warnings;               /* array of texts */
    json_t *policies;               /* array of [member, A's, B's]: where the policies differ */
};

/* turn 0: the last one. Errors: KG_E_USAGE (no problem in common, different turns and none named, a
 * turn that a run does not have, a threshold), KG_E_HOST. After success the caller deinits. */
enum kg_code tr_compare_make(const struct tr_bench *a, const struct tr_bench *b, size_t turn,
                             const struct tr_tables_options *o, struct tr_compare *out,
                             struct kg_err *err) KG_MUST_USE;
void tr_compare_deinit(struct tr_compare *c);

/* kgym.bench-compare/1; the caller's. */
json_t *tr_compare_json(const struct tr_compare *c);
void tr_compare_text(const struct tr_compare *c, bool colour, struct kg_buf *out);

#endif
