/* The outcome table: from verdict, reason and error of a record to KernelGYM's states and codes. */
#include "svc/kernelgym_reply.h"

#include <math.h>
#include <string.h>

#include "svc/kernelgym_metadata.h"
#include "svc/kernelgym_time.h"

/* One row of the table. begins: of `error_message`; NULL: it is null. */
struct outcome {
    enum kg_kernelgym_state state;
    bool compiled, correct, decoy;
    const char *code, *begins, *fault;
};

static const struct outcome
    right = {KG_KERNELGYM_COMPLETED, true, true, false, NULL, NULL, NULL},
    decoy = {KG_KERNELGYM_COMPLETED, true, true, true, NULL, NULL, "candidate"},
    untimed = {KG_KERNELGYM_COMPLETED, true, true, false, NULL, NULL, "reference"},
    wrong = {KG_KERNELGYM_COMPLETED,
             true,
             false,
             false,
             "CORRECTNESS_ERROR",
             "Kernel produced incorrect results: ",
             "candidate"},
    raised = {KG_KERNELGYM_COMPLETED,      true,       false, false, "RUNTIME_ERROR",
              "Kernel execution failed: ", "candidate"},
    died = {KG_KERNELGYM_FAILED,        false,      false, false, "RUNTIME_ERROR",
            "Task processing failed: ", "candidate"},
    late = {KG_KERNELGYM_FAILED,        false,      false, false, "TIMEOUT_ERROR",
            "Task processing failed: ", "candidate"},
    unbuilt = {KG_KERNELGYM_FAILED,           false,      false, false, "COMPILATION_ERROR",
               "Kernel compilation failed: ", "candidate"},
    absent = {KG_KERNELGYM_FAILED,
              false,
              false,
              false,
              "VALIDATION_ERROR",
              "Kernel code validation failed: ",
              "candidate"},
    unsuited = {KG_KERNELGYM_FAILED,          false,      false, false, "RESOURCE_ERROR",
                "Kernel evaluation failed: ", "candidate"},
    defective = {KG_KERNELGYM_FAILED,  false,      false, false, "VALIDATION_ERROR",
                 "Reference failed: ", "reference"},
    too_large = {KG_KERNELGYM_FAILED,  false,      false, false, "RESOURCE_ERROR",
                 "Reference failed: ", "reference"},
    overdue = {KG_KERNELGYM_FAILED,        false,   false, false, "TIMEOUT_ERROR",
               "Task processing failed: ", "system"},
    unable = {KG_KERNELGYM_FAILED,   false,   false, false, "SYSTEM_ERROR",
              "Evaluation failed: ", "system"},
    cancelled = {KG_KERNELGYM_FAILED, false, false, false, "SYSTEM_ERROR", "Task cancelled", NULL};

