#include "bench/common/svc_drive.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/common/host.h"

enum { ANSWER_MAX = 64 << 20, TIMES_MAX = 4000000, EVENTS = 512, READY_S = 60 };

/* --- the service --- */

void kg_bench_service_start(struct kg_bench_service *s, const char *folder, const char *const *args)
{
    char program[4096], place[4096], said[512] = "";
    const char *argv[32] = {"kgym", "serve", "--port", "0", "--folder", place};
    int out[2], n = 6;
    snprintf(program, sizeof program, "%s/kgym", kg_bench_build());
    snprintf(place, sizeof place, "%s/%s", kg_bench_folder(), folder);
    for (; *args != NULL && n < 31; args++) {
        argv[n++] = *args;
    }
    kg_bench_need(pipe(out) == 0, "pipe");
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(out[1], 1);
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(2);
    }
    close(out[1]);
    for (size_t have = 0; have < sizeof said - 1 && strchr(said, '\n') == NULL;) {
        ssize_t got = read(out[0], said + have, sizeof said - 1 - have);
        kg_bench_need(got > 0, "kgym serve did not start");
        have += (size_t)got;
    }
    close(out[0]);
    const char *at = strstr(said, "127.0.0.1:");
    kg_bench_need(at != NULL, "kgym serve said: %s", said);
    s->port = atoi(at + strlen("127.0.0.1:"));
}

void kg_bench_service_stop(struct kg_bench_service *s)
{
    kill(s->pid, SIGTERM);
    waitpid(s->pid, NULL, 0);
}

double kg_bench_service_mib(const struct kg_bench_service *s)
{
    char path[64];
    long child = 0;
    long long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)s->pid, (int)s->pid);
    FILE *f = fopen(path, "r");
    kg_bench_need(f != NULL && fscanf(f, "%ld", &child) == 1, "no api process"); /* begun first */
    fclose(f);
    snprintf(path, sizeof path, "/proc/%ld/statm", child);
    f = fopen(path, "r");
    kg_bench_need(f != NULL && fscanf(f, "%*d %lld", &pages) == 1, "%s", path);
    fclose(f);
    return (double)pages * (double)getpagesize() / 1048576;
}

/* --- connections --- */

struct connection {
    int fd, kind;
    bool busy;
    int64_t begun_ns;
    struct kg_buf out, in;
    size_t sent;
};

struct times {
    float *ms;
    size_t n;
};

static int dial(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int one = 1;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    kg_bench_need(s >= 0 && connect(s, (struct sockaddr *)&a, sizeof a) == 0,
                  "no connection to port %d: %s", port, strerror(errno));
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(s, F_SETFL, O_NONBLOCK);
    return s;
}

