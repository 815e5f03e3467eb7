/* Turns of a refinement by the drive, and judging again in a fresh pool: a new supervisor, new
 * workers, new secrets. What the round log has of judging again is not asked again. */
#ifndef KG_TRIAL_REFINE_DRIVE_MAKER_H
#define KG_TRIAL_REFINE_DRIVE_MAKER_H

#include "trial/refine/round_log.h"

struct tr_drive_maker {
    struct tr_drive *drive; /* all are borrowed */
    struct tr_folder *folder;
    struct tr_policy *policy; /* for counts */
    const struct tr_problem *problem;
    const struct tr_round_log *log;
    const struct kgym_options *again; /* of the fresh pool */
};

/* The table over m, which must outlive it. A gym that cannot judge again gives an outcome without a
 * verdict, no error. */
struct tr_maker tr_drive_maker_table(struct tr_drive_maker *m);

/* Fills *out from a record, which is taken over. */
void tr_again_read(char *record, size_t len, struct tr_again *out);

#endif
