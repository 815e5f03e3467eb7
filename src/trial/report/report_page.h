/* Sections of a trial's page: private to trial/report. Each appends itself, or nothing where there
 * is nothing to show. */
#ifndef KG_TRIAL_REPORT_REPORT_PAGE_H
#define KG_TRIAL_REPORT_REPORT_PAGE_H

#include "trial/report/report_turns.h"

extern const char tr_page_style[], tr_page_script[];

/* bench */
void tr_page_bench_tiles(const struct tr_report *r, struct kg_buf *out);
void tr_page_bench_tables(const struct tr_report *r, struct kg_buf *out);
void tr_page_bench_curves(const struct tr_report *r, struct kg_buf *out);
void tr_page_problems(const struct tr_report *r, struct kg_buf *out);
/* refine */
void tr_page_refine_tiles(const struct tr_report *r, struct kg_buf *out);
void tr_page_rounds(const struct tr_report *r, struct kg_buf *out);
void tr_page_best(struct tr_report *r, struct kg_buf *out);
void tr_page_bests(struct tr_report *r, struct kg_buf *out);
/* both */
void tr_page_funnel(const struct tr_report *r, struct kg_buf *out);
void tr_page_hacks(struct tr_report *r, struct kg_buf *out);
void tr_page_unjudged(struct tr_report *r, struct kg_buf *out);
void tr_page_talks(struct tr_report *r, struct kg_buf *out);
void tr_page_run(const struct tr_report *r, struct kg_buf *out);

/* "1.42x [1.39, 1.45]"; "–" for NaN. */
void tr_page_speed(double x, double lo, double hi, struct kg_buf *out);
/* "12.3 k", "4.1 M": a count as a person reads it. */
void tr_page_count(double n, struct kg_buf *out);
/* What one code changed in another: by lines, or by words where lines are long. */
void tr_page_change(const char *before, const char *after, struct kg_buf *out);
/* The verdict of a turn. */
void tr_page_turn_chip(const struct tr_seen *t, struct kg_buf *out);
/* A link to a turn: the name of its problem where there are several, sample and turn. */
void tr_page_link(const struct tr_report *r, const struct tr_seen *t, struct kg_buf *out);
/* Of a line of rounds.jsonl: its number, or its place from 1; whether it gave a new best. */
long tr_round_number(const json_t *round, size_t at);
bool tr_round_is_best(const json_t *round);
/* The last round that gave a best kernel; NULL: none. */
const json_t *tr_round_best(const struct tr_report *r);
/* What holds the speed that counts of a best round: its second judging, else the round itself. */
const json_t *tr_round_speed(const json_t *round);

#endif
