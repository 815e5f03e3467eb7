/* A Python runner on a GPU, under its whole confinement, against the judge of that GPU: skipped
 * where there is none. */
#include "gym/device/device_judge.h"
#include "tests/unit/torch_rig.h"

static struct kg_dj judge;
static struct kg_dj_report report;
static bool on_gpu;

/* tests/run.sh has seen a device. */
static bool wanted(void)
{
    const char *gpu = getenv("KGYM_TEST_GPU");
    return gpu != NULL && strcmp(gpu, "1") == 0;
}

static int setup(void **state)
{
    (void)state;
    if (access("/dev/nvidiactl", F_OK) != 0) {
        snprintf(rig.why, sizeof rig.why, "no GPU here");
        return 0;
    }
    if (rig_start("cuda:0") != 0) {
        return -1;
    }
    struct kg_err err = KG_ERR_INIT;
    struct kg_dj_spec d = {.device = "cuda:0", .cpu = -1};
    on_gpu = rig.up && kg_dj_start(&d, &judge, &err) == KG_OK;
    if (rig.up && !on_gpu) {
        printf("judge: %s\n", err.message);
        return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    if (on_gpu) {
        kg_dj_stop(&judge);
    }
    return rig.folder[0] != '\0' ? rig_teardown(state) : 0;
}

struct gpu {
    int port, fds[3];
    struct kg_pyrunner runner;
};

static void gpu_open(struct gpu *g, const char *text)
{
    struct kg_err err = KG_ERR_INIT;
    const char *without =
        getenv("KGYM_TEST_WITHOUT"); /* bits of steps: to find which one hinders */
    if (kg_dj_port_open(&judge, 32 << 20, 64 << 20, &g->port, g->fds, &err) != KG_OK) {
        fail_msg("port: %s", err.message);
    }
    struct kg_pyrunner_spec spec = {.source = rig_source(text),
                                    .ctrl_fd = g->fds[0],
                                    .in_fd = g->fds[1],
                                    .out_fd = g->fds[2],
                                    .limits = {.memory_bytes = (int64_t)16 << 30,
                                               .processes = 512,
                                               .file_bytes = (int64_t)1 << 30,
                                               .cpu_s = 300,
                                               .descriptors = 1024},
                                    .without =
                                        without != NULL ? (uint32_t)strtoul(without, NULL, 0) : 0,
                                    .cpu = -1,
                                    .connections = 1};
    int64_t begin = kg_clock_ns();
    if (kg_pyrunner_begin(&rig.zygote, &spec, &g->runner, &err) != KG_OK ||
        kg_pyrunner_ready(&g->runner, &err) != KG_OK) {
        fail_msg("runner: %s", err.message);
    }
    printf("runner ready after %.0f ms, isolation L%d\n", (double)(kg_clock_ns() - begin) / 1e6,
           g->runner.sandbox.isolation.level);
    for (int i = 0; i < 3; i++) {
        close(g->fds[i]);
    }
    if (kg_dj_port_attach(&judge, g->port, g->runner.sandbox.pidfd, &err) != KG_OK) {
        fail_msg("attach: %s", err.message);
    }
}

static void gpu_close(struct gpu *g)
{
    struct kg_err err = KG_ERR_INIT;
    kg_pyrunner_stop(&g->runner);
    assert_int_equal(kg_dj_port_close(&judge, g->port, &err), KG_OK);
}

static void command(struct gpu *g, enum kg_tcommand what, const char *request)
{
    struct kg_pyanswer a;
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    assert_int_equal(kg_json_parse(request, strlen(request), "test", &j, &err), KG_OK);
    kg_pyrunner_command(&g->runner, what, j, 7, kg_clock_ns() + 120 * SECOND, &a);
    json_decref(j);
    if (a.status != KG_PY_ANSWERED || a.said != KG_TA_OK) {
        char *text = a.reply != NULL ? json_dumps(a.reply, JSON_COMPACT) : NULL;
        kg_pyrunner_stop(&g->runner);
        fail_msg("command %d: status %d, said %d: %s\n%s", (int)what, (int)a.status, (int)a.said,
                 text != NULL ? text : "", g->runner.output[1].head);
    }
    kg_pyanswer_deinit(&a);
}

static void run(struct gpu *g, uint32_t what, int id, enum kg_dj_side keep, uint32_t flags)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_dj_call call = {.port = g->port,
                              .id = id,
                              .command = what,
                              .flags = flags,
                              .seed = 5,
                              .keep = keep,
                              .deadline_ns = kg_clock_ns() + 120 * SECOND};
    if (kg_dj_run(&judge, &call, &report, &err) != KG_OK) {
        fail_msg("judge: %s", err.message);
    }
    if (report.status != KG_DJ_ANSWERED || report.said != KG_TA_OK) {
        char reply[600];
        snprintf(reply, sizeof reply, "%.500s", g->runner.wire->reply);
        kg_pyrunner_stop(&g->runner);
        fail_msg("command %u: status %d, said %d: %s\n%s", what, (int)report.status,
                 (int)report.said, reply, g->runner.output[1].head);
    }
}

