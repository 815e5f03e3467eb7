/* Workers that join a service, their devices, and why a job waits: `kgym worker` as a process, and
 * workers that the test plays. Three network namespaces stand for three hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "svc/http.h"
#include "svc/tokens.h"
#include "tests/support/cobject.h"
#include "tests/support/svc_rig.h"

#define EMPTY "{\"problem\": \"silu\", \"reply\": \"nothing\"}"
#define ENDLESS(more)                                                                              \
    "{\"problem\": \"silu\", " more "\"source\": \"void silu(const float *x, float *y, long n) "   \
    "{ (void)x; (void)y; (void)n; for (volatile int i = 0;; i++) { } }\"}"

enum { WORKERS = 2, PATIENCE_S = 120 };

static pid_t worker[WORKERS];

static int64_t patience(void)
{
    return kg_clock_ns() + (int64_t)PATIENCE_S * 1000000000;
}

/* `kgym worker` with these words, split at blanks, in network namespace net (-1: this one). */
static pid_t start_worker(const char *words, int net)
{
    char line[512], *argv[24];
    int n = 0;
    const char *program = cobject_built("kgym");
    snprintf(line, sizeof line, "kgym worker %s", words);
    for (char *word = strtok(line, " "); word != NULL && n < 23; word = strtok(NULL, " ")) {
        argv[n++] = word;
    }
    argv[n] = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        dup2(null, 2); /* it may be a file, and one worker may write none */
        if (net >= 0 && setns(net, CLONE_NEWNET) != 0) {
            _exit(3);
        }
        execv(program, argv);
        _exit(2);
    }
    return pid;
}

static int end_worker(int i, int sig)
{
    int status;
    kill(worker[i], sig);
    assert_int_equal(waitpid(worker[i], &status, 0), worker[i]);
    worker[i] = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int teardown(void **state)
{
    for (int i = 0; i < WORKERS; i++) {
        if (worker[i] > 0) {
            end_worker(i, SIGKILL);
        }
    }
    return svc_teardown(state);
}

static void submit(const char *body, char id[32])
{
    json_t *j = svc_json(202, "POST", "/v1/evaluations", body);
    snprintf(id, 32, "%s", svc_text(j, "id"));
    json_decref(j);
}

static json_t *job_of(const char *id)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/evaluations/%s", id);
    return svc_json(200, "GET", path, "");
}

static bool has_text(const json_t *list, const char *text)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v)
    {
        if (strcmp(json_string_value(v), text) == 0) {
            return true;
        }
    }
    return false;
}

/* Asks until the job waits for this; the caller frees the answer's member. */
static json_t *await_reason(const char *id, const char *code)
{
    for (int64_t until = patience();; usleep(50000)) {
        json_t *j = job_of(id);
        json_t *w = json_incref(json_object_get(j, "waits_for"));
        json_decref(j);
        if (strcmp(svc_text(w, "code"), code) == 0) {
            return w;
        }
        if (kg_clock_ns() > until) {
            fail_msg("job %s waits for %s, not %s", id, svc_text(w, "code"), code);
        }
        json_decref(w);
    }
}

/* The device of this name, once its member has the value; the caller frees it. */
static json_t *await_device(const char *name, const char *member, const char *value)
{
    for (int64_t until = patience(); kg_clock_ns() < until; usleep(50000)) {
        json_t *j = svc_json(200, "GET", "/v1/devices", ""), *d, *found = NULL;
        size_t i;
        json_array_foreach(json_object_get(j, "devices"), i, d)
        {
            if (strcmp(svc_text(d, "name"), name) == 0 && strcmp(svc_text(d, member), value) == 0) {
                found = json_incref(d);
            }
        }
        json_decref(j);
        if (found != NULL) {
            return found;
        }
    }
    fail_msg("no device %s with %s %s", name, member, value);
    return NULL;
}

/* The worker has looked at this device, which takes a moment after it has joined. */
static void await_facts(const char *name)
{
    for (int64_t until = patience(); kg_clock_ns() < until; usleep(50000)) {
        json_t *d = await_device(name, "state", "idle");
        bool there = json_integer_value(json_object_get(d, "isolation")) > 0;
        json_decref(d);
        if (there) {
            return;
        }
    }
    fail_msg("nothing is known of %s", name);
}

/* A device whose compiler is missing judges nothing, and is looked at again: here, once it is
 * there. */
