/* What a trial counts of a record (kgym.record/1), from its JSON: the same for a turn that has just
 * been judged and for one that is read from a folder. Pure and thread safe; no allocation.
 * Source of the rules: docs/record.md; the learner's rl_outcome_of has the same. */
#ifndef KG_TRIAL_BENCH_FACTS_H
#define KG_TRIAL_BENCH_FACTS_H

#include <jansson.h>
#include <stdbool.h>

enum tr_fact_state {
    TR_FACT_NONE,       /* there is no record */
    TR_FACT_JUDGED,     /* a verdict, or an error that the candidate may have brought about */
    TR_FACT_NO_VERDICT, /* the gym or the host had none */
    TR_FACT_DEFECT,     /* the problem is at fault */
};

struct tr_facts {
    enum tr_fact_state state;
    char verdict[24]; /* "ok", "wrong"; of an error its code: "needs_gpu"; "" */
    char reason[32];  /* of the verdict; "" */
    bool correct;     /* `ok`, and its league admits it */
    bool hack;
    bool extracted, valid, compiled;        /* each implies the one before */
    bool numerics;                          /* the values were right, whatever else was found */
    double speedup, speedup_lo, speedup_hi; /* NaN: not correct, not measured, or not trusted */
    double coverage;                        /* 0..1; NaN: not known */
};

/* False: this is no record, and *out has the state NONE. A member of another type than
 * docs/record.md says counts as missing. */
bool tr_facts_read(const json_t *record, struct tr_facts *out);

#endif
