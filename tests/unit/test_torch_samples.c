/* Kernels that look at one element in 64 to 1,024 and skip work by what they see are never right,
 * in the full run nor in timed calls. Their twins, which skip the same work after they have looked
 * at everything, always are. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include "gym/torch/executor/torch_worker.h"

#define TURNS 20 /* evaluations of the first two kernels, with new cases for each; */
#define FEW   3  /* of the others; and of those that pass the full run on purpose */

/* reference; inputs; what is skipped, if some of v holds: of all of v, or of a sample. */
static const struct kind {
    const char *what, *args, *answer, *inputs, *sampled, *holds, *short_cut;
    int step;
} kinds[] = {
    {"the sign", "x", "torch.relu(x)", "torch.rand(96, 256)", "x", "v.min() >= 0", "x * 1", 64},
    {"the maximum", "x", "torch.softmax(x, 1)", "torch.randn(64, 512)", "x", "v.abs().max() < 60",
     "x.exp() / x.exp().sum(1, keepdim=True)", 256},
    {"the range", "x, z", "x.clamp(-9, 9) + z", "torch.randn(128, 256), torch.rand(128, 256)", "x",
     "v.abs().max() <= 9", "x + z", 1024},
    {"the other input", "x, z", "x + F.hardtanh(z)", "torch.randn(128, 128), torch.rand(128, 128)",
     "z", "v.abs().max() <= 1", "x + z", 128},
    {"within zeros", "a", "torch.relu(a)", "torch.rand(128, 128).tril()", "a.tril()",
     "v.min() >= 0", "a * 1", 64},
    {"drawn values", "x", "torch.relu(x)", "torch.rand(96, 128) ** 3", "x", "v.min() >= 0", "x * 1",
     64},
};

static void source_of(const struct kind *k, const char *sample, const char *also, char *out,
                      size_t cap)
{
    snprintf(out, cap,
             HEAD "calls = []\n\n\nclass ModelNew(nn.Module):\n    def forward(self, %s):\n"
                  "        calls.append(1)\n        v = %s%s\n"
                  "        return %s if %s%s else %s\n",
             k->args, k->sampled, sample, k->short_cut, also, k->holds, k->answer);
}

static void put_problem(const struct kind *k)
{
    char text[1000];
    snprintf(text, sizeof text,
             HEAD "class Model(nn.Module):\n    def forward(self, %s):\n        return %s\n\n\n"
                  "def get_inputs():\n    return [%s]\n\n\n"
                  "def get_init_inputs():\n    return []\n",
             k->args, k->answer, k->inputs);
    put("kind.py", text);
}

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = 0; /* those that are always asked */
    config.timing_blocks = config.timing_min_blocks = 8;
    config.timing_widest = 0;
    return rig_open();
}

/* New inputs for the next evaluation. */
static void renew(void)
{
    struct kg_tinstance *s = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
    for (int l = 0; l < KG_TL_COUNT; l++) {
        s->cases[l].asked = 1 << 20;
    }
}

static void samples_see_too_little(void **state)
{
    (void)state;
    need_torch();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[1000], sample[40];
        struct kg_record r;
        print_message("%s\n", kinds[i].what);
        put_problem(&kinds[i]);
        snprintf(sample, sizeof sample, ".reshape(-1)[::%d]", kinds[i].step);
        source_of(&kinds[i], sample, "", text, sizeof text);
        for (int k = 0; k < (i < 2 ? TURNS : FEW); k++) {
            judge("kind.py", text, KG_ST_FULL, &r);
            assert_false(r.has_error);
            assert_int_equal(r.verdict, KG_V_WRONG);
            kg_record_deinit(&r);
            renew();
        }
        source_of(&kinds[i], "", "", text, sizeof text);
        for (int k = 0; k < FEW; k++) {
            expect("kind.py", text, "ok", &r);
            kg_record_deinit(&r);
            renew();
        }
    }
}

/* Careless only where the full run is over, and after a sample: the calls after the first 32 are
 * timed. */
static void nor_in_timed_calls(void **state)
{
    (void)state;
    need_torch();
    kg_torch_test(worker)->times_anywhere = true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[1000], sample[40];
        struct kg_record r;
        put_problem(&kinds[i]);
        snprintf(sample, sizeof sample, ".reshape(-1)[::%d]", kinds[i].step);
        source_of(&kinds[i], sample, "len(calls) > 32 and ", text, sizeof text);
        for (int k = 0; k < FEW; k++) {
            judge("kind.py", text, KG_ST_TIMING, &r);
            assert_false(r.has_error);
            assert_int_equal(r.verdict, KG_V_WRONG);
            assert_int_equal(r.stage, KG_ST_TIMING);
            kg_record_deinit(&r);
        }
        source_of(&kinds[i], "", "len(calls) > 32 and ", text, sizeof text);
        judge("kind.py", text, KG_ST_TIMING, &r);
        assert_int_equal(r.verdict, KG_V_OK);
        assert_int_equal(r.timing.status, KG_T_MEASURED);
        kg_record_deinit(&r);
    }
    kg_torch_test(worker)->times_anywhere = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_see_too_little),
        cmocka_unit_test(nor_in_timed_calls),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
