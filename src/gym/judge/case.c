#include "gym/judge/state.h"

static bool same_shape(const struct kg_problem *p, const struct kg_shape *a,
                       const struct kg_shape *b)
{
    for (int k = 0; k < p->ndims; k++) {
        if (a->dim[k] != b->dim[k]) {
            return false;
        }
    }
    return true;
}

bool kg_judge_same_values(const struct kg_problem *p, const struct kg_case *a,
                          const struct kg_case *b)
{
    return same_shape(p, &a->shape, &b->shape) && a->law == b->law && a->edited == b->edited &&
           a->key.w[0] == b->key.w[0] && a->key.w[1] == b->key.w[1];
}

bool kg_judge_same_place(const struct kg_problem *p, const struct kg_case *a,
                         const struct kg_case *b)
{
    return kg_judge_same_values(p, a, b) && a->jitter == b->jitter && a->in_base == b->in_base &&
           a->out_base == b->out_base;
}

size_t kg_judge_out_bytes(const struct kg_problem *p, int arg, const struct kg_shape *s, bool wide)
{
    enum kg_dtype t = p->args[arg].dtype;
    size_t element = wide && t == KG_F32 ? 8 : kg_dtype_bytes(t);
    return (size_t)kg_arg_count(p, arg, s) * element;
}

enum kg_code kg_judge_place(struct kg_judge_state *s, const struct kg_case *c, bool wide,
                            struct kg_judge_place *out, struct kg_err *err)
{
    if (s->problem == NULL) {
        return kg_fail(err, KG_E_GYM, "judge: no problem is open");
    }
    struct kg_shape complete = c->shape;
    if (!kg_shape_complete(s->problem, &complete) ||
        !same_shape(s->problem, &complete, &c->shape)) {
        return kg_fail(err, KG_E_GYM, "judge: %s has no such shape", s->problem->name);
    }
    out->in = &s->region[wide ? 2 : 0];
    out->out = &s->region[wide ? 3 : 1];
    kg_layout_plan(s->problem, &c->shape, wide, c->jitter, c->in_base, c->out_base, &out->layout);
    if (out->layout.in_end > out->in->bytes || out->layout.out_end > out->out->bytes) {
        return kg_fail(err, KG_E_LIMIT,
                       "judge: a case of %s needs %llu bytes of inputs and %llu of outputs, the "
                       "regions have %zu and %zu",
                       s->problem->name, (unsigned long long)out->layout.in_end,
                       (unsigned long long)out->layout.out_end, out->in->bytes, out->out->bytes);
    }
    return KG_OK;
}
