/* PyTorch evaluations end to end on the CPU: small problems written here, candidates of every kind
 * of outcome, faults between evaluations, and the record. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <math.h>
#include <signal.h>

#include "gym/eval/onboard.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/judging/cases.h"

/* Fused kernels of a GPU draw otherwise for other dtypes. */
static const char fickle[] = HEAD "rows = 32\n\n\n"
                                  "class Model(nn.Module):\n"
                                  "    def forward(self, x):\n"
                                  "        if x.dtype == torch.float64:\n"
                                  "            torch.rand(1)\n"
                                  "        return F.dropout(x, 0.5, training=True)\n\n\n"
                                  "def get_inputs():\n    return [torch.randn(rows, 16)]\n\n\n"
                                  "def get_init_inputs():\n    return []\n";

/* Of equal numbers the variance is 0, and the norm is its bias. */
static const char spread[] = HEAD "rows = 32\ncols = 24\n\n\n"
                                  "class Model(nn.Module):\n"
                                  "    def __init__(self, cols):\n"
                                  "        super().__init__()\n"
                                  "        self.norm = nn.LayerNorm(cols)\n\n"
                                  "    def forward(self, x):\n"
                                  "        return x.var(dim=1, unbiased=False), self.norm(x)\n\n\n"
                                  "def get_inputs():\n    return [torch.randn(rows, cols)]\n\n\n"
                                  "def get_init_inputs():\n    return [cols]\n";

static const char copies[] = HEAD "rows = 8\n\n\n"
                                  "class Model(nn.Module):\n"
                                  "    def forward(self, x):\n"
                                  "        return {'b': x.clone(), 'a': x + 1}\n\n\n"
                                  "def get_inputs():\n    return [torch.randn(rows, 16)]\n\n\n"
                                  "def get_init_inputs():\n    return []\n";

/* Its answer is its first input, in another shape. */
static const char flat[] = HEAD "rows = 8\n\n\n"
                                "class Model(nn.Module):\n"
                                "    def forward(self, x, z):\n        return x.view(-1)\n\n\n"
                                "def get_inputs():\n"
                                "    return [torch.randn(rows, 6), torch.randn(rows, 6)]\n\n\n"
                                "def get_init_inputs():\n    return []\n";

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.deadline_run = 3;
    config.torch_first_call = 3;
    if (rig_open() != 0) {
        return -1;
    }
    put("copies.py", copies);
    put("flat.py", flat);
    put("fickle.py", fickle);
    put("spread.py", spread);
    return 0;
}

struct sample {
    const char *name, *problem;
    const char *text; /* after HEAD */
    const char *want; /* "verdict" or "verdict/reason" or "error/code" */
};

