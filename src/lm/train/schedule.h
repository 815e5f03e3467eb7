/* Learning rates by step. Pure functions. */
#ifndef KG_LM_TRAIN_SCHEDULE_H
#define KG_LM_TRAIN_SCHEDULE_H

enum lm_schedule_kind { LM_CONSTANT, LM_COSINE };

struct lm_schedule {
    enum lm_schedule_kind kind;
    float rate;   /* highest */
    float lowest; /* where the cosine ends */
    int warmup;   /* steps of a linear rise from rate/warmup to rate */
    int steps;    /* of all, for the cosine; later steps have the lowest rate */
};

/* Of step 0, 1, ... */
float lm_schedule_rate(const struct lm_schedule *s, int step);

#endif
