/* The stage profile from LOAD to the record, on the CPU: candidates run there as ever, and launch
 * records are the test's (kg_torch_test), who knows which kernels it pretends were suppressed.
 * What really happens on a device is for tools/gpu-check.sh. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <math.h>
#include <unistd.h>

#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/profile/torch_profile_private.h"

static const char problem[] =
    HEAD "rows = 16\ncols = 24\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
         "        return torch.relu(x) + 1\n\n\ndef get_inputs():\n"
         "    return [torch.randn(rows, cols)]\n\n\ndef get_init_inputs():\n    return []\n";
/* A call changes its buffers, and the answer holds one of them. */
static const char counting[] =
    HEAD "rows = 16\ncols = 24\n\n\nclass Model(nn.Module):\n    def __init__(self):\n"
         "        super().__init__()\n        self.norm = nn.BatchNorm1d(cols)\n\n"
         "    def forward(self, x):\n"
         "        return self.norm(x) + self.norm.running_mean\n\n\ndef get_inputs():\n"
         "    return [torch.randn(rows, cols)]\n\n\ndef get_init_inputs():\n    return []\n";
static const char counts[] =
    HEAD "class ModelNew(nn.Module):\n    def __init__(self):\n"
         "        super().__init__()\n        self.norm = nn.BatchNorm1d(24)\n\n"
         "    def forward(self, x):\n        return self.norm(x) + self.norm.running_mean\n";
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

#define SERIES 24 /* calls between the first and those that count */

static struct {
    const char *kernels; /* of every profiled call */
    const char *first;   /* NULL, or of the first call of a process */
    const char *later;   /* NULL, or of calls from number `from` on, in so many processes */
    int from, processes;
    const char *at;      /* NULL, or of call `number` alone */
    const char *asked;   /* NULL, or of calls in which kernels were to do nothing */
    const char *modules; /* NULL: none are told */
    int number;
    int64_t missing, graphs, suppressed;
    bool error, silent;
    /* what was asked */
    int takes, suppressions;
    int process, call; /* 1, 2, ... */
    char last[64];     /* name that was suppressed last */
} play;

static const char *launched(int64_t window_ns)
{
    if (window_ns <= 1) {
        return window_ns == 1 && play.asked ? play.asked : "[]";
    }
    play.process += window_ns == KG_TPROFILE_UNTIMED;
    play.call = window_ns == KG_TPROFILE_UNTIMED ? 1 : play.call + 1;
    bool later = play.later && play.call >= play.from && play.process <= play.processes;
    return play.first && play.call == 1          ? play.first
           : play.at && play.call == play.number ? play.at
           : later                               ? play.later
                                                 : play.kernels;
}

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
    json_t *modules = play.modules ? json_loads(play.modules, 0, &e) : NULL;
    return json_pack("{s:o*, s:o, s:i, s:i, s:I, s:i, s:I, s:I, s:I}", "modules", modules,
                     "kernels", json_loads(launched(window_ns), 0, &e), "memcpy_ns", 0, "memset_ns",
                     0, "span_ns", (json_int_t)(window_ns > 1 ? 1000 : 0), "dropped", 0, "missing",
                     (json_int_t)play.missing, "suppressed", (json_int_t)play.suppressed, "graphs",
                     (json_int_t)play.graphs);
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
    *kg_torch_test(worker) =
        (struct kg_torch_test){.profiles_anywhere = true, .series = SERIES, .reply = played};
    worker->config = config;
    kg_torch_of(worker)->memory.rung = KG_TM_NONE; /* of a device whose memory is not planned */
    kg_torch_of(worker)->memory.judge = 0;
    return 0;
}

/* Of problem.py. */
static void ends(const char *source, const char *want, struct kg_record *r)
{
    need_torch();
    expect("problem.py", source, want, r);
}

/* One whose answer is wrong when its kernel does nothing: at the second call after those that
 * count.
 */
static void ends_live(struct kg_record *r)
{
    char text[2000];
    snprintf(text, sizeof text, tired, SERIES + 9);
    play.suppressed = 1;
    ends(text, "ok", r);
    play.suppressed = 0;
}

