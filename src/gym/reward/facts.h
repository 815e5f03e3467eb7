/* What the formulas read, taken from a record once: private to gym/reward. */
#ifndef KG_GYM_REWARD_FACTS_H
#define KG_GYM_REWARD_FACTS_H

#include "gym/reward/reward.h"

struct kg_facts {
    bool c;         /* C: verdict ok and league eligible */
    bool timed;     /* s was measured and may count */
    bool interval;  /* it has one */
    double s, s_lo; /* 0 unless timed */
    double pr;      /* coverage, clipped to [0,1] */
    bool pr_lost;   /* it was measured, and the measurement says nothing */
    char why[200];  /* why s is less than the ratio that was measured, or 0; "": it is not */
    enum kg_verdict verdict;
    enum kg_stage failed; /* the stage that failed; meaningful when the verdict is not ok */
};

void kg_facts_of(const struct kg_record *r, const struct kg_reward_params *p, struct kg_facts *out);

#endif
