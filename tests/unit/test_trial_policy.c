/* Policies in general, and an endpoint as a whole: names, options, its address, its key, the list
 * of models, many requests at once, https, no library. */
#include "endpoint_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/file.h"

static enum kg_code open_fails(const struct tr_policy_options *o)
{
    struct tr_policy p;
    err = (struct kg_err)KG_ERR_INIT;
    enum kg_code code = tr_policy_open(o, &p, &err);
    assert_int_not_equal(code, KG_OK);
    assert_null(strstr(err.message, SECRET));
    return code;
}

static void says(const char *words)
{
    if (strstr(err.message, words) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", err.message, words);
    }
}

/* --- names and options --- */

static void test_names(void **state)
{
    (void)state;
    struct tr_policy_name n;
    assert_int_equal(tr_policy_parse("endpoint:http://a:1/v1", &n, &err), KG_OK);
    assert_int_equal(n.kind, TR_ENDPOINT);
    assert_string_equal(n.rest, "http://a:1/v1");
    assert_int_equal(tr_policy_parse("checkpoint:a/b", &n, &err), KG_OK);
    assert_int_equal(n.kind, TR_CHECKPOINT);
    assert_int_equal(tr_policy_parse("scripted", &n, &err), KG_OK);
    assert_string_equal(n.rest, "");
    assert_int_equal(tr_policy_parse("scripted:best", &n, &err), KG_OK);
    assert_string_equal(n.rest, "best");
    static const char *const bad[] = {
        "", "endpoint", "endpoint:", "checkpoint:", "end:http://a", "http://" SECRET "@host"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tr_policy_parse(bad[i], &n, &err), KG_E_USAGE);
        assert_null(strstr(err.message, SECRET));
    }
    assert_non_null(strstr(err.message, "endpoint:http"));
    assert_string_equal(tr_finish_name(TR_STOP), "stop");
    assert_string_equal(tr_finish_name(TR_LENGTH), "length");
    assert_string_equal(tr_finish_name(TR_FILTER), "filter");
}

static void test_bounds(void **state)
{
    (void)state;
    struct tr_policy_options o = options("ok");
    o.sampling.temperature = -1;
    assert_int_equal(open_fails(&o), KG_E_USAGE);
    says("temperature: -1 is not within 0 and 100");
    o = options("ok");
    o.parallel = 0;
    assert_int_equal(open_fails(&o), KG_E_USAGE);
    o = options("ok");
    o.timeout_s = NAN;
    assert_int_equal(open_fails(&o), KG_E_USAGE);
}

static void test_addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "localhost:8000",         "ftp://host",     "http://",     "http://user:" SECRET "@host/v1",
        "http://host/?k=" SECRET, "http://host/#a", "http://ho st"};
    static const char *const good[][2] = {{"http://host:1", "http://host:1/v1"},
                                          {"HTTPS://host/", "HTTPS://host/v1"},
                                          {"https://host/api/v1/", "https://host/api/v1"},
                                          {"http://host/v1/chat/completions", "http://host/v1"}};
    char text[200];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tr_policy_options o = options("ok");
        snprintf(text, sizeof text, "endpoint:%s", bad[i]);
        o.policy = text;
        assert_int_equal(open_fails(&o), KG_E_USAGE);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct tr_policy_options o = options("ok");
        snprintf(text, sizeof text, "endpoint:%s", good[i][0]);
        o.policy = text;
        struct tr_policy p = open_policy(&o);
        json_t *j = p.describe(p.self);
        assert_string_equal(json_string_value(json_object_get(j, "url")), good[i][1]);
        json_decref(j);
        p.close(p.self);
    }
}

static void test_description(void **state)
{
    (void)state;
    struct tr_policy_options o = options("ok");
    o.sampling.stop[0] = "END";
    o.sampling.nstop = 1;
    struct tr_policy p = open_policy(&o);
    json_t *j = p.describe(p.self);
    struct kg_buf text;
    kg_buf_init(&text, 4096);
    kg_json_dump(j, &text);
    assert_non_null(strstr(text.data, "\"kind\":\"endpoint\""));
    assert_non_null(strstr(text.data, "\"model\":\"tiny\""));
    assert_non_null(strstr(text.data, "\"stop\":[\"END\"]"));
    assert_null(strstr(text.data, SECRET));
    kg_buf_deinit(&text);
    json_decref(j);
    assert_int_equal(p.context(p.self), 0);
    assert_int_equal(p.count(p.self, "123456789", 9), 4);
    p.close(p.self);
}

