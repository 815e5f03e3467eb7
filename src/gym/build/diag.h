/* Prepares compiler messages for display: paths become base names, and the first error is found.
 * The text may be hostile, because a source can make the compiler print anything; it is bounded and
 * never trusted. Pure functions. */
#ifndef KG_GYM_BUILD_DIAG_H
#define KG_GYM_BUILD_DIAG_H

#include "base/buf.h"

/* Appends text [n] to out, with every absolute path reduced to its last part. */
void kg_diag_clean(const char *text, size_t n, struct kg_buf *out);
/* The first error of a cleaned text. *line: its line in the source `file`, else 0. first [cap]: its
 * message, "" if there is none. */
void kg_diag_first(const char *text, const char *file, int *line, char *first, size_t cap);
/* True if the text says that memory, disk space or processes ran out. */
bool kg_diag_exhausted(const char *text);

#endif