static const char *why(const struct kg_record *r)
{
    const char *s = json_string_value(json_object_get(evidence(r, "coverage"), "why"));
    assert_non_null(s);
    return s;
}

/* --- tests --- */

/* State goes through the region of the inputs, which are bound anew after it. */
static void state_that_changes(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("counting.py", counting);
    play.kernels = "[" LIBRARY "," MINE "]";
    expect("counting.py", counts, "ok", &r);
    assert_int_equal(r.stages[KG_ST_PROFILE].status, KG_SS_PASS);
    assert_non_null(evidence(&r, "kernel"));
    kg_record_deinit(&r);
}

/* Where the judge has room for one case, each law's takes the place of the one before. */
static void there_is_room_for_one(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_torch *t = kg_torch_of(worker);
    play.kernels = "[" LIBRARY "]";
    ends(sure, "ok", &r);
    kg_record_deinit(&r);
    t->memory.rung = KG_TM_RESIDENT;
    t->memory.judge = 1;
    for (int law = 0; law < KG_TL_COUNT; law++) {
        t->instance[KG_INSTANCE_PUBLISHED].cases[law].ready = false;
    }
    ends(sure, "ok", &r);
    assert_int_equal(r.stages[KG_ST_PROFILE].status, KG_SS_PASS);
    assert_non_null(evidence(&r, "kernel"));
    kg_record_deinit(&r);
}

static void without_a_gpu(void **state)
{
    (void)state;
    struct kg_record r;
    kg_torch_test(worker)->profiles_anywhere = false;
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

/* Not launched when they were to do nothing: nothing is shown of them, so they cover nothing, and
 * are no decoys either. */
static void what_is_not_launched_covers_nothing(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" LIBRARY "," OTHER "," MINE "]";
    ends(sure, "ok", &r);
    assert_float_equal(r.coverage, 0, 0);
    assert_true(json_is_true(json_object_get(evidence(&r, "kernel"), "idle")));
    assert_float_equal(json_real_value(json_object_get(evidence(&r, "coverage"), "own")), 0.8,
                       1e-9);
    assert_int_equal(play.suppressions, 2);
    const json_t *k = evidence(&r, "kernel"); /* most time first */
    assert_string_equal(json_string_value(json_object_get(k, "name")), "mine");
    assert_float_equal(json_real_value(json_object_get(k, "share")), 0.6, 1e-9);
    assert_true(json_is_true(json_object_get(k, "own")));
    assert_true(json_is_false(json_object_get(k, "dead")));
    assert_string_equal(play.last, "_Z5otherPf"); /* as the driver has it */
    kg_record_deinit(&r);
}

/* Launched, and nothing kept it from working: then nothing is known of any kernel, whatever the
 * answer was. */
static void what_cannot_be_suppressed_tells_nothing(void **state)
{
    (void)state;
    char text[2000];
    struct kg_record r;
    snprintf(text, sizeof text, tired, SERIES + 9); /* wrong where it was to do nothing */
    for (int i = 0; i < 3; i++) {
        fresh(NULL);
        play.kernels = play.asked = "[" LIBRARY "," OTHER "," MINE "]";
        play.graphs = i == 2; /* each question in a process of its own */
        ends(i == 1 ? text : sure, "ok", &r);
        assert_float_equal(r.coverage, 0, 0);
        assert_string_equal(why(&r), "a kernel ran that was to do nothing");
        assert_null(evidence(&r, "kernel"));
        kg_record_deinit(&r);
    }
}