static void a_device_without_facts_judges_nothing(void **state)
{
    char words[256], id[32], compiler[128];
    (void)state;
    svc_start("--no-work");
    snprintf(compiler, sizeof compiler, "%s/cc", svc_folder());
    snprintf(words, sizeof words,
             "--join http://127.0.0.1:%d --name odd --jobs 1 --set compiler=%s", svc_port,
             compiler);
    worker[0] = start_worker(words, -1);
    for (bool known = false; !known;) {
        json_t *d = await_device("odd/cpu", "state", "idle");
        known = has_text(json_object_get(d, "words"), "unknown");
        json_decref(d);
        usleep(50000);
    }
    submit(EMPTY, id);
    json_t *w = await_reason(id, "no_device");
    assert_true(has_text(json_object_get(w, "lacks"), "cpu"));
    json_decref(w);
    assert_int_equal(symlink("/usr/bin/gcc", compiler), 0);
    await_facts("odd/cpu");
    svc_await(id, "done");
    assert_int_equal(end_worker(0, SIGTERM), 0);
}

/* --- workers that the test plays --- */

static void hello(int status, const char *name, const char *words, const char *more)
{
    char body[1024];
    snprintf(body, sizeof body,
             "{\"worker\": \"%s-1\", \"host\": \"%s\", \"devices\": [{\"name\": \"%s/gpu\", "
             "\"words\": [%s], \"slots\": 2%s}]}",
             name, name, name, words, more);
    json_decref(svc_json(status, "POST", "/v1/worker/hello", body));
}

static json_t *claim_as(const char *name, const char *words)
{
    char body[1024];
    snprintf(body, sizeof body,
             "{\"worker\": \"%s-1\", \"devices\": [{\"name\": \"%s/gpu\", \"words\": [%s]}], "
             "\"slots\": [{\"device\": 0}]}",
             name, name, words);
    json_t *j = svc_json(200, "POST", "/v1/worker/claim", body);
    json_t *first = json_incref(json_array_get(json_object_get(j, "claims"), 0));
    json_decref(j);
    return first;
}

static void finish(int status, const json_t *claim, const char *more)
{
    char body[1024];
    snprintf(body, sizeof body,
             "{\"id\": \"%s\", \"claim\": \"%s\", \"fence\": %lld, \"outcome\": \"failed\"%s}",
             svc_text(claim, "id"), svc_text(claim, "claim"),
             (long long)json_integer_value(json_object_get(claim, "fence")), more);
    json_decref(svc_json(status, "POST", "/v1/worker/finish", body));
}

static void a_job_says_why_it_waits(void **state)
{
    char id[32];
    (void)state;
    svc_start("--no-work");
    submit("{\"problem\": \"01_softmax\", \"reply\": \"nothing\"}", id);
    json_decref(await_reason(id, "no_worker"));
    hello(200, "a", "\"cpu\"", ", \"isolation\": 2");
    json_t *w = await_reason(id, "no_device");
    assert_true(has_text(json_object_get(w, "lacks"), "torch"));
    assert_int_equal(json_integer_value(json_object_get(w, "waiting")), 1);
    json_decref(w);
    assert_null(claim_as("a", "\"cpu\""));
    hello(200, "b", "\"cpu\", \"torch\"", "");
    json_decref(await_reason(id, "turn"));
    json_t *claim = claim_as("b", "\"cpu\", \"torch\"");
    assert_string_equal(svc_text(claim, "id"), id);
    assert_string_equal(svc_text(claim, "needs"), "torch");
    json_t *j = job_of(id);
    assert_null(json_object_get(j, "waits_for"));
    json_decref(j);
    json_decref(claim);
    json_decref(svc_json(200, "POST", "/v1/worker/leave", "{\"worker\": \"b-1\"}"));
    j = svc_json(200, "GET", "/v1/devices", "");
    assert_int_equal(json_array_size(json_object_get(j, "devices")), 1);
    json_decref(j);
    hello(400, "a\\u0007", "\"cpu\"", "");
    hello(400, "a", "\"two words\"", "");
    hello(400, "a", "\"cpu\"", ", \"holds\": [\"no id\"]");
    hello(400, "a", "\"cpu\"", ", \"memory_mb\": \"much\"");
}

