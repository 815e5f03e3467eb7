/* The stage profile from LOAD to the record, on the CPU: candidates run there as ever, and launch
 * records are the test's (kg_tprofile_hook), who knows which kernels it pretends were suppressed.
 * What really happens on a device is for tools/gpu-check.sh. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <math.h>
#include <unistd.h>

#include "gym/torch/profile.h"

static const char problem[] =
    HEAD "rows = 16\ncols = 24\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
         "        return torch.relu(x) + 1\n\n\ndef get_inputs():\n"
         "    return [torch.randn(rows, cols)]\n\n\ndef get_init_inputs():\n    return []\n";
/* Answers the same whatever is suppressed. */
static const char sure[] = HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                                "        return torch.relu(x) + 1\n";
/* Where it is profiled, its calls from this one on are wrong. */
static const char tired[] =
    HEAD "import gc\n\nimport kgym_harness.profile\n\ncalls = []\nprofiled = any(isinstance(o, "
         "kgym_harness.profile.Blind) for o in gc.get_objects())\n\n\n"
         "class ModelNew(nn.Module):\n    def forward(self, x):\n"
         "        calls.append(1)\n"
         "        return torch.relu(x) + (1 if not profiled or len(calls) < %d else 2)\n";

/* --- in the runner's place --- */

static struct {
    const char *kernels; /* of every profiled call */
    int64_t missing, graphs, suppressed;
    bool error, silent;
    /* what was asked */
    int takes, suppressions;
    char last[64]; /* name that was suppressed last */
} play;

static json_t *played(const json_t *request, int64_t window_ns)
{
    const json_t *names = json_object_get(request, "suppress");
    json_error_t e;
    if (json_array_size(names) > 0) {
        play.suppressions++;
        snprintf(play.last, sizeof play.last, "%s", json_string_value(json_array_get(names, 0)));
    }
    play.takes += json_is_true(json_object_get(request, "take"));
    if (play.silent) {
        return NULL;
    }
    if (play.error) {
        return json_pack("{s:s}", "error", "libcupti.so: cannot open");
    }
    return json_pack("{s:o, s:i, s:i, s:I, s:i, s:I, s:I, s:I}", "kernels",
                     json_loads(window_ns > 1 ? play.kernels : "[]", 0, &e), "memcpy_ns", 0,
                     "memset_ns", 0, "span_ns", (json_int_t)(window_ns > 1 ? 1000 : 0), "dropped",
                     0, "missing", (json_int_t)play.missing, "suppressed",
                     (json_int_t)play.suppressed, "graphs", (json_int_t)play.graphs);
}

#define MINE    "{\"name\": \"mine\", \"class\": \"own\", \"calls\": 1, \"ns\": 600}"
#define OTHER   "{\"name\": \"_Z5otherPf\", \"class\": \"own\", \"calls\": 2, \"ns\": 200}"
#define LIBRARY "{\"name\": \"gemm\", \"class\": \"library\", \"calls\": 1, \"ns\": 200}"
#define FUSED   "{\"name\": \"triton_0\", \"class\": \"compiler\", \"calls\": 1, \"ns\": 800}"

/* --- evaluations --- */

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.stage_profile = true;
    config.stage_timing = false;
    config.stage_tiny = false;
    if (rig_open() != 0) {
        return -1;
    }
    put("problem.py", problem);
    return 0;
}

static int fresh(void **state)
{
    (void)state;
    memset(&play, 0, sizeof play);
    play.kernels = "[]";
    kg_tprofile_hook = (struct kg_tprofile_hook){.any_device = true, .reply = played};
    worker->config = config;
    return 0;
}

/* Of problem.py. */
static void ends(const char *source, const char *want, struct kg_record *r)
{
    need_torch();
    expect("problem.py", source, want, r);
}

static const char *why(const struct kg_record *r)
{
    const char *s = json_string_value(json_object_get(evidence(r, "coverage"), "why"));
    assert_non_null(s);
    return s;
}

/* --- tests --- */

static void without_a_gpu(void **state)
{
    (void)state;
    struct kg_record r;
    kg_tprofile_hook.any_device = false;
    ends(sure, "ok", &r);
    assert_int_equal(r.stages[KG_ST_PROFILE].status, KG_SS_OFF);
    assert_int_equal(r.stage, KG_ST_FULL);
    assert_true(isnan(r.coverage));
    assert_string_equal(why(&r), "profile needs a GPU");
    kg_record_deinit(&r);
    worker->config.library = KG_LIB_FORBIDDEN;
    ends(sure, "error/needs_gpu", &r);
    kg_record_deinit(&r);
}

