/* What a run writes: lines of metrics.jsonl, and the table for people. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "rl/run/loop.h"
#include "rl/run/run_events.h"

const char *rl_phase_name(enum rl_phase p)
{
    static const char *const name[] = {"corpus", "sft", "eval-before", "rl", "eval-after"};
    return name[p];
}

/* The same numbers for TensorBoard; a file begins with a record of its own. */
static enum kg_code log_events(struct rl_run *run, const json_t *line, struct kg_err *err)
{
    struct kg_buf bytes;
    double wall = (double)kg_clock_wall_ms() * 1e-3;
    FILE *f = run->files.file[RL_FILE_EVENTS];
    kg_buf_init(&bytes, 1u << 20);
    if (f != NULL && ftello(f) == 0) {
        rl_events_begin(wall, &bytes);
    }
    rl_events_scalars(wall, line, &bytes);
    enum kg_code code = rl_files_add(&run->files, RL_FILE_EVENTS, bytes.data, bytes.len, err);
    kg_buf_deinit(&bytes);
    return code;
}

enum kg_code rl_run_log(struct rl_run *run, json_t *line, struct kg_err *err)
{
    enum kg_code code = rl_files_line(&run->files, RL_FILE_METRICS, line, err);
    code = code == KG_OK ? log_events(run, line, err) : code;
    json_decref(line);
    return code;
}

/* A number that JSON can hold. */
static void put(json_t *o, const char *key, double x)
{
    json_object_set_new(o, key, kg_json_real(x));
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

json_t *rl_log_evaluation(enum rl_phase phase, const struct rl_evaluation *e, uint64_t seed)
{
    json_t *o = begin(rl_phase_name(phase));
    put(o, "seconds", e->rollout.seconds);
    put_count(o, "problems", e->problems);
    put_count(o, "samples", e->samples);
    put_count(o, "infra", (uint64_t)e->infra);
    rl_evaluation_log(e, seed, o);
    return o;
}

json_t *rl_log_end(const struct rl_run *run, struct kg_buf *table)
{
    json_t *o = begin("end");
    const char *idle = rl_loop_idle(run);
    for (int p = 0; p <= RL_PHASE_AFTER; p++) {
        put(o, rl_phase_name((enum rl_phase)p), run->seconds[p]);
    }
    put_count(o, "updates", run->updates);
    put_count(o, "skipped", run->skipped);
    struct rl_judge_counts j = rl_judge_counts(run->judge);
    put_count(o, "asked", j.asked);
    put_count(o, "shared", j.shared);
    put_count(o, "evaluations", j.sent);
    put_count(o, "from_journal", j.read);
    json_object_set_new(o, "components", rl_loop_components(run));
    json_object_set_new(o, "recheck", rl_loop_recheck_json(run));
    json_object_set_new(o, "idle", idle ? json_string(idle) : json_null());
    json_object_set_new(o, "differences", rl_loop_compare(run, table));
    rl_loop_component_table(run, table);
    kg_buf_adds(table, "\nseconds:");
    for (int p = 0; p <= RL_PHASE_AFTER; p++) {
        kg_buf_addf(table, " %s %.0f", rl_phase_name((enum rl_phase)p), run->seconds[p]);
    }
    kg_buf_addc(table, '\n');
    return o;
}

void rl_run_note(const struct rl_run *run, uint32_t step, const struct rl_step_stats *s,
                 double seconds, char *out, size_t cap)
{
    char coverage[16] = "-";
    struct rl_judge_counts j = rl_judge_counts(run->judge);
    if (isfinite(s->coverage)) {
        snprintf(coverage, sizeof coverage, "%.2f", s->coverage);
    }
    snprintf(out, cap,
             "step %u, reward %.2f, correct %.2f, fast_1.2 %.2f, hack %.2f, coverage %s, mismatch "
             "%.1g, %.1f rows/s, %llu evaluations",
             step, s->reward, s->correct, s->fast, s->hack, coverage, s->max_diff,
             seconds > 0 ? s->rows / seconds : 0.0, (unsigned long long)j.sent);
}
