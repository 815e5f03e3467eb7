/* The candidate's own kernels, call after call. */
#include "gym/torch/profile/phase.h"

#include <string.h>

static const struct kg_tkernel *find(const struct kg_tprofile *p, const struct kg_tkernel *like)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->kernel[i].owner == like->owner && strcmp(p->kernel[i].name, like->name) == 0) {
            return &p->kernel[i];
        }
    }
    return NULL;
}

static size_t count(const struct kg_tprofile *p, enum kg_towner owner)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        n += p->kernel[i].owner == owner;
    }
    return n;
}

/* The same of its own, each as often. */
static bool same(const struct kg_tprofile *a, const struct kg_tprofile *b)
{
    bool all = count(a, KG_TO_OWN) == count(b, KG_TO_OWN);
    for (size_t i = 0; i < a->n && all; i++) {
        const struct kg_tkernel *k = &a->kernel[i], *there = find(b, k);
        all = k->owner != KG_TO_OWN || (there && there->calls == k->calls);
    }
    return all;
}

static void compare(struct kg_tphase *p, enum kg_tlaw law, uint64_t seed,
                    const struct kg_tprofile *call)
{
    if (p->calls <= KG_TPHASE_WARMUP) {
        return;
    }
    if (!p->base[law].there || p->base[law].seed != seed) {
        p->base[law].there = true;
        p->base[law].seed = seed;
        p->base[law].list = *call;
    } else if (p->changed == 0 && !same(&p->base[law].list, call)) {
        p->changed = p->calls;
        p->law = law;
        p->is = *call;
    }
}

/* A library has taken over with a kernel that is new here. Unknown ones may be its own (a graph
 * that was put together by hand), and what a compiler wrote is the league's business. */
static bool replaced(const struct kg_tphase *p, const struct kg_tprofile *call)
{
    bool any = false;
    for (size_t i = 0; i < call->n; i++) {
        any =
            any || (call->kernel[i].owner == KG_TO_LIBRARY && !find(&p->before, &call->kernel[i]));
    }
    return any && count(call, KG_TO_LIBRARY) == call->n;
}

static void follow(struct kg_tphase *p, const struct kg_tprofile *call)
{
    if (count(call, KG_TO_OWN) > 0) {
        p->back = p->back || p->left > 0;
        return;
    }
    if (p->left == 0 && p->calls > 1) {
        p->left = p->calls;
    }
    if (p->left > 0) {
        p->after++;
        p->other = p->other || !replaced(p, call);
    }
}

static void add(struct kg_tphase *p, struct kg_tprofile *list, const struct kg_tprofile *call)
{
    for (size_t i = 0; i < call->n; i++) {
        if (find(list, &call->kernel[i])) {
            continue;
        }
        if (list->n == KG_TPROFILE_ROWS) {
            p->other = true; /* who knows what was tried */
            return;
        }
        list->kernel[list->n++] = call->kernel[i];
    }
}

/* What it did without kernels of its own was a try if it came back to them; else it had left, on
 * other values first. */
static void remember(struct kg_tphase *p, const struct kg_tprofile *call)
{
    if (count(call, KG_TO_OWN) == 0) {
        add(p, &p->since, call);
        return;
    }
    add(p, &p->before, &p->since);
    add(p, &p->before, call);
    p->since.n = 0;
}

void kg_tphase_note(struct kg_tphase *p, enum kg_tlaw law, uint64_t seed,
                    const struct kg_tprofile *call)
{
    p->calls++;
    compare(p, law, seed, call);
    if (law == KG_TL_OWN || law == KG_TL_NEW) {
        follow(p, call);
    }
    if (p->left == 0) {
        remember(p, call);
    }
}

enum kg_tlaw kg_tphase_by_values(const struct kg_tphase *p)
{
    for (int l = 0; l < KG_TL_COUNT && p->base[KG_TL_OWN].there; l++) {
        if (p->base[l].there && !same(&p->base[KG_TL_OWN].list, &p->base[l].list)) {
            return (enum kg_tlaw)l;
        }
    }
    return KG_TL_OWN;
}

bool kg_tphase_left(const struct kg_tphase *p)
{
    return p->left > KG_TPHASE_WARMUP && p->changed > 0 && p->after >= KG_TPHASE_AFTER &&
           !p->back && !p->other;
}
