/* KernelBench's procedure on the CPU, end to end: what it takes for right and what it does not, the
 * numbers of its trials against that project's own steps written out in Python, times as claims,
 * and that nothing of it is rewarded. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <math.h>

#include "gym/eval/onboard.h"
#include "gym/reward/reward.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/kernelbench/kernelbench_protocol.h"

#define INPUTS "def get_inputs():\n    return "
#define MADE   "\n\n\ndef get_init_inputs():\n    return "

static const struct {
    const char *name, *text;
} problems[] = {
    {"linear.py", HEAD "class Model(nn.Module):\n    def __init__(self, cols):\n"
                       "        super().__init__()\n        self.lin = nn.Linear(cols, 8)\n\n"
                       "    def forward(self, x):\n        return F.relu(self.lin(x))\n\n\n" INPUTS
                       "[torch.randn(16, 24)]" MADE "[24]\n"},
    {"twice.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n        return x * 2\n\n"
                      "\n" INPUTS "[torch.randn(64)]" MADE "[]\n"},
    {"index.py", HEAD "class Model(nn.Module):\n    def forward(self, x, i):\n"
                      "        return x * i\n\n\n" INPUTS
                      "[torch.randn(8, 8), torch.randint(0, 9, (8, 8))]" MADE "[]\n"},
    {"memory.py", HEAD "class Model(nn.Module):\n    def __init__(self):\n"
                       "        super().__init__()\n        self.n = 0\n\n"
                       "    def forward(self, x):\n        self.n += 1\n"
                       "        return x + self.n\n\n\n" INPUTS "[torch.randn(8)]" MADE "[]\n"},
    {"two.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                    "        return x, x + 1\n\n\n" INPUTS "[torch.randn(8)]" MADE "[]\n"},
    {"nearly.py",
     HEAD "class Model(nn.Module):\n    def forward(self, x):\n" /* by too little to matter */
          "        return x + torch.rand(1) * 1e-5\n\n\n" INPUTS "[torch.randn(8)]" MADE "[]\n"},
    {"named.py",
     HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
          "        return {'a': x + 1, 'b': (x * 2,)}\n\n\n" INPUTS "[torch.randn(8)]" MADE "[]\n"},
};

#define LINEAR                                                                                     \
    "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"      \
    "        self.lin = nn.Linear(cols, 8)\n\n    def forward(self, x):\n"
#define TWICE                                                                                      \
    "calls = []\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"                      \
    "        calls.append(1)\n"

/* A candidate behind the usual imports, in all stages. */
static void judge_new(const char *problem, const char *text, struct kg_record *r)
{
    char all[8192];
    snprintf(all, sizeof all, "%s%s", HEAD, text);
    judge(problem, all, KG_ST_PROFILE, r);
}

static const char *verdict(const struct kg_record *r)
{
    static char out[100];
    seen(r, out, sizeof out);
    return out;
}

static int setup(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    if (kg_config_load(&config, "kernelbench", NULL, NULL, &err) != KG_OK) {
        return -1;
    }
    rig_place();
    config.rewards[0] = '\0'; /* every one that there is */
    for (const char *const *name = kg_reward_names(); *name; name++) {
        size_t used = strlen(config.rewards);
        snprintf(config.rewards + used, sizeof config.rewards - used, "%s%s", used ? "," : "",
                 *name);
    }
    config.deadline_run = 3;
    config.torch_first_call = 3;
    if (kg_config_check(&config, &err) != KG_OK || rig_open() != 0) {
        print_error("%s\n", err.message);
        return -1;
    }
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        put(problems[i].name, problems[i].text);
    }
    return 0;
}

static int64_t passed(const struct kg_record *r)
{
    const json_t *n = json_object_get(evidence(r, "trials"), "passed");
    return json_is_integer(n) ? json_integer_value(n) : -1;
}

