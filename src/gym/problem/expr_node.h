/* Private to the problem module: the tree behind struct kg_expr, shared by the parser (expr.c) and
 * the evaluator (eval.c). Whether a node is integer or real is known when it is parsed (names are
 * integers), so type errors are found at load and never at a shape. A node is immutable, belongs
 * to the arena given to kg_expr_parse, and is at most 64 nodes deep. */
#ifndef KG_GYM_PROBLEM_EXPR_NODE_H
#define KG_GYM_PROBLEM_EXPR_NODE_H

#include "gym/problem/expr.h"

#define KG_EXPR_MAX_NODES 64
#define KG_EXPR_MAX_DEPTH 40 /* parentheses and signs, which may nest without making nodes */

enum kg_expr_op {
    KG_EX_NUMBER,
    KG_EX_NAME,
    KG_EX_NEGATE,
    KG_EX_NOT,
    KG_EX_ADD,
    KG_EX_SUB,
    KG_EX_MUL,
    KG_EX_DIV,
    KG_EX_MOD,
    KG_EX_LT,
    KG_EX_LE,
    KG_EX_GT,
    KG_EX_GE,
    KG_EX_EQ,
    KG_EX_NE,
    KG_EX_AND,
    KG_EX_OR,
    KG_EX_MIN,
    KG_EX_MAX,
    KG_EX_CEIL_DIV,
    KG_EX_SQRT,
    KG_EX_LOG2,
};

struct kg_expr {
    enum kg_expr_op op;
    bool real;              /* the value is a double, else an int64 */
    int name;               /* KG_EX_NAME: index into names */
    uint64_t uses;          /* bit k: names[k] occurs in here */
    struct kg_value number; /* KG_EX_NUMBER */
    const struct kg_expr *a, *b;
};

#endif
