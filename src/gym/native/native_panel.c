/* Writes C candidates from a problem: trivial answers, and the reference with a frozen input. */
#include "gym/native/native_panel.h"

#include "gym/problem/print.h"

static const char *const c_type[] = {
    [KG_F32] = "float", [KG_F64] = "double", [KG_I32] = "int32_t", [KG_I64] = "int64_t"};

const char *kg_trivial_name(enum kg_trivial t)
{
    static const char *const names[] = {"zeros", "ones", "first input"};
    return names[t];
}

static void parameters(const struct kg_problem *p, struct kg_buf *out)
{
    for (int i = 0; i < p->nargs; i++) {
        const struct kg_arg *a = &p->args[i];
        kg_buf_addf(out, "%s%s%s %skgym_a%d", i ? ", " : "", a->role == KG_ROLE_IN ? "const " : "",
                    c_type[a->dtype], a->rank ? "*" : "", i);
    }
}

static void head(struct kg_buf *out)
{
    kg_buf_adds(out, "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n");
    kg_buf_adds(out, kg_expr_c_prelude);
}

static void expression(const struct kg_problem *p, const struct kg_expr *e, struct kg_buf *out)
{
    const char *names[KG_MAX_DIMS];
    for (int i = 0; i < p->ndims; i++) {
        names[i] = p->dims[i].name;
    }
    kg_expr_print_c(e, names, out);
}

/* Names of the problem's own (dims, its functions) may be anything: what is added here begins with
 * kgym_ or is a builtin.
 *
 * The dims as local variables: from the arguments that carry them, the derived ones from their
 * expressions. A free dim that no argument carries is out of any candidate's reach: its default. */
static void dims_of(const struct kg_problem *p, struct kg_buf *out)
{
    for (int d = 0; d < p->ndims; d++) {
        kg_buf_addf(out, "    const int64_t %s = ", p->dims[d].name);
        int arg = 0;
        while (arg < p->nargs && !(p->args[arg].role == KG_ROLE_DIM && p->args[arg].dim == d)) {
            arg++;
        }
        if (arg < p->nargs) {
            kg_buf_addf(out, "kgym_a%d", arg);
        } else if (p->dims[d].by) {
            expression(p, p->dims[d].by, out);
        } else {
            kg_buf_addf(out, "%lld", (long long)p->dims[d].def);
        }
        kg_buf_addf(out, ";\n    (void)%s;\n", p->dims[d].name);
    }
}

static void count_of(const struct kg_problem *p, int arg, struct kg_buf *out)
{
    kg_buf_adds(out, "(int64_t)1");
    for (int r = 0; r < p->args[arg].rank; r++) {
        kg_buf_adds(out, " * ");
        expression(p, p->args[arg].extent[r], out);
    }
}

void kg_probe_reference(const struct kg_problem *p, struct kg_buf *out)
{
    kg_buf_adds(out, "#define real float\n");
    kg_buf_add(out, p->source, p->source_len);
}

void kg_probe_trivial(const struct kg_problem *p, enum kg_trivial t, struct kg_buf *out)
{
    int first = 0;
    while (first < p->nargs - 1 && p->args[first].role != KG_ROLE_IN) {
        first++;
    }
    head(out);
    kg_buf_addf(out, "void %s(", p->entry);
    parameters(p, out);
    kg_buf_adds(out, ")\n{\n");
    dims_of(p, out);
    for (int i = 0; i < p->nargs; i++) {
        if (p->args[i].role != KG_ROLE_OUT) {
            continue;
        }
        kg_buf_adds(out, "    for (int64_t kgym_i = 0, kgym_n = ");
        count_of(p, i, out);
        kg_buf_addf(out, "; kgym_i < kgym_n; kgym_i++) {\n        kgym_a%d[kgym_i] = ", i);
        if (t == KG_TRIVIAL_FIRST_INPUT) {
            kg_buf_addf(out, "(%s)kgym_a%d[kgym_i %% (", c_type[p->args[i].dtype], first);
            count_of(p, first, out);
            kg_buf_adds(out, ")];\n    }\n");
        } else {
            kg_buf_addf(out, "%d;\n    }\n", t == KG_TRIVIAL_ONES);
        }
    }
    kg_buf_adds(out, "}\n");
}

void kg_probe_frozen(const struct kg_problem *p, int arg, struct kg_buf *out)
{
    const char *type = c_type[p->args[arg].dtype];
    kg_buf_addf(out, "#define real float\n#define %s kgym_inner\n", p->entry);
    kg_buf_add(out, p->source, p->source_len);
    kg_buf_addf(out, "\n#undef %s\n", p->entry);
    head(out);
    kg_buf_addf(out, "void %s(", p->entry);
    parameters(p, out);
    kg_buf_adds(out, ")\n{\n");
    dims_of(p, out);
    kg_buf_adds(out, "    const int64_t kgym_n = ");
    count_of(p, arg, out);
    kg_buf_addf(out,
                ";\n    %s *kgym_frozen = __builtin_malloc((size_t)kgym_n * sizeof *kgym_frozen);\n"
                "    for (int64_t kgym_i = 0; kgym_i < kgym_n; kgym_i++) {\n        "
                "kgym_frozen[kgym_i] = kgym_a%d[0];\n    }\n    "
                "kgym_inner(",
                type, arg);
    for (int i = 0; i < p->nargs; i++) {
        kg_buf_addf(out, i == arg ? "%skgym_frozen" : "%skgym_a%d", i ? ", " : "", i);
    }
    kg_buf_adds(out, ");\n    __builtin_free(kgym_frozen);\n}\n");
}
