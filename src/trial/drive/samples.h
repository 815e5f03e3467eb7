/* The conversations of a benchmark: each problem of a suite, N samples of T turns. A conversation
 * is the first message, then reply and feedback of each turn; reasoning is not repeated. Problem
 * after problem is begun, all its samples side by side, so that the gym keeps what it has of a
 * problem. A conversation that has ended is written to the folder; one that the budget stopped is
 * not, and goes on when the run does. */
#ifndef KG_TRIAL_DRIVE_SAMPLES_H
#define KG_TRIAL_DRIVE_SAMPLES_H

#include "trial/drive/drive.h"

struct tr_samples {
    uint64_t turns;                       /* finished, of `planned` */
    uint64_t planned;                     /* of conversations that were not cut short */
    uint64_t judged, correct, lost, full; /* full: conversations that had no room for a turn */
    uint64_t defective;                   /* problems */
    char why_lost[240], why_full[240];    /* of the first one; "" */
    char spent[160];                      /* the budget that left turns out; "" */
};

struct tr_samples_options {
    struct tr_drive *drive;
    struct tr_folder *folder;
    const struct tr_suite *suite;
    uint32_t samples, turns;
    /* Called about five times a second, and at each turn (NULL: none has finished). */
    void (*seen)(void *user, const struct tr_samples *so_far, const struct tr_turn *turn);
    void *user;
};

/* Errors: those of tr_drive_next and tr_drive_begin; of tr_drive_prompt, unless it is the problem
 * that is at fault: such a one is left out as defective. */
enum kg_code tr_samples_run(const struct tr_samples_options *o, struct tr_samples *out,
                            struct kg_err *err) KG_MUST_USE;

#endif
