/* Stage static: what the text of a candidate in C tells. */
#include <stdio.h>
#include <string.h>

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
                           json_pack("{s:s, s:s, s:i, s:o}", "rule", f[i].rule, "severity",
                                     names[f[i].severity], "line", f[i].line, "message",
                                     kg_json_text(f[i].message, strlen(f[i].message))));
    }
    if (n > 0 && f[0].severity == KG_SEV_REJECT) {
        char place[24] = ""; /* a finding about the whole file has no line */
        if (f[0].line > 0) {
            snprintf(place, sizeof place, "line %d: ", f[0].line);
        }
        kg_record_verdict(e->r, KG_V_REJECTED, f[0].rule, "%s%s", place, f[0].message);
        return KG_STAGE_FAIL;
    }
    return KG_STAGE_PASS;
}