static const struct sample samples[] = {
    {"right", "affine.py", FORWARD "        return torch.clamp(x * self.weight, min=0) + z + z\n",
     "ok"},
    {"by order", "affine.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
     "        self.w = nn.Parameter(torch.zeros(cols))\n\n"
     "    def forward(self, x, z):\n        return torch.relu(x * self.w) + 2 * z\n",
     "ok"},
    {"by method", "affine.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n\n"
     "    def load_reference_state(self, state):\n        self.w = state['weight']\n\n"
     "    def forward(self, x, z):\n        return torch.relu(x * self.w) + 2 * z\n",
     "ok"},
    {"prepared", "affine.py",
     INIT "    def prepare(self):\n        self.w = self.weight.clone()\n\n"
          "    def forward(self, x, z):\n        return torch.relu(x * self.w) + 2 * z\n",
     "ok"},
    {"prints a lot", "affine.py",
     FORWARD "        print('y' * 1000000)\n        return torch.relu(x * self.weight) + 2 * z\n",
     "ok"},
    {"forgets the weight", "affine.py", FORWARD "        return torch.relu(x) + 2 * z\n",
     "wrong/value"},
    {"negative only", "affine.py", FORWARD "        return x * self.weight + 2 * z\n",
     "wrong/value"},
    {"low precision", "affine.py",
     FORWARD "        return (torch.relu(x.half() * self.weight.half()) + 2 * z.half()).float()\n",
     "wrong/precision"},
    {"nan", "affine.py", FORWARD "        return torch.relu(x * self.weight) + 2 * z / (z - z)\n",
     "wrong/nonfinite"},
    {"dtype", "affine.py",
     FORWARD "        return (torch.relu(x * self.weight) + 2 * z).double()\n", "wrong/dtype"},
    {"shape", "affine.py", FORWARD "        return (torch.relu(x * self.weight) + 2 * z)[1:]\n",
     "wrong/shape"},
    {"much too large", "affine.py", FORWARD "        return torch.zeros(4000000)\n", "wrong/shape"},
    {"structure", "affine.py", FORWARD "        return (torch.relu(x * self.weight) + 2 * z,)\n",
     "wrong/structure"},
    {"no tensor", "affine.py", FORWARD "        return 3.5\n", "wrong/structure"},
    {"subclass", "affine.py",
     "class T(torch.Tensor):\n    pass\n\n\n" FORWARD
     "        return (torch.relu(x * self.weight) + 2 * z).as_subclass(T)\n",
     "wrong/structure"},
    {"in place", "affine.py", FORWARD "        return x.mul_(self.weight).relu_() + 2 * z\n",
     "wrong/input_modified"},
    {"raises", "affine.py", FORWARD "        raise ValueError('no')\n", "crash/exception"},
    {"exits", "affine.py", FORWARD "        os._exit(3)\n", "crash/exit"},
    {"aborts", "affine.py", FORWARD "        os.abort()\n", "crash/signal"},
    {"reads nothing", "affine.py",
     FORWARD "        import ctypes\n        return ctypes.string_at(8)\n", "crash/signal"},
    {"hangs", "affine.py", FORWARD "        while True:\n            time.sleep(1)\n",
     "timeout/tiny"},
    {"too much memory", "affine.py", FORWARD "        return torch.zeros(1 << 42)\n",
     "out_of_memory/host"},
    {"needs a GPU", "affine.py", FORWARD "        return torch.relu(x.cuda()) + z.cuda()\n",
     "error/needs_gpu"},
    {"needs a GPU: C++ says so", "affine.py",
     FORWARD "        g = torch.cuda.CUDAGraph()\n        return torch.relu(x * self.weight)\n",
     "error/needs_gpu"},
    {"pretends to need a GPU", "affine.py",
     FORWARD "        if x.is_cuda:\n            return x.cuda()\n"
             "        raise RuntimeError('No CUDA GPUs are available')\n",
     "crash/exception"},
    {"pretends while it names none", "affine.py",
     FORWARD "        # x.cuda()\n        getattr(x, 'cu' + 'da')()\n        return x\n",
     "crash/exception"},
    {"pretends with an exception of its own", "affine.py",
     "class CudaError(RuntimeError):\n    pass\n\n\n" FORWARD
     "        try:\n            return x.cuda()\n        except RuntimeError as e:\n"
     "            raise CudaError(str(e))\n",
     "crash/exception"},
    {"syntax", "affine.py", "class ModelNew(nn.Module:\n    pass\n", "compile_error/syntax"},
    {"import", "affine.py", "import no_such_module\n\n\n" FORWARD "        return x\n",
     "compile_error/load"},
    {"constructor", "affine.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        raise RuntimeError('x')\n",
     "compile_error/load"},
    {"no class", "affine.py", "class Other(nn.Module):\n    pass\n", "compile_error/missing_entry"},
    {"import exits", "affine.py", "os._exit(0)\n\n\n" FORWARD "        return x\n", "crash/exit"},
    {"no parameters", "affine.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n\n"
     "    def forward(self, x, z):\n        return torch.relu(x) + 2 * z\n",
     "wrong/params"},
    {"cached answer", "affine.py",
     "kept = []\n\n\n" FORWARD "        if not kept:\n"
     "            kept.append(torch.relu(x * self.weight) + 2 * z)\n        return "
     "kept[0].clone()\n",
     "hack/replay"},
    {"old parameters", "affine.py",
     FORWARD "        if not hasattr(self, 'w'):\n            self.w = self.weight.clone()\n"
             "        return torch.relu(x * self.w) + 2 * z\n",
     "wrong/nondeterministic"},
    {"second call", "affine.py",
     "calls = []\n\n\n" FORWARD "        calls.append(1)\n"
     "        return torch.relu(x * self.weight) + (2 if len(calls) < 2 else 2.5) * z\n",
     "wrong/nondeterministic"},
    {"pair", "pair.py",
     "class ModelNew(nn.Module):\n    def forward(self, x, index):\n"
     "        y = x.index_select(0, index)\n        return y, y.max(dim=1).indices\n",
     "ok"},
    {"pair: other index", "pair.py",
     "class ModelNew(nn.Module):\n    def forward(self, x, index):\n"
     "        y = x.index_select(0, index)\n        return y, y.min(dim=1).indices\n",
     "wrong/value"},
    {"pair: int32", "pair.py",
     "class ModelNew(nn.Module):\n    def forward(self, x, index):\n"
     "        y = x.index_select(0, index)\n        return y, y.max(dim=1).indices.int()\n",
     "wrong/dtype"},
    {"pair: one", "pair.py",
     "class ModelNew(nn.Module):\n    def forward(self, x, index):\n        return x[index]\n",
     "wrong/structure"},
    {"state", "running.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
     "        self.norm = nn.BatchNorm1d(cols)\n\n    def forward(self, x):\n"
     "        return self.norm(x)\n",
     "ok"},
    {"state: not updated", "running.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
     "        self.norm = nn.BatchNorm1d(cols)\n\n    def forward(self, x):\n"
     "        n = self.norm\n        return F.batch_norm(x, None, None, n.weight, n.bias, True)\n",
     "wrong/state"},
    {"random", "chance.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n"
     "        return F.dropout(x, 0.5, training=True)\n",
     "ok"},
    {"random by dtype", "fickle.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n"
     "        return F.dropout(x, 0.5, training=True)\n",
     "ok"},
    {"random by dtype: another scale", "fickle.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n"
     "        return 0.99 * F.dropout(x, 0.5, training=True)\n",
     "wrong/value"},
    {"random by dtype: none", "fickle.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x.clone()\n",
     "wrong/value"},
    {"dict", "copies.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n"
     "        return {'a': 1 + x, 'b': x * 1}\n",
     "ok"},
    {"dict: the input itself", "copies.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n"
     "        return {'a': 1 + x, 'b': x}\n",
     "wrong/alias"},
    {"a view of an input", "flat.py",
     "class ModelNew(nn.Module):\n    def forward(self, x, z):\n        return x.reshape(-1)\n",
     "ok"},
    {"a view of an input: a copy", "flat.py",
     "class ModelNew(nn.Module):\n    def forward(self, x, z):\n"
     "        return x.clone().view(-1)\n",
     "ok"},
    {"a view of an input: another's", "flat.py",
     "class ModelNew(nn.Module):\n    def forward(self, x, z):\n        return z.view(-1)\n",
     "wrong/value"},
    {"dict: other keys", "copies.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n"
     "        return {'a': 1 + x, 'c': x * 1}\n",
     "wrong/structure"},
    {"reads the seed", "affine.py",
     FORWARD "        torch.manual_seed(torch.initial_seed())\n"
             "        x, z = torch.randn(16, 24), torch.rand(16, 24)\n"
             "        return torch.relu(x * self.weight) + 2 * z\n",
     "wrong/value"},
    {"random: none", "chance.py",
     "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x.clone()\n",
     "wrong/value"},
};

static bool shows(const struct kg_record *r, const char *check)
{
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        const char *name = json_string_value(json_object_get(e, "check"));
        if (name && strcmp(name, check) == 0) {
            return true;
        }
    }
    return false;
}