/* What the runner says of code that it has loaded is told, and no more. */
static void modules_are_told(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" LIBRARY "]";
    play.modules = "[{\"by\": \"mine.so\", \"class\": \"own\", \"loaded\": 2, \"bytes\": 4096}, "
                   "{\"by\": 7}, 3]";
    ends(sure, "ok", &r);
    const json_t *list = json_object_get(evidence(&r, "modules"), "list");
    assert_int_equal(json_array_size(list), 1);
    const json_t *m = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(m, "by")), "mine.so");
    assert_int_equal(number(m, "loaded"), 2);
    assert_int_equal(number(m, "bytes"), 4096);
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
    /* 7 and the series are profiled, the 8th is as it was */
    snprintf(text, sizeof text, tired, SERIES + 9);
    ends(text, "ok", &r);
    assert_float_equal(r.coverage, 0.75, 1e-9);
    assert_int_equal(play.suppressions, 1);
    assert_null(evidence(&r, "mismatch"));
    kg_record_deinit(&r);
    snprintf(text, sizeof text, tired, SERIES + 8); /* that one: asked again in a new process */
    ends(text, "hack/decoy", &r);
    kg_record_deinit(&r);
    snprintf(text, sizeof text, tired, SERIES + 4); /* the first that brings inputs */
    ends(text, "wrong/value", &r);
    assert_true(isnan(r.coverage));
    kg_record_deinit(&r);
    for (int of_series = 0; of_series < 2; of_series++) { /* or one that counts */
        snprintf(text, sizeof text, tired, of_series ? SERIES - 4 : SERIES + 3);
        ends(text, "ok", &r);
        assert_float_equal(r.coverage, 0, 0);
        assert_string_equal(why(&r), "a profiled call was not right");
        kg_record_deinit(&r);
    }
}

static void forbidden(void **state)
{
    (void)state;
    struct kg_record r;
    char text[1000];
    worker->config.library = KG_LIB_FORBIDDEN;
    play.kernels = "[" MINE "]";
    ends_live(&r);
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

/* --- from call to call --- */

static const json_t *difference(const struct kg_record *r, const char *by, const char *law)
{
    const json_t *e = evidence(r, "phase");
    assert_non_null(e);
    assert_string_equal(json_string_value(json_object_get(e, "by")), by);
    assert_string_equal(json_string_value(json_object_get(e, "law")), law);
    return e;
}

static void the_same_in_every_call(void **state)
{
    (void)state;
    struct kg_record r;
    play.first = "[" OTHER "," LIBRARY "]"; /* tuning, packing */
    play.kernels = "[" MINE "]";
    ends_live(&r);
    assert_null(evidence(&r, "phase"));
    assert_float_equal(r.coverage, 1, 0);
    assert_int_equal(play.call, 1 + SERIES + 3);
    assert_int_equal(play.process, 1);
    kg_record_deinit(&r);
}

/* Its own kernels for 13 calls, then a library's: in another process, too. */
static void own_kernels_for_a_while(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" MINE "]";
    play.later = "[" LIBRARY "]";
    play.from = 14;
    play.processes = 9;
    ends(sure, "hack/phase", &r);
    assert_float_equal(r.coverage, 0, 0);
    assert_int_equal(play.process, 2);
    const json_t *e = difference(&r, "call", "own");
    assert_true(json_is_true(json_object_get(e, "repeated")));
    assert_int_equal(number(e, "call"), 14);
    assert_int_equal(number(json_array_get(json_object_get(e, "was"), 0), "calls"), 1);
    assert_int_equal(json_array_size(json_object_get(e, "is")), 0);
    kg_record_deinit(&r);
    worker->config.hack_checks = false;
    play.process = 0;
    ends(sure, "ok", &r);
    difference(&r, "call", "own");
    assert_float_equal(r.coverage, 0, 0); /* it gains nothing */
    kg_record_deinit(&r);
}