/* What each is, and how many trials it passes; -1: none was compared. */
static const struct {
    const char *name, *problem, *text, *want;
    int64_t passes;
} samples[] = {
    {"right", "linear.py", LINEAR "        return torch.clamp(self.lin(x), min=0)\n", "ok", 5},
    {"within the tolerance", "linear.py", LINEAR "        return F.relu(self.lin(x)) * 1.00005\n",
     "ok", 5},
    {"beyond it", "linear.py", LINEAR "        return F.relu(self.lin(x)) * 1.005\n", "wrong/value",
     0},
    {"other names, the same draws", "linear.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
     "        self.one, self.two = nn.Linear(cols, 8).parameters()\n\n    def forward(self, x):\n"
     "        return F.relu(x @ self.one.t() + self.two)\n",
     "ok", 5},
    {"other draws", "linear.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
     "        torch.rand(1)\n        self.lin = nn.Linear(cols, 8)\n\n"
     "    def forward(self, x):\n        return F.relu(self.lin(x))\n",
     "wrong/value", 0},
    {"in place", "twice.py", TWICE "        return x.mul_(2)\n", "ok", 5},
    {"a NaN", "twice.py", TWICE "        return x * 2 / (x - x[0])\n", "wrong/nonfinite", 0},
    {"from the third on", "twice.py", TWICE "        return x * 2 if len(calls) < 3 else x * 2.1\n",
     "wrong/value", 2},
    {"in the third", "twice.py", TWICE "        return x * 2 if len(calls) != 3 else x * 2.1\n",
     "wrong/value", 4},
    {"remembers", "twice.py",
     "kept = []\n" TWICE "        kept.append(x * 2)\n        return kept[0].clone()\n",
     "wrong/value", 1},
    {"shape", "twice.py", TWICE "        return (x * 2)[1:]\n", "wrong/shape", 0},
    {"dtype", "twice.py", TWICE "        return (x * 2).double()\n", "wrong/dtype", 0},
    {"structure", "twice.py", TWICE "        return (x * 2,)\n", "wrong/structure", 0},
    {"raises in the second", "twice.py",
     TWICE
     "        if len(calls) == 2:\n            raise ValueError('no')\n        return x * 2\n",
     "crash/exception", 1},
    {"exits", "twice.py", TWICE "        os._exit(3)\n", "crash/exit", 0},
    {"syntax", "twice.py", "class ModelNew(\n", "compile_error/syntax", -1},
    {"the same chance", "chance.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n"
     "        return F.dropout(x, 0.5, training=True)\n",
     "wrong/value", 0}, /* as there: the two draw one after the other */
    {"integers are cast", "index.py",
     "class ModelNew(nn.Module):\n    def forward(self, x, i):\n"
     "        assert i.dtype is torch.float32\n        return x * i\n",
     "ok", 5},
    {"two tensors", "two.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n        return [x * 1, 1 + x]\n", "ok",
     5},
    {"the second beyond the tolerance", "two.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x * 1, x + 1.001\n",
     "wrong/value", 0},
    {"the first of two", "two.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x * 1\n",
     "wrong/structure", 0},
    {"by name", "named.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n"
     "        return {'b': [x * 2], 'a': x + 1}\n",
     "ok", 5},
    {"by another name", "named.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n"
     "        return {'b': [x * 2], 'c': x + 1}\n",
     "wrong/structure", 0},
};

static void outcomes(void **state)
{
    (void)state;
    int bad = 0;
    need_torch();
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct kg_record r;
        judge_new(samples[i].problem, samples[i].text, &r);
        if (strcmp(verdict(&r), samples[i].want) != 0 || passed(&r) != samples[i].passes) {
            print_error("%s: %s, passed %lld (%s)\n", samples[i].name, verdict(&r),
                        (long long)passed(&r), r.has_error ? r.error.message : r.message);
            bad++;
        }
        if (r.nrewards != 0 || (!r.has_error && !evidence(&r, "unrewarded"))) {
            print_error("%s: rewarded, or it does not say why not\n", samples[i].name);
            bad++;
        }
        kg_record_deinit(&r);
    }
    assert_int_equal(bad, 0);
}

/* A reference that counts its calls is the same for each candidate: it is built afresh. */
static void a_reference_begins_anew(void **state)
{
    (void)state;
    static const char text[] = "class ModelNew(nn.Module):\n    def __init__(self):\n"
                               "        super().__init__()\n        self.n = 0\n\n"
                               "    def forward(self, x):\n        self.n += 1\n"
                               "        return x + self.n\n";
    need_torch();
    for (int i = 0; i < 2; i++) {
        struct kg_record r;
        judge_new("memory.py", text, &r);
        assert_string_equal(verdict(&r), "ok");
        kg_record_deinit(&r);
    }
}

