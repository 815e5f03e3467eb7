/* Answers with a finite fill (a mask's -1e9): the other elements have a scale of their own. PyTorch
 * on the CPU; skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include "gym/torch/executor/torch_worker.h"

#define PROBLEM(inputs, forward)                                                                   \
    HEAD "class Model(nn.Module):\n    def forward(self, q, k, m):\n        return " forward       \
         "\n\n\ndef get_inputs():\n    return [" inputs "]\n\n\n"                                  \
         "def get_init_inputs():\n    return []\n"
#define NEW(forward)                                                                               \
    HEAD "def tf32(x):\n    return ((x.view(torch.int32) + 4096) & -8192).view(x.dtype)\n\n\n"     \
         "class ModelNew(nn.Module):\n    def forward(self, q, k, m):\n        return " forward    \
         "\n"
#define ROWS "torch.randn(96, 64), torch.randn(80, 64)"

/* The mask is given; it is drawn, has few places, and its fill is another number in the oracle's
 * type; it is added to the scores, and hides most. */
static const char given[] =
    PROBLEM(ROWS ", torch.ones(96, 80).triu(1).bool()", "(q @ k.t() / 8).masked_fill(m, -1e9)");
static const char drawn[] = PROBLEM(ROWS ", torch.rand(96, 80) < 0.001",
                                    "(q @ k.t() / 8).masked_fill(m, torch.finfo(q.dtype).min)");
static const char added[] =
    PROBLEM(ROWS ", (torch.rand(96, 80) < 0.9).float()", "q @ k.t() / 8 + m * -10000.0");
/* Some are far above all others, whose sizes are all unlike, as of a softmax of large numbers. */
static const char sharp[] =
    PROBLEM(ROWS ", torch.rand(96, 80) < 0.1",
            "torch.where(m, 1.0, torch.exp(-7.5 - 125 * (q @ k.t()).abs()))");

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    if (rig_open() != 0) {
        return -1;
    }
    put("given.py", given);
    put("drawn.py", drawn);
    put("added.py", added);
    put("sharp.py", sharp);
    return 0;
}

static void judged_as(const char *problem, const char *source, const char *want,
                      const char *or_want)
{
    struct kg_record r;
    char got[100];
    judge(problem, source, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    if (strcmp(got, want) != 0 && (or_want == NULL || strcmp(got, or_want) != 0)) {
        fail_msg("%s: %s, not %s (%s)\n%s", problem, got, want,
                 r.has_error ? r.error.message : r.message, source);
    }
    kg_record_deinit(&r);
}

static void right(const char *problem, const char *source)
{
    judged_as(problem, source, "ok", NULL);
}

static void wrong(const char *problem, const char *source)
{
    judged_as(problem, source, "wrong/value", "wrong/precision");
}

static double fill(void)
{
    return kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].desc.output[0].fill;
}

static void a_mask_that_is_given(void **state)
{
    (void)state;
    need_torch();
    right("given.py", NEW("torch.where(m, torch.tensor(-1e9), q @ k.t() / 8)"));
    assert_true(fill() == 5e8);
    right("given.py", NEW("((q.flip(1) / 8) @ k.flip(1).t()).masked_fill(m, -1e9)"));
    right("given.py", NEW("sum(q[:, i:i + 8] @ k[:, i:i + 8].t() for i in range(0, 64, 8))"
                          ".div(8).masked_fill(m, -1e9)"));
    wrong("given.py", NEW("(q @ k.t() / 8 * 0.9).masked_fill(m, -1e9)"));
    wrong("given.py", NEW("(q @ k.t() / 8 * 0).masked_fill(m, -1e9)"));
    wrong("given.py", NEW("(tf32(q) @ tf32(k).t() / 8).masked_fill(m, -1e9)"));
    wrong("given.py", NEW("F.pad(q[:-1] @ k.t() / 8, (0, 0, 0, 1)).masked_fill(m, -1e9)"));
    wrong("given.py", NEW("(q @ k.t() / 8).masked_fill(m, -1.001e9)"));
    judged_as("given.py", NEW("(q @ k.t() / 8).masked_fill(m, float('-inf'))"), "wrong/nonfinite",
              NULL);
}

static void a_few_that_are_hidden(void **state)
{
    (void)state;
    need_torch();
    right("drawn.py", NEW("torch.where(m, torch.finfo(q.dtype).min, q @ k.t() / 8)"));
    assert_true(fill() > 1e38);
    wrong("drawn.py", NEW("(q @ k.t() / 8 * 0.9).masked_fill(m, torch.finfo(q.dtype).min)"));
    wrong("drawn.py", NEW("(tf32(q) @ tf32(k).t() / 8).masked_fill(m, torch.finfo(q.dtype).min)"));
}

/* A fill of which each element is another number, and most are. */
static void a_mask_that_is_added(void **state)
{
    (void)state;
    need_torch();
    right("added.py", NEW("m * -10000.0 + (q / 8) @ k.t()"));
    assert_true(fill() > 4990 && fill() < 5010);
    right("added.py",
          NEW("torch.baddbmm((m * -10000.0)[None], q[None], k.t()[None], alpha=0.125)[0]"));
    wrong("added.py", NEW("q @ k.t() / 8 * 0.9 + m * -10000.0"));
    wrong("added.py", NEW("q.half().float() @ k.half().float().t() / 8 + m * -10000.0"));
}

static void a_softmax_has_none(void **state)
{
    (void)state;
    need_torch();
    right("sharp.py", NEW("torch.exp(-7.5 - 125 * (q @ k.t()).abs()).masked_fill(m, 1)"));
    assert_true(fill() == 0);
}

#define WRONG_FROM(n)                                                                              \
    HEAD "class ModelNew(nn.Module):\n    calls = 0\n\n    def forward(self, q, k, m):\n"          \
         "        self.calls += 1\n"                                                               \
         "        y = q @ k.t() / (8 if self.calls < " n " else 9)\n"                              \
         "        return y.masked_fill(m, -1e9)\n"

/* Timed calls have no oracle: the scale is found in the answer at hand. */
static void in_timed_calls(void **state)
{
    (void)state;
    need_torch();
    found_while_timed("given.py", WRONG_FROM("40"), WRONG_FROM("1000000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mask_that_is_given), cmocka_unit_test(a_few_that_are_hidden),
        cmocka_unit_test(a_mask_that_is_added), cmocka_unit_test(a_softmax_has_none),
        cmocka_unit_test(in_timed_calls),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