static void flush_out(struct connection *c)
{
    while (c->sent < c->out.len) {
        ssize_t n = send(c->fd, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        kg_bench_need(n > 0, "a connection broke: %s", strerror(errno));
        c->sent += (size_t)n;
    }
}

static void begin(const struct kg_bench_drive *d, struct connection *c, int i)
{
    struct kg_bench_request r = {.method = "GET", .headers = "", .body = ""};
    if (!d->ask(d->ctx, i, &r)) {
        return;
    }
    c->kind = r.kind;
    c->busy = true;
    c->sent = 0;
    kg_buf_reset(&c->in);
    kg_buf_reset(&c->out);
    kg_buf_addf(&c->out, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %zu\r\n\r\n",
                r.method, r.path, r.headers, r.len);
    kg_buf_add(&c->out, r.body, r.len);
    c->begun_ns = kg_clock_ns();
    flush_out(c);
}

/* True: the answer is whole, and was given. */
static bool end(const struct kg_bench_drive *d, struct connection *c, int i, struct times *t)
{
    char *body = c->in.len > 0 ? strstr(c->in.data, "\r\n\r\n") : NULL;
    if (body == NULL) {
        return false;
    }
    const char *length = strcasestr(c->in.data, "content-length:");
    kg_bench_need(length != NULL && length < body, "an answer without length");
    size_t n = strtoul(length + 15, NULL, 10);
    body += 4;
    if (c->in.len < (size_t)(body - c->in.data) + n) {
        return false;
    }
    if (t[c->kind].n < TIMES_MAX) {
        t[c->kind].ms[t[c->kind].n++] = (float)(1e-6 * (double)(kg_clock_ns() - c->begun_ns));
    }
    c->busy = false;
    d->answer(d->ctx, i, atoi(c->in.data + 9), body, n);
    return true;
}

static void readable(const struct kg_bench_drive *d, struct connection *c, int i, struct times *t)
{
    char piece[65536];
    for (;;) {
        ssize_t n = recv(c->fd, piece, sizeof piece, 0);
        if (n < 0 && errno == EAGAIN) {
            break;
        }
        kg_bench_need(n > 0, "a connection ended");
        kg_buf_add(&c->in, piece, (size_t)n);
    }
    if (c->busy && end(d, c, i, t)) {
        begin(d, c, i);
    }
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void sum_up(struct times *t, double seconds, struct kg_bench_driven *out)
{
    for (int k = 0; k < KG_BENCH_KINDS; k++) {
        qsort(t[k].ms, t[k].n, sizeof *t[k].ms, by_size);
        out->n[k] = t[k].n;
        out->per_s[k] = (double)t[k].n / seconds;
        out->p50_ms[k] = t[k].n > 0 ? (double)t[k].ms[t[k].n / 2] : 0;
        out->p99_ms[k] = t[k].n > 0 ? (double)t[k].ms[t[k].n - 1 - t[k].n / 100] : 0;
        free(t[k].ms);
    }
}

/* Drops what was counted before; returns the time. */
static int64_t begin_to_count(const struct kg_bench_drive *d, struct times *t)
{
    for (int k = 0; k < KG_BENCH_KINDS; k++) {
        t[k].n = 0;
    }
    if (d->warm != NULL) {
        d->warm(d->ctx);
    }
    return kg_clock_ns();
}

void kg_bench_drive(const struct kg_bench_drive *d, struct kg_bench_driven *out)
{
    struct connection *c = calloc((size_t)d->connections, sizeof *c);
    struct times t[KG_BENCH_KINDS];
    struct epoll_event event[EVENTS];
    int poll = epoll_create1(EPOLL_CLOEXEC);
    kg_bench_need(c != NULL && poll >= 0, "no memory");
    for (int k = 0; k < KG_BENCH_KINDS; k++) {
        t[k] = (struct times){malloc(TIMES_MAX * sizeof *t[k].ms), 0};
        kg_bench_need(t[k].ms != NULL, "no memory");
    }
    for (int i = 0; i < d->connections; i++) {
        c[i].fd = dial(d->port[i % d->nports]);
        kg_buf_init(&c[i].out, ANSWER_MAX);
        kg_buf_init(&c[i].in, ANSWER_MAX);
        struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u32 = (uint32_t)i};
        kg_bench_need(epoll_ctl(poll, EPOLL_CTL_ADD, c[i].fd, &e) == 0, "epoll");
    }
    int64_t begun = kg_clock_ns(), asked = 0;
    const int64_t warm = begun + (int64_t)(d->warm_s * 1e9);
    const int64_t until = warm + (int64_t)(d->seconds * 1e9);
    bool is_warm = d->warm_s <= 0;
    while (kg_clock_ns() < until && (d->stop == NULL || !*d->stop)) {
        if (!is_warm && kg_clock_ns() >= warm) {
            is_warm = true;
            begun = begin_to_count(d, t);
        }
        if (kg_clock_ns() - asked > 1000000) {
            asked = kg_clock_ns();
            for (int i = 0; i < d->connections; i++) {
                if (!c[i].busy) {
                    begin(d, &c[i], i);
                }
            }
        }
        int n = epoll_wait(poll, event, EVENTS, 1);
        for (int j = 0; j < n; j++) {
            int i = (int)event[j].data.u32;
            flush_out(&c[i]);
            if ((event[j].events & EPOLLIN) != 0) {
                readable(d, &c[i], i, t);
            }
        }
    }
    sum_up(t, 1e-9 * (double)(kg_clock_ns() - begun), out);
    for (int i = 0; i < d->connections; i++) {
        close(c[i].fd);
        kg_buf_deinit(&c[i].out);
        kg_buf_deinit(&c[i].in);
    }
    close(poll);
    free(c);
}

void kg_bench_streams_open(int port, const char *path, int *fd, int n)
{
    char text[512];
    int len =
        snprintf(text, sizeof text,
                 "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n", path);
    for (int i = 0; i < n; i++) {
        fd[i] = dial(port);
        kg_bench_need(send(fd[i], text, (size_t)len, MSG_NOSIGNAL) == len, "a stream broke");
    }
}

double kg_bench_json_number(const char *json, const char *name)
{
    char word[64];
    snprintf(word, sizeof word, "\"%s\":", name);
    const char *at = strstr(json, word);
    return at != NULL ? strtod(at + strlen(word), NULL) : 0;
}
