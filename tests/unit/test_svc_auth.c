/* Tokens: their file, and a service that asks for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "svc/auth.h"
#include "svc/http.h"
#include "svc/tokens.h"
#include "tests/support/cobject.h"
#include "tests/support/svc_rig.h"

#define EMPTY "{\"problem\": \"silu\", \"reply\": \"nothing\"}"

static struct kg_err err;

static const char *store(void)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/store", svc_folder());
    return path;
}

static void add(const char *name, unsigned scopes, char token[KG_SVC_TOKEN_LEN])
{
    assert_int_equal(kg_svc_tokens_add(store(), name, scopes, token, &err), KG_OK);
}

static void write_tokens(const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s/tokens", store());
    assert_int_equal(kg_file_mkdirs(store(), 0700, &err), KG_OK);
    assert_int_equal(kg_file_write_atomic(path, text, strlen(text), &err), KG_OK);
    assert_int_equal(chmod(path, 0600), 0);
}

/* --- the file --- */

static void a_token_is_kept_by_its_hash(void **state)
{
    char token[KG_SVC_TOKEN_LEN], other[KG_SVC_TOKEN_LEN], path[160], hash[KG_SHA256_HEX];
    struct kg_svc_token *all;
    struct kg_buf text;
    struct stat st;
    size_t n;
    bool there;
    (void)state;
    add("a", KG_SVC_SUBMIT | KG_SVC_READ, token);
    add("b", KG_SVC_WORKER, other);
    assert_string_not_equal(token, other);
    snprintf(path, sizeof path, "%s/tokens", store());
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    kg_buf_init(&text, 1 << 16);
    assert_int_equal(kg_file_read(path, &text, &err), KG_OK);
    kg_sha256_hex(token, strlen(token), hash);
    assert_non_null(strstr(text.data, hash));
    assert_null(strstr(text.data, token + 5));
    kg_buf_deinit(&text);
    assert_int_equal(kg_svc_tokens_load(store(), &all, &n, &there, &err), KG_OK);
    assert_int_equal(n, 2);
    assert_string_equal(all[0].name, "a");
    assert_int_equal(all[0].scopes, KG_SVC_SUBMIT | KG_SVC_READ);
    free(all);
    assert_int_equal(kg_svc_tokens_add(store(), "a", KG_SVC_READ, token, &err), KG_E_USAGE);
    assert_int_equal(kg_svc_tokens_add(store(), "a/b", KG_SVC_READ, token, &err), KG_E_USAGE);
    assert_int_equal(kg_svc_tokens_add(store(), "", KG_SVC_READ, token, &err), KG_E_USAGE);
    assert_int_equal(kg_svc_tokens_revoke(store(), "c", &err), KG_E_NOT_FOUND);
}

static void a_client_reads_its_token(void **state)
{
    static const struct {
        enum kg_code code;
        const char *tail;
    } files[] = {{KG_OK, "\n"}, {KG_OK, ""}, {KG_OK, "\r\nmore\n"}, {KG_E_INPUT, "0\n"}};
    char token[KG_SVC_TOKEN_LEN], got[KG_SVC_TOKEN_LEN], path[160], text[128];
    (void)state;
    assert_int_equal(kg_svc_token_new(token, &err), KG_OK);
    snprintf(path, sizeof path, "%s/mine", svc_folder());
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(text, sizeof text, "%s%s", token, files[i].tail);
        assert_int_equal(kg_file_write_atomic(path, text, strlen(text), &err), KG_OK);
        assert_int_equal(kg_svc_token_read(path, got, &err), files[i].code);
        assert_true(files[i].code != KG_OK || strcmp(got, token) == 0);
    }
    assert_int_equal(kg_file_write_atomic(path, "", 0, &err), KG_OK);
    assert_int_equal(kg_svc_token_read(path, got, &err), KG_E_INPUT);
    unlink(path);
    assert_int_equal(kg_svc_token_read(path, got, &err), KG_E_NOT_FOUND);
}

