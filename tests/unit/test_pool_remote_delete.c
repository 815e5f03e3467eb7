/* A task that is sent again while the job of an equal one is being cancelled. The service is a stub
 * that answers the DELETE late, so that whatever is sent meanwhile is known to come before. At
 * first it answers that it cannot, though the job ends a moment later, as after a lost answer. */
#include "kgym_rig.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <sys/prctl.h>

#include "gym/kgym.h"
#include "svc/http.h"

#define FIRST  "01M8F5KMKGZQW0ZD7MFV9RQVEF"
#define SECOND "01M8F5KMKGZQW0ZD7MFV9RQVEG"

enum { LATE_MS = 300, PATIENCE_MS = 60000 };

/* --- the service, a process of its own --- */

static struct {
    struct event_base *base;
    struct kg_svc_exchange *events, *deleting;
    struct event *late;
    bool failed, cancelled;
    int deletes;
    int deleted; /* a byte is written here when the first DELETE has come */
} service;

static json_t *job(const char *id, const char *state)
{
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "id", id, "state", state, "error", "code",
                     "gym", "blame", "candidate", "message",
                     strcmp(id, FIRST) == 0 ? "the first job" : "the second job");
}

static json_t *first_job(void)
{
    return job(FIRST, service.cancelled ? "cancelled" : "running");
}

static void on_list(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply_json(x, 200, json_pack("{s:[]}", "evaluations"));
}

static void on_events(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    service.events = x;
    kg_svc_stream_begin(x, 200, "text/event-stream");
}

/* The same key is the same job; the next one, which ends in ".2", is another one. */
static void on_submit(struct kg_svc_exchange *x, void *ctx)
{
    json_t *body = json_loads(kg_svc_request(x)->body, 0, NULL);
    const char *key = json_string_value(json_object_get(body, "key"));
    bool next = key != NULL && strstr(key, ".2") != NULL;
    (void)ctx;
    kg_svc_reply_json(x, 202, next ? job(SECOND, "done") : first_job());
    json_decref(body);
}

static void on_get(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply_json(x, 200, first_job());
}

static void later(void)
{
    const struct timeval late = {.tv_usec = LATE_MS * 1000};
    evtimer_add(service.late, &late);
}

static void on_delete(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    if (service.cancelled) {
        kg_svc_reply_json(x, 200, first_job());
        return;
    }
    service.deleting = x;
    if (service.deletes++ == 0) {
        later();
        (void)!write(service.deleted, "", 1);
    }
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
    static const char event[] =
        "id: 1\nevent: cancelled\ndata: {\"n\":1,\"id\":\"" FIRST "\",\"type\":\"cancelled\"}\n\n";
    (void)fd;
    (void)what;
    (void)arg;
    struct kg_svc_exchange *x = service.deleting;
    service.deleting = NULL;
    if (!service.failed) {
        service.failed = true;
        later();
        kg_svc_reply_error(x, 503, "busy", "", "not now");
        return;
    }
    service.cancelled = true;
    if (service.events != NULL) {
        kg_svc_stream_add(service.events, event, sizeof event - 1);
    }
    if (x != NULL) {
        kg_svc_reply_json(x, 200, first_job());
    }
}

static void serve(int fd)
{
    static const struct kg_svc_route routes[] = {
        {"GET", "/v1/evaluations", KG_SVC_OPEN, on_list},
        {"GET", "/v1/events", KG_SVC_OPEN, on_events},
        {"POST", "/v1/evaluations", KG_SVC_OPEN, on_submit},
        {"GET", "/v1/evaluations/*", KG_SVC_OPEN, on_get},
        {"DELETE", "/v1/evaluations/*", KG_SVC_OPEN, on_delete},
    };
    const struct kg_svc_http_options o = {.fd = fd,
                                          .body_bytes = 1 << 20,
                                          .most_open = 64,
                                          .routes = routes,
                                          .nroutes = sizeof routes / sizeof *routes};
    struct kg_svc_http *http;
    struct kg_err e = KG_ERR_INIT;
    service.base = event_base_new();
    service.late = evtimer_new(service.base, on_late, NULL);
    if (kg_svc_http_open(service.base, &o, &http, &e) == KG_OK) {
        event_base_dispatch(service.base);
    }
}

/* --- the client --- */

static struct kgym_error err;

static uint64_t submit(struct kgym_pool *p)
{
    const struct kgym_task t = {
        .size = sizeof t, .problem = "silu", .text = "int x;\n", .text_len = 7, .source = 1};
    uint64_t id = 0;
    assert_int_equal(kgym_submit(p, &t, &id, &err), KGYM_OK);
    return id;
}

static struct kgym_result *must(struct kgym_pool *p, uint64_t id)
{
    struct kgym_result *r = NULL;
    assert_int_equal(kgym_next(p, PATIENCE_MS, &r, &err), KGYM_OK);
    assert_non_null(r);
    assert_int_equal(r->id, id);
    return r;
}

static void a_task_outlives_the_cancelled_job_of_an_equal_one(void **state)
{
    struct sockaddr_in a = {0};
    socklen_t len = sizeof a;
    struct kg_err e = KG_ERR_INIT;
    int fd, pipe_of[2];
    char url[64], byte;
    (void)state;
    assert_int_equal(kg_svc_listen("127.0.0.1", 0, &fd, &e), KG_OK);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    assert_int_equal(pipe(pipe_of), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        service.deleted = pipe_of[1];
        serve(fd);
        _exit(1);
    }
    close(fd);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(a.sin_port));
    const struct kgym_options o = {.size = sizeof o, .gym = url, .run = "run"};
    struct kgym_pool *p = NULL;
    if (kgym_open(&o, &p, &err) != KGYM_OK) {
        fail_msg("%s", err.message);
    }
    struct kgym_info info = {.size = sizeof info};
    uint64_t id = submit(p);
    for (int i = 0; i < 3000 && info.running == 0; i++) {
        usleep(5000);
        assert_int_equal(kgym_info(p, &info, &err), KGYM_OK);
    }
    assert_int_equal(kgym_cancel(p, id, &err), KGYM_OK);
    struct kgym_result *r = must(p, id);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    kgym_result_free(r);
    assert_int_equal(read(pipe_of[0], &byte, 1), 1);
    r = must(p, submit(p));
    assert_string_equal(r->message, "the second job");
    kgym_result_free(r);
    kgym_close(p);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(pipe_of[0]);
    close(pipe_of[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_outlives_the_cancelled_job_of_an_equal_one)};
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
