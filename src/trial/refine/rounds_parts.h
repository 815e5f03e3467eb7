/* Private to rounds*.c: the state of a refinement. */
#ifndef KG_TRIAL_REFINE_ROUNDS_PARTS_H
#define KG_TRIAL_REFINE_ROUNDS_PARTS_H

#include "trial/refine/rounds.h"

/* A round on its way. */
struct slot {
    struct tr_round r;
    bool begun, ended;
};

struct tr_rounds {
    struct tr_rounds_options o; /* o.plan.context: of the round that was chosen last */
    int64_t context;            /* window of rounds that no earlier process chose; 0: not known */
    const struct tr_maker *m;
    struct slot *slot;          /* [plan.rounds] */
    struct tr_round *counted;   /* [plan.rounds] */
    struct tr_past *past;       /* [plan.rounds] */
    struct tr_message *message; /* [2 plan.rounds + 1]: scratch */
    int begun, ncounted, under_way;
    bool closed; /* nothing more begins */
    bool full;   /* because there is no room; why tells */
    enum tr_ending ending;
    int best, since_best, unjudged;
    double best_speedup, best_lo; /* best_lo: NaN where its interval is not known */
    char why[512];
};

/* The first ending stays. */
void tr_rounds_end(struct tr_rounds *r, enum tr_ending e, const char *why);
/* Counts the rounds that have ended and whose turn it is, up to an ending. */
enum kg_code tr_rounds_count(struct tr_rounds *r, struct kg_err *err) KG_MUST_USE;

#endif
