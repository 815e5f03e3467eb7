/* The bodies around a request: /evaluate, /evaluate/batch, /workflow/submit, and the two forms of a
 * refusal. */
#include "svc/kernelgym_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "svc/kernelgym_members.h"
#include "svc/kernelgym_time.h"

static json_t *object_of(const char *body, size_t len, struct kg_kernelgym_refusal *no)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    /* The parser's own words quote the body. */
    if (kg_json_parse_loose(body, len, "body", &j, &err) != KG_OK) {
        kg_kernelgym_refuse(no, false, "body: is not JSON in UTF-8");
        return NULL;
    }
    if (!json_is_object(j)) {
        kg_kernelgym_refuse(no, false, "body: must be an object");
        json_decref(j);
        return NULL;
    }
    return j;
}

bool kg_kernelgym_request_read(const char *body, size_t len, const struct kg_kernelgym_settings *s,
                               struct kg_kernelgym_request *out, struct kg_kernelgym_refusal *no)
{
    json_t *task = object_of(body, len, no);
    return task && kg_kernelgym_request_take(task, "", s, out, no);
}

/* --- workflows --- */

/* Is the member missing or of the type? null counts as missing where it may be null. */
static bool is_typed(const json_t *j, const char *name, json_type type, bool nullable,
                     struct kg_kernelgym_refusal *no)
{
    const json_t *v = json_object_get(j, name);
    if (!v || (nullable && json_is_null(v)) || json_typeof(v) == type) {
        return true;
    }
    return kg_kernelgym_refuse(no, false, "%s: must be %s%s", name,
                               type == JSON_STRING ? "a string" : "an object",
                               nullable ? " or null" : "");
}

static bool set_flag(json_t *task, const json_t *from)
{
    json_t *v = json_object_get(from, "force_refresh");
    return !v || json_object_set(task, "force_refresh", v) == 0;
}

/* The payload becomes the request: the members around it come first. */
static json_t *unwrapped(const json_t *j, struct kg_kernelgym_refusal *no)
{
    if (!is_typed(j, "workflow", JSON_STRING, false, no) ||
        !is_typed(j, "payload", JSON_OBJECT, false, no) ||
        !is_typed(j, "task_id", JSON_STRING, true, no) ||
        !is_typed(j, "resources", JSON_OBJECT, true, no)) {
        return NULL;
    }
    json_t *payload = json_object_get(j, "payload"), *id = json_object_get(j, "task_id");
    json_t *resources = json_object_get(j, "resources");
    json_t *task = payload ? json_copy(payload) : json_object();
    if (json_string_length(id) > 0) {
        json_object_set(task, "task_id", id);
    }
    json_t *own = json_object_get(task, "task_id");
    if (!own || json_is_null(own) || (json_is_string(own) && json_string_length(own) == 0)) {
        kg_kernelgym_refuse(no, true, "task_id is required");
        json_decref(task);
        return NULL;
    }
    json_t *workflow = json_object_get(j, "workflow");
    json_object_set_new(task, "workflow",
                        workflow ? json_incref(workflow) : json_string("kernelbench"));
    if (!json_object_get(task, "resources") && resources) {
        json_object_set(task, "resources", resources);
    }
    set_flag(task, j);
    return task;
}

bool kg_kernelgym_workflow_read(const char *body, size_t len, const struct kg_kernelgym_settings *s,
                                struct kg_kernelgym_request *out, struct kg_kernelgym_refusal *no)
{
    json_t *j = object_of(body, len, no);
    json_t *task = j ? unwrapped(j, no) : NULL;
    json_decref(j);
    return task && kg_kernelgym_request_take(task, "payload.", s, out, no);
}

/* --- batches --- */

static bool is_batch(const json_t *j, struct kg_kernelgym_refusal *no)
{
    const json_t *id = json_object_get(j, "batch_id"), *tasks = json_object_get(j, "tasks");
    size_t n = json_array_size(tasks);
    if (!json_is_string(id)) {
        return kg_kernelgym_refuse(no, false, "batch_id: %s",
                                   id ? "must be a string" : "is missing");
    }
    if (!json_is_array(tasks)) {
        return kg_kernelgym_refuse(no, false, "tasks: %s", tasks ? "must be a list" : "is missing");
    }
    if (n < 1 || n > KG_KERNELGYM_TASKS) {
        return kg_kernelgym_refuse(no, false, "tasks: 1 to %d are allowed", KG_KERNELGYM_TASKS);
    }
    return true;
}

