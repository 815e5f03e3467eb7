/* From what a runner did, and from a failed comparison, to a verdict with a reason and a message.
 */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/json.h"
#include "gym/native/native.h"

static bool inside(uint64_t address, uint64_t base, size_t bytes)
{
    return address >= base && address < base + bytes;
}

static void verdict_of_signal(struct kg_evaluation *e, const struct kg_runner *run, int sig)
{
    struct kg_record *r = e->r;
    const struct kg_wire *wire = run->wire;
    bool fault = (sig == SIGSEGV || sig == SIGBUS) && wire && wire->fault_signal == (uint32_t)sig;
    if (fault && wire->fault_write &&
        inside(wire->fault_address, KG_ADDR_IN, kg_native_of(e->w)->judge.in.bytes)) {
        kg_record_verdict(r, KG_V_WRONG, "input_modified", "it writes to an input");
        return;
    }
    if (fault && inside(wire->fault_address, KG_ADDR_IN, KG_ADDR_OUT - KG_ADDR_IN + (1ull << 40))) {
        const char *access = wire->fault_write ? "write" : "read";
        kg_record_signal(r, sig, access);
        kg_record_verdict(r, KG_V_CRASH, "signal", "%s: a %s far outside the buffers",
                          strsignal(sig), access);
        return;
    }
    kg_record_signal(r, sig, NULL);
    kg_record_verdict(r, KG_V_CRASH, "signal", "killed by signal %d (%s)", sig, strsignal(sig));
}

static void verdict_of_exit(struct kg_evaluation *e, enum kg_stage stage,
                            const struct kg_runner *run)
{
    const struct kg_exit *x = &run->sandbox.exit;
    e->lost = x->kind == KG_EXIT_SIGNAL && x->code == SIGKILL;
    switch (x->kind) {
    case KG_EXIT_OOM:
        kg_record_limit(e->r, (double)e->w->config.limit_memory_mb, "MB");
        kg_record_verdict(e->r, KG_V_OUT_OF_MEMORY, "host", "it needed more than %lld MB of memory",
                          (long long)e->w->config.limit_memory_mb);
        break;
    case KG_EXIT_SIGNAL:
    case KG_EXIT_CODE:
        if (x->kind == KG_EXIT_SIGNAL && x->code == SIGXCPU) {
            kg_record_verdict(e->r, KG_V_TIMEOUT, kg_stage_name(stage), "CPU limit reached");
        } else if (kg_runner_signal(run)) {
            verdict_of_signal(e, run, kg_runner_signal(run));
        } else {
            kg_record_verdict(e->r, KG_V_CRASH, "exit",
                              "it ended its process with status %d instead of returning", x->code);
        }
        break;
    default:
        kg_record_verdict(e->r, KG_V_CRASH, "protocol", "its process was lost");
    }
}

static void verdict_of_time(struct kg_evaluation *e, enum kg_stage stage)
{
    const struct kg_config *c = &e->w->config;
    bool over = kg_evaluation_over(e);
    double limit = over ? c->deadline_eval : c->deadline_run;
    kg_record_limit(e->r, limit, "s");
    kg_record_verdict(e->r, KG_V_TIMEOUT, kg_stage_name(stage), "%s took longer than %g s (%s)",
                      over ? "its evaluation" : "a call", limit,
                      over ? "deadline.eval" : "deadline.run");
}

void kg_native_verdict_of_run(struct kg_evaluation *e, enum kg_stage stage,
                              const struct kg_runner *run, enum kg_run_status status)
{
    switch (status) {
    case KG_RUN_LOAD_FAILED:
        kg_record_evidence(e->r, "load",
                           json_pack("{s:o}", "text", kg_json_text(run->note, strlen(run->note))));
        kg_record_verdict(e->r, KG_V_COMPILE_ERROR, "load", "the object does not load: %s",
                          run->note);
        e->r->compiled = 0;
        break;
    case KG_RUN_NO_ENTRY:
        kg_record_verdict(e->r, KG_V_COMPILE_ERROR, "missing_entry",
                          "the object does not export `%s`", kg_native_of(e->w)->problem->entry);
        e->r->compiled = 0;
        break;
    case KG_RUN_TIMEOUT:
        verdict_of_time(e, stage);
        break;
    case KG_RUN_ACTIVE:
        kg_record_verdict(e->r, KG_V_HACK, "async",
                          "its process kept running after its call had returned");
        break;
    case KG_RUN_PROTOCOL:
        kg_record_verdict(e->r, KG_V_CRASH, "protocol",
                          "its process answered a call before it was made");
        break;
    default:
        verdict_of_exit(e, stage, run);
    }
}

