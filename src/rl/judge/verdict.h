/* What the learner needs of an evaluation. Plain data. */
#ifndef KG_RL_JUDGE_VERDICT_H
#define KG_RL_JUDGE_VERDICT_H

#include "base/err.h"

enum { RL_FEEDBACK_BYTES = 240, RL_TERMS = 8 };

enum rl_judged {
    RL_JUDGED,     /* there is a verdict */
    RL_NO_VERDICT, /* the gym had none: no reward may be formed */
    RL_DEFECT,     /* the problem is at fault */
};

struct rl_term {
    char name[24];
    double value;
};

struct rl_verdict {
    enum rl_judged state;
    char name[24]; /* "ok", "wrong", ...; "" without a verdict */
    char reason[32];
    bool correct;
    double speedup, speedup_lo; /* 0: not measured */
    double coverage;            /* NaN: not known */
    double reward;
    int nterms; /* of the reward */
    struct rl_term term[RL_TERMS];
    char record[65];                  /* SHA-256 of the record without white space; "": none */
    char feedback[RL_FEEDBACK_BYTES]; /* one line for the model; "" without a verdict */
    char message[160];
};

#endif