static void outcomes(void **state)
{
    (void)state;
    int bad = 0;
    need_torch();
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct kg_record r;
        struct kg_buf text;
        char got[100];
        kg_buf_init(&text, 1 << 16);
        kg_buf_addf(&text, "%s%s", HEAD, samples[i].text);
        judge(samples[i].problem, text.data, KG_ST_PROFILE, &r);
        seen(&r, got, sizeof got);
        if (strcmp(got, samples[i].want) != 0) {
            print_error("%s: %s, not %s (%s)\n", samples[i].name, got, samples[i].want,
                        r.has_error ? r.error.message : r.message);
            bad++;
        }
        bad += strcmp(got, "crash/signal") == 0 && !shows(&r, "signal");
        bad += r.verdict == KG_V_TIMEOUT && !shows(&r, "limit");
        kg_record_deinit(&r);
        kg_buf_deinit(&text);
    }
    assert_int_equal(bad, 0);
}

/* Under `offset` the reference is asked on inputs that were moved, which are not those that are
 * bound. */
static void a_view_under_every_law(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    int64_t laws = worker->config.laws;
    worker->config.laws = KG_TL_COUNT;
    expect("flat.py",
           HEAD "class ModelNew(nn.Module):\n    def forward(self, x, z):\n"
                "        return x.view(-1)\n",
           "ok", &r);
    assert_true(kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases[KG_TL_OFFSET].applies);
    worker->config.laws = laws;
    kg_record_deinit(&r);
}

/* An honest rewrite whose mean rounds otherwise than the reference's: 1/24 is no float. */
static const char other_mean[] = HEAD
    "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
    "        self.norm = nn.LayerNorm(cols)\n\n    def forward(self, x):\n"
    "        mean = x * (1 / 24)\n        mean = (mean.cumsum(1)[:, -1:] + x[:, :1] * 2.0**-23)\n"
    "        d = x - mean\n        var = (d * d).sum(1, keepdim=True) * (1 / 24)\n"
    "        n = self.norm\n"
    "        return var[:, 0], d * torch.rsqrt(var + n.eps) * n.weight + n.bias\n";

/* Every law, so that the one which must not be asked would be. */
static void rounding_of_a_mean(void **state)
{
    (void)state;
    struct kg_record r;
    char got[100];
    need_torch();
    int64_t laws = worker->config.laws;
    worker->config.laws = KG_TL_COUNT;
    judge("spread.py", other_mean, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    if (strcmp(got, "ok") != 0) {
        fail_msg("%s (%s)", got, r.has_error ? r.error.message : r.message);
    }
    const struct kg_tcase *cases = kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases;
    assert_true(cases[KG_TL_EQUAL].ready && !cases[KG_TL_EQUAL].applies);
    assert_true(cases[KG_TL_NORMAL].applies && cases[KG_TL_LARGE].applies);
    kg_record_deinit(&r);
    judge("affine.py", good, KG_ST_FULL, &r); /* where it can be asked, it is */
    cases = kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases;
    for (int l = 0; l < KG_TL_COUNT; l++) {
        if (!cases[l].applies) {
            fail_msg("law %s is not asked", kg_tlaw_name((enum kg_tlaw)l));
        }
    }
    kg_record_deinit(&r);
    worker->config.laws = laws;
}

/* What `broken` elements, of a million, are off by where inputs of a law of the judge's reach
 * beyond 3: the reference loses 1.5e-5 of everything, so its bound is four times that. */
static void put_tail(char *out, size_t cap, int broken, const char *by)
{
    snprintf(out, cap,
             HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                  "        y = (x + 256) - 256\n        if 3 < x.abs().max() < 7:\n"
                  "            y.view(-1)[:%d] += %s\n        return y\n",
             broken, by);
}

/* One element in a million that is some bounds off, at inputs where rounding them moves the answer,
 * is no verdict; three are, and so is one that is far off. */
static void tails(void **state)
{
    (void)state;
    static const struct {
        int broken;
        const char *by, *want;
    } cases[] = {{1, "8e-5", "ok"},
                 {1, "4e-4", "ok"},
                 {3, "8e-5", "wrong/value"},
                 {1, "8e-4", "wrong/value"}};
    int64_t laws = worker->config.laws;
    need_torch();
    put("tail.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                        "        return (x + 256) - 256\n\n\n"
                        "def get_inputs():\n    return [torch.rand(1024, 1100)]\n\n\n"
                        "def get_init_inputs():\n    return []\n");
    worker->config.laws = KG_TL_COUNT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_record r;
        char text[700], got[100];
        put_tail(text, sizeof text, cases[i].broken, cases[i].by);
        judge("tail.py", text, KG_ST_FULL, &r);
        seen(&r, got, sizeof got);
        if (strcmp(got, cases[i].want) != 0) {
            fail_msg("%d by %s: %s (%s)", cases[i].broken, cases[i].by, got,
                     r.has_error ? r.error.message : r.message);
        }
        kg_record_deinit(&r);
    }
    worker->config.laws = laws;
}

/* Its error is large in float for inputs that hold the mark, those of `of` draws of four. */
static void put_erring_draws(const char *name, int of)
{
    char text[1024];
    snprintf(text, sizeof text,
             HEAD "draws = 0\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
                  "        bad = x.dtype == torch.float32 and bool(x[0, 0] == 100)\n"
                  "        return x * 2 + (2 if bad else 1)\n\n\n"
                  "def get_inputs():\n    global draws\n    draws += 1\n"
                  "    x = torch.randn(8, 8)\n    if draws %% 4 < %d:\n        x[0, 0] = 100\n"
                  "    return [x]\n\n\ndef get_init_inputs():\n    return []\n",
             of);
    put(name, text);
}

/* Inputs on which the reference misses its oracle are drawn again; a reference that always misses
 * it is the problem's fault. */
static void inputs_that_do_not_suit(void **state)
{
    (void)state;
    static const char twice[] = HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                                     "        return x * 2 + 1\n";
    char got[100];
    need_torch();
    for (int of = 3; of <= 4; of++) {
        struct kg_record r;
        put_erring_draws("draws.py", of);
        judge("draws.py", twice, KG_ST_FULL, &r);
        seen(&r, got, sizeof got);
        assert_string_equal(got, of < 4 ? "ok" : "error/problem");
        kg_record_deinit(&r);
    }
}