/* --- the key --- */

static void test_key(void **state)
{
    (void)state;
    char path[] = "/tmp/kgym-key-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    expect_text("key", "yes", 1);
    unsetenv("OPENAI_API_KEY");
    expect_text("key/none", "no", 1);
    expect_error(ask("401"), KG_E_USAGE, "it asks for a key ($OPENAI_API_KEY, --key-file)", 1);
    struct tr_policy_options o = options("key/file");
    o.key_file = path;
    assert_int_equal(open_fails(&o), KG_E_USAGE);
    says("there is no key in it");
    static const char words[] = "\n  " SECRET "  # a note\n", odd[] = "sk-\x01" SECRET;
    assert_int_equal(write(fd, words, sizeof words - 1), sizeof words - 1);
    struct tr_reply *r = ask_with(&o);
    assert_string_equal(r->text, "yes");
    tr_reply_free(r);
    assert_int_equal(pwrite(fd, odd, sizeof odd - 1, 0), sizeof odd - 1);
    assert_int_equal(open_fails(&o), KG_E_USAGE);
    says("not printable ASCII");
    close(fd);
    unlink(path);
    assert_int_equal(open_fails(&o), KG_E_NOT_FOUND);
    setenv("OPENAI_API_KEY", SECRET, 1);
}

/* An endpoint that repeats the key, in a reply, a name, or an error. */
static void test_key_is_never_told(void **state)
{
    (void)state;
    struct tr_reply *r = ask("key-told");
    assert_string_equal(r->text, "your key is [key]");
    assert_int_equal(r->len, strlen(r->text));
    assert_string_equal(r->reasoning, "it is [key]");
    assert_string_equal(r->model, "tiny [key]");
    tr_reply_free(r);
    struct tr_policy_options o = options("refused");
    o.model = NULL;
    assert_int_equal(open_fails(&o), KG_E_USAGE);
    says("refuses the key (HTTP 401): Incorrect API key provided: Bearer [key]");
    o = options("key-told");
    o.model = NULL;
    struct tr_policy p = open_policy(&o);
    json_t *about = p.describe(p.self);
    assert_string_equal(json_string_value(json_object_get(about, "model")), "tiny Bearer [key]");
    json_decref(about);
    p.close(p.self);
}

/* --- models --- */

static volatile int stopped;

static void on_alarm(int signal)
{
    (void)signal;
    stopped = 1;
}

/* The server is silent, and the time-out far away. */
static void test_models_can_be_interrupted(void **state)
{
    (void)state;
    struct tr_policy p;
    struct tr_policy_options o = options("mute");
    o.model = NULL;
    o.cancel = &stopped;
    stopped = 0;
    signal(SIGALRM, on_alarm);
    ualarm(200000, 0);
    assert_int_equal(tr_policy_open(&o, &p, &err), KG_E_CANCELLED);
    assert_int_equal(stopped, 1);
}

static void test_models(void **state)
{
    (void)state;
    struct tr_policy_options o = options("ok");
    o.model = NULL;
    struct tr_policy p = open_policy(&o);
    json_t *j = p.describe(p.self);
    assert_string_equal(json_string_value(json_object_get(j, "model")), "tiny");
    assert_int_equal(p.context(p.self), 4096);
    json_decref(j);
    p.close(p.self);
    o = options("parameters");
    o.model = NULL;
    struct tr_reply *r = ask_with(&o);
    assert_non_null(strstr(r->text, "\"max_tokens\": 4078,")); /* 4096 - 2 - 16 */
    tr_reply_free(r);
    static const struct {
        const char *fault, *words;
        enum kg_code code;
    } bad[] = {{"two", "it has 2 models, --model must name one: a-model, another [31m", KG_E_USAGE},
               {"none", "it has 0 models", KG_E_USAGE},
               {"page", "the answer is no list of models", KG_E_INPUT}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o = options(bad[i].fault);
        o.model = NULL;
        assert_int_equal(open_fails(&o), bad[i].code);
        says(bad[i].words);
    }
    o = options("loading");
    o.model = NULL;
    p = open_policy(&o);
    p.close(p.self);
}

/* --- where nobody answers --- */

