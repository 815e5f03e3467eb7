/* `kgym worker` against a service that the test plays: which claims it ends, and which it does not,
 * and how it claims ahead. */
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
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "svc/client.h"
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

static const char endless[] = "void silu(const float *x, float *y, long n) { (void)x; (void)y; "
                              "(void)n; for (volatile int i = 0;; i++) { } }";

/* A claim on job `id`. */
static json_t *claim_json(const char *id, const char *text, bool source)
{
    return json_pack("{s:i, s:s, s:s, s:i, s:s, s:s, s:i, s:{s:[s,s,s]}, s:{s:s, s:s, s:b}}",
                     "slot", 0, "id", id, "claim", "secret", "fence", FENCE, "lane", "l", "needs",
                     "cpu", "term_ms", service.term_ms, "configuration", "set", "deadline.run=3000",
                     "deadline.eval=3000", "stage.timing=no", "task", "problem", "silu", "text",
                     text, "source", source);
}

static void on_claim(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    service.claims++;
    if (service.claims > 1) { /* its slot is free again: that is all that the test waits for */
        kg_svc_reply_json(x, 200, json_pack("{s:[]}", "claims"));
        event_base_loopbreak(service.base);
        return;
    }
    kg_svc_reply_json(x, 200, json_pack("{s:[o]}", "claims", claim_json(JOB, endless, true)));
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

static const struct kg_svc_route one_job[] = {
    {"POST", "/v1/worker/claim", KG_SVC_OPEN, on_claim},
    {"POST", "/v1/worker/renew", KG_SVC_OPEN, on_renew},
    {"POST", "/v1/worker/**", KG_SVC_OPEN, on_any},
};

/* Until the service that is played ends its loop. */
static void serve_worker(const struct kg_svc_route *routes, size_t nroutes)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_http *http;
    char url[64];
    int fd, status;
    service.base = event_base_new();
    assert_int_equal(kg_svc_listen("127.0.0.1", 0, &fd, &err), KG_OK);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port_of(fd));
    const struct kg_svc_http_options o = {
        .fd = fd, .body_bytes = 1 << 20, .most_open = 64, .routes = routes, .nroutes = nroutes};
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

/* --- connections --- */

static void on_hello(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply_json(x, 200, json_object());
}

static void on_answer(void *ctx, int status, const json_t *answer)
{
    (void)answer;
    *(int *)ctx = status;
    event_base_loopbreak(service.base);
}

/* Connected sockets of this process with that port at either end; how many send at once. */
static int at_once(int port, int *all)
{
    int n = *all = 0;
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_in here, there;
        socklen_t a = sizeof here, b = sizeof there;
        int on = 0;
        socklen_t c = sizeof on;
        if (getpeername(fd, (struct sockaddr *)&there, &b) == 0 &&
            getsockname(fd, (struct sockaddr *)&here, &a) == 0 && here.sin_family == AF_INET &&
            (ntohs(here.sin_port) == port || ntohs(there.sin_port) == port)) {
            ++*all;
            n += getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &c) == 0 && on != 0;
        }
    }
    return n;
}

/* What is written in parts leaves at once, at both ends. */
static void nothing_waits_for_an_acknowledgement(void **state)
{
    static const struct kg_svc_route routes[] = {{"POST", "/v1/hello", KG_SVC_OPEN, on_hello}};
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_http *http;
    struct kg_svc_client *client;
    int fd, all, status = 0;
    (void)state;
    service.base = event_base_new();
    assert_int_equal(kg_svc_listen("127.0.0.1", 0, &fd, &err), KG_OK);
    const int port = port_of(fd);
    const struct kg_svc_http_options o = {
        .fd = fd, .body_bytes = 1 << 20, .most_open = 64, .routes = routes, .nroutes = 1};
    assert_int_equal(kg_svc_http_open(service.base, &o, &http, &err), KG_OK);
    assert_int_equal(
        kg_svc_client_open(service.base, "127.0.0.1", port, NULL, PATIENCE_S, &client, &err),
        KG_OK);
    kg_svc_client_post(client, "/v1/hello", json_object(), on_answer, &status);
    event_base_dispatch(service.base);
    assert_int_equal(status, 200);
    assert_int_equal(at_once(port, &all), 2);
    assert_int_equal(all, 2);
    kg_svc_client_close(client);
    kg_svc_http_close(http);
    event_base_free(service.base);
}