static void switched_off(void **state)
{
    (void)state;
    struct kg_record r;
    worker->config.stage_profile = false;
    ends(sure, "ok", &r);
    assert_int_equal(r.stages[KG_ST_PROFILE].status, KG_SS_OFF);
    assert_true(isnan(r.coverage));
    assert_int_equal(play.takes, 0);
    kg_record_deinit(&r);
}

/* No kernel of its own: nothing is asked, and the library's share is told. */
static void the_library_answers(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" LIBRARY "]";
    ends(sure, "ok", &r);
    assert_int_equal(r.stages[KG_ST_PROFILE].status, KG_SS_PASS);
    assert_float_equal(r.coverage, 0, 0);
    assert_true(r.league.eligible);
    assert_int_equal(play.suppressions, 0);
    const json_t *f = json_array_get(r.league.findings, 0);
    assert_string_equal(json_string_value(json_object_get(f, "rule")), "policy.delegation");
    assert_float_equal(json_real_value(json_object_get(f, "share")), 1, 1e-9);
    const json_t *k = evidence(&r, "kernel");
    assert_string_equal(json_string_value(json_object_get(k, "name")), "gemm");
    assert_true(json_is_false(json_object_get(k, "own")));
    assert_int_equal(json_integer_value(json_object_get(k, "calls")), 1);
    kg_record_deinit(&r);
}

/* Suppressed, but no launch was: nothing is shown, and the kernels count as live. */
static void what_cannot_be_suppressed_lives(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" LIBRARY "," OTHER "," MINE "]";
    ends(sure, "ok", &r);
    assert_float_equal(r.coverage, 0.8, 1e-9);
    assert_int_equal(play.suppressions, 2);
    const json_t *k = evidence(&r, "kernel"); /* most time first */
    assert_string_equal(json_string_value(json_object_get(k, "name")), "mine");
    assert_float_equal(json_real_value(json_object_get(k, "share")), 0.6, 1e-9);
    assert_true(json_is_true(json_object_get(k, "own")));
    assert_true(json_is_false(json_object_get(k, "dead")));
    assert_string_equal(play.last, "_Z5otherPf"); /* as the driver has it */
    kg_record_deinit(&r);
}

static void a_decoy(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" LIBRARY "," OTHER "," MINE "]";
    play.suppressed = 1;
    ends(sure, "hack/decoy", &r);
    assert_float_equal(r.coverage, 0, 0);
    assert_int_equal(r.stages[KG_ST_PROFILE].status, KG_SS_FAIL);
    assert_true(json_is_true(json_object_get(evidence(&r, "kernel"), "dead")));
    /* a process that was profiled, one without all of them, and the next one was not started */
    assert_int_equal(number(evidence(&r, "coverage"), "processes"), 3);
    kg_record_deinit(&r);
    worker->config.hack_checks = false;
    ends(sure, "ok", &r);
    assert_float_equal(r.coverage, 0, 0);
    kg_record_deinit(&r);
}

/* With graphs each question is asked in a process of its own, that LOAD tells what to suppress. */
static void graphs_are_asked_afresh(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" MINE "," LIBRARY "]";
    play.graphs = play.suppressed = 1;
    ends(sure, "hack/decoy", &r);
    assert_int_equal(play.suppressions, 0); /* never in a process that runs already */
    assert_int_equal(number(evidence(&r, "coverage"), "processes"), 5);
    kg_record_deinit(&r);
}

/* What happens while kernels are suppressed is no verdict; before, it is one. */
static void wrong_without_is_live(void **state)
{
    (void)state;
    struct kg_record r;
    char text[2000];
    play.kernels = "[" MINE "," LIBRARY "]";
    play.suppressed = 1;
    snprintf(text, sizeof text, tired, 9); /* 7 are profiled, the 8th is as it was */
    ends(text, "ok", &r);
    assert_float_equal(r.coverage, 0.75, 1e-9);
    assert_int_equal(play.suppressions, 1);
    assert_null(evidence(&r, "mismatch"));
    kg_record_deinit(&r);
    snprintf(text, sizeof text, tired, 8); /* that one: asked again in a new process */
    ends(text, "hack/decoy", &r);
    kg_record_deinit(&r);
    snprintf(text, sizeof text, tired, 4); /* the first on new inputs */
    ends(text, "wrong/value", &r);
    assert_true(isnan(r.coverage));
    kg_record_deinit(&r);
    snprintf(text, sizeof text, tired, 3); /* the one that is profiled */
    ends(text, "ok", &r);
    assert_float_equal(r.coverage, 0, 0);
    assert_string_equal(why(&r), "a profiled call was not right");
    kg_record_deinit(&r);
}