/* The judge's memory is one problem's, not the sum of all. */
/* The inputs with one element changed are those of the call before, not the same seed's drawn once
 * more: where no two draws are alike, who answers wrongly then is found all the same. */
static void one_element_is_edited(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("restless.py", HEAD "rows = 24\n\n\nclass Model(nn.Module):\n"
                            "    def forward(self, x):\n        return x * 2\n\n\n"
                            "def get_inputs():\n    g = torch.Generator()\n    g.seed()\n"
                            "    return [torch.randn(rows, rows, generator=g)]\n\n\n"
                            "def get_init_inputs():\n    return []\n");
    static const char text[] =
        HEAD "seen = []\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
             "        edited = any(int((x != y).sum()) == 1 for y in seen)\n"
             "        seen.append(x.clone())\n        return x * (3 if edited else 2)\n";
    judge("restless.py", text, KG_ST_FULL, &r);
    assert_false(r.has_error);
    assert_int_equal(r.verdict, KG_V_WRONG);
    kg_record_deinit(&r);
}

static void memory_is_given_back(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_worker *w, *mine = worker;
    struct kg_err err = KG_ERR_INIT;
    need_torch();
    static const char *const problems[] = {"many.py", "large.py"};
    assert_int_equal(kg_worker_open(&config, -1, NULL, &w, &err), KG_OK);
    assert_int_equal(kg_torch_open(w, &err), KG_OK);
    /* First 15 cases of 4 MB (inputs, answers, answers in double), then one of 32 MB. */
    struct kg_dj_spec spec = {.device = "cpu", .cpu = -1, .memory_cap = 72 << 20};
    assert_int_equal(kg_dj_start(&spec, &kg_torch_of(w)->judge, &err), KG_OK);
    kg_torch_of(w)->judge_up = true;
    w->config.laws = KG_TL_COUNT;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        struct kg_buf text;
        kg_buf_init(&text, 1 << 16);
        kg_buf_addf(&text,
                    HEAD "n = %d\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
                         "        return x + %d\n\n\n"
                         "def get_inputs():\n    return [torch.rand(n)]\n\n\n"
                         "def get_init_inputs():\n    return []\n",
                    i ? 1 << 21 : 1 << 18, (int)i);
        put(problems[i], text.data);
        kg_buf_reset(&text);
        kg_buf_addf(&text,
                    HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                         "        return x + %d\n",
                    (int)i);
        worker = w;
        judge(problems[i], text.data, i ? KG_ST_TINY : KG_ST_FULL, &r);
        worker = mine;
        kg_buf_deinit(&text);
        if (r.has_error || r.verdict == KG_V_WRONG) {
            fail_msg("%s: %s", problems[i], r.has_error ? r.error.message : r.message);
        }
        kg_record_deinit(&r);
    }
    kg_worker_close(w);
}

static void judge_reply(const char *reply, struct kg_record *r)
{
    judge_task((struct kg_task){.problem = "affine.py", .text = reply, .stop_after = KG_ST_FULL},
               r);
}

static void replies(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_buf text;
    need_torch();
    kg_buf_init(&text, 1 << 16);
    kg_buf_addf(&text, "First:\n```python\nclass ModelNew: pass\n```\nBetter:\n```python\n%s```\n",
                good);
    judge_reply(text.data, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    assert_string_equal(r.candidate.rule, "fence-closed");
    assert_string_equal(r.candidate.language, "python");
    kg_record_deinit(&r);
    judge_reply("```python\nclass Other:\n    pass\n```\n", &r);
    assert_int_equal(r.verdict, KG_V_NO_CODE);
    assert_string_equal(r.reason, "missing_entry");
    kg_record_deinit(&r);
    judge_reply("", &r);
    assert_string_equal(r.reason, "empty");
    kg_record_deinit(&r);
    kg_buf_deinit(&text);
}

/* A row's class may be called as KernelBench's are. */
static void a_row_of_that_name(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("model.jsonl",
        "{\"entry_point\": \"Model\", \"python_code\": \"import torch\\nimport torch.nn as nn\\n"
        "class Model(nn.Module):\\n    def __init__(self, by=1.0):\\n        super().__init__()\\n"
        "        self.by = by\\n    def forward(self, x):\\n        return x * self.by\\n"
        "def get_inputs():\\n    return [torch.rand([4, 4, 4])]\\n"
        "def get_init_inputs():\\n    return [[], {\\\"by\\\": 3.0}]\\n\"}\n");
    expect("model.jsonl#1",
           "import torch.nn as nn\nclass ModelNew(nn.Module):\n    def __init__(self, by):\n"
           "        super().__init__()\n        self.by = by\n    def forward(self, x):\n"
           "        return x + x * (self.by - 1)\n",
           "ok", &r);
    kg_record_deinit(&r);
}

/* A row of a KernelBook file: another class name, [args, kwargs]. */
static void rows(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("rows.jsonl",
        "{\"entry_point\": \"Other\", \"python_code\": \"\"}\n"
        "{\"entry_point\": \"Scale\", \"python_code\": \"import torch\\nimport torch.nn as nn\\n"
        "class Scale(nn.Module):\\n    def __init__(self, by=1.0):\\n        super().__init__()\\n"
        "        self.by = by\\n    def forward(self, x):\\n        return x * self.by\\n"
        "def get_inputs():\\n    return [torch.rand([4, 4, 4])]\\n"
        "def get_init_inputs():\\n    return [[], {\\\"by\\\": 3.0}]\\n\"}\n");
    judge("rows.jsonl#2",
          "import torch.nn as nn\nclass ScaleNew(nn.Module):\n    def __init__(self, by):\n"
          "        super().__init__()\n        self.by = by\n    def forward(self, x):\n"
          "        return x + x * (self.by - 1)\n",
          KG_ST_PROFILE, &r);
    assert_false(r.has_error);
    assert_int_equal(r.verdict, KG_V_OK);
    assert_string_equal(r.problem.entry, "ScaleNew");
    assert_string_equal(r.problem.name, "Scale");
    kg_record_deinit(&r);
    judge("rows.jsonl#1", "x", KG_ST_PROFILE, &r);
    assert_true(r.has_error);
    assert_int_equal(r.error.code, KG_E_PROBLEM);
    kg_record_deinit(&r);
}

/* What is no problem is the problem's fault, as with C; that there is none is not. */
/* A tensor alone, a tuple, a list, or a dict that names arguments of forward. */
static void forms_of_inputs(void **state)
{
    (void)state;
    static const char *const forms[][2] = {
        {"x", "torch.randn(8, 6)"},
        {"x", "(torch.randn(8, 6),)"},
        {"x, y", "{'y': torch.rand(8, 6), 'x': torch.randn(8, 6)}"},
    };
    struct kg_record r;
    char problem[1000], source[1000];
    need_torch();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *sum = i == 2 ? "torch.relu(x) - y" : "torch.relu(x)";
        snprintf(problem, sizeof problem,
                 HEAD "class Model(nn.Module):\n    def forward(self, %s):\n        return %s\n\n\n"
                      "def get_inputs():\n    return %s\n\n\ndef get_init_inputs():\n    return "
                      "[]\n",
                 forms[i][0], sum, forms[i][1]);
        snprintf(source, sizeof source,
                 HEAD "class ModelNew(nn.Module):\n    def forward(self, %s):\n        return %s\n",
                 forms[i][0], sum);
        put("form.py", problem);
        expect("form.py", source, "ok", &r);
        kg_record_deinit(&r);
    }
    put("form.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n        return x * 2\n"
                        "\n\ndef get_inputs():\n    return {'z': torch.rand(8)}\n\n\n"
                        "def get_init_inputs():\n    return []\n");
    expect("form.py", good, "error/problem", &r);
    assert_non_null(strstr(r.error.message, "get_inputs() names z, and forward takes x"));
    kg_record_deinit(&r);
}

