/* Which PyTorch problems are fit to judge with: real ones of few elements, odd inputs, and defects
 * of each kind. */
#include "gym/pipeline/onboard.h"
#include "torch_eval_rig.h"

#define ONE  "class Model(nn.Module):\n    def forward(self, x):\n"
#define TWO  "class Model(nn.Module):\n    def forward(self, x, i):\n"
#define TAIL "\n\ndef get_init_inputs():\n    return []\n"
/* "return [...]" of get_inputs */
#define DRAW(list) "\n\ndef get_inputs():\n    return [" list "]\n" TAIL

/* What the check of a problem has found: "" fit, else its reasons with a space after each. */
static void reasons(const char *text, char *out, size_t cap)
{
    struct kg_onboard o;
    struct kg_err err = KG_ERR_INIT;
    char path[512];
    put("p.py", text);
    snprintf(path, sizeof path, "%s/p.py", folder);
    if (kg_onboard(worker, path, &o, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < o.n; i++) {
        if (!o.check[i].pass) {
            print_message("%s: %s\n", o.check[i].name, o.check[i].detail);
            n += (size_t)snprintf(out + n, n < cap ? cap - n : 0, "%s ", o.check[i].name);
        }
    }
    assert_true(o.pass == (n == 0));
    kg_onboard_deinit(&o);
}

static void expect_reasons(const char *text, const char *want)
{
    char got[600];
    reasons(text, got, sizeof got);
    if (strcmp(got, want) != 0) {
        fail_msg("put aside for `%s`, not `%s`:\n%s", got, want, text);
    }
}

/* Of one element the mean is the answer itself. */
static void answers_of_one_element(void **state)
{
    (void)state;
    need_torch();
    expect_reasons(
        HEAD TWO "        return F.mse_loss(x, i)\n" DRAW("torch.randn(64, 9), torch.rand(64, 9)"),
        "");
    expect_reasons(HEAD TWO "        return x.sum().reshape(1, 1), i * 2\n" DRAW(
                       "torch.randn(64, 9), torch.rand(64, 9)"),
                   "");
    /* and still: the same whatever is asked */
    expect_reasons(HEAD ONE "        return (0 * x).sum() + 3\n" DRAW("torch.randn(64, 9)"),
                   "mean earlier answer frozen input 0 ");
}

/* What freezing an input would give must be an input: no index out of its range, no other mask. */
static void inputs_of_one_element(void **state)
{
    (void)state;
    static const char *const fit[] = {
        HEAD TWO "        return x[i]\n" DRAW("torch.randn(64, 9), torch.tensor([63])"),
        HEAD TWO "        return x[i]\n" DRAW("torch.randn(64, 9), torch.randint(0, 64, (1,))"),
        HEAD TWO "        return x * i\n" DRAW("torch.randn(64, 9), torch.rand(1)"),
        HEAD TWO "        return x * i\n" DRAW("torch.randn(64, 9), torch.tensor(2.5)"),
        HEAD TWO "        return x.relu() * i\n" DRAW("torch.randn(64, 9), torch.ones(9)"),
        HEAD TWO "        return torch.where(i, x.relu(), -x)\n" DRAW(
            "torch.randn(64, 9), torch.tensor(True)"),
        /* where the frozen one cannot be worked with, it is felt */
        HEAD TWO "        return torch.cat([p.cumsum(0) for p in x.split(i.tolist())])\n" DRAW(
            "torch.randn(60, 9), torch.tensor([10, 20, 30])"),
    };
    need_torch();
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
        expect_reasons(fit[i], "");
    }
    expect_reasons(HEAD TWO
                   "        return x * 2\n" DRAW("torch.randn(64, 9), torch.randint(0, 64, (1,))"),
                   "frozen input 1 ");
    expect_reasons(HEAD TWO "        return x * 2\n" DRAW("torch.randn(64, 9), torch.ones(9)"),
                   "frozen input 1 ");
    expect_reasons(HEAD TWO "        return x * 2\n" DRAW("torch.randn(64, 9), torch.tensor(True)"),
                   "frozen input 1 ");
}

