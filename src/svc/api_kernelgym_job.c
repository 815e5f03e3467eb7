/* From a task of KernelGYM's to a job of the store and back. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_kernelgym.h"

enum { COUNT_MS = 1000 };

/* --- to a job --- */

/* What a result repeats, in the 200 bytes of a tag: texts that do not fit are left out. */
static void tag_of(const struct kg_kernelgym_request *r, struct kg_buf *out)
{
    static const char *const small[] = {"backend",   "num_correct_trials", "verbose",
                                        "profiling", "correctness",        "cache_type"};
    static const char *const texts[] = {"reference_backend", "uuid"};
    for (size_t most = sizeof texts / sizeof *texts + 1; most-- > 0;) {
        json_t *list = json_array();
        for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
            json_array_append(list, json_object_get(r->echo, small[i]));
        }
        for (size_t i = 0; i < most; i++) {
            json_array_append(list, json_object_get(r->echo, texts[i]));
        }
        if (r->unserved) {
            json_array_append_new(list, json_pack("{s:s}", "unserved", r->failure_code));
        }
        kg_buf_reset(out);
        kg_json_dump(list, out);
        json_decref(list);
        if (out->len <= KG_SVC_KEY_MAX) {
            return;
        }
    }
    KG_ASSERT(out->len <= KG_SVC_KEY_MAX); /* the small ones are 100 bytes at most */
}

static json_t *echo_of(const json_t *record, const struct kg_svc_job *job)
{
    static const char *const names[] = {
        "backend",     "num_correct_trials", "verbose",           "profiling",
        "correctness", "cache_type",         "reference_backend", "uuid"};
    const char *tag = json_string_value(json_object_get(record, "batch_id"));
    json_t *list = tag ? json_loads(tag, 0, NULL) : NULL, *echo = json_object();
    size_t n = json_array_size(list);
    const json_t *last = n > 0 ? json_array_get(list, n - 1) : NULL;
    if (json_is_object(last)) {
        json_object_set(echo, "unserved", json_object_get(last, "unserved"));
        n--;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && i < n; i++) {
        json_object_set(echo, names[i], json_array_get(list, i));
    }
    json_object_set_new(echo, "content_key", json_string(job->body_hash));
    json_decref(list);
    return echo;
}

static void batch_of(const char *task_id, char out[KG_SHA256_HEX + 8])
{
    char sum[KG_SHA256_HEX];
    kg_sha256_hex(task_id, strlen(task_id), sum);
    snprintf(out, KG_SHA256_HEX + 8, "kernelgym-%.60s", sum);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* {"preset", "set": [...]} in order, so that equal settings share a lane. */
static void configuration_of(const struct kg_kernelgym_request *r, struct kg_buf *out)
{
    size_t n = json_array_size(r->options);
    const char **list = calloc(n, sizeof *list);
    json_t *set = json_array();
    KG_ASSERT(list != NULL);
    for (size_t i = 0; i < n; i++) {
        list[i] = json_string_value(json_array_get(r->options, i));
    }
    qsort(list, n, sizeof *list, by_text);
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(set, json_string(list[i]));
    }
    json_t *j = r->preset ? json_pack("{s:s, s:o}", "preset", r->preset, "set", set)
                          : json_pack("{s:o}", "set", set);
    kg_json_dump(j, out);
    json_decref(j);
    free(list);
}

/* The reference as a problem: a module where its class is Model, else a row, which names it. */
static const char *problem_of(const struct kg_kernelgym_request *r, struct kg_buf *out)
{
    if (strcmp(r->entry, "Model") == 0) {
        kg_buf_add(out, r->reference.bytes, r->reference.len);
        return "kernelgym.py";
    }
    json_t *row = json_pack("{s:s, s:s%}", "entry_point", r->entry, "python_code",
                            r->reference.bytes, r->reference.len);
    kg_json_dump(row, out);
    json_decref(row);
    return "kernelgym.jsonl#1";
}