const char *kg_kernelgym_state_name(enum kg_kernelgym_state s)
{
    static const char *const names[] = {"pending", "processing", "completed", "failed"};
    return names[s];
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* An exception in the constructor is that of code which was built; one at import is not. */
static bool raised_in_constructor(const json_t *record)
{
    const char *during = text(kg_kernelgym_evidence(record, "exception"), "during");
    return is(during, "constructing it") || is(during, "loading its state");
}

static const struct outcome *of_build(const json_t *record, const char *reason)
{
    return is(reason, "missing_entry")                           ? &absent
           : is(reason, "load") && raised_in_constructor(record) ? &raised
                                                                 : &unbuilt;
}

/* Of the process that ended, or of an exception in it. */
static const struct outcome *of_crash(const char *reason)
{
    return is(reason, "exception") || is(reason, "device") ? &raised : &died;
}

static const struct outcome *of_hack(const char *reason)
{
    static const char *const lazy[] = {"decoy", "fallback", "phase", "delegation"};
    for (size_t i = 0; i < sizeof lazy / sizeof *lazy; i++) {
        if (is(reason, lazy[i])) {
            return &decoy;
        }
    }
    return &wrong;
}

static bool admitted(const json_t *record)
{
    return !json_is_false(json_object_get(json_object_get(record, "league"), "eligible"));
}

static const struct outcome *of_ok(const json_t *record)
{
    return admitted(record) && !kg_kernelgym_unowned(record) ? &right : &decoy;
}

static const struct outcome *of_verdict(const json_t *record, const char *verdict)
{
    const char *reason = text(record, "reason");
    bool killed = kg_kernelgym_evidence(record, "limit") != NULL;
    return is(verdict, "ok")              ? of_ok(record)
           : is(verdict, "wrong")         ? &wrong
           : is(verdict, "hack")          ? of_hack(reason)
           : is(verdict, "no_code")       ? &absent
           : is(verdict, "rejected")      ? &unbuilt
           : is(verdict, "compile_error") ? of_build(record, reason)
           : is(verdict, "crash")         ? of_crash(reason)
           : is(verdict, "timeout")       ? &late
           : is(verdict, "out_of_memory") ? (killed ? &died : &raised)
                                          : &unable;
}

static const struct outcome *of_error(const json_t *record, const json_t *error)
{
    const char *code = text(error, "code"), *blame = text(error, "blame");
    if (is(code, "cancelled")) {
        return &overdue;
    }
    if (is(blame, "candidate")) {
        return &unsuited;
    }
    if (!is(blame, "problem")) {
        return &unable;
    }
    if (json_is_true(json_object_get(record, "correct"))) {
        return &untimed; /* the reference failed after all answers were right */
    }
    return is(code, "limit") || is(code, "host") ? &too_large : &defective;
}

static const struct outcome *outcome_of(const json_t *record, const struct kg_kernelgym_task *t)
{
    const json_t *error = json_object_get(record, "error");
    const char *verdict = text(record, "verdict");
    if (json_is_object(error)) {
        return of_error(record, error);
    }
    if (*verdict) {
        return of_verdict(record, verdict);
    }
    /* Nothing was compared because the client asked for that. */
    bool asked = json_is_false(json_object_get(t->echo, "correctness"));
    return asked && json_is_true(json_object_get(record, "compiled")) ? &right : &unable;
}

/* --- numbers --- */

static double number(const json_t *j, const char *key)
{
    double x = json_number_value(json_object_get(j, key));
    return isfinite(x) ? x : 0;
}

struct times {
    double reference_ms, kernel_ms, speedup;
};

/* As the gym rewards it (docs/rewards.md): a reference below T earns no speed, a candidate below T
 * counts as if it took T. The reference's time is what makes the quotient the ratio of the pairs,
 * which is the better estimate; both processes' own medians are in metadata.timing. */
static struct times times_of(const json_t *record, const struct outcome *o)
{
    struct times none = {-1, -1, 0};
    const json_t *timing = json_object_get(record, "timing");
    double reference = number(timing, "reference_ns"), kernel = number(timing, "candidate_ns");
    double least = number(timing, "shortest_ns");
    double ratio = number(json_object_get(record, "speedup"), "ratio");
    if (o->decoy && reference > 0) {
        return (struct times){reference / 1e6, -1, 0};
    }
    if (!o->correct || o->decoy || !is(text(timing, "status"), "measured") ||
        json_is_object(json_object_get(timing, "claims")) || !(ratio > 0) || !(kernel > 0) ||
        reference < least) {
        return none;
    }
    reference = kernel * ratio;
    kernel = kernel < least ? least : kernel;
    struct times t = {reference / 1e6, kernel / 1e6, reference / kernel};
    return isfinite(t.reference_ms) && isfinite(t.speedup) && t.reference_ms > 0 ? t : none;
}

/* --- the 14 members --- */

/* The words that say why: a compiler's whole text, else the record's own line. */
static json_t *message_of(const json_t *record, const struct outcome *o,
                          const struct kg_kernelgym_task *t)
{
    const json_t *error = json_object_get(record, "error");
    const char *why = json_is_object(error) ? text(error, "message") : text(record, "message");
    const char *log = text(kg_kernelgym_evidence(record, "compiler"), "text");
    bool brief = json_is_false(json_object_get(t->echo, "verbose"));
    struct kg_buf b;
    if (!o->begins) {
        return json_null();
    }
    why = *why ? why : "the evaluation stopped before a verdict";
    kg_buf_init(&b, 1 << 20);
    kg_buf_adds(&b, o->begins);
    json_t *mistake = o == &wrong ? kg_kernelgym_mistake(record) : NULL;
    if (o != &cancelled) {
        kg_buf_adds(&b, mistake ? json_string_value(mistake) : why);
    }
    json_decref(mistake);
    if (o == &unbuilt && *log && !brief) {
        kg_buf_addf(&b, "\n%s", log);
    }
    json_t *out = kg_kernelgym_text(b.data, brief ? 200 : KG_KERNELGYM_TEXT_MOST);
    kg_buf_deinit(&b);
    return out;
}

static json_t *seconds(const struct kg_kernelgym_task *t)
{
    bool known = t->started_us > 0 && t->completed_us >= t->started_us;
    return known ? json_real((double)(t->completed_us - t->started_us) / 1e6) : json_null();
}

static json_t *code_of(const char *code)
{
    return code ? json_string(code) : json_null();
}

/* Takes message and metadata. */
static json_t *members(const struct kg_kernelgym_task *t, const struct outcome *o, struct times x,
                       json_t *message, json_t *metadata)
{
    return json_pack("{s:o, s:s, s:b, s:b, s:b, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "task_id", kg_json_text(t->id, strlen(t->id)), "status",
                     kg_kernelgym_state_name(o->state), "compiled", o->compiled, "correctness",
                     o->correct, "decoy_kernel", o->decoy, "reference_runtime", x.reference_ms,
                     "kernel_runtime", x.kernel_ms, "speedup", x.speedup, "metadata", metadata,
                     "error_message", message, "error_code", code_of(o->code), "submitted_at",
                     kg_kernelgym_time(t->submitted_us), "completed_at",
                     kg_kernelgym_time(t->completed_us), "processing_time", seconds(t));
}

static json_t *not_yet(const struct kg_kernelgym_task *t)
{
    const char *state =
        kg_kernelgym_state_name(t->waits ? KG_KERNELGYM_PENDING : KG_KERNELGYM_PROCESSING);
    return json_pack("{s:o, s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:o, s:n, s:n}",
                     "task_id", kg_json_text(t->id, strlen(t->id)), "status", state, "compiled",
                     "correctness", "decoy_kernel", "reference_runtime", "kernel_runtime",
                     "speedup", "metadata", "error_message", "error_code", "submitted_at",
                     kg_kernelgym_time(t->submitted_us), "completed_at", "processing_time");
}

json_t *kg_kernelgym_result(const json_t *record, const struct kg_kernelgym_task *t)
{
    const struct outcome *o = t->cancelled ? &cancelled : record ? outcome_of(record, t) : NULL;
    if (!o) {
        return not_yet(t);
    }
    return members(t, o, times_of(record, o), message_of(record, o, t),
                   kg_kernelgym_metadata(record, t, o->fault));
}

json_t *kg_kernelgym_failed(const struct kg_kernelgym_task *t, const char *code, const char *fault,
                            const char *message)
{
    struct outcome o = unable;
    o.code = code;
    return members(t, &o, (struct times){-1, -1, 0},
                   kg_kernelgym_text(message, KG_KERNELGYM_TEXT_MOST),
                   kg_kernelgym_metadata(NULL, t, fault));
}

/* --- forms around a result --- */

json_t *kg_kernelgym_status(const json_t *result, const struct kg_kernelgym_task *t)
{
    bool failed = is(text(result, "status"), "failed");
    bool ended = failed || is(text(result, "status"), "completed");
    json_t *j = json_pack(
        "{s:O, s:O, s:n, s:n, s:o, s:o}", "task_id", json_object_get(result, "task_id"), "status",
        json_object_get(result, "status"), "progress", "estimated_completion", "queue_position",
        !ended && t->waits && t->position > 0 ? json_integer(t->position) : json_null(),
        "assigned_device",
        !ended && !t->waits && t->device ? kg_kernelgym_text(t->device, 100) : json_null());
    if (failed) {
        json_object_set(j, "error_message", json_object_get(result, "error_message"));
    }
    json_object_set(j, "error_code", json_object_get(result, "error_code"));
    json_object_set(j, "submitted_at", json_object_get(result, "submitted_at"));
    json_object_set_new(j, "started_at", kg_kernelgym_time(t->started_us));
    json_object_set(j, "completed_at", json_object_get(result, "completed_at"));
    return j;
}

json_t *kg_kernelgym_workflow(json_t *result)
{
    json_t *j = json_object(), *inner;
    static const char *const outer[] = {"task_id", "status"};
    static const char *const after[] = {"error_message", "error_code", "submitted_at",
                                        "completed_at"};
    for (size_t i = 0; i < sizeof outer / sizeof *outer; i++) {
        json_object_set(j, outer[i], json_object_get(result, outer[i]));
    }
    bool ended = !json_is_null(json_object_get(result, "completed_at")) ||
                 !json_is_null(json_object_get(result, "metadata"));
    inner = ended ? json_copy(result) : json_null();
    if (ended) {
        json_object_del(inner, "status");
    }
    json_object_set_new(j, "result", inner);
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        json_object_set(j, after[i], json_object_get(result, after[i]));
    }
    json_decref(result);
    return j;
}

json_t *kg_kernelgym_batch(const char *id, json_t *results, int64_t submitted_us,
                           int64_t completed_us)
{
    size_t i, failed = 0, completed = 0;
    json_t *r;
    json_array_foreach(results, i, r)
    {
        failed += is(text(r, "status"), "failed");
        completed += is(text(r, "status"), "completed");
    }
    size_t n = json_array_size(results);
    bool ended = completed + failed == n;
    return json_pack("{s:o, s:I, s:I, s:I, s:o, s:s, s:o, s:o}", "batch_id",
                     kg_json_text(id, strlen(id)), "total_tasks", (json_int_t)n, "completed_tasks",
                     (json_int_t)completed, "failed_tasks", (json_int_t)failed, "results", results,
                     "batch_status", ended ? "completed" : "processing", "submitted_at",
                     kg_kernelgym_time(submitted_us), "completed_at",
                     ended ? kg_kernelgym_time(completed_us) : json_null());
}
