/* Asking again: which reasons are doubtful, and what a second answer says. */
#include "gym/eval/again.h"

#include <string.h>

static const struct {
    const char *reason;
    unsigned where;
} doubtful[] = {
    {"value", KG_DOUBT_RUN | KG_DOUBT_TIMED_GIVEN | KG_DOUBT_TIMED_MADE},
    {"variant", KG_DOUBT_RUN | KG_DOUBT_TIMED_GIVEN},
    {"nonfinite", KG_DOUBT_RUN | KG_DOUBT_TIMED_GIVEN | KG_DOUBT_TIMED_MADE},
    {"unwritten", KG_DOUBT_RUN | KG_DOUBT_TIMED_MADE},
    {"precision", KG_DOUBT_RUN | KG_DOUBT_TIMED_GIVEN | KG_DOUBT_TIMED_MADE},
};

/* The verdict is `wrong`, for a reason that a second answer may change. */
static bool is_doubtful(const struct kg_record *r, enum kg_doubt where)
{
    bool is = false;
    for (size_t i = 0; i < sizeof doubtful / sizeof *doubtful && r->verdict == KG_V_WRONG; i++) {
        is = is || ((doubtful[i].where & where) && strcmp(r->reason, doubtful[i].reason) == 0);
    }
    return is;
}

static void right_this_time(struct kg_evaluation *e, const char *reason, const char *message,
                            bool repeated)
{
    struct kg_record *r = e->r;
    kg_record_evidence(r, "fresh_process",
                       json_pack("{s:b, s:s}", "passes", true, "before", reason));
    if (repeated) {
        kg_record_verdict(r, KG_V_HACK, "replay",
                          "after a single edit it gives its answer to the unedited inputs; in a "
                          "fresh process it does not");
    } else {
        kg_record_verdict(r, KG_V_WRONG, "nondeterministic",
                          "its answer depends on earlier calls or on luck: right in a fresh "
                          "process, but here %s",
                          message);
    }
}

enum kg_stage_result kg_again_ask(struct kg_evaluation *e,
                                  enum kg_stage_result (*again)(void *ctx, struct kg_err *err),
                                  void *ctx, struct kg_err *err)
{
    struct kg_record *r = e->r;
    if (!is_doubtful(r, KG_DOUBT_RUN)) {
        return KG_STAGE_FAIL;
    }
    const char *reason = r->reason, *message = r->message;
    bool repeated = e->repeats_twin, lost = e->lost, memory = e->memory;
    size_t seen = json_array_size(r->evidence);
    enum kg_stage_result step = again(ctx, err);
    while (json_array_size(r->evidence) > seen) { /* the same evidence again */
        json_array_remove(r->evidence, seen);
    }
    if (step == KG_STAGE_ERROR && err->code == KG_E_CANCELLED) {
        return step;
    }
    e->spoiled = e->spoiled || step == KG_STAGE_ERROR; /* the wrong answer stays */
    r->verdict = KG_V_WRONG;
    r->reason = reason;
    r->message = message;
    e->lost = lost;
    e->memory = memory;
    if (step == KG_STAGE_PASS) {
        right_this_time(e, reason, message, repeated);
    }
    return KG_STAGE_FAIL;
}

void kg_again_timed(struct kg_evaluation *e, enum kg_doubt where, int process, int64_t call,
                    int64_t right_before)
{
    kg_record_evidence(e->r, "timed_call",
                       json_pack("{s:i, s:I, s:I}", "process", process, "call", (json_int_t)call,
                                 "right_before", (json_int_t)right_before));
    if (right_before > 0 && is_doubtful(e->r, where)) {
        kg_record_verdict(e->r, KG_V_WRONG, "nondeterministic",
                          "wrong in call %lld of a process after %lld right answers",
                          (long long)call, (long long)right_before);
    }
}
