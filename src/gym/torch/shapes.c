/* Other shapes of a problem, by other values of its module-level integer constants. */
#include <string.h>

#include "gym/torch/torch.h"

#define TRIES 48

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

/* One constant smaller by a factor; true: the problem takes it and its inputs shrink. */
static bool shrink(struct kg_worker *w, struct kg_tscene *s, json_t *consts, const char *name,
                   int64_t by, uint64_t *elements, struct kg_err *err)
{
    int64_t old = json_integer_value(json_object_get(consts, name));
    struct kg_task_desc d;
    if (old / by < 1 || old / by == old) {
        return false;
    }
    json_object_set_new(consts, name, json_integer(old / by));
    bool good = kg_tscene_describe(w, s, consts, false, &d, err) == KG_OK;
    if (good) {
        good = d.elements < *elements;
        *elements = good ? d.elements : *elements;
        kg_task_deinit(&d);
    }
    if (!good) {
        json_object_set_new(consts, name, json_integer(old));
    }
    return good;
}

/* Halving the largest first keeps divisors of each other in proportion. */
static bool lower(struct kg_worker *w, struct kg_tscene *s, json_t *consts, uint64_t elements,
                  uint64_t most, struct kg_err *err)
{
    json_t *fixed = json_object();
    for (int tries = 0; elements > most && tries < TRIES && !kg_cancelled; tries++) {
        const char *name = largest(consts, fixed);
        if (!name) {
            break;
        }
        int64_t by = elements / most >= 16 ? 4 : 2;
        if (!shrink(w, s, consts, name, by, &elements, err) &&
            !shrink(w, s, consts, name, 2, &elements, err)) {
            json_object_set_new(fixed, name, json_true());
        }
    }
    json_decref(fixed);
    return elements <= most;
}

enum kg_code kg_tshapes_tiny(struct kg_worker *w, struct kg_tscene *s, int64_t most,
                             struct kg_err *err)
{
    const struct kg_task_desc *published = &w->torch->scene[KG_SCENE_PUBLISHED].desc;
    struct kg_task_desc d;
    if (published->elements <= (uint64_t)most) {
        return KG_OK;
    }
    json_t *consts = constants_of(published);
    struct kg_err seen = KG_ERR_INIT;
    bool small = lower(w, s, consts, published->elements, (uint64_t)most, &seen);
    if (!small || kg_tscene_describe(w, s, consts, true, &d, &seen) != KG_OK) {
        json_decref(consts);
        kg_tscene_close(w, s);
        return seen.code == KG_E_GYM || seen.code == KG_E_CANCELLED
                   ? (*err = seen, err->code)
                   : kg_fail(err, KG_E_PROBLEM,
                             "%s: no constants were found that bring its inputs down to %lld "
                             "elements%s%.200s",
                             w->torch->problem->path, (long long)most, seen.code ? ": " : "",
                             seen.message);
    }
    kg_task_deinit(&d);
    kg_tscene_close(w, s);
    s->consts = consts;
    return KG_OK;
}