/* A file that was named, else a variable, else a file that a variable names. */
static void a_client_finds_its_token(void **state)
{
    char token[3][KG_SVC_TOKEN_LEN], got[KG_SVC_TOKEN_LEN], path[2][160];
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kg_svc_token_new(token[i], &err), KG_OK);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/mine-%d", svc_folder(), i);
        assert_int_equal(kg_file_write_atomic(path[i], token[i], strlen(token[i]), &err), KG_OK);
    }
    setenv("KGYM_TOKEN_FILE", path[1], 1);
    setenv("KGYM_TOKEN", token[2], 1);
    assert_int_equal(kg_svc_token_find(path[0], got, &err), KG_OK);
    assert_string_equal(got, token[0]);
    assert_int_equal(kg_svc_token_find(NULL, got, &err), KG_OK);
    assert_string_equal(got, token[2]);
    setenv("KGYM_TOKEN", "secret", 1);
    assert_int_equal(kg_svc_token_find(NULL, got, &err), KG_E_USAGE);
    assert_null(strstr(err.message, "secret"));
    setenv("KGYM_TOKEN", "", 1);
    assert_int_equal(kg_svc_token_find(NULL, got, &err), KG_OK);
    assert_string_equal(got, token[1]);
    unsetenv("KGYM_TOKEN");
    setenv("KGYM_TOKEN_FILE", "", 1);
    assert_int_equal(kg_svc_token_find(NULL, got, &err), KG_OK);
    assert_string_equal(got, "");
    unsetenv("KGYM_TOKEN_FILE");
    unlink(path[0]);
    unlink(path[1]);
}

static void scopes_are_words(void **state)
{
    unsigned scopes;
    char text[64];
    (void)state;
    assert_int_equal(kg_svc_scopes_parse("read,submit", &scopes, &err), KG_OK);
    assert_int_equal(scopes, KG_SVC_SUBMIT | KG_SVC_READ);
    kg_svc_scopes_text(KG_SVC_ALL, text);
    assert_string_equal(text, "submit,read,worker,admin");
    assert_int_equal(kg_svc_scopes_parse("", &scopes, &err), KG_E_USAGE);
    assert_int_equal(kg_svc_scopes_parse("read,", &scopes, &err), KG_E_USAGE);
    assert_int_equal(kg_svc_scopes_parse("rea", &scopes, &err), KG_E_USAGE);
}

static unsigned scopes_of(struct kg_svc_auth *a, const char *token)
{
    return kg_svc_auth_scopes(a, token, token != NULL ? strlen(token) : 0);
}

static void who_is_let_in_follows_the_file(void **state)
{
    char first[KG_SVC_TOKEN_LEN], second[KG_SVC_TOKEN_LEN], path[160];
    (void)state;
    struct kg_svc_auth *a = kg_svc_auth_open(store(), "mine", false);
    assert_int_equal(scopes_of(a, NULL), KG_SVC_ALL);
    assert_int_equal(scopes_of(a, "anything"), KG_SVC_ALL);
    assert_int_equal(scopes_of(a, "mine"), KG_SVC_WORKER);
    add("a", KG_SVC_READ, first);
    assert_int_equal(scopes_of(a, NULL), 0);
    assert_int_equal(scopes_of(a, "anything"), 0);
    assert_int_equal(scopes_of(a, "mine"), KG_SVC_WORKER);
    assert_int_equal(scopes_of(a, first), KG_SVC_READ);
    add("b", KG_SVC_ADMIN, second);
    assert_int_equal(scopes_of(a, second), KG_SVC_ADMIN);
    assert_int_equal(kg_svc_tokens_revoke(store(), "a", &err), KG_OK);
    assert_int_equal(scopes_of(a, first), 0);
    assert_int_equal(kg_svc_tokens_revoke(store(), "b", &err), KG_OK);
    assert_int_equal(scopes_of(a, NULL), 0); /* the last token that goes opens no door */
    snprintf(path, sizeof path, "%s/tokens", store());
    unlink(path);
    assert_int_equal(scopes_of(a, NULL), KG_SVC_ALL);
    kg_svc_auth_close(a);
}

