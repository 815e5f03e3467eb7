/* State of PyTorch candidates on the CPU: which tensors of theirs the reference's parameters and
 * buffers go into, what they may have besides, and what a call leaves. Skipped where Python lacks
 * torch. */
#include "torch_eval_rig.h"

/* Two parameters, whose values differ whatever the constructor makes of them. */
static const char norm[] = HEAD "rows = 16\ncols = 24\n\n\n"
                                "class Model(nn.Module):\n    def __init__(self, cols):\n"
                                "        super().__init__()\n"
                                "        self.norm = nn.LayerNorm(cols)\n\n"
                                "    def forward(self, x):\n        return self.norm(x)\n\n\n"
                                "def get_inputs():\n    return [torch.randn(rows, cols)]\n\n\n"
                                "def get_init_inputs():\n    return [cols]\n";

/* No state of its own. */
static const char twice[] = HEAD "rows = 16\n\n\n"
                                 "class Model(nn.Module):\n    def forward(self, x):\n"
                                 "        return 2 * x\n\n\n"
                                 "def get_inputs():\n    return [torch.randn(rows, 24)]\n\n\n"
                                 "def get_init_inputs():\n    return []\n";

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = 0;
    if (rig_open() != 0) {
        return -1;
    }
    put("norm.py", norm);
    put("twice.py", twice);
    return 0;
}

#define NORM                                                                                       \
    "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"      \
    "        self.norm = nn.LayerNorm(cols)\n"
#define RUNNING                                                                                    \
    "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"      \
    "        self.norm = nn.BatchNorm1d(cols)\n"

static const struct {
    const char *name, *problem, *text, *want;
} samples[] = {
    {"a buffer besides", "norm.py",
     NORM "        self.register_buffer('space', torch.zeros(3))\n\n"
          "    def forward(self, x):\n        return self.norm(x)\n",
     "ok"},
    {"a buffer before the others, of their shape", "norm.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
     "        self.register_buffer('space', torch.zeros(cols))\n"
     "        self.norm = nn.LayerNorm(cols)\n\n"
     "    def forward(self, x):\n        return self.norm(x) + self.space\n",
     "ok"},
    {"a buffer besides, for a problem without state", "twice.py",
     "class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
     "        self.register_buffer('by', torch.tensor(2.0))\n\n"
     "    def forward(self, x):\n        return self.by * x\n",
     "ok"},
    {"a buffer besides, and the statistics are updated", "running.py",
     RUNNING "        self.register_buffer('calls', torch.zeros(5))\n\n"
             "    def forward(self, x):\n        self.calls += 1\n        return self.norm(x)\n",
     "ok"},
    {"other names, a buffer besides, by method", "running.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
     "        self.register_buffer('calls', torch.zeros(5))\n"
     "        self.norm = nn.BatchNorm1d(cols)\n"
     "        self.norm.weight.data = torch.zeros(1, cols)\n\n"
     "    def load_reference_state(self, state):\n"
     "        self.norm.weight.data = torch.zeros(state['norm.weight'].shape)\n"
     "        self.norm.load_state_dict({k[5:]: v for k, v in state.items()})\n\n"
     "    def forward(self, x):\n        self.calls += 1\n        return self.norm(x)\n",
     "ok"},
    {"a buffer besides, and the statistics stay", "running.py",
     RUNNING "        self.register_buffer('calls', torch.zeros(5))\n\n"
             "    def forward(self, x):\n        n = self.norm\n"
             "        return F.batch_norm(x, None, None, n.weight, n.bias, True)\n",
     "wrong/state"},
    {"a parameter less", "norm.py",
     NORM "        del self.norm._parameters['bias']\n        self.norm.bias = 0\n\n"
          "    def forward(self, x):\n        n = self.norm\n"
          "        return F.layer_norm(x, x.shape[-1:], n.weight) + n.bias\n",
     "wrong/params"},
    {"none of two", "norm.py",
     "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"
     "        self.register_buffer('space', torch.zeros(3))\n\n"
     "    def forward(self, x):\n        return F.layer_norm(x, x.shape[-1:])\n",
     "wrong/params"},
    {"by name, but of another shape", "norm.py",
     NORM "        self.norm.bias.data = torch.zeros(1)\n\n"
          "    def forward(self, x):\n        return self.norm(x)\n",
     "wrong/params"},
    {"an answer kept in a buffer besides", "norm.py",
     NORM "        self.register_buffer('kept', torch.zeros(16, cols))\n"
          "        self.register_buffer('there', torch.zeros(1))\n\n"
          "    def forward(self, x):\n        if not self.there:\n"
          "            self.kept.copy_(self.norm(x))\n            self.there += 1\n"
          "        return self.kept.clone()\n",
     "hack/replay"},
    {"parameters kept in a buffer besides", "norm.py",
     NORM "        self.register_buffer('kept', torch.zeros(2, cols))\n\n"
          "    def forward(self, x):\n        n = self.norm\n        if not self.kept.any():\n"
          "            self.kept.copy_(torch.stack([n.weight, n.bias]))\n"
          "        return F.layer_norm(x, x.shape[-1:], self.kept[0], self.kept[1])\n",
     "wrong/nondeterministic"},
};

static void outcomes(void **state)
{
    (void)state;
    int bad = 0;
    need_torch();
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct kg_record r;
        char text[2048], got[100];
        snprintf(text, sizeof text, "%s%s", HEAD, samples[i].text);
        judge(samples[i].problem, text, KG_ST_FULL, &r);
        seen(&r, got, sizeof got);
        if (strcmp(got, samples[i].want) != 0) {
            print_error("%s: %s, not %s (%s)\n", samples[i].name, got, samples[i].want,
                        r.has_error ? r.error.message : r.message);
            bad++;
        }
        kg_record_deinit(&r);
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
