/* The service from outside: `kgym show`, `kgym top`, `kgym store`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/term.h"
#include "svc/store_backup.h"
#include "svc/store_sqlite.h"
#include "tests/support/cobject.h"
#include "tests/support/redis_server.h"
#include "tests/support/svc_rig.h"
#include "tests/support/svc_stub.h"

#define OK_RECORD SVC_STUB_RECORD("\"ok\"")

static void has(const char *text, const char *word)
{
    if (strstr(text, word) == NULL) {
        fail_msg("no `%s` in: %s", word, text);
    }
}

static void submit(char id[32])
{
    json_t *j = svc_json(202, "POST", "/v1/evaluations",
                         "{\"problem\": \"silu\", \"reply\": \"secret words\"}");
    snprintf(id, 32, "%s", svc_text(j, "id"));
    json_decref(j);
}

static void show_tells_a_whole_life(void **state)
{
    char id[32], text[4096];
    (void)state;
    svc_start("--no-work");
    submit(id);
    assert_int_equal(svc_kgym(text, "show %s --url http://127.0.0.1:%d", id, svc_port), 0);
    has(text, "waiting");
    has(text, "waits for");
    svc_stub_fail(svc_stub_claim("cpu"));
    svc_stub_finish(svc_stub_claim("cpu"), OK_RECORD, "ok", 200);
    assert_int_equal(svc_kgym(text, "show %s --url http://127.0.0.1:%d", id, svc_port), 0);
    static const char *const words[] = {"done",   "attempts   2", "submitted",     "claimed",
                                        "failed", "finished",     "verdict    ok", "compile"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        has(text, words[i]);
    }
    assert_null(strstr(text, "secret"));
    assert_int_equal(svc_kgym(text, "show %s --json --url http://127.0.0.1:%d", id, svc_port), 0);
    json_t *j = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(j, "events")), 5);
    json_decref(j);
    id[25] = id[25] == '0' ? '1' : '0';
    assert_int_equal(svc_kgym(text, "show %s --url http://127.0.0.1:%d", id, svc_port), 1);
    assert_int_equal(svc_kgym(text, "show no-id --url http://127.0.0.1:%d", svc_port), 2);
    assert_int_equal(svc_kgym(text, "show %s --url https://127.0.0.1/x", id), 2);
    assert_int_equal(svc_kgym(text, "show"), 2);
    assert_int_equal(svc_end(SIGTERM), 0);
    assert_int_equal(svc_kgym(text, "show %s --url http://127.0.0.1:%d", id, svc_port), 2);
    has(text, "nobody answers");
}

static void top_is_printed_once_to_a_file(void **state)
{
    char id[32], text[4096];
    (void)state;
    svc_start("--no-work");
    submit(id);
    svc_stub_finish(svc_stub_claim("cpu"), OK_RECORD, "ok", 200);
    submit(id);
    assert_int_equal(svc_kgym(text, "top --url http://127.0.0.1:%d", svc_port), 0);
    has(text, "waiting 1 in 1 lanes");
    has(text, "done 1");
    has(text, "  ok ");
    assert_null(strstr(text, "\033")); /* no terminal, no escapes */
    assert_int_equal(svc_kgym(text, "top --never"), 2);
}

/* Starts kgym with these words on a terminal of 60 columns, and returns the other end of it. */
static int on_terminal(const char *verb, const char *word, pid_t *pid)
{
    const struct winsize size = {.ws_row = 24, .ws_col = 60};
    char url[64];
    int terminal;
    snprintf(url, sizeof url, "http://127.0.0.1:%d", svc_port);
    *pid = forkpty(&terminal, NULL, NULL, &size);
    if (*pid == 0) {
        setenv("TERM", "xterm", 1);
        execl(cobject_built("kgym"), "kgym", verb, "--url", url, word, (char *)NULL);
        _exit(9);
    }
    assert_true(*pid > 0);
    return terminal;
}

/* Adds to text until it has the word, or, word NULL, until the terminal is closed. */
static void read_until(int terminal, const char *word, struct kg_buf *text)
{
    char part[1024];
    while (word == NULL || strstr(text->data, word) == NULL) {
        struct pollfd p = {.fd = terminal, .events = POLLIN};
        ssize_t n = poll(&p, 1, 60000) == 1 ? read(terminal, part, sizeof part) : 0;
        if (n <= 0 && word == NULL) {
            return;
        }
        if (n <= 0) {
            fail_msg("no `%s` in: %s", word, text->data);
        }
        kg_buf_add(text, part, (size_t)n);
    }
}

static int status_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void top_goes_on_after_an_outage(void **state)
{
    struct kg_buf text;
    pid_t pid;
    (void)state;
    svc_start("--no-work");
    kg_buf_init(&text, 1 << 20);
    int terminal = on_terminal("top", NULL, &pid);
    read_until(terminal, "none: jobs wait", &text);
    assert_int_equal(svc_end(SIGTERM), 0);
    read_until(terminal, "asking again", &text);
    svc_start("--no-work");
    kg_buf_reset(&text);
    read_until(terminal, "none: jobs wait", &text);
    kill(pid, SIGINT);
    assert_int_equal(status_of(pid), 0);
    close(terminal);
    kg_buf_deinit(&text);
}