/* Beyond loopback a file that is gone, or damaged, lets nobody in. */
static void a_file_that_says_nothing_lets_nobody_in(void **state)
{
    static const char *const damaged[] = {
        "",
        "{",
        "[]",
        "{\"schema\": \"kgym.tokens/2\", \"tokens\": []}",
        "{\"schema\": \"kgym.tokens/1\", \"tokens\": [{}]}",
        "{\"schema\": \"kgym.tokens/1\", \"tokens\": [{\"name\": \"a\", \"scopes\": [\"all\"], "
        "\"sha256\": \"0000000000000000000000000000000000000000000000000000000000000000\"}]}"};
    char token[KG_SVC_TOKEN_LEN], path[160];
    (void)state;
    struct kg_svc_auth *a = kg_svc_auth_open(store(), NULL, false);
    struct kg_svc_auth *needed = kg_svc_auth_open(store(), NULL, true);
    assert_int_equal(scopes_of(needed, NULL), 0);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        write_tokens(damaged[i]);
        assert_int_equal(scopes_of(a, NULL), 0);
        assert_int_equal(scopes_of(a, ""), 0);
    }
    snprintf(path, sizeof path, "%s/tokens", store());
    unlink(path);
    add("a", KG_SVC_READ, token);
    assert_int_equal(scopes_of(needed, token), KG_SVC_READ);
    assert_int_equal(chmod(path, 0622), 0); /* others may have written it */
    assert_int_equal(scopes_of(a, token), 0);
    kg_svc_auth_close(a);
    kg_svc_auth_close(needed);
}

/* --- a service --- */

static int ask(const char *token, const char *method, const char *path, const char *body)
{
    char headers[256];
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
    return svc_request(method, path, token[0] != '\0' ? headers : "", body, strlen(body), NULL);
}

/* Some clients take a token in their URL alone, as `http://any:TOKEN@host`. */
static void a_token_may_be_a_password(void **state)
{
    static const struct {
        const char *before;
        int status;
    } asked[] = {{"any:", 200}, {":", 200}, {"", 401}, {"any:x", 401}};
    char token[KG_SVC_TOKEN_LEN], plain[200], coded[300], headers[400];
    (void)state;
    svc_start("--no-work");
    add("t", KG_SVC_READ, token);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        int n = snprintf(plain, sizeof plain, "%s%s", asked[i].before, token);
        EVP_EncodeBlock((unsigned char *)coded, (const unsigned char *)plain, n);
        snprintf(headers, sizeof headers, "Authorization: Basic %s\r\n", coded);
        assert_int_equal(svc_request("GET", "/v1/stats", headers, "", 0, NULL), asked[i].status);
    }
    snprintf(headers, sizeof headers, "Authorization: Basic !!!!\r\n");
    assert_int_equal(svc_request("GET", "/v1/stats", headers, "", 0, NULL), 401);
}

static void each_scope_opens_its_routes(void **state)
{
    enum { ROUTES = 9, TOKENS = 5 };
    static const struct {
        const char *method, *path, *body;
        unsigned scope;
        int status; /* with the scope */
    } routes[ROUTES] = {
        {"POST", "/v1/evaluations", EMPTY, KG_SVC_SUBMIT, 202},
        {"POST", "/v1/reward", "{", KG_SVC_SUBMIT, 400},
        {"DELETE", "/v1/evaluations/0", "", KG_SVC_SUBMIT, 404},
        {"GET", "/v1/evaluations", "", KG_SVC_READ, 200},
        {"GET", "/v1/stats", "", KG_SVC_READ, 200},
        {"POST", "/v1/worker/claim", "{}", KG_SVC_WORKER, 400},
        {"POST", "/v1/worker/renew", "{}", KG_SVC_WORKER, 400},
        {"POST", "/v1/worker/finish", "{}", KG_SVC_WORKER, 400},
        {"POST", "/v1/evaluations/0/requeue", "", KG_SVC_ADMIN, 404},
    };
    char token[TOKENS][KG_SVC_TOKEN_LEN];
    const unsigned scopes[TOKENS] = {KG_SVC_SUBMIT, KG_SVC_READ, KG_SVC_WORKER, KG_SVC_ADMIN,
                                     KG_SVC_ALL};
    (void)state;
    svc_start("--no-work");
    for (int t = 0; t < TOKENS; t++) {
        char name[8];
        snprintf(name, sizeof name, "t%d", t);
        add(name, scopes[t], token[t]);
    }
    for (int r = 0; r < ROUTES; r++) {
        for (int t = 0; t < TOKENS; t++) {
            int wanted = (scopes[t] & routes[r].scope) != 0 ? routes[r].status : 403;
            int got = ask(token[t], routes[r].method, routes[r].path, routes[r].body);
            if (got != wanted) {
                fail_msg("%s %s, scopes %u: %d, not %d", routes[r].method, routes[r].path,
                         scopes[t], got, wanted);
            }
        }
        assert_int_equal(ask("", routes[r].method, routes[r].path, routes[r].body), 401);
        assert_int_equal(ask("kgym_0", routes[r].method, routes[r].path, routes[r].body), 401);
    }
    assert_int_equal(ask("", "GET", "/v1/live", ""), 200);
    assert_int_equal(kg_svc_tokens_revoke(store(), "t1", &err), KG_OK);
    assert_int_equal(ask(token[1], "GET", "/v1/stats", ""), 401);
    static const char named[] = "GET /v1/live HTTP/1.1\r\nHost: gym.example\r\n\r\n";
    assert_int_equal(svc_raw(named, sizeof named - 1), 200); /* a page has no token */
}

