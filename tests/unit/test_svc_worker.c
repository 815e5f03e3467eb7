/* `kgym worker` against a service that the test plays: which claims it ends, and which it does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <event2/event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "svc/http.h"
#include "tests/support/cobject.h"

#define JOB "01M8F5KMKGZQW0ZD7MFV9RQVEF"

enum { PATIENCE_S = 120, FENCE = 7 };

static struct {
    struct event_base *base;
    int term_ms, claims, renewals, held; /* held: renewals that named the claim */
    bool deaf;                           /* renewals get no answer of use */
    int stale_news;                      /* answered with an old fence */
} service;

static void on_claim(struct kg_svc_exchange *x, void *ctx)
{
    static const char source[] = "void silu(const float *x, float *y, long n) { (void)x; (void)y; "
                                 "(void)n; for (volatile int i = 0;; i++) { } }";
    (void)ctx;
    service.claims++;
    if (service.claims > 1) { /* its slot is free again: that is all that the test waits for */
        kg_svc_reply_json(x, 200, json_pack("{s:[]}", "claims"));
        event_base_loopbreak(service.base);
        return;
    }
    kg_svc_reply_json(
        x, 200,
        json_pack("{s:[{s:i, s:s, s:s, s:i, s:s, s:s, s:i, s:{s:[s,s,s]}, s:{s:s, s:s, s:b}}]}",
                  "claims", "slot", 0, "id", JOB, "claim", "secret", "fence", FENCE, "lane", "l",
                  "needs", "cpu", "term_ms", service.term_ms, "configuration", "set",
                  "deadline.run=3000", "deadline.eval=3000", "stage.timing=no", "task", "problem",
                  "silu", "text", source, "source", 1));
}

/* Names the job under an old fence, then under its own. */
static void on_renew(struct kg_svc_exchange *x, void *ctx)
{
    json_error_t e;
    json_t *body = json_loads(kg_svc_request(x)->body, 0, &e);
    (void)ctx;
    service.renewals++;
    service.held += json_array_size(json_object_get(body, "claims")) == 1;
    json_decref(body);
    if (service.deaf) {
        kg_svc_reply_error(x, 503, "store", "", "not now");
        return;
    }
    bool stale = service.renewals <= service.stale_news;
    kg_svc_reply_json(
        x, 200,
        json_pack("{s:[{s:s, s:i}]}", "lost", "id", JOB, "fence", stale ? FENCE - 1 : FENCE));
}

static void on_any(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply_json(x, 200, json_pack("{s:b}", "accepted", 1));
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
    fail_msg("the worker claimed %d times and renewed %d times", service.claims, service.renewals);
}

static int port_of(int fd)
{
    struct sockaddr_in a;
    socklen_t n = sizeof a;
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    return ntohs(a.sin_port);
}

/* Until the worker claims for the second time. */
static void serve_worker(void)
{
    static const struct kg_svc_route routes[] = {
        {"POST", "/v1/worker/claim", KG_SVC_OPEN, on_claim},
        {"POST", "/v1/worker/renew", KG_SVC_OPEN, on_renew},
        {"POST", "/v1/worker/**", KG_SVC_OPEN, on_any},
    };
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_http *http;
    char url[64];
    int fd, status;
    service.base = event_base_new();
    assert_int_equal(kg_svc_listen("127.0.0.1", 0, &fd, &err), KG_OK);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port_of(fd));
    const struct kg_svc_http_options o = {.fd = fd,
                                          .body_bytes = 1 << 20,
                                          .most_open = 64,
                                          .routes = routes,
                                          .nroutes = sizeof routes / sizeof *routes};
    assert_int_equal(kg_svc_http_open(service.base, &o, &http, &err), KG_OK);
    const char *program = cobject_built("kgym");
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(program, "kgym", "worker", "--join", url, "--jobs", "1", (char *)NULL);
        _exit(2);
    }
    const struct timeval most = {.tv_sec = PATIENCE_S};
    struct event *late = evtimer_new(service.base, on_late, NULL);
    evtimer_add(late, &most);
    event_base_dispatch(service.base);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    event_free(late);
    kg_svc_http_close(http);
    event_base_free(service.base);
}

/* The job runs on while news is of an older claim, and ends with news of its own. */
static void news_of_an_old_claim_ends_no_newer_one(void **state)
{
    (void)state;
    memset(&service, 0, sizeof service);
    service.term_ms = 600000;
    service.stale_news = 5;
    serve_worker();
    assert_int_equal(service.held, service.stale_news + 1);
}

/* Nothing says that the claim has ended, but it can't be renewed. */
static void a_claim_that_ran_out_ends_its_job(void **state)
{
    (void)state;
    memset(&service, 0, sizeof service);
    service.term_ms = 1500;
    service.deaf = true;
    serve_worker();
    assert_true(service.renewals >= 1);
    assert_int_equal(service.claims, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(news_of_an_old_claim_ends_no_newer_one),
                                       cmocka_unit_test(a_claim_that_ran_out_ends_its_job)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
