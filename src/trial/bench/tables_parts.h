/* Private to tables*.c and compare.c: statistics that are collected and then computed together. */
#ifndef KG_TRIAL_BENCH_TABLES_PARTS_H
#define KG_TRIAL_BENCH_TABLES_PARTS_H

#include "trial/bench/tables.h"

/* The outcomes of the problems that count, in the order of the run. */
struct tr_outcomes {
    struct rl_results results; /* outcome: owned */
    const struct tr_bench *bench;
    size_t *problem; /* [results.problems] in bench */
};
/* which [n]: problems to take, in this order; NULL: all but defective ones. KG_E_HOST. */
enum kg_code tr_outcomes_make(const struct tr_bench *b, const size_t *which, size_t n,
                              struct tr_outcomes *out, struct kg_err *err) KG_MUST_USE;
void tr_outcomes_deinit(struct tr_outcomes *o);
/* How many levels there are, and where the level of problem `from` ends. */
size_t tr_outcomes_levels(const struct tr_outcomes *o);
size_t tr_outcomes_level_end(const struct tr_outcomes *o, size_t from);
/* Problems from..to-1, borrowed. */
struct tr_outcomes tr_outcomes_part(const struct tr_outcomes *o, size_t from, size_t to);

/* The thresholds of fast_p, ascending: those that are always there, and those of the options.
 * KG_E_USAGE. */
enum kg_code tr_tables_thresholds(const struct tr_tables_options *o, double out[TR_MOST_P],
                                  size_t *count, struct kg_err *err) KG_MUST_USE;
/* Fills in metric, p and name of each row, and returns how many there are. */
enum { TR_MOST_ROWS = 2 * TR_MOST_P + 10 };
size_t tr_tables_rows(const double *p, size_t np, bool prices, struct tr_row *row);
/* before, the shortest form of p, after. */
void tr_tables_name_p(char *out, size_t cap, const char *before, double p, const char *after);

/* As text on a terminal: "12.5 %", "1.250x", "35.4k", or "-". */
void tr_text_value(char out[32], enum tr_metric m, double x);
/* The same without a unit; x is not NaN. */
void tr_text_number(char out[24], enum tr_metric m, double x);
void tr_text_label(char out[40], const struct tr_row *row);
/* "all", "no level", "level 2" */
void tr_text_level(char out[24], int level);
/* Drops spaces at the end and ends the line. */
void tr_text_end_line(struct kg_buf *out);

/* Sums by problem of a metric at a view: num, den [problems]. Returns den, or NULL where den is 1
 * (then num is a problem's mean). Not of MEDIAN. */
double *tr_metric_sums(const struct tr_outcomes *o, struct rl_view v, enum tr_metric m, double p,
                       double *num, double *den);
static inline bool tr_metric_exps(enum tr_metric m)
{
    return m == TR_M_GEOMEAN || m == TR_M_GEO_FLOOR1;
}

/* Statistics over the same problems, computed some at a time. */
struct tr_stats;
enum kg_code tr_stats_create(size_t problems, const struct tr_tables_options *o,
                             struct tr_stats **out, struct kg_err *err) KG_MUST_USE;
void tr_stats_destroy(struct tr_stats *p);
/* Room for the next statistic; a and b: num and den of its arms, [problems] each. */
struct tr_stats_room {
    double *num_a, *den_a, *num, *den;
};
struct tr_stats_room tr_stats_room(struct tr_stats *p);
/* Takes what was put into the room. to: set at tr_stats_run or before. exps: of a mean of logs. */
void tr_stats_add(struct tr_stats *p, const struct rl_statistic *s, bool exps,
                  struct rl_interval *to);
void tr_stats_run(struct tr_stats *p);

#endif