static void show_keeps_to_the_width(void **state)
{
    struct kg_buf text;
    char id[32];
    pid_t pid;
    (void)state;
    svc_start("--no-work");
    submit(id);
    svc_stub_finish(svc_stub_claim("cpu"),
                    "{\"schema\": \"kgym.record/1\", \"error\": null, \"verdict\": \"wrong\",  "
                    "\"message\": \"a message of many words, so many that "
                    "a terminal of sixty columns can't have all of them on one line\"}",
                    "wrong", 200);
    kg_buf_init(&text, 1 << 20);
    int terminal = on_terminal("show", id, &pid);
    read_until(terminal, NULL, &text);
    assert_int_equal(status_of(pid), 0);
    assert_non_null(strstr(text.data, "one line"));
    for (char *line = strtok(text.data, "\r\n"); line != NULL; line = strtok(NULL, "\r\n")) {
        if (kg_term_columns(line) > 60) {
            fail_msg("too wide: %s", line);
        }
    }
    close(terminal);
    kg_buf_deinit(&text);
}

/* --- backup --- */

static pid_t load(int n)
{
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 0; i < n; i++) {
            char id[32];
            submit(id);
            svc_stub_finish(svc_stub_claim("cpu"), OK_RECORD, "ok", 200);
        }
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

/* Copies are made while jobs end. Each is a store: what it has accepted is there, once, with its
 * record, and its service goes on. */
static void a_copy_under_load_is_whole(void **state)
{
    enum { COPIES = 4, JOBS = 60 };
    struct kg_svc_inventory last = {0};
    char text[4096], line[256];
    int status;
    (void)state;
    svc_start("--no-work");
    pid_t pid = load(JOBS);
    for (int i = 0; i < COPIES; i++) {
        usleep(100000);
        assert_int_equal(
            svc_kgym(text, "store backup %s/store --to %s/copy%d", svc_folder(), svc_folder(), i),
            0);
        has(text, " 0 damaged");
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    snprintf(line, sizeof line, "%s/copy%d", svc_folder(), COPIES - 1);
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_svc_store_check(line, &last, &err), KG_OK);
    assert_int_equal(last.damaged, 0);
    assert_int_equal(svc_end(SIGTERM), 0);
    snprintf(line, sizeof line, "rm -r %s/store", svc_folder());
    assert_int_equal(system(line), 0);
    assert_int_equal(svc_kgym(text, "store restore %s/copy%d --to %s/store", svc_folder(),
                              COPIES - 1, svc_folder()),
                     0);
    svc_start("--no-work");
    json_t *j = svc_json(200, "GET", "/v1/evaluations?limit=1000", "");
    const json_t *list = json_object_get(j, "evaluations");
    assert_int_equal(json_array_size(list), last.jobs);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *job = json_array_get(list, i);
        snprintf(line, sizeof line, "/v1/evaluations/%s", svc_text(job, "id"));
        json_t *one = svc_json(200, "GET", line, "");
        assert_int_equal(json_is_object(json_object_get(one, "record")),
                         strcmp(svc_text(job, "state"), "done") == 0);
        json_decref(one);
    }
    json_decref(j);
}

static void make_store(void)
{
    char id[32];
    svc_start("--no-work");
    submit(id);
    svc_stub_finish(svc_stub_claim("cpu"), OK_RECORD, "ok", 200);
    assert_int_equal(svc_end(SIGTERM), 0);
}

static void what_is_damaged_is_no_backup(void **state)
{
    char text[4096], line[256];
    struct stat st;
    (void)state;
    make_store();
    assert_int_equal(svc_kgym(text, "store check %s/store", svc_folder()), 0);
    assert_int_equal(svc_kgym(text, "doctor --store %s/store --json", svc_folder()), 0);
    json_t *j = json_loads(text, 0, NULL);
    assert_true(json_is_true(json_object_get(j, "keeps")));
    assert_int_equal(json_integer_value(json_object_get(j, "records")), 1);
    json_decref(j);
    assert_int_equal(svc_kgym(text, "doctor --store %s", svc_folder()), 2);
    snprintf(line, sizeof line,
             "for f in %s/store/segments/*.zst; do printf X | dd of=$f bs=1 "
             "seek=20 conv=notrunc 2>/dev/null; done",
             svc_folder());
    assert_int_equal(system(line), 0);
    assert_int_equal(svc_kgym(text, "store check %s/store", svc_folder()), 1);
    has(text, "1 damaged");
    assert_int_equal(svc_kgym(text, "doctor --store %s/store", svc_folder()), 1);
    has(text, "restore a backup");
    assert_int_equal(
        svc_kgym(text, "store backup %s/store --to %s/copy", svc_folder(), svc_folder()), 2);
    snprintf(line, sizeof line, "%s/copy", svc_folder());
    assert_int_equal(stat(line, &st), -1); /* whole or not at all */
    snprintf(line, sizeof line, "test -z \"$(ls -d %s/copy* 2>/dev/null)\"", svc_folder());
    assert_int_equal(system(line), 0);
}

