/* Inputs and answers of PyTorch problems that are put together of more than tensors, on the CPU:
 * what is no tensor must be the same in every draw, because a candidate is called with one value of
 * it. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <signal.h>

#include "gym/eval/onboard.h"

#define PROBLEM(args, answer, inputs)                                                              \
    HEAD "import random\n\n\nclass Model(nn.Module):\n    def forward(self, " args "):\n"          \
         "        return " answer "\n\n\n"                                                         \
         "def get_inputs():\n    return " inputs "\n\n\n"                                          \
         "def get_init_inputs():\n    return []\n"
#define CANDIDATE(args, answer)                                                                    \
    HEAD "class ModelNew(nn.Module):\n    def forward(self, " args "):\n        return " answer "\n"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = 2;
    return rig_open();
}

/* What becomes of a candidate; a part of the message, or NULL. */
static void outcome(const char *problem, const char *candidate, const char *want, const char *why)
{
    struct kg_record r;
    char got[100];
    put("inputs.py", problem);
    judge("inputs.py", candidate, KG_ST_FULL, &r);
    seen(&r, got, sizeof got);
    const char *message = r.has_error ? r.error.message : r.message;
    if (strcmp(got, want) != 0 || (why && strstr(message, why) == NULL)) {
        fail_msg("%s, not %s (%s)", got, want, message);
    }
    kg_record_deinit(&r);
}

static void what_does_not_change(void **state)
{
    (void)state;
    need_torch();
    static const char problem[] =
        PROBLEM("x, by, more, how=None", "x * by + more['plus'][0] * more['t']",
                "[torch.randn(6, 8), 3, {'plus': [0.1, float('inf')], 't': torch.rand(8)}, 'a']");
    outcome(problem, CANDIDATE("x, by, more, how", "x * by + more['t'] * more['plus'][0]"), "ok",
            NULL);
    outcome(problem, CANDIDATE("x, by, more, how", "x * 2 + more['t'] * more['plus'][0]"),
            "wrong/value", NULL);
}

/* An error of the problem's that says which, and no verdict on an honest candidate. */
static void what_changes(void **state)
{
    (void)state;
    static const char candidate[] = CANDIDATE("x, *more", "x * more[0]");
    need_torch();
    outcome(PROBLEM("x, by", "x * by", "[torch.randn(6, 8), random.randint(2, 1 << 40)]"),
            candidate, "error/problem", "input 1 changes from draw to draw");
    outcome(PROBLEM("x, by", "x * by", "[torch.randn(6, 8), torch.rand(1).item()]"), candidate,
            "error/problem", "input 1 changes from draw to draw");
    outcome(PROBLEM("x, by", "x * by[1]['v']",
                    "[torch.randn(6, 8), (1, {'v': random.random(), 'w': 2})]"),
            candidate, "error/problem", "input 1.1.v changes from draw to draw");
    outcome(PROBLEM("x, *more", "2 * x", "[torch.randn(6, 8)] * (1 + random.randrange(1 << 10))"),
            candidate, "error/problem", "the number of inputs changes from draw to draw");
}

/* Two draws may be alike; a later one tells. */
static void what_changes_now_and_then(void **state)
{
    (void)state;
    need_torch();
    static const char problem[] =
        HEAD "draws = 0\n\n\nclass Model(nn.Module):\n    def forward(self, x, by):\n"
             "        return x * by\n\n\n"
             "def get_inputs():\n    global draws\n    draws += 1\n"
             "    return [torch.randn(6, 8), 2 + (draws > 3)]\n\n\n"
             "def get_init_inputs():\n    return []\n";
    outcome(problem, CANDIDATE("x, by", "x * by"), "error/problem",
            "input 1 changes from draw to draw");
}