static void needs_are_part_of_what_is_asked_for(void **state)
{
    char id[32];
    (void)state;
    svc_start("--no-work");
    hello(200, "a", "\"cpu\", \"torch\", \"cuda\"", ", \"memory_mb\": 40000, \"isolation\": 2");
    submit("{\"problem\": \"01_softmax\", \"reply\": \"x\", \"needs\": [\"memory:40001\"]}", id);
    json_t *w = await_reason(id, "no_device");
    assert_true(has_text(json_object_get(w, "lacks"), "memory:40001"));
    assert_false(has_text(json_object_get(w, "lacks"), "torch"));
    json_decref(w);
    submit("{\"problem\": \"01_softmax\", \"reply\": \"x\", \"needs\": [\"memory:40000\", "
           "\"isolation:2\", \"cuda\"]}",
           id);
    json_decref(await_reason(id, "turn"));
    static const char *const wrong[] = {"\"cuda\"", "[\"disk\"]", "[\"memory:x\"]", "[1]",
                                        "[\"model:a b\"]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"problem\": \"silu\", \"reply\": \"x\", \"needs\": %s}",
                 wrong[i]);
        json_t *j = svc_json(400, "POST", "/v1/evaluations", body);
        assert_string_equal(svc_text(j, "code"), "bad_needs");
        json_decref(j);
    }
}

static void a_device_that_is_put_aside_gets_nothing(void **state)
{
    static const char aside[] = ", \"error\": \"host\", \"blame\": \"gym\", \"message\": \"m\", "
                                "\"aside\": {\"device\": \"%s/gpu\", \"reason\": \"why <b>\"}";
    char id[32], more[256], command[512];
    (void)state;
    svc_start("--no-work");
    hello(200, "a", "\"cpu\"", "");
    hello(200, "b", "\"cpu\"", "");
    submit(EMPTY, id);
    json_t *claim = claim_as("a", "\"cpu\"");
    snprintf(more, sizeof more, aside, "b"); /* a worker answers for its own devices */
    finish(400, claim, more);
    snprintf(more, sizeof more, ", \"reason\": \"%0201d\"", 0); /* lists show it */
    finish(400, claim, more);
    snprintf(more, sizeof more, aside, "a");
    finish(200, claim, more);
    finish(409, claim, more); /* under a claim that has ended nothing changes */
    json_decref(claim);
    json_t *d = await_device("a/gpu", "state", "aside");
    assert_string_equal(svc_text(json_object_get(d, "aside"), "reason"), "why <b>");
    json_decref(d);
    assert_null(claim_as("a", "\"cpu\""));
    svc_end(SIGTERM); /* it stays aside */
    svc_start("--no-work");
    assert_null(claim_as("a", "\"cpu\""));
    json_decref(svc_json(200, "POST", "/v1/worker/leave", "{\"worker\": \"b-1\"}"));
    json_decref(await_reason(id, "aside"));
    snprintf(command, sizeof command, "%s worker enable a/gpu --url http://127.0.0.1:%d",
             cobject_built("kgym"), svc_port);
    assert_int_equal(system(command), 0);
    snprintf(command + strlen(command), sizeof command - strlen(command), " 2>/dev/null");
    assert_int_equal(WEXITSTATUS(system(command)), 1); /* it is not aside any more */
    claim = claim_as("a", "\"cpu\"");
    assert_string_equal(svc_text(claim, "id"), id);
    json_decref(claim);
}

/* A record that will never be taken costs one judging, not three. */
static void a_worker_says_that_no_attempt_would_help(void **state)
{
    static const char last[] = ", \"error\": \"limit\", \"blame\": \"gym\", \"message\": \"the "
                               "service refused the record with status 413\", \"last\": %s";
    char id[32], more[256];
    (void)state;
    svc_start("--no-work");
    hello(200, "a", "\"cpu\"", "");
    submit(EMPTY, id);
    json_t *claim = claim_as("a", "\"cpu\"");
    snprintf(more, sizeof more, last, "1");
    finish(400, claim, more);
    snprintf(more, sizeof more, last, "true");
    finish(200, claim, more);
    json_decref(claim);
    json_t *j = job_of(id);
    assert_string_equal(svc_text(j, "state"), "dead");
    const json_t *error = json_object_get(j, "error");
    assert_string_equal(svc_text(error, "code"), "limit");
    assert_string_equal(svc_text(error, "blame"), "gym");
    assert_non_null(strstr(svc_text(error, "message"), "413"));
    json_decref(j);
    assert_null(claim_as("a", "\"cpu\""));
}

