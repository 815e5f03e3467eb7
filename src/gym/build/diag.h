/* What compilers print, made fit to be shown: paths reduced to base names, and the first error
 * found. The text may be hostile (a source can print what it likes): bounded, never trusted. */
#ifndef KG_GYM_BUILD_DIAG_H
#define KG_GYM_BUILD_DIAG_H

#include "base/buf.h"

/* Append text to out with every absolute path reduced to its last component. */
void kg_diag_clean(const char *text, size_t n, struct kg_buf *out);
/* The first error of cleaned text. *line: in the source `file`, else 0. first: "" if none. */
void kg_diag_first(const char *text, const char *file, int *line, char *first, size_t cap);
/* The text speaks of an exhausted resource: memory, disk, processes. */
bool kg_diag_exhausted(const char *text);

#endif