static void make_case(int id, int64_t rows, int64_t cols)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_tleaf leaf = leaf_of(KG_TD_F32, "0", 2, rows, cols);
    leaf.stride[0] = cols;
    leaf.stride[1] = 1;
    kg_twire_place(&leaf, 1);
    struct kg_dj_law law = {.kind = KG_DJ_NORMAL, .stream = 1, .a = 0, .b = 1};
    if (kg_dj_case_begin(&judge, id, &leaf, 1, &err) != KG_OK ||
        kg_dj_case_fill(&judge, id, 0, &law, &err) != KG_OK) {
        fail_msg("case: %s", err.message);
    }
}

#define SOFTMAX(name)                                                                              \
    "import os, torch\nassert os.environ['CUDA_DEVICE_MAX_CONNECTIONS'] == '1'\n"                  \
    "class " name "(torch.nn.Module):\n"                                                           \
    "    def forward(self, x):\n        return torch.softmax(x, 1)\n"

#define USED ((uint64_t)8 << 20) /* of OUT: of its 192 MB the first 80 */

static void judge_text(const char *text, bool want)
{
    struct kg_err err = KG_ERR_INIT;
    struct gpu ref, cand;
    struct kg_dj_judgement j;
    bool applies = false;
    make_case(0, 512, 1000);
    gpu_open(&ref, SOFTMAX("Model"));
    command(&ref, KG_TC_LOAD, "{\"entry\": \"Model\", \"role\": \"reference\"}");
    command(&ref, KG_TC_BUILD, "{\"init\": []}");
    run(&ref, KG_TC_BIND, 0, KG_DJ_NONE, 0);
    run(&ref, KG_TC_CALL, 0, KG_DJ_FLOAT, 0);
    run(&ref, KG_TC_CALL, 0, KG_DJ_ORACLE, KG_TF_WIDE);
    assert_int_equal(kg_dj_self(&judge, 0, &(struct kg_dj_ask){.k = 1000}, &applies, &err), KG_OK);
    assert_true(applies);
    gpu_close(&ref);
    gpu_open(&cand, text);
    command(&cand, KG_TC_LOAD, "{\"entry\": \"ModelNew\", \"role\": \"candidate\"}");
    assert_int_equal(kg_dj_port_use(&judge, cand.port, USED, &err), KG_OK);
    command(&cand, KG_TC_BUILD, "{\"init\": []}");
    run(&cand, KG_TC_BIND, 0, KG_DJ_NONE, 0);
    uint64_t at = 0;
    int moved = 0;
    for (int i = 0; i < 16; i++) { /* each time elsewhere: of seven pages one */
        bool settled = i >= 4;     /* the first ones, each on a stream of its own, are not in OUT */
        run(&cand, KG_TC_CALL, 0, KG_DJ_CANDIDATE, 0);
        moved += i > 4 && report.leaf[0].copied == 0 && report.leaf[0].offset != at;
        at = report.leaf[0].offset;
        printf("call: window %.1f us, copied %u, device %u, peak %.1f MB%s%s%s\n",
               (double)report.window_ns / 1e3, report.leaf[0].copied, report.leaf[0].device,
               (double)report.peak_bytes / 1e6, report.guard_hit ? ", guard hit" : "",
               report.late_write ? ", late write" : "", report.unwritten ? ", unwritten" : "");
        assert_false(report.guard_hit || report.late_write || report.unwritten ||
                     report.input_modified);
        assert_true(at + report.leaf[0].bytes <= 10 * USED);
        assert_int_equal(report.leaf[0].copied == 0, settled);
        assert_true(!settled || at >= 5 * USED);
    }
    assert_true(moved > 0);
    if (kg_dj_compare(&judge, 0, false, &j, &err) != KG_OK) {
        fail_msg("compare: %s", err.message);
    }
    assert_int_equal(j.compare.pass, want);
    for (int i = 0; i < 5; i++) {
        run(&cand, KG_TC_NULL, -1, KG_DJ_NONE, 0);
        printf("null: window %.1f us\n", (double)report.window_ns / 1e3);
    }
    gpu_close(&cand);
}

