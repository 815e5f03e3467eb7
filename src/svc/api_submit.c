/* Makes a job of what a body, a line of a batch or a turn asks for. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"

enum { SETTINGS_MAX = 64 };

/* Fills *no; false. */
/* Where in a batch: "line 3: ". */
static const char *place(int line, char out[32])
{
    out[0] = '\0';
    if (line >= 0) {
        snprintf(out, 32, "line %d: ", line + 1);
    }
    return out;
}

/* NAME.jsonl#LINE: a row of a file of the suites, as GET /v1/problems lists it. */
static bool is_row(const char *problem)
{
    static const char ending[] = ".jsonl";
    const char *line = strchr(problem, '#');
    size_t n = line != NULL ? (size_t)(line - problem) : 0, m = sizeof ending - 1;
    return n > m && memcmp(line - m, ending, m) == 0 && line[1] >= '1' && line[1] <= '9' &&
           strspn(line + 1, "0123456789") == strlen(line + 1);
}

bool kg_svc_is_path(const char *problem)
{
    const char *dot = strrchr(problem, '.');
    return strpbrk(problem, "/\\") != NULL || (strchr(problem, '#') != NULL && !is_row(problem)) ||
           (dot != NULL &&
            (strcmp(dot, ".c") == 0 || strcmp(dot, ".py") == 0 || strcmp(dot, ".jsonl") == 0));
}

/* --- configuration --- */

struct settings {
    char text[SETTINGS_MAX][512];
    const char *list[SETTINGS_MAX];
    size_t n;
};

