/* The parts of a report: private to rl/report. What was read is in plain tables; the sections of
 * the page only read them. */
#ifndef KG_RL_REPORT_PARTS_H
#define KG_RL_REPORT_PARTS_H

#include "base/rng.h"
#include "base/term.h"
#include "rl/chains/chains.h"
#include "rl/methods/bootstrap.h"
#include "rl/methods/metrics.h"
#include "rl/page/figure.h"
#include "rl/page/page.h"
#include "rl/report/report.h"

/* --- columns: one number a step and name --- */

enum { RL_COLUMNS = 160, RL_COLUMN_NAME = 48 };

struct rl_columns {
    size_t n, steps, cap;
    char name[RL_COLUMNS][RL_COLUMN_NAME];
    double *v[RL_COLUMNS]; /* [steps]; NaN: not known */
    long *step;            /* [steps], rising */
};
/* The place of a step, made where it is new; SIZE_MAX: no memory. */
size_t rl_columns_step(struct rl_columns *c, long step);
/* The column of that name, made where it is new; NULL: no room. */
double *rl_columns_make(struct rl_columns *c, const char *name);
const double *rl_columns_find(const struct rl_columns *c, const char *name); /* or NULL */
/* Adds rate.evaluations and rate.sampled, per second. */
void rl_columns_rates(struct rl_columns *c);
void rl_columns_deinit(struct rl_columns *c);

/* --- names to numbers --- */

struct rl_words {
    json_t *index;
    const char **word; /* [n], owned by index */
    size_t n, cap;
};
long rl_words_number(struct rl_words *w, const char *word); /* -1: no memory */
void rl_words_deinit(struct rl_words *w);

/* --- trajectories --- */

enum rl_when { RL_WHEN_BEFORE, RL_WHEN_RL, RL_WHEN_AFTER, RL_WHENS };

enum rl_why {
    RL_WHY_INFRA,
    RL_WHY_VOID,
    RL_WHY_ZERO,
    RL_WHY_SMALL,
    RL_WHY_MRS,
    RL_WHY_VETO,
    RL_WHY_PRS,
    RL_WHY_SURPLUS,
    RL_WHYS
};
const char *rl_why_name(enum rl_why w); /* as docs/trajectory.md writes it */

struct rl_seen_turn {
    struct rl_outcome o;
    uint16_t why;  /* bits of enum rl_why */
    int16_t style; /* of an evaluation; -1: not looked for */
};
struct rl_seen {
    int32_t step;
    int32_t problem;
    uint32_t first; /* its first turn */
    uint8_t when, turns;
};
struct rl_walks {
    struct rl_seen *seen;
    size_t n, cap;
    struct rl_seen_turn *turn;
    size_t n_turn, cap_turn;
    size_t of[RL_WHENS];
    int turns;  /* most of a trajectory */
    bool apart; /* feedback: false. `turns` trajectories of one turn in a row are one sample */
    struct rl_words problem, style;
};
/* False: the line is no trajectory of a run, or memory lacks. */
bool rl_walks_add(struct rl_walks *w, const json_t *line);
void rl_walks_deinit(struct rl_walks *w);
/* Counts of the styles of an evaluation's replies [w->style.n]; returns how many there are. */
size_t rl_walks_styles(const struct rl_walks *w, enum rl_when when, size_t *count);
/* Shares a step: per-turn fast_p, funnel, causes. */
void rl_walks_columns(const struct rl_walks *w, struct rl_columns *c);
enum rl_when rl_when_of(const json_t *line); /* RL_WHENS: of no known phase */

/* --- what is shown whole --- */

enum { RL_REPORT_TALKS = 30, RL_REPORT_BEST = 10 };

enum rl_kind {
    RL_KIND_FASTER,
    RL_KIND_MENDED,
    RL_KIND_BROKEN,
    RL_KIND_HACK,
    RL_KIND_ANY,
    RL_KINDS
};