/* Its token is in no argument and in no environment. */
static void the_local_worker_has_a_token(void **state)
{
    char token[KG_SVC_TOKEN_LEN], path[64];
    struct kg_buf out, words;
    (void)state;
    add("t", KG_SVC_SUBMIT, token);
    svc_start("--jobs 1");
    kg_buf_init(&out, 1 << 20);
    kg_buf_init(&words, 1 << 20);
    char headers[128];
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
    assert_int_equal(
        svc_request("POST", "/v1/evaluations?wait=200", headers, EMPTY, strlen(EMPTY), &out), 200);
    assert_non_null(strstr(out.data, "\"no_code\""));
    const char *const roles[] = {"serve-api", "serve-worker"};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", (int)svc_child(roles[i / 2]),
                 i % 2 ? "cmdline" : "environ");
        kg_buf_reset(&words);
        assert_int_equal(kg_file_read(path, &words, &err), KG_OK);
        assert_null(memmem(words.data, words.len, "kgym_", 5));
    }
    kg_buf_deinit(&out);
    kg_buf_deinit(&words);
}

/* An answer to a token, in *out. */
static void told(const char *token, const char *method, const char *path, const char *body,
                 int wanted, struct kg_buf *out)
{
    char headers[128];
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
    kg_buf_reset(out);
    assert_int_equal(svc_request(method, path, headers, body, strlen(body), out), wanted);
}

/* Whoever knows an id, or guesses a key, and may not read learns no more than a state. */
static void who_may_not_read_learns_the_state(void **state)
{
    static const char open[] = "{\"problem\": \"axpby\", \"max_turns\": 1}";
    static const char keyed[] = "{\"problem\": \"axpby\", \"reply\": \"%s\", \"key\": \"k\"}";
    char submits[KG_SVC_TOKEN_LEN], reads[KG_SVC_TOKEN_LEN], id[32], path[128], body[200];
    struct kg_buf out;
    (void)state;
    add("s", KG_SVC_SUBMIT, submits);
    add("r", KG_SVC_SUBMIT | KG_SVC_READ, reads);
    svc_start("--jobs 1");
    kg_buf_init(&out, 1 << 20);
    snprintf(body, sizeof body, keyed, "one");
    told(submits, "POST", "/v1/evaluations?wait=200", body, 200, &out);
    json_t *j = json_loads(out.data, 0, NULL);
    snprintf(id, sizeof id, "%s", svc_text(j, "id"));
    json_decref(j);
    snprintf(path, sizeof path, "/v1/evaluations/%s", id);
    told(submits, "DELETE", path, "", 200, &out);
    assert_non_null(strstr(out.data, id));
    assert_non_null(strstr(out.data, "\"done\""));
    assert_null(strstr(out.data, "no_code"));
    assert_null(strstr(out.data, "axpby"));
    told(reads, "DELETE", path, "", 200, &out);
    assert_non_null(strstr(out.data, "no_code"));
    snprintf(body, sizeof body, keyed, "two");
    told(submits, "POST", "/v1/evaluations", body, 409, &out);
    assert_null(strstr(out.data, id));
    told(submits, "POST", "/v1/trajectories", open, 200, &out);
    j = json_loads(out.data, 0, NULL);
    snprintf(path, sizeof path, "/v1/trajectories/%s", svc_text(j, "id"));
    json_decref(j);
    told(submits, "DELETE", path, "", 200, &out);
    assert_non_null(strstr(out.data, "\"ended\""));
    assert_null(strstr(out.data, "axpby"));
    told(reads, "DELETE", path, "", 200, &out);
    assert_non_null(strstr(out.data, "axpby"));
    kg_buf_deinit(&out);
}

