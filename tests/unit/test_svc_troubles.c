/* The service in trouble that is no kill: a full disk, Redis that is away, a wall clock that jumps,
 * connections that say half of a request, and clients that do not read. And a password that stands
 * on no command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "sanitized.h"
#include "svc/job.h"
#include "tests/support/cobject.h"
#include "tests/support/redis_server.h"
#include "tests/support/svc_rig.h"

#define MIB 1048576

static struct redis_server server;

static void need_redis(void)
{
    if (!redis_server_there()) {
        print_message("skipped: no redis-server is installed\n");
        skip();
    }
    redis_server_start(&server, NULL);
}

static void await_ready(void)
{
    int64_t until = kg_clock_ns() + INT64_C(120000000000);
    while (svc_request("GET", "/v1/ready", "", "", 0, NULL) != 200) {
        assert_true(kg_clock_ns() < until);
        usleep(20000);
    }
}

static int64_t jobs_in(const char *state)
{
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    int64_t n = json_integer_value(json_object_get(json_object_get(j, "jobs"), state));
    json_decref(j);
    return n;
}

/* --- a full disk --- */

static int post(int number, int words, struct kg_buf *body, struct kg_buf *answer)
{
    kg_buf_reset(body);
    kg_buf_addf(body, "{\"problem\": \"silu\", \"key\": \"k%d\", \"reply\": \"", number);
    for (int i = 0; i < words; i++) {
        kg_buf_adds(body, "word ");
    }
    kg_buf_adds(body, "\"}");
    return svc_request("POST", "/v1/evaluations", "", body->data, body->len, answer);
}

static int post_large(int number, struct kg_buf *body, struct kg_buf *answer)
{
    return post(number, 20000, body, answer);
}

/* Where a large job had no room, small ones may have, and what the question itself writes. How many
 * jobs were accepted, of numbers from this one on. */
static int until_not_ready(int number, struct kg_buf *body, struct kg_buf *answer)
{
    int accepted = 0;
    for (int i = 0; svc_request("GET", "/v1/ready", "", "", 0, NULL) == 200; i++) {
        assert_true(i < 1000);
        accepted += post(number + i, 1, body, answer) == 202;
    }
    return accepted;
}

/* By any way in, in the words of each, before the last bytes are gone. */
static void nothing_new_is_accepted(void)
{
    static const struct {
        const char *path, *body, *member, *word;
    } ways[] = {
        {"/v1/evaluations", "{\"problem\": \"silu\", \"reply\": \"a\"}", "code", "disk_full"},
        {"/v1/batches", "{\"id\": \"a\", \"problem\": \"silu\", \"reply\": \"a\"}", "code",
         "disk_full"},
        {"/v1/reward", "{\"prompt\": \"a\", \"response\": \"a\", \"label\": \"silu\"}", "code",
         "disk_full"},
        {"/v1/trajectories", "{\"problem\": \"silu\"}", "code", "disk_full"},
        {"/evaluate",
         "{\"task_id\": \"t\", \"reference_code\": \"class Model: pass\", \"kernel_code\": "
         "\"class ModelNew: pass\"}",
         "detail", "the service's disk is full: ask again"},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        json_t *j = svc_json(503, "POST", ways[i].path, ways[i].body);
        assert_string_equal(svc_text(j, ways[i].member), ways[i].word);
        json_decref(j);
    }
    json_t *j = svc_json(503, "GET", "/v1/ready", "");
    assert_string_equal(svc_text(j, "code"), "disk_full");
    json_decref(j);
    assert_int_equal(svc_request("GET", "/v1/live", "", "", 0, NULL), 200);
    j = svc_json(200, "GET", "/v1/evaluations?limit=1", "");
    const json_t *job = json_array_get(json_object_get(j, "evaluations"), 0);
    char path[64];
    snprintf(path, sizeof path, "/v1/evaluations/%s", svc_text(job, "id"));
    assert_int_equal(svc_request("DELETE", path, "", "", 0, NULL), 200); /* that makes room */
    json_decref(j);
}

