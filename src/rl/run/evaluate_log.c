/* An evaluation as part of a line of metrics. */
#include <string.h>

#include "base/json.h"
#include "rl/run/evaluate.h"

static json_t *interval(struct rl_interval i)
{
    json_t *a = json_array();
    json_array_append_new(a, kg_json_real(i.value));
    json_array_append_new(a, kg_json_real(i.lo));
    json_array_append_new(a, kg_json_real(i.hi));
    return a;
}

void rl_evaluation_styles(const struct rl_evaluation *e, int n[RL_STYLE_KEYS])
{
    memset(n, 0, RL_STYLE_KEYS * sizeof *n);
    for (size_t i = 0; i < e->problems * e->samples; i++) {
        const struct rl_outcome *turn = e->outcome + i * e->turns;
        size_t t = e->turns;
        while (t > 1 && !turn[t - 1].sampled) {
            t--;
        }
        n[turn[t - 1].style]++;
    }
}

static json_t *styles(const struct rl_evaluation *e)
{
    int n[RL_STYLE_KEYS];
    double all = (double)(e->problems * e->samples);
    json_t *o = json_object();
    rl_evaluation_styles(e, n);
    for (int k = 0; k < RL_STYLE_KEYS; k++) {
        char name[48];
        rl_style_key_name(k, name);
        if (n[k] > 0) {
            json_object_set_new(o, name, json_real(n[k] / all));
        }
    }
    return o;
}

void rl_evaluation_log(const struct rl_evaluation *e, uint64_t seed, json_t *line)
{
    const struct rl_results r = rl_evaluation_part(e, 0, e->problems);
    for (int s = 0; s < RL_SCORES; s++) {
        json_object_set_new(line, rl_score_name((enum rl_score)s), interval(e->score[s]));
    }
    for (size_t t = 1; t <= e->turns; t++) {
        char name[24];
        json_t *turn = json_object();
        snprintf(name, sizeof name, "turn%zu", t);
        for (int s = 0; s < RL_SCORES; s++) {
            const struct rl_view v = {RL_OF_TURN, t};
            json_object_set_new(turn, rl_score_name((enum rl_score)s),
                                interval(rl_score_of(&r, v, (enum rl_score)s, seed)));
        }
        json_object_set_new(line, name, turn);
    }
    json_object_set_new(line, "styles", styles(e));
}
