/* The service under load while its processes are killed at random moments: api, worker, judge,
 * candidate, the parent of all, and Redis. Clients keep a ledger of what they were answered
 * (tests/support/svc_load.h), and the service must agree with it in the end.
 *   FAULT_KILLS  kills in all, half of them for each store (default 60)
 *   FAULT_SEED   of the plan: who is killed, after which pause (default 1) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "tests/support/redis_server.h"
#include "tests/support/svc_load.h"
#include "tests/support/svc_rig.h"

enum { SERVICES = 2, LOOK_MS = 300, PAUSE_MS = 120, PATIENCE_S = 60 };

enum victim { API, WORKER, JUDGE, CANDIDATE, PARENT, REDIS, VICTIMS };
static const char *const names[VICTIMS] = {"api",       "worker", "judge",
                                           "candidate", "parent", "redis"};

static struct service {
    pid_t pid;
    int port;
} service[SERVICES];
static int nservices;
static struct redis_server server;
static bool with_redis;
static char options[256];

static int64_t after_ms(int64_t ms)
{
    return kg_clock_ns() + ms * 1000000;
}

static int64_t setting(const char *name, int64_t usual)
{
    const char *text = getenv(name);
    return text != NULL ? strtoll(text, NULL, 10) : usual;
}

/* --- the services, and who looks after them --- */

static void start(struct service *s)
{
    svc_port = s->port;
    svc_start(options);
    s->pid = svc_pid;
    s->port = svc_port;
    svc_pid = 0;
}

/* A parent that has ended is started again, as an init would do it. */
static void start_what_ended(void)
{
    int status;
    for (int i = 0; i < nservices; i++) {
        if (waitpid(service[i].pid, &status, WNOHANG) == service[i].pid) {
            start(&service[i]);
        }
    }
}

/* Orphans come to this process; those that have ended are buried. Returns how many live: clients,
 * parents and Redis are not counted. */
static int orphans(const pid_t *known, size_t nknown)
{
    char path[64];
    long pid;
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fscanf(f, "%ld", &pid) == 1) {
        bool is_known = pid == server.pid;
        for (size_t i = 0; i < nknown; i++) {
            is_known = is_known || pid == known[i];
        }
        for (int i = 0; i < nservices; i++) {
            is_known = is_known || pid == service[i].pid;
        }
        n += !is_known && waitpid((pid_t)pid, NULL, WNOHANG) == 0;
    }
    fclose(f);
    return n;
}

/* --- victims --- */

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        return 0;
    }
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *end = strrchr(text, ')');
    return end != NULL && sscanf(end + 2, "%*c %d", &parent) == 1 ? parent : 0;
}

/* How many processes lie between pid and the parent of a service: 1 its api and its worker, 2 a
 * judge, more what a judge started. 0: none of its. */
static int depth(pid_t pid, pid_t of)
{
    int n = 0;
    for (; pid > 1 && pid != of; pid = parent_of(pid)) {
        n++;
    }
    return pid == of ? n : 0;
}

static bool is_role(pid_t pid, const char *role)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *f = fopen(path, "r");
    size_t n = f != NULL ? fread(text, 1, sizeof text, f) : 0;
    if (f != NULL) {
        fclose(f);
    }
    return memmem(text, n, role, strlen(role)) != NULL;
}

static bool fits(pid_t pid, enum victim v, const struct service *s)
{
    int d = depth(pid, s->pid);
    return v == API      ? d == 1 && is_role(pid, "serve-api")
           : v == WORKER ? d == 1 && is_role(pid, "serve-worker")
           : v == JUDGE  ? d == 2
                         : d > 2;
}

/* One of this kind, of any service; 0: none is there. */
static pid_t find(enum victim v, uint64_t turn)
{
    const struct service *s = &service[turn % (uint64_t)nservices];
    pid_t found = 0;
    if (v == PARENT) {
        return s->pid;
    }
    DIR *dir = opendir("/proc");
    assert_non_null(dir);
    for (const struct dirent *e; found == 0 && (e = readdir(dir)) != NULL;) {
        pid_t pid = (pid_t)atoi(e->d_name);
        found = pid > 1 && fits(pid, v, s) ? pid : 0;
    }
    closedir(dir);
    return found;
}

/* --- the plan --- */

/* Which of them how often, of 20. */
static enum victim choose(struct kg_rng *r)
{
    static const enum victim often[20] = {
        API,   API,   API,   API,       API,       API,   WORKER, WORKER, WORKER, WORKER,
        JUDGE, JUDGE, JUDGE, CANDIDATE, CANDIDATE, REDIS, PARENT, PARENT, REDIS,  REDIS};
    enum victim v = often[kg_rng_below(r, 20)];
    return v == REDIS && !with_redis ? API : v;
}

/* False: there was none of its kind. */
static bool kill_one(enum victim v, uint64_t turn, int64_t down_ms)
{
    if (v == REDIS) {
        redis_server_kill(&server);
        usleep((useconds_t)down_ms * 1000);
        redis_server_again(&server);
        return true;
    }
    pid_t pid = find(v, turn);
    for (int64_t until = after_ms(LOOK_MS); pid == 0 && kg_clock_ns() < until;) {
        usleep(5000);
        pid = find(v, turn);
    }
    return pid > 0 && kill(pid, SIGKILL) == 0;
}

