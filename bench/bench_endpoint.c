/* What a policy behind an endpoint costs: CPU time and memory of this process, and replies a
 * second, against a stub that streams each reply over 64/200 s, so that 64 at once are 200 a
 * second. build/release/bench/bench_endpoint [replies=2000] [at once=64] [events a reply=100] */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/host.h"
#include "trial/policy/policy.h"

enum { PROMPT = 16000, PARTS = 8 };
#define REPLY_US (INT64_C(1000000) * 64 / 200)

static int events;

/* --- the stub: a process with a thread for each connection --- */

/* Reads one request; false: the connection has ended. */
static bool take_request(int fd)
{
    static const char name[] = "Content-Length: ";
    char head[4096] = "", *end = NULL;
    size_t n = 0;
    while (end == NULL) {
        ssize_t got = read(fd, head + n, sizeof head - 1 - n);
        if (got <= 0) {
            return false;
        }
        n += (size_t)got;
        head[n] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    const char *at = strstr(head, name);
    size_t left = at != NULL ? strtoul(at + strlen(name), NULL, 10) : 0;
    for (left -= n - (size_t)(end + 4 - head); left > 0;) {
        char body[65536];
        ssize_t got = read(fd, body, left < sizeof body ? left : sizeof body);
        if (got <= 0) {
            return false;
        }
        left -= (size_t)got;
    }
    return true;
}

static void send_all(int fd, const struct kg_buf *b)
{
    for (size_t at = 0; at < b->len;) {
        ssize_t n = write(fd, b->data + at, b->len - at);
        if (n <= 0) {
            return;
        }
        at += (size_t)n;
    }
}

static void add_chunk(struct kg_buf *out, const char *data)
{
    kg_buf_addf(out, "%zx\r\n%s\r\n", strlen(data), data);
}

static void send_reply(int fd)
{
    struct kg_buf out;
    kg_buf_init(&out, 64 << 20);
    kg_buf_adds(&out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < events; i++) {
        add_chunk(&out,
                  "data: {\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\","
                  "\"created\":1,\"model\":\"stub\",\"choices\":[{\"index\":0,\"delta\":"
                  "{\"content\":\"float x = 1;\"},\"finish_reason\":null}]}\n\n");
        if ((i + 1) % (events / PARTS + 1) == 0) {
            send_all(fd, &out);
            kg_buf_reset(&out);
            usleep((useconds_t)(REPLY_US / PARTS));
        }
    }
    add_chunk(&out,
              "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
              "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":4000,"
              "\"completion_tokens\":100}}\n\ndata: [DONE]\n\n");
    kg_buf_adds(&out, "0\r\n\r\n");
    usleep((useconds_t)(REPLY_US / PARTS));
    send_all(fd, &out);
    kg_buf_deinit(&out);
}

static void *serve_one(void *arg)
{
    int fd = (int)(intptr_t)arg, on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (take_request(fd)) {
        send_reply(fd);
    }
    close(fd);
    return NULL;
}

static pid_t start_stub(int *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    kg_bench_need(s >= 0 && bind(s, (struct sockaddr *)&a, len) == 0 && listen(s, 1024) == 0 &&
                      getsockname(s, (struct sockaddr *)&a, &len) == 0,
                  "no socket");
    *port = ntohs(a.sin_port);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_IGN);
        for (;;) {
            pthread_t t;
            int fd = accept(s, NULL, NULL);
            if (fd >= 0 && pthread_create(&t, NULL, serve_one, (void *)(intptr_t)fd) == 0) {
                pthread_detach(t);
            }
        }
    }
    close(s);
    return pid;
}

/* --- the measurement --- */

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static double peak_mib(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

static void run(struct tr_policy *p, int replies)
{
    static char text[PROMPT];
    struct kg_err err = KG_ERR_INIT;
    memset(text, 'x', sizeof text);
    const struct tr_message m = {.role = TR_USER, .text = text, .len = sizeof text};
    for (int begun = 0, got = 0; got < replies;) {
        while (begun < replies && p->room(p->self) > 0) {
            const struct tr_ask a = {
                .tag = (uint64_t)begun, .message = &m, .n = 1, .who = {"p", 1, (uint32_t)begun}};
            kg_bench_need_ok(p->submit(p->self, &a, &err), &err);
            begun++;
        }
        struct tr_reply *r = NULL;
        kg_bench_need_ok(p->next(p->self, -1, -1, &r, &err), &err);
        kg_bench_need(r != NULL && r->code == KG_OK && r->len == (size_t)events * 12, "%s",
                      r != NULL ? r->err.message : "no reply");
        tr_reply_free(r);
        got++;
    }
}

int main(int argc, char **argv)
{
    int replies = kg_bench_count(argc, argv, 1, 10, 1000000, 2000), port;
    int at_once = kg_bench_count(argc, argv, 2, 1, 1024, 64);
    char policy[64];
    struct tr_policy_options o;
    struct tr_policy p;
    struct kg_err err = KG_ERR_INIT;
    events = kg_bench_count(argc, argv, 3, 1, 100000, 100);
    pid_t stub = start_stub(&port);
    snprintf(policy, sizeof policy, "endpoint:http://127.0.0.1:%d", port);
    tr_policy_defaults(&o);
    o.policy = policy;
    o.model = "stub";
    o.parallel = at_once;
    setenv("no_proxy", "*", 1);
    double before = peak_mib(), cpu = cpu_s();
    kg_bench_need_ok(tr_policy_open(&o, &p, &err), &err);
    double opened = peak_mib();
    int64_t began = kg_clock_ns();
    run(&p, replies);
    double s = (double)(kg_clock_ns() - began) * 1e-9, mib = peak_mib();
    cpu = cpu_s() - cpu;
    p.close(p.self);
    kill(stub, SIGKILL);
    waitpid(stub, NULL, 0);
    printf("%d replies of %d events, prompts of %d bytes, %d at once\n", replies, events, PROMPT,
           at_once);
    printf("%-42s %10.1f\n", "replies per second", replies / s);
    printf("%-42s %10.3f\n", "CPU per reply, ms", cpu * 1e3 / replies);
    printf("%-42s %10.2f\n", "CPU of one core, %", cpu / s * 100);
    printf("%-42s %10.1f\n", "memory with libcurl, MiB", opened - before);
    printf("%-42s %10.1f\n", "memory of requests under way, MiB", mib - opened);
    kg_bench_json("endpoint",
                  json_pack("{s:i,s:i,s:i,s:f,s:f,s:f,s:f,s:f}", "replies", replies, "at_once",
                            at_once, "events", events, "per_s", replies / s, "cpu_ms_per_reply",
                            cpu * 1e3 / replies, "cpu_share", cpu / s, "library_mib",
                            opened - before, "requests_mib", mib - opened));
    return 0;
}
