/* Holds the cores of the gym's pool. */
#include "rl/judge/cores.h"

#include "base/clock.h"
#include "rl/judge/judge.h"

#define ALL_CORES (-1)

void rl_cores_init(struct rl_cores *c, struct kgym_pool *pool)
{
    *c = (struct rl_cores){.pool = pool};
}

enum kg_code rl_cores_hold(struct rl_cores *c, struct kg_err *err)
{
    struct kgym_error e = {0};
    int64_t began = kg_clock_ns();
    if (c->pool == NULL || c->held) {
        return KG_OK;
    }
    if (kgym_hold_core(c->pool, ALL_CORES, -1, &e) != KGYM_OK) {
        return rl_judge_fail(err, &e);
    }
    c->since_ns = kg_clock_ns();
    c->waited += (double)(c->since_ns - began) * 1e-9;
    c->holds++;
    c->held = true;
    return KG_OK;
}

enum kg_code rl_cores_release(struct rl_cores *c, struct kg_err *err)
{
    struct kgym_error e = {0};
    if (c->pool == NULL || !c->held) {
        return KG_OK;
    }
    c->held = false;
    c->owned += (double)(kg_clock_ns() - c->since_ns) * 1e-9;
    return kgym_release_core(c->pool, ALL_CORES, &e) == KGYM_OK ? KG_OK : rl_judge_fail(err, &e);
}
