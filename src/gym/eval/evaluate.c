/* Runs the stages of one evaluation in order and concludes its record. */
#include "gym/eval/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/trace.h"
#include "gym/eval/accidents.h"
#include "gym/eval/context.h"
#include "gym/eval/executor.h"
#include "gym/eval/findings.h"
#include "gym/eval/first_look.h"
#include "gym/reward/reward.h"

static bool enabled(const struct kg_config *c, enum kg_stage s)
{
    switch (s) {
    case KG_ST_STATIC:
        return c->stage_static;
    case KG_ST_TINY:
        return c->stage_tiny;
    case KG_ST_FULL:
        return c->stage_full;
    case KG_ST_TIMING:
        return c->stage_timing;
    case KG_ST_PROFILE:
        return c->stage_profile;
    default:
        return true;
    }
}

/* Unstaged evaluation goes on after a failure, but nothing runs without code, or when it does not
 * build. */
static bool can_run(const struct kg_evaluation *e, enum kg_stage s)
{
    return s <= KG_ST_EXTRACT || (e->code && (s <= KG_ST_COMPILE || e->built));
}

static enum kg_stage_result run_stage(struct kg_evaluation *e, enum kg_stage s, struct kg_err *err)
{
    return s == KG_ST_EXTRACT ? kg_stage_extract(e, err) : e->w->executor->stage[s](e, err);
}

static void first_verdict_stays(struct kg_record *r, enum kg_verdict v, const char *reason,
                                const char *message)
{
    if (v != KG_V_NONE) {
        r->verdict = v;
        r->reason = reason;
        r->message = message;
    }
}

/* A wrong answer that was seen is not taken back by an error after it, which the candidate may have
 * brought about. An interruption takes it back. */
static bool stays(struct kg_evaluation *e, const struct kg_err *err)
{
    struct kg_record *r = e->r;
    bool seen = r->verdict == KG_V_WRONG || r->verdict == KG_V_HACK;
    if (!seen || err->code == KG_E_CANCELLED) {
        return false;
    }
    e->spoiled = true;
    r->correct = 0;
    return true;
}

/* All stages in order. The error, if any, is in *err. */
static enum kg_code run_stages(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_record *r = e->r;
    const struct kg_config *c = &e->w->config;
    bool failed = false;
    for (enum kg_stage s = KG_ST_EXTRACT; s < KG_ST_COUNT; s++) {
        if (!enabled(c, s) || (s > KG_ST_EXTRACT && !e->w->executor->stage[s])) {
            r->stages[s].status = KG_SS_OFF;
            continue;
        }
        if (s > e->task->stop_after || (failed && c->staged) || !can_run(e, s)) {
            continue;
        }
        enum kg_verdict v = r->verdict;
        const char *reason = r->reason, *message = r->message;
        enum kg_stage entered = r->stage;
        r->stage = s;
        int64_t t0 = kg_clock_ns();
        kg_evaluation_move(e);
        enum kg_stage_result res = run_stage(e, s, err);
        r->stages[s].ns = kg_clock_ns() - t0;
        kg_trace_span(t0, "stage", kg_stage_name(s));
        if (r->stages[s].status == KG_SS_OFF) { /* it says that it cannot be done here */
            r->stage = entered;
        } else {
            r->stages[s].status = res == KG_STAGE_PASS ? KG_SS_PASS : KG_SS_FAIL;
        }
        first_verdict_stays(r, v, reason, message);
        failed = failed || res == KG_STAGE_FAIL;
        if (res == KG_STAGE_ERROR) {
            return stays(e, err) ? KG_OK : err->code;
        }
        if (s == KG_ST_FULL && res == KG_STAGE_PASS && r->verdict == KG_V_NONE) {
            r->correct = 1;
        } else if (s >= KG_ST_TINY && failed) {
            r->correct = 0;
        }
    }
    return KG_OK;
}

void kg_eval_input_sha256(const struct kg_config *c, const char *problem, size_t problem_len,
                          const char *text, size_t text_len, bool is_source,
                          char out[KG_SHA256_HEX])
{
    struct kg_sha256 h;
    struct kg_buf b;
    json_t *config = kg_context_asked(c);
    kg_buf_init(&b, 1 << 16);
    kg_json_dump(config, &b);
    json_decref(config);
    kg_sha256_begin(&h);
    kg_sha256_part(&h, problem, problem_len);
    kg_sha256_part(&h, text, text_len);
    kg_sha256_part(&h, b.data, b.len);
    if (is_source) { /* no code is looked for in it */
        kg_sha256_part(&h, "source", 6);
    }
    kg_sha256_end(&h, out);
    kg_buf_deinit(&b);
}

