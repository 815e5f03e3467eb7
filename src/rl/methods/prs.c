/* Rejection of successes with low coverage. */
#include "rl/methods/prs.h"

#include <math.h>

#include "rl/methods/streams.h"

void rl_prs_defaults(struct rl_prs_options *o)
{
    *o = (struct rl_prs_options){.tau = .3, .sigma = .1, .mode = RL_PRS_POSITIVE};
}

enum kg_code rl_prs_check(const struct rl_prs_options *o, struct kg_err *err)
{
    if (!isfinite(o->tau) || !(o->sigma >= 0) || !isfinite(o->sigma)) {
        return kg_fail(err, KG_E_USAGE, "prs_tau, prs_sigma: sigma must be a number from 0 up");
    }
    if (o->or_speed && !(o->speed_least > 0)) {
        return kg_fail(err, KG_E_USAGE, "prs_or_speed: must be above 0");
    }
    return KG_OK;
}

double rl_prs_keep(const struct rl_row *r, const struct rl_prs_options *o)
{
    if (!r->correct || isnan(r->coverage) || (o->or_speed && r->speedup >= o->speed_least)) {
        return 1;
    }
    if (o->sigma == 0) {
        return r->coverage >= o->tau ? 1 : 0;
    }
    return fmin(fmax((r->coverage - o->tau) / o->sigma, 0), 1);
}

void rl_prs_apply(struct rl_rows *rows, const struct rl_prs_options *o, uint64_t seed,
                  struct rl_counts *counts)
{
    if (!o->on) {
        return;
    }
    for (size_t i = 0; i < rows->n; i++) {
        struct rl_row *r = &rows->row[i];
        if (!rl_row_kept(r)) {
            continue;
        }
        double keep = rl_prs_keep(r, o);
        bool acted = false;
        if (r->correct) {
            rl_count(counts, RL_C_PRS_BLIND, isnan(r->coverage));
        }
        if (o->mode == RL_PRS_WEIGHT) {
            r->weight = keep;
            acted = keep < 1;
        } else if (o->mode == RL_PRS_ALL || r->adv > 0) {
            acted = rl_draw(seed, RL_STREAM_PRS, r->birth, 0, r->index) >= keep;
            if (acted) {
                rl_row_reject(r, RL_WHY_PRS);
            }
        }
        rl_count(counts, RL_C_PRS, acted);
    }
}
