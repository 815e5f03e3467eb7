/* Stages tiny and full: the candidate's answers on inputs it has never seen, one process for both.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "gym/native/native.h"

/* The candidate's runner for tiny and full. */
static enum kg_stage_result candidate_start(struct kg_evaluation *e, enum kg_stage stage,
                                            struct kg_err *err)
{
    if (kg_native_run_of(e)->cand.up) {
        return KG_STAGE_PASS;
    }
    struct kg_runner_spec spec;
    enum kg_run_status status;
    if (kg_native_check_built(kg_native_run_of(e)->object, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    kg_native_candidate_spec(e, &spec);
    int64_t deadline = kg_evaluation_deadline(e, e->w->config.deadline_run);
    if (kg_judge_clear(&kg_native_of(e->w)->judge, err) != KG_OK ||
        kg_runner_start(&spec, deadline, &kg_native_run_of(e)->cand.runner, &status, err) !=
            KG_OK) {
        return KG_STAGE_ERROR;
    }
    kg_native_run_of(e)->cand.up = e->attached = true;
    e->r->isolation = kg_native_run_of(e)->cand.runner.sandbox.isolation;
    if (status != KG_RUN_OK) {
        kg_native_candidate_stop(e);
        kg_native_verdict_of_run(e, stage, &kg_native_run_of(e)->cand.runner, status);
        return KG_STAGE_FAIL;
    }
    return KG_STAGE_PASS;
}

void kg_native_candidate_keep(struct kg_evaluation *e)
{
    struct kg_record *r = e->r;
    struct kg_err ignored = KG_ERR_INIT;
    char **text[2] = {&r->output.stdout_text, &r->output.stderr_text};
    for (int i = 0; i < 2; i++) {
        const struct kg_output *o = &kg_native_run_of(e)->cand.runner.output[i];
        r->output.bytes += (int64_t)o->bytes;
        if (o->head_len && !*text[i]) {
            bool cut = o->bytes > o->head_len + o->tail_len;
            *text[i] = kg_arena_printf(&r->arena, &ignored, "%.*s%s%.*s", (int)o->head_len, o->head,
                                       cut ? "\n[...]\n" : "", (int)o->tail_len, o->tail);
        }
    }
    if (kg_native_run_of(e)->cand.runner.sandbox.exit.peak_bytes > r->peak_bytes) {
        r->peak_bytes = kg_native_run_of(e)->cand.runner.sandbox.exit.peak_bytes;
    }
}

/* After this the handle's exit and output stay readable; the wire page is kept until the next start
 * so that a fault's address can be named. */
void kg_native_candidate_stop(struct kg_evaluation *e)
{
    if (kg_native_run_of(e)->cand.up) {
        kg_runner_stop(&kg_native_run_of(e)->cand.runner);
        kg_native_candidate_keep(e);
        kg_native_run_of(e)->cand.up = false;
    }
}

/* The end of a reference's process, as a predicate. */
static const char *how_it_ended(const struct kg_runner *run, char *out, size_t cap)
{
    int signal = kg_runner_signal(run);
    const struct kg_exit *x = &run->sandbox.exit;
    if (signal != 0) {
        snprintf(out, cap, "is killed by signal %d (%s)", signal, strsignal(signal));
    } else if (x->kind == KG_EXIT_OOM) {
        snprintf(out, cap, "needs more memory than a runner may have (limit.memory_mb)");
    } else if (x->kind == KG_EXIT_CODE) {
        snprintf(out, cap, "ends its process with status %d instead of returning", x->code);
    } else {
        snprintf(out, cap, "does not come back: its process was lost");
    }
    return out;
}

/* A reference that failed answers nothing more, so the next use starts it anew. */
static void drop(struct kg_handle *h)
{
    kg_runner_stop(&h->runner);
    h->up = false;
}

/* Run a reference on a case that is filled already. A reference that fails is the problem's defect.
 */
static enum kg_code reference_call(struct kg_worker *w, struct kg_handle *h, bool wide,
                                   const struct kg_case *c, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    struct kg_runner *run = &h->runner;
    struct kg_layout l;
    struct kg_wire_call call;
    struct kg_call_report rep;
    kg_layout_plan(n->problem, &c->shape, wide, c->jitter, c->in_base, c->out_base, &l);
    kg_layout_call(n->problem, &c->shape, c->key, &l, wide, &call);
    int64_t deadline = kg_clock_ns() + (int64_t)(w->config.deadline_run * 1e9);
    kg_runner_call(run, &call, deadline, false, &rep);
    if (rep.status == KG_RUN_OK || rep.status == KG_RUN_ACTIVE) {
        return KG_OK; /* its answer is compared with the other reference's in any case */
    }
    drop(h);
    if (rep.status == KG_RUN_TIMEOUT || rep.status == KG_RUN_PROTOCOL) {
        bool late = rep.status == KG_RUN_TIMEOUT;
        kg_fail(err, KG_E_PROBLEM, "%s: the %s reference %s", n->problem->path,
                wide ? "double" : "float",
                late ? "exceeds the run deadline" : "answers a call before it is made");
        err->accident = late;
        return err->code;
    }
    int by = kg_runner_signal(run); /* nobody sends SIGKILL to itself: the host did; SIGXCPU: it has
                                       served long, and its time as a process is used up */
    if (by == SIGKILL || by == SIGXCPU) {
        return kg_fail(err, KG_E_GYM, "%s: the %s reference was killed", n->problem->path,
                       wide ? "double" : "float");
    }
    char how[100];
    return kg_fail(err, KG_E_PROBLEM, "%s: the %s reference %s", n->problem->path,
                   wide ? "double" : "float", how_it_ended(run, how, sizeof how));
}

/* Compute and keep the expected answers of a case; learns whether its law applies. */
static enum kg_code expect(struct kg_worker *w, struct kg_pooled_case *pc, struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    const struct kg_case *c = &pc->c;
    struct kg_take_report take;
    struct kg_judgement self;
    if (kg_native_references(w, err) != KG_OK || kg_judge_fill(&n->judge, c, false, err) != KG_OK ||
        reference_call(w, &n->own.ref, false, c, err) != KG_OK ||
        kg_judge_take(&n->judge, c, KG_SIDE_FLOAT, &take, err) != KG_OK) {
        return err->code;
    }
    if (take.what != KG_TAKE_OK) {
        return kg_fail(err, KG_E_PROBLEM, "%s: the float reference %s `%s` at shape `%s`",
                       n->problem->path,
                       take.what == KG_TAKE_UNWRITTEN ? "does not write all of" : "writes outside",
                       n->problem->args[take.arg].name, kg_variant_name(pc->variant));
    }
    if (kg_judge_fill(&n->judge, c, true, err) != KG_OK ||
        reference_call(w, &n->own.oracle, true, c, err) != KG_OK ||
        kg_judge_take(&n->judge, c, KG_SIDE_ORACLE, &take, err) != KG_OK ||
        kg_judge_self(&n->judge, c, &self, err) != KG_OK) {
        return err->code;
    }
    pc->applies = self.compare.pass;
    if (!pc->applies && c->law == KG_LAW_OWN) {
        return kg_fail(err, KG_E_PROBLEM, "%s: float and double references disagree at shape `%s`",
                       n->problem->path, kg_variant_name(pc->variant));
    }
    return kg_judge_save(&n->judge, c, pc->number, err);
}

/* One call on inputs that are in place. Activity while it should be frozen may be an accident (the
 * host charged it somebody's time): then the inputs are written again and the call is repeated. */
static enum kg_stage_result call_candidate(struct kg_evaluation *e, enum kg_stage stage,
                                           const struct kg_case *c, struct kg_err *err)
{
    struct kg_worker *w = e->w;
    struct kg_native *n = kg_native_of(w);
    struct kg_layout l;
    struct kg_wire_call call;
    struct kg_call_report rep;
    kg_layout_plan(n->problem, &c->shape, false, c->jitter, c->in_base, c->out_base, &l);
    kg_layout_call(n->problem, &c->shape, c->key, &l, false, &call);
    for (int active = 1;; active++) {
        int64_t lost = kg_clock_lost_ns();
        kg_runner_call(&kg_native_run_of(e)->cand.runner, &call,
                       kg_evaluation_deadline(e, w->config.deadline_run), false, &rep);
        if (rep.status == KG_RUN_OK || (rep.status == KG_RUN_ACTIVE && !w->config.hack_checks)) {
            return KG_STAGE_PASS;
        }
        if (rep.status == KG_RUN_ACTIVE) {
            kg_record_evidence(e->r, "activity",
                               json_pack("{s:I, s:I, s:i}", "idle_cpu_ns",
                                         (json_int_t)rep.idle_cpu_ns, "tail_cpu_ns",
                                         (json_int_t)rep.tail_cpu_ns, "threads", rep.threads));
        }
        if (rep.status != KG_RUN_ACTIVE || active == KG_ACTIVE_CALLS) {
            kg_native_candidate_stop(e);
            kg_native_verdict_of_run(e, stage, &kg_native_run_of(e)->cand.runner, rep.status);
            /* late over a pause of this process: it is asked once more */
            e->lost = e->lost || (rep.status == KG_RUN_TIMEOUT && kg_clock_lost_ns() > lost);
            return KG_STAGE_FAIL;
        }
        if (kg_judge_fill(&n->judge, c, false, err) != KG_OK) {
            return KG_STAGE_ERROR;
        }
    }
}

/* The candidate's answer to inputs that are in place, compared. */
static enum kg_stage_result answer(struct kg_evaluation *e, enum kg_stage stage,
                                   const struct kg_pooled_case *pc, struct kg_err *err)
{
    struct kg_worker *w = e->w;
    struct kg_native *n = kg_native_of(w);
    struct kg_take_report take;
    struct kg_judgement j;
    enum kg_stage_result s = call_candidate(e, stage, &pc->c, err);
    if (s != KG_STAGE_PASS) {
        return s;
    }
    enum kg_compare_mode mode =
        pc->c.law == KG_LAW_PRECISION ? KG_COMPARE_PRECISION : KG_COMPARE_ORACLE;
    if (kg_judge_take(&n->judge, &pc->c, KG_SIDE_CANDIDATE, &take, err) != KG_OK ||
        kg_judge_compare(&n->judge, &pc->c, mode, &j, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    e->compared += j.compare.n;
    e->repeats_twin = j.repeats_twin;
    if (take.what == KG_TAKE_OUT_OF_BOUNDS || take.certain || !j.compare.pass) {
        kg_native_verdict_of_case(e, pc, &take, &j);
        return KG_STAGE_FAIL;
    }
    kg_native_run_of(e)->default_passed =
        kg_native_run_of(e)->default_passed || pc->variant == KG_VARIANT_DEFAULT;
    return KG_STAGE_PASS;
}

/* Expected answers at hand; *applies: whether this case may be asked of a candidate. */
static enum kg_code prepare(struct kg_worker *w, struct kg_pooled_case *pc, bool *applies,
                            struct kg_err *err)
{
    struct kg_native *n = kg_native_of(w);
    bool hit = false;
    if (kg_judge_load(&n->judge, &pc->c, pc->number, &hit, err) != KG_OK ||
        (!hit && expect(w, pc, err) != KG_OK)) {
        return err->code;
    }
    *applies = pc->applies;
    return KG_OK;
}

enum kg_stage_result kg_native_candidate_case(struct kg_evaluation *e, enum kg_stage stage,
                                              struct kg_pooled_case *pc, struct kg_err *err)
{
    bool applies = false;
    int64_t since = kg_clock_ns();
    if (prepare(e->w, pc, &applies, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    kg_evaluation_excuse(e, since);
    if (!applies) {
        return KG_STAGE_PASS;
    }
    enum kg_stage_result s = candidate_start(e, stage, err);
    if (s == KG_STAGE_PASS &&
        kg_judge_fill(&kg_native_of(e->w)->judge, &pc->c, false, err) != KG_OK) {
        s = KG_STAGE_ERROR;
    }
    return s == KG_STAGE_PASS ? answer(e, stage, pc, err) : s;
}

/* A single edit means something to a kernel that has just answered the unedited inputs. */
enum kg_stage_result kg_native_candidate_twin(struct kg_evaluation *e, enum kg_stage stage,
                                              struct kg_pooled_case *edited, struct kg_err *err)
{
    struct kg_pooled_case plain = *edited;
    plain.c.edited = false;
    plain.number |= KG_CASE_POOL_TWIN;
    return kg_native_candidate_case(e, stage, &plain, err);
}