struct rl_talks {
    json_t *line[RL_KINDS][RL_REPORT_TALKS / RL_KINDS];
    double score[RL_KINDS][RL_REPORT_TALKS / RL_KINDS];
    int n[RL_KINDS];
};
/* A correct reply that may be judged again. */
struct rl_kernel {
    char problem[RL_CHAIN_NAME];
    char *reply;
    double speedup, lo;
    long step; /* -1: of the evaluation */
    int turn;
};
struct rl_kernels {
    struct rl_kernel best[RL_REPORT_BEST]; /* fastest first, one a problem */
    int n_best;
    struct rl_kernel some[RL_RECHECK_MOST]; /* random ones of the last evaluation */
    int n_some;
    uint64_t offered;
    struct kg_rng rng;
};
void rl_talks_offer(struct rl_talks *t, const json_t *line, uint64_t number);
void rl_talks_deinit(struct rl_talks *t);
void rl_kernels_init(struct rl_kernels *k);
void rl_kernels_offer(struct rl_kernels *k, const json_t *line);
void rl_kernels_deinit(struct rl_kernels *k);

/* --- tables before and after --- */

enum rl_row { /* the scores of evaluate.h by name, then these */
              RL_ROW_VALID,
              RL_ROW_COMPILED,
              RL_ROW_CORRECT,
              RL_ROW_FAST_1,
              RL_ROW_FAST_11,
              RL_ROW_FAST_12,
              RL_ROW_GEOMEAN,
              RL_ROW_COVERAGE,
              RL_ROW_LAZY,
              RL_ROW_HACK,
              RL_ROWS
};
const char *rl_row_name(enum rl_row r);

enum rl_part { RL_PART_PAIRS, RL_PART_TRIPLES, RL_PART_OTHERS, RL_PARTS_SHOWN };
const char *rl_part_name(enum rl_part p);

struct rl_score_row {
    double before, after; /* NaN: not known */
    struct rl_interval difference;
};
enum { RL_VIEWS = 9 }; /* turns 1 to 8, then the best */
struct rl_score_table {
    size_t problems, samples; /* in both evaluations; samples: the most of a problem */
    int views;                /* turns + 1, or 1 where there is one turn */
    struct rl_score_row row[RL_VIEWS][RL_ROWS];
};
/* "turn 1", "best of 2": the last view is the best. */
void rl_view_name(const struct rl_score_table *t, int view, char out[24]);
/* KG_E_HOST: memory. No problem of the part: table->problems is 0. */
enum kg_code rl_score_table(const struct rl_walks *w, enum rl_part part,
                            struct rl_score_table *table, struct kg_err *err) KG_MUST_USE;

struct rl_effect {
    bool known, shown;
    char text[240]; /* one line */
};

/* --- the report --- */

struct rl_report {
    char folder[3000];
    struct rl_notes notes;
    struct kg_buf config;                         /* text of config.yaml; "" */
    json_t *host;                                 /* object or NULL */
    json_t *line[RL_WHENS], *sft, *end, *recheck; /* last line of each kind; NULL */
    struct rl_columns sft_columns, columns;
    struct rl_walks walks;
    struct rl_talks talks;
    struct rl_kernels kernels;
    struct rl_score_table table[RL_PARTS_SHOWN];
};
struct rl_effect rl_report_effect(const struct rl_report *r);
/* Names of components that were on and looked at nothing; "" for none. */
void rl_report_idle(const struct rl_report *r, struct kg_buf *out);
/* Of the last recheck: how many held of how many. False: there is none. */
bool rl_report_held(const struct rl_report *r, long *held, long *n);

/* --- the page --- */

struct rl_curve {
    const char *name;
    const double *y; /* [steps] */
};
struct rl_chart {
    const char *title, *note;
    struct rl_curve curve[8];
    int n;
    const long *step;      /* [steps] */
    const double *seconds; /* [steps] or NULL */
    size_t steps;
    bool share; /* 0 is the lower end */
};
/* Appends a figure: means over a window with a band. Nothing where no curve has a number. */
void rl_chart_svg(const struct rl_chart *c, struct kg_buf *out);

void rl_page_tiles(const struct rl_report *r, struct kg_buf *out);
void rl_page_scores(const struct rl_report *r, struct kg_buf *out);
void rl_page_curves(const struct rl_report *r, struct kg_buf *out);
void rl_page_components(const struct rl_report *r, struct kg_buf *out);
void rl_page_styles(const struct rl_report *r, struct kg_buf *out);
void rl_page_recheck(const struct rl_report *r, struct kg_buf *out);
void rl_page_talks(const struct rl_report *r, struct kg_buf *out);
void rl_page_kernels(const struct rl_report *r, struct kg_buf *out);
void rl_page_run(const struct rl_report *r, struct kg_buf *out);

#endif