bool kg_kernelgym_batch_read(const char *body, size_t len, const struct kg_kernelgym_settings *s,
                             struct kg_kernelgym_batch *out, struct kg_kernelgym_refusal *no)
{
    json_t *j = object_of(body, len, no), *task;
    size_t i;
    *out = (struct kg_kernelgym_batch){.body = j};
    if (!j || !is_batch(j, no)) {
        kg_kernelgym_batch_deinit(out);
        return false;
    }
    const json_t *tasks = json_object_get(j, "tasks");
    out->id = json_string_value(json_object_get(j, "batch_id"));
    out->task = calloc(json_array_size(tasks), sizeof *out->task);
    KG_ASSERT(out->task != NULL);
    json_array_foreach(tasks, i, task)
    {
        char where[24];
        snprintf(where, sizeof where, "tasks.%zu.", i);
        bool good = json_is_object(task)
                        ? kg_kernelgym_request_take(json_copy(task), where, s, &out->task[i], no)
                        : kg_kernelgym_refuse(no, false, "tasks.%zu: must be an object", i);
        if (!good) {
            kg_kernelgym_batch_deinit(out);
            return false;
        }
        out->n++;
    }
    return true;
}

void kg_kernelgym_batch_deinit(struct kg_kernelgym_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        kg_kernelgym_request_deinit(&b->task[i]);
    }
    free(b->task);
    json_decref(b->body);
    *b = (struct kg_kernelgym_batch){0};
}

/* --- what is answered at once --- */

static json_t *part(const struct kg_kernelgym_request *r, const char *whose, json_t *entry)
{
    bool bad = r->failure_code && strncmp(r->failure, whose, strlen(whose)) == 0;
    return json_pack("{s:b, s:o, s:o}", "valid", !bad, "error",
                     bad ? json_string(r->failure) : json_null(), "entry_point", entry);
}

json_t *kg_kernelgym_validation(const struct kg_kernelgym_request *r)
{
    static const char *const info[] = {
        "backend",  "num_correct_trials", "num_perf_trials",   "timeout",
        "priority", "force_refresh",      "device_preference", "workflow"};
    char candidate[112];
    int n = snprintf(candidate, sizeof candidate, "%.100sNew", r->entry);
    json_t *errors = json_array(), *about = json_object();
    if (r->failure_code) {
        json_array_append_new(errors, json_string(r->failure));
    }
    for (size_t i = 0; i < sizeof info / sizeof *info; i++) {
        json_object_set(about, info[i], json_object_get(r->body, info[i]));
    }
    json_object_set_new(about, "workflow", json_string("kernelbench"));
    return json_pack("{s:b, s:o, s:o, s:o, s:{s:O, s:O}, s:{}, s:s, s:s, s:o}", "valid",
                     !r->failure_code, "errors", errors, "reference",
                     part(r, "Reference", json_incref(json_object_get(r->body, "entry_point"))),
                     "kernel", part(r, "Kernel", kg_json_text(candidate, (size_t)n)), "cache",
                     "use_reference_cache", json_object_get(r->body, "use_reference_cache"), "uuid",
                     json_object_get(r->echo, "uuid"), "resources", "task_id", r->task_id,
                     "workflow", "kernelbench", "request_info", about);
}

json_t *kg_kernelgym_refusal_body(const struct kg_kernelgym_refusal *no, int64_t now_us)
{
    if (no->detail) {
        return json_pack("{s:s}", "detail", no->message);
    }
    return json_pack("{s:s, s:s, s:s, s:n, s:o}", "error", "RequestValidationError", "message",
                     no->message, "error_code", "VALIDATION_ERROR", "task_id", "timestamp",
                     kg_kernelgym_time(now_us));
}