static struct {
    struct kg_svc_exchange *held[16];
    int n;
} full;

static void on_hold(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    full.held[full.n++] = x;
}

/* Whoever else asks, the last places are a worker's. */
static void a_worker_gets_in_where_others_wait(void **state)
{
    static const struct kg_svc_route routes[] = {{"POST", "/v1/hold", KG_SVC_OPEN, on_hold},
                                                 {"POST", "/v1/worker/**", KG_SVC_OPEN, on_any}};
    enum { MOST = 16, OTHERS = 14 };
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_http *http;
    struct kg_svc_client *client[OTHERS + 2];
    int fd, status[OTHERS + 2] = {0};
    (void)state;
    memset(&full, 0, sizeof full);
    service.base = event_base_new();
    assert_int_equal(kg_svc_listen("127.0.0.1", 0, &fd, &err), KG_OK);
    const int port = port_of(fd);
    const struct kg_svc_http_options o = {
        .fd = fd, .body_bytes = 1 << 20, .most_open = MOST, .routes = routes, .nroutes = 2};
    assert_int_equal(kg_svc_http_open(service.base, &o, &http, &err), KG_OK);
    for (int i = 0; i < OTHERS + 2; i++) {
        assert_int_equal(
            kg_svc_client_open(service.base, "127.0.0.1", port, NULL, PATIENCE_S, &client[i], &err),
            KG_OK);
    }
    for (int i = 0; i <= OTHERS; i++) {
        kg_svc_client_post(client[i], "/v1/hold", json_object(), on_answer, &status[i]);
    }
    event_base_dispatch(service.base); /* until one has an answer */
    int refused = 0;
    for (int i = 0; i <= OTHERS; i++) {
        refused += status[i] == 503;
    }
    assert_int_equal(refused, 1);
    assert_int_equal(full.n, OTHERS);
    kg_svc_client_post(client[OTHERS + 1], "/v1/worker/hello", json_object(), on_answer,
                       &status[OTHERS + 1]);
    event_base_dispatch(service.base);
    assert_int_equal(status[OTHERS + 1], 200);
    for (int i = 0; i < full.n; i++) {
        kg_svc_reply_json(full.held[i], 200, json_object());
        event_base_dispatch(service.base);
    }
    for (int i = 0; i < OTHERS + 2; i++) {
        assert_true(status[i] == 200 || status[i] == 503);
        kg_svc_client_close(client[i]);
    }
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
    serve_worker(one_job, sizeof one_job / sizeof *one_job);
    assert_int_equal(service.held, service.stale_news + 1);
}

/* Nothing says that the claim has ended, but it can't be renewed. */
static void a_claim_that_ran_out_ends_its_job(void **state)
{
    (void)state;
    memset(&service, 0, sizeof service);
    service.term_ms = 1500;
    service.deaf = true;
    serve_worker(one_job, sizeof one_job / sizeof *one_job);
    assert_true(service.renewals >= 1);
    assert_int_equal(service.claims, 2);
}

/* --- claims ahead --- */

enum { SHORT_MOST = 200, SLOTS_NEEDED = 4 };

static struct {
    int shorts; /* jobs that were given while nothing was claimed ahead */
    bool given, said_lost;
    char back[8][32]; /* ids that were handed back */
    int nback, answered_lost, others;
    struct kg_svc_exchange *first; /* an answer that waits for the next one */
} ahead;

static json_t *body_of(const struct kg_svc_exchange *x)
{
    return json_loads(kg_svc_request(x)->body, 0, NULL);
}

static const char *text_of(const json_t *j, const char *name)
{
    const char *text = json_string_value(json_object_get(j, name));
    return text != NULL ? text : "";
}

/* Short jobs, one after the other, until it claims ahead for a slot that is busy. Then one that
 * never ends, and three that wait behind it. */
