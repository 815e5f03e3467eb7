/* Words of one width in the reference of a C problem: `float`, `sqrtf`, `0.1f`, `kgops_gelu_f32`.
 * The reference is built once with real=float and once with real=double; what names a width itself
 * stays as narrow in the oracle, so that the oracle errs like the float reference and the error
 * bound means nothing. Constants that make the float reference compute in double are found as well
 * (real_literals.h). docs/problems.md says what is legitimate. Lexical, pure. */
#ifndef KG_GYM_NATIVE_REAL_WORDS_H
#define KG_GYM_NATIVE_REAL_WORDS_H

#include "base/buf.h"
#include "gym/problem/problem.h"

/* Append "line 12: `sqrtf`: write `sqrt` with #include <tgmath.h>" for each, with "; " between, at
 * most 8, then how many more there are. Returns how many there are in all; 0 for a problem without
 * an f32 argument. A line with a comment that says `not real:` and a reason is left out. */
int kg_real_words(const struct kg_problem *p, struct kg_buf *out);

#endif
