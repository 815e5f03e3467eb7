/* The league tf32 on the CPU: products whose operands have TF32's 11 bits are right there, cut or
 * rounded; narrower ones are not, nor is anything that is no product. Skipped where Python lacks
 * torch. */
#include "torch_eval_rig.h"

#include "gym/feedback/feedback.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/judging/precision.h"
#include "gym/torch/timing/torch_pairs.h"

#define NARROW                                                                                     \
    HEAD "def exact(x):\n    return x\n\n\n"                                                       \
         "def brain(x):\n    return x.bfloat16().float()\n\n\n"                                    \
         "def near(x):\n    return ((x.contiguous().view(torch.int32) + 4096) & -8192)"            \
         ".view(x.dtype)\n\n\n"                                                                    \
         "def cut(x):\n    return (x.contiguous().view(torch.int32) & -8192).view(x.dtype)\n\n\n"
#define INPUTS(list) "\n\ndef get_inputs():\n    return [" list "]\n\n\n"
#define NO_INIT      "def get_init_inputs():\n    return []\n"

/* Constructor, forward, in which f narrows the operands of products, and inputs. */
static const struct task {
    const char *name, *init, *forward, *inputs;
} tasks[] = {
    {"product", "pass", "a, b = args\n        return f(a) @ f(b)",
     "torch.rand(32, 512), torch.rand(512, 32)"},
    {"signed", "pass", "a, b = args\n        return f(a) @ f(b)",
     "torch.randn(32, 512), torch.randn(512, 32)"},
    {"gelu", "self.w = nn.Parameter(torch.zeros(64, 256).uniform_(-.1, .1))",
     "return F.gelu(f(args[0]) @ f(self.w.t()))", "torch.randn(64, 256)"},
    {"layers",
     "self.w = nn.ParameterList([torch.zeros(64, 64).uniform_(-.1, .1) for i in range(3)])\n"
     "        self.norm = nn.LayerNorm(64)",
     "x = args[0]\n        for w in self.w:\n"
     "            x = x + torch.relu(f(self.norm(x)) @ f(w))\n        return self.norm(x)",
     "torch.randn(64, 64)"},
    {"convolution", "self.c = nn.Conv2d(8, 16, 3)",
     "return F.conv2d(f(args[0]), f(self.c.weight), self.c.bias)", "torch.randn(4, 8, 16, 16)"},
    {"attention", "pass",
     "q, k, v = args\n        p = torch.softmax(f(q) @ f(k.transpose(1, 2)) / 8, -1)\n"
     "        return f(p) @ f(v)",
     "torch.randn(2, 48, 64), torch.randn(2, 48, 64), torch.randn(2, 48, 64)"},
};

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = KG_TL_COUNT;
    snprintf(config.precision, sizeof config.precision, "tf32");
    return rig_open();
}

static void write_task(const struct task *t, const char *narrow, char *out, size_t cap)
{
    bool model = strcmp(narrow, "model") == 0;
    int n = snprintf(out, cap,
                     NARROW "f = %s\n\n\nclass %s(nn.Module):\n    def __init__(self):\n"
                            "        super().__init__()\n        %s\n\n"
                            "    def forward(self, *args):\n        %s\n",
                     model ? "exact" : narrow, model ? "Model" : "ModelNew", t->init, t->forward);
    if (model) {
        snprintf(out + n, cap - (size_t)n, INPUTS("%s") NO_INIT, t->inputs);
    }
}

static void judge_as(const struct task *t, const char *narrow, const char *want)
{
    struct kg_record r;
    char model[4096], text[4096], name[64], got[100];
    need_torch();
    snprintf(name, sizeof name, "%s.py", t->name);
    write_task(t, "model", model, sizeof model);
    write_task(t, narrow, text, sizeof text);
    put(name, model);
    judge(name, text, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    if (strncmp(got, want, strlen(want)) != 0) {
        fail_msg("%s by %s: %s, not %s (%s)", t->name, narrow, got, want,
                 r.has_error ? r.error.message : r.message);
    }
    assert_string_equal(r.league.name, "tf32");
    kg_record_deinit(&r);
}

static void products(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        judge_as(&tasks[i], "exact", "ok");
        judge_as(&tasks[i], "cut", "ok");
        judge_as(&tasks[i], "near", "ok");
        judge_as(&tasks[i], "brain", "wrong/");
    }
}

/* The reference's products with cut operands are computed in float, also on a GPU, which may read
 * operands as TF32 otherwise. This reference is far off where it may. */