/* --- workers that are processes --- */

/* Once nothing on this host may write to a file, no attempt can succeed there. */
static void two_failed_canaries_put_a_device_aside(void **state)
{
    const struct rlimit nothing = {0, 0};
    char words[256], id[32], other[32];
    (void)state;
    svc_start("--no-work");
    snprintf(words, sizeof words, "--join http://127.0.0.1:%d --name bad --jobs 1", svc_port);
    worker[0] = start_worker(words, -1);
    json_t *d = await_device("bad/cpu", "state", "idle");
    assert_string_equal(svc_text(d, "host"), "bad");
    assert_int_equal(json_integer_value(json_object_get(d, "slots")), 1);
    json_decref(d);
    await_facts("bad/cpu");
    assert_int_equal(prlimit(worker[0], RLIMIT_FSIZE, &nothing, NULL), 0);
    submit(ENDLESS(""), id);
    json_decref(await_device("bad/cpu", "state", "aside"));
    json_t *j = job_of(id);
    assert_string_equal(svc_text(j, "state"), "waiting"); /* its other attempts are left */
    assert_int_equal(json_integer_value(json_object_get(j, "attempts")), 1);
    json_decref(j);
    json_decref(await_reason(id, "aside"));
    snprintf(words, sizeof words, "/v1/evaluations/%s", id);
    json_decref(svc_json(200, "DELETE", words, ""));
    snprintf(words, sizeof words, "--join http://127.0.0.1:%d --name good --jobs 1", svc_port);
    worker[1] = start_worker(words, -1);
    submit(EMPTY, other);
    svc_await(other, "done");
    assert_int_equal(end_worker(0, SIGTERM), 0);
    assert_int_equal(end_worker(1, SIGTERM), 0);
}

/* A process's cores, if it is a runner below `above`. */
static bool runner_cores(const char *pid, pid_t above, char out[64])
{
    char path[64], line[256];
    long at = strtol(pid, NULL, 10), parent = 0;
    bool is = false, below = false;
    out[0] = '\0';
    for (int depth = 0; at > 1 && depth < 12 && !below; depth++, at = parent) {
        snprintf(path, sizeof path, "/proc/%ld/status", at);
        FILE *f = fopen(path, "r");
        parent = 0;
        while (f != NULL && fgets(line, sizeof line, f) != NULL) {
            is = is || (depth == 0 && strncmp(line, "Name:\tkgym-runner", 17) == 0);
            (void)!sscanf(line, "PPid: %ld", &parent);
            if (depth == 0) {
                (void)!sscanf(line, "Cpus_allowed_list: %63s", out);
            }
        }
        if (f != NULL) {
            fclose(f);
        }
        below = parent == above;
    }
    return is && below;
}

static void two_configurations_share_no_core(void **state)
{
    char a[32], b[32], cores[64], first[64] = "";
    cpu_set_t may;
    bool differ = false;
    (void)state;
    if (sched_getaffinity(0, sizeof may, &may) != 0 || CPU_COUNT(&may) < 2) {
        print_message("skipped: this host has one core\n");
        skip();
    }
    setenv("KGYM_DEADLINE_RUN", "3000", 1);
    setenv("KGYM_DEADLINE_EVAL", "3000", 1);
    svc_start("--jobs 2");
    submit(ENDLESS("\"set\": {\"laws\": 1},"), a);
    submit(ENDLESS("\"set\": {\"laws\": 2},"), b);
    svc_await(a, "running");
    svc_await(b, "running");
    pid_t above = svc_child("serve-worker");
    for (int64_t until = patience(); !differ && kg_clock_ns() < until; usleep(50000)) {
        FILE *list = popen("ls /proc", "r");
        char pid[64];
        first[0] = '\0';
        while (fgets(pid, sizeof pid, list) != NULL) {
            if (pid[0] >= '1' && pid[0] <= '9' && runner_cores(pid, above, cores)) {
                differ = differ || (first[0] != '\0' && strcmp(first, cores) != 0);
                snprintf(first, sizeof first, "%s", cores);
            }
        }
        pclose(list);
    }
    assert_true(differ);
    unsetenv("KGYM_DEADLINE_RUN");
    unsetenv("KGYM_DEADLINE_EVAL");
}

