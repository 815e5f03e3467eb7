/* Whoever of the gym's processes is killed while PyTorch candidates are judged, and whenever:
 * judge, zygote, reference, candidate, worker. Every evaluation ends with the right verdict or an
 * error, none hangs, nothing is left. The seed is printed. Not under sanitizers: the same code runs
 * there in the other tests, and this is about moments. */
#include "kgym_rig.h"
#include "sanitized.h"

#include <time.h>

#include "base/rng.h"

#define KILLS     200 /* TEST_KILLS: another number, TEST_DEVICE: another device than cpu */
#define KILLS_NS  180000000000 /* on a busy machine there are as many as fit into this */
#define REST_MS   200          /* between two, at most */
#define GPU_MS    2000         /* there a runner takes half a second to be there at all */
#define LINES     24 /* of a batch, which ends before time counts; on a GPU they are seconds each */
#define GPU_LINES 6
#define FIND_NS   1000000000
#define HANGS_S   120 /* without a new line in the output */
#define MODULE    "import os\nimport torch\nimport torch.nn as nn\n\n\n"
#define NEW       MODULE "class ModelNew(nn.Module):\n    def forward(self, x):\n"

enum victim { JUDGE, ZYGOTE, REFERENCE, CANDIDATE, WORKER, VICTIMS };
static const char *const names[VICTIMS] = {"judge", "zygote", "reference", "candidate", "worker"};
/* How often which: after a zygote's or a worker's death torch is imported again, for seconds in
 * which nobody else can be killed. */
static const uint64_t share[VICTIMS] = {4, 1, 4, 4, 1};
static int kills[VICTIMS];
static struct kg_rng rng;
static bool lacking;
static int asked = KILLS, lines = LINES, rest = REST_MS;