static void the_cut_is_all_that_is_lost(void **state)
{
    (void)state;
    static const char model[] =
        NARROW "class Model(nn.Module):\n    def forward(self, a, b):\n"
               "        may = torch.backends.cuda.matmul.allow_tf32 or \\\n"
               "            torch.backends.cudnn.allow_tf32\n"
               "        return brain(a) @ brain(b) if may and a.dtype == torch.float32 else a @ "
               "b\n" INPUTS("torch.randn(32, 512), torch.randn(512, 32)") NO_INIT;
    struct kg_record r;
    char text[4096], got[100];
    need_torch();
    put("hardware.py", model);
    write_task(&tasks[1], "near", text, sizeof text);
    judge("hardware.py", text, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    if (strcmp(got, "ok") != 0) {
        fail_msg("%s (%s)", got, r.has_error ? r.error.message : r.message);
    }
    kg_record_deinit(&r);
}

/* What cut operands err to one side a softmax forgives, and not what rounded ones err: a law of
 * which both do not say the same asks nobody. One draw of ten is such a one. */
static void whatever_is_drawn(void **state)
{
    (void)state;
    const struct kg_tinstance *s = NULL;
    int asked = 0;
    need_torch();
    for (int i = 0; i < 24; i++) {
        for (int l = 0; l < KG_TL_COUNT && s; l++) {
            kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases[l].ready = false;
        }
        judge_as(&tasks[5], "near", "ok");
        s = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
        asked += s->cases[KG_TL_NORMAL].applies + s->cases[KG_TL_BF16].applies;
    }
    assert_true(asked > 24);
}

/* A reference that calls the library's own attention is no easier or harder. */
static void a_library_s_attention(void **state)
{
    (void)state;
    static const char model[] =
        HEAD "class Model(nn.Module):\n    def forward(self, q, k, v):\n"
             "        return F.scaled_dot_product_attention(q, k, v)\n" INPUTS(
                 "*(torch.randn(2, 1, 48, 64) for _ in range(3))") NO_INIT;
    static const char form[] =
        NARROW "class ModelNew(nn.Module):\n    def forward(self, q, k, v):\n"
               "        p = torch.softmax(%s(q) @ %s(k.transpose(2, 3)) / 8, -1)\n"
               "        return %s(p) @ %s(v)\n";
    static const char *const how[][2] = {
        {"exact", "ok"}, {"cut", "ok"}, {"near", "ok"}, {"brain", "wrong/"}};
    need_torch();
    put("sdpa.py", model);
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        struct kg_record r;
        char text[2048], got[100];
        snprintf(text, sizeof text, form, how[i][0], how[i][0], how[i][0], how[i][0]);
        judge("sdpa.py", text, KG_ST_FULL, &r);
        seen(&r, got, sizeof got);
        if (strncmp(got, how[i][1], strlen(how[i][1])) != 0) {
            fail_msg("%s: %s (%s)", how[i][0], got, r.has_error ? r.error.message : r.message);
        }
        kg_record_deinit(&r);
    }
    for (int i = 0; i < 12; i++) { /* whatever is drawn */
        struct kg_record r;
        char text[2048];
        struct kg_tinstance *s = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
        s->cases[KG_TL_OFFSET].ready = s->cases[KG_TL_HEAVY].ready = false;
        snprintf(text, sizeof text, form, "cut", "cut", "cut", "cut");
        judge("sdpa.py", text, KG_ST_FULL, &r);
        if (r.verdict != KG_V_OK) {
            fail_msg("draw %d: %s", i, r.has_error ? r.error.message : r.message);
        }
        kg_record_deinit(&r);
    }
}

/* Of an answer's error as a whole, beside that of cut operands; only the probe's. */
static void the_probe_compares_errors(void **state)
{
    (void)state;
    struct kg_worker *w = calloc(1, sizeof *w);
    struct kg_tcase c = {.law = KG_TL_PRECISION, .products = true};
    struct kg_dj_judgement j = {.compare = {.pass = true, .rms_ratio = 2}};
    snprintf(w->config.precision, sizeof w->config.precision, "tf32");
    assert_false(kg_tprecision_holds(w, &c, &j));
    j.compare.rms_ratio = 1.1;
    assert_true(kg_tprecision_holds(w, &c, &j));
    j.compare.rms_ratio = 2;
    c.products = false; /* nothing was cut: the bound is single precision's */
    assert_true(kg_tprecision_holds(w, &c, &j));
    c = (struct kg_tcase){.law = KG_TL_NORMAL, .products = true};
    assert_true(kg_tprecision_holds(w, &c, &j));
    c.law = KG_TL_PRECISION;
    snprintf(w->config.precision, sizeof w->config.precision, "fp32");
    assert_true(kg_tprecision_holds(w, &c, &j));
    free(w);
}