/* The same text by the gym's own bound; and what that project took before its version 0.2. */
static void tolerances_differ(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_err err = KG_ERR_INIT;
    need_torch();
    assert_int_equal(kg_config_load(&worker->config, "quick", NULL, NULL, &err), KG_OK);
    snprintf(worker->config.device, sizeof worker->config.device, "cpu");
    kg_torch_forget(worker, KG_FORGET_PROBLEM);
    assert_string_equal(samples[1].name, "within the tolerance");
    judge_new(samples[1].problem, samples[1].text, &r);
    assert_int_equal(r.verdict, KG_V_WRONG);
    assert_int_equal(r.nrewards, 1);
    kg_record_deinit(&r);
    worker->config = config;
    worker->config.kernelbench_tolerance = 0.01;
    kg_torch_forget(worker, KG_FORGET_PROBLEM);
    assert_string_equal(samples[2].name, "beyond it");
    judge_new(samples[2].problem, samples[2].text, &r);
    assert_string_equal(verdict(&r), "ok");
    kg_record_deinit(&r);
    worker->config = config;
}

/* That project's steps, written out by a candidate that is off by an eighth of its input: seeds,
 * parameters, inputs; it prints the differences that they give. */
static const char theirs[] =
    "class Model(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
    "        self.lin = nn.Linear(cols, 8)\n\n    def forward(self, x):\n"
    "        return F.relu(self.lin(x))\n\n\n"
    "def steps():\n    torch.manual_seed(42)\n    model = Model(24)\n    torch.manual_seed(42)\n"
    "    seeds = [torch.randint(0, 2**32 - 1, (1,)).item() for _ in range(5)]\n"
    "    for seed in seeds:\n        torch.manual_seed(seed)\n        x = torch.randn(16, 24)\n"
    "        d = (model(x) - (model(x) + x[:, :8] / 8)).abs()\n"
    "        print(repr(d.max().item()), repr(d.double().mean().item()))\n\n\n"
    "calls = []\n\n\nclass ModelNew(Model):\n    def forward(self, x):\n"
    "        calls.append(1)\n        if len(calls) == 5:\n            steps()\n"
    "        return super().forward(x) + x[:, :8] / 8\n";

static void the_numbers_are_theirs(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    judge_new("linear.py", theirs, &r);
    assert_string_equal(verdict(&r), "wrong/value");
    const json_t *trials = evidence(&r, "trials");
    const json_t *max = json_object_get(trials, "max_difference");
    const json_t *mean = json_object_get(trials, "mean_difference");
    const char *line = r.output.stdout_text;
    for (size_t i = 0; i < 5; i++) {
        double a, b, got = json_real_value(json_array_get(max, i));
        double avg = json_real_value(json_array_get(mean, i));
        int n = 0;
        assert_non_null(line);
        assert_int_equal(sscanf(line, "%lf %lf\n%n", &a, &b, &n), 2);
        line += n;
        if (got != a || !(fabs(avg - b) <= 1e-12)) {
            fail_msg("trial %zu: %.17g and %.17g, not %.17g and %.17g", i, got, avg, a, b);
        }
    }
    kg_record_deinit(&r);
}

/* The same in 16 bits: weights, inputs, indices, answers and the mean are all of them rounded. */
static const char narrow[] =
    "class Model(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
    "        self.lin = nn.Linear(cols, 8)\n\n    def forward(self, x):\n"
    "        return F.relu(self.lin(x))\n\n\n"
    "def steps(dtype):\n    torch.manual_seed(42)\n    model = Model(24).to(dtype)\n"
    "    torch.manual_seed(42)\n"
    "    seeds = [torch.randint(0, 2**32 - 1, (1,)).item() for _ in range(5)]\n"
    "    for seed in seeds:\n        torch.manual_seed(seed)\n"
    "        x = torch.randn(16, 24).to(dtype)\n"
    "        d = (model(x) - (model(x) + x[:, :8] / 8)).abs()\n"
    "        print(repr(d.max().item()), repr(d.mean().item()))\n\n\n"
    "calls = []\n\n\nclass ModelNew(Model):\n    def forward(self, x):\n"
    "        assert self.lin.weight.dtype is x.dtype is torch.%s\n"
    "        calls.append(1)\n        if len(calls) == 5:\n            steps(x.dtype)\n"
    "        return super().forward(x) + x[:, :8] / 8\n";

static const struct {
    const char *precision, *dtype;
    double unit; /* of its significand */
} precisions[] = {{"fp16", "float16", 0x1p-10}, {"bf16", "bfloat16", 0x1p-7}};