static const char *output_name(const struct kg_evaluation *e, int arg)
{
    const struct kg_problem *p = kg_native_of(e->w)->problem;
    return arg >= 0 && arg < p->nargs ? p->args[arg].name : "?";
}

static void evidence(struct kg_evaluation *e, const struct kg_pooled_case *c,
                     const struct kg_judgement *j)
{
    const struct kg_problem *p = kg_native_of(e->w)->problem;
    json_t *dims = json_object();
    for (int i = 0; i < p->ndims; i++) {
        json_object_set_new(dims, p->dims[i].name, json_integer(c->c.shape.dim[i]));
    }
    const struct kg_compare *m = &j->compare;
    json_t *got = kg_json_real(m->got);
    json_t *want = kg_json_real(m->want);
    json_t *worst = kg_json_real(m->worst);
    kg_record_evidence(
        e->r, "mismatch",
        json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:s}", "variant",
                  kg_variant_name(c->variant), "law", kg_law_name(c->c.law), "dims", dims, "output",
                  output_name(e, j->arg), "elements", (json_int_t)m->n, "failed",
                  (json_int_t)m->n_bad, "first", (json_int_t)m->first_bad, "got", got, "want", want,
                  "worst_over_bound", worst, "share", kg_compare_bucket(m)));
}

/* How much of an output is wrong, as words. */
static const char *share_of(const struct kg_compare *m)
{
    return kg_share_words(m->n > 0 ? (double)m->n_bad / (double)m->n : 0);
}

static const char *value_reason(const struct kg_evaluation *e, const struct kg_pooled_case *c,
                                const struct kg_compare *m)
{
    if (m->nonfinite) {
        return "nonfinite";
    }
    if (c->c.law == KG_LAW_PRECISION ||
        (m->worst < KG_REDUCED_PRECISION_WORST && m->n_bad * 2 > m->n)) {
        return "precision";
    }
    if (c->variant != KG_VARIANT_DEFAULT && c->variant != KG_VARIANT_TINY &&
        kg_native_run_of(e)->default_passed) {
        return "variant";
    }
    return "value";
}

void kg_native_verdict_of_case(struct kg_evaluation *e, const struct kg_pooled_case *c,
                               const struct kg_take_report *take, const struct kg_judgement *j)
{
    struct kg_record *r = e->r;
    const char *where = kg_variant_name(c->variant), *law = kg_law_name(c->c.law);
    if (take->what == KG_TAKE_OUT_OF_BOUNDS) {
        kg_record_evidence(r, "guard",
                           json_pack("{s:s, s:I, s:s}", "output", output_name(e, take->arg), "byte",
                                     (json_int_t)take->at, "variant", where));
        kg_record_verdict(r, KG_V_WRONG, "out_of_bounds", "it writes outside `%s` (shape `%s`)",
                          output_name(e, take->arg), where);
        return;
    }
    if (j->compare.n_bad > 0 || !j->compare.pass) {
        evidence(e, c, j);
    }
    if (j->replay || j->earlier_expected) {
        kg_record_verdict(r, KG_V_HACK, "replay",
                          "`%s` holds the answer to earlier inputs (shape `%s`, law `%s`)",
                          output_name(e, j->arg), where, law);
        return;
    }
    if (take->what == KG_TAKE_UNWRITTEN) {
        kg_record_verdict(
            r, KG_V_WRONG, "unwritten",
            "%llu of the %lld elements of `%s` were never written (shape `%s`)",
            (unsigned long long)take->unwritten,
            (long long)kg_arg_count(kg_native_of(e->w)->problem, take->arg, &c->c.shape),
            output_name(e, take->arg), where);
        return;
    }
    kg_record_verdict(r, KG_V_WRONG, value_reason(e, c, &j->compare),
                      "`%s` is wrong in %s of its elements (shape `%s`, law `%s`)",
                      output_name(e, j->arg), share_of(&j->compare), where, law);
}
