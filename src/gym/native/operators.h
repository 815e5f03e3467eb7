/* What the operators of kgops compute, in words: the table of docs/kgops.md, which is part of the
 * program. Pure. */
#ifndef KG_GYM_NATIVE_OPERATORS_H
#define KG_GYM_NATIVE_OPERATORS_H

#include "base/buf.h"

/* Append a line for each operator that the C source calls, in the table's order: "- `kgops_scale(x,
 * a, y, n)`: x, y [n]; y = a x (in place)". */
void kg_operators_describe(const char *source, size_t len, struct kg_buf *out);

#endif