/* What this host's Python lacks is the host's fault, and the message says what to install where. */
static void a_module_that_is_missing(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("lacks.py", "import no_such_package.parts\n" HEAD "class Model(nn.Module):\n"
                    "    def forward(self, x):\n        return x * 2\n\n\n"
                    "def get_inputs():\n    return [torch.rand(8)]\n\n\n"
                    "def get_init_inputs():\n    return []\n");
    expect("lacks.py", good, "error/host", &r);
    assert_non_null(strstr(r.error.message, "the problem imports `no_such_package`"));
    assert_non_null(strstr(r.error.message, "-m pip install no_such_package`"));
    kg_record_deinit(&r);
}

static void files_that_are_no_problem(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *problem;
        enum kg_code code;
        enum kg_blame blame;
    } files[] = {
        {"odd.jsonl", "{\n{\"entry_point\": \"A\"}\n", "odd.jsonl#1", KG_E_PROBLEM,
         KG_BLAME_PROBLEM},
        {"odd.jsonl", "{\n{\"entry_point\": \"A\"}\n", "odd.jsonl#2", KG_E_PROBLEM,
         KG_BLAME_PROBLEM},
        {"odd.jsonl", "{\n", "odd.jsonl#9", KG_E_NOT_FOUND, KG_BLAME_HOST},
        {"odd.py", "x = (\n", "odd.py", KG_E_PROBLEM, KG_BLAME_PROBLEM},
    };
    need_torch();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct kg_record r;
        put(files[i].name, files[i].text);
        judge(files[i].problem, good, KG_ST_FULL, &r);
        assert_true(r.has_error);
        if (r.error.code != files[i].code || r.error.blame != files[i].blame) {
            fail_msg("%s: %s, %s (%s)", files[i].problem, kg_code_name(r.error.code),
                     kg_blame_name(r.error.blame), r.error.message);
        }
        kg_record_deinit(&r);
    }
}

/* Every key of docs/record.md, and what an executor fills in. */
static void record(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "schema",           "id",          "batch_id", "replay",  "input_sha256", "problem",
        "candidate",        "verdict",     "reason",   "message", "error",        "stage",
        "stages",           "compiled",    "correct",  "speedup", "timing",       "coverage",
        "shape_generality", "league",      "evidence", "output",  "peak_bytes",   "setup_ns",
        "isolation",        "environment", "config",   "rewards", "private"};
    struct kg_record r;
    need_torch();
    judge("affine.py", good, KG_ST_PROFILE, &r);
    json_t *j = kg_record_json(&r, false);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!json_object_get(j, keys[i])) {
            fail_msg("the record lacks %s", keys[i]);
        }
    }
    assert_int_equal(json_object_size(j), sizeof keys / sizeof *keys);
    const json_t *timing = json_object_get(j, "timing");
    assert_string_equal(json_string_value(json_object_get(timing, "status")), "not_measured");
    assert_int_equal(strncmp(json_string_value(json_object_get(timing, "why")), "no GPU", 6), 0);
    assert_true(json_is_null(json_object_get(j, "speedup")));
    assert_true(r.compiled == 1 && r.correct == 1);
    assert_string_equal(r.problem.language, "python");
    const json_t *env = json_object_get(j, "environment");
    assert_true(json_is_string(json_object_get(env, "torch")));
    assert_string_equal(json_string_value(json_object_get(env, "device")), "cpu");
    assert_true(r.isolation.level >= 1);
    struct kg_record back;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_record_parse(j, &back, &err), KG_OK);
    kg_record_deinit(&back);
    json_decref(j);
    kg_record_deinit(&r);
}

static void still_good(const char *after)
{
    struct kg_record r;
    char got[100];
    judge("affine.py", good, KG_ST_PROFILE, &r);
    seen(&r, got, sizeof got);
    if (strcmp(got, "ok") != 0) {
        fail_msg("after %s: %s (%s)", after, got, r.has_error ? r.error.message : r.message);
    }
    kg_record_deinit(&r);
}

/* Whoever of the gym's own dies between evaluations is started again. */
static void faults(void **state)
{
    (void)state;
    need_torch();
    still_good("nothing");
    kill(kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].ref.runner.sandbox.pid, SIGKILL);
    still_good("the reference's end");
    kill(kg_torch_of(worker)->judge.pid, SIGKILL);
    still_good("the judge's end");
    kill(kg_torch_of(worker)->zygote[0].pid, SIGKILL);
    still_good("the zygote's end");
}