static enum kg_code secret_key(const struct kg_worker *w, const struct kg_task *t,
                               struct kg_key *key, struct kg_err *err)
{
    const char *hex =
        t->replay ? json_string_value(json_object_get(t->replay, "key")) : w->config.seed;
    if (t->replay && !hex) {
        return kg_fail(err, KG_E_INPUT, "private.key: missing: this record has nothing to repeat");
    }
    if (!hex || !*hex) {
        return kg_rng_secret(key, err);
    }
    if (!kg_key_parse(hex, key)) {
        return kg_fail(err, KG_E_USAGE, "seed `%s`: 32 hexadecimal digits are needed", hex);
    }
    return KG_OK;
}

/* What is measured and still not rewarded as it is. */
static void explain_short(struct kg_record *r)
{
    char why[200];
    struct kg_err ignored = KG_ERR_INIT;
    kg_reward_too_short(r, why, sizeof why);
    if (why[0] != '\0' && r->timing.why == NULL) {
        r->timing.why = kg_arena_dup(&r->arena, why, strlen(why), &ignored);
    }
}

/* The middle of a wide interval is no measurement. What a procedure claims has its own rules. */
static void distrust_wide(struct kg_evaluation *e)
{
    struct kg_record *r = e->r;
    double widest = e->w->config.timing_widest;
    struct kg_err ignored = KG_ERR_INIT;
    if (r->timing.status != KG_T_MEASURED || r->timing.claims != NULL ||
        !kg_record_is_wide(r, widest)) {
        return;
    }
    r->timing.status = KG_T_NOT_TRUSTED;
    r->timing.why = kg_arena_printf(&r->arena, &ignored,
                                    "its interval is too wide: %.3g to %.3g, a factor above %g "
                                    "(timing.widest)",
                                    r->speedup.lo, r->speedup.hi, widest);
}

/* By each preset of the configuration. */
static void reward(struct kg_evaluation *e)
{
    struct kg_record *r = e->r;
    struct kg_reward_params params;
    const struct kg_config *c = &e->w->config;
    kg_config_reward_params(c, &params);
    char names[sizeof c->rewards], *rest = NULL;
    snprintf(names, sizeof names, "%s", c->rewards);
    for (char *n = strtok_r(names, ", ", &rest); n && r->nrewards < KG_MAX_REWARDS;
         n = strtok_r(NULL, ", ", &rest)) {
        kg_reward_compute(r, n, &params, &r->rewards[r->nrewards++]);
    }
}

static void conclude(struct kg_evaluation *e)
{
    struct kg_record *r = e->r;
    if (r->verdict == KG_V_NONE && r->stages[KG_ST_FULL].status == KG_SS_PASS) {
        bool own = e->w->config.protocol == KG_PROTOCOL_OWN;
        kg_record_verdict(r, KG_V_OK, NULL, "%s",
                          !own                   ? "within KernelBench's tolerance in every trial"
                          : r->replay[0] != '\0' ? "right on every recorded input"
                                                 : "right on every input");
    }
    if (r->verdict != KG_V_OK) {
        r->has_speedup = false;
    }
    if (r->verdict == KG_V_NONE) {
        return;
    }
    const char *absent = kg_reward_absent(r);
    if (absent) {
        kg_record_evidence(r, "unrewarded", json_pack("{s:s}", "why", absent));
        return;
    }
    distrust_wide(e);
    explain_short(r);
    reward(e);
}

/* What the candidate may have brought about is a failure, and nothing that it measured stays. */
static void conclude_error(struct kg_evaluation *e, const struct kg_err *err)
{
    struct kg_record *r = e->r;
    kg_record_error(r, err);
    if (kg_record_is_candidates(r)) {
        r->has_speedup = false;
        if (!kg_reward_absent(r)) {
            reward(e);
        }
    }
}

static enum kg_code admit(const struct kg_worker *w, const struct kg_record *r, struct kg_err *err)
{
    const char *device = json_string_value(json_object_get(r->environment, "device"));
    return kg_findings_admit(&w->config, r->problem.name, r->problem.sha256,
                             device ? device : "cpu", err);
}

