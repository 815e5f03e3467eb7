/* What comes while a request of the client is under way. The service is a stub that answers late,
 * so that whatever is sent meanwhile is known to come before. A task is sent again while the job of
 * an equal one is being cancelled: at first the stub answers the DELETE that it cannot, though the
 * job ends a moment later, as after a lost answer. And a job is claimed while its state is asked
 * for. */
#include "kgym_rig.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <sys/prctl.h>

#include "gym/kgym.h"
#include "svc/http.h"

#define FIRST  "01M8F5KMKGZQW0ZD7MFV9RQVEF"
#define SECOND "01M8F5KMKGZQW0ZD7MFV9RQVEG"
#define THIRD  "01M8F5KMKGZQW0ZD7MFV9RQVEH"

enum { LATE_MS = 300, PATIENCE_MS = 60000 };

/* --- the service, a process of its own --- */

static struct {
    struct event_base *base;
    struct kg_svc_exchange *events, *deleting;
    struct event *late;
    bool failed, cancelled;
    int deletes;
    int deleted; /* a byte is written here when the first DELETE has come */
    /* of the third job: who asks for it, and what comes next */
    struct kg_svc_exchange *asking;
    struct event *third;
    int answered; /* a byte is written here once that question is answered */
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

static void after(struct event *e)
{
    const struct timeval late = {.tv_usec = LATE_MS * 1000};
    evtimer_add(e, &late);
}

static void tell_event(const char *id, const char *type)
{
    char text[200];
    int n = snprintf(text, sizeof text,
                     "id: 1\nevent: %s\ndata: {\"n\":1,\"id\":\"%s\",\"type\":\"%s\"}\n\n", type,
                     id, type);
    if (service.events != NULL) {
        kg_svc_stream_add(service.events, text, (size_t)n);
    }
}

/* At first an event makes the client ask; then its question is answered, later than it was put. */
static void on_third(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    if (service.asking == NULL) {
        tell_event(THIRD, "finished");
        return;
    }
    kg_svc_reply_json(service.asking, 200, job(THIRD, "waiting"));
    service.asking = NULL;
    (void)!write(service.answered, "", 1);
}

/* The same key is the same job; the next one, which ends in ".2", is another one. */
static void on_submit(struct kg_svc_exchange *x, void *ctx)
{
    json_t *body = json_loads(kg_svc_request(x)->body, 0, NULL);
    const char *key = json_string_value(json_object_get(body, "key"));
    const char *source = json_string_value(json_object_get(body, "source"));
    bool next = key != NULL && strstr(key, ".2") != NULL;
    (void)ctx;
    if (source != NULL && strstr(source, "third") != NULL) {
        kg_svc_reply_json(x, 202, job(THIRD, "waiting"));
        after(service.third);
    } else {
        kg_svc_reply_json(x, 202, next ? job(SECOND, "done") : first_job());
    }
    json_decref(body);
}

static void on_get(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    if (strcmp(kg_svc_request(x)->arg[0], THIRD) == 0) {
        service.asking = x;
        tell_event(THIRD, "claimed");
        after(service.third);
        return;
    }
    kg_svc_reply_json(x, 200, first_job());
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
        after(service.late);
        (void)!write(service.deleted, "", 1);
    }
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    struct kg_svc_exchange *x = service.deleting;
    service.deleting = NULL;
    if (!service.failed) {
        service.failed = true;
        after(service.late);
        kg_svc_reply_error(x, 503, "busy", "", "not now");
        return;
    }
    service.cancelled = true;
    tell_event(FIRST, "cancelled");
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
    service.third = evtimer_new(service.base, on_third, NULL);
    if (kg_svc_http_open(service.base, &o, &http, &e) == KG_OK) {
        event_base_dispatch(service.base);
    }
}

/* --- the client --- */

static struct kgym_error err;

static uint64_t submit(struct kgym_pool *p, const char *text)
{
    const struct kgym_task t = {
        .size = sizeof t, .problem = "silu", .text = text, .text_len = strlen(text), .source = 1};
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

static pid_t stub;
static int deleted[2], answered[2];
static struct kgym_pool *pool;

/* The stub, and a pool that judges there. */
static int start(void **state)
{
    struct sockaddr_in a = {0};
    socklen_t len = sizeof a;
    struct kg_err e = KG_ERR_INIT;
    char url[64];
    int fd;
    if (rig_setup(state) != 0 || kg_svc_listen("127.0.0.1", 0, &fd, &e) != KG_OK ||
        getsockname(fd, (struct sockaddr *)&a, &len) != 0 || pipe(deleted) != 0 ||
        pipe(answered) != 0) {
        return -1;
    }
    stub = fork();
    if (stub == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        service.deleted = deleted[1];
        service.answered = answered[1];
        serve(fd);
        _exit(1);
    }
    close(fd);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(a.sin_port));
    const struct kgym_options o = {.size = sizeof o, .gym = url, .run = "run"};
    return kgym_open(&o, &pool, &err) == KGYM_OK ? 0 : -1;
}

static int stop(void **state)
{
    kgym_close(pool);
    kill(stub, SIGKILL);
    waitpid(stub, NULL, 0);
    return rig_teardown(state);
}

static void await_running(int running)
{
    struct kgym_info info = {.size = sizeof info, .running = -1};
    for (int i = 0; i < 3000 && info.running != running; i++) {
        usleep(5000);
        assert_int_equal(kgym_info(pool, &info, &err), KGYM_OK);
    }
    assert_int_equal(info.running, running);
}

static void a_task_outlives_the_cancelled_job_of_an_equal_one(void **state)
{
    char byte;
    (void)state;
    uint64_t id = submit(pool, "int x;\n");
    await_running(1);
    assert_int_equal(kgym_cancel(pool, id, &err), KGYM_OK);
    struct kgym_result *r = must(pool, id);
    assert_int_equal(r->error, KGYM_E_CANCELLED);
    kgym_result_free(r);
    assert_int_equal(read(deleted[0], &byte, 1), 1);
    r = must(pool, submit(pool, "int x;\n"));
    assert_string_equal(r->message, "the second job");
    kgym_result_free(r);
}

/* The answer is older than the event, and comes after it. */
static void a_late_answer_hides_no_claim(void **state)
{
    struct kgym_info info = {.size = sizeof info};
    char byte;
    (void)state;
    submit(pool, "int third;\n");
    await_running(1);
    assert_int_equal(read(answered[0], &byte, 1), 1);
    for (int i = 0; i < 40; i++) { /* the answer is read soon */
        usleep(5000);
        assert_int_equal(kgym_info(pool, &info, &err), KGYM_OK);
        assert_int_equal(info.running, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_outlives_the_cancelled_job_of_an_equal_one),
        cmocka_unit_test(a_late_answer_hides_no_claim),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
