/* What a run writes: lines of metrics.jsonl, and the table for people. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "rl/run.h"

const char *rl_phase_name(enum rl_phase p)
{
    static const char *const name[] = {"corpus", "sft", "eval-before", "rl", "eval-after"};
    return name[p];
}

enum kg_code rl_run_log(struct rl_run *run, json_t *line, struct kg_err *err)
{
    struct kg_buf text;
    bool ok = true;
    kg_buf_init(&text, 1u << 20);
    kg_json_dump(line, &text);
    json_decref(line);
    if (run->metrics != NULL) {
        ok = fprintf(run->metrics, "%s\n", text.data) > 0 && fflush(run->metrics) == 0;
    }
    kg_buf_deinit(&text);
    return ok ? KG_OK : kg_fail(err, KG_E_IO, "metrics.jsonl: cannot write: %s", strerror(errno));
}

/* A number that JSON can hold. */
static void put(json_t *o, const char *key, double x)
{
    json_object_set_new(o, key, isfinite(x) ? json_real(x) : json_null());
}

static void put_count(json_t *o, const char *key, uint64_t n)
{
    json_object_set_new(o, key, json_integer((json_int_t)n));
}

static json_t *begin(const char *phase)
{
    json_t *o = json_object();
    json_object_set_new(o, "phase", json_string(phase));
    return o;
}

json_t *rl_log_sft(const struct rl_sft_stats *s)
{
    json_t *o = begin("sft");
    put_count(o, "step", (uint64_t)s->step);
    put(o, "seconds", s->seconds);
    put(o, "loss", s->loss);
    put(o, "rate", s->rate);
    put(o, "norm", s->norm);
    put_count(o, "tokens", s->tokens);
    put_count(o, "trained", s->trained);
    put_count(o, "skipped", s->skipped);
    put_count(o, "left_out", s->left_out);
    return o;
}

json_t *rl_log_step(uint32_t step, const struct rl_step_stats *s, const struct rl_rollout_stats *r,
                    struct rl_judge_counts j, double seconds, double learn_seconds)
{
    json_t *o = begin("rl");
    put_count(o, "step", step);
    put(o, "seconds", seconds);
    put(o, "rollout_s", r->seconds);
    put(o, "judge_wait_s", r->judge_seconds);
    put(o, "learn_s", learn_seconds);
    put(o, "reward", s->reward);
    put(o, "correct", s->correct);
    put(o, "fast_1.2", s->fast);
    put(o, "hack", s->hack);
    put(o, "coverage", s->coverage);
    put(o, "length", s->length);
    put(o, "entropy", s->entropy);
    put(o, "loss", s->loss);
    put(o, "norm", s->norm);
    put(o, "mismatch", s->max_diff);
    put_count(o, "rows", (uint64_t)s->rows);
    put_count(o, "live", (uint64_t)s->live);
    put_count(o, "kept", (uint64_t)s->kept);
    put_count(o, "groups", (uint64_t)s->groups);
    put_count(o, "dropped", (uint64_t)s->dropped);
    put_count(o, "infra", (uint64_t)r->infra + (uint64_t)r->defect);
    put_count(o, "cut", (uint64_t)r->cut);
    put_count(o, "sampled", r->sampled);
    put_count(o, "asked", j.asked);
    put_count(o, "shared", j.shared);
    put_count(o, "evaluations", j.sent);
    json_object_set_new(o, "skipped", json_boolean(s->skipped));
    return o;
}

json_t *rl_log_evaluation(enum rl_phase phase, const struct rl_evaluation *e)
{
    json_t *o = begin(rl_phase_name(phase));
    put(o, "seconds", e->rollout.seconds);
    put_count(o, "problems", e->problems);
    put_count(o, "samples", e->samples);
    put_count(o, "infra", (uint64_t)e->infra);
    for (int s = 0; s < RL_SCORES; s++) {
        const struct rl_interval *i = &e->score[s];
        json_object_set_new(o, rl_score_name((enum rl_score)s),
                            json_pack("[f,f,f]", i->value, i->lo, i->hi));
    }
    put(o, "geomean", e->geomean);
    return o;
}

json_t *rl_log_end(const struct rl_run *run)
{
    json_t *o = begin("end"), *counts = json_object();
    const struct rl_counts *c = rl_step_counts(run->step);
    const char *idle = run->updates > 0 ? rl_methods_idle(&run->methods, c) : NULL;
    for (int i = 0; i < RL_C_N; i++) {
        json_object_set_new(
            counts, rl_count_name((enum rl_component)i),
            json_pack("[I,I]", (json_int_t)c->of[i].looked, (json_int_t)c->of[i].acted));
    }
    for (int p = 0; p <= RL_PHASE_AFTER; p++) {
        put(o, rl_phase_name((enum rl_phase)p), run->seconds[p]);
    }
    put_count(o, "updates", run->updates);
    put_count(o, "skipped", run->skipped);
    json_object_set_new(o, "components", counts);
    json_object_set_new(o, "idle", idle ? json_string(idle) : json_null());
    return o;
}

static double mean(const double *per, int from, int to)
{
    double sum = 0;
    for (int i = from; i < to; i++) {
        sum += per[i];
    }
    return sum / (to - from);
}

static void add_part(const struct rl_run *run, const char *name, int from, int to,
                     struct kg_buf *out)
{
    if (from == to) {
        return;
    }
    kg_buf_addf(out, "%d held-out %s, %lld samples\n", to - from, name,
                (long long)run->config->eval_samples);
    for (int s = 0; s < RL_SCORES; s++) {
        struct rl_interval d =
            rl_evaluation_difference(&run->before, &run->after, (enum rl_score)s, (size_t)from,
                                     (size_t)to, (uint64_t)run->config->seed);
        kg_buf_addf(out, "  %-9s %.3f -> %.3f   %+.3f [%+.3f, %+.3f]\n",
                    rl_score_name((enum rl_score)s), mean(run->before.per[s], from, to),
                    mean(run->after.per[s], from, to), d.value, d.lo, d.hi);
    }
}

void rl_run_table(const struct rl_run *run, struct kg_buf *out)
{
    kg_buf_adds(out, "\nbefore RL -> after RL   difference [95 % interval]\n");
    add_part(run, "pairs", 0, run->held_pairs, out);
    add_part(run, "triples", run->held_pairs, run->held_n, out);
    kg_buf_addf(out, "geometric mean of the speed-up of correct ones: %.2f -> %.2f\nseconds:",
                run->before.geomean, run->after.geomean);
    for (int p = 0; p <= RL_PHASE_AFTER; p++) {
        kg_buf_addf(out, " %s %.0f", rl_phase_name((enum rl_phase)p), run->seconds[p]);
    }
    kg_buf_addc(out, '\n');
}
