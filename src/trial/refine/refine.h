/* A whole refinement of one problem in a folder: rounds over the drive, rounds.jsonl, the files of
 * the best kernel, trajectories and summary.json. The same call on the same folder goes on: turns
 * that it holds are taken from it, and the strategy decides as before. */
#ifndef KG_TRIAL_REFINE_REFINE_H
#define KG_TRIAL_REFINE_REFINE_H

#include "trial/refine/rounds.h"

struct tr_refine_options {
    /* prompt is measured here; context: the smaller of this one and the policy's. */
    struct tr_plan plan;
    double target;                    /* speed-up; 0: none */
    int patience;                     /* rounds; 0: none */
    const struct tr_problem *problem; /* all that follows is borrowed */
    struct tr_policy *policy;
    struct tr_drive *drive; /* of this policy and folder */
    struct tr_folder *folder;
    const struct kgym_options *again; /* of the fresh pool that judges a new best */
    /* A round was counted and is in the files; NULL: nobody asks. */
    void (*seen)(void *user, const struct tr_round *r);
    void (*waits)(void *user); /* a round is under way, about five times a second; NULL */
    void *user;
};

struct tr_refine_outcome {
    enum tr_ending ending;
    char why[512]; /* for people; "" */
    int rounds, correct, again;
    int before;               /* rounds of an earlier call, whose files stay if `rounds` is less */
    int best;                 /* its round; 0: none */
    struct tr_again verified; /* of the best; record NULL */
    char file[16];            /* "best.c", "best.py", "" */
};

/* Errors: those of the drive and of the files, KG_E_CANCELLED. *out is set and all files are
 * written then too, but for what the error itself prevents. A call that ends before it has replayed
 * all rounds of an earlier one leaves that one's files of the best, conversations and summary. */
enum kg_code tr_refine_run(const struct tr_refine_options *o, struct tr_refine_outcome *out,
                           struct kg_err *err) KG_MUST_USE;

#endif