static void on_ahead_claim(struct kg_svc_exchange *x, void *ctx)
{
    json_t *body = body_of(x), *claims = json_array();
    size_t slots = json_array_size(json_object_get(body, "slots"));
    bool waits = json_number_value(json_object_get(body, "wait_s")) > 0;
    char id[32];
    (void)ctx;
    if (waits && !ahead.given) {
        assert_int_equal(slots, 1); /* the idle slot asks for one job */
        snprintf(id, sizeof id, "short-%d", ahead.shorts++);
        json_array_append_new(claims, claim_json(id, "nothing", false));
    } else if (!waits && !ahead.given && slots >= SLOTS_NEEDED) {
        ahead.given = true;
        json_array_append_new(claims, claim_json("endless", endless, true));
        json_array_append_new(claims, claim_json("lost", "nothing", false));
        json_array_append_new(claims, claim_json("back-1", "nothing", false));
        json_array_append_new(claims, claim_json("back-2", "nothing", false));
    }
    json_decref(body);
    kg_svc_reply_json(x, 200, json_pack("{s:o}", "claims", claims));
    if (ahead.shorts > SHORT_MOST) {
        event_base_loopbreak(service.base);
    }
}

static void on_ahead_renew(struct kg_svc_exchange *x, void *ctx)
{
    json_t *body = body_of(x), *lost = json_array(), *v;
    size_t i;
    (void)ctx;
    json_array_foreach(json_object_get(body, "claims"), i, v)
    {
        if (strcmp(text_of(v, "id"), "lost") == 0) {
            ahead.said_lost = true;
            json_array_append_new(lost, json_pack("{s:s, s:i}", "id", "lost", "fence", FENCE));
        }
    }
    json_decref(body);
    kg_svc_reply_json(x, 200, json_pack("{s:o}", "lost", lost));
}

/* The first answer that hands back is heard with the second one: so both are under way at once. */
static void on_ahead_finish(struct kg_svc_exchange *x, void *ctx)
{
    json_t *body = body_of(x);
    const char *id = text_of(body, "id");
    bool back = strcmp(text_of(body, "outcome"), "handed_back") == 0;
    (void)ctx;
    ahead.answered_lost += ahead.said_lost && strcmp(id, "lost") == 0;
    ahead.others += !back && strncmp(id, "short-", 6) != 0;
    if (back && ahead.nback < 8) {
        snprintf(ahead.back[ahead.nback++], sizeof ahead.back[0], "%s", id);
    }
    json_decref(body);
    if (back && ahead.first == NULL) {
        ahead.first = x;
        return;
    }
    kg_svc_reply_json(x, 200, json_pack("{s:b}", "accepted", 1));
    if (back) {
        kg_svc_reply_json(ahead.first, 200, json_pack("{s:b}", "accepted", 1));
        event_base_loopbreak(service.base);
    }
}

static void jobs_behind_a_long_one_are_handed_back(void **state)
{
    static const struct kg_svc_route routes[] = {
        {"POST", "/v1/worker/claim", KG_SVC_OPEN, on_ahead_claim},
        {"POST", "/v1/worker/renew", KG_SVC_OPEN, on_ahead_renew},
        {"POST", "/v1/worker/finish", KG_SVC_OPEN, on_ahead_finish},
        {"POST", "/v1/worker/**", KG_SVC_OPEN, on_any},
    };
    (void)state;
    memset(&service, 0, sizeof service);
    memset(&ahead, 0, sizeof ahead);
    service.term_ms = 600000;
    serve_worker(routes, sizeof routes / sizeof *routes);
    assert_true(ahead.given); /* it has claimed ahead, without waiting */
    assert_int_equal(ahead.nback, 2);
    assert_int_equal(ahead.answered_lost, 0);
    assert_int_equal(ahead.others, 0); /* the long one runs, and nothing of the others did */
    for (int i = 0; i < ahead.nback && ahead.said_lost; i++) {
        assert_memory_equal(ahead.back[i], "back-", 5);
    }
}

/* --- a service that hears no answer --- */

enum { UNHEARD = 64, HELD_AHEAD = 17, TELLS = 600 };

static struct {
    int given, told;
} deaf;

static void on_deaf_claim(struct kg_svc_exchange *x, void *ctx)
{
    json_t *body = body_of(x), *claims = json_array();
    size_t slots = json_array_size(json_object_get(body, "slots"));
    char id[32];
    (void)ctx;
    for (size_t i = 0; i < slots; i++) {
        snprintf(id, sizeof id, "job-%d", deaf.given++);
        json_array_append_new(claims, claim_json(id, "nothing", false));
    }
    json_decref(body);
    kg_svc_reply_json(x, 200, json_pack("{s:o}", "claims", claims));
}

