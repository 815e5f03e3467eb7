/* Stage compile: the candidate's shared object, built confined. */
#include <string.h>

#include "gym/native/native.h"

static void verdict(struct kg_evaluation *e, const struct kg_cc_result *res)
{
    static const char *const reasons[] = {[KG_CC_SYNTAX] = "syntax",
                                          [KG_CC_LINK] = "link",
                                          [KG_CC_MISSING_ENTRY] = "missing_entry",
                                          [KG_CC_LIMITS] = "limits"};
    const char *what = res->first_error[0] ? res->first_error : "the compiler failed";
    switch (res->status) {
    case KG_CC_TIMEOUT:
        kg_record_limit(e->r, e->w->config.deadline_compile, "s");
        kg_record_verdict(e->r, KG_V_TIMEOUT, "compile", "compiling took longer than %g s",
                          e->w->config.deadline_compile);
        break;
    case KG_CC_MISSING_ENTRY:
        kg_record_verdict(e->r, KG_V_COMPILE_ERROR, "missing_entry",
                          "the object does not export `%s`", kg_native_of(e->w)->problem->entry);
        break;
    case KG_CC_LIMITS:
        kg_record_verdict(e->r, KG_V_COMPILE_ERROR, "limits",
                          "the compiler ran into its memory, process or file limit: %s", what);
        break;
    default:
        if (res->line > 0) {
            kg_record_verdict(e->r, KG_V_COMPILE_ERROR, reasons[res->status], "line %d: %s",
                              res->line, what);
        } else {
            kg_record_verdict(e->r, KG_V_COMPILE_ERROR, reasons[res->status], "%s", what);
        }
    }
}

enum kg_stage_result kg_native_stage_compile(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_worker *w = e->w;
    char dir[320];
    snprintf(dir, sizeof dir, "%s/candidate", w->scratch.path);
    struct kg_cc_result res;
    if (kg_native_build(w, KG_CC_CANDIDATE, e->code, e->code_len, dir, &res, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    e->r->compiled = e->built = res.status == KG_CC_OK;
    e->r->stages[KG_ST_COMPILE].cached = res.cached;
    e->r->isolation = res.isolation;
    snprintf(kg_native_run_of(e)->object, sizeof kg_native_run_of(e)->object, "%s", res.object);
    if (res.text.len > 0) {
        kg_record_evidence(e->r, "compiler",
                           json_pack("{s:o, s:i, s:b}", "text",
                                     kg_json_text(res.text.data, res.text.len), "line", res.line,
                                     "cached", res.cached));
    }
    if (res.status != KG_CC_OK) {
        verdict(e, &res);
    }
    e->lost = res.killed; /* twice: a known-good source tells whether this host can compile */
    kg_buf_deinit(&res.text);
    if (e->built && kg_native_read_imports(e, err) != KG_OK) {
        return KG_STAGE_ERROR;
    }
    return e->built ? KG_STAGE_PASS : KG_STAGE_FAIL;
}