/* What looks like it and is no verdict: evidence, and the coverage of what came last. */
static void evidence_only(void **state)
{
    (void)state;
    static const struct {
        const char *first, *later;
        int from, processes;
        double coverage;
    } table[] = {
        {"[" MINE "," LIBRARY "]", "[" LIBRARY "]", 14, 9, 0}, /* it has tried both */
        {NULL, "[" LIBRARY "]", 14, 1, 0},                     /* it did not do so again */
        {NULL, "[" LIBRARY "," OTHER "]", 14, 9, 0.5},         /* another one of its own */
        {NULL, "[" LIBRARY "," FUSED "]", 14, 9, 0},           /* a compiler's beside it */
        {NULL, "[]", 14, 9, 0},                                /* copies */
        {NULL, "[" LIBRARY "]", SERIES, 9, 0},                 /* too late to say */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_record r;
        fresh(NULL);
        play.kernels = "[" MINE "]";
        play.first = table[i].first;
        play.later = table[i].later;
        play.from = table[i].from;
        play.processes = table[i].processes;
        ends_live(&r);
        const json_t *e = evidence(&r, "phase");
        const json_t *repeated = json_object_get(e, "repeated");
        if (!e || json_is_true(repeated) || (repeated != NULL) != (table[i].processes == 1) ||
            fabs(r.coverage - table[i].coverage) > 1e-9) {
            fail_msg("%zu: evidence %d, repeated %d, coverage %g", i, e != NULL, repeated != NULL,
                     r.coverage);
        }
        kg_record_deinit(&r);
    }
}

/* A branch on values: those of call 13 are another law's. */
static void other_kernels_for_other_values(void **state)
{
    (void)state;
    struct kg_record r;
    play.kernels = "[" MINE "]";
    play.at = "[" LIBRARY "]";
    play.number = 13;
    ends_live(&r);
    const json_t *e = difference(&r, "values", "large");
    assert_null(json_object_get(e, "repeated"));
    assert_float_equal(r.coverage, 1, 0);
    kg_record_deinit(&r);
    play.number = 9; /* within the set-up */
    ends(sure, "ok", &r);
    assert_null(evidence(&r, "phase"));
    kg_record_deinit(&r);
}

/* Tuning may launch more than is kept: what does not count may be lost. */
static void lost_records_of_the_set_up(void **state)
{
    (void)state;
    struct kg_record r;
    play.first = "[7]";
    play.kernels = "[" MINE "]";
    ends_live(&r);
    assert_float_equal(r.coverage, 1, 0);
    kg_record_deinit(&r);
    play.later = "[" LIBRARY "]"; /* nobody knows what it has tried */
    play.from = 14;
    play.processes = 9;
    ends(sure, "ok", &r);
    difference(&r, "call", "own");
    kg_record_deinit(&r);
}

/* The real runner, where there is no device: LOAD goes well, and PROFILE says why there is nothing.
 */
static void a_runner_that_cannot(void **state)
{
    (void)state;
    struct kg_record r;
    kg_torch_test(worker)->reply = NULL;
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
        cmocka_unit_test_setup(there_is_room_for_one, fresh),
        cmocka_unit_test_setup(without_a_gpu, fresh),
        cmocka_unit_test_setup(switched_off, fresh),
        cmocka_unit_test_setup(state_that_changes, fresh),
        cmocka_unit_test_setup(the_library_answers, fresh),
        cmocka_unit_test_setup(what_is_not_launched_covers_nothing, fresh),
        cmocka_unit_test_setup(what_cannot_be_suppressed_tells_nothing, fresh),
        cmocka_unit_test_setup(modules_are_told, fresh),
        cmocka_unit_test_setup(a_decoy, fresh),
        cmocka_unit_test_setup(graphs_are_asked_afresh, fresh),
        cmocka_unit_test_setup(wrong_without_is_live, fresh),
        cmocka_unit_test_setup(forbidden, fresh),
        cmocka_unit_test_setup(a_compiler_wrote_it, fresh),
        cmocka_unit_test_setup(records_that_do_not_count, fresh),
        cmocka_unit_test_setup(the_same_in_every_call, fresh),
        cmocka_unit_test_setup(own_kernels_for_a_while, fresh),
        cmocka_unit_test_setup(evidence_only, fresh),
        cmocka_unit_test_setup(other_kernels_for_other_values, fresh),
        cmocka_unit_test_setup(lost_records_of_the_set_up, fresh),
        cmocka_unit_test_setup(a_runner_that_cannot, fresh),
        cmocka_unit_test(owners_by_file),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
