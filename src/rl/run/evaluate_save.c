/* An evaluation in a checkpoint: its outcomes, from which all else follows. */
#include <math.h>

#include "base/json.h"
#include "rl/run/evaluate.h"

enum {
    SAMPLED = 1,
    EXTRACTED = 2,
    VALID = 4,
    COMPILED = 8,
    CORRECT = 16,
    NUMERICS = 32,
    HACK = 64
};

static double number(const json_t *x)
{
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static json_t *save_one(const struct rl_outcome *o)
{
    int flags = (o->sampled ? SAMPLED : 0) | (o->extracted ? EXTRACTED : 0) |
                (o->valid ? VALID : 0) | (o->compiled ? COMPILED : 0) | (o->correct ? CORRECT : 0) |
                (o->numerics ? NUMERICS : 0) | (o->hack ? HACK : 0);
    return json_pack("[i,o,o,o,i]", flags, kg_json_real(o->speedup), kg_json_real(o->speedup_lo),
                     kg_json_real(o->coverage), o->style);
}

static struct rl_outcome restore_one(const json_t *x)
{
    json_int_t flags = json_integer_value(json_array_get(x, 0));
    return (struct rl_outcome){.sampled = flags & SAMPLED,
                               .extracted = flags & EXTRACTED,
                               .valid = flags & VALID,
                               .compiled = flags & COMPILED,
                               .correct = flags & CORRECT,
                               .numerics = flags & NUMERICS,
                               .hack = flags & HACK,
                               .speedup = number(json_array_get(x, 1)),
                               .speedup_lo = number(json_array_get(x, 2)),
                               .coverage = number(json_array_get(x, 3)),
                               .style = (int)json_integer_value(json_array_get(x, 4))};
}

json_t *rl_evaluation_save(const struct rl_evaluation *e)
{
    json_t *outcomes = json_array();
    size_t n = e->problems * e->samples * e->turns;
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(outcomes, save_one(&e->outcome[i]));
    }
    return json_pack("{s:I,s:I,s:I,s:i,s:f,s:o}", "problems", (json_int_t)e->problems, "samples",
                     (json_int_t)e->samples, "turns", (json_int_t)e->turns, "infra", e->infra,
                     "seconds", e->rollout.seconds, "outcomes", outcomes);
}

static size_t count(const json_t *saved, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(saved, key));
    return n > 0 && n < 1 << 20 ? (size_t)n : 0;
}

enum kg_code rl_evaluation_restore(const json_t *saved, uint64_t seed, struct rl_evaluation *out,
                                   struct kg_err *err)
{
    const json_t *outcomes = json_object_get(saved, "outcomes");
    *out =
        (struct rl_evaluation){.problems = count(saved, "problems"),
                               .samples = count(saved, "samples"),
                               .turns = count(saved, "turns"),
                               .infra = (int)json_integer_value(json_object_get(saved, "infra"))};
    size_t n = out->problems * out->samples * out->turns;
    if (n == 0 || json_array_size(outcomes) != n) {
        return kg_fail(err, KG_E_INPUT, "an evaluation of %zu outcomes, not of %zu",
                       json_array_size(outcomes), n);
    }
    out->rollout.seconds = number(json_object_get(saved, "seconds"));
    enum kg_code code = rl_evaluation_allocate(out, err);
    for (size_t i = 0; i < n && code == KG_OK; i++) {
        out->outcome[i] = restore_one(json_array_get(outcomes, i));
    }
    code = code == KG_OK ? rl_evaluation_compute(out, seed, err) : code;
    if (code != KG_OK) {
        rl_evaluation_deinit(out);
    }
    return code;
}