static enum kg_code keep_all(struct kg_svc_job *job, const struct kg_buf *problem,
                             const struct kg_buf *configuration, const struct kg_buf *task,
                             struct kg_err *err)
{
    char name[KG_SHA256_HEX + 8], sum[KG_SHA256_HEX], key[KG_SVC_KEY_MAX];
    kg_sha256_hex(problem->data, problem->len, sum);
    int n = snprintf(name, sizeof name, "sha256:%s", sum);
    int k = snprintf(key, sizeof key, "k/%s/%lld", job->batch, (long long)job->batch_at);
    if (!kg_buf_ok(task) || !kg_buf_ok(problem) || !kg_buf_ok(configuration)) {
        return kg_fail(err, KG_E_LIMIT, "the task is too large");
    }
    return kg_svc_job_keep(job, &job->problem, name, (size_t)n, err) == KG_OK &&
                   kg_svc_job_keep(job, &job->key, key, (size_t)k, err) == KG_OK &&
                   kg_svc_job_keep(job, &job->configuration, configuration->data,
                                   configuration->len, err) == KG_OK &&
                   kg_svc_job_keep(job, &job->task, task->data, task->len, err) == KG_OK &&
                   kg_svc_job_keep(job, &job->device, "torch", strlen("torch"), err) == KG_OK
               ? kg_ulid_new(job->id, err)
               : err->code;
}

enum kg_code kg_svc_kernelgym_job(const struct kg_kernelgym_request *r, int64_t generation,
                                  struct kg_svc_job *job, struct kg_err *err)
{
    static const enum kg_svc_priority priorities[] = {KG_SVC_LOW, KG_SVC_NORMAL, KG_SVC_HIGH};
    struct kg_buf problem, configuration, task, tag;
    char batch[KG_SHA256_HEX + 8];
    kg_buf_init(&problem, KG_SVC_TASK_MAX);
    kg_buf_init(&configuration, 1 << 16);
    kg_buf_init(&task, KG_SVC_TASK_MAX);
    kg_buf_init(&tag, 1 << 16);
    const char *file = problem_of(r, &problem);
    configuration_of(r, &configuration);
    tag_of(r, &tag);
    json_t *j = json_pack("{s:s, s:s%, s:s%, s:b, s:s}", "problem", file, "problem_text",
                          problem.data, problem.len, "text", r->kernel.bytes, r->kernel.len,
                          "source", 1, "tag", tag.data);
    kg_json_dump(j, &task);
    json_decref(j);
    batch_of(r->task_id, batch);
    job->priority = priorities[r->priority];
    job->created_ms = kg_svc_now_ms();
    job->batch_at = generation;
    snprintf(job->body_hash, sizeof job->body_hash, "%s", r->content_key);
    enum kg_code code = kg_svc_job_keep(job, &job->batch, batch, strlen(batch), err);
    code = code == KG_OK ? keep_all(job, &problem, &configuration, &task, err) : code;
    kg_buf_deinit(&problem);
    kg_buf_deinit(&configuration);
    kg_buf_deinit(&task);
    kg_buf_deinit(&tag);
    return code;
}

/* --- and back --- */

struct last {
    char id[KG_ULID_LEN];
};

static bool remember(void *ctx, const struct kg_svc_job *job)
{
    snprintf(((struct last *)ctx)->id, KG_ULID_LEN, "%s", job->id);
    return true;
}

enum kg_code kg_svc_kernelgym_last(struct kg_svc_api *a, const char *task_id,
                                   struct kg_svc_job *job, struct kg_err *err)
{
    char batch[KG_SHA256_HEX + 8];
    struct last last = {""};
    batch_of(task_id, batch);
    const struct kg_svc_filter f = {.state = -1, .batch = batch, .by_line = true, .limit = 100000};
    if (a->store->kind->list(a->store, &f, remember, &last, err) != KG_OK) {
        return err->code;
    }
    return last.id[0] ? a->store->kind->get(a->store, last.id, false, job, err)
                      : kg_fail(err, KG_E_NOT_FOUND, "no such task");
}

