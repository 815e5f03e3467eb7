/* Layout is part of the input: inputs have the strides that get_inputs() gives, a kernel that uses
 * them is right, and one that ignores them is not. */
#include "torch_eval_rig.h"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.stage_timing = false;
    return rig_open();
}

static void problem_of(const char *reference, const char *inputs)
{
    char problem[2000];
    snprintf(problem, sizeof problem,
             HEAD "class Model(nn.Module):\n    def forward(self, x):\n        %s\n\n\n"
                  "def get_inputs():\n    %s\n\n\ndef get_init_inputs():\n    return []\n",
             reference, inputs);
    put("kind.py", problem);
}

/* forward: a line of statements. */
static void ends(const char *forward, const char *want)
{
    char source[2000];
    struct kg_record r;
    snprintf(source, sizeof source,
             HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n        %s\n", forward);
    expect("kind.py", source, want, &r);
    kg_record_deinit(&r);
}

/* What get_inputs gives, a right answer to exp(-x * x) that relies on these strides, and one that
 * relies on others. */
static const char *const kinds[][4] = {
    {"transposed", "return [torch.randn(40, 24).t()]",
     "assert x.stride() == (1, 24), x.stride(); "
     "return torch.exp(-torch.as_strided(x, (40, 24), (24, 1)) ** 2).t()",
     "return torch.exp(-torch.as_strided(x, (24, 40), (40, 1)) ** 2)"},
    {"channels last", "return [torch.randn(2, 5, 7, 3).permute(0, 3, 1, 2)]",
     "assert x.is_contiguous(memory_format=torch.channels_last); return torch.exp(-x * x)",
     "return torch.exp(-torch.as_strided(x, x.shape, (105, 35, 7, 1)) ** 2)"},
    {"every second column", "return [torch.randn(24, 80)[:, ::2]]",
     "assert x.stride() == (80, 2); return torch.exp(-x * x)",
     "return torch.exp(-torch.as_strided(x, (24, 40), (40, 1)) ** 2)"},
    {"a column of a matrix", "return [torch.randn(64, 3)[:, 1]]",
     "assert x.stride() == (3,); return torch.exp(-x * x)",
     "return torch.exp(-torch.as_strided(x, (64,), (1,)) ** 2)"},
    {"expanded", "return [torch.randn(1, 40).expand(24, 40)]",
     "assert x.stride() == (0, 1); return torch.exp(-x[0] * x[0]).repeat(24, 1)",
     "return torch.exp(-torch.as_strided(x, (24, 40), (1, 0)) ** 2)"},
    {"windows that overlap", "return [torch.randn(128).unfold(0, 8, 4)]",
     "assert x.stride() == (4, 1); return torch.exp(-x * x)",
     "return torch.exp(-torch.as_strided(x, (31, 8), (1, 4)) ** 2)"},
    {"an odd stride of one element", "return [torch.randn(24, 40)[:, None].transpose(0, 1)]",
     "assert x.stride() == (40, 40, 1); return torch.exp(-x * x)", "return torch.exp(-x)"},
};

static void strides_are_those_of_get_inputs(void **state)
{
    (void)state;
    need_torch();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *const *k = kinds[i];
        problem_of("return torch.exp(-x * x)", k[1]);
        ends("return torch.exp(-x.contiguous() * x)", "ok");
        ends(k[2], "ok");
        ends(k[3], "wrong/value");
    }
}

/* The values lie where the strides say: what get_inputs guarantees stays. */
static void values_stay_in_their_places(void **state)
{
    (void)state;
    need_torch();
    problem_of("return x.amin(1)", "return [torch.randn(40, 24).sort(dim=0).values.t()]");
    ends("return x[:, 0].clone()", "ok");
    ends("return x[:, 1].clone()", "wrong/value");
}

static void the_record_tells_strides(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    problem_of("return x * 2", "return [torch.randn(40, 24).t()]");
    expect("kind.py",
           HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                "        return x * 2\n",
           "ok", &r);
    json_t *list = json_object_get(evidence(&r, "layout"), "inputs"),
           *want = json_pack("[{s:i, s:s, s:[i, i]}]", "input", 0, "is", "[24,40] float32",
                             "stride", 1, 24);
    assert_true(json_equal(list, want));
    json_decref(want);
    kg_record_deinit(&r);
    problem_of("return x * 2", "return [torch.randn(40, 24)]");
    expect("kind.py",
           HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
                "        return x * 2\n",
           "ok", &r);
    assert_null(evidence(&r, "layout"));
    kg_record_deinit(&r);
}

/* Indices point at elements, wherever these lie in memory. */
static void indices_into_inputs_with_strides(void **state)
{
    (void)state;
    static const char last[] = "j = torch.arange(x.shape[-1]).expand(x.shape); "
                               "return torch.where(x == x.amax(-1, keepdim=True), j, -1).amax(-1)";
    need_torch();
    problem_of("return x.argmax(-1)", "return [torch.randint(0, 10, (300, 64)).float().t()]");
    ends(last, "ok");
    ends("return x.argmin(-1)", "wrong/value");
    /* fewer bytes than elements */
    problem_of("return x.argmax(-1)", "return [torch.rand(1, 4096).expand(2048, 4096)]");
    ends("return x[0].argmax().repeat(2048)", "ok");
    ends("return x[0].argmin().repeat(2048)", "wrong/value");
}

static void whole_numbers_have_strides(void **state)
{
    (void)state;
    need_torch();
    problem_of("return x * 2", "return [torch.randint(0, 50, (12, 8)).t()]");
    ends("return x * 2", "ok");
    ends("return torch.as_strided(x, (8, 12), (12, 1)) * 2", "wrong/value");
}

/* Copies of inputs that the reference writes to have them, too. */
static void written_inputs_have_strides(void **state)
{
    (void)state;
    need_torch();
    problem_of("x.mul_(2); return x + 1", "return [torch.randn(12, 8).t()]");
    ends("assert x.stride() == (1, 8); return x.mul_(2) + 1", "ok");
    ends("return torch.as_strided(x, (8, 12), (12, 1)) * 2 + 1", "wrong/value");
}

/* What the strides reach besides the elements is memory of the input, and read-only. */
static void gaps_are_not_written(void **state)
{
    (void)state;
    need_torch();
    problem_of("return torch.exp(-x * x)", "return [torch.randn(24, 80)[:, ::2]]");
    ends("torch.as_strided(x, (24, 79), (80, 1))[:, 1::2] = 0; return torch.exp(-x * x)",
         "wrong/input_modified");
}

static void draws_differ_in_strides(void **state)
{
    (void)state;
    need_torch();
    problem_of("return torch.exp(-x * x)", "x = torch.randn(8, 8); "
                                           "return [x if x[0, 0] < 0 else x.t()]");
    ends("return torch.exp(-x * x)", "ok");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_are_those_of_get_inputs),
        cmocka_unit_test(values_stay_in_their_places),
        cmocka_unit_test(the_record_tells_strides),
        cmocka_unit_test(indices_into_inputs_with_strides),
        cmocka_unit_test(whole_numbers_have_strides),
        cmocka_unit_test(written_inputs_have_strides),
        cmocka_unit_test(gaps_are_not_written),
        cmocka_unit_test(draws_differ_in_strides),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
