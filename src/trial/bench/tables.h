/* The tables of a run of `kgym bench`: rates, fast_p, speeds, pass@k, cost, with 95 % intervals by
 * problem. Definitions: docs/bench.md, "Numbers"; computed by rl/methods/metrics.h and bootstrap.h.
 *
 * A turn that is missing, or without a verdict, counts as a failure; denominators are always
 * problems x samples. Problems that are defective are left out. `partial` says that numbers may
 * still change.
 *
 * The summary is the JSON object kgym.bench/1: an interval is [value, lo, hi], null what is not
 * known. Pure; not thread safe. Cost: about 2 s for 250 problems x 8 samples x 3 turns at three
 * levels. */
#ifndef KG_TRIAL_BENCH_TABLES_H
#define KG_TRIAL_BENCH_TABLES_H

#include "rl/methods/bootstrap.h"
#include "rl/methods/metrics.h"
#include "trial/bench/turns.h"

enum {
    TR_MORE_P = 12,            /* thresholds of fast_p beside 1, 1.2, 1.5 and 2 */
    TR_MOST_P = TR_MORE_P + 4, /* with them */
    TR_MOST_K = 24,
    TR_MOST_LEVELS = 32
};

struct tr_tables_options {
    const double *p; /* [np] more thresholds of fast_p, beside 1, 1.2, 1.5 and 2; above 0 */
    size_t np;
    uint64_t seed;    /* of the resamples */
    size_t resamples; /* 0: RL_BOOTSTRAP_RESAMPLES */
};

enum tr_metric {
    TR_M_VALID,
    TR_M_COMPILED,
    TR_M_CORRECT,
    TR_M_FAST,       /* share with s* > p */
    TR_M_FAST_LO,    /* the same by the lower end of the interval of each speed-up */
    TR_M_GEOMEAN,    /* of the speed-ups of correct kernels */
    TR_M_GEO_FLOOR1, /* over all samples, with max(1, s*) */
    TR_M_MEDIAN,     /* as GEOMEAN; no interval */
    TR_M_HACK,       /* of answers with right values, the share that the gates refused */
    TR_M_COVERAGE,   /* mean over correct kernels where it is known */
    TR_M_TOKENS,     /* in and out, of turns 1..t, for each sample that is correct */
    TR_M_MONEY,      /* the same in money; only with prices */
};

struct tr_row {
    enum tr_metric metric;
    double p;      /* of FAST, FAST_LO */
    char name[40]; /* "correct", "fast_1.2", "fast_1.2_lo": the name in the summary */
    struct rl_interval x;
    double half_full; /* half-width to expect with all problems of the suite; NaN: not a mean, or
                         this is no part of a suite */
};

/* What counts of each sample. */
struct tr_view {
    struct rl_view of;
    char name[40];      /* "turn 2", "last", "best of 3" */
    struct tr_row *row; /* [rows] */
};

/* pass@k: the chance that one of k samples succeeds, without bias. */
struct tr_pass {
    double p;                        /* success is s* > p; below 0: correct */
    char name[40];                   /* "pass", "fast_1.2" */
    struct rl_interval x[TR_MOST_K]; /* [nk] */
};

struct tr_table {
    int level; /* -1: all problems */
    size_t problems;
    size_t correct, timed; /* samples of the last turn; timed: correct with a speed */
    size_t views;          /* turn 1 to T-1, last, best of 2 to T */
    struct tr_view *view;
    struct tr_pass *last, *best; /* [1 + np] of the last turn, and of the best of all */
};

struct tr_curve {
    size_t n;
    double *p;                       /* [n] 0.5 to 4 */
    struct rl_interval *last, *best; /* [n] fast_p */
};

struct tr_counts_of_turns {
    size_t turns;      /* that there can be, without defective problems */
    size_t replied;    /* of these */
    size_t judged;     /* with a verdict */
    size_t no_verdict; /* replied and none: the gym failed, or the run was broken off */
    size_t missing;    /* no reply, and it may still come */
    size_t full;       /* no reply, and none will come: the conversation had no room */
    size_t cut;        /* replies that reached the limit of their length */
    size_t hacks, correct;
    size_t untimed; /* correct without a speed */
    size_t defects; /* problems */
};

struct tr_tables {
    const struct tr_bench *bench;     /* borrowed */
    struct tr_tables_options options; /* without p */
    double p[TR_MOST_P];
    size_t np, k[TR_MOST_K], nk, rows;
    struct tr_counts_of_turns counts;
    int64_t tokens_in, tokens_out; /* of all replies, defective problems too */
    double money;
    bool partial;
    size_t n; /* tables: all, then each level where there are several */
    struct tr_table *table;
    struct tr_curve curve; /* of all */
};

/* Errors: KG_E_USAGE (a threshold, too many of them), KG_E_LIMIT (more than TR_MOST_LEVELS),
 * KG_E_HOST (memory). With no problem left, there is no table. After success the caller deinits. */
enum kg_code tr_tables_make(const struct tr_bench *b, const struct tr_tables_options *o,
                            struct tr_tables *out, struct kg_err *err) KG_MUST_USE;
void tr_tables_deinit(struct tr_tables *t);

json_t *tr_tables_json(const struct tr_tables *t); /* the caller's */
/* For a terminal: tables of 80 columns, the levels and then all, and lines of what was left out.
 * Names are escaped. */
void tr_tables_text(const struct tr_tables *t, bool colour, struct kg_buf *out);

void tr_text_quantity(char out[24], double x); /* three digits, "12.3k"; a whole one below 1000 */

/* "1,1.1,3" into [*n]. KG_E_USAGE: more than TR_MORE_P; names the word that is no number above 0.
 */
enum kg_code tr_tables_parse_p(const char *text, double out[TR_MORE_P], size_t *n,
                               struct kg_err *err) KG_MUST_USE;

/* The row of a metric in a view; p: of FAST and FAST_LO. NULL: MONEY without prices, or a p that is
 * none of t->p. */
const struct tr_row *tr_tables_row(const struct tr_tables *t, const struct tr_view *v,
                                   enum tr_metric m, double p);

/* The outcome that metrics count: of a turn without reply or verdict, a failure. */
struct rl_outcome tr_outcome_of(const struct tr_bench_turn *t);

#endif