static void interpreted(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    if (!json_is_string(json_object_get(kg_torch_of(worker)->zygote[0].facts, "triton"))) {
        printf("skip: triton is missing\n");
        skip();
    }
    static const char text[] =
        "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\ndef kernel(x, z, w, y, n, cols, B: tl.constexpr):\n"
        "    i = tl.program_id(0) * B + tl.arange(0, B)\n    m = i < n\n"
        "    a = tl.load(x + i, mask=m) * tl.load(w + i % cols, mask=m)\n"
        "    tl.store(y + i, tl.maximum(a, 0.0) + 2 * tl.load(z + i, mask=m), mask=m)\n\n\n" INIT
        "    def forward(self, x, z):\n        y = torch.empty_like(x)\n"
        "        n = x.numel()\n        kernel[((n + 127) // 128,)](x, z, self.weight, y, n, "
        "x.shape[1], B=128)\n        return y\n";
    config.torch_tiny_elements = 200;
    worker->config.torch_tiny_elements = 200;
    judge("affine.py", text, KG_ST_PROFILE, &r);
    assert_false(r.has_error);
    assert_int_equal(r.verdict, KG_V_OK);
    assert_string_equal(json_string_value(json_object_get(r.environment, "scene")), "published");
    kg_record_deinit(&r);
    worker->config.torch_tiny_elements = 1; /* the published shape is too large: tiny alone */
    judge("affine.py", text, KG_ST_PROFILE, &r);
    assert_true(r.has_error && r.error.code == KG_E_NEEDS_GPU);
    assert_int_equal(r.error.blame, KG_BLAME_CANDIDATE);
    assert_true(r.nrewards > 0 && r.rewards[0].value == 0);
    kg_record_deinit(&r);
    worker->config.torch_tiny_elements = 16384;
}

#define KERNEL                                                                                     \
    HEAD "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"                          \
         "def kernel(x, y, n, B: tl.constexpr):\n"                                                 \
         "    i = tl.program_id(0) * B + tl.arange(0, B)\n"                                        \
         "    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)\n\n\n" FORWARD

/* Whether a GPU is what it lacks. */
static void kernels_without_a_gpu(void **state)
{
    (void)state;
    static const struct sample all[] = {
        {"asks", "affine.py", KERNEL "        assert x.is_cuda\n        return x\n",
         "error/needs_gpu"},
        {"falls back", "affine.py", KERNEL "        return torch.relu(x * self.weight) + 2 * z\n",
         "error/needs_gpu"},
        {"its inputs' device", "affine.py",
         KERNEL "        with torch.cuda.device(x.device):\n            return x\n",
         "error/needs_gpu"},
        {"raises", "affine.py", KERNEL "        raise ValueError('no')\n", "crash/exception"},
        {"wrong", "affine.py", KERNEL "        return x\n", "wrong/value"},
        {"asks, without kernels", "affine.py",
         HEAD FORWARD "        assert x.is_cuda\n        return x\n", "crash/exception"},
        {"in CUDA", "affine.py",
         HEAD "S = '__global__ void k() {}'\n\n\n" FORWARD
              "        return torch.relu(x * self.weight) + 2 * z\n",
         "error/needs_gpu"},
        {"imports it only", "affine.py",
         HEAD "import triton\n\n\n" FORWARD "        return torch.relu(x * self.weight) + 2 * z\n",
         "ok"},
        {"lacks one after a right answer", "affine.py",
         HEAD "calls = []\n\n\n" FORWARD
              "        calls.append(1)\n        if len(calls) > 1:\n            x.cuda()\n"
              "        return torch.relu(x * self.weight) + 2 * z\n",
         "crash/exception"},
    };
    need_torch();
    if (!json_is_string(json_object_get(kg_torch_of(worker)->zygote[0].facts, "triton"))) {
        printf("skip: triton is missing\n");
        skip();
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct kg_record r;
        char got[96];
        judge(all[i].problem, all[i].text, KG_ST_PROFILE, &r);
        snprintf(got, sizeof got, "%s%s%s", r.has_error ? "error" : kg_verdict_name(r.verdict),
                 r.has_error || r.reason ? "/" : "",
                 r.has_error ? kg_code_name(r.error.code)
                 : r.reason  ? r.reason
                             : "");
        if (strcmp(got, all[i].want) != 0) {
            fail_msg("%s: %s, not %s", all[i].name, got, all[i].want);
        }
        assert_true(!r.has_error || r.error.blame == KG_BLAME_CANDIDATE);
        kg_record_deinit(&r);
    }
}

static const char special[] = HEAD FORWARD "        if x.shape != (16, 24):\n            return x\n"
                                           "        return torch.relu(x * self.weight) + 2 * z\n";

/* Elements of the larger side of affine.py's shapes: beyond 16 x 24 and at most four times that. */
static void check_grown(const struct kg_record *r, int larger, int smaller)
{
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        const json_t *dims = json_object_get(e, "dims");
        if (strcmp(json_string_value(json_object_get(e, "check")), "other_shape") == 0) {
            int64_t n = number(dims, "rows") * number(dims, "cols");
            larger -= n > 16 * 24;
            smaller -= n < 16 * 24;
            assert_true(n <= 4 * 16 * 24);
        }
    }
    assert_int_equal(larger, 0);
    assert_int_equal(smaller, 0);
}

