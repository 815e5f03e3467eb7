/* Prints a formula as an expression of C. */
#include "gym/problem/print.h"

#include <inttypes.h>
#include <string.h>

#include "gym/problem/expr_node.h"

const char kg_expr_c_prelude[] = "#include <math.h>\n"
                                 "#define KG_MIN(a, b) ((a) < (b) ? (a) : (b))\n"
                                 "#define KG_MAX(a, b) ((a) > (b) ? (a) : (b))\n"
                                 "#define KG_CEIL_DIV(a, b) (((a) + (b) - 1) / (b))\n";

struct form {
    const char *before, *between;
};

static struct form form_of(enum kg_expr_op op)
{
    static const struct form forms[] = {
        [KG_EX_NEGATE] = {"-(", NULL},
        [KG_EX_NOT] = {"!(", NULL},
        [KG_EX_ADD] = {"(", " + "},
        [KG_EX_SUB] = {"(", " - "},
        [KG_EX_MUL] = {"(", " * "},
        [KG_EX_DIV] = {"(", " / "},
        [KG_EX_MOD] = {"(", " % "},
        [KG_EX_LT] = {"(", " < "},
        [KG_EX_LE] = {"(", " <= "},
        [KG_EX_GT] = {"(", " > "},
        [KG_EX_GE] = {"(", " >= "},
        [KG_EX_EQ] = {"(", " == "},
        [KG_EX_NE] = {"(", " != "},
        [KG_EX_AND] = {"(", " && "},
        [KG_EX_OR] = {"(", " || "},
        [KG_EX_MIN] = {"KG_MIN(", ", "},
        [KG_EX_MAX] = {"KG_MAX(", ", "},
        [KG_EX_CEIL_DIV] = {"KG_CEIL_DIV(", ", "},
        [KG_EX_SQRT] = {"sqrt((double)", NULL},
        [KG_EX_LOG2] = {"log2((double)", NULL},
    };
    return forms[op];
}

void kg_expr_print_c(const struct kg_expr *e, const char *const *names, struct kg_buf *out)
{
    if (e->op == KG_EX_NUMBER) {
        if (e->number.real) {
            kg_buf_addf(out, "%.17g", e->number.d);
        } else {
            kg_buf_addf(out, "(int64_t)%" PRId64, e->number.i);
        }
    } else if (e->op == KG_EX_NAME) {
        kg_buf_adds(out, names[e->name]);
    } else {
        struct form f = form_of(e->op);
        kg_buf_adds(out, f.before);
        kg_expr_print_c(e->a, names, out);
        if (e->b) {
            kg_buf_adds(out, f.between);
            kg_expr_print_c(e->b, names, out);
        }
        kg_buf_adds(out, ")");
    }
}

struct sign {
    const char *text;
    int binds; /* tighter, the larger; 0: a function, which needs no parentheses around it */
};

static struct sign sign_of(enum kg_expr_op op)
{
    static const struct sign signs[] = {
        [KG_EX_OR] = {" || ", 1},   [KG_EX_AND] = {" && ", 2},  [KG_EX_EQ] = {" == ", 3},
        [KG_EX_NE] = {" != ", 3},   [KG_EX_LT] = {" < ", 4},    [KG_EX_LE] = {" <= ", 4},
        [KG_EX_GT] = {" > ", 4},    [KG_EX_GE] = {" >= ", 4},   [KG_EX_ADD] = {" + ", 5},
        [KG_EX_SUB] = {" - ", 5},   [KG_EX_MUL] = {" * ", 6},   [KG_EX_DIV] = {" / ", 6},
        [KG_EX_MOD] = {" % ", 6},   [KG_EX_NEGATE] = {"-", 7},  [KG_EX_NOT] = {"!", 7},
        [KG_EX_MIN] = {"min", 0},   [KG_EX_MAX] = {"max", 0},   [KG_EX_CEIL_DIV] = {"ceil_div", 0},
        [KG_EX_SQRT] = {"sqrt", 0}, [KG_EX_LOG2] = {"log2", 0}, [KG_EX_NUMBER] = {"", 0},
        [KG_EX_NAME] = {"", 0},
    };
    return signs[op];
}

/* An operand of an operator that binds so tightly. Comparisons do not chain, so that one beside
 * another needs parentheses as a looser operator does. */
static void operand(const struct kg_expr *e, int least, const char *const *names,
                    struct kg_buf *out)
{
    int binds = sign_of(e->op).binds;
    bool bare = binds == 0 || binds >= least;
    kg_buf_adds(out, bare ? "" : "(");
    kg_expr_print(e, names, out);
    kg_buf_adds(out, bare ? "" : ")");
}

void kg_expr_print(const struct kg_expr *e, const char *const *names, struct kg_buf *out)
{
    struct sign s = sign_of(e->op);
    bool compares = s.binds == 3 || s.binds == 4;
    if (e->op == KG_EX_NUMBER && e->number.real) {
        size_t at = out->len;
        kg_buf_add_real(out, e->number.d);
        kg_buf_adds(out, strpbrk(out->data + at, ".e") ? "" : ".0"); /* or it were an integer */
    } else if (e->op == KG_EX_NUMBER) {
        kg_buf_addf(out, "%" PRId64, e->number.i);
    } else if (e->op == KG_EX_NAME) {
        kg_buf_adds(out, names[e->name]);
    } else if (s.binds == 0) {
        kg_buf_addf(out, "%s(", s.text);
        kg_expr_print(e->a, names, out);
        if (e->b) {
            kg_buf_adds(out, ", ");
            kg_expr_print(e->b, names, out);
        }
        kg_buf_adds(out, ")");
    } else if (!e->b) {
        kg_buf_adds(out, s.text);
        operand(e->a, s.binds, names, out);
    } else {
        operand(e->a, compares ? 5 : s.binds, names, out);
        kg_buf_adds(out, s.text);
        operand(e->b, compares ? 5 : s.binds + 1, names, out);
    }
}
