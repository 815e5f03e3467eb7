/* What `kgym refine` prints: a line for each round, and the end. */
#ifndef KG_CLI_TRIAL_REFINE_LINE_H
#define KG_CLI_TRIAL_REFINE_LINE_H

#include "trial/refine/refine.h"

/* Appends one line: round, verdict, speed-up with its interval or why it failed, what judging again
 * gave, the best so far, tokens of the reply. columns: for the part in the middle, 20 to 90. What a
 * model wrote cannot drive the terminal. */
void kg_refine_line(const struct tr_round *r, int rounds, int columns, bool colour,
                    struct kg_buf *out);
/* Appends some lines: why it ended, the best kernel and its file, what the run took. */
void kg_refine_end(const struct tr_refine_outcome *o, const struct tr_counts *c, const char *folder,
                   bool colour, struct kg_buf *out);

#endif
