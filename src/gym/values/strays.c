/* The law `strays`: own, but for a few elements at random places.
 *
 * A kernel that looks at some elements to decide whether it may skip work (a shift, a range check)
 * sees inputs of the own law. So no amount is typical of the law, and no place is.
 *   moderate  3 to 8 elements, each in a random float input, of a magnitude from 2 to 64
 *   large     for four keys in five: two of the elements lie in one input, have opposite signs and
 *             magnitudes of 1e3 to 1e4 and of 90 to 256. An exponential of either overflows; both
 *             together don't cancel. A problem that leaves `spike` out has none of these.
 * In an input with a range the value is an end of the range. */
#include <math.h>

#include "gym/values/gen.h"

#define LEAST 3
#define MOST  8

struct strays {
    const struct kg_problem *p;
    const struct kg_shape *s;
    void *const *buf;
    struct kg_rng rng;
    int list[KG_MAX_ARGS], n; /* float inputs */
};

static double between(struct kg_rng *r, double lo, double hi)
{
    return lo * pow(hi / lo, kg_rng_unit(r));
}

/* One element of an input becomes v, or the end of the range on that side. */
static void put(struct strays *x, int arg, double v)
{
    struct kg_gen g;
    kg_gen_init(&g, x->p, x->s, arg, KG_LAW_STRAYS, (struct kg_key){{0, 0}});
    if (g.n > 0) {
        v = !g.ranged ? v : v > 0 ? g.top : g.floor;
        kg_gen_store(&g, x->buf[arg], kg_rng_below(&x->rng, g.n), &v, 1);
    }
    kg_gen_deinit(&g);
}

/* Half of the time that of a random element of all inputs: only in a large input does a sample gain
 * anything. */
static int random_input(struct strays *x)
{
    int64_t all = 0;
    int k = 0;
    for (int i = 0; i < x->n; i++) {
        all += kg_arg_count(x->p, x->list[i], x->s);
    }
    if (all < 1 || kg_rng_below(&x->rng, 2) == 1) {
        return x->list[kg_rng_below(&x->rng, (uint64_t)x->n)];
    }
    int64_t at = (int64_t)kg_rng_below(&x->rng, (uint64_t)all);
    while ((at -= kg_arg_count(x->p, x->list[k], x->s)) >= 0) {
        k++;
    }
    return x->list[k];
}

static double random_sign(struct strays *x)
{
    return kg_rng_below(&x->rng, 2) == 1 ? 1 : -1;
}

bool kg_law_strays_large(struct kg_key key)
{
    struct kg_rng r;
    kg_rng_init(&r, kg_key_derive(key, "large strays", 0), 0);
    bool large = kg_rng_below(&r, 5) > 0;
    kg_rng_deinit(&r);
    return large;
}

void kg_law_strays(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                   void *const buf[])
{
    struct strays x = {.p = p, .s = s, .buf = buf};
    for (int k = 0; k < p->nargs; k++) {
        bool real = p->args[k].dtype == KG_F32 || p->args[k].dtype == KG_F64;
        if (p->args[k].role == KG_ROLE_IN && real) {
            x.list[x.n++] = k;
        }
    }
    if (x.n == 0) {
        return;
    }
    kg_rng_init(&x.rng, kg_key_derive(key, "strays", 0), 0);
    int left = LEAST + (int)kg_rng_below(&x.rng, MOST - LEAST + 1);
    bool large = kg_law_strays_large(key) && !(p->laws_off & (1u << KG_LAW_SPIKE));
    for (; left > (large ? 2 : 0); left--) {
        put(&x, random_input(&x), random_sign(&x) * between(&x.rng, 2, 64));
    }
    if (large) {
        int arg = random_input(&x);
        double sign = random_sign(&x);
        put(&x, arg, sign * between(&x.rng, 1e3, 1e4));
        put(&x, arg, -sign * between(&x.rng, 90, 256));
    }
    kg_rng_deinit(&x.rng);
}
