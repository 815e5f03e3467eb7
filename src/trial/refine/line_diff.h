/* Two texts line by line, as a unified diff with three lines around each change. */
#ifndef KG_TRIAL_REFINE_LINE_DIFF_H
#define KG_TRIAL_REFINE_LINE_DIFF_H

#include "base/buf.h"

/* Appends "--- a\n+++ b\n@@ ...". Equal texts: nothing. Texts that differ in far too much are one
 * change (base/diff.h). */
void tr_line_diff(const char *name_a, const char *a, const char *name_b, const char *b,
                  struct kg_buf *out);

#endif
