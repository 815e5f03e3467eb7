/* What the loop reports: lines of metrics, and the components of the method. */
#include <math.h>

#include "base/json.h"
#include "rl/run/loop.h"

/* A number that JSON can hold. */
static void put(json_t *o, const char *key, double x)
{
    json_object_set_new(o, key, kg_json_real(x));
}

static void put_count(json_t *o, const char *key, uint64_t n)
{
    json_object_set_new(o, key, json_integer((json_int_t)n));
}

static void log_means(json_t *o, const struct rl_step_stats *s)
{
    put(o, "reward", s->reward);
    put(o, "correct", s->correct);
    put(o, "fast_1.2", s->fast);
    put(o, "hack", s->hack);
    put(o, "coverage", s->coverage);
    put(o, "length", s->length);
    put(o, "entropy", s->entropy);
    put(o, "loss", s->loss);
    put(o, "norm", s->norm);
}

static void log_rows(json_t *o, const struct rl_step_stats *s)
{
    json_t *drops = json_object();
    put_count(o, "rows", (uint64_t)s->rows);
    put_count(o, "live", (uint64_t)s->live);
    put_count(o, "kept", (uint64_t)s->kept);
    put_count(o, "groups", (uint64_t)s->groups);
    put_count(o, "dropped", (uint64_t)s->dropped);
    put_count(o, "rounds", (uint64_t)s->rounds);
    put_count(o, "spare", (uint64_t)s->spare);
    put_count(o, "winners", (uint64_t)s->winners);
    for (int d = 0; d < RL_DROPS; d++) {
        put_count(drops, rl_drop_name((enum rl_drop)d), (uint64_t)s->of_drop[d]);
    }
    json_object_set_new(o, "drops", drops);
}

/* Differences of learner and sampler, and what masks took out by quartile of length. */
static void log_mismatch(json_t *o, const struct rl_step_stats *s)
{
    json_t *rejected = json_object(), *lengths = json_array();
    put(o, "mismatch", s->max_diff);
    put(o, "mismatch_kl", s->mismatch.kl);
    put(o, "mismatch_k3", s->mismatch.k3);
    put(o, "effective", s->mismatch.effective);
    for (int q = 0; q < RL_QUARTILES; q++) {
        json_array_append_new(lengths, json_integer(s->of_length[q]));
    }
    for (int c = 0; c < RL_CAUSES; c++) {
        json_t *per = json_array();
        for (int q = 0; q < RL_QUARTILES; q++) {
            json_array_append_new(per, json_integer(s->of_cause[c][q]));
        }
        json_object_set_new(rejected, rl_cause_name(c), per);
    }
    json_object_set_new(o, "by_length", lengths);
    json_object_set_new(o, "rejected", rejected);
}

static json_t *log_turns(const struct rl_step_stats *s)
{
    json_t *turns = json_array();
    for (int t = 0; t < RL_TURNS_MAX && s->turn[t].rows > 0; t++) {
        json_t *one = json_object();
        put_count(one, "rows", (uint64_t)s->turn[t].rows);
        put(one, "reward", s->turn[t].reward);
        put(one, "correct", s->turn[t].correct);
        put(one, "fast_1.2", s->turn[t].fast);
        json_array_append_new(turns, one);
    }
    return turns;
}

json_t *rl_loop_log(const struct rl_loop_line *l, const struct rl_step_stats *s,
                    const struct rl_rollout_stats *r, struct rl_judge_counts j)
{
    json_t *o = json_object();
    json_object_set_new(o, "phase", json_string("rl"));
    put_count(o, "step", l->step);
    put(o, "seconds", l->seconds);
    put(o, "rollout_s", r->seconds);
    put(o, "draw_s", r->draw_seconds);
    put(o, "judge_wait_s", r->judge_seconds);
    put(o, "learn_s", l->learn_seconds);
    put(o, "share", l->share);
    log_means(o, s);
    log_rows(o, s);
    log_mismatch(o, s);
    json_object_set_new(o, "turns", log_turns(s));
    put_count(o, "infra", (uint64_t)r->infra + (uint64_t)r->defect);
    put_count(o, "cut", (uint64_t)r->cut);
    put_count(o, "sampled", r->sampled);
    put_count(o, "asked", j.asked);
    put_count(o, "shared", j.shared);
    put_count(o, "evaluations", j.sent);
    json_object_set_new(o, "skipped", json_boolean(s->skipped));
    return o;
}

/* --- components --- */

/* With the judge's part. */
static struct rl_counts counts_of(const struct rl_run *run)
{
    struct rl_counts c = {0};
    if (run->step != NULL) {
        c = *rl_step_counts(run->step);
    }
    struct rl_judge_counts j = rl_judge_counts(run->judge);
    c.of[RL_C_REUSE] = (struct rl_count){run->config->reuse ? j.asked : 0, j.shared};
    return c;
}

const char *rl_loop_idle(const struct rl_run *run)
{
    bool on[RL_C_N];
    struct rl_counts c = counts_of(run);
    rl_config_on(run->config, &run->methods, on);
    return run->updates > 0 ? rl_counts_idle(&c, on) : NULL;
}

json_t *rl_loop_components(const struct rl_run *run)
{
    json_t *o = json_object();
    struct rl_counts c = counts_of(run);
    for (int i = 0; i < RL_C_N; i++) {
        json_object_set_new(
            o, rl_count_name((enum rl_component)i),
            json_pack("[I,I]", (json_int_t)c.of[i].looked, (json_int_t)c.of[i].acted));
    }
    return o;
}

void rl_loop_component_table(const struct rl_run *run, struct kg_buf *out)
{
    bool on[RL_C_N];
    struct rl_counts c = counts_of(run);
    rl_config_on(run->config, &run->methods, on);
    kg_buf_addf(out, "\ncomponents: looked at, changed (%llu updates)\n",
                (unsigned long long)run->updates);
    for (int i = 0; i < RL_C_N; i++) {
        kg_buf_addf(out, "  %-10s %-3s %9llu %9llu\n", rl_count_name((enum rl_component)i),
                    on[i] ? "on" : "", (unsigned long long)c.of[i].looked,
                    (unsigned long long)c.of[i].acted);
    }
    double first, again;
    kg_buf_addf(out,
                "judged again by preset default: %llu of %llu %s that were chosen; %llu held\n",
                (unsigned long long)run->recheck.checked, (unsigned long long)run->recheck.chosen,
                run->config->trainer == RL_TRAINER_PG ? "correct replies" : "winners",
                (unsigned long long)run->recheck.held);
    rl_recheck_speeds(&run->recheck, &first, &again);
    if (run->recheck.timed > 0) {
        kg_buf_addf(out, "speed-up of these, geometric mean: %.2fx first, %.2fx again\n", first,
                    again);
    }
}

json_t *rl_loop_recheck_json(const struct rl_run *run)
{
    const struct rl_recheck_counts *c = &run->recheck;
    double first, again;
    json_t *o = json_object();
    put_count(o, "offered", c->offered);
    put_count(o, "chosen", c->chosen);
    put_count(o, "checked", c->checked);
    put_count(o, "held", c->held);
    put_count(o, "disagreed", c->disagreed);
    put_count(o, "failed", c->failed);
    rl_recheck_speeds(c, &first, &again);
    json_object_set_new(o, "speedup_first", c->timed > 0 ? json_real(first) : json_null());
    json_object_set_new(o, "speedup_again", c->timed > 0 ? json_real(again) : json_null());
    return o;
}
