/* An expression as text: as C source, for the candidates that onboarding makes from a problem, and
 * in the grammar of docs/problems.md, for readers. */
#ifndef KG_GYM_PROBLEM_PRINT_H
#define KG_GYM_PROBLEM_PRINT_H

#include "base/buf.h"
#include "gym/problem/expr.h"

/* As C source over int64_t variables named as the dims. Text that uses min, max, ceil_div, sqrt or
 * log2 needs kg_expr_c_prelude. */
extern const char kg_expr_c_prelude[];
void kg_expr_print_c(const struct kg_expr *e, const char *const *names, struct kg_buf *out);
/* In the problem's own grammar, with no more parentheses than it needs: kg_expr_parse reads the
 * same expression from it. */
void kg_expr_print(const struct kg_expr *e, const char *const *names, struct kg_buf *out);

#endif