static const struct {
    const char *text, *want;
} kinds[] = {
    {NEW "        return 2 * torch.clamp(x, min=0)\n", "ok/"},
    {NEW "        return 2 * x\n", "wrong/value"},
    {NEW "        raise ValueError('no')\n", "crash/exception"},
    {NEW "        os.abort()\n", "crash/signal"},
    {NEW "        return 2 *\n", "compile_error/syntax"},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static void rest_ms(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static int setup(void **state)
{
    struct kg_key key = {{(uint64_t)time(NULL), 13}};
    const char *given = getenv("KGYM_TEST_SEED");
    char hex[33];
    if (given && !kg_key_parse(given, &key)) {
        return -1;
    }
    unsetenv("KGYM_TEST_SEED");
    kg_key_hex(key, hex);
    print_message("seed %s (KGYM_TEST_SEED)\n", hex);
    kg_rng_init(&rng, key, 0);
    const char *n = getenv("TEST_KILLS"), *device = getenv("TEST_DEVICE");
    asked = n ? (int)strtol(n, NULL, 10) : KILLS;
    bool gpu = device && strcmp(device, "cpu") != 0;
    lines = gpu ? GPU_LINES : LINES;
    rest = gpu ? GPU_MS : REST_MS;
    setenv("D", device ? device : "cpu", 1);
    setenv("KGYM_TORCH_SPARE", "yes", 1); /* one more that may be hit */
    lacking = is_sanitized(getenv("KGYM_BUILD"));
    return rig_setup(state);
}

static void need_torch(void)
{
    if (lacking) {
        print_message("skip: not under sanitizers\n");
        printf("skip: not under sanitizers\n");
        skip();
    }
    rig_text("double.py", MODULE "class Model(nn.Module):\n    def forward(self, x):\n"
                                 "        return 2 * torch.relu(x)\n\n\n"
                                 "def get_inputs():\n    return [torch.randn(8, 8)]\n\n\n"
                                 "def get_init_inputs():\n    return []\n");
    rig_text("good.py", kinds[0].text);
    if (rig_run("exec $K eval double.py good.py --device $D") == 2 &&
        strstr(rig.err.data, "make torch")) {
        printf("skip: %.300s\n", rig.err.data);
        skip();
    }
    assert_int_equal(rig.status, 0);
}

/* --- who is who --- */

static int children(pid_t pid, long *out, int most)
{
    char path[96];
    int n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    struct dirent *e;
    while (tasks && (e = readdir(tasks))) {
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
        while (f && n < most && fscanf(f, "%ld", &out[n]) == 1) {
            n++;
        }
        if (f) {
            fclose(f);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return n;
}

static bool text_has(long pid, const char *file, const char *what)
{
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
    if (fd >= 0) {
        close(fd);
    }
    return n > 0 && memmem(text, (size_t)n, what, strlen(what)) != NULL;
}

/* In a pid namespace of its own: two numbers. */
static bool is_runner(long pid)
{
    char path[64], line[256];
    int own = 0, inner = 0, n = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "NSpid:", 6) == 0) {
            n = sscanf(line + 6, "%d %d", &own, &inner);
        }
    }
    if (f) {
        fclose(f);
    }
    return n == 2;
}

/* Its file is there under this name where it has a file system of its own. */
static bool is_candidate(long pid)
{
    return is_runner(pid) && text_has(pid, "root/kgym/source.py", "class ModelNew");
}

/* Nor does that ever change. What is neither (being born, a spare) may become a candidate before
 * the signal arrives. */
static bool is_reference(long pid)
{
    return is_runner(pid) && text_has(pid, "root/kgym/source.py", "class Model(nn.Module)");
}

static bool is_judge(long pid)
{
    return text_has(pid, "comm", "kgym-djudge");
}

/* One of the batch's workers has such a child. */
static long find(pid_t batch, enum victim kind)
{
    long worker[8], child[32];
    int n = children(batch, worker, 8);
    if (n == 0) {
        return 0;
    }
    long w = worker[kg_rng_below(&rng, (uint64_t)n)];
    int m = children((pid_t)w, child, 32);
    for (int i = 0; i < m; i++) {
        bool runner = is_runner(child[i]), reference = runner && is_reference(child[i]);
        if ((kind == JUDGE && is_judge(child[i])) ||
            (kind == ZYGOTE && !runner && text_has(child[i], "cmdline", "kgym_harness.zygote")) ||
            (kind == CANDIDATE && runner && !reference) || (kind == REFERENCE && reference)) {
            return child[i];
        }
    }
    return kind == WORKER && m > 0 ? w : 0;
}

/* --- batches --- */

static void write_lines(void)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    for (int i = 0; i < lines; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        json_t *j = json_pack("{s:s, s:s, s:s}", "id", id, "problem", "double.py", "source",
                              kinds[(size_t)i % KINDS].text);
        kg_json_dump(j, &b);
        kg_buf_addc(&b, '\n');
        json_decref(j);
    }
    rig_file("in.jsonl", b.data, b.len);
    kg_buf_deinit(&b);
}

static struct {
    int lines, right, errors;
} seen;

static void check_line(const json_t *j, const char *text)
{
    char got[100];
    size_t kind = (size_t)strtol(rig_get(j, "batch_id"), NULL, 10) % KINDS;
    const json_t *error = json_object_get(j, "error");
    snprintf(got, sizeof got, "%s/%s", rig_get(j, "verdict"), rig_get(j, "reason"));
    seen.lines++;
    if (json_is_null(error)) {
        seen.right++;
        if (strcmp(got, kinds[kind].want) != 0) {
            fail_msg("%s, not %s: %.1500s", got, kinds[kind].want, text);
        }
        return;
    }
    const char *code = rig_get(error, "code");
    seen.errors++;
    print_message("error: %.160s\n", rig_get(error, "message"));
    if (strcmp(code, "gym") != 0 && strcmp(code, "host") != 0) {
        fail_msg("an error of kind %s: %.1500s", code, text);
    }
}