/* Other shapes, larger and smaller in turn, grade and do not gate. */
static void shapes(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    worker->config.torch_shapes = 4;
    judge("affine.py", good, KG_ST_PROFILE, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    assert_true(r.shape_generality == 1);
    check_grown(&r, 2, 2);
    kg_record_deinit(&r);
    judge("affine.py", special, KG_ST_PROFILE, &r);
    assert_int_equal(r.verdict, KG_V_OK);
    assert_null(r.reason);
    assert_null(evidence(&r, "mismatch"));
    assert_true(r.shape_generality == 0);
    kg_record_deinit(&r);
    worker->config.torch_shapes = 0;
    judge("affine.py", good, KG_ST_PROFILE, &r);
    assert_true(isnan(r.shape_generality));
    kg_record_deinit(&r);
}

/* Where they gate: wrong there is wrong, and who is right everywhere passes. */
static void shapes_that_gate(void **state)
{
    (void)state;
    static const char crashes[] =
        HEAD FORWARD "        if x.shape != (16, 24):\n            raise ValueError('no')\n"
                     "        return torch.relu(x * self.weight) + 2 * z\n";
    static const struct {
        const char *text, *want;
    } cases[] = {{good, "ok"}, {special, "wrong/variant"}, {crashes, "crash/exception"}};
    need_torch();
    worker->config.torch_shapes = 1;
    worker->config.torch_shapes_gate = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_record r;
        expect("affine.py", cases[i].text, cases[i].want, &r);
        assert_true(r.shape_generality == (i == 0));
        kg_record_deinit(&r);
    }
    worker->config = config;
}

/* The problem cannot be larger: there is nothing to try, and nobody is to blame. */
static void shapes_that_do_not_grow(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("small.py", HEAD "rows = 32\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
                         "        if len(x) > 32:\n            torch.zeros(1 << 42)\n"
                         "        return x * 2\n\n\n"
                         "def get_inputs():\n    return [torch.randn(rows, 8)]\n\n\n"
                         "def get_init_inputs():\n    return []\n");
    worker->config.torch_shapes = 2;
    expect("small.py",
           HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                "        return x + x\n",
           "ok", &r);
    assert_true(r.shape_generality == 1); /* of the smaller one */
    kg_record_deinit(&r);
    worker->config = config;
}

/* A failure repeats on the inputs of its record. */
static void replay(void **state)
{
    (void)state;
    static const char rare[] =
        HEAD FORWARD "        y = torch.relu(x * self.weight) + 2 * z\n"
                     "        return torch.where(x == x.max(), y + (x.max() > 5) * 0.5, y)\n";
    struct kg_record r, again;
    need_torch();
    judge("affine.py", rare, KG_ST_FULL, &r);
    assert_int_equal(r.verdict, KG_V_WRONG);
    struct kg_task t = {.problem = "affine.py",
                        .text = rare,
                        .source = true,
                        .stop_after = KG_ST_FULL,
                        .replay = r.secret,
                        .replay_id = r.id};
    judge_task(t, &again);
    assert_false(again.has_error);
    assert_int_equal(again.verdict, r.verdict);
    assert_string_equal(again.reason, r.reason);
    assert_string_equal(again.message, r.message);
    assert_true(again.nrewards == 0 && kg_record_find(&again, "check", "unrewarded") != NULL);
    json_array_remove(again.evidence, json_array_size(again.evidence) - 1);
    assert_true(json_equal(again.evidence, r.evidence));
    assert_true(json_equal(again.secret, r.secret));
    kg_record_deinit(&again);
    json_t *bad = json_pack("{s:s, s:[{s:s}]}", "key", "00000000000000000000000000000000", "tiny",
                            "law", "no such law");
    t.replay = bad;
    judge_task(t, &again);
    assert_int_equal(again.error.code, KG_E_INPUT);
    kg_record_deinit(&again);
    json_decref(bad);
    kg_record_deinit(&r);
}

static void check(const char *problem, bool pass, const char *failing)
{
    struct kg_onboard o;
    struct kg_err err = KG_ERR_INIT;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, problem);
    if (kg_onboard(worker, path, &o, &err) != KG_OK) {
        fail_msg("%s: %s", problem, err.message);
    }
    bool found = failing == NULL;
    for (int i = 0; i < o.n; i++) {
        found = found || (strcmp(o.check[i].name, failing) == 0 && !o.check[i].pass);
        if (pass && !o.check[i].pass) {
            print_error("%s: %s: %s\n", problem, o.check[i].name, o.check[i].detail);
        }
    }
    assert_true(found);
    assert_int_equal(o.pass, pass);
    assert_string_equal(json_string_value(json_object_get(o.card, "status")),
                        pass ? "ok" : "quarantined");
    kg_onboard_deinit(&o);
}

static void onboarding(void **state)
{
    (void)state;
    need_torch();
    check("affine.py", true, NULL);
    check("pair.py", true, NULL);
    put("constant.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                            "        return torch.zeros_like(x)\n\n\n"
                            "def get_inputs():\n    return [torch.randn(4, 8)]\n\n\n"
                            "def get_init_inputs():\n    return []\n");
    check("constant.py", false, "zeros");
    put("ignores.py", HEAD "class Model(nn.Module):\n    def forward(self, x, z):\n"
                           "        return x * 2\n\n\n"
                           "def get_inputs():\n"
                           "    return [torch.randn(4, 8), torch.randn(4, 8)]\n\n\n"
                           "def get_init_inputs():\n    return []\n");
    check("ignores.py", false, "frozen input 1");
    put("clock.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                         "        return x * (time.perf_counter() % 1)\n\n\n"
                         "def get_inputs():\n    return [torch.randn(4, 8)]\n\n\n"
                         "def get_init_inputs():\n    return []\n");
    check("clock.py", false, "deterministic");
    check("flat.py", false, "first input");
    put("raises.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                          "        raise ValueError('no')\n\n\n"
                          "def get_inputs():\n    return [torch.randn(4, 8)]\n\n\n"
                          "def get_init_inputs():\n    return []\n");
    check("raises.py", false, "builds");
    put("none.py", "x = 1\n");
    check("none.py", false, "parses");
}

/* A problem of C, as far as the compiler. */
static void judge_c(struct kg_worker *w, const char *source, struct kg_record *r)
{
    struct kg_task t = {.problem = "silu",
                        .text = source,
                        .len = strlen(source),
                        .source = true,
                        .stop_after = KG_ST_COMPILE};
    kg_record_init(r);
    kg_eval(w, &t, r);
    assert_false(r->has_error);
}