static void in_precision(const char *precision)
{
    struct kg_err err = KG_ERR_INIT;
    worker->config = config;
    snprintf(worker->config.precision, sizeof worker->config.precision, "%s", precision);
    kg_torch_forget(worker, KG_FORGET_PROBLEM);
    assert_int_equal(kg_config_check(&worker->config, &err), KG_OK);
}

static void expect_narrow(size_t k, const char *problem, const char *text, const char *want,
                          int64_t passes)
{
    struct kg_record r;
    judge_new(problem, text, &r);
    if (strcmp(verdict(&r), want) != 0 || passed(&r) != passes) {
        fail_msg("%s: %s, passed %lld (%s)\n%s", precisions[k].precision, verdict(&r),
                 (long long)passed(&r), r.has_error ? r.error.message : r.message, text);
    }
    kg_record_deinit(&r);
}

static void in_sixteen_bits(void **state)
{
    (void)state;
    char text[4096];
    need_torch();
    for (size_t k = 0; k < sizeof precisions / sizeof *precisions; k++) {
        struct kg_record r;
        in_precision(precisions[k].precision);
        snprintf(text, sizeof text, narrow, precisions[k].dtype);
        judge_new("linear.py", text, &r);
        assert_string_equal(verdict(&r), "wrong/value");
        const json_t *trials = evidence(&r, "trials");
        assert_true(json_number_value(json_object_get(trials, "tolerance")) == 1e-2);
        const char *line = r.output.stdout_text;
        for (size_t i = 0; i < 5; i++) {
            double a, b, max, mean;
            int n = 0;
            max = json_real_value(json_array_get(json_object_get(trials, "max_difference"), i));
            mean = json_real_value(json_array_get(json_object_get(trials, "mean_difference"), i));
            assert_int_equal(sscanf(line, "%lf %lf\n%n", &a, &b, &n), 2);
            line += n;
            if (max != a || !(fabs(mean - b) <= b * precisions[k].unit)) {
                fail_msg("trial %zu: %.17g and %.17g, not %.17g and %.17g", i, max, mean, a, b);
            }
        }
        kg_record_deinit(&r);
        expect_narrow(k, "linear.py", LINEAR "        return F.relu(self.lin(x)) * 1.005\n", "ok",
                      5);
        expect_narrow(k, "linear.py", LINEAR "        return F.relu(self.lin(x)) * 1.05\n",
                      "wrong/value", 0);
        expect_narrow(k, "twice.py", TWICE "        return (x * 2).float()\n", "wrong/dtype", 0);
        snprintf(text, sizeof text,
                 "class ModelNew(nn.Module):\n    def forward(self, x, i):\n"
                 "        assert i.dtype is torch.%s\n        return x * i\n",
                 precisions[k].dtype);
        expect_narrow(k, "index.py", text, "ok", 5);
    }
    in_precision("fp32");
}

/* --- times --- */

#define TIMED "        if torch.is_grad_enabled():\n" /* trials are without */

static int64_t claimed(const json_t *claims, const char *side, const char *key)
{
    return number(side ? json_object_get(claims, side) : claims, key);
}

static void no_time_without_a_gpu(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    judge_new("twice.py", TWICE "        return x + x\n", &r);
    assert_string_equal(verdict(&r), "ok");
    assert_int_equal(r.timing.status, KG_T_NOT_MEASURED);
    assert_int_equal(strncmp(r.timing.why, "no GPU", 6), 0);
    assert_true(r.timing.claims == NULL && !r.has_speedup);
    kg_record_deinit(&r);
}

