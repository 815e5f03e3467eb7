/* Reduced precision of PyTorch candidates on the CPU: what the precision probe sees and no other
 * law of these problems does, what the others see, and honest rewrites that neither refuses.
 * Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

/* Rounds to bfloat16; to 11 significant bits, as TF32 has them; cuts to the same. */
#define NARROW                                                                                     \
    HEAD "def brain(x):\n    return x.bfloat16().float()\n\n\n"                                    \
         "def tf32(x):\n    return ((x.view(torch.int32) + 4096) & -8192).view(x.dtype)\n\n\n"     \
         "def cut(x):\n    return (x.view(torch.int32) & -8192).view(x.dtype)\n\n\n"               \
         "class ModelNew(nn.Module):\n"

/* A product behind a tanh. Its own inputs and huge ones saturate it; small integers and what
 * bfloat16 holds are exact in any arithmetic. */
static const char product[] = HEAD "rows = 8\ndepth = 2048\n\n\n"
                                   "class Model(nn.Module):\n    def forward(self, a, b):\n"
                                   "        return torch.tanh((a @ b).abs() / 64)\n\n\n"
                                   "def get_inputs():\n"
                                   "    return [1 + torch.rand(rows, depth), "
                                   "1 + torch.rand(depth, rows)]\n\n\n"
                                   "def get_init_inputs():\n    return []\n";

#define PRODUCT(how)                                                                               \
    NARROW "    def forward(self, a, b):\n        return torch.tanh((" how ").abs() / 64)\n"

static const char norm[] = HEAD "rows = 64\ncols = 512\n\n\n"
                                "class Model(nn.Module):\n    def forward(self, x):\n"
                                "        s = (x * x).mean(dim=1, keepdim=True)\n"
                                "        return x * torch.rsqrt(s + 1e-6)\n\n\n"
                                "def get_inputs():\n    return [torch.rand(rows, cols)]\n\n\n"
                                "def get_init_inputs():\n    return []\n";

#define NORM(how)                                                                                  \
    NARROW "    def forward(self, x):\n        z = " how "\n"                                      \
           "        s = (z * z).mean(dim=1, keepdim=True)\n"                                       \
           "        return z * torch.rsqrt(s + 1e-6)\n"

/* Only what a sum of that length loses tells one accumulator from the library's many. */
static const char deep[] = HEAD "side = 16\ndepth = 1 << 17\n\n\n"
                                "class Model(nn.Module):\n    def forward(self, a, b):\n"
                                "        return a.t() @ b\n\n\n"
                                "def get_inputs():\n"
                                "    return [torch.randn(depth, side), "
                                "torch.randn(depth, side)]\n\n\n"
                                "def get_init_inputs():\n    return []\n";

#define DEEP(a, b)                                                                                 \
    NARROW "    def forward(self, a, b):\n"                                                        \
           "        s = torch.zeros(16, 16)\n"                                                     \
           "        for x, y in zip((" a ").unsqueeze(2), (" b ").unsqueeze(1)):\n"                \
           "            s += x * y\n"                                                              \
           "        return s\n"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = 0; /* those that are always asked */
    if (rig_open() != 0) {
        return -1;
    }
    put("product.py", product);
    put("norm.py", norm);
    put("deep.py", deep);
    return 0;
}

