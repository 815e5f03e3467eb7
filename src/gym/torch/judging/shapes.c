/* Other shapes of a problem, by other values of its module-level integer constants. */
#include "gym/torch/judging/shapes.h"

#include <string.h>

#include "gym/torch/judging/instance.h"

#define TRIES   48
#define GROWN   4 /* times the elements that a larger shape may have */
#define LARGEST ((int64_t)1 << 40)

static json_t *constants_of(const struct kg_task_desc *d)
{
    json_t *all = json_object();
    for (size_t i = 0; i < d->nconstants; i++) {
        json_object_set_new(all, d->constant[i].name, json_integer(d->constant[i].value));
    }
    return all;
}

/* The largest constant above 1 that was not found to resist; NULL: none. */
static const char *largest(const json_t *consts, const json_t *fixed)
{
    const char *name, *best = NULL;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)consts, name, v)
    {
        int64_t most = best ? json_integer_value(json_object_get(consts, best)) : 1;
        if (!json_object_get(fixed, name) && json_integer_value(v) > most) {
            best = name;
        }
    }
    return best;
}

/* What the interpreter has to go through: inputs, and, at a quarter, parameters and answers. */
static uint64_t size_of(const struct kg_task_desc *d)
{
    uint64_t n = 0;
    for (size_t i = 0; i < d->nstate; i++) {
        n += kg_tleaf_count(&d->state[i].leaf);
    }
    for (size_t i = 0; i < d->noutputs; i++) {
        n += kg_tleaf_count(&d->output[i].leaf);
    }
    return d->elements + n / 4;
}

struct search {
    struct kg_worker *w;
    struct kg_tinstance *s;
    json_t *consts, *fixed; /* values so far; those that resist */
    bool run;               /* call the reference, too: then answers count */
    uint64_t size, most;
    struct kg_err *err;
};

/* One constant smaller by a factor; true: the problem takes it, and there is less to do. */
static bool shrink(struct search *q, const char *name, int64_t by)
{
    int64_t old = json_integer_value(json_object_get(q->consts, name));
    struct kg_task_desc d;
    if (old / by < 1 || old / by == old) {
        return false;
    }
    json_object_set_new(q->consts, name, json_integer(old / by));
    bool good = kg_tinstance_describe(q->w, q->s, q->consts, q->run, &d, q->err) == KG_OK;
    if (good) {
        good = size_of(&d) < q->size;
        q->size = good ? size_of(&d) : q->size;
        kg_task_deinit(&d);
    }
    if (!good) {
        json_object_set_new(q->consts, name, json_integer(old));
    }
    return good;
}

/* Halving the largest first keeps divisors of each other in proportion. */
static bool lower(struct search *q)
{
    q->fixed = json_object();
    for (int tries = 0; q->size > q->most && tries < TRIES && !*q->w->cancelled; tries++) {
        const char *name = largest(q->consts, q->fixed);
        if (!name) {
            break;
        }
        int64_t by = q->size / q->most >= 16 ? 4 : 2;
        if (!shrink(q, name, by) && !shrink(q, name, 2)) {
            json_object_set_new(q->fixed, name, json_true());
        }
    }
    json_decref(q->fixed);
    return q->size <= q->most;
}

/* Without calls first: those at the published shape are long. */
static bool search(struct search *q)
{
    struct kg_task_desc d;
    if (!lower(q)) {
        return false;
    }
    q->run = true;
    if (kg_tinstance_describe(q->w, q->s, q->consts, true, &d, q->err) != KG_OK) {
        return false;
    }
    q->size = size_of(&d);
    kg_task_deinit(&d);
    return lower(q);
}

uint64_t kg_tshapes_size(const struct kg_task_desc *d)
{
    return size_of(d);
}

enum kg_code kg_tshapes_tiny(struct kg_worker *w, struct kg_tinstance *s, int64_t most,
                             struct kg_err *err)
{
    const struct kg_task_desc *published = &kg_torch_of(w)->instance[KG_INSTANCE_PUBLISHED].desc;
    struct kg_err seen = KG_ERR_INIT;
    struct search q = {.w = w,
                       .s = s,
                       .consts = constants_of(published),
                       .size = size_of(published),
                       .most = (uint64_t)most,
                       .err = &seen};
    bool found = search(&q);
    kg_tinstance_close(w, s);
    if (found) {
        s->consts = q.consts;
        return KG_OK;
    }
    json_decref(q.consts);
    if (seen.code == KG_E_GYM || seen.code == KG_E_CANCELLED || *w->cancelled) {
        return kg_fail(err, *w->cancelled ? KG_E_CANCELLED : seen.code, "%s", seen.message);
    }
    return kg_fail(err, KG_E_PROBLEM,
                   "%s: no constants were found that bring it down to %lld elements%s%.200s",
                   kg_torch_of(w)->problem->path, (long long)most, seen.code ? ": " : "",
                   seen.message);
}

/* Half, one less, odd between; or twice, one more, 1.1 to 1.6 times and odd: what a kernel for one
 * shape, for powers of two or for whole blocks does not expect. */
static int64_t other(int64_t v, bool grow, struct kg_rng *rng)
{
    switch (kg_rng_below(rng, 3)) {
    case 0:
        return grow ? 2 * v : v / 2;
    case 1:
        return grow ? v + 1 : v - 1;
    default:
        return grow ? (v + v * (1 + (int64_t)kg_rng_below(rng, 6)) / 10) | 1 : (v * 3 / 4) | 1;
    }
}

/* One or two constants changed; false: there is none to change. */
static bool change(json_t *consts, bool grow, struct kg_rng *rng)
{
    size_t n = json_object_size(consts), changed = 0;
    for (int tries = 0; tries < 8 && n > 0 && changed < 1 + kg_rng_below(rng, 2); tries++) {
        size_t pick = kg_rng_below(rng, n);
        const char *name;
        json_t *v;
        json_object_foreach(consts, name, v)
        {
            int64_t old = json_integer_value(v);
            if (pick-- == 0 && old > 2 && old < LARGEST) {
                json_integer_set(v, other(old, grow, rng));
                changed++;
            }
        }
    }
    return changed > 0;
}

/* The problem takes these constants, and is no larger than that. First without a call, which a
 * shape that is far too large would not survive. */
static bool takes(struct kg_worker *w, struct kg_tinstance *s, const json_t *consts, uint64_t most)
{
    bool good = true;
    for (int run = 0; run < 2 && good; run++) {
        struct kg_err ignored = KG_ERR_INIT;
        struct kg_task_desc d;
        good = kg_tinstance_describe(w, s, consts, run, &d, &ignored) == KG_OK;
        if (good) {
            good = size_of(&d) <= most;
            kg_task_deinit(&d);
        }
    }
    return good;
}

bool kg_tshapes_other(struct kg_worker *w, const struct kg_tinstance *base, struct kg_tinstance *s,
                      bool grow, struct kg_rng *rng)
{
    uint64_t most = (grow ? GROWN : 1) * size_of(&base->desc);
    for (int tries = 0; tries < 6 && !*w->cancelled; tries++) {
        json_t *consts = base->consts ? json_deep_copy(base->consts) : constants_of(&base->desc);
        bool good = change(consts, grow, rng) && takes(w, s, consts, most);
        kg_tinstance_close(w, s);
        if (good) {
            s->consts = consts;
            return true;
        }
        json_decref(consts);
    }
    return false;
}
