/* Constants without a suffix in the reference of a C problem: `x[i] * 0.01`. Such a constant is a
 * double, so the float reference converts, computes in double and converts back. That can take many
 * times as long, and each candidate then looks as much faster. Lexical, pure.
 *
 * Only constants that meet a `real` count. These do not: `(real)0.01`; a constant that is the whole
 * value of an assignment, an initialiser, a `return` or an argument (the compiler converts it), but
 * for an argument of a function of <math.h>; a statement with `double` or with a name that is
 * declared so. A macro that is one constant counts where its name stands. Other macros are not
 * read. */
#ifndef KG_GYM_NATIVE_REAL_LITERALS_H
#define KG_GYM_NATIVE_REAL_LITERALS_H

#include <stdbool.h>
#include <stddef.h>

/* Calls found for each, in the order of the text. word: n bytes, in text. is_function: is this word
 * a function of <math.h>? */
void kg_real_literals(const char *text, size_t len, bool (*is_function)(const char *word, size_t n),
                      void (*found)(void *self, int line, const char *word, size_t n), void *self);

#endif
