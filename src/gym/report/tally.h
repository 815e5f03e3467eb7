/* The records of a run and what they add up to: private to gym/report. */
#ifndef KG_GYM_REPORT_TALLY_H
#define KG_GYM_REPORT_TALLY_H

#include "gym/record/record.h"

#define KG_TALLY_REASONS 96 /* more kinds than that are counted together */

struct kg_tally_reason {
    enum kg_verdict verdict;
    enum kg_stage stage; /* in which it was given */
    const char *reason;  /* of the first record that had it; "" for none */
    size_t n;
};

struct kg_tally {
    struct kg_record *r; /* [n] */
    size_t n;
    size_t replays;              /* left out: they judge nothing anew */
    size_t verdicts[KG_V_COUNT]; /* [KG_V_NONE]: neither verdict nor error */
    size_t errors;
    size_t blamed; /* of them the candidates': failures */
    struct {
        size_t pass, fail, skip, off;
        size_t unmeasured; /* of timing: it ended well and measured nothing that is trusted */
        size_t cached;     /* of compile: it did not have to be done */
        double median_ns;  /* of those that ran and were not cached; NaN */
    } stages[KG_ST_COUNT];
    struct kg_tally_reason reasons[KG_TALLY_REASONS]; /* most frequent first */
    size_t nreasons;
    size_t measured, faster, slower; /* verdict ok with a speed-up; by interval */
    double median_ratio;             /* of those; NaN */
    double total_ns;                 /* of all stages and set-ups */
};

enum kg_code kg_tally_of(const json_t *records, struct kg_tally *out,
                         struct kg_err *err) KG_MUST_USE;
void kg_tally_deinit(struct kg_tally *t);
/* Does the record show a speed-up: ok, measured? */
bool kg_tally_has_speed(const struct kg_record *r);
/* The reasons of a verdict, whichever stage they were given in, most frequent first. out
 * [KG_TALLY_REASONS]; their number is returned. */
size_t kg_tally_reasons_of(const struct kg_tally *t, enum kg_verdict v,
                           struct kg_tally_reason *out);
/* 1 faster, -1 slower, 0 not distinguishable from 1 */
int kg_tally_side(const struct kg_record *r);

#endif
