/* Problems of a step, without replacement within a pass over their pool. */
#include <stdlib.h>

#include "rl/step/step.h"

/* The most that the share can be. */
static double most(const struct rl_curriculum_options *o)
{
    return o->mode == RL_CUR_STATIC ? o->p_fixed : o->p_min + o->steps * o->delta;
}

static double least(const struct rl_curriculum_options *o)
{
    return o->mode == RL_CUR_STATIC ? o->p_fixed : o->p_min;
}

enum kg_code rl_picker_init(struct rl_picker *p, uint64_t seed,
                            const struct rl_curriculum_options *o,
                            const struct rl_chain *const pool[2], const size_t n[2],
                            struct kg_err *err)
{
    *p = (struct rl_picker){.seed = seed, .o = *o};
    rl_curriculum_init(&p->state.curriculum);
    if (rl_curriculum_check(o, err) != KG_OK) {
        return err->code;
    }
    if ((least(o) < 1 && n[0] == 0) || (most(o) > 0 && n[1] == 0)) {
        return kg_fail(err, KG_E_USAGE, "no problem of a kind that the run asks for");
    }
    for (int k = 0; k < 2; k++) {
        p->pool[k] = pool[k];
        p->n[k] = (uint32_t)n[k];
        p->order[k] = calloc(n[k] + 1, sizeof *p->order[k]);
        if (p->order[k] == NULL) {
            rl_picker_deinit(p);
            return kg_fail(err, KG_E_HOST, "no memory for the order of problems");
        }
    }
    return KG_OK;
}

void rl_picker_deinit(struct rl_picker *p)
{
    free(p->order[0]);
    free(p->order[1]);
    p->order[0] = p->order[1] = NULL;
}

void rl_picker_restore(struct rl_picker *p, const struct rl_picker_state *state)
{
    p->state = *state;
    p->stale[0] = p->stale[1] = true;
}

double rl_picker_share(const struct rl_picker *p)
{
    return rl_curriculum_share(&p->state.curriculum, &p->o);
}

void rl_picker_next(struct rl_picker *p, uint32_t step, int groups, struct rl_chain *out)
{
    struct rl_slots slots =
        rl_curriculum_slots((uint32_t)groups, rl_picker_share(p), 0, p->seed, step);
    for (uint32_t i = 0; i < (uint32_t)groups; i++) {
        uint32_t k = i >= slots.n1;
        out[i] = p->pool[k][rl_cursor_next(&p->state.cursor[k], p->seed, k, p->n[k], p->order[k],
                                           p->stale[k])];
        p->stale[k] = false;
    }
}

void rl_picker_learn(struct rl_picker *p, uint32_t right, uint32_t n, struct rl_counts *counts)
{
    if (p->o.mode != RL_CUR_STATIC) {
        rl_curriculum_update(&p->state.curriculum, &p->o, right, n, counts);
    }
}
