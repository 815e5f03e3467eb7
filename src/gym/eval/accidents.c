/* Tells accidents of the host from the doing of a candidate, and tries again. */
#include "gym/eval/accidents.h"

#include "gym/eval/executor.h"

/* Does this worker judge at all? Through the stages that the failure needs to be seen again.
 * afresh: with another judge. */
static bool canary_lives(const struct kg_evaluation *of, bool afresh, bool alone)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_worker *w = of->w;
    struct kg_record r;
    struct kg_buf source;
    kg_record_init(&r);
    kg_buf_init(&source, 1 << 20);
    w->executor->canary(w, &source);
    if (afresh) {
        w->executor->forget(w, KG_FORGET_JUDGE);
    }
    struct kg_task t = {.problem = of->task->problem,
                        .text = source.data,
                        .len = source.len,
                        .source = true,
                        .stop_after = of->r->stage > KG_ST_FULL ? of->r->stage : KG_ST_FULL};
    struct kg_evaluation e = {.w = w, .task = &t, .r = &r, .alone = alone};
    bool lives =
        kg_evaluation_attempt(&e, &ignored) == KG_OK && r.stages[KG_ST_FULL].status == KG_SS_PASS;
    kg_buf_deinit(&source);
    kg_record_deinit(&r);
    return lives;
}

/* A judge or a reference lost, a candidate killed from outside, a reference that was late or failed
 * in timing after it had passed the full run. */
static bool unexplained(const struct kg_evaluation *e, enum kg_code code, const struct kg_err *err)
{
    return code == KG_E_GYM || (code == KG_OK && e->lost) ||
           (code == KG_E_PROBLEM && (e->r->stage == KG_ST_TIMING || err->accident));
}

/* What was short or failed is the judge's or the reference's, so it is told from a full disk, or a
 * process that could not be started; who made it so is not known. */
static bool strained(const struct kg_evaluation *e, enum kg_code code, const struct kg_err *err)
{
    return code != KG_OK && err->strained && e->attached;
}

/* Other evaluations on the same device take its memory. What is too large by itself is so alone,
 * too.
 */
static bool maybe_neighbours(const struct kg_evaluation *e, enum kg_code code,
                             const struct kg_err *err)
{
    enum kg_verdict v = e->r->verdict;
    if (!e->shared || code != KG_OK) {
        return e->shared && (code == KG_E_HOST || (code == KG_E_LIMIT && err->memory));
    }
    return v == KG_V_OUT_OF_MEMORY || (v == KG_V_CRASH && e->memory);
}

/* Each kind may happen once. The second of one kind tells something; one each of two does not. */
bool kg_accidents_again(const struct kg_evaluation *e, enum kg_code code, const struct kg_err *err,
                        struct kg_accidents *seen)
{
    bool strange = unexplained(e, code, err), strain = strained(e, code, err);
    bool shared = maybe_neighbours(e, code, err) && !seen->alone;
    seen->tries++;
    seen->gym += strange && code != KG_OK;
    seen->lost += strange && code == KG_OK;
    seen->strained += strain;
    seen->judges += e->judge_lost;
    seen->alone = seen->alone || shared;
    int times = strain ? seen->strained : code == KG_OK ? seen->lost : seen->gym;
    return !*e->w->cancelled && seen->tries <= 3 && (shared || ((strange || strain) && times == 1));
}

/* A reference that was late, or failed in timing, while a candidate was there. */
static bool late(const struct kg_evaluation *e, enum kg_code code)
{
    return code == KG_E_PROBLEM && e->attached;
}

/* What was short may have been the device's memory. */
static void verdict_of_strain(const struct kg_evaluation *e, const struct kg_err *err)
{
    if (e->on_device && err->memory) {
        kg_record_verdict(e->r, KG_V_OUT_OF_MEMORY, "device",
                          "it leaves the reference and the judge no memory on the device");
    } else {
        kg_record_verdict(e->r, KG_V_CRASH, "protocol",
                          "twice the judge or the reference could not do its part beside it");
    }
}

/* Its answers were right, and not even a known-good candidate can be timed beside the reference. */
static bool is_untimed(const struct kg_evaluation *e, const struct kg_err *cause)
{
    return cause->memory && e->r->stage == KG_ST_TIMING &&
           e->r->stages[KG_ST_FULL].status == KG_SS_PASS;
}

static void leave_untimed(struct kg_evaluation *e, const struct kg_err *cause)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_record *r = e->r;
    r->stages[KG_ST_TIMING].status = KG_SS_PASS;
    r->timing.status = KG_T_NOT_MEASURED;
    r->timing.why = kg_arena_printf(&r->arena, &ignored,
                                    "reference and candidate do not fit the device together while "
                                    "they are timed: %s",
                                    cause->message);
    r->has_speedup = false;
}

/* A judge that dies under the same candidate again, and not under a known-good one, is the
 * candidate's doing, and so is one that finds no memory: nobody drops out of the sample that way.
 */
static enum kg_code blame(struct kg_evaluation *e, const struct kg_accidents *seen,
                          struct kg_err *err)
{
    struct kg_err cause = *err;
    if (!canary_lives(e, true, seen->alone)) {
        if (is_untimed(e, &cause)) {
            leave_untimed(e, &cause);
            return KG_OK;
        }
        *err = cause;
        return cause.code;
    }
    if (cause.memory && e->on_device && e->tight) { /* it takes no more than it is owed, maybe */
        *err = cause;
        return cause.code;
    }
    if (cause.code == KG_E_GYM) {
        kg_record_verdict(e->r, KG_V_CRASH, "protocol",
                          "the judge died twice while it was attached");
    } else {
        verdict_of_strain(e, &cause);
    }
    return KG_OK;
}

enum kg_code kg_accidents_settle(struct kg_evaluation *e, enum kg_code code,
                                 const struct kg_accidents *seen, struct kg_err *err)
{
    if ((code == KG_E_GYM && seen->judges == 2) ||
        (strained(e, code, err) && seen->strained >= 2) ||
        (late(e, code) && unexplained(e, code, err) && seen->gym >= 2)) {
        return blame(e, seen, err);
    }
    if (code == KG_OK && e->lost && !canary_lives(e, false, seen->alone)) {
        return kg_fail(err, KG_E_HOST,
                       "the candidate's process was killed twice, and a known-good one does not "
                       "pass here either: is this host short of memory?");
    }
    return code;
}