static void check_output(void)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    int n = 0;
    kg_buf_init(&b, 64u << 20);
    assert_int_equal(kg_file_read("out.jsonl", &b, &err), KG_OK);
    for (char *s = b.data, *nl; (nl = strchr(s, '\n')); s = nl + 1, n++) {
        json_t *j;
        *nl = 0;
        assert_int_equal(kg_json_parse(s, (size_t)(nl - s), "out.jsonl", &j, &err), KG_OK);
        check_line(j, s);
        json_decref(j);
    }
    assert_int_equal(n, lines);
    kg_buf_deinit(&b);
}

static int64_t written(void)
{
    struct stat st;
    return stat("out.jsonl", &st) == 0 ? (int64_t)st.st_size : 0;
}

static bool over(pid_t pid)
{
    siginfo_t si = {0};
    return waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) != 0 || si.si_pid != 0;
}

static int lines_written(void)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    int n = 0;
    kg_buf_init(&b, 64u << 20);
    if (kg_file_read("out.jsonl", &b, &err) == KG_OK) {
        for (size_t i = 0; i < b.len; i++) {
            n += b.data[i] == '\n';
        }
    }
    kg_buf_deinit(&b);
    return n;
}

/* A candidate that is killed again, or under which the judge dies again, is called to account for
 * it, and rightly: here that happens to a line only once. Zygote, reference and worker may be
 * killed as often as it comes: nobody is accused of that. */
static int accused; /* lines that were written when it last did */

static bool accusing(enum victim kind)
{
    return kind == JUDGE || kind == CANDIDATE;
}

/* False: the batch has ended first, or there was none of that kind for long. */
static bool kill_one(pid_t batch, enum victim kind)
{
    int64_t until = kg_clock_ns() + FIND_NS;
    while (!over(batch) && kg_clock_ns() < until) {
        long pid = find(batch, kind);
        if (pid > 0) {
            rest_ms((int64_t)kg_rng_below(&rng, 60));
            rig_note(batch, 2);
            bool spared = accusing(kind) && lines_written() <= accused;
            bool hit = !spared && kill((pid_t)pid, SIGKILL) == 0;
            kills[kind] += hit;
            if (hit && accusing(kind)) {
                rest_ms(20);
                accused = lines_written();
            }
            return hit;
        }
        rest_ms(1);
    }
    return false;
}

static enum victim draw_victim(void)
{
    uint64_t all = 0;
    int v = 0;
    for (int i = 0; i < VICTIMS; i++) {
        all += share[i];
    }
    for (uint64_t n = kg_rng_below(&rng, all); n >= share[v]; v++) {
        n -= share[v];
    }
    return (enum victim)v;
}

/* All that was ever seen of the batches is gone: zygotes and runners do not carry $TMPDIR. */
static void nobody_left(void)
{
    for (int i = 0; i < rig_seen.n; i++) {
        for (int k = 0; k < 500 && text_has(rig_seen.pid[i], "cmdline", "kgym"); k++) {
            rest_ms(20);
        }
        if (text_has(rig_seen.pid[i], "cmdline", "kgym")) {
            fail_msg("process %ld is left", rig_seen.pid[i]);
        }
    }
}

static int all_kills(void)
{
    int n = 0;
    for (int i = 0; i < VICTIMS; i++) {
        n += kills[i];
    }
    return n;
}

/* Kills until the batch has ended. */
static void disturb(pid_t batch, int64_t until)
{
    int64_t moved = kg_clock_ns(), size = written();
    while (!over(batch)) {
        if (all_kills() < asked && kg_clock_ns() < until) {
            kill_one(batch, draw_victim());
        }
        rest_ms((int64_t)kg_rng_below(&rng, (uint64_t)rest));
        if (written() != size) {
            size = written();
            moved = kg_clock_ns();
        }
        if (kg_clock_ns() - moved > HANGS_S * 1000000000ll) {
            kill(-batch, SIGKILL);
            fail_msg("a batch hangs after %d kills", all_kills());
        }
    }
    int status = rig_finish(batch);
    if (status != 0 && status != 2) {
        fail_msg("exit status %d: %.2000s", status, rig.err.data);
    }
}