static void a_full_disk_refuses_and_keeps(void **state)
{
    enum { MOST = 200 };
    char path[128];
    struct kg_buf body, answer;
    int accepted = 0, status = 202;
    (void)state;
    snprintf(path, sizeof path, "%s/store", svc_folder());
    assert_int_equal(mkdir(path, 0700), 0);
    if (mount("none", path, "tmpfs", 0, "size=4m") != 0) {
        print_message("skipped: cannot mount a small disk: %s\n", strerror(errno));
        skip();
    }
    kg_buf_init(&body, MIB);
    kg_buf_init(&answer, MIB);
    svc_start("--no-work --free-mb 0");
    assert_int_equal(svc_request("GET", "/v1/ready", "", "", 0, NULL), 200);
    while (accepted < MOST && (status = post_large(accepted, &body, &answer)) == 202) {
        accepted++;
    }
    assert_int_equal(status, 503);
    assert_true(accepted > 0);
    assert_int_equal(jobs_in("waiting"), accepted);
    assert_int_equal(post_large(accepted, &body, &answer), 503);
    int small = until_not_ready(MOST, &body, &answer);
    assert_int_equal(svc_request("GET", "/v1/ready", "", "", 0, NULL), 503);
    assert_int_equal(mount("none", path, "tmpfs", MS_REMOUNT, "size=64m"), 0);
    assert_int_equal(svc_request("GET", "/v1/ready", "", "", 0, NULL), 200);
    assert_int_equal(post_large(accepted, &body, &answer), 202); /* there is room again */
    assert_int_equal(post_large(0, &body, &answer), 202);
    assert_int_equal(jobs_in("waiting"), accepted + small + 1);
    assert_int_equal(svc_end(SIGKILL), -1);
    svc_start("--no-work --free-mb 32");
    assert_int_equal(jobs_in("waiting"), accepted + small + 1);
    assert_int_equal(mount("none", path, "tmpfs", MS_REMOUNT, "size=16m"), 0);
    nothing_new_is_accepted();
    assert_int_equal(svc_end(SIGTERM), 0);
    assert_int_equal(umount2(path, MNT_DETACH), 0);
    kg_buf_deinit(&body);
    kg_buf_deinit(&answer);
}

/* --- Redis --- */

/* Redis is away, and the api process dies meanwhile: a new one waits for Redis to come back. */
static void redis_comes_back(void **state)
{
    char options[256];
    (void)state;
    need_redis();
    snprintf(options, sizeof options, "--no-work --store %s", server.place);
    svc_start(options);
    json_decref(svc_json(202, "POST", "/v1/evaluations",
                         "{\"problem\": \"silu\", \"reply\": \"a\", \"key\": \"k\"}"));
    redis_server_kill(&server);
    assert_int_equal(svc_request("GET", "/v1/ready", "", "", 0, NULL), 503);
    for (int i = 0; i < 2; i++) {
        kill(svc_child("serve-api"), SIGKILL);
        usleep(500000);
        assert_int_equal(waitpid(svc_pid, &(int){0}, WNOHANG), 0);
    }
    redis_server_again(&server);
    await_ready();
    assert_int_equal(jobs_in("waiting"), 1);
    assert_int_equal(svc_end(SIGTERM), 0);
    redis_server_end(&server);
}

static bool command_line_has(pid_t pid, const char *word)
{
    char path[64];
    struct kg_buf words;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&words, 1 << 16);
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    assert_int_equal(kg_file_read(path, &words, &err), KG_OK);
    bool has = memmem(words.data, words.len, word, strlen(word)) != NULL;
    kg_buf_deinit(&words);
    return has;
}

static void a_password_is_on_no_command_line(void **state)
{
    char path[128], options[256], text[256], command[512];
    (void)state;
    need_redis();
    assert_true(redis_server_tell(
        &server, "ACL SETUSER few on >secretword ~kgym:* -@all " REDIS_SERVER_COMMANDS));
    snprintf(path, sizeof path, "%s/store-url", svc_folder());
    int n = snprintf(text, sizeof text, "redis+unix://few:secretword@%s/socket\n", server.folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, (size_t)n, f), n);
    fclose(f);
    snprintf(command, sizeof command, "%s serve --port 0 --folder %s/x --store-file %s 2>&1",
             cobject_built("kgym"), svc_folder(), path);
    assert_int_equal(chmod(path, 0640), 0);
    f = popen(command, "r"); /* others may read it: refused, and not shown */
    assert_non_null(f);
    n = (int)fread(text, 1, sizeof text - 1, f);
    text[n > 0 ? n : 0] = '\0';
    assert_int_equal(WEXITSTATUS(pclose(f)), 2);
    assert_non_null(strstr(text, "chmod 600"));
    assert_null(strstr(text, "secretword"));
    assert_int_equal(chmod(path, 0600), 0);
    snprintf(options, sizeof options, "--store-file %s --jobs 1", path);
    svc_start(options);
    json_decref(svc_json(202, "POST", "/v1/evaluations",
                         "{\"problem\": \"silu\", \"reply\": \"a\", \"key\": \"k\"}"));
    assert_false(command_line_has(svc_pid, "secretword"));
    assert_false(command_line_has(svc_child("serve-api"), "secretword"));
    assert_false(command_line_has(svc_child("serve-worker"), "secretword"));
    assert_int_equal(svc_end(SIGTERM), 0);
    redis_server_end(&server);
}

