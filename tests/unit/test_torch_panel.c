/* Which PyTorch problems are fit to judge with: the panel of answers that take no work, and what
 * the task card tells. */
#include "onboard_rig.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_that_take_no_work),
        cmocka_unit_test(card),
    };
    return cmocka_run_group_tests(tests, onboard_setup, rig_close);
}
