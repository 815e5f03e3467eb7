/* The sections of the page, in order: private to gym/report. Each appends to *out. */
#ifndef KG_GYM_REPORT_REPORT_PARTS_H
#define KG_GYM_REPORT_REPORT_PARTS_H

#include "base/html.h"
#include "gym/report/tally.h"

extern const char kg_report_style[], kg_report_script[];

void kg_report_tiles(const struct kg_tally *t, struct kg_buf *out);
void kg_report_funnel(const struct kg_tally *t, struct kg_buf *out);
void kg_report_verdicts(const struct kg_tally *t, struct kg_buf *out);
void kg_report_speedups(const struct kg_tally *t, struct kg_buf *out);
void kg_report_distributions(const struct kg_tally *t, struct kg_buf *out);
void kg_report_hacks(const struct kg_tally *t, struct kg_buf *out);
void kg_report_records(const struct kg_tally *t, struct kg_buf *out);

/* Sentences and tables of what the checks saw. */
void kg_report_evidence(const struct kg_record *r, struct kg_buf *out);
/* Problem and, of a batch, the line's id: `<b>relu</b> <i class="id">relu-17</i>`. Samples of one
 * problem are told apart by it. */
void kg_report_name(const struct kg_record *r, struct kg_buf *out);
/* <a href="#r7" class="chip v-wrong">wrong · value</a>; position from 0, or -1 for no link. */
void kg_report_chip(const struct kg_record *r, long position, struct kg_buf *out);
#endif