/* False: there is a record, and it can't be read. *out NULL: there is none. */
static bool read_record(struct kg_svc_api *a, const struct kg_svc_job *job, json_t **out)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    *out = NULL;
    if (job->state != KG_SVC_DONE || job->record.segment[0] == '\0') {
        return true;
    }
    kg_buf_init(&text, KG_SVC_RECORD_MAX);
    bool good = kg_svc_segments_read(a->segments, &job->record, &text, &err) == KG_OK &&
                kg_json_parse(text.data, text.len, "record", out, &err) == KG_OK;
    kg_buf_deinit(&text);
    return good;
}

/* Jobs wait in lanes, not in one line, so the place of a task is not known: it is at most the last
 * of all. The count is that of the last second, since clients ask often. */
static int64_t position_at_most(struct kg_svc_api *a)
{
    struct kg_svc_stats s;
    struct kg_err ignored = KG_ERR_INIT;
    int64_t now = kg_svc_now_ms();
    if (now - a->waiting_ms >= COUNT_MS && a->store->kind->stats(a->store, &s, &ignored) == KG_OK) {
        a->waiting = s.jobs[KG_SVC_WAITING];
        a->waiting_ms = now;
    }
    return a->waiting > 0 ? a->waiting : 1;
}

/* What a task failed by that asked for resources which are not here. It was judged with those that
 * are, since its client reads the state of a job; that says nothing about the candidate. */
static json_t *unserved(const struct kg_kernelgym_task *t, const char *code)
{
    bool many = strcmp(code, "RESOURCE_ERROR") == 0;
    return kg_kernelgym_failed(t, many ? "RESOURCE_ERROR" : "VALIDATION_ERROR", "system",
                               many ? "resources.gpus: more than an evaluation has here"
                                    : "resources.gpus must be an integer >= 1");
}

json_t *kg_svc_kernelgym_view(struct kg_svc_api *a, const char *task_id,
                              const struct kg_svc_job *job, json_t **status)
{
    json_t *record, *result;
    if (!read_record(a, job, &record)) {
        return NULL;
    }
    json_t *echo = echo_of(record, job);
    const char *code = json_string_value(json_object_get(echo, "unserved"));
    const struct kg_kernelgym_task t = {.id = task_id,
                                        .echo = echo,
                                        .submitted_us = job->created_ms * 1000,
                                        .started_us = job->started_ms * 1000,
                                        .completed_us = job->finished_ms * 1000,
                                        .attempts = job->attempts,
                                        .cancelled = job->state == KG_SVC_CANCELLED,
                                        .waits = job->state == KG_SVC_WAITING,
                                        .position =
                                            job->state == KG_SVC_WAITING ? position_at_most(a) : 0,
                                        .device = job->worker[0] ? job->worker : NULL};
    if (job->state == KG_SVC_DEAD) {
        result = kg_kernelgym_failed(&t, "SYSTEM_ERROR", "system",
                                     job->message[0] ? job->message : "the attempts failed");
    } else if (job->state == KG_SVC_DONE && !record) {
        result = kg_kernelgym_failed(&t, "SYSTEM_ERROR", "system", "the task has no record");
    } else if (job->state == KG_SVC_DONE && code != NULL) {
        result = unserved(&t, code);
    } else {
        result = kg_kernelgym_result(record, &t);
    }
    if (status) {
        *status = kg_kernelgym_status(result, &t);
    }
    json_decref(echo);
    json_decref(record);
    return result;
}

json_t *kg_svc_kernelgym_unjudged(const struct kg_kernelgym_request *r, int64_t at_us)
{
    json_t *echo = json_copy(r->echo);
    json_object_set_new(echo, "content_key", json_string(r->content_key));
    const struct kg_kernelgym_task t = {
        .id = r->task_id, .echo = echo, .submitted_us = at_us, .completed_us = at_us};
    json_t *result = kg_kernelgym_failed(&t, r->failure_code, r->failure_fault, r->failure);
    json_decref(echo);
    return result;
}
