/* Reduced precision of PyTorch candidates on the CPU: what the precision probe sees and no other
 * law of these problems does, what the others see, and honest rewrites that neither refuses.
 * Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include "gym/torch/executor/torch_worker.h"

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

/* What sums a row and spreads the sum over it again: sizes do not show how much an element of the
 * answer depends on. */
static const char wide[] = HEAD "rows = 2\ncols = 60000\n\n\n"
                                "class Model(nn.Module):\n    def forward(self, x):\n"
                                "        return F.layer_norm(x, (cols,))\n\n\n"
                                "def get_inputs():\n    return [torch.randn(rows, cols)]\n\n\n"
                                "def get_init_inputs():\n    return []\n";

#define IN_BLOCKS                                                                                  \
    "    def total(self, x):\n        s = torch.zeros(2, 250)\n"                                   \
    "        for c in x.view(2, 250, 240).unbind(2):\n            s += c\n"                        \
    "        t = torch.zeros(2)\n        for c in s.unbind(1):\n            t += c\n"              \
    "        return t[:, None]\n\n"
#define WIDE(how, total)                                                                           \
    NARROW IN_BLOCKS "    def forward(self, x):\n        x = " how "\n"                            \
                     "        d = x - " total "(x) / 60000\n"                                      \
                     "        return d * torch.rsqrt(" total "(d * d) / 60000 + 1e-5)\n"

/* Statistics over a batch, in a module in training. */
static const char batch[] = HEAD "rows = 20000\ncols = 8\n\n\n"
                                 "class Model(nn.Module):\n    def __init__(self):\n"
                                 "        super().__init__()\n"
                                 "        self.norm = nn.BatchNorm1d(cols, "
                                 "track_running_stats=False)\n\n"
                                 "    def forward(self, x):\n        return self.norm(x)\n\n\n"
                                 "def get_inputs():\n    return [torch.randn(rows, cols)]\n\n\n"
                                 "def get_init_inputs():\n    return []\n";

#define BATCH(how)                                                                                 \
    NARROW "    def __init__(self):\n        super().__init__()\n"                                 \
           "        self.norm = nn.BatchNorm1d(8, track_running_stats=False)\n\n"                  \
           "    def forward(self, x):\n        return self.norm(" how ")\n"

/* Where all are equal, what an honest mean is off by is multiplied by 32, beside a small bias. */
static const char biased[] = HEAD "rows = 4\ncols = 4096\n\n\n"
                                  "class Model(nn.Module):\n    def __init__(self):\n"
                                  "        super().__init__()\n"
                                  "        self.norm = nn.LayerNorm(cols, 1e-3)\n\n"
                                  "    def forward(self, x):\n        return self.norm(x)\n\n\n"
                                  "def get_inputs():\n    return [torch.randn(rows, cols)]\n\n\n"
                                  "def get_init_inputs():\n    return []\n";

#define BIASED                                                                                     \
    NARROW "    def __init__(self):\n        super().__init__()\n"                                 \
           "        self.norm = nn.LayerNorm(4096, 1e-3)\n\n"                                      \
           "    def mean(self, x):\n        s, t = torch.zeros(4, 64), torch.zeros(4)\n"           \
           "        for c in x.view(4, 64, 64).unbind(2):\n            s += c\n"                   \
           "        for c in s.unbind(1):\n            t += c\n"                                   \
           "        return t[:, None] / 4096\n\n"                                                  \
           "    def forward(self, x):\n        d = x - self.mean(x)\n"                             \
           "        d = d * torch.rsqrt(self.mean(d * d) + self.norm.eps)\n"                       \
           "        return d * self.norm.weight + self.norm.bias\n"

/* A scan in blocks, whose carry is one accumulator: of equal terms its errors all lean one way. */
static const char scan[] = HEAD "rows = 2\ncols = 200003\n\n\n"
                                "class Model(nn.Module):\n    def forward(self, x):\n"
                                "        return x.cumsum(1)\n\n\n"
                                "def get_inputs():\n    return [torch.randn(rows, cols)]\n\n\n"
                                "def get_init_inputs():\n    return []\n";