static void forbidden(void **state)
{
    (void)state;
    struct kg_record r;
    char text[1000];
    worker->config.library = KG_LIB_FORBIDDEN;
    play.kernels = "[" MINE "]";
    ends(sure, "ok", &r);
    assert_float_equal(r.coverage, 1, 0);
    kg_record_deinit(&r);
    play.kernels = "[" MINE "," LIBRARY "]";
    ends(sure, "hack/delegation", &r);
    kg_record_deinit(&r);
    worker->config.library_share = 0.25;
    ends(sure, "ok", &r);
    kg_record_deinit(&r);
    play.kernels = "[" LIBRARY "]";
    ends(sure, "hack/delegation", &r);
    kg_record_deinit(&r);
    snprintf(text, sizeof text, "K = '''__global__ void k() {}'''\n%s", sure);
    ends(text, "hack/fallback", &r);
    kg_record_deinit(&r);
}

static void a_compiler_wrote_it(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" FUSED "," LIBRARY "]";
    ends(sure, "ok", &r);
    assert_false(r.league.eligible);
    assert_float_equal(r.coverage, 0, 0);
    const json_t *f = json_array_get(r.league.findings, 1);
    assert_string_equal(json_string_value(json_object_get(f, "rule")), "policy.compiler");
    assert_float_equal(json_real_value(json_object_get(f, "share")), 0.8, 1e-9);
    kg_record_deinit(&r);
}

static void records_that_do_not_count(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" MINE "]";
    play.missing = 1;
    ends(sure, "ok", &r);
    assert_float_equal(r.coverage, 0, 0);
    assert_string_equal(why(&r), "records are missing");
    assert_null(evidence(&r, "kernel"));
    kg_record_deinit(&r);
    fresh(NULL);
    play.kernels = "[{\"name\": \"mine\", \"class\": \"own\", \"calls\": 1, \"ns\": "
                   "9000000000000}]";
    ends(sure, "ok", &r);
    assert_float_equal(r.coverage, 0, 0);
    assert_string_equal(why(&r), "a record is malformed");
    kg_record_deinit(&r);
    fresh(NULL);
    play.silent = true;
    ends(sure, "ok", &r);
    assert_float_equal(r.coverage, 0, 0);
    kg_record_deinit(&r);
    fresh(NULL);
    play.error = true; /* no CUPTI: nothing is known */
    ends(sure, "ok", &r);
    assert_true(isnan(r.coverage));
    assert_non_null(evidence(&r, "profiler"));
    kg_record_deinit(&r);
}

/* The real runner, where there is no device: LOAD goes well, and PROFILE says why there is nothing.
 */
static void a_runner_that_cannot(void **state)
{
    (void)state;
    struct kg_record r;
    kg_tprofile_hook.reply = NULL;
    setenv("KGYM_LIBCUDA", "/nonexistent", 1);
    ends(sure, "ok", &r);
    unsetenv("KGYM_LIBCUDA");
    assert_true(isnan(r.coverage));
    assert_string_equal(why(&r), "launch records are not to be had");
    const json_t *p = evidence(&r, "profiler");
    assert_non_null(p);
    assert_true(strlen(json_string_value(json_object_get(p, "why"))) > 5);
    kg_record_deinit(&r);
}

/* kgym_harness.profile by itself: whose a Triton kernel is by its file, and the labels. */
static void owners_by_file(void **state)
{
    (void)state;
    const char *tree = getenv("KGYM_TREE"), *python = getenv("KGYM_PYTHON");
    char command[1000], venv[300];
    tree = tree ? tree : ".";
    snprintf(venv, sizeof venv, "%s/.venv/bin/python", tree);
    python = python ? python : access(venv, X_OK) == 0 ? venv : "python3";
    need_torch();
    snprintf(command, sizeof command,
             "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=%s/harness %s %s/tests/torch/check_profile.py",
             tree, python, tree);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_gpu, fresh),
        cmocka_unit_test_setup(switched_off, fresh),
        cmocka_unit_test_setup(the_library_answers, fresh),
        cmocka_unit_test_setup(what_cannot_be_suppressed_lives, fresh),
        cmocka_unit_test_setup(a_decoy, fresh),
        cmocka_unit_test_setup(graphs_are_asked_afresh, fresh),
        cmocka_unit_test_setup(wrong_without_is_live, fresh),
        cmocka_unit_test_setup(forbidden, fresh),
        cmocka_unit_test_setup(a_compiler_wrote_it, fresh),
        cmocka_unit_test_setup(records_that_do_not_count, fresh),
        cmocka_unit_test_setup(a_runner_that_cannot, fresh),
        cmocka_unit_test(owners_by_file),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