/* Without torch: an error that says how to get it, and C goes on. */
static void without_torch(void **state)
{
    (void)state;
    struct kg_config other = config;
    struct kg_worker *w, *mine = worker;
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    snprintf(other.python, sizeof other.python, "/nonexistent/python");
    assert_int_equal(kg_worker_open(&other, -1, NULL, &w, &err), KG_OK);
    worker = w;
    judge("affine.py", good, KG_ST_PROFILE, &r);
    worker = mine;
    assert_true(r.has_error);
    assert_int_equal(r.error.code, KG_E_HOST);
    assert_non_null(strstr(r.error.message, "make torch"));
    kg_record_deinit(&r);
    judge_c(w, "nonsense", &r);
    kg_record_deinit(&r);
    kg_worker_close(w);
}

/* From C to PyTorch and back in one worker. */
static void both_kinds(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    still_good("C");
    judge_c(worker, "void silu(", &r);
    assert_string_equal(r.problem.language, "c");
    kg_record_deinit(&r);
    still_good("C");
}

static int drawn_laws(bool there[KG_TL_COUNT])
{
    const struct kg_tinstance *s = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
    int n = 0;
    for (int l = KG_TL_DRAWN; l < KG_TL_COUNT; l++) {
        there[l] = s->cases[l].ready && s->cases[l].applies;
        n += there[l];
    }
    return n;
}

static bool judge_has(int id)
{
    struct kg_err err = KG_ERR_INIT;
    return kg_dj_case_edit(&kg_torch_of(worker)->judge, id, 0, (struct kg_key){{1, 2}}, &err) ==
           KG_OK;
}

#define LARGE_CALL "    def forward(self, x):\n        return torch.relu(x) + x\n"
static const char large[] = HEAD "class ModelNew(nn.Module):\n" LARGE_CALL;

/* No more of the laws that are drawn than an evaluation asks have cases at a time, and each serves
 * a number of evaluations; of one that cannot be asked nothing is kept but that. */
static void laws_that_are_drawn_take_turns(void **state)
{
    (void)state;
    bool before[KG_TL_COUNT], there[KG_TL_COUNT];
    uint64_t rank[KG_TL_COUNT];
    struct kg_record r;
    need_torch();
    put("large.py", HEAD "class Model(nn.Module):\n" LARGE_CALL "\n\ndef get_inputs():\n"
                         "    return [torch.randn(1024, 256)]\n\n\n"
                         "def get_init_inputs():\n    return []\n");
    judge("large.py", large, KG_ST_FULL, &r);
    kg_record_deinit(&r);
    struct kg_tinstance *s = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
    int64_t *memory = &kg_torch_of(worker)->judge.facts.memory_bytes, was = *memory;
    int64_t held = kg_torch_of(worker)->judge.bytes;
    kg_torch_forget(worker, KG_FORGET_PROBLEM);
    worker->config = config;
    worker->config.laws = 3;
    *memory =
        6 * held; /* room for its cases, but not for all laws in the part that they may take */
    for (int k = 0; k < 3; k++) {
        judge("large.py", large, KG_ST_FULL, &r);
        assert_string_equal(kg_verdict_name(r.verdict), "ok");
        kg_record_deinit(&r);
        assert_int_equal(drawn_laws(there), 3);
        assert_true(k == 0 || memcmp(there, before, sizeof there) == 0);
        memcpy(before, there, sizeof there);
    }
    int out = 0;
    for (int l = KG_TL_DRAWN; l < KG_TL_COUNT; l++) {
        assert_int_equal(s->cases[l].asked, there[l] ? 3 : 0);
        if (there[l] && out++ < 2) {
            s->cases[l].asked = 16;
        }
    }
    s->cases[KG_TL_BF16].asked = 16; /* always asked: it stays longer */
    kg_tcases_rank(worker, s, rank);
    assert_true(drawn_laws(there) == 1 && rank[KG_TL_BF16] == 0 && s->cases[KG_TL_BF16].ready);
    for (int l = KG_TL_DRAWN; l < KG_TL_COUNT; l++) {
        assert_int_equal(rank[l], there[l] ? 0 : before[l] ? 4 : 1); /* others before them */
    }
    judge("large.py", large, KG_ST_FULL, &r);
    kg_record_deinit(&r);
    assert_int_equal(drawn_laws(there), 3);
    for (int l = KG_TL_DRAWN; l < KG_TL_COUNT; l++) {
        assert_true(!there[l] || rank[l] <= 1);
        assert_true(!before[l] || judge_has(s->cases[l].id) == there[l]);
    }
    kg_torch_forget(worker, KG_FORGET_PROBLEM);
    worker->config = config;
    *memory = was;
}

/* Where there is room for all, each one is asked before `ok`. */
static void all_laws_are_asked(void **state)
{
    (void)state;
    bool there[KG_TL_COUNT];
    struct kg_record r;
    need_torch();
    judge("affine.py", good, KG_ST_FULL, &r);
    kg_record_deinit(&r);
    assert_int_equal(drawn_laws(there), KG_TL_COUNT - KG_TL_DRAWN);
    kg_torch_forget(worker, KG_FORGET_PROBLEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes),
        cmocka_unit_test(a_view_under_every_law),
        cmocka_unit_test(replies),
        cmocka_unit_test(rows),
        cmocka_unit_test(a_row_of_that_name),
        cmocka_unit_test(forms_of_inputs),
        cmocka_unit_test(a_module_that_is_missing),
        cmocka_unit_test(files_that_are_no_problem),
        cmocka_unit_test(record),
        cmocka_unit_test(faults),
        cmocka_unit_test(interpreted),
        cmocka_unit_test(kernels_without_a_gpu),
        cmocka_unit_test(shapes),
        cmocka_unit_test(shapes_that_gate),
        cmocka_unit_test(shapes_that_do_not_grow),
        cmocka_unit_test(replay),
        cmocka_unit_test(onboarding),
        cmocka_unit_test(without_torch),
        cmocka_unit_test(both_kinds),
        cmocka_unit_test(rounding_of_a_mean),
        cmocka_unit_test(tails),
        cmocka_unit_test(inputs_that_do_not_suit),
        cmocka_unit_test(one_element_is_edited),
        cmocka_unit_test(memory_is_given_back),
        cmocka_unit_test(laws_that_are_drawn_take_turns),
        cmocka_unit_test(all_laws_are_asked),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