static bool add_setting(struct settings *s, const char *key, const json_t *value)
{
    if (s->n == SETTINGS_MAX) {
        return false;
    }
    char *out = s->text[s->n];
    const size_t cap = sizeof s->text[0];
    int n = json_is_string(value) ? snprintf(out, cap, "%s=%s", key, json_string_value(value))
            : json_is_integer(value)
                ? snprintf(out, cap, "%s=%lld", key, (long long)json_integer_value(value))
            : json_is_real(value) ? snprintf(out, cap, "%s=%.17g", key, json_real_value(value))
            : json_is_boolean(value)
                ? snprintf(out, cap, "%s=%s", key, json_is_true(value) ? "yes" : "no")
                : -1;
    s->list[s->n++] = out;
    return n > 0 && (size_t)n < cap;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Settings that were refused: the member at fault. */
static const char *which_is_wrong(const struct kg_svc_gym *g, const struct kg_svc_ask_for *ask,
                                  const struct settings *s)
{
    struct kg_err ignored = KG_ERR_INIT;
    if (g->settings(g->ctx, ask->preset, NULL, NULL, 0, &ignored) != KG_OK) {
        return "preset";
    }
    ignored = (struct kg_err)KG_ERR_INIT;
    return g->settings(g->ctx, ask->preset, NULL, s->list, s->n, &ignored) != KG_OK ? "set"
                                                                                    : "rewards";
}

/* {"preset":..., "set":[...]}, settings in order of their names, so that equal ones share a lane.
 */
static bool configure(struct kg_svc_api *a, const struct kg_svc_ask_for *ask, struct kg_buf *out,
                      struct kg_svc_refusal *no)
{
    struct kg_err err = KG_ERR_INIT;
    struct settings *s = calloc(1, sizeof *s);
    KG_ASSERT(s != NULL);
    const char *key;
    json_t *value;
    bool ok = true;
    json_object_foreach((json_t *)(uintptr_t)ask->set, key, value)
    {
        ok = ok && add_setting(s, key, value);
    }
    if (!ok) {
        free(s);
        return kg_svc_refuse(no, 400, "bad_set", "set",
                             "`set` must have at most %d short values: texts, numbers, booleans",
                             SETTINGS_MAX);
    }
    qsort(s->list, s->n, sizeof *s->list, by_text);
    const struct kg_svc_gym *g = a->o->gym;
    if (g->settings(g->ctx, ask->preset, ask->rewards, s->list, s->n, &err) != KG_OK) {
        const char *field = which_is_wrong(g, ask, s);
        free(s);
        return kg_svc_refuse(no, 400, "bad_setting", field, "%s", err.message);
    }
    json_t *set = json_array();
    for (size_t i = 0; i < s->n; i++) {
        json_array_append_new(set, kg_json_text(s->list[i], strlen(s->list[i])));
    }
    json_t *j = json_pack("{s:s?, s:o}", "preset", ask->preset, "set", set);
    kg_json_dump(j, out);
    json_decref(j);
    free(s);
    return true;
}

/* --- the problem --- */

/* The text of a problem says its language: C begins with a comment or a directive. */
static const char *file_of_source(const struct kg_svc_ask_for *ask)
{
    const char *text = ask->problem_source;
    if (ask->problem_file != NULL) {
        return ask->problem_file;
    }
    text += strspn(text, " \t\r\n");
    bool c = strncmp(text, "/*", 2) == 0 || strncmp(text, "//", 2) == 0 ||
             strncmp(text, "#include", 8) == 0;
    return c ? "problem.c" : "problem.py";
}

static bool find_problem(struct kg_svc_api *a, const struct kg_svc_ask_for *ask, int line,
                         struct kg_buf *name, char device[KG_SVC_DEVICE_MAX],
                         struct kg_svc_refusal *no)
{
    struct kg_err err = KG_ERR_INIT;
    const struct kg_svc_gym *g = a->o->gym;
    char at[32], sum[KG_SHA256_HEX];
    place(line, at);
    if ((ask->problem == NULL) == (ask->problem_source == NULL)) {
        return kg_svc_refuse(no, 400, "bad_body", "problem",
                             "%sone of `problem` and `problem_source` is needed", at);
    }
    if (ask->problem_source != NULL) {
        kg_sha256_hex(ask->problem_source, strlen(ask->problem_source), sum);
        kg_buf_addf(name, "sha256:%s", sum);
        const char *file = file_of_source(ask);
        bool c = strcmp(strrchr(file, '.'), ".c") == 0;
        snprintf(device, KG_SVC_DEVICE_MAX, "%s", c ? "cpu" : "torch");
        return true;
    }
    if (kg_svc_is_path(ask->problem) || strlen(ask->problem) > 200) {
        return kg_svc_refuse(no, 400, "bad_problem", "problem",
                             "%s`problem` must be a name of the suites, not a path", at);
    }
    if (g->problem(g->ctx, ask->problem, device, &err) != KG_OK) {
        int status = err.code == KG_E_NOT_FOUND ? 404 : err.code == KG_E_USAGE ? 400 : 503;
        return kg_svc_refuse(no, status, status == 400 ? "bad_problem" : "no_problem", "problem",
                             "%s%s", at, err.message);
    }
    kg_buf_adds(name, ask->problem);
    return true;
}

static json_t *task_of(const struct kg_svc_ask_for *ask)
{
    const char *problem = ask->problem != NULL ? ask->problem : file_of_source(ask);
    json_t *j =
        json_pack("{s:s, s:O, s:b}", "problem", problem, "text", ask->text, "source", ask->source);
    if (ask->problem_source != NULL) {
        json_object_set_new(j, "problem_text", json_string(ask->problem_source));
    }
    if (ask->rewards != NULL) {
        json_object_set_new(j, "rewards", json_string(ask->rewards));
    }
    if (ask->tag != NULL) {
        json_object_set_new(j, "tag", json_string(ask->tag));
    }
    if (ask->stop_after != NULL) {
        json_object_set_new(j, "stop_after", json_string(ask->stop_after));
    }
    if (ask->replay != NULL) {
        json_object_set_new(j, "replay", json_string(ask->replay));
    }
    return j;
}

/* --- the job --- */

static bool keep_all(struct kg_svc_job *job, struct kg_buf text[4],
                     const struct kg_svc_ask_for *ask, bool in_batch, const char *device)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_sha256 h;
    bool whole = true;
    for (int i = 0; i < 3; i++) {
        whole = whole && kg_buf_ok(&text[i]);
    }
    if (ask->key != NULL) {
        /* a line's key, KEY#N, may look like that of a single job */
        kg_buf_addf(&text[3], "%s/%s", in_batch ? "b" : "e", ask->key);
    }
    kg_sha256_begin(&h);
    for (int i = 0; i < 3; i++) {
        kg_sha256_part(&h, text[i].data, text[i].len);
    }
    const char *priority = kg_svc_priority_name(job->priority);
    kg_sha256_part(&h, priority, strlen(priority));
    kg_sha256_part(&h, &ask->deadline_s, sizeof ask->deadline_s);
    if (ask->needs != NULL) {
        kg_sha256_part(&h, device, strlen(device));
    }
    kg_sha256_end(&h, job->body_hash);
    return whole && kg_svc_job_keep(job, &job->problem, text[0].data, text[0].len, &err) == KG_OK &&
           kg_svc_job_keep(job, &job->configuration, text[1].data, text[1].len, &err) == KG_OK &&
           kg_svc_job_keep(job, &job->task, text[2].data, text[2].len, &err) == KG_OK &&
           kg_svc_job_keep(job, &job->key, text[3].data, text[3].len, &err) == KG_OK &&
           kg_svc_job_keep(job, &job->device, device, strlen(device), &err) == KG_OK &&
           kg_ulid_new(job->id, &err) == KG_OK;
}