static void times_are_claims(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    judge_new("twice.py",
              TWICE TIMED
              "            n = len(calls) - 6\n" /* five trials, and one that brings inputs */
              "            if n in (1, 104, 105):\n                print('timed', n)\n"
              "        return x + x\n",
              &r);
    assert_string_equal(verdict(&r), "ok");
    assert_int_equal(r.timing.status, KG_T_NOT_TRUSTED);
    assert_string_equal(r.timing.preset, "kernelbench");
    assert_int_equal(r.timing.warmups, 3);
    assert_true(r.timing.candidate_ns == -1 && r.timing.reference_ns == -1 && !r.timing.samples);
    const json_t *c = r.timing.claims;
    assert_int_equal(claimed(c, NULL, "trials"), 100);
    assert_int_equal(claimed(c, NULL, "warmups"), 3);
    assert_int_equal(claimed(c, NULL, "discarded"), 1);
    for (int i = 0; i < 2; i++) {
        const char *side = i ? "candidate" : "reference";
        int64_t mean = claimed(c, side, "mean_ns");
        assert_true(mean > 0 && claimed(c, side, "min_ns") <= mean &&
                    mean <= claimed(c, side, "max_ns") && claimed(c, side, "std_ns") >= 0);
    }
    double ratio =
        (double)claimed(c, "reference", "mean_ns") / (double)claimed(c, "candidate", "mean_ns");
    assert_true(r.has_speedup && fabs(r.speedup.ratio / ratio - 1) < 1e-3);
    assert_true(isnan(r.speedup.lo) && isnan(r.speedup.hi) && r.speedup.pairs == -1);
    assert_string_equal(r.output.stdout_text, "timed 1\ntimed 104\n"); /* 3 + 1 + 100 */
    assert_int_equal(r.nrewards, 0);
    assert_string_equal(kg_reward_absent(&r), "KernelBench's procedure sets no reward");
    json_t *j = kg_record_json(&r, false);
    struct kg_record back;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_record_parse(j, &back, &err), KG_OK);
    assert_true(json_equal(back.timing.claims, c));
    assert_non_null(kg_reward_absent(&back));
    kg_record_deinit(&back);
    json_decref(j);
    kg_record_deinit(&r);
}

/* Whether the last timed answer is the reference's is told, and no verdict. */
static void the_last_timed_answer(void **state)
{
    (void)state;
    static const struct {
        const char *problem, *text;
        bool told, close, numbers;
    } table[] = {
        {"twice.py", TWICE "        return x + x\n", true, true, true},
        {"twice.py", TWICE TIMED "            return x * 3\n        return x + x\n", true, false,
         true},
        /* the 110th: five trials, one that brings inputs, 3 + 1 + 100 */
        {"twice.py", TWICE "        return x * (3 if len(calls) == 110 else 2)\n", true, false,
         true},
        {"twice.py", TWICE TIMED "            return [x * 2]\n        return x + x\n", true, false,
         false},
        {"twice.py", TWICE TIMED "            return 'no'\n        return x + x\n", true, false,
         false},
        {"twice.py", TWICE "        return x.mul_(2)\n", true, false, true}, /* in place */
        {"two.py", TWICE "        return x * 1, x + (3 if len(calls) == 110 else 1)\n", true, false,
         true},
        {"nearly.py",
         "class ModelNew(nn.Module):\n    def forward(self, x):\n"
         "        return x + torch.rand(1) * 1e-5\n",
         false, false, false},
    };
    need_torch();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_record r;
        judge_new(table[i].problem, table[i].text, &r);
        const json_t *told = evidence(&r, "timed_answer");
        bool close = json_is_true(json_object_get(told, "close"));
        bool numbers = json_object_get(told, "max_difference") != NULL;
        if (strcmp(verdict(&r), "ok") != 0 || r.timing.claims == NULL ||
            (told != NULL) != table[i].told || close != table[i].close ||
            numbers != table[i].numbers) {
            fail_msg("%zu: %s, told %d, close %d, numbers %d (%s)", i, verdict(&r), told != NULL,
                     close, numbers, r.has_error ? r.error.message : r.timing.why);
        }
        kg_record_deinit(&r);
    }
}

/* Whoever lies about its own time is believed, and gains nothing; nonsense is no time. */
static void lies(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    judge_new("twice.py",
              TWICE "        if len(calls) == 1:\n            import itertools\n"
                    "            time.perf_counter_ns = itertools.count().__next__\n"
                    "        return x + x\n",
              &r);
    assert_string_equal(verdict(&r), "ok");
    assert_int_equal(claimed(r.timing.claims, "candidate", "mean_ns"), 1);
    assert_true(r.speedup.ratio > 100 && r.nrewards == 0);
    kg_record_deinit(&r);
    judge_new("twice.py", TWICE "        time.perf_counter_ns = lambda: 5\n        return x + x\n",
              &r);
    assert_string_equal(verdict(&r), "ok");
    assert_int_equal(r.timing.status, KG_T_NOT_MEASURED);
    assert_string_equal(r.timing.why, "the candidate gives no times that can be");
    assert_true(r.timing.claims == NULL && !r.has_speedup);
    kg_record_deinit(&r);
}

