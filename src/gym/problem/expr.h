/* Integer and real arithmetic over dim names: + - * / % ( ) comparisons && || ! min max ceil_div
 * sqrt log2, numbers. Parsed once, evaluated against a table of values. Division of integers
 * truncates as in C; division by zero, overflow and unknown names fail. No side effects. */
#ifndef KG_GYM_PROBLEM_EXPR_H
#define KG_GYM_PROBLEM_EXPR_H

#include "base/arena.h"

struct kg_expr;

struct kg_value {
    bool real; /* d is meant, else i */
    int64_t i;
    double d;
};

/* names: what may appear; an unknown name is an error with the nearest one. what: for messages
 * ("relu.c:7: dims.oh"). At most 64 nodes. */
enum kg_code kg_expr_parse(const char *text, const char *const *names, size_t nnames,
                           const char *what, struct kg_arena *arena, const struct kg_expr **out,
                           struct kg_err *err) KG_MUST_USE;
/* values[k] belongs to names[k]. False on division by zero, overflow, domain error. */
bool kg_expr_eval(const struct kg_expr *e, const int64_t *values, struct kg_value *out);
bool kg_expr_int(const struct kg_expr *e, const int64_t *values, int64_t *out); /* integer only */
bool kg_expr_real(const struct kg_expr *e, const int64_t *values, double *out); /* either kind */
bool kg_expr_is_real(const struct kg_expr *e);  /* known without values: names are integers */
uint64_t kg_expr_uses(const struct kg_expr *e); /* bit k: names[k] occurs */

/* Text from a file made fit for a message: control and non-ASCII bytes become '?', long text is
 * cut. Returns out. */
#define KG_EXPR_SHOW 64
const char *kg_expr_show(const char *text, size_t len, char out[KG_EXPR_SHOW]);

#endif