/* --- clocks --- */

/* What claims and deadlines are measured by does not follow the wall clock. */
static void a_wall_clock_that_jumps_moves_no_deadline(void **state)
{
    static const int64_t jumps[] = {86400000, -86400000, 3600000};
    int64_t before = kg_svc_now_ms();
    (void)state;
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        kg_clock_wall_inject(jumps[i]);
        int64_t now = kg_svc_now_ms();
        assert_true(now >= before && now - before < 1800000);
    }
    kg_clock_wall_inject(0);
}

/* --- clients --- */

static void half_a_request_holds_up_nobody(void **state)
{
    enum { N = 60 };
    static const char *const half[] = {"", "POST /v1/eval", "POST /v1/evaluations HTTP/1.1\r\n",
                                       "POST /v1/evaluations HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                       "Content-Length: 1000\r\n\r\n{\"problem\""};
    int s[N];
    (void)state;
    svc_start("--jobs 1");
    for (int i = 0; i < N; i++) {
        s[i] = svc_open("/v1/live", "");
        const char *text = half[i % 4];
        assert_true(send(s[i], text, strlen(text), MSG_NOSIGNAL) >= 0);
    }
    json_decref(svc_json(200, "POST", "/v1/evaluations?wait=200",
                         "{\"problem\": \"silu\", \"reply\": \"nothing\"}"));
    for (int i = 0; i < N; i++) {
        close(s[i]);
    }
    json_decref(svc_json(200, "POST", "/v1/evaluations?wait=200",
                         "{\"problem\": \"silu\", \"reply\": \"none\"}"));
}

static int64_t resident_mib(pid_t pid)
{
    char path[64];
    long long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d %lld", &pages), 1);
    fclose(f);
    return pages * getpagesize() / MIB;
}

/* Some streams of events that nobody reads cost a bounded memory, however much there would be to
 * read; and a reader that comes back gets all of it, in order. */
static void who_does_not_read_costs_a_bounded_memory(void **state)
{
    enum { READERS = 24, LINES = 10000 };
    struct kg_buf lines, got;
    int s[READERS];
    const int small = 4096, usual = 1 << 18;
    (void)state;
    if (is_sanitized(getenv("KGYM_BUILD"))) {
        print_message("skip: sanitized, memory is that of the sanitizer\n");
        skip();
    }
    kg_buf_init(&lines, 16 * MIB);
    kg_buf_init(&got, 64 * MIB);
    svc_start("--no-work");
    for (int i = 0; i < LINES; i++) {
        kg_buf_addf(&lines, "{\"id\": \"l%d\", \"problem\": \"silu\", \"reply\": \"no\"}\n", i);
    }
    json_decref(svc_json(202, "POST", "/v1/batches", lines.data)); /* takes what a batch takes */
    pid_t api = svc_child("serve-api");
    int64_t before = resident_mib(api), most = 0;
    for (int i = 0; i < READERS; i++) {
        s[i] = svc_open("/v1/events", "Accept: text/event-stream\r\n");
        setsockopt(s[i], SOL_SOCKET, SO_RCVBUF, i == 0 ? &usual : &small, sizeof small);
    }
    json_decref(svc_json(202, "POST", "/v1/batches", lines.data));
    for (int i = 0; i < 3; i++) { /* streams go on each second */
        int64_t now = resident_mib(api);
        most = now > most ? now : most;
        usleep(600000);
    }
    print_message("%lld MiB, then at most %lld MiB\n", (long long)before, (long long)most);
    assert_true(most - before < 2 * READERS); /* all events are about 3 MiB for each reader */
    svc_read_until(s[0], "id: 20000\n", &got);
    char word[32];
    const char *at = got.data;
    for (int i = 1; i <= 20000; i += 500) {
        snprintf(word, sizeof word, "\nid: %d\n", i);
        at = strstr(at, word);
        assert_non_null(at);
    }
    for (int i = 0; i < READERS; i++) {
        close(s[i]);
    }
    kg_buf_deinit(&lines);
    kg_buf_deinit(&got);
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_wall_clock_that_jumps_moves_no_deadline),
        T(a_full_disk_refuses_and_keeps),
        T(redis_comes_back),
        T(a_password_is_on_no_command_line),
        T(half_a_request_holds_up_nobody),
        T(who_does_not_read_costs_a_bounded_memory),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