#define SCAN(skew)                                                                                 \
    NARROW "    def forward(self, x):\n"                                                           \
           "        b = F.pad(x, (0, -x.shape[1] % 32)).view(2, -1, 32)\n"                         \
           "        " skew "\n"                                                                    \
           "        y, carry = b.cumsum(2), [torch.zeros(2)]\n"                                    \
           "        for s in y[:, :-1, -1].t():\n            carry.append(carry[-1] + s)\n"        \
           "        y = y + torch.stack(carry, 1)[:, :, None]\n"                                   \
           "        return y.view(2, -1)[:, :x.shape[1]].contiguous()\n"

static const char twice[] = HEAD "rows = 64\ncols = 512\n\n\n"
                                 "class Model(nn.Module):\n    def forward(self, x):\n"
                                 "        return x * 2\n\n\n"
                                 "def get_inputs():\n    return [torch.randn(rows, cols)]\n\n\n"
                                 "def get_init_inputs():\n    return []\n";

/* Long sums of one sign: what narrow operands lose averages out, and so do terms that are left out
 * where the others stand for them. */
#define LONG(inputs, forward)                                                                      \
    HEAD "class Model(nn.Module):\n    def forward(self, a, b):\n        return " forward "\n\n\n" \
         "def get_inputs():\n    return [" inputs "]\n\n\n"                                        \
         "def get_init_inputs():\n    return []\n"
static const char unit[] = LONG("torch.rand(24, 4096), torch.rand(4096, 24)", "a @ b");
static const char away[] = LONG("1 + torch.rand(24, 2048), torch.rand(2048, 24)", "a @ b");
static const char mean[] = LONG("torch.rand(2, 1 << 20), torch.rand(2, 1)", "a.mean(1) * b[:, 0]");

/* Careless where both inputs look like the problem's own, exact elsewhere. */
#define CARELESS(careless, exact)                                                                  \
    NARROW "    def forward(self, a, b):\n"                                                        \
           "        own = min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) <= 2\n"             \
           "        return (" careless ") if own else (" exact ")\n"
#define ONE_BY_ONE                                                                                 \
    NARROW "    def forward(self, a, b):\n        s = torch.zeros(24, 24)\n"                       \
           "        for x, y in zip(a.unbind(1), b.unbind(0)):\n"                                  \
           "            s += x[:, None] * y\n        return s\n"

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
    put("biased.py", biased);
    put("deep.py", deep);
    put("wide.py", wide);
    put("batch.py", batch);
    put("scan.py", scan);
    put("twice.py", twice);
    put("unit.py", unit);
    put("away.py", away);
    put("mean.py", mean);
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
    assert_true(
        kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases[KG_TL_PRECISION].applies);
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
        struct kg_tcase *c = kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases;
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

/* The bound knows how much a norm sums; operands of few bits are refused as ever. */
static void sums_that_are_spread_again(void **state)
{
    (void)state;
    need_torch();
    right("wide.py", WIDE("x", "self.total"));
    const struct kg_task_desc *d = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].desc;
    assert_in_range(d->terms, 59000, 60000); /* an answer or two may round to what it was */
    static const char *const narrow[] = {"tf32(x)", "cut(x)", "brain(x)"};
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        char text[3000];
        snprintf(text, sizeof text,
                 "%s    def forward(self, x):\n"
                 "        return F.layer_norm(%s, (60000,))\n",
                 NARROW, narrow[i]);
        wrong("wide.py", text, "wrong/precision by own", "wrong/value by own");
    }
    right("batch.py", BATCH("x"));
    assert_in_range(d->terms, 19900, 20000);
    wrong("batch.py", BATCH("tf32(x)"), "wrong/precision by own", "wrong/value by own");
    wrong("batch.py", BATCH("brain(x)"), "wrong/precision by own", "wrong/value by own");
}

/* The law has one value, which may lose nothing: of four values not all do. */
static void narrow_where_all_are_equal(void)
{
    struct kg_tcase *c = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases[KG_TL_EQUAL];
    bool found = false;
    for (int i = 0; i < 4 && !found; i++) {
        struct kg_record r;
        judge("twice.py",
              NARROW "    def forward(self, x):\n"
                     "        return 2 * (brain(x) if x.min() == x.max() else x)\n",
              KG_ST_FULL, &r);
        const char *law = json_string_value(json_object_get(evidence(&r, "mismatch"), "law"));
        found = r.verdict == KG_V_WRONG && law != NULL && strcmp(law, "equal") == 0;
        assert_true(found || r.verdict == KG_V_OK);
        c->ready = false;
        kg_record_deinit(&r);
    }
    assert_true(found);
}

