/* The reference of an instance: what became of its commands, and whose fault that is. */
#include "gym/torch/judging/reference.h"

#include <inttypes.h>

#include "gym/torch/runner/torch_runner.h"

enum kg_code kg_treference_lost(struct kg_worker *w, struct kg_trunner *ref, const char *what,
                                bool late, struct kg_err *err)
{
    const char *path = kg_torch_of(w)->problem->path;
    kg_trunner_stop(w, ref);
    const struct kg_exit *x = &ref->runner.sandbox.exit;
    if (late && *w->cancelled) {
        return kg_fail(err, KG_E_CANCELLED, "interrupted");
    }
    if (late) {
        kg_fail(err, KG_E_PROBLEM, "%s: %s exceeds its deadline", path, what);
        err->accident = kg_torch_of(w)->beside; /* which may have taken its time */
        return err->code;
    }
    if (x->kind == KG_EXIT_OOM) {
        return kg_fail(err, KG_E_HOST, "%s: %s needs more than %" PRId64 " MB (torch.memory_mb)",
                       path, what, kg_trunner_memory_mb(w, true));
    }
    bool own = x->kind == KG_EXIT_CODE || (x->kind == KG_EXIT_SIGNAL && x->code != 9);
    return kg_fail(err, own ? KG_E_PROBLEM : KG_E_GYM, "%s: %s: its process %s %d", path, what,
                   x->kind == KG_EXIT_CODE ? "ended with status" : "was ended by signal", x->code);
}

enum kg_code kg_treference_complaint(struct kg_worker *w, const char *what, enum kg_tstatus said,
                                     const json_t *reply, struct kg_err *err)
{
    static const char *const words[KG_TA_COUNT] = {
        [KG_TA_EXCEPTION] = "raises",
        [KG_TA_NO_ENTRY] = "lacks its class",
        [KG_TA_SYNTAX] = "does not parse",
        [KG_TA_STATE] = "refuses its own parameters",
        [KG_TA_NEEDS_GPU] = "needs a GPU",
        [KG_TA_TOO_LARGE] = "has an answer that is too large",
        [KG_TA_STRUCTURE] = "answers something that is no plain tensor",
        [KG_TA_OUT_OF_MEMORY] = "runs out of memory",
    };
    const char *type = json_string_value(json_object_get(reply, "type"));
    const char *message = json_string_value(json_object_get(reply, "message"));
    const char *module = json_string_value(json_object_get(reply, "module"));
    if (said == KG_TA_EXCEPTION && module) {
        const char *python = kg_torch_of(w)->python;
        return kg_fail(err, KG_E_HOST,
                       "%s: the problem imports `%.100s`, which %.200s lacks: install the package "
                       "there, as in `%.200s -m pip install %.100s`",
                       kg_torch_of(w)->problem->path, module, python, python, module);
    }
    /* A library's own error may be about memory, too: that says nothing of the problem. */
    bool memory = said == KG_TA_OUT_OF_MEMORY ||
                  (said == KG_TA_EXCEPTION && json_object_get(reply, "memory") != NULL);
    enum kg_code code = said == KG_TA_NEEDS_GPU ? KG_E_NEEDS_GPU
                        : memory                ? KG_E_HOST
                                                : KG_E_PROBLEM;
    kg_fail(err, code, "%s: the reference %s (%s)%s%s%s%.200s", kg_torch_of(w)->problem->path,
            words[said] ? words[said] : "fails", what, type ? ": " : "", type ? type : "",
            message ? ": " : "", message ? message : "");
    err->strained = code == KG_E_HOST;
    err->memory = memory;
    return code;
}

enum kg_code kg_treference_check(struct kg_worker *w, struct kg_trunner *ref, const char *what,
                                 const struct kg_dj_report *rep, struct kg_err *err)
{
    if (rep->status == KG_DJ_PROTOCOL) {
        kg_trunner_stop(w, ref);
        return kg_fail(err, KG_E_PROBLEM, "%s: the reference breaks the protocol (%s)",
                       kg_torch_of(w)->problem->path, what);
    }
    if (rep->status != KG_DJ_ANSWERED) {
        return kg_treference_lost(w, ref, what, rep->status == KG_DJ_LATE, err);
    }
    if (rep->said == KG_TA_OK) {
        return KG_OK;
    }
    json_t *reply = kg_pyrunner_reply(&ref->runner);
    enum kg_code code = kg_treference_complaint(w, what, rep->said, reply, err);
    json_decref(reply);
    return code;
}

bool kg_treference_outlives(struct kg_worker *w, struct kg_trunner *ref)
{
    if (!ref->up) {
        return false;
    }
    if (kg_pyrunner_lost_device(&ref->runner)) {
        kg_trunner_stop(w, ref);
    }
    return true;
}

enum kg_code kg_treference_ask(struct kg_worker *w, struct kg_tinstance *s, struct kg_dj_call call,
                               const char *what, struct kg_dj_report *rep, struct kg_err *err)
{
    if (kg_dj_run(&kg_torch_of(w)->judge, &call, rep, err) != KG_OK) {
        return err->code;
    }
    return kg_treference_check(w, &s->ref, what, rep, err);
}

bool kg_treference_narrowed(const struct kg_tinstance *s)
{
    json_t *reply = kg_pyrunner_reply(&s->ref.runner);
    bool narrowed = json_is_true(json_object_get(reply, "narrowed"));
    json_decref(reply);
    return narrowed;
}

uint32_t kg_treference_how(const struct kg_tinstance *s)
{
    return s->narrows ? KG_DJ_NARROW : 0;
}