/* A trainer that leaves its requests open can't shut the workers out. */
static void a_token_holds_half_of_the_requests_at_most(void **state)
{
    enum { FILES = 64, OPEN = FILES / 2, HALF = OPEN / 2 };
    const struct rlimit few = {.rlim_cur = FILES, .rlim_max = FILES};
    char token[KG_SVC_TOKEN_LEN], other[KG_SVC_TOKEN_LEN], worker[KG_SVC_TOKEN_LEN], headers[256];
    struct kg_buf out;
    int held[HALF];
    (void)state;
    add("t", KG_SVC_READ, token);
    add("o", KG_SVC_READ, other);
    add("w", KG_SVC_WORKER, worker);
    kg_buf_init(&out, 1 << 20);
    svc_start("--no-work");
    assert_int_equal(prlimit(svc_pid, RLIMIT_NOFILE, &few, NULL), 0);
    pid_t api = svc_child("serve-api");
    kill(api, SIGKILL);
    while (svc_child("serve-api") == api) {
        usleep(1000);
    }
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\nAccept: text/event-stream\r\n",
             token);
    for (int i = 0; i < HALF; i++) {
        kg_buf_reset(&out);
        held[i] = svc_open("/v1/events", headers);
        svc_read_until(held[i], ": kgym", &out);
    }
    assert_int_equal(ask(token, "GET", "/v1/stats", ""), 429);
    assert_int_equal(ask(other, "GET", "/v1/stats", ""), 200);
    assert_int_equal(ask(worker, "POST", "/v1/worker/renew", "{}"), 400);
    close(held[0]);
    while (ask(token, "GET", "/v1/stats", "") == 429) { /* it is found when a beat is sent */
        usleep(20000);
    }
    for (int i = 1; i < HALF; i++) {
        close(held[i]);
    }
    kg_buf_deinit(&out);
}

/* A token that fills the queue keeps no other one out. */
static void a_token_fills_its_own_part_of_the_queue(void **state)
{
    static const char line[] = "{\"id\": \"%d\", \"problem\": \"silu\", \"reply\": \"\"}\n";
    char token[KG_SVC_TOKEN_LEN], other[KG_SVC_TOKEN_LEN], three[256];
    (void)state;
    add("t", KG_SVC_SUBMIT, token);
    add("o", KG_SVC_SUBMIT, other);
    svc_start("--no-work --queue-limit-token 2");
    int n = 0;
    for (int i = 0; i < 3; i++) {
        n += snprintf(three + n, sizeof three - (size_t)n, line, i);
    }
    assert_int_equal(ask(token, "POST", "/v1/batches", three), 429);
    assert_int_equal(ask(token, "POST", "/v1/evaluations", EMPTY), 202);
    assert_int_equal(ask(token, "POST", "/v1/evaluations", EMPTY), 202);
    assert_int_equal(ask(token, "POST", "/v1/evaluations", EMPTY), 429);
    assert_int_equal(ask(other, "POST", "/v1/evaluations", EMPTY), 202);
    assert_int_equal(kg_svc_tokens_revoke(store(), "o", &err), KG_OK);
    assert_int_equal(ask(token, "POST", "/v1/evaluations", EMPTY), 429);
}