/* Their parts are in segments as records are, and may lie behind the last one. */
static void a_copy_has_the_trajectories(void **state)
{
    char text[4096], path[128];
    (void)state;
    svc_start("--no-work");
    json_t *j = svc_json(200, "POST", "/v1/trajectories",
                         "{\"problem\": \"silu\", \"meta\": {\"kept\": \"word\"}}");
    snprintf(path, sizeof path, "/v1/trajectories/%s/turns", svc_text(j, "id"));
    json_decref(
        svc_json(202, "POST", path, "{\"n\": 1, \"reply\": \"a\", \"extra\": {\"ids\": [1, 2]}}"));
    assert_int_equal(
        svc_kgym(text, "store backup %s/store --to %s/copy", svc_folder(), svc_folder()), 0);
    has(text, "1 jobs, 2 records");
    assert_int_equal(svc_end(SIGTERM), 0);
    assert_int_equal(svc_kgym(text, "store check %s/copy", svc_folder()), 0);
    char command[256];
    snprintf(command, sizeof command, "rm -r %s/store", svc_folder());
    assert_int_equal(system(command), 0);
    assert_int_equal(
        svc_kgym(text, "store restore %s/copy --to %s/store", svc_folder(), svc_folder()), 0);
    svc_start("--no-work");
    snprintf(path, sizeof path, "/v1/trajectories/%s", svc_text(j, "id"));
    json_decref(j);
    j = svc_json(200, "GET", path, "");
    assert_string_equal(svc_text(json_object_get(j, "meta"), "kept"), "word");
    const json_t *turn = json_array_get(json_object_get(j, "turns"), 0);
    assert_int_equal(json_array_size(json_object_get(json_object_get(turn, "extra"), "ids")), 2);
    json_decref(j);
}

/* A service that asked for tokens does so after it was restored. */
static void a_copy_has_the_tokens(void **state)
{
    char text[4096], path[128];
    struct stat st;
    (void)state;
    make_store();
    assert_int_equal(svc_kgym(text, "token add --name a --folder %s/store", svc_folder()), 0);
    assert_int_equal(
        svc_kgym(text, "store backup %s/store --to %s/copy", svc_folder(), svc_folder()), 0);
    snprintf(path, sizeof path, "%s/copy/tokens", svc_folder());
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(svc_kgym(text, "token list --folder %s/copy", svc_folder()), 0);
    has(text, "submit,read");
}

static void a_copy_replaces_nothing(void **state)
{
    char text[4096], path[128];
    sqlite3 *db;
    (void)state;
    make_store();
    assert_int_equal(
        svc_kgym(text, "store backup %s/store --to %s/store", svc_folder(), svc_folder()), 2);
    has(text, "must be a new folder");
    assert_int_equal(svc_kgym(text, "store backup %s --to %s/copy", svc_folder(), svc_folder()), 2);
    has(text, "has no store.db");
    assert_int_equal(svc_kgym(text, "store backup %s/store", svc_folder()), 2);
    assert_int_equal(svc_kgym(text, "store bakcup %s/store --to x", svc_folder()), 2);
    has(text, "backup");
    snprintf(path, sizeof path, "%s/store/store.db", svc_folder());
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(
        svc_kgym(text, "store backup %s/store --to %s/copy", svc_folder(), svc_folder()), 2);
    has(text, "use a newer kgym");
}

/* A server that may lose what it has accepted is shown, with the setting that is wrong. */
static void doctor_looks_at_redis(void **state)
{
    static const char *const lax[] = {"appendfsync everysec", NULL};
    struct redis_server server;
    char text[4096];
    (void)state;
    if (!redis_server_there()) {
        print_message("skipped: no redis-server is installed\n");
        return;
    }
    redis_server_start(&server, NULL);
    assert_int_equal(svc_kgym(text, "doctor --store %s", server.place), 0);
    has(text, "keeps what it has accepted");
    redis_server_end(&server);
    redis_server_start(&server, lax);
    assert_int_equal(svc_kgym(text, "doctor --store %s", server.place), 1);
    has(text, "appendfsync");
    redis_server_end(&server);
    assert_int_equal(svc_kgym(text, "doctor --store %s", server.place), 2);
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(show_tells_a_whole_life),     T(top_is_printed_once_to_a_file),
        T(top_goes_on_after_an_outage), T(show_keeps_to_the_width),
        T(a_copy_under_load_is_whole),  T(what_is_damaged_is_no_backup),
        T(a_copy_has_the_trajectories), T(a_copy_has_the_tokens),
        T(a_copy_replaces_nothing),     cmocka_unit_test(doctor_looks_at_redis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