static void test_killed_at_any_moment(void **state)
{
    (void)state;
    need_torch();
    int64_t until = kg_clock_ns() + KILLS_NS;
    write_lines();
    int batches = 0;
    while (all_kills() < asked && kg_clock_ns() < until) {
        rig_run("rm -f out.jsonl");
        accused = -1;
        disturb(rig_start("KGYM_CACHE=none exec $K eval --batch in.jsonl --out out.jsonl "
                          "--device $D --jobs 1"),
                until);
        check_output();
        batches++;
        print_message("batch %d: %d kills so far\n", batches, all_kills());
    }
    for (int i = 0; i < VICTIMS; i++) {
        print_message("%s: %d killed\n", names[i], kills[i]);
        assert_true(kills[i] > 0 || asked < KILLS);
    }
    print_message("%d kills of %d, %d batches, %d lines: %d right, %d errors\n", all_kills(), asked,
                  batches, seen.lines, seen.right, seen.errors);
    rig_expect(0, "KGYM_CACHE=none exec $K eval double.py good.py --device $D"); /* sweeps */
    rig_nothing_left();
    nobody_left();
}

static void slow_source(void)
{
    rig_text("slow.py", MODULE "import time\n\n\nclass ModelNew(nn.Module):\n"
                               "    def forward(self, x):\n        time.sleep(1)\n"
                               "        return 2 * torch.relu(x)\n");
}

/* That one of its processes, while a slow candidate is being called. */
static void kill_called(pid_t pid, enum victim kind)
{
    long victim = 0, child[32];
    bool up = false;
    for (int k = 0; k < 20000 && !(up && victim > 0) && !over(pid); k++) {
        int n = children(pid, child, 32);
        up = false;
        victim = 0;
        for (int c = 0; c < n; c++) {
            bool candidate = is_candidate(child[c]);
            up = up || candidate;
            victim = (kind == JUDGE && is_judge(child[c])) || (kind == CANDIDATE && candidate)
                         ? child[c]
                         : victim;
        }
        rest_ms(2);
    }
    assert_true(up && victim > 0);
    rest_ms(700); /* it is being called */
    rig_note(pid, 2);
    assert_int_equal(kill((pid_t)victim, SIGKILL), 0);
    rest_ms(200);
}

/* A judge that dies once under a candidate is an accident; twice, and not under the reference, is
 * the candidate's doing. */
static void test_a_judge_dies_under_a_candidate(void **state)
{
    (void)state;
    need_torch();
    slow_source();
    for (int times = 1; times <= 2; times++) {
        pid_t pid = rig_start("exec $K eval double.py slow.py --device $D --json");
        for (int i = 0; i < times; i++) {
            kill_called(pid, JUDGE);
        }
        rig_finish(pid);
        if (rig.out.len == 0) {
            fail_msg("exit status %d: %.2000s", rig.status, rig.err.data);
        }
        json_t *j = rig_json();
        if (!json_is_null(json_object_get(j, "error"))) {
            fail_msg("%.1500s", rig.out.data);
        }
        assert_string_equal(rig_get(j, "verdict"), times == 1 ? "ok" : "crash");
        assert_string_equal(rig_get(j, "reason"), times == 1 ? "" : "protocol");
        json_decref(j);
        rig_nothing_left();
        nobody_left();
    }
}

/* A judge that dies and a candidate that is killed are two accidents, and no proof. */
static void test_two_accidents_prove_nothing(void **state)
{
    (void)state;
    need_torch();
    slow_source();
    pid_t pid = rig_start("exec $K eval double.py slow.py --device $D --json");
    kill_called(pid, JUDGE);
    kill_called(pid, CANDIDATE);
    rig_finish(pid);
    if (rig.out.len == 0) {
        fail_msg("exit status %d: %.2000s", rig.status, rig.err.data);
    }
    json_t *j = rig_json();
    assert_string_equal(rig_get(j, "verdict"), "ok");
    json_decref(j);
    rig_nothing_left();
    nobody_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_judge_dies_under_a_candidate),
        cmocka_unit_test(test_two_accidents_prove_nothing),
        cmocka_unit_test(test_killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