/* Answers that need not be calculated, each told by its name. */
static void answers_that_take_no_work(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reasons;
    } table[] = {
        {HEAD ONE "        return 0 * x\n" DRAW("torch.randn(64, 9)"),
         "zeros mean shuffled scaled earlier answer axis 0 axis 1 frozen input 0 "},
        {HEAD ONE "        return torch.arange(64.) + (0 * x).sum()\n" DRAW("torch.randn(64, 9)"),
         "earlier answer frozen input 0 "},
        {HEAD ONE "        return x.sum() + torch.zeros(64, 9)\n" DRAW("torch.randn(64, 9)"),
         "mean shuffled axis 0 axis 1 "},
        {HEAD ONE
         "        return x.sum(1, keepdim=True).expand(64, 9) * 1\n" DRAW("torch.randn(64, 9)"),
         "axis 1 "},
        {HEAD ONE "        return x.sum(0).expand(64, 9) * 1\n" DRAW("torch.randn(64, 9)"),
         "axis 0 "},
        {HEAD TWO "        return i * 1\n" DRAW("torch.randn(64, 9), torch.randn(64, 9)"),
         "input 1 frozen input 0 "},
        {HEAD TWO "        return x + i * 1e-9\n" DRAW("torch.randn(64, 9), torch.rand(64, 9)"),
         "first input frozen input 1 "},
        {HEAD ONE "        return x.argmax(1, keepdim=True)\n" DRAW("torch.randn(64, 9)"), ""},
        {HEAD ONE "        return x > 0, x.half() * 2, x.sum()\n" DRAW("torch.randn(64, 9)"), ""},
        {HEAD ONE "        return F.dropout(x, 0.5)\n" DRAW("torch.randn(64, 9)"), ""},
    };
    need_torch();
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        expect_reasons(table[i].text, table[i].reasons);
    }
}

static json_t *card_of(const char *text)
{
    struct kg_onboard o;
    struct kg_err err = KG_ERR_INIT;
    char path[512];
    put("p.py", text);
    snprintf(path, sizeof path, "%s/p.py", folder);
    assert_int_equal(kg_onboard(worker, path, &o, &err), KG_OK);
    json_t *card = json_incref(o.card);
    kg_onboard_deinit(&o);
    return card;
}

static double real_of(const json_t *card, const char *key)
{
    const json_t *v = json_object_get(card, key);
    assert_true(json_is_number(v));
    return json_number_value(v);
}

/* What the card tells of a problem, and what is not known without a clock. */
static void card(void **state)
{
    (void)state;
    need_torch();
    json_t *c =
        card_of(HEAD "n = 48\nk = 40\n\n\n" TWO "        return x @ i\n\n\n"
                     "def get_inputs():\n    return [torch.randn(n, k), torch.rand(k, 24)]\n" TAIL);
    assert_string_equal(json_string_value(json_object_get(c, "status")), "ok");
    assert_true(real_of(c, "K") == 40);
    assert_true(real_of(c, "flops_estimate") == 2. * 48 * 24 * 40);
    assert_true(real_of(c, "bytes_min") == 4. * (48 * 40 + 40 * 24 + 48 * 24));
    assert_true(real_of(c, "e_ref") > 1e-9 && real_of(c, "e_ref") < 1e-6);
    assert_true(json_is_false(json_object_get(c, "exact")));
    assert_string_equal(json_string_value(json_object_get(c, "oracle")), "fp64");
    assert_true(json_is_null(json_object_get(c, "reference_ns")));
    assert_true(json_is_null(json_object_get(c, "launch_bound")));
    const json_t *panel = json_object_get(c, "panel");
    assert_int_equal(json_object_size(panel), 10);
    assert_true(real_of(panel, "scaled") > 1 && real_of(panel, "axis 1") > 100);
    const json_t *variants = json_object_get(c, "variants");
    assert_in_range(json_array_size(variants), 1, 2);
    assert_non_null(strchr(json_string_value(json_array_get(variants, 0)), '='));
    json_decref(c);
    c = card_of(HEAD TWO
                "        return x[i]\n" DRAW("torch.randn(64, 9), torch.randint(0, 64, (9,))"));
    assert_true(json_is_true(json_object_get(c, "exact")));
    assert_true(real_of(c, "e_ref") == 0);
    json_decref(c);
    c = card_of(HEAD ONE "        return F.dropout(x, 0.5)\n" DRAW("torch.randn(64, 9)"));
    assert_string_equal(json_string_value(json_object_get(c, "oracle")), "fp64");
    json_decref(c);
    c = card_of(HEAD ONE "        return 0 * x\n" DRAW("torch.randn(64, 9)"));
    assert_true(real_of(json_object_get(c, "panel"), "zeros") == 0);
    json_decref(c);
}

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    return rig_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_one_element),
        cmocka_unit_test(inputs_of_one_element),
        cmocka_unit_test(answers_that_take_no_work),
        cmocka_unit_test(card),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