static void a_wrong_token_ends_a_worker(void **state)
{
    char words[256], path[128], token[KG_SVC_TOKEN_LEN];
    struct kg_err err = KG_ERR_INIT;
    int status;
    (void)state;
    snprintf(path, sizeof path, "%s/store", svc_folder());
    assert_int_equal(kg_file_mkdirs(path, 0700, &err), KG_OK);
    assert_int_equal(kg_svc_tokens_add(path, "r", KG_SVC_READ, token, &err), KG_OK);
    snprintf(path, sizeof path, "%s/token", svc_folder());
    assert_int_equal(kg_file_write_atomic(path, token, strlen(token), &err), KG_OK);
    svc_start("--no-work");
    snprintf(words, sizeof words, "--join http://127.0.0.1:%d --token-file %s --jobs 1", svc_port,
             path);
    pid_t pid = start_worker(words, -1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 2);
}

static void devices_that_cannot_be_end_a_worker(void **state)
{
    static const struct {
        const char *words, *said;
    } rows[] = {{"--devices cpu,cudda:0", "device: `cudda:0`"},
                {"--devices cuda:0,cuda:1 --jobs 1", "give --jobs 2"}};
    char command[512], said[4096];
    (void)state;
    svc_start("--no-work");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(command, sizeof command, "%s worker --join http://127.0.0.1:%d %s 2>&1",
                 cobject_built("kgym"), svc_port, rows[i].words);
        FILE *f = popen(command, "r");
        assert_non_null(f);
        said[fread(said, 1, sizeof said - 1, f)] = '\0';
        assert_int_equal(WEXITSTATUS(pclose(f)), 2);
        if (strstr(said, rows[i].said) == NULL) {
            fail_msg("no `%s` in: %s", rows[i].said, said);
        }
    }
}

static void a_worker_says_that_it_has_joined(void **state)
{
    char command[512], line[200];
    (void)state;
    svc_start("--no-work");
    snprintf(command, sizeof command,
             "%s worker --join http://127.0.0.1:%d --name far --jobs 1 & echo $!; wait $!",
             cobject_built("kgym"), svc_port);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    pid_t pid = (pid_t)strtol(line, NULL, 10);
    assert_true(pid > 1);
    assert_non_null(fgets(line, sizeof line, f));
    assert_non_null(strstr(line, "as far, 1 slot\n"));
    kill(pid, SIGTERM);
    assert_int_equal(pclose(f), 0);
}

/* --- three hosts --- */

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
    char command[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(command, sizeof command, format, ap);
    va_end(ap);
    if (system(command) != 0) {
        fail_msg("failed: %s", command);
    }
}

/* At once: a command would take as long as a busy host needs to start one. */
static void set_host(char n, bool up)
{
    struct ifreq link = {.ifr_name = "host?"};
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    link.ifr_name[4] = n;
    assert_int_equal(ioctl(s, SIOCGIFFLAGS, &link), 0);
    link.ifr_flags = (short)(up ? link.ifr_flags | IFF_UP : link.ifr_flags & ~IFF_UP);
    assert_int_equal(ioctl(s, SIOCSIFFLAGS, &link), 0);
    close(s);
}

/* A host with address 10.77.N.2, whose other end here is 10.77.N.1. *pid lives as long as it. */
static int new_host(int n, pid_t *pid)
{
    char path[64];
    int ready[2];
    char byte;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    *pid = fork();
    if (*pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWNET) != 0 || write(ready[1], "x", 1) != 1) {
            _exit(1);
        }
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    run("ip link add host%d type veth peer name eth0 netns %d", n, (int)*pid);
    run("ip addr add 10.77.%d.1/24 dev host%d && ip link set host%d up", n, n, n);
    run("nsenter -t %d -n sh -c 'ip link set lo up && ip addr add 10.77.%d.2/24 dev eth0 && "
        "ip link set eth0 up'",
        (int)*pid, n);
    snprintf(path, sizeof path, "/proc/%d/ns/net", (int)*pid);
    int net = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(net >= 0);
    return net;
}

