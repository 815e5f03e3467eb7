/* Value laws of a C problem: names, filling of all inputs, single edits. */
#include "gym/values/law.h"

#include <string.h>

#include "gym/values/gen.h"

static bool is_float(const struct kg_arg *a)
{
    return a->dtype == KG_F32 || a->dtype == KG_F64;
}

/* The arguments of role `in`, in order. only_float leaves out integers. */
static int inputs(const struct kg_problem *p, bool only_float, int list[KG_MAX_ARGS])
{
    int n = 0;
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == KG_ROLE_IN && (!only_float || is_float(&p->args[k]))) {
            list[n++] = k;
        }
    }
    return n;
}

static struct kg_rng rng_of(struct kg_key key, const char *label)
{
    struct kg_rng r;
    kg_rng_init(&r, kg_key_derive(key, label, 0), 0);
    return r;
}

static void fill_float(struct kg_gen *g, void *dst)
{
    if (kg_gen_is_fast(g)) {
        kg_gen_fast_f32(g, dst);
        return;
    }
    double v[KG_GEN_CHUNK];
    kg_gen_constants(g);
    for (size_t i = 0; i < g->n; i += KG_GEN_CHUNK) {
        size_t n = g->n - i < KG_GEN_CHUNK ? g->n - i : KG_GEN_CHUNK;
        kg_gen_chunk(g, v, n);
        kg_gen_store(g, dst, i, v, n);
    }
}

/* Sets the huge value of SPIKE: 1e4 times the scale of OWN, or the end of a range. For a third of
 * the keys it lies among the last 16 elements, which kernels handle in their remainder loops. */
static void spike(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                  void *const buf[])
{
    int list[KG_MAX_ARGS], n = inputs(p, true, list);
    if (n == 0) {
        return;
    }
    struct kg_rng r = rng_of(key, "spike");
    int arg = list[kg_rng_below(&r, (uint64_t)n)];
    struct kg_gen g;
    kg_gen_init(&g, p, s, arg, KG_LAW_SPIKE, key);
    size_t tail = g.n < 16 ? g.n : 16;
    bool last = kg_rng_below(&r, 3) == 0, up = kg_rng_below(&r, 2) == 1;
    if (g.n > 0) {
        size_t at = last ? g.n - 1 - kg_rng_below(&r, tail) : kg_rng_below(&r, g.n);
        double v = g.ranged ? (up ? g.top : g.floor) : (up ? 1e4 : -1e4);
        kg_gen_store(&g, buf[arg], at, &v, 1);
    }
    kg_gen_deinit(&g);
    kg_rng_deinit(&r);
}

/* The input that WIDEINT makes wide; the key chooses it, and the others are small. */
static int wide_input(const struct kg_problem *p, struct kg_key key)
{
    int list[KG_MAX_ARGS], n = inputs(p, true, list);
    if (n == 0) {
        return -1;
    }
    struct kg_rng r = rng_of(key, "wide");
    int arg = list[kg_rng_below(&r, (uint64_t)n)];
    kg_rng_deinit(&r);
    return arg;
}

void kg_law_fill(const struct kg_problem *p, const struct kg_shape *s, enum kg_law law,
                 struct kg_key key, void *const buf[])
{
    int list[KG_MAX_ARGS], n = inputs(p, false, list), first = -1;
    int wide = law == KG_LAW_WIDEINT ? wide_input(p, key) : -1;
    for (int i = 0; i < n; i++) {
        int arg = list[i];
        struct kg_gen g;
        kg_gen_init(&g, p, s, arg, law, kg_key_derive(key, "arg", (uint64_t)arg));
        if (is_float(&p->args[arg])) {
            g.first = first < 0;
            g.wide = arg == wide;
            first = first < 0 ? arg : first;
            fill_float(&g, buf[arg]);
        } else {
            g.descending = law == KG_LAW_SORTED && kg_rng_below(&g.shape, 2) == 1;
            kg_gen_integers(&g, buf[arg]);
        }
        kg_gen_deinit(&g);
    }
    if (law == KG_LAW_SPIKE) {
        spike(p, s, key, buf);
    } else if (law == KG_LAW_STRAYS) {
        kg_law_strays(p, s, key, buf);
    }
}

uint64_t kg_edit_place(struct kg_rng *r, uint64_t n)
{
    return n < 4 ? kg_rng_below(r, n) : 2 * kg_rng_below(r, (n - 1) / 2) + 1;
}

/* Sets a new value at index `at`; false where the range has no other value. */
static bool edit_one(struct kg_gen *g, void *dst, size_t at)
{
    size_t bytes = kg_dtype_bytes(g->dtype);
    unsigned char *old = (unsigned char *)dst + at * bytes;
    _Alignas(8) unsigned char value[8];
    for (int tries = 0; tries < 64; tries++) {
        if (g->dtype == KG_F32 || g->dtype == KG_F64) {
            double v = kg_gen_own(g, kg_rng_unit(&g->rng));
            kg_gen_store(g, value, 0, &v, 1);
        } else {
            g->n = 1;
            kg_gen_integers(g, value);
        }
        if (memcmp(value, old, bytes) != 0) {
            memcpy(old, value, bytes);
            return true;
        }
    }
    return false;
}

void kg_law_edit(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                 void *const buf[])
{
    int list[KG_MAX_ARGS], n = inputs(p, false, list);
    struct kg_rng r = rng_of(key, "edit");
    bool changed = n == 0;
    int from = n > 0 ? (int)kg_rng_below(&r, (uint64_t)n) : 0;
    for (int i = 0; i < n && !changed; i++) { /* an input with one possible value is skipped */
        int arg = list[(from + i) % n];
        struct kg_gen g;
        kg_gen_init(&g, p, s, arg, KG_LAW_OWN, kg_key_derive(key, "edit", (uint64_t)arg));
        if (g.n > 0) {
            changed = edit_one(&g, buf[arg], kg_edit_place(&r, g.n));
        }
        kg_gen_deinit(&g);
    }
    kg_rng_deinit(&r);
}

bool kg_law_alike(enum kg_law law)
{
    return law == KG_LAW_EQUAL || law == KG_LAW_OUTLIER || law == KG_LAW_PIECEWISE ||
           law == KG_LAW_SORTED || law == KG_LAW_STRAYS;
}

int64_t kg_law_terms(enum kg_law law, int64_t k)
{
    k = k < KG_LAW_MOST_TERMS || !kg_law_alike(law) ? k : KG_LAW_MOST_TERMS;
    return kg_law_alike(law) ? k * k : k;
}
