/* An expression as C source over int64_t variables named as the dims: for the candidates that
 * onboarding makes from a problem. Text that uses min, max, ceil_div, sqrt or log2 needs
 * kg_expr_c_prelude. */
#ifndef KG_GYM_PROBLEM_PRINT_H
#define KG_GYM_PROBLEM_PRINT_H

#include "base/buf.h"
#include "gym/problem/expr.h"

extern const char kg_expr_c_prelude[];
void kg_expr_print_c(const struct kg_expr *e, const char *const *names, struct kg_buf *out);

#endif