static void on_deaf_finish(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply_error(x, 503, "store", "", "not now");
    if (++deaf.told == TELLS) {
        event_base_loopbreak(service.base);
    }
}

static void answers_that_are_not_heard_end_its_claims(void **state)
{
    static const struct kg_svc_route routes[] = {
        {"POST", "/v1/worker/claim", KG_SVC_OPEN, on_deaf_claim},
        {"POST", "/v1/worker/renew", KG_SVC_OPEN, on_ahead_renew},
        {"POST", "/v1/worker/finish", KG_SVC_OPEN, on_deaf_finish},
        {"POST", "/v1/worker/**", KG_SVC_OPEN, on_any},
    };
    (void)state;
    memset(&service, 0, sizeof service);
    memset(&deaf, 0, sizeof deaf);
    service.term_ms = 1200; /* a sixth of it is the longest pause before an answer is told again */
    serve_worker(routes, sizeof routes / sizeof *routes);
    assert_in_range(deaf.given, UNHEARD, UNHEARD + 2 * HELD_AHEAD);
}

/* --- a service that refuses an answer --- */

enum { REFUSALS = 2 };
static const int refused_with[REFUSALS] = {413, 404}; /* of each job */

static struct {
    int given, hellos; /* hellos: after an answer */
    struct {
        int told;
        char outcome[2][16], error[16], message[200];
        bool record[2], last[2];
    } job[REFUSALS];
} refusal;

/* One job after the other. */
static void on_refusal_claim(struct kg_svc_exchange *x, void *ctx)
{
    json_t *claims = json_array();
    (void)ctx;
    if (refusal.given < REFUSALS) {
        char id[] = {(char)('0' + refusal.given++), '\0'};
        json_array_append_new(claims, claim_json(id, "nothing", false));
    }
    kg_svc_reply_json(x, 200, json_pack("{s:o}", "claims", claims));
}

static void on_refusal_finish(struct kg_svc_exchange *x, void *ctx)
{
    json_t *body = body_of(x);
    int job = text_of(body, "id")[0] == '0' ? 0 : 1, at = refusal.job[job].told++;
    (void)ctx;
    if (at < 2) {
        snprintf(refusal.job[job].outcome[at], 16, "%s", text_of(body, "outcome"));
        refusal.job[job].record[at] = json_object_get(body, "record") != NULL;
        refusal.job[job].last[at] = json_is_true(json_object_get(body, "last"));
        snprintf(refusal.job[job].error, 16, "%s", text_of(body, "error"));
        snprintf(refusal.job[job].message, 200, "%s", text_of(body, "message"));
    }
    json_decref(body);
    kg_svc_reply_error(x, refused_with[job], "refused", "", "the body is refused");
}

/* A hello each 5 s: whatever is told after an answer comes before the second one. */
static void on_refusal_hello(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply_json(x, 200, json_pack("{s:b}", "accepted", 1));
    refusal.hellos += refusal.job[REFUSALS - 1].told > 0;
    if (refusal.hellos == 2) {
        event_base_loopbreak(service.base);
    }
}

/* The service will not take the record, however often it is sent: it hears why the attempt has
 * none, once. Without that the claim would run out, and the job would end with another reason.
 * Where the record itself is refused, a second judging would be refused like the first. A path that
 * is not there says nothing of the record: another worker may reach the service. */