static void need(void)
{
    if (!on_gpu && wanted()) {
        fail_msg("there is a GPU, and nothing runs on it: %s", rig.why);
    }
    if (!on_gpu) {
        printf("skip: %s\n", rig.why);
        skip();
    }
}

static void test_torch_on_a_gpu(void **state)
{
    (void)state;
    need();
    judge_text(SOFTMAX("ModelNew"), true);
}

static void test_a_wrong_answer_on_a_gpu(void **state)
{
    (void)state;
    need();
    judge_text("import torch\nclass ModelNew(torch.nn.Module):\n"
               "    def forward(self, x):\n        return torch.softmax(x, 0)\n",
               false);
}

static void test_triton_on_a_gpu(void **state)
{
    (void)state;
    need();
    judge_text("import torch, triton, triton.language as tl\n"
               "@triton.jit\ndef k(x, y, n, B: tl.constexpr):\n"
               "    r = tl.program_id(0)\n    i = tl.arange(0, B)\n"
               "    v = tl.load(x + r * n + i, mask=i < n, other=-float('inf'))\n"
               "    e = tl.exp(v - tl.max(v, 0))\n"
               "    tl.store(y + r * n + i, e / tl.sum(e, 0), mask=i < n)\n"
               "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
               "        y = torch.empty_like(x)\n"
               "        k[(x.shape[0],)](x, y, x.shape[1], B=1024)\n        return y\n",
               true);
}

static void test_calls_take_turns_on_streams(void **state)
{
    (void)state;
    need();
    judge_text("import torch\nclass ModelNew(torch.nn.Module):\n"
               "    def __init__(self):\n        super().__init__()\n        self.seen = []\n"
               "    def forward(self, x):\n"
               "        seen = self.seen\n"
               "        seen.append(torch.cuda.current_stream().cuda_stream)\n"
               "        assert len(set(seen)) == min(len(seen), 4), seen\n"
               "        assert seen[-1] == seen[(len(seen) - 1) % 4], seen\n"
               "        assert torch.cuda.default_stream().cuda_stream not in seen, seen\n"
               "        return torch.softmax(x @ torch.eye(x.shape[1], device=x.device), 1)\n",
               true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_torch_on_a_gpu),
        cmocka_unit_test(test_a_wrong_answer_on_a_gpu),
        cmocka_unit_test(test_triton_on_a_gpu),
        cmocka_unit_test(test_calls_take_turns_on_streams),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