static void test_endpoint_is_down(void **state)
{
    (void)state;
    struct tr_policy_options o = options("ok");
    o.policy = "endpoint:http://127.0.0.1:1";
    o.patience_s = 0.4;
    struct tr_reply *r = ask_with(&o);
    assert_true(r->usage.tries >= 2);
    expect_error(r, KG_E_IO, "http://127.0.0.1:1/v1: Couldn't connect to server", r->usage.tries);
    o.model = NULL;
    assert_int_equal(open_fails(&o), KG_E_IO);
    says("it gives no list of models: Couldn't connect");
}

/* The library is loaded once in a process: another one looks in vain. */
static void test_no_library(void **state)
{
    (void)state;
    struct tr_policy_options o = options("ok");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_trial_policy", "--no-library", o.policy, (char *)NULL);
        _exit(9);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int without_library(const char *policy)
{
    struct tr_policy_options o;
    struct tr_policy p;
    tr_policy_defaults(&o);
    o.policy = policy;
    setenv("KGYM_LIBCURL", "/no/such/library.so", 1);
    return tr_policy_open(&o, &p, &err) == KG_E_HOST &&
                   strstr(err.message, "apt-get install libcurl4") != NULL
               ? 0
               : 1;
}

/* --- https --- */

static void test_https(void **state)
{
    (void)state;
    const struct faulty_endpoint plain = server;
    faulty_endpoint_start(&server, true);
    expect_error(ask("ok"), KG_E_USAGE, "its certificate is not trusted", 1);
    setenv("SSL_CERT_FILE", server.certificate, 1);
    expect_text("ok", "1 messages, the last says: hello", 1);
    unsetenv("SSL_CERT_FILE");
    faulty_endpoint_end(&server);
    server = plain;
}

/* --- many at once --- */

static void test_many_at_once(void **state)
{
    (void)state;
    enum { N = 24, AT_ONCE = 8 };
    struct tr_policy_options o = options("busy");
    o.parallel = AT_ONCE;
    struct tr_policy p = open_policy(&o);
    bool seen[N] = {false};
    long most = 0;
    for (int begun = 0, got = 0; got < N;) {
        while (begun < N && p.room(p.self) > 0) {
            submit(&p, (uint64_t)begun++, "hello");
        }
        assert_true(p.pending(p.self) <= AT_ONCE);
        struct tr_reply *r = take(&p);
        assert_int_equal(r->code, KG_OK);
        assert_false(seen[r->tag]);
        seen[r->tag] = true;
        most = strtol(r->text, NULL, 10) > most ? strtol(r->text, NULL, 10) : most;
        got++;
        tr_reply_free(r);
    }
    assert_true(most > 1 && most <= AT_ONCE);
    p.close(p.self);
}

static void test_no_room(void **state)
{
    (void)state;
    struct tr_policy_options o = options("ok");
    o.parallel = 1;
    struct tr_policy p = open_policy(&o);
    const struct tr_message m = {.role = TR_USER, .text = "a", .len = 1};
    const struct tr_ask a = {.message = &m, .n = 1, .who = {"p", 1, 1}};
    assert_int_equal(p.room(p.self), 1);
    submit(&p, 1, "hello");
    assert_int_equal(p.room(p.self), 0);
    assert_int_equal(p.submit(p.self, &a, &err), KG_E_LIMIT);
    tr_reply_free(take(&p));
    assert_int_equal(p.room(p.self), 1);
    p.close(p.self);
}

static void test_waiting(void **state)
{
    (void)state;
    const struct tr_policy_options o = options("silent/waiting");
    struct tr_policy p = open_policy(&o);
    struct tr_reply *r = NULL;
    int fd[2];
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(p.next(p.self, -1, -1, &r, &err), KG_OK); /* nothing is under way */
    assert_null(r);
    submit(&p, 1, "hello");
    assert_int_equal(p.next(p.self, fd[0], 0, &r, &err), KG_OK);
    assert_null(r);
    assert_int_equal(write(fd[1], "x", 1), 1);
    assert_int_equal(p.next(p.self, fd[0], -1, &r, &err), KG_OK); /* the descriptor is readable */
    assert_null(r);
    submit(&p, 2, "hello");
    p.close(p.self); /* with a request under way, and one that is not sent */
    close(fd[0]);
    close(fd[1]);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--no-library") == 0) {
        return without_library(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_key),
        cmocka_unit_test(test_key_is_never_told),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_models_can_be_interrupted),
        cmocka_unit_test(test_endpoint_is_down),
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_https),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_waiting),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
