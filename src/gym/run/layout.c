/* Computes where the arrays of a call lie in the regions, and the words of the call. */
#include <string.h>

#include "gym/run/region.h"

#define LINE 64

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t align_up(uint64_t x)
{
    return saturating_add(x, LINE - 1) / LINE * LINE;
}

/* The finaliser of SplitMix64. It spreads neighbouring jitters and arguments over all bits. */
static uint64_t spread_bits(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* How far an array is moved beyond guard and alignment: up to 63 lines, then an odd number of
 * elements. So it is aligned to its element and to nothing more. */
static uint64_t displacement(uint64_t jitter, int arg, uint64_t element)
{
    uint64_t odd = LINE / element / 2; /* number of odd multiples of the element in a line */
    if (jitter == 0) {
        return 0;
    }
    if (jitter == KG_JITTER_WIDEST) {
        return 63 * LINE + (LINE - element);
    }
    uint64_t h = spread_bits(jitter + (uint64_t)arg * 0x9e3779b97f4a7c15u);
    return (h & 63) * LINE + element * (2 * (h >> 8 & (odd - 1)) + 1);
}

static uint64_t element_bytes(const struct kg_arg *a, bool wide)
{
    return wide && a->dtype == KG_F32 ? 8 : kg_dtype_bytes(a->dtype);
}

static uint64_t array_bytes(const struct kg_problem *p, int arg, const struct kg_shape *s,
                            uint64_t element)
{
    int64_t n = kg_arg_count(p, arg, s);
    uint64_t bytes;
    return n < 0 || __builtin_mul_overflow((uint64_t)n, element, &bytes) ? UINT64_MAX : bytes;
}

void kg_layout_plan(const struct kg_problem *p, const struct kg_shape *s, bool wide,
                    uint64_t jitter, uint64_t in_base, uint64_t out_base, struct kg_layout *out)
{
    *out = (struct kg_layout){.in_end = in_base, .out_end = out_base};
    for (int k = 0; k < p->nargs; k++) {
        const struct kg_arg *a = &p->args[k];
        if (a->role != KG_ROLE_IN && a->role != KG_ROLE_OUT) {
            continue;
        }
        uint64_t element = element_bytes(a, wide);
        uint64_t *end = a->role == KG_ROLE_IN ? &out->in_end : &out->out_end;
        out->bytes[k] = array_bytes(p, k, s, element);
        out->offset[k] = saturating_add(align_up(saturating_add(*end, KG_GUARD_BYTES)),
                                        displacement(jitter, k, element));
        *end = saturating_add(out->offset[k], out->bytes[k]);
    }
    out->in_end = align_up(saturating_add(out->in_end, KG_GUARD_BYTES));
    out->out_end = align_up(saturating_add(out->out_end, KG_GUARD_BYTES));
}

static void scalar_word(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                        int arg, bool wide, struct kg_wire_call *out)
{
    int64_t i = 0;
    double f = 0;
    KG_ASSERT(
        kg_arg_scalar_of(p, arg, s, key, &i, &f)); /* kg_shape_complete has computed it before */
    enum kg_dtype t = p->args[arg].dtype;
    float single = (float)f;
    out->word[arg] = 0;
    if (t == KG_F32 && !wide) {
        out->cls[arg] = KG_WIRE_F32;
        memcpy(&out->word[arg], &single, sizeof single);
    } else if (t == KG_F32 || t == KG_F64) {
        out->cls[arg] = KG_WIRE_F64;
        memcpy(&out->word[arg], &f, sizeof f);
    } else {
        out->cls[arg] = t == KG_I32 ? KG_WIRE_I32 : KG_WIRE_I64;
        out->word[arg] = t == KG_I32 ? (uint32_t)(int32_t)i : (uint64_t)i;
    }
}

void kg_layout_call(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                    const struct kg_layout *l, bool wide, struct kg_wire_call *out)
{
    _Static_assert(KG_WIRE_ARGS >= KG_MAX_ARGS, "a call holds every argument");
    memset(out, 0, sizeof *out);
    out->nargs = (uint32_t)p->nargs;
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == KG_ROLE_IN || p->args[k].role == KG_ROLE_OUT) {
            out->cls[k] = KG_WIRE_PTR;
            out->word[k] =
                (p->args[k].role == KG_ROLE_IN ? KG_ADDR_IN : KG_ADDR_OUT) + l->offset[k];
        } else {
            scalar_word(p, s, key, k, wide, out);
        }
    }
}