static void a_record_that_is_refused_is_told_as_a_failure(void **state)
{
    static const struct kg_svc_route routes[] = {
        {"POST", "/v1/worker/hello", KG_SVC_OPEN, on_refusal_hello},
        {"POST", "/v1/worker/claim", KG_SVC_OPEN, on_refusal_claim},
        {"POST", "/v1/worker/renew", KG_SVC_OPEN, on_ahead_renew},
        {"POST", "/v1/worker/finish", KG_SVC_OPEN, on_refusal_finish},
        {"POST", "/v1/worker/**", KG_SVC_OPEN, on_any},
    };
    (void)state;
    memset(&service, 0, sizeof service);
    memset(&refusal, 0, sizeof refusal);
    service.term_ms = 600000;
    serve_worker(routes, sizeof routes / sizeof *routes);
    for (int i = 0; i < REFUSALS; i++) {
        char status[16];
        snprintf(status, sizeof status, "status %d", refused_with[i]);
        assert_int_equal(refusal.job[i].told, 2);
        assert_string_equal(refusal.job[i].outcome[0], "finished");
        assert_true(refusal.job[i].record[0]);
        assert_false(refusal.job[i].last[0]);
        assert_string_equal(refusal.job[i].outcome[1], "failed");
        assert_false(refusal.job[i].record[1]);
        assert_int_equal(refusal.job[i].last[1], refused_with[i] == 413);
        assert_string_equal(refusal.job[i].error, refused_with[i] == 413 ? "limit" : "gym");
        assert_non_null(strstr(refusal.job[i].message, status));
    }
}

/* --- a slot whose problem changes with each job --- */

enum { CHANGES_MS = 12000 };

static struct {
    int given, shorter; /* shorter: claims with a turn that is shorter than one before */
    json_int_t held_ms;
    size_t most_held; /* by the one slot, as a hello has it */
    int hellos;
} changes;

static void on_changes_claim(struct kg_svc_exchange *x, void *ctx)
{
    json_t *body = body_of(x), *claims = json_array(), *v;
    size_t i;
    char id[32];
    (void)ctx;
    json_array_foreach(json_object_get(body, "slots"), i, v)
    {
        json_int_t held_ms = json_integer_value(json_object_get(v, "held_ms"));
        changes.shorter += held_ms < changes.held_ms;
        changes.held_ms = held_ms;
        snprintf(id, sizeof id, "job-%d", changes.given);
        json_t *c = claim_json(id, "nothing", false);
        json_object_set_new(c, "lane", json_string(changes.given++ % 2 == 0 ? "l" : "m"));
        json_array_append_new(claims, c);
    }
    json_decref(body);
    kg_svc_reply_json(x, 200, json_pack("{s:o}", "claims", claims));
    if (changes.held_ms >= CHANGES_MS) {
        event_base_loopbreak(service.base);
    }
}

static void on_changes_hello(struct kg_svc_exchange *x, void *ctx)
{
    json_t *body = body_of(x);
    const json_t *device = json_array_get(json_object_get(body, "devices"), 0);
    size_t held = json_array_size(json_object_get(device, "holds"));
    (void)ctx;
    changes.hellos++;
    changes.most_held = held > changes.most_held ? held : changes.most_held;
    json_decref(body);
    kg_svc_reply_json(x, 200, json_pack("{s:i}", "term_ms", service.term_ms));
}

/* Each job of another problem than the one before: a turn that began anew with each of them would
 * never last long enough for a lane that is due. What the slot has claimed ahead is not said to run
 * there. */
static void a_turn_goes_on_with_another_problem(void **state)
{
    static const struct kg_svc_route routes[] = {
        {"POST", "/v1/worker/hello", KG_SVC_OPEN, on_changes_hello},
        {"POST", "/v1/worker/claim", KG_SVC_OPEN, on_changes_claim},
        {"POST", "/v1/worker/renew", KG_SVC_OPEN, on_ahead_renew},
        {"POST", "/v1/worker/**", KG_SVC_OPEN, on_any},
    };
    (void)state;
    memset(&service, 0, sizeof service);
    memset(&changes, 0, sizeof changes);
    service.term_ms = 600000;
    serve_worker(routes, sizeof routes / sizeof *routes);
    assert_true(changes.given > 2);
    assert_int_equal(changes.shorter, 0);
    assert_true(changes.hellos >= 2); /* one each 5 s */
    assert_in_range(changes.most_held, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_waits_for_an_acknowledgement),
        cmocka_unit_test(a_worker_gets_in_where_others_wait),
        cmocka_unit_test(news_of_an_old_claim_ends_no_newer_one),
        cmocka_unit_test(a_claim_that_ran_out_ends_its_job),
        cmocka_unit_test(jobs_behind_a_long_one_are_handed_back),
        cmocka_unit_test(answers_that_are_not_heard_end_its_claims),
        cmocka_unit_test(a_record_that_is_refused_is_told_as_a_failure),
        cmocka_unit_test(a_turn_goes_on_with_another_problem)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