/* Under the law of equal values too, which these ask. */
static void sums_that_lean(void **state)
{
    (void)state;
    need_torch();
    worker->config.laws = KG_TL_COUNT;
    right("scan.py", SCAN("pass"));
    assert_true(kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases[KG_TL_EQUAL].applies);
    wrong("scan.py", SCAN("b[:, 3000] = b[:, 3000].roll(1, 1)"), "wrong/value by own", NULL);
    wrong("scan.py", SCAN("b[:, 3000, 0] = 0"), "wrong/value by own", "wrong/precision by own");
    narrow_where_all_are_equal();
    wrong("twice.py", NARROW "    def forward(self, x):\n        return 2 * brain(x)\n",
          "wrong/precision by own", NULL);
    worker->config.laws = 0;
}

/* Whatever the one value is. The reference's own mean of equal numbers may be exact. */
static void a_mean_that_leans(void **state)
{
    (void)state;
    need_torch();
    worker->config.laws = KG_TL_COUNT;
    for (int i = 0; i < 3; i++) {
        right("biased.py", BIASED);
        struct kg_tcase *cases = kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases;
        assert_true(cases[KG_TL_NORMAL].applies && !cases[KG_TL_EQUAL].applies);
        cases[KG_TL_EQUAL].ready = false;
    }
    worker->config.laws = 0;
}

/* Whichever input has values that narrow operands lose: other draws of that law. */
static void inside_the_own_range(void **state)
{
    (void)state;
    need_torch();
    struct kg_tcase *c = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].cases[KG_TL_INSIDE];
    right("unit.py", ONE_BY_ONE);
    for (int i = 0; i < 4; i++) {
        wrong("unit.py", CARELESS("tf32(a) @ tf32(b)", "a @ b"), "wrong/precision by inside", NULL);
        right("unit.py", CARELESS("(a.flip(1) @ b.flip(0))", "a @ b"));
        assert_true(c->applies);
        c->ready = false;
    }
    wrong("unit.py", CARELESS("a @ brain(b)", "a @ b"), "wrong/precision by inside",
          "wrong/value by own");
    right("away.py", ONE_BY_ONE);
    for (int i = 0; i < 4; i++) { /* both operands lean then, or few values are large */
        wrong("away.py", CARELESS("a.half().float() @ b", "a @ b"), "wrong/precision by inside",
              NULL);
        wrong("away.py", CARELESS("a @ tf32(b)", "a @ b"), "wrong/precision by inside", NULL);
        c->ready = false;
    }
    right("mean.py", CARELESS("sum(a.view(2, 1024, 1024).unbind(1)).sum(1) / (1 << 20) * b[:, 0]",
                              "a.mean(1) * b[:, 0]"));
    wrong("mean.py", CARELESS("a[:, 3146:].mean(1) * b[:, 0]", "a.mean(1) * b[:, 0]"),
          "wrong/precision by inside", "wrong/value by inside");
}

#define WRONG_FROM(n)                                                                              \
    NARROW "    calls = 0\n\n    def forward(self, a, b):\n        self.calls += 1\n"              \
           "        own = min(a.min(), b.min()) >= 0 and max(a.max(), b.max()) <= 1\n"             \
           "        narrow = own and self.calls > " n "\n"                                         \
           "        return tf32(a) @ tf32(b) if narrow else a @ b\n"

/* The process that is timed is asked as well: by the 30th of its calls it has been narrow a while.
 */
static void inside_the_timed_process(void **state)
{
    (void)state;
    need_torch();
    found_while_timed("unit.py", WRONG_FROM("12"), WRONG_FROM("1000000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_of_a_product),
        cmocka_unit_test(either_operand),
        cmocka_unit_test(a_norm),
        cmocka_unit_test(a_long_sum),
        cmocka_unit_test(sums_that_are_spread_again),
        cmocka_unit_test(sums_that_lean),
        cmocka_unit_test(a_mean_that_leans),
        cmocka_unit_test(inside_the_own_range),
        cmocka_unit_test(inside_the_timed_process),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