/* A reference that was started again goes by the description, not by its own first draw. */
static void what_changes_from_process_to_process(void **state)
{
    (void)state;
    need_torch();
    static const char problem[] =
        HEAD "born = time.time_ns()\n\n\nclass Model(nn.Module):\n"
             "    def forward(self, x, by):\n        return x * (by % 97)\n\n\n"
             "def get_inputs():\n    return [torch.randn(6, 8), born]\n\n\n"
             "def get_init_inputs():\n    return []\n";
    static const char candidate[] = CANDIDATE("x, by", "x * (by % 97)");
    struct kg_tinstance *s = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
    outcome(problem, candidate, "ok", NULL);
    kill(s->ref.runner.sandbox.pid, SIGKILL);
    s->cases[KG_TL_NEW].ready = false;
    outcome(problem, candidate, "error/problem", "input 1 changes from draw to draw");
}

/* Answers that are tuples with names, of Python's kind and of torch's. */
#define NAMED                                                                                      \
    HEAD "from collections import namedtuple\n\nPair = namedtuple('Pair', 'low high')\n\n\n"       \
         "class %s(nn.Module):\n    def forward(self, x):\n        return %s\n"
#define NAMED_INPUTS                                                                               \
    "\n\ndef get_inputs():\n    return [torch.randn(6, 8)]\n\n\n"                                  \
    "def get_init_inputs():\n    return []\n"

static void named_answers(void **state)
{
    (void)state;
    static const char *const answers[][3] = {
        {"Pair(x.amin(1), (x.amax(1), {'k': Pair(x.sum(1), x.mean(1))}))",
         "(x.amin(1), (x.amax(1), {'k': [x.sum(1), x.sum(1) / 8]}))",
         "Pair(x.amin(1), (x.amax(1), {'k': Pair(x.mean(1), x.sum(1))}))"},
        {"x.max(dim=1)", "(x.amax(1), x.argmax(1))", "x.min(dim=1)"},
    };
    need_torch();
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char problem[1024], candidate[1024], path[512];
        struct kg_onboard o;
        struct kg_err err = KG_ERR_INIT;
        snprintf(problem, sizeof problem, NAMED NAMED_INPUTS, "Model", answers[i][0]);
        for (int k = 0; k < 3; k++) {
            snprintf(candidate, sizeof candidate, NAMED, "ModelNew", answers[i][k]);
            outcome(problem, candidate, k < 2 ? "ok" : "wrong/value", NULL);
        }
        snprintf(path, sizeof path, "%s/inputs.py", folder);
        assert_int_equal(kg_onboard(worker, path, &o, &err), KG_OK);
        for (int k = 0; k < o.n; k++) {
            if (!o.check[k].pass) {
                fail_msg("%s: %s: %s", answers[i][0], o.check[k].name, o.check[k].detail);
            }
        }
        kg_onboard_deinit(&o);
    }
}

/* At the same place under the problem's own laws, which the first four calls have; elsewhere under
 * some of the others. */
static void where_inputs_lie(void **state)
{
    (void)state;
    need_torch();
    outcome(PROBLEM("x", "x * 2", "[torch.randn(6, 8)]"),
            HEAD "places = []\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
                 "        places.append(x.data_ptr())\n"
                 "        n, several = len(places), len(set(places)) > 1\n"
                 "        return x * 2 + (several if n == 4 else not several if n == 12 else 0)\n",
            "ok", NULL);
}

/* An input whose structure is kept need not be the first, nor like it. */
static void structure_behind_another_input(void **state)
{
    (void)state;
    static const char candidate[] = CANDIDATE("x, z", "x + z.sort()[0]");
    need_torch();
    config.laws = 3;
    outcome(PROBLEM("x, z", "x + z", "[torch.rand(6, 8), torch.rand(8).sort()[0]]"), candidate,
            "ok", NULL);
    outcome(PROBLEM("x, z", "x + z", "[torch.rand(8, 6).t(), torch.rand(6, 8).sort()[0]]"),
            candidate, "ok", NULL);
    config.laws = 2;
}

/* What the constructor gets. */
#define MADE(name, body)                                                                           \
    HEAD "import collections, enum, random\n\n\nclass " name "(nn.Module):\n"                      \
         "    def __init__(self, k):\n        super().__init__()\n        self.k = k\n\n"          \
         "    def forward(self, x):\n        return " body "\n"