bool kg_svc_try_job(struct kg_svc_api *a, const struct kg_svc_ask_for *ask, int line,
                    struct kg_svc_job *job, struct kg_svc_refusal *no)
{
    struct kg_buf text[4]; /* problem, configuration, task, key */
    char class[KG_SVC_DEVICE_MAX] = "", device[KG_SVC_DEVICE_MAX] = "";
    if (line <= 0 && !kg_svc_has_space(a)) { /* once for a batch */
        return kg_svc_refuse(no, 503, "disk_full", "", KG_SVC_DISK_FULL);
    }
    for (int i = 0; i < 4; i++) {
        kg_buf_init(&text[i], i == 2 ? KG_SVC_TASK_MAX : 64u << 10);
    }
    bool ok = find_problem(a, ask, line, &text[0], class, no) && configure(a, ask, &text[1], no);
    if (ok && !kg_svc_needs_text(class, ask->needs, device)) {
        ok = kg_svc_refuse(
            no, 400, "bad_needs", "needs",
            "`needs` must list at most %d of cuda, torch, memory:MB, isolation:LEVEL, "
            "model:WORD",
            KG_SVC_NEEDS_MAX);
    }
    if (ok) {
        json_t *task = task_of(ask);
        kg_json_dump(task, &text[2]);
        json_decref(task);
        job->priority = ask->priority;
        job->created_ms = kg_svc_now_ms();
        job->deadline_ms =
            ask->deadline_s > 0 ? job->created_ms + (int64_t)(ask->deadline_s * 1000) : 0;
        ok = keep_all(job, text, ask, line >= 0, device) ||
             kg_svc_refuse(no, 413, "too_large", "", "the job is too large");
    }
    for (int i = 0; i < 4; i++) {
        kg_buf_deinit(&text[i]);
    }
    return ok;
}

bool kg_svc_make_job(struct kg_svc_api *a, struct kg_svc_exchange *x,
                     const struct kg_svc_ask_for *ask, int line, struct kg_svc_job *job)
{
    struct kg_svc_refusal no;
    bool ok = kg_svc_try_job(a, ask, line, job, &no);
    if (!ok) {
        if (no.status == 503) {
            kg_svc_header(x, "Retry-After", "5");
        }
        kg_svc_reply_error(x, no.status, no.code, no.field, "%s", no.message);
        return false;
    }
    _Static_assert(sizeof job->owner == sizeof kg_svc_request(x)->owner, "one size");
    memcpy(job->owner, kg_svc_request(x)->owner, sizeof job->owner);
    return true;
}

struct kg_svc_room kg_svc_room_for(const struct kg_svc_api *a, size_t more)
{
    return (struct kg_svc_room){
        .most = a->o->queue_limit, .most_of_owner = a->o->queue_limit_token, .more = (int64_t)more};
}

/* --- parts of a request --- */

bool kg_svc_read_priority(struct kg_svc_exchange *x, const char *text, enum kg_svc_priority *out)
{
    *out = KG_SVC_NORMAL;
    if (text != NULL && !kg_svc_priority_parse(text, out)) {
        kg_svc_reply_error(x, 400, "bad_priority", "priority",
                           "`priority` must be high, normal or low");
        return false;
    }
    return true;
}

bool kg_svc_take_text(struct kg_svc_exchange *x, json_t *reply, json_t *source, int line,
                      struct kg_svc_ask_for *ask)
{
    char at[32];
    reply = json_is_null(reply) ? NULL : reply;
    source = json_is_null(source) ? NULL : source;
    ask->text = reply != NULL ? reply : source;
    ask->source = reply == NULL;
    if ((reply == NULL) == (source == NULL) || !json_is_string(ask->text)) {
        kg_svc_reply_error(x, 400, "bad_body", "reply",
                           "%sone of `reply` and `source` is needed, a string", place(line, at));
        return false;
    }
    return true;
}
