/* Problems of a step, without replacement within a pass over their pool. */
#include <math.h>
#include <stdlib.h>

#include "rl/step.h"

static void shuffle(struct rl_picker *p, int k)
{
    rl_shuffle(p->seed, RL_STREAM_ORDER, p->pass[k]++, (uint32_t)k, p->n[k], p->order[k]);
    p->at[k] = 0;
}

enum kg_code rl_picker_init(struct rl_picker *p, uint64_t seed, double share,
                            const struct rl_chain *const pool[2], const size_t n[2],
                            struct kg_err *err)
{
    *p = (struct rl_picker){.seed = seed, .share = share};
    if ((share < 1 && n[0] == 0) || (share > 0 && n[1] == 0)) {
        return kg_fail(err, KG_E_USAGE, "no problem of a kind that the run asks for");
    }
    for (int k = 0; k < 2; k++) {
        p->pool[k] = pool[k];
        p->n[k] = n[k];
        p->order[k] = calloc(n[k] + 1, sizeof *p->order[k]);
        if (p->order[k] == NULL) {
            rl_picker_deinit(p);
            return kg_fail(err, KG_E_HOST, "no memory for the order of problems");
        }
        shuffle(p, k);
    }
    return KG_OK;
}

void rl_picker_deinit(struct rl_picker *p)
{
    free(p->order[0]);
    free(p->order[1]);
    p->order[0] = p->order[1] = NULL;
}

void rl_picker_next(struct rl_picker *p, uint32_t step, int groups, struct rl_chain *out)
{
    double u = rl_draw(p->seed, RL_STREAM_CURRICULUM, step, 0, 0);
    int second = (int)floor(groups * p->share + u);
    for (int i = 0; i < groups; i++) {
        int k = i >= groups - second;
        if (p->at[k] == p->n[k]) {
            shuffle(p, k);
        }
        out[i] = p->pool[k][p->order[k][p->at[k]++]];
    }
}
