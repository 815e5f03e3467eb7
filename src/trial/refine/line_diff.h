/* Two texts line by line, as a unified diff with three lines around each change. */
#ifndef KG_TRIAL_REFINE_LINE_DIFF_H
#define KG_TRIAL_REFINE_LINE_DIFF_H

#include "base/buf.h"

/* Appends "--- a\n+++ b\n@@ ...". Equal texts: nothing. Texts of more than TR_DIFF_LINES lines are
 * given as one change of all lines between the first and the last that differ. Memory: 4 bytes for
 * each pair of lines. Memory exhausted: as if they were too long. */
enum { TR_DIFF_LINES = 2000 };
void tr_line_diff(const char *name_a, const char *a, const char *name_b, const char *b,
                  struct kg_buf *out);

#endif