/* A right answer under all laws, and the probe was asked. */
static void right(const char *problem, const char *source)
{
    struct kg_record r;
    char got[100];
    judge(problem, source, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    if (strcmp(got, "ok") != 0) {
        fail_msg("%s: %s (%s)\n%s", problem, got, r.has_error ? r.error.message : r.message,
                 source);
    }
    assert_true(worker->torch->scene[KG_SCENE_PUBLISHED].cases[KG_TL_PRECISION].applies);
    kg_record_deinit(&r);
}

/* verdict/reason and the law that found it: this one, or (where draws differ, else NULL) that one.
 * Only the probe calls it `precision` whatever it looks like: to another law few wrong elements, or
 * some far off, are `value`. */
static void wrong(const char *problem, const char *source, const char *want, const char *or_want)
{
    struct kg_record r;
    char verdict[100], got[160];
    judge(problem, source, KG_ST_FULL, &r);
    const char *law = json_string_value(json_object_get(evidence(&r, "mismatch"), "law"));
    seen(&r, verdict, sizeof verdict);
    snprintf(got, sizeof got, "%s by %s", verdict, law ? law : "none");
    if (strcmp(got, want) != 0 && (!or_want || strcmp(got, or_want) != 0)) {
        fail_msg("%s: %s, not %s (%s)\n%s", problem, got, want,
                 r.has_error ? r.error.message : r.message, source);
    }
    kg_record_deinit(&r);
}

static void operands_of_a_product(void **state)
{
    (void)state;
    need_torch();
    right("product.py", PRODUCT("a @ b"));
    right("product.py", PRODUCT("sum(a[:, i::16] @ b[i::16] for i in range(16))"));
    right("product.py", PRODUCT("(a.flip(1) * b.t().flip(1)[:, None]).sum(2).t()"));
    wrong("product.py", PRODUCT("brain(a) @ brain(b)"), "wrong/precision by precision",
          "wrong/value by spike");
    wrong("product.py", PRODUCT("tf32(a) @ tf32(b)"), "wrong/precision by precision",
          "wrong/value by spike");
    wrong("product.py", PRODUCT("cut(a) @ cut(b)"), "wrong/precision by precision",
          "wrong/value by spike");
    right("product.py", /* three narrow products for one */
          PRODUCT("cut(a) @ cut(b) + cut(a) @ cut(b - cut(b)) + cut(a - cut(a)) @ cut(b)"));
}

/* Which operand has full significands changes with the case. */
static void either_operand(void **state)
{
    (void)state;
    static const char *const how[] = {PRODUCT("tf32(a) @ b"), PRODUCT("a @ tf32(b)")};
    bool caught[2] = {false, false};
    need_torch();
    for (int i = 0; i < 40 && !(caught[0] && caught[1]); i++) {
        struct kg_tcase *c = worker->torch->scene[KG_SCENE_PUBLISHED].cases;
        c[KG_TL_PRECISION].ready = false; /* the next has another key */
        for (int k = 0; k < 2; k++) {
            struct kg_record r;
            char got[100];
            judge("product.py", how[k], KG_ST_FULL, &r);
            seen(&r, got, sizeof got);
            assert_true(strcmp(got, "ok") == 0 || strcmp(got, "wrong/precision") == 0 ||
                        strcmp(got, "wrong/value") == 0);
            caught[k] = caught[k] || strcmp(got, "wrong/precision") == 0;
            kg_record_deinit(&r);
        }
    }
    assert_true(caught[0] && caught[1]);
}

/* Nothing averages out: the own law tells. */
static void a_norm(void **state)
{
    (void)state;
    need_torch();
    right("norm.py", NORM("x.clone()"));
    right("norm.py",
          NARROW "    def forward(self, x):\n"
                 "        s = sum((x[:, i::8] ** 2).sum(1, keepdim=True) for i in range(8))\n"
                 "        return x / torch.sqrt(s / 512 + 1e-6)\n");
    wrong("norm.py", NORM("brain(x)"), "wrong/precision by own", NULL);
    wrong("norm.py", NORM("tf32(x)"), "wrong/precision by own", NULL);
}

/* One accumulator for 131072 terms is honest, and further off than any shorter sum may be. */
static void a_long_sum(void **state)
{
    (void)state;
    need_torch();
    right("deep.py", DEEP("a", "b"));
    wrong("deep.py", DEEP("brain(a)", "brain(b)"), "wrong/precision by own", "wrong/value by own");
    wrong("deep.py", DEEP("tf32(a)", "tf32(b)"), "wrong/precision by own", "wrong/value by own");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_of_a_product),
        cmocka_unit_test(either_operand),
        cmocka_unit_test(a_norm),
        cmocka_unit_test(a_long_sum),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
