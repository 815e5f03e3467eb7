/* Histograms of stages, and Prometheus' text. */
#include "svc/metrics.h"

#include <stdlib.h>
#include <string.h>

#include "base/version.h"

static const char *const timed[KG_SVC_TIMES] = {"extract", "static", "compile", "tiny",
                                                "full",    "timing", "profile", "evaluation"};
enum { WHOLE = KG_SVC_TIMES - 1 };

/* Seconds: as text for labels, and in microseconds. */
static const struct {
    const char *label;
    int64_t us;
} bounds[KG_SVC_BOUNDS] = {{"0.001", 1000},  {"0.003", 3000},    {"0.01", 10000},
                           {"0.03", 30000},  {"0.1", 100000},    {"0.3", 300000},
                           {"1", 1000000},   {"3", 3000000},     {"10", 10000000},
                           {"30", 30000000}, {"100", 100000000}, {"300", 300000000}};

/* --- histograms --- */

static void add_time(struct kg_svc_times *t, size_t which, int64_t us)
{
    size_t i = 0;
    while (i < KG_SVC_BOUNDS && us > bounds[i].us) {
        i++;
    }
    t->n[which][i]++;
    t->sum_us[which] += us;
    t->any = true;
}

static bool microseconds(const json_t *ns, int64_t *out)
{
    int64_t n = json_integer_value(ns);
    *out = n / 1000;
    return json_is_integer(ns) && n >= 0 && *out < (int64_t)1 << 50;
}

void kg_svc_times_add(struct kg_svc_times *t, const json_t *record)
{
    const json_t *stages = json_object_get(record, "stages");
    int64_t us = 0, all = 0;
    if (microseconds(json_object_get(record, "setup_ns"), &us)) {
        all += us;
    }
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *s = json_array_get(stages, i);
        const char *name = json_string_value(json_object_get(s, "name"));
        const char *status = json_string_value(json_object_get(s, "status"));
        bool ran = status != NULL && (strcmp(status, "pass") == 0 || strcmp(status, "fail") == 0);
        if (name == NULL || !ran || !microseconds(json_object_get(s, "ns"), &us)) {
            continue;
        }
        all += us;
        for (size_t k = 0; k < WHOLE; k++) {
            if (strcmp(timed[k], name) == 0) {
                add_time(t, k, us);
            }
        }
    }
    add_time(t, WHOLE, all);
}

void kg_svc_times_each(const struct kg_svc_times *t, kg_svc_on_count *each, void *ctx)
{
    char name[KG_SVC_NAME_MAX];
    for (size_t k = 0; k < KG_SVC_TIMES; k++) {
        for (size_t i = 0; i <= KG_SVC_BOUNDS; i++) {
            snprintf(name, sizeof name, "time:%s:%zu", timed[k], i);
            if (t->n[k][i] != 0 && !each(ctx, name, t->n[k][i])) {
                return;
            }
        }
        snprintf(name, sizeof name, "time:%s:us", timed[k]);
        if (t->sum_us[k] != 0 && !each(ctx, name, t->sum_us[k])) {
            return;
        }
    }
}

/* --- counters --- */

bool kg_svc_counted_add(void *counted, const char *name, int64_t n)
{
    struct kg_svc_counted *c = counted;
    if (strlen(name) >= KG_SVC_NAME_MAX) {
        return true;
    }
    if (c->n == c->cap) {
        size_t cap = c->cap > 0 ? 2 * c->cap : 128;
        struct kg_svc_seen *more = realloc(c->list, cap * sizeof *more);
        KG_ASSERT(more != NULL);
        c->list = more;
        c->cap = cap;
    }
    struct kg_svc_seen *s = &c->list[c->n++];
    snprintf(s->name, sizeof s->name, "%s", name);
    s->n = n;
    return true;
}

int64_t kg_svc_counted_get(const struct kg_svc_counted *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->list[i].name, name) == 0) {
            return c->list[i].n;
        }
    }
    return 0;
}

void kg_svc_counted_deinit(struct kg_svc_counted *c)
{
    free(c->list);
    *c = (struct kg_svc_counted){0};
}

/* --- text --- */

static void head(struct kg_buf *out, const char *name, const char *type, const char *help)
{
    kg_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value, with Prometheus' three escapes. */
static void add_value(struct kg_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            kg_buf_addc(out, '\\');
        }
        if (*text == '\n') {
            kg_buf_adds(out, "\\n");
        } else {
            kg_buf_addc(out, *text);
        }
    }
}

static void one(struct kg_buf *out, const char *name, const char *label, const char *value,
                int64_t n)
{
    kg_buf_adds(out, name);
    if (label != NULL && value != NULL) {
        kg_buf_addf(out, "{%s=\"", label);
        add_value(out, value);
        kg_buf_adds(out, "\"}");
    }
    kg_buf_addf(out, " %lld\n", (long long)n);
}