/* What is no product is held to single precision, as in any league. */
static void no_product(void **state)
{
    (void)state;
    static const struct task scale = {"scale", "pass", "return 3 * f(args[0])",
                                      "torch.randn(32, 512)"};
    static const struct task sums = {"sums", "pass", "return f(args[0]).exp().sum(1)",
                                     "torch.randn(32, 512)"};
    judge_as(&scale, "exact", "ok");
    judge_as(&scale, "near", "wrong/");
    judge_as(&sums, "exact", "ok");
    judge_as(&sums, "cut", "wrong/");
}

/* Nor are answers that are rounded: only what products read. */
static void rounded_answers(void **state)
{
    (void)state;
    static const struct task product = {"signed", "pass", "a, b = args\n        return f(a @ b)",
                                        "torch.randn(32, 512), torch.randn(512, 32)"};
    judge_as(&product, "near", "ok"); /* which a rounded operand may cost */
    judge_as(&product, "brain", "wrong/");
}

/* Statistics of what a product gives are off by what its operands are. */
static void statistics(void **state)
{
    (void)state;
    static const struct task norm = {
        "statistics",
        "self.w = nn.Parameter(torch.zeros(64, 256).uniform_(-.1, .1))\n"
        "        self.norm = nn.BatchNorm1d(64)",
        "return self.norm(f(args[0]) @ f(self.w.t()))", "1 + torch.rand(64, 256)"};
    static const struct task stays = {
        "statistics",
        "self.w = nn.Parameter(torch.zeros(64, 256).uniform_(-.1, .1))\n"
        "        self.norm = nn.BatchNorm1d(64)",
        "return F.batch_norm(args[0] @ self.w.t(), None, None, self.norm.weight, self.norm.bias, "
        "True)",
        "1 + torch.rand(64, 256)"};
    judge_as(&norm, "exact", "ok");
    judge_as(&norm, "cut", "ok");
    judge_as(&norm, "near", "ok");
    struct kg_record r;
    char text[4096];
    write_task(&stays, "exact", text, sizeof text);
    judge("statistics.py", text, KG_ST_FULL, &r);
    assert_string_equal(r.reason, "state");
    kg_record_deinit(&r);
}

/* Timed calls are held to the same. */
static void timed(void **state)
{
    (void)state;
    struct kg_record r;
    char text[4096];
    need_torch();
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true};
    worker->config.timing_blocks = worker->config.timing_min_blocks = 1;
    worker->config.timing_widest = 0; /* nor are they trusted by their width */
    kg_torch_of(worker)->null_half_width = 0.01;
    for (int i = 0; i < 2; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s.py", tasks[i].name);
        write_task(&tasks[i], "model", text, sizeof text);
        put(name, text);
        write_task(&tasks[i], "cut", text, sizeof text);
        expect(name, text, "ok", &r);
        assert_int_equal(r.timing.status, KG_T_MEASURED);
        assert_true(number(evidence(&r, "pairs"), "with_oracle") > 0);
        kg_record_deinit(&r);
    }
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = false};
}

/* The hint is the league's; problems in C have none but fp32. */
static void told(void **state)
{
    (void)state;
    struct kg_record r;
    struct kg_buf out;
    struct kg_err err = KG_ERR_INIT;
    struct kg_feedback_spec spec = {.tokens = 600};
    char text[4096];
    need_torch();
    write_task(&tasks[1], "model", text, sizeof text);
    put("signed.py", text);
    write_task(&tasks[1], "brain", text, sizeof text);
    judge("signed.py", text, KG_ST_FULL, &r);
    kg_record_verdict(&r, KG_V_WRONG, "precision", "too inexact");
    kg_buf_init(&out, 1 << 14);
    assert_int_equal(kg_feedback_render(&r, &spec, &out, &err), KG_OK);
    assert_non_null(strstr(out.data, "Operands of products may be TF32"));
    kg_buf_deinit(&out);
    kg_record_deinit(&r);
    struct kg_task t = {.problem = "silu", .text = "x", .len = 1, .source = true};
    kg_record_init(&r);
    kg_eval(worker, &t, &r);
    assert_true(r.has_error);
    assert_int_equal(r.error.code, KG_E_USAGE);
    assert_non_null(strstr(r.error.message, "PyTorch's only"));
    kg_record_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(the_cut_is_all_that_is_lost),
        cmocka_unit_test(whatever_is_drawn),
        cmocka_unit_test(a_library_s_attention),
        cmocka_unit_test(the_probe_compares_errors),
        cmocka_unit_test(no_product),
        cmocka_unit_test(rounded_answers),
        cmocka_unit_test(statistics),
        cmocka_unit_test(timed),
        cmocka_unit_test(told),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