/* The host of the worker that has claimed the job. */
static const char *holder_of(const char *id)
{
    static char name[64];
    char path[96];
    snprintf(path, sizeof path, "/v1/events?job=%s", id);
    json_t *j = svc_json(200, "GET", path, ""), *e;
    size_t i;
    name[0] = '\0';
    json_array_foreach(json_object_get(j, "events"), i, e)
    {
        if (strcmp(svc_text(e, "type"), "claimed") == 0) {
            snprintf(name, sizeof name, "%s", svc_text(e, "detail"));
        }
    }
    json_decref(j);
    assert_true(name[0] != '\0');
    return name;
}

static int64_t refused(void)
{
    json_t *j = svc_json(200, "GET", "/v1/stats", "");
    int64_t n = json_integer_value(json_object_get(j, "answers_refused"));
    json_decref(j);
    return n;
}

/* One of two workers is cut off in mid-job: the job ends elsewhere, its own answer comes late and
 * is refused, and once it is heard again it works on. Runs in a process of its own. */
static void play_three_hosts(void)
{
    char path[128], words[256], headers[128], id[32], other[32], token[KG_SVC_TOKEN_LEN];
    struct kg_err err = KG_ERR_INIT;
    pid_t host[WORKERS];
    int net[WORKERS];
    assert_int_equal(svc_setup(NULL), 0);
    run("ip link set lo up");
    snprintf(path, sizeof path, "%s/store", svc_folder());
    assert_int_equal(kg_file_mkdirs(path, 0700, &err), KG_OK);
    assert_int_equal(kg_svc_tokens_add(path, "all", KG_SVC_ALL, token, &err), KG_OK);
    snprintf(path, sizeof path, "%s/token", svc_folder());
    assert_int_equal(kg_file_write_atomic(path, token, strlen(token), &err), KG_OK);
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
    svc_headers = headers;
    setenv("KGYM_DEADLINE_RUN", "1.5", 1);
    /* The candidate ends long before the worker, which can't renew, would end it. */
    svc_start("--no-work --host 0.0.0.0 --term 8");
    for (int i = 0; i < WORKERS; i++) {
        net[i] = new_host(i, &host[i]);
        snprintf(words, sizeof words,
                 "--join http://10.77.%d.1:%d --token-file %s --name w%d --jobs 1", i, svc_port,
                 path, i);
        worker[i] = start_worker(words, net[i]);
        snprintf(words, sizeof words, "w%d/cpu", i);
        json_decref(await_device(words, "state", "idle"));
    }
    submit(ENDLESS("\"set\": {\"stage.timing\": false},"), id);
    svc_await(id, "running");
    const char cut = holder_of(id)[1];
    set_host(cut, false);
    svc_await(id, "done");
    json_t *j = job_of(id);
    assert_true(json_integer_value(json_object_get(j, "attempts")) >= 2);
    json_decref(j);
    int64_t before = refused();
    set_host(cut, true);
    for (int64_t until = patience(); refused() == before; usleep(50000)) {
        assert_true(kg_clock_ns() < until);
    }
    assert_int_equal(end_worker(cut == '0' ? 1 : 0, SIGTERM), 0);
    submit(EMPTY, other); /* only the one that was cut off is left */
    svc_await(other, "done");
    assert_int_equal(end_worker(cut == '0' ? 0 : 1, SIGTERM), 0);
    for (int i = 0; i < WORKERS; i++) {
        close(net[i]);
        kill(host[i], SIGKILL);
        waitpid(host[i], NULL, 0);
    }
    assert_int_equal(svc_teardown(NULL), 0);
}

static void a_host_that_is_cut_off_loses_its_jobs(void **state)
{
    int status;
    (void)state;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0 ||
            system("ip link add k0 type veth peer name k1 && ip link del k0") != 0) {
            _exit(77);
        }
        play_three_hosts();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message(
            "skipped: no network namespace can be made here (root and `ip` are needed)\n");
        skip();
    }
    assert_int_equal(status, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, svc_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(a_job_says_why_it_waits),
                                       T(needs_are_part_of_what_is_asked_for),
                                       T(a_device_that_is_put_aside_gets_nothing),
                                       T(a_worker_says_that_no_attempt_would_help),
                                       T(two_failed_canaries_put_a_device_aside),
                                       T(a_device_without_facts_judges_nothing),
                                       T(two_configurations_share_no_core),
                                       T(a_wrong_token_ends_a_worker),
                                       T(devices_that_cannot_be_end_a_worker),
                                       T(a_worker_says_that_it_has_joined),
                                       T(a_host_that_is_cut_off_loses_its_jobs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