/* A gym error leaves the record ready for another attempt. */
enum kg_code kg_evaluation_attempt(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_worker *w = e->w;
    struct kg_record *r = e->r;
    const struct kg_task *t = e->task;
    int64_t t0 = kg_clock_ns();
    json_object_clear(r->config);
    json_t *config = kg_context_config(&w->config);
    json_object_update(r->config, config);
    json_decref(config);
    json_decref(r->environment);
    r->environment = kg_context_environment(kg_cc_version(w->cc), w->cpu);
    json_t *flags = json_array();
    for (const char *const *f = kg_cc_flags(w->cc); *f; f++) {
        json_array_append_new(flags, json_string(*f));
    }
    json_object_set_new(r->environment, "flags", flags);
    if (kg_executor_problem(w, t->problem, err) != KG_OK) {
        kg_eval_input_sha256(&w->config, t->problem, strlen(t->problem), t->text, t->len, t->source,
                             r->input_sha256);
        return err->code;
    }
    const struct kg_executor *x = w->executor;
    size_t len;
    const char *source = x->source(w, &len);
    r->league.name = w->config.league;
    x->describe(w, r);
    kg_eval_input_sha256(&w->config, source, len, t->text, t->len, t->source, r->input_sha256);
    if (!t->any_problem && admit(w, r, err) != KG_OK) {
        return err->code;
    }
    if ((x->supports && x->supports(&w->config, err) != KG_OK) ||
        secret_key(w, t, &e->key, err) != KG_OK) {
        return err->code;
    }
    char hex[33];
    kg_key_hex(e->key, hex);
    json_object_set_new(r->secret, "key", json_string(hex));
    kg_rng_init(&e->rng, e->key, 0);
    r->setup_ns = kg_clock_ns() - t0;
    enum kg_code code = x->begin(e, err);
    if (code == KG_OK) {
        e->lost_ns = kg_clock_lost_ns();
        e->deadline_ns = kg_clock_ns() + (int64_t)(x->deadline_s(&w->config) * 1e9);
        code = run_stages(e, err);
    }
    x->stop(e);
    kg_rng_deinit(&e->rng);
    return code;
}

static void begin_again(struct kg_record *r)
{
    char id[KG_ULID_LEN], replay[KG_ULID_LEN];
    const char *batch_id = r->batch_id;
    memcpy(id, r->id, sizeof id);
    memcpy(replay, r->replay, sizeof replay);
    kg_record_deinit(r);
    kg_record_init(r);
    memcpy(r->id, id, sizeof id);
    memcpy(r->replay, replay, sizeof replay);
    r->batch_id = batch_id;
}

static void judge_once(struct kg_worker *w, const struct kg_task *task, struct kg_record *out)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_evaluation e = {.w = w, .task = task, .r = out};
    enum kg_code code = kg_ulid_new(out->id, &err);
    struct kg_accidents seen = {0};
    out->batch_id = task->batch_id;
    KG_ASSERT((task->replay == NULL) == (task->replay_id == NULL));
    snprintf(out->replay, sizeof out->replay, "%s", task->replay_id ? task->replay_id : "");
    w->evaluations++;
    while (code == KG_OK) {
        e = (struct kg_evaluation){.w = w, .task = task, .r = out, .alone = seen.alone};
        code = kg_evaluation_attempt(&e, &err);
        if (!kg_accidents_again(&e, code, &err, &seen)) {
            break;
        }
        w->executor->forget(w, KG_FORGET_JUDGE); /* judge and references start afresh */
        begin_again(out);
        code = KG_OK;
    }
    code = *w->cancelled ? code : kg_accidents_settle(&e, code, &seen, &err);
    if (*w->cancelled) { /* whatever the signal hit first, it is no verdict */
        code = kg_fail(&err, KG_E_CANCELLED, "interrupted");
    }
    if (code == KG_OK && e.spoiled) {
        w->executor->forget(w, KG_FORGET_JUDGE);
    }
    if (code == KG_OK) {
        conclude(&e);
        return;
    }
    if (code == KG_E_GYM) {
        w->executor->forget(w, KG_FORGET_ALL);
    }
    conclude_error(&e, &err);
}

/* By a defective problem nobody is judged. */
static void judge(struct kg_worker *w, const struct kg_task *task, struct kg_record *out)
{
    judge_once(w, task, out);
    if (kg_first_look(w, task, out)) {
        begin_again(out);
        judge_once(w, task, out);
    }
}

void kg_eval(struct kg_worker *w, const struct kg_task *task, struct kg_record *out)
{
    struct kg_err err = KG_ERR_INIT;
    char rewards[sizeof w->config.rewards];
    if (!task->rewards) {
        judge(w, task, out);
        return;
    }
    memcpy(rewards, w->config.rewards, sizeof rewards);
    if (kg_config_check_rewards(task->rewards, &err) != KG_OK ||
        kg_opts_set(kg_config_options(), &w->config, "rewards", task->rewards, "task", &err) !=
            KG_OK) {
        out->batch_id = task->batch_id;
        if (kg_ulid_new(out->id, &(struct kg_err)KG_ERR_INIT) != KG_OK) {
            out->id[0] = 0;
        }
        kg_record_error(out, &err);
        return;
    }
    judge(w, task, out); /* its record's `config` names the task's rewards */
    memcpy(w->config.rewards, rewards, sizeof rewards);
}
