/* Stage static: what the text of a candidate in C tells. */
#include "gym/native/native.h"
#include "gym/reply/check.h"

enum kg_stage_result kg_native_stage_static(struct kg_evaluation *e, struct kg_err *err)
{
    (void)err;
    struct kg_finding f[32];
    size_t n = kg_check_c(e->code, e->code_len, kg_native_of(e->w)->problem->entry, f,
                          sizeof f / sizeof *f);
    for (size_t i = 0; i < n; i++) {
        static const char *const names[] = {"note", "warn", "reject"};
        kg_record_evidence(e->r, "static",
                           json_pack("{s:s, s:s, s:i, s:s}", "rule", f[i].rule, "severity",
                                     names[f[i].severity], "line", f[i].line, "message",
                                     f[i].message));
    }
    if (n > 0 && f[0].severity == KG_SEV_REJECT) {
        kg_record_verdict(e->r, KG_V_REJECTED, f[0].rule, "line %d: %s", f[0].line, f[0].message);
        return KG_STAGE_FAIL;
    }
    return KG_STAGE_PASS;
}