#define MADE_OF(k)                                                                                 \
    "\n\ndef get_inputs():\n    return [torch.randn(6, 8)]\n\n\n"                                  \
    "def get_init_inputs():\n    return [" k "]\n"

/* Both sides get the same numbers, drawn once. */
static void arguments_that_are_drawn(void **state)
{
    (void)state;
    need_torch();
    outcome(MADE("Model", "x * self.k") MADE_OF("torch.randn(8)"), MADE("ModelNew", "x * self.k"),
            "ok", NULL);
    outcome(MADE("Model", "x * self.k") MADE_OF("random.randint(2, 1 << 20)"),
            MADE("ModelNew", "x * self.k"), "ok", NULL);
    outcome(MADE("Model", "x * self.k") MADE_OF("torch.randn(8)"),
            MADE("ModelNew", "x * torch.randn(8)"), "wrong/value", NULL);
}

/* What cannot be passed on is named, and is no fault of a candidate's. */
static void arguments_that_cannot_be_passed(void **state)
{
    (void)state;
    need_torch();
    outcome(MADE("Model", "x * self.k[:8, 0]") MADE_OF("torch.eye(128)"),
            MADE("ModelNew", "x * self.k[:8, 0]"), "error/problem",
            "a tensor of 16384 elements among the constructor's arguments (at most 4096)");
    outcome(MADE("Model", "x * self.k['a']") MADE_OF("collections.OrderedDict(a=2)"),
            MADE("ModelNew", "x * self.k['a']"), "error/problem",
            "an argument of type OrderedDict");
    outcome(MADE("Model", "x if self.k == self.k.__class__(2) else -x")
                MADE_OF("enum.Enum('Mode', 'A B')(2)"),
            MADE("ModelNew", "x"), "error/problem", "an argument of type Mode");
    outcome(MADE("Model", "x * self.k") MADE_OF("nn.Parameter(torch.ones(8))"),
            MADE("ModelNew", "x * self.k"), "error/problem", "an argument of type Parameter");
}

/* An assertion on the device ends what a process can do there. A law under which that happens is
 * not asked; the next one has a fresh process. Played here: the reference keeps it in mind. */
static void a_law_that_breaks_the_references_device(void **state)
{
    (void)state;
    need_torch();
    static const char problem[] =
        HEAD "dead = False\n\n\ndef assure():\n    if dead:\n"
             "        raise RuntimeError('CUDA error: device-side assert triggered')\n\n\n"
             "class Model(nn.Module):\n    def forward(self, x, z):\n        global dead\n"
             "        dead = dead or bool((x < 0).any())\n        assure()\n"
             "        return x + z\n\n\n"
             "def get_inputs():\n    assure()\n"
             "    return [torch.rand(6, 8), torch.rand(8).sort()[0]]\n\n\n"
             "def get_init_inputs():\n    return []\n";
    config.laws = 3;
    outcome(problem, CANDIDATE("x, z", "x + z"), "ok", NULL);
    outcome(problem, CANDIDATE("x, z", "x + z.flip(0)"), "wrong/value", NULL);
    config.laws = 2;
}

/* In calls that are not timed a candidate takes its inputs anew, wherever they lie. */
static void each_call_has_its_own(void **state)
{
    (void)state;
    need_torch();
    outcome(PROBLEM("x", "x * 2", "[torch.randn(6, 8)]"),
            HEAD "had = []\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
                 "        assert all(x is not y for y in had)\n        had.append(x)\n"
                 "        return x * 2\n",
            "ok", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_has_its_own),
        cmocka_unit_test(what_does_not_change),
        cmocka_unit_test(what_changes),
        cmocka_unit_test(what_changes_now_and_then),
        cmocka_unit_test(what_changes_from_process_to_process),
        cmocka_unit_test(named_answers),
        cmocka_unit_test(where_inputs_lie),
        cmocka_unit_test(structure_behind_another_input),
        cmocka_unit_test(a_law_that_breaks_the_references_device),
        cmocka_unit_test(arguments_that_are_drawn),
        cmocka_unit_test(arguments_that_cannot_be_passed),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