static void queue(const struct kg_svc_view *v, struct kg_buf *out)
{
    int64_t age_ms = v->stats.oldest_ms > 0 ? v->now_ms - v->stats.oldest_ms : 0;
    head(out, "kgym_jobs", "gauge", "Jobs in the store, by state.");
    for (int i = 0; i < KG_SVC_STATES; i++) {
        one(out, "kgym_jobs", "state", kg_svc_state_name((enum kg_svc_state)i), v->stats.jobs[i]);
    }
    head(out, "kgym_queue_oldest_age_seconds", "gauge", "Age of the oldest job that waits.");
    kg_buf_addf(out, "kgym_queue_oldest_age_seconds %.3f\n",
                (double)(age_ms > 0 ? age_ms : 0) / 1000);
    head(out, "kgym_queue_lanes", "gauge", "Lanes with a job that waits.");
    one(out, "kgym_queue_lanes", NULL, NULL, v->stats.lanes);
    head(out, "kgym_claims_expired_total", "counter", "Claims that ran out.");
    one(out, "kgym_claims_expired_total", NULL, NULL, v->stats.expired);
    head(out, "kgym_answers_refused_total", "counter", "Answers of workers under an old claim.");
    one(out, "kgym_answers_refused_total", NULL, NULL, v->stats.refused);
}

static void events(const struct kg_svc_view *v, struct kg_buf *out)
{
    static const char prefix[] = "event:", ended[] = "event:finished:";
    int64_t finished = 0;
    head(out, "kgym_evaluations_total", "counter",
         "Evaluations with a record, by verdict, or by the code of an error.");
    for (size_t i = 0; i < v->counted.n; i++) {
        const struct kg_svc_seen *s = &v->counted.list[i];
        if (strncmp(s->name, ended, sizeof ended - 1) == 0) {
            one(out, "kgym_evaluations_total", "outcome", s->name + sizeof ended - 1, s->n);
            finished += s->n;
        }
    }
    head(out, "kgym_job_events_total", "counter", "What happened to jobs, by type.");
    for (size_t i = 0; i < v->counted.n; i++) {
        const struct kg_svc_seen *s = &v->counted.list[i];
        if (strncmp(s->name, prefix, sizeof prefix - 1) == 0 &&
            strchr(s->name + sizeof prefix - 1, ':') == NULL) {
            one(out, "kgym_job_events_total", "type", s->name + sizeof prefix - 1, s->n);
        }
    }
    one(out, "kgym_job_events_total", "type", "finished", finished);
}

static void histogram(const struct kg_svc_view *v, const char *name, size_t which,
                      struct kg_buf *out)
{
    char counter[KG_SVC_NAME_MAX], label[48] = "";
    int64_t sum = 0;
    if (which != WHOLE) {
        snprintf(label, sizeof label, "stage=\"%s\",", timed[which]);
    }
    for (size_t i = 0; i <= KG_SVC_BOUNDS; i++) {
        snprintf(counter, sizeof counter, "time:%s:%zu", timed[which], i);
        sum += kg_svc_counted_get(&v->counted, counter);
        kg_buf_addf(out, "%s_bucket{%sle=\"%s\"} %lld\n", name, label,
                    i < KG_SVC_BOUNDS ? bounds[i].label : "+Inf", (long long)sum);
    }
    snprintf(counter, sizeof counter, "time:%s:us", timed[which]);
    int64_t us = kg_svc_counted_get(&v->counted, counter);
    size_t n = strlen(label);
    char braces[56] = "";
    if (n > 0) {
        snprintf(braces, sizeof braces, "{%.*s}", (int)(n - 1), label);
    }
    kg_buf_addf(out, "%s_sum%s %.6f\n%s_count%s %lld\n", name, braces, (double)us / 1e6, name,
                braces, (long long)sum);
}

static void times(const struct kg_svc_view *v, struct kg_buf *out)
{
    head(out, "kgym_stage_seconds", "histogram", "Duration of a stage, where it ran.");
    for (size_t k = 0; k < WHOLE; k++) {
        histogram(v, "kgym_stage_seconds", k, out);
    }
    head(out, "kgym_evaluation_seconds", "histogram", "Duration of a whole evaluation.");
    histogram(v, "kgym_evaluation_seconds", WHOLE, out);
}

static void http(const struct kg_svc_view *v, struct kg_buf *out)
{
    head(out, "kgym_http_requests_total", "counter",
         "Requests that this process has answered; code 0: the client had gone.");
    for (size_t i = 0; i < v->nrequests; i++) {
        const struct kg_svc_requests *r = &v->requests[i];
        kg_buf_addf(out, "kgym_http_requests_total{method=\"%s\",route=\"%s\",code=\"%d\"} %lld\n",
                    r->method, r->route, r->status, (long long)r->n);
    }
    head(out, "kgym_http_request_bytes_total", "counter", "Bytes of bodies of requests.");
    one(out, "kgym_http_request_bytes_total", NULL, NULL, v->in_bytes);
    head(out, "kgym_http_response_bytes_total", "counter", "Bytes of bodies of answers.");
    one(out, "kgym_http_response_bytes_total", NULL, NULL, v->out_bytes);
    head(out, "kgym_http_open_requests", "gauge", "Requests without an answer yet.");
    one(out, "kgym_http_open_requests", NULL, NULL, v->open);
}

void kg_svc_metrics_text(const struct kg_svc_view *v, struct kg_buf *out)
{
    head(out, "kgym_build_info", "gauge", "Version of kgym, and kind of its store.");
    kg_buf_addf(out, "kgym_build_info{version=\"%s\",store=\"%s\"} 1\n", KG_VERSION, v->store);
    head(out, "kgym_start_time_seconds", "gauge", "When this process began, since 1970.");
    kg_buf_addf(out, "kgym_start_time_seconds %.3f\n", (double)v->begun_ms / 1000);
    queue(v, out);
    events(v, out);
    times(v, out);
    http(v, out);
}