static void run_plan(int64_t kills, uint64_t seed, const pid_t *client)
{
    struct kg_rng r;
    int count[VICTIMS] = {0};
    kg_rng_init(&r, (struct kg_key){{seed, 31}}, with_redis);
    for (int64_t done = 0; done < kills;) {
        enum victim v = choose(&r);
        int64_t pause = (int64_t)kg_rng_below(&r, PAUSE_MS), down = (int64_t)kg_rng_below(&r, 100);
        uint64_t turn = kg_rng_u64(&r);
        usleep((useconds_t)pause * 1000);
        start_what_ended();
        if (kill_one(v, turn, down)) {
            count[v]++;
            done++;
        }
        orphans(client, SVC_LOAD_CLIENTS);
    }
    kg_rng_deinit(&r);
    print_message("killed:");
    for (int v = 0; v < VICTIMS; v++) {
        print_message(" %d %s", count[v], names[v]);
    }
    print_message("\n");
}

/* --- the tests --- */

static void end_services(void)
{
    int64_t until = after_ms((int64_t)PATIENCE_S * 1000);
    for (int i = 0; i < nservices; i++) {
        svc_pid = service[i].pid;
        assert_int_equal(svc_end(SIGTERM), 0);
        service[i].pid = -1;
    }
    while (orphans(NULL, 0) > 0) { /* no judge and no candidate outlives its claim's worker */
        assert_true(kg_clock_ns() < until);
        usleep(20000);
    }
}

static bool is_ready(int port)
{
    static const char ask[] = "GET /v1/ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval most = {.tv_sec = 1};
    char got[16] = "";
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ready = s >= 0 && setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0 &&
                 connect(s, (const struct sockaddr *)&at, sizeof at) == 0 &&
                 send(s, ask, sizeof ask - 1, MSG_NOSIGNAL) > 0 &&
                 recv(s, got, sizeof got - 1, MSG_WAITALL) > 12 &&
                 strncmp(got, "HTTP/1.1 200", 12) == 0;
    close(s);
    return ready;
}

/* After the last kill. A service gives up whose processes die again and again, and ends some time
 * later: it is started anew, as an init would. */
static void all_are_ready(void)
{
    int64_t until = after_ms((int64_t)PATIENCE_S * 1000);
    for (int ready = 0; ready < nservices;) {
        assert_true(kg_clock_ns() < until);
        usleep(100000);
        start_what_ended();
        ready = 0;
        for (int i = 0; i < nservices; i++) {
            ready += is_ready(service[i].port);
        }
    }
}

static void kill_under_load(int64_t kills)
{
    const uint64_t seed = (uint64_t)setting("FAULT_SEED", 1);
    int port[SERVICES];
    pid_t client[SVC_LOAD_CLIENTS];
    print_message("%s: seed %llu, %lld kills\n", with_redis ? "redis" : "sqlite",
                  (unsigned long long)seed, (long long)kills);
    for (int i = 0; i < nservices; i++) {
        service[i] = (struct service){0};
        start(&service[i]);
        port[i] = service[i].port;
    }
    struct svc_load *l = svc_load_new(port, nservices);
    svc_load_start(l, client);
    run_plan(kills, seed, client);
    all_are_ready();
    svc_load_stop(l, client);
    svc_load_check(l);
    assert_true(l->n > SVC_LOAD_CLIENTS);
    assert_int_equal(l->faults.lost, 0);
    assert_int_equal(l->faults.changed, 0);
    assert_int_equal(l->faults.doubled, 0);
    assert_int_equal(l->faults.refused, 0);
    svc_load_free(l);
    end_services();
}

static int set_up(void **state)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    setenv("KGYM_DEADLINE_RUN", "0.3", 1);
    return svc_setup(state);
}

/* Also after a test that failed. */
static int tear_down(void **state)
{
    for (int i = 0; i < nservices; i++) {
        if (service[i].pid > 0) {
            kill(service[i].pid, SIGKILL);
            waitpid(service[i].pid, NULL, 0);
        }
        service[i].pid = -1;
    }
    if (server.pid > 0) {
        redis_server_end(&server);
    }
    return svc_teardown(state);
}

static void kills_in_sqlite(void **state)
{
    (void)state;
    with_redis = false;
    nservices = 1;
    snprintf(options, sizeof options, "--jobs 2 --term 1");
    kill_under_load(setting("FAULT_KILLS", 60) / 2);
}

static void kills_in_redis(void **state)
{
    (void)state;
    if (!redis_server_there()) {
        print_message("skipped: no redis-server is installed\n");
        skip();
    }
    with_redis = true;
    nservices = SERVICES;
    redis_server_start(&server, NULL);
    snprintf(options, sizeof options, "--jobs 1 --term 1 --store %s", server.place);
    kill_under_load(setting("FAULT_KILLS", 60) / 2);
}

/* The check itself: a loss, a change and a second job for a key are seen. */
static void planted_faults_are_seen(void **state)
{
    (void)state;
    with_redis = false;
    nservices = 1;
    snprintf(options, sizeof options, "--jobs 1");
    service[0] = (struct service){0};
    start(&service[0]);
    struct svc_load *l = svc_load_new(&service[0].port, 1);
    json_t *j = svc_json(200, "POST", "/v1/evaluations?wait=200",
                         "{\"problem\": \"silu\", \"reply\": \"no\", \"tag\": \"other\"}");
    l->n = 2;
    snprintf(l->entry[0].key, sizeof l->entry[0].key, "client-0-0");
    snprintf(l->entry[0].id, sizeof l->entry[0].id, "00000000000000000000000000");
    snprintf(l->entry[1].key, sizeof l->entry[1].key, "client-0-1");
    snprintf(l->entry[1].id, sizeof l->entry[1].id, "%s", svc_text(j, "id"));
    svc_load_check(l);
    assert_int_equal(l->faults.lost, 1);    /* no such job; */
    assert_int_equal(l->faults.changed, 1); /* one with another's record; */
    assert_int_equal(l->faults.doubled, 1); /* the first key is another job than was said */
    json_decref(j);
    svc_load_free(l);
    end_services();
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {T(planted_faults_are_seen), T(kills_in_sqlite),
                                       T(kills_in_redis)};
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