/* What a model has written is in no log, however much is logged. */
static void logs_hold_no_replies(void **state)
{
    static const struct {
        const char *path, *body;
    } sent[] = {
        {"/v1/evaluations?wait=200",
         "{\"problem\": \"silu\", \"source\": \"#error MARKER\\nvoid MARKER(MARKER x) {}\"}"},
        {"/v1/evaluations?wait=200",
         "{\"problem_source\": \"#include <MARKER.h>\\n\", \"reply\": \"MARKER\"}"},
        {"/v1/evaluations", "{\"MARKER\": \"MARKER\"}"},
        {"/v1/evaluations", "{MARKER"},
        {"/v1/batches", "{\"id\": \"a\", \"problem\": \"silu\", \"reply\": \"MARKER\"}\n"},
        {"/v1/reward", "{\"prompt\": \"MARKER\", \"response\": \"MARKER\", \"label\": \"MARKER\"}"},
        {"/evaluate", "{\"kernel_code\": \"MARKER\", \"reference_code\": \"MARKER\"}"},
        {"/MARKER", ""},
    };
    char path[160];
    struct kg_buf log;
    (void)state;
    snprintf(path, sizeof path, "%s/log", svc_folder());
    fflush(stderr);
    int before = dup(2), file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(before >= 0 && file >= 0);
    setenv("KGYM_LOG", "debug", 1);
    dup2(file, 2);
    svc_start("--jobs 1");
    dup2(before, 2);
    unsetenv("KGYM_LOG");
    close(before);
    for (size_t i = 0; i < sizeof sent / sizeof *sent; i++) {
        assert_true(
            svc_request("POST", sent[i].path, "", sent[i].body, strlen(sent[i].body), NULL) > 0);
    }
    pid_t worker = svc_child("serve-worker");
    assert_int_equal(kill(worker, SIGKILL), 0); /* which is logged */
    while (svc_child("serve-worker") == worker) {
        usleep(1000);
    }
    assert_int_equal(svc_end(SIGTERM), 0);
    kg_buf_init(&log, 1 << 24);
    assert_int_equal(kg_file_read(path, &log, &err), KG_OK);
    assert_non_null(strstr(log.data, "the worker process ended"));
    assert_null(strstr(log.data, "MARKER"));
    kg_buf_deinit(&log);
    close(file);
}

static void an_api_process_is_confined(void **state)
{
    char path[64];
    struct kg_buf text;
    (void)state;
    svc_start("--no-work");
    kg_buf_init(&text, 1 << 16);
    snprintf(path, sizeof path, "/proc/%d/status", (int)svc_child("serve-api"));
    assert_int_equal(kg_file_read(path, &text, &err), KG_OK);
    assert_non_null(strstr(text.data, "NoNewPrivs:\t1"));
    assert_non_null(strstr(text.data, "Seccomp:\t2"));
    kg_buf_deinit(&text);
}

static int run(const char *format, ...)
{
    char words[512], command[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(words, sizeof words, format, ap);
    va_end(ap);
    snprintf(command, sizeof command, "%s %s >%s/said 2>&1", cobject_built("kgym"), words,
             svc_folder());
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_command_adds_lists_and_revokes(void **state)
{
    char path[160];
    struct kg_buf said;
    (void)state;
    kg_buf_init(&said, 1 << 16);
    snprintf(path, sizeof path, "%s/said", svc_folder());
    assert_int_equal(run("token add --name t --folder %s", store()), 0);
    assert_int_equal(kg_svc_token_read(path, (char[KG_SVC_TOKEN_LEN]){0}, &err), KG_OK);
    assert_int_equal(run("token add --name w --scopes worker --folder=%s", store()), 0);
    assert_int_equal(run("token list --folder %s", store()), 0);
    assert_int_equal(kg_file_read(path, &said, &err), KG_OK);
    assert_non_null(strstr(said.data, "submit,read"));
    assert_non_null(strstr(said.data, "worker"));
    assert_null(strstr(said.data, "kgym_"));
    assert_int_equal(run("token revoke --name t --folder %s", store()), 0);
    assert_int_equal(run("token revoke --name t --folder %s", store()), 2);
    assert_int_equal(run("token add --folder %s", store()), 2);
    assert_int_equal(run("token add --name x --scopes all --folder %s", store()), 2);
    assert_int_equal(run("token steal --folder %s", store()), 2);
    assert_int_equal(run("token"), 2);
    kg_buf_deinit(&said);
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, svc_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_token_is_kept_by_its_hash),
        T(a_client_reads_its_token),
        T(a_client_finds_its_token),
        T(scopes_are_words),
        T(who_is_let_in_follows_the_file),
        T(a_file_that_says_nothing_lets_nobody_in),
        T(a_token_may_be_a_password),
        T(each_scope_opens_its_routes),
        T(the_local_worker_has_a_token),
        T(who_may_not_read_learns_the_state),
        T(a_token_holds_half_of_the_requests_at_most),
        T(a_token_fills_its_own_part_of_the_queue),
        T(logs_hold_no_replies),
        T(an_api_process_is_confined),
        T(the_command_adds_lists_and_revokes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
