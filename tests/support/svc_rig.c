#include "tests/support/svc_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "tests/support/cobject.h"
#include "tests/support/svc_schema.h"

enum { PATIENCE_S = 240 };

const char *svc_headers = "";
int svc_port;
pid_t svc_pid;
static char folder[64];

int svc_setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/svc-XXXXXX");
    svc_port = 0;
    svc_headers = "";
    return mkdtemp(folder) == NULL;
}

int svc_teardown(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    (void)state;
    if (svc_pid > 0) {
        svc_end(SIGTERM);
    }
    return kg_file_remove_tree(folder, &err) != KG_OK;
}

const char *svc_folder(void)
{
    return folder;
}

static void rest(void)
{
    usleep(20000);
}

static int64_t patience(void)
{
    return kg_clock_ns() + (int64_t)PATIENCE_S * 1000000000;
}

void svc_start(const char *options)
{
    char line[1024], *argv[32];
    int n = 0, out[2];
    snprintf(line, sizeof line, "kgym serve --host 127.0.0.1 --port %d --folder %s/store %s",
             svc_port, folder, options);
    for (char *word = strtok(line, " "); word != NULL && n < 31; word = strtok(NULL, " ")) {
        argv[n++] = word;
    }
    argv[n] = NULL;
    const char *program = cobject_built("kgym");
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    svc_pid = fork();
    if (svc_pid == 0) {
        dup2(out[1], 1);
        execv(program, argv);
        _exit(2);
    }
    close(out[1]);
    char said[512];
    size_t have = 0;
    for (ssize_t got; have < sizeof said - 1 && memchr(said, '\n', have) == NULL; have += got) {
        got = read(out[0], said + have, sizeof said - 1 - have);
        assert_true(got > 0);
    }
    close(out[0]);
    said[have] = '\0';
    const char *at = strchr(said, ',');
    assert_non_null(at);
    while (at > said && *at != ':') {
        at--;
    }
    svc_port = atoi(at + 1);
    for (int64_t until = patience(); svc_request("GET", "/v1/ready", "", "", 0, NULL) != 200;) {
        assert_true(kg_clock_ns() < until);
        rest();
    }
}

int svc_end(int sig)
{
    int status;
    kill(svc_pid, sig);
    assert_int_equal(waitpid(svc_pid, &status, 0), svc_pid);
    svc_pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

pid_t svc_child(const char *role)
{
    for (int64_t until = patience(); kg_clock_ns() < until; rest()) {
        char path[64], line[256];
        long child;
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)svc_pid, (int)svc_pid);
        FILE *f = fopen(path, "r");
        while (f != NULL && fscanf(f, "%ld", &child) == 1) {
            struct kg_buf words;
            struct kg_err err = KG_ERR_INIT;
            kg_buf_init(&words, 4096);
            snprintf(line, sizeof line, "/proc/%ld/cmdline", child);
            bool is = kg_file_read(line, &words, &err) == KG_OK &&
                      memmem(words.data, words.len, role, strlen(role)) != NULL;
            kg_buf_deinit(&words);
            if (is) {
                fclose(f);
                return (pid_t)child;
            }
        }
        if (f != NULL) {
            fclose(f);
        }
    }
    fail_msg("no process %s", role);
    return 0;
}

/* --- HTTP --- */

static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)svc_port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval most = {.tv_sec = PATIENCE_S};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    assert_true(s >= 0);
    if (connect(s, (struct sockaddr *)&a, sizeof a) != 0) {
        close(s);
        return -1;
    }
    return s;
}

static void send_all(int s, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(s, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return; /* an answer may be there all the same */
        }
        bytes += sent;
        n -= (size_t)sent;
    }
}

/* A chunked body, put together. */
static void unchunk(struct kg_buf *b, char *body)
{
    struct kg_buf whole;
    kg_buf_init(&whole, b->max);
    for (char *at = body;;) {
        char *end;
        unsigned long n = strtoul(at, &end, 16);
        if (n == 0 || strncmp(end, "\r\n", 2) != 0) {
            break;
        }
        kg_buf_add(&whole, end + 2, n);
        at = end + 2 + n + 2;
    }
    kg_buf_reset(b);
    kg_buf_add(b, whole.data, whole.len);
    kg_buf_deinit(&whole);
}

