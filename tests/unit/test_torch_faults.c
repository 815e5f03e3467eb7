/* Candidates that break what they run on: each ends as what it is before its deadline, the next
 * candidate of the same worker is judged as if nothing had been, another worker's meanwhile too,
 * and afterwards the device holds as much memory and as many processes as before. On the GPU where
 * tests/run.sh has found one; else the same on the CPU, with faults of the CPU. */
#define RIG_LIMIT_S 300

#include "torch_kill_rig.h"

#include "gym/device/device_judge.h"
#include "nvml_rig.h"

#define BESIDE 8 /* lines of the other worker, again and again */
#define LIMITS "--no-stage-timing --set deadline.run=3 --set torch.first_call=9"
#define CUDA                                                                                       \
    MODULE "kernel = torch.cuda._compile_kernel('''extern \"C\" __global__ void k(float *y)\n"
#define CALLED                                                                                     \
    "''', 'k')\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"                       \
    "        y = 2 * torch.relu(x)\n        kernel((1, 1, 1), (1, 1, 1), (y,))\n"                  \
    "        return y\n"
#define RIGHT "        return 2 * torch.relu(x)\n"

static const struct fault {
    const char *what, *cpu, *cpu_want, *gpu, *gpu_want; /* want: any of these words */
} faults[] = {
    {"a wild store", "import ctypes\n" NEW "        ctypes.memset(16, 0, 64)\n" RIGHT,
     "crash/signal", CUDA "{ y[1ll << 40] = 1; }" CALLED, "crash/exception crash/device"},
    {"no end", NEW "        while True:\n            pass\n", "timeout/tiny timeout/full",
     CUDA "{ volatile float *v = y; while (v[0] != -7) { } }" CALLED, "timeout/tiny timeout/full"},
    {"all memory",
     NEW "        held = []\n        while True:\n"
         "            held.append(torch.ones(1 << 24))\n",
     "out_of_memory/host",
     NEW "        held = []\n        while True:\n"
         "            held.append(torch.ones(1 << 28, device=x.device))\n",
     "out_of_memory/device"},
    {"an exit", NEW "        os._exit(0)\n", "crash/exit", NEW "        os._exit(0)\n",
     "crash/exit"},
    {"a child that stays",
     "import time\n" NEW "        if os.fork() == 0:\n            time.sleep(1000)\n" RIGHT, "ok/",
     "import time\n" NEW "        if os.fork() == 0:\n            time.sleep(1000)\n" RIGHT, "ok/"},
};
#define FAULTS (sizeof faults / sizeof *faults)

static bool gpu; /* here it is for real */
static char bus[32];

static int setup(void **state)
{
    const char *found = getenv("KGYM_TEST_GPU");
    gpu = found && strcmp(found, "1") == 0;
    setenv("TEST_DEVICE", gpu ? "cuda:0" : "cpu", 1);
    return rig_setup(state);
}

/* --- batches --- */

static void add(struct kg_buf *b, const char *id, const char *source)
{
    json_t *j = json_pack("{s:s, s:s, s:s}", "id", id, "problem", "double.py", "source", source);
    kg_json_dump(j, b);
    kg_buf_addc(b, '\n');
    json_decref(j);
}

/* A right one that was never judged before. */
static void add_good(struct kg_buf *b, const char *id, int number)
{
    char text[600];
    snprintf(text, sizeof text, "# %d\n" NEW RIGHT, number);
    add(b, id, text);
}

/* Each fault between two right ones; and the other worker's. */
static void write_batches(void)
{
    struct kg_buf b;
    char id[32];
    kg_buf_init(&b, 1 << 20);
    add_good(&b, "good", -1);
    for (size_t i = 0; i < FAULTS; i++) {
        snprintf(id, sizeof id, "fault-%zu", i);
        add(&b, id, gpu ? faults[i].gpu : faults[i].cpu);
        snprintf(id, sizeof id, "good-%zu", i);
        add_good(&b, id, (int)i);
    }
    rig_file("in.jsonl", b.data, b.len);
    kg_buf_reset(&b);
    for (int i = 0; i < BESIDE; i++) {
        snprintf(id, sizeof id, "beside-%d", i);
        add_good(&b, id, 100 + i);
    }
    rig_file("beside.jsonl", b.data, b.len);
    kg_buf_deinit(&b);
}