/* What goes wrong while it is timed is no verdict there. */
static void timing_is_no_verdict(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } table[] = {
        {TWICE TIMED "            raise ValueError('no')\n        return x + x\n",
         "the candidate raises while it is timed"},
        {TWICE TIMED "            os._exit(0)\n        return x + x\n",
         "the candidate ends while it is timed"},
        {TWICE
         "        if len(calls) > 5:\n            raise ValueError('no')\n        return x + x\n",
         "the candidate does not answer to the timed inputs"},
    };
    need_torch();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_record r;
        judge_new("twice.py", table[i].text, &r);
        assert_string_equal(verdict(&r), "ok");
        assert_int_equal(r.timing.status, KG_T_NOT_MEASURED);
        assert_string_equal(r.timing.why, table[i].why);
        assert_true(r.timing.claims == NULL && !r.has_speedup && r.nrewards == 0);
        kg_record_deinit(&r);
    }
}

/* Events on a device: 64 MB in and out take some 50 us there; and kernels that name no stream are
 * in order with them. */
static void on_a_device(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_err err = KG_ERR_INIT;
    struct kg_worker *mine = worker;
    if (!getenv("KGYM_TEST_GPU")) {
        printf("skip: KGYM_TEST_GPU is not set: no device\n");
        skip();
    }
    need_torch();
    snprintf(config.device, sizeof config.device, "cuda:0");
    config.torch_first_call = 60;
    assert_int_equal(kg_worker_open(&config, mine->cpu, NULL, &worker, &err), KG_OK);
    put("large.py",
        HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
             "        return torch.relu(x)\n\n\n" INPUTS "[torch.randn(4096, 4096)]" MADE "[]\n");
    judge_new(
        "large.py",
        "class ModelNew(nn.Module):\n    def forward(self, x):\n"
        "        assert torch.cuda.current_stream() == torch.cuda.default_stream()\n"
        "        assert torch.backends.cudnn.allow_tf32\n        return torch.clamp(x, min=0)\n",
        &r);
    kg_worker_close(worker);
    worker = mine;
    snprintf(config.device, sizeof config.device, "cpu");
    config.torch_first_call = 3;
    if (strcmp(verdict(&r), "ok") != 0 || r.timing.claims == NULL) {
        fail_msg("%s: %s", verdict(&r), r.has_error ? r.error.message : r.timing.why);
    }
    for (int i = 0; i < 2; i++) {
        const char *side = i ? "candidate" : "reference";
        int64_t mean = claimed(r.timing.claims, side, "mean_ns");
        printf("%s: %lld ns\n", side, (long long)mean);
        assert_true(mean > 10000 && mean < 10000000);
    }
    assert_true(r.speedup.ratio > 0.3 && r.speedup.ratio < 3 && r.nrewards == 0);
    kg_record_deinit(&r);
}

static void problems_are_not_checked_by_it(void **state)
{
    (void)state;
    struct kg_onboard o;
    struct kg_err err = KG_ERR_INIT;
    char path[512];
    snprintf(path, sizeof path, "%s/twice.py", folder);
    assert_int_equal(kg_onboard(worker, path, &o, &err), KG_E_USAGE);
    assert_non_null(strstr(err.message, "by the gym's own protocol only"));
}

static int with_times(void **state)
{
    (void)state;
    kg_torch_test(worker)->times_anywhere = true;
    return 0;
}

static int without_times(void **state)
{
    (void)state;
    kg_torch_test(worker)->times_anywhere = false;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes),
        cmocka_unit_test(a_reference_begins_anew),
        cmocka_unit_test(tolerances_differ),
        cmocka_unit_test(the_numbers_are_theirs),
        cmocka_unit_test(in_sixteen_bits),
        cmocka_unit_test(no_time_without_a_gpu),
        cmocka_unit_test_setup_teardown(times_are_claims, with_times, without_times),
        cmocka_unit_test_setup_teardown(the_last_timed_answer, with_times, without_times),
        cmocka_unit_test_setup_teardown(lies, with_times, without_times),
        cmocka_unit_test_setup_teardown(timing_is_no_verdict, with_times, without_times),
        cmocka_unit_test(on_a_device),
        cmocka_unit_test(problems_are_not_checked_by_it),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