/* Value of a header that is there once, up to a blank or `;`. */
static void header_of(const char *head, const char *name, char out[64])
{
    const char *at = strcasestr(head, name);
    out[0] = '\0';
    if (at != NULL) {
        at += strlen(name) + strspn(at + strlen(name), ": ");
        snprintf(out, 64, "%.*s", (int)strcspn(at, "; \r\n"), at);
    }
}

/* Reads to the end of the connection. type: of the body. */
static int receive(int s, struct kg_buf *out, char type[64])
{
    char piece[65536];
    struct kg_buf all;
    kg_buf_init(&all, 256u << 20);
    for (ssize_t n; (n = recv(s, piece, sizeof piece, 0)) > 0;) {
        kg_buf_add(&all, piece, (size_t)n);
    }
    close(s);
    int status = strncmp(all.data, "HTTP/1.", 7) == 0 ? atoi(all.data + 9) : 0;
    char *body = strstr(all.data, "\r\n\r\n");
    if (out != NULL && body != NULL) {
        *body = '\0';
        header_of(all.data, "\nContent-Type", type);
        bool chunked = strstr(all.data, "chunked") != NULL;
        kg_buf_reset(out);
        kg_buf_add(out, body + 4, all.len - (size_t)(body + 4 - all.data));
        if (chunked) {
            unchunk(out, out->data);
        }
    }
    kg_buf_deinit(&all);
    return status;
}

int svc_request(const char *method, const char *path, const char *headers, const char *body,
                size_t len, struct kg_buf *out)
{
    struct kg_buf head, own;
    char type[64] = "";
    int s = dial();
    if (s < 0) {
        return 0;
    }
    kg_buf_init(&own, 256u << 20);
    kg_buf_init(&head, 1 << 16);
    kg_buf_addf(
        &head,
        "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n",
        method, path, headers, len);
    send_all(s, head.data, head.len);
    send_all(s, body, len);
    kg_buf_deinit(&head);
    struct kg_buf *answer = out != NULL ? out : &own;
    kg_buf_reset(answer);
    int status = receive(s, answer, type);
    if (status != 0) {
        svc_schema_hold(method, path, status, type, answer->data, answer->len);
    }
    kg_buf_deinit(&own);
    return status;
}

int svc_open(const char *path, const char *headers)
{
    char head[1024];
    int s = dial();
    assert_true(s >= 0);
    snprintf(head, sizeof head, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", path, headers);
    send_all(s, head, strlen(head));
    return s;
}

void svc_read_until(int connection, const char *word, struct kg_buf *out)
{
    char piece[4096];
    while (strstr(out->data, word) == NULL) {
        ssize_t n = recv(connection, piece, sizeof piece, 0);
        if (n <= 0) {
            fail_msg("the answer ended without %s: %.400s", word, out->data);
        }
        kg_buf_add(out, piece, (size_t)n);
    }
}

int svc_raw(const char *bytes, size_t n)
{
    int s = dial();
    assert_true(s >= 0);
    send_all(s, bytes, n);
    shutdown(s, SHUT_WR);
    return receive(s, NULL, NULL);
}

json_t *svc_json(int status, const char *method, const char *path, const char *body)
{
    struct kg_buf out;
    kg_buf_init(&out, 256u << 20);
    int got = svc_request(method, path, svc_headers, body, strlen(body), &out);
    if (got != status) {
        fail_msg("%s %s: %d, not %d: %.400s", method, path, got, status, out.data);
    }
    json_t *j = json_loads(out.data, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (j == NULL) {
        fail_msg("%s %s: no JSON: %.400s", method, path, out.data);
    }
    kg_buf_deinit(&out);
    return j;
}

const char *svc_text(const json_t *j, const char *name)
{
    const char *t = json_string_value(json_object_get(j, name));
    return t != NULL ? t : "";
}

void svc_await(const char *id, const char *state)
{
    char path[128], now[32] = "";
    snprintf(path, sizeof path, "/v1/evaluations/%s", id);
    for (int64_t until = patience(); strcmp(now, state) != 0; rest()) {
        json_t *j = svc_json(200, "GET", path, "");
        snprintf(now, sizeof now, "%s", svc_text(j, "state"));
        json_decref(j);
        if (kg_clock_ns() > until) {
            fail_msg("job %s is %s, not %s", id, now, state);
        }
    }
}

int svc_kgym(char text[4096], const char *fmt, ...)
{
    char words[1024], line[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    snprintf(line, sizeof line, "%s %s 2>&1", cobject_built("kgym"), words);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, 4095, f);
    text[n] = '\0';
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