static bool is_one_of(const char *word, const char *list)
{
    const char *at = strstr(list, word);
    size_t n = strlen(word);
    return at && (at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ');
}

static void check_line(const json_t *j)
{
    char got[100];
    const char *id = rig_get(j, "batch_id"), *want = "ok/", *what = id;
    size_t i;
    snprintf(got, sizeof got, "%s/%s", rig_get(j, "verdict"), rig_get(j, "reason"));
    if (sscanf(id, "fault-%zu", &i) == 1) {
        want = gpu ? faults[i].gpu_want : faults[i].cpu_want;
        what = faults[i].what;
    }
    if (!json_is_null(json_object_get(j, "error")) || !is_one_of(got, want)) {
        fail_msg("%s: %s, not %s: %s%s", what, got, want, rig_get(j, "message"),
                 rig_get(json_object_get(j, "error"), "message"));
    }
}

static int check_output(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    int n = 0;
    kg_buf_init(&b, 64u << 20);
    assert_int_equal(kg_file_read(path, &b, &err), KG_OK);
    for (char *s = b.data, *nl; (nl = strchr(s, '\n')); s = nl + 1, n++) {
        json_t *j;
        assert_int_equal(kg_json_parse(s, (size_t)(nl - s), path, &j, &err), KG_OK);
        check_line(j);
        json_decref(j);
    }
    kg_buf_deinit(&b);
    return n;
}

/* --- the device --- */

static void find_bus(void)
{
    struct kg_dj j;
    struct kg_err err = KG_ERR_INIT;
    struct kg_dj_spec spec = {.device = "cuda:0", .cpu = -1};
    if (kg_dj_start(&spec, &j, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    snprintf(bus, sizeof bus, "%s", j.facts.bus);
    kg_dj_stop(&j);
}

static struct nvml_now before(void)
{
    struct nvml_now was = {0};
    if (gpu) {
        find_bus();
        sleep(1); /* the judge's context is gone */
        assert_true(nvml_look(bus, &was));
    }
    return was;
}

static void as_before(const struct nvml_now *was)
{
    struct nvml_now is = *was;
    if (gpu && !nvml_settles(bus, was, &is)) {
        fail_msg("the device had %llu bytes in use by %u processes, and has %llu by %u",
                 (unsigned long long)was->used, was->processes, (unsigned long long)is.used,
                 is.processes);
    }
}

/* Until the faults are over. */
static const char others[] =
    ": >times; until test -e over; do rm -f beside-out.jsonl; "
    "$K eval --batch beside.jsonl --out beside-out.jsonl --device $D --jobs 1 " LIMITS
    " 2>beside-err || exit 3; test $(grep -c '\"verdict\":\"ok\"' beside-out.jsonl) = 8 || exit 4; "
    "echo >>times; done";

static void test_faults_stay_with_who_makes_them(void **state)
{
    (void)state;
    need_torch();
    struct nvml_now was = before();
    write_batches();
    pid_t other = rig_start(others);
    rig_expect(0,
               "exec $K eval --batch in.jsonl --out out.jsonl --device $D --jobs 1 "
               "--set torch.memory_mb=%d " LIMITS,
               gpu ? 16384 : 320);
    assert_int_equal(check_output("out.jsonl"), 1 + 2 * FAULTS);
    rig_text("over", "");
    if (rig_finish(other) != 0) {
        check_output("beside-out.jsonl");
        fail_msg("another worker was disturbed: exit status %d", rig.status);
    }
    assert_int_equal(check_output("beside-out.jsonl"), BESIDE);
    rig_nothing_left();
    nobody_left();
    as_before(&was);
    rig_expect(0, "wc -l <times");
    printf("told: %zu faults on %s: each as it should end; beside it %ld candidates undisturbed\n",
           FAULTS, gpu ? "the GPU" : "the CPU", BESIDE * strtol(rig.out.data, NULL, 10));
}

/* What the test sees of a device: by an NVML that says what it is told to. */
static void test_a_device_that_is_not_as_before(void **state)
{
    (void)state;
    char library[600];
    struct nvml_now was, is;
    snprintf(library, sizeof library, "%s/libfakenvml.so", getenv("KGYM_HOME"));
    if (gpu) {
        return; /* the other test looks at the real one */
    }
    setenv("KGYM_LIBNVML", library, 1);
    setenv("FAKE_NVML_USE", "1000000 2", 1);
    assert_true(nvml_look("0000:19:00.0", &was));
    assert_true(was.used == 1000000 && was.processes == 2);
    assert_false(nvml_look("0000:1a:00.0", &is));
    assert_true(nvml_settles("0000:19:00.0", &was, &is));
    static const char *const unlike[] = {"1000000 3", "99000000 2"};
    for (size_t i = 0; i < 2; i++) {
        setenv("FAKE_NVML_USE", unlike[i], 1);
        assert_true(nvml_look("0000:19:00.0", &is));
        assert_false(nvml_as_before(&was, &is));
    }
    setenv("FAKE_NVML_USE", "1000000 100", 1); /* more than are listed */
    assert_true(nvml_look("0000:19:00.0", &is));
    assert_true(is.processes == 100 && !nvml_as_before(&was, &is));
    setenv("KGYM_LIBNVML", "/nowhere", 1);
    assert_false(nvml_look("0000:19:00.0", &is));
    unsetenv("KGYM_LIBNVML");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_device_that_is_not_as_before),
        cmocka_unit_test(test_faults_stay_with_who_makes_them),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
