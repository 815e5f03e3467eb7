/* Prints a formula as an expression of C. */
#include "gym/problem/print.h"

#include <inttypes.h>

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
