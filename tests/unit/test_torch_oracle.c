/* What a PyTorch reference is measured by, on the CPU: itself in double where it runs so, itself in
 * float with what rounding does where it does not, itself alone where that jumps. Skipped where
 * Python lacks torch. */
#include "torch_eval_rig.h"

#include "gym/eval/onboard.h"

#define INPUTS                                                                                     \
    "\n\ndef get_inputs():\n    return [torch.randn(rows, 24)]\n\n\n"                              \
    "def get_init_inputs():\n    return []\n"
#define TOP       HEAD "rows = 16\nw = torch.sin(torch.arange(24 * 8.0)).view(24, 8)\n\n\n"
#define MODEL(n)  "class " n "(nn.Module):\n    def forward(self, x):\n"
#define NARROW    "(x.bfloat16().float() @ w.bfloat16().float())"
#define BY_PARTS  "sum((x[:, i, None] * w[i] for i in range(23, -1, -1)))"
#define ONE_WRONG "(x @ w) + (torch.arange(8) == 3) * 2e-4"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = KG_TL_COUNT; /* all of them */
    return rig_open();
}

static const char *oracle_of(const struct kg_record *r)
{
    return json_string_value(json_object_get(r->environment, "oracle"));
}

/* want: "wrong/" for whichever reason, which depends on the numbers drawn. */
static void judge_as(const char *model, const char *candidate, const char *want, const char *oracle)
{
    struct kg_record r;
    char got[100];
    need_torch();
    put("oracle.py", model);
    judge("oracle.py", candidate, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    bool as_wanted = want[strlen(want) - 1] == '/' ? strncmp(got, want, strlen(want)) == 0
                                                   : strcmp(got, want) == 0;
    if (!as_wanted) {
        fail_msg("%s, not %s (%s)\n%s%s", got, want, r.has_error ? r.error.message : r.message,
                 model, candidate);
    }
    assert_string_equal(oracle_of(&r) ? oracle_of(&r) : "none", oracle);
    const json_t *e = evidence(&r, "oracle");
    bool told = strcmp(oracle, "fp64") != 0 && strcmp(oracle, "none") != 0;
    assert_true((e != NULL) == told);
    assert_true(!told || strcmp(json_string_value(json_object_get(e, "kind")), oracle) == 0);
    kg_record_deinit(&r);
}

static const char constant[] = TOP MODEL("Model") "        return x @ w\n" INPUTS;
#define SINGLE                                                                                     \
    "        if x.dtype == torch.float64:\n"                                                       \
    "            raise NotImplementedError(\"'half' not implemented for 'Double'\")\n"
static const char single[] = TOP MODEL("Model") SINGLE "        return x @ w\n" INPUTS;

/* With a table that stays as it is when the module goes to double, which matmul refuses, its
 * operands are widened where they are used; without double it is measured by itself in float. */
static void products(void **state)
{
    (void)state;
    static const char *const models[] = {constant, single}, *const oracles[] = {"fp64", "fp32"};
    for (int i = 0; i < 2; i++) {
        judge_as(models[i], TOP MODEL("ModelNew") "        return x @ w\n", "ok", oracles[i]);
        judge_as(models[i], TOP MODEL("ModelNew") "        return " BY_PARTS "\n", "ok",
                 oracles[i]);
        judge_as(models[i], TOP MODEL("ModelNew") "        return " NARROW "\n", "wrong/",
                 oracles[i]);
        judge_as(models[i], TOP MODEL("ModelNew") "        return " ONE_WRONG "\n", "wrong/value",
                 oracles[i]);
    }
}

/* The largest of its numbers are 200 times the scale of the answer, and err in proportion to
 * themselves: a few in a million are beyond what the scale allows. */
static void large_numbers_err_in_proportion(void **state)
{
    (void)state;
#define LARGE                                                                                      \
    "\n\ndef get_inputs():\n    return [1.5 * torch.randn(1000, 1000)]\n\n\n"                      \
    "def get_init_inputs():\n    return []\n"
    static const char model[] =
        HEAD MODEL("Model") "        return torch.exp((x + 1000) - 1000)\n" LARGE;
    static const struct {
        const char *returns, *want;
    } list[] = {{"torch.exp((x + 1000) - 1000)", "ok"},
                {"torch.exp((x - 1000) + 1000)", "ok"},
                {"torch.exp(x)", "ok"},
                {"torch.exp(x.half().float())", "wrong/"},
                {"torch.exp(x) * (1 + (x > 5.5) * 1e-3)", "wrong/"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char candidate[300];
        snprintf(candidate, sizeof candidate, HEAD MODEL("ModelNew") "        return %s\n",
                 list[i].returns);
        judge_as(model, candidate, list[i].want, "fp64");
    }
}

static void the_record_says_why(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("oracle.py", single);
    judge("oracle.py", TOP MODEL("ModelNew") "        return x @ w\n", KG_ST_FULL, &r);
    const char *why = json_string_value(json_object_get(evidence(&r, "oracle"), "why"));
    assert_non_null(strstr(why, "a call in double"));
    kg_record_deinit(&r);
}

/* Sums that cancel: the reference's own rounding is far more than what its inputs' makes. */
static void an_answer_that_cancels(void **state)
{
    (void)state;
    static const char model[] =
        TOP MODEL("Model") SINGLE "        return ((x + 1e3) @ w) - 1e3 * w.sum(0)\n" INPUTS;
    judge_as(model,
             TOP MODEL("ModelNew") "        y = x + 1e3\n        return sum(y[:, i, None] * w[i] "
                                   "for i in range(23, -1, -1)) - 1e3 * w.sum(0)\n",
             "ok", "fp32");
    judge_as(model,
             TOP MODEL("ModelNew") "        y = (x + 1e3).bfloat16().float()\n"
                                   "        return y @ w - 1e3 * w.sum(0)\n",
             "wrong/", "fp32");
}

/* Views, writes in place and tables are what they are, whatever operations are off by. */
static void operations_in_place(void **state)
{
    (void)state;
    static const char model[] =
        TOP MODEL("Model") SINGLE "        y = x.clone()\n        y[:, 0].zero_()\n"
                                  "        y.view(-1)[-8:] *= 2\n        y.t()[3].add_(1)\n"
                                  "        return y @ w, y.max(dim=1), y[:, ::2] > 0\n" INPUTS;
    static const char candidate[] =
        TOP MODEL("ModelNew") "        y = torch.cat([torch.zeros(16, 1), x[:, 1:]], 1)\n"
                              "        y[-1, -8:] = 2 * y[-1, -8:]\n        y[:, 3] = y[:, 3] + 1\n"
                              "        return y @ w, (y.amax(1), y.argmax(1)), y[:, ::2] > 0\n";
    judge_as(model, candidate, "ok", "fp32");
}

#define REFUSES(how)                                                                               \
    HEAD "rows = 16\n\n\n" MODEL("Model") "        if x.dtype == torch.float64:\n            " how \
                                          "\n        return x * 3\n" INPUTS
#define THRICE HEAD MODEL("ModelNew") "        return x + x + x\n"
#define TWICE  HEAD MODEL("ModelNew") "        return x + x\n"

/* An operator without double, one that takes too much memory then, and one that ends there. */
static void no_double(void **state)
{
    (void)state;
    static const char *const models[] = {
        REFUSES("raise NotImplementedError(\"'half' not implemented for 'Double'\")"),
        REFUSES("torch.zeros(1 << 42)"),
        REFUSES("os._exit(3)"),
        REFUSES("return x * 3.0 if 0 else [x.sparse_mask]"),
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        judge_as(models[i], THRICE, "ok", "fp32");
        judge_as(models[i], TWICE, "wrong/value", "fp32");
    }
}

/* What fails in float, too, is an error as ever; so is one under a candidate alone. */
static void errors_stay(void **state)
{
    (void)state;
    judge_as(HEAD "rows = 16\n\n\n" MODEL("Model") "        return x @ x\n" INPUTS, THRICE,
             "error/problem", "none");
    judge_as(
        HEAD "rows = 16\ncalls = []\n\n\n" MODEL(
            "Model") "        if x.dtype == torch.float64:\n            calls.append(1)\n"
                     "            if len(calls) > 1:\n                raise ValueError('late')\n"
                     "        return x * 3\n" INPUTS,
        THRICE, "error/problem", "fp64");
}

/* Where what rounding does is another answer. */
static void an_answer_that_jumps(void **state)
{
    (void)state;
    static const char model[] =
        TOP MODEL("Model") SINGLE "        return x * (1 + (x.view(torch.int32) & 1))\n" INPUTS;
    judge_as(model,
             HEAD MODEL("ModelNew") "        return torch.where(x.view(torch.int32) % 2 != 0, "
                                    "x + x, x)\n",
             "ok", "self");
    judge_as(model, HEAD MODEL("ModelNew") "        return x * 1\n", "wrong/value", "self");
}

/* Buffers that calls update are those of the call as it is; parameters are loaded afresh. */
static void state_without_double(void **state)
{
    (void)state;
#define COUNTED                                                                                    \
    "    def __init__(self):\n        super().__init__()\n        self.norm = "                    \
    "nn.BatchNorm1d(24)\n"                                                                         \
    "        self.register_buffer('odd', torch.zeros(1))\n\n    def forward(self, x):\n"
#define COUNTS                                                                                     \
    "        self.odd += (x.view(torch.int32) & 1).float().sum()\n        return self.norm(x)\n"
    static const char model[] =
        HEAD "rows = 64\n\n\nclass Model(nn.Module):\n" COUNTED SINGLE COUNTS INPUTS;
    static const char candidate[] = HEAD "class ModelNew(nn.Module):\n" COUNTED COUNTS;
    judge_as(model, candidate, "ok", "fp32");
}

/* The numbers that it draws are the same, however often it is tried. */
static void random_without_double(void **state)
{
    (void)state;
    static const char *const models[] = {
        TOP MODEL("Model") "        return F.dropout(x, 0.5, training=True) @ w\n" INPUTS,
        TOP MODEL("Model") "        y = F.dropout(x, 0.5, training=True)\n" SINGLE
                           "        return y @ w\n" INPUTS,
    };
    for (int i = 0; i < 2; i++) {
        judge_as(models[i],
                 TOP MODEL("ModelNew") "        return F.dropout(x, 0.5, training=True) @ w\n",
                 "ok", i ? "fp32" : "fp64");
    }
}

#define BRAIN "        q = lambda t: t.bfloat16().float()\n"
#define ROUNDS                                                                                     \
    TOP MODEL("%s") BRAIN "        b = lambda t: t.bfloat16()\n"                                   \
                          "        one, many = b(x) @ b(w), lambda a, c: sum("                     \
                          "a[:, i::4] @ c[i::4] for i in range(4))\n        return %s\n"
#define CASTS(how)                                                                                 \
    "        with torch.autocast('cpu', torch.bfloat16, enabled=" how ")"                          \
    ":\n            y = torch.tanh(x @ w) @ w.t()\n"

/* A reference that rounds inside: its number of bits is allowed where it has them, and no fewer.
 * Exact, rounded at the same places after another order of the sum, or less often: all are right.
 */
static void rounded_inside(void **state)
{
    (void)state;
    static const struct {
        const char *model, *candidate, *want;
    } list[] = {
        {"one.float()", "one.float()", "ok"},
        {"one.float()", "x @ w", "ok"},
        {"one.float()", "q(x) @ q(w)", "ok"},
        {"one.float()", "q(many(q(x), q(w)))", "ok"},
        {"one.float()", "0.9 * (x @ w)", "wrong/"},
        {"one.float()", "x[:, 1:] @ w[1:]", "wrong/"},
        {"one.float()", "one.float() * (torch.arange(16) < 15)[:, None]", "wrong/"},
        {"one.float()", "x.to(torch.float8_e4m3fn).float() @ w", "wrong/"},
        {"(one.float(), x @ w + 1)", "(x @ w, many(x, w) + 1)", "ok"},
        {"(one.float(), x @ w + 1)", "(one.float(), one.float() + 1)", "wrong/"},
        {"(x @ w, x.to(dtype=torch.half).float() * 2)", "(x @ w, x * 2)", "ok"},
        {"(x @ w, x.to(dtype=torch.half).float() * 2)", "(x @ w, x * 2.1)", "wrong/"},
        /* what only the lost bits make stays as it is */
        {"x - q(x)", "x - x.bfloat16()", "ok"},
        {"x - q(x)", "x * 0", "wrong/"},
        {"b(x).view(torch.int16) & 15", "x.bfloat16().view(torch.int16) % 16", "ok"},
        {"b(x).view(torch.int16) & 15", "x.bfloat16().view(torch.int16) & 14", "wrong/"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char model[1000], candidate[1000];
        int n = snprintf(model, sizeof model, ROUNDS, "Model", list[i].model);
        snprintf(model + n, sizeof model - (size_t)n, "%s", INPUTS);
        snprintf(candidate, sizeof candidate, ROUNDS, "ModelNew", list[i].candidate);
        judge_as(model, candidate, list[i].want, "fp64");
    }
}

/* The same by autocast, which leaves doubles alone. */
static void cast_by_torch(void **state)
{
    (void)state;
    static const char model[] =
        TOP MODEL("Model") CASTS("True") "        return y.float()\n" INPUTS;
    judge_as(model, TOP MODEL("ModelNew") CASTS("True") "        return y.float()\n", "ok", "fp64");
    judge_as(model, TOP MODEL("ModelNew") CASTS("False") "        return y\n", "ok", "fp64");
    judge_as(model, TOP MODEL("ModelNew") CASTS("False") "        return 0.9 * y\n", "wrong/",
             "fp64");
}

static void in_double(void **state)
{
    (void)state;
    judge_as(HEAD "rows = 16\n\n\n" MODEL("Model") "        return x * 3\n" INPUTS, THRICE, "ok",
             "fp64");
}

static void the_card_tells(void **state)
{
    (void)state;
    struct kg_onboard o;
    struct kg_err err = KG_ERR_INIT;
    char path[512];
    need_torch();
    put("oracle.py", single);
    snprintf(path, sizeof path, "%s/oracle.py", folder);
    assert_int_equal(kg_onboard(worker, path, &o, &err), KG_OK);
    for (int i = 0; i < o.n; i++) {
        if (!o.check[i].pass) {
            fail_msg("%s: %s", o.check[i].name, o.check[i].detail);
        }
    }
    assert_string_equal(json_string_value(json_object_get(o.card, "oracle")), "fp32");
    kg_onboard_deinit(&o);
}

/* Where the reference overflows, in double too, who does not is right. What is finite is compared,
 * and one that overflows where the reference does not is wrong. */
static void who_does_not_overflow(void **state)
{
    (void)state;
#define SOFTMAX(how) TOP MODEL("ModelNew") "        " how "\n"
    static const char naive[] = TOP MODEL(
        "Model") "        e = torch.exp(x)\n        return e / e.sum(1, keepdim=True)\n" INPUTS;
    static const char stable[] = TOP MODEL("Model") "        return torch.softmax(x, 1)\n" INPUTS;
    static const char log[] =
        TOP MODEL("Model") "        return torch.log(torch.exp(x).sum(1))\n" INPUTS;
    judge_as(naive, SOFTMAX("return torch.softmax(x, 1)"), "ok", "fp64");
    judge_as(naive, SOFTMAX("e = torch.exp(x)\n        return e / e.sum(1, keepdim=True)"), "ok",
             "fp64");
    judge_as(naive, SOFTMAX("return torch.softmax(x * 1.001, 1)"), "wrong/", "fp64");
    judge_as(naive, SOFTMAX("return torch.softmax(x, 1) + float('nan')"), "wrong/", "fp64");
    judge_as(stable, SOFTMAX("e = torch.exp(x)\n        return e / e.sum(1, keepdim=True)"),
             "wrong/nonfinite", "fp64");
    judge_as(log, SOFTMAX("return torch.logsumexp(x, 1)"), "ok", "fp64");
    judge_as(log, SOFTMAX("return torch.logsumexp(x[:, 1:], 1)"), "wrong/", "fp64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(large_numbers_err_in_proportion),
        cmocka_unit_test(the_record_says_why),
        cmocka_unit_test(an_answer_that_cancels),
        cmocka_unit_test(operations_in_place),
        cmocka_unit_test(no_double),
        cmocka_unit_test(errors_stay),
        cmocka_unit_test(an_answer_that_jumps),
        cmocka_unit_test(state_without_double),
        cmocka_unit_test(random_without_double),
        cmocka_unit_test(rounded_inside),
        cmocka_unit_test(cast_by_torch),
        cmocka_unit_test(in_double),
        cmocka_unit_test(who_does_not_overflow),
        cmocka_unit_test(the_card_tells),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
