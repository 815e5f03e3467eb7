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

/* State that a candidate need not have: without influence, constant, tied, a counter. */
static const char spare[] =
    HEAD "class Model(nn.Module):\n"
         "    def __init__(self, n):\n"
         "        super().__init__()\n"
         "        self.up = nn.Linear(n, n, bias=False)\n"
         "        self.idle = nn.Linear(n, n, bias=False)\n"
         "        self.rnn = nn.GRU(n, n, batch_first=True)\n"
         "        self.fc = nn.Linear(n, 3)\n"
         "        self.down = nn.Linear(n, n, bias=False)\n"
         "        self.down.weight = self.up.weight\n"
         "        self.norm = nn.BatchNorm1d(n)\n"
         "        self.register_buffer('mask', torch.tril(torch.ones(n, n)))\n"
         "        self.register_buffer('grid', torch.linspace(-1, 1, n * n).view(n, n))\n"
         "\n"
         "    def forward(self, x):\n"
         "        out, last = self.rnn(self.up(x))\n"
         "        self.fc(out[:, -1])\n"
         "        y = self.norm(last[0]) @ (self.mask * self.grid)\n"
         "        return self.down(y)\n"
         "\n"
         "\n"
         "def get_inputs():\n"
         "    return [torch.randn(6, 4, 12)]\n"
         "\n"
         "\n"
         "def get_init_inputs():\n"
         "    return [12]\n";

/* A call changes statistics, and other state only serves the answer. */
static const char folds[] =
    HEAD "class Model(nn.Module):\n"
         "    def __init__(self, n):\n"
         "        super().__init__()\n"
         "        self.up = nn.Linear(n, 2 * n, bias=False)\n"
         "        self.scale = nn.Parameter(torch.rand(2 * n, 1) + 0.5)\n"
         "        self.norm = nn.BatchNorm1d(2 * n)\n"
         "\n"
         "    def forward(self, x):\n"
         "        return self.norm(F.linear(x, self.up.weight * self.scale))\n"
         "\n"
         "\n"
         "def get_inputs():\n"
         "    return [torch.randn(64, 12)]\n"
         "\n"
         "\n"
         "def get_init_inputs():\n"
         "    return [12]\n";

/* A call changes a parameter in place, or not: what forward does says so. */
#define MOVES(NAME, FORWARD)                                                                       \
    "class " NAME "(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"         \
    "        self.mean = nn.Parameter(torch.randn(n), requires_grad=False)\n\n"                    \
    "    def forward(self, x):\n" FORWARD
static const char moves[] =
    HEAD MOVES("Model", "        self.mean.mul_(0.9).add_(0.1 * x.mean(0))\n"
                        "        return x - self.mean\n") "\n"
                                                          "\n"
                                                          "def get_inputs():\n"
                                                          "    return [torch.randn(16, 24)]\n"
                                                          "\n"
                                                          "\n"
                                                          "def get_init_inputs():\n"
                                                          "    return [24]\n";

/* A call puts other parameters into the module, as the usual layer of a VQ-VAE does. */
#define CODES(NAME)                                                                                \
    "class " NAME "(nn.Module):\n"                                                                 \
    "    def __init__(self, k, n):\n"                                                              \
    "        super().__init__()\n"                                                                 \
    "        self.codes = nn.Embedding(k, n)\n"                                                    \
    "        self.sums = nn.Parameter(torch.randn(k, n))\n"                                        \
    "        self.register_buffer('sizes', torch.rand(k) + 1)\n"                                   \
    "\n"                                                                                           \
    "    def forward(self, x):\n"                                                                  \
    "        one = F.one_hot(torch.cdist(x, self.codes.weight).argmin(1), len(self.sizes))\n"      \
    "        one = one.to(x.dtype)\n"                                                              \
    "        self.sizes = self.sizes * 0.99 + 0.01 * one.sum(0)\n"                                 \
    "        self.sums = nn.Parameter(self.sums * 0.99 + 0.01 * one.t() @ x)\n"                    \
    "        self.codes.weight = nn.Parameter(self.sums / self.sizes[:, None])\n"                  \
    "        return one @ self.codes.weight\n"
static const char codes[] = HEAD CODES("Model") "\n\n"
                                                "def get_inputs():\n"
                                                "    return [torch.randn(64, 8)]\n"
                                                "\n"
                                                "\n"
                                                "def get_init_inputs():\n"
                                                "    return [16, 8]\n";

/* The first call registers a buffer, which comes before the weights of the parts. */
#define MASKED(NAME, LAST)                                                                         \
    "class " NAME "(nn.Module):\n"                                                                 \
    "    def __init__(self, n):\n"                                                                 \
    "        super().__init__()\n"                                                                 \
    "        self.up = nn.Linear(n, n)\n"                                                          \
    "        self.down = nn.Linear(n, n)\n"                                                        \
    "\n"                                                                                           \
    "    def forward(self, x):\n"                                                                  \
    "        if not hasattr(self, 'mask'):\n"                                                      \
    "            self.register_buffer('mask', torch.linspace(0, 1, x.shape[-1]))\n" LAST
static const char masked[] =
    HEAD MASKED("Model", "        return self.down(self.up(x) * self.mask)\n\n\n"
                         "def get_inputs():\n"
                         "    return [torch.randn(16, 24)]\n"
                         "\n"
                         "\n"
                         "def get_init_inputs():\n"
                         "    return [24]\n");

static const char plain[] = HEAD "class Model(nn.Module):\n"
                                 "    def __init__(self, n):\n"
                                 "        super().__init__()\n"
                                 "        self.by = torch.randn(n)\n"
                                 "        self.plus = nn.Parameter(torch.randn(n))\n"
                                 "\n"
                                 "    def forward(self, x):\n"
                                 "        return x * self.by + self.plus\n"
                                 "\n"
                                 "\n"
                                 "def get_inputs():\n"
                                 "    return [torch.randn(9, 40)]\n"
                                 "\n"
                                 "\n"
                                 "def get_init_inputs():\n"
                                 "    return [40]\n";

static const char writes[] = HEAD "class Model(nn.Module):\n"
                                  "    def forward(self, x, y):\n"
                                  "        return F.relu(x, inplace=True) + y\n"
                                  "\n"
                                  "\n"
                                  "def get_inputs():\n"
                                  "    return [torch.randn(8, 24), torch.randn(8, 24)]\n"
                                  "\n"
                                  "\n"
                                  "def get_init_inputs():\n"
                                  "    return []\n";

static const char positive[] = HEAD "class Model(nn.Module):\n"
                                    "    def forward(self, x, y):\n"
                                    "        return F.relu(x, inplace=True) + y\n"
                                    "\n"
                                    "\n"
                                    "def get_inputs():\n"
                                    "    return [torch.rand(8, 24), torch.randn(8, 24)]\n"
                                    "\n"
                                    "\n"
                                    "def get_init_inputs():\n"
                                    "    return []\n";

/* A call updates the state for about half of the draws. The described one is among them with one of
 * two signs. */
#define PART(update, answer)                                                                       \
    HEAD "class Model(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"       \
         "        self.register_buffer('seen', torch.zeros(n))\n"                                  \
         "        self.register_buffer('times', torch.tensor(0))\n\n"                              \
         "    def forward(self, x):\n" update "        return " answer                             \
         "\n\n\ndef get_inputs():\n    return [torch.randn(8, 24)]\n\n\n"                          \
         "def get_init_inputs():\n    return [24]\n"
#define BRANCH(sign)                                                                               \
    "        if x.mean() " sign " 0:\n            self.seen += x.mean(0)\n"                        \
    "            self.times += 1\n"
#define COUNTS(sign)                                                                               \
    "        if len(x[0][x[0] > 0]) " sign " 12:\n            self.seen += x.mean(0)\n"
#define ADDS(sign) "        self.seen += x.mean(0) * (x.mean() " sign " 0)\n"

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
    put("spare.py", spare);
    put("folds.py", folds);
    put("moves.py", moves);
    put("codes.py", codes);
    put("masked.py", masked);
    put("plain.py", plain);
    put("writes.py", writes);
    put("positive.py", positive);
    put("above.py", PART(BRANCH(">"), "2 * x"));
    put("below.py", PART(BRANCH("<"), "2 * x"));
    put("adds_above.py", PART(ADDS(">"), "2 * x"));
    put("adds_below.py", PART(ADDS("<"), "2 * x"));
    put("counts_above.py", PART(COUNTS(">"), "2 * x"));
    put("counts_below.py", PART(COUNTS("<="), "2 * x"));
    put("says_above.py", PART(BRANCH(">"), "x + self.seen"));
    put("says_below.py", PART(BRANCH("<"), "x + self.seen"));
    return 0;
}

#define NORM                                                                                       \
    "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"      \
    "        self.norm = nn.LayerNorm(cols)\n"
#define RUNNING                                                                                    \
    "class ModelNew(nn.Module):\n    def __init__(self, cols):\n        super().__init__()\n"      \
    "        self.norm = nn.BatchNorm1d(cols)\n"

#define SEEN(update, answer)                                                                       \
    "class ModelNew(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"         \
    "        self.register_buffer('seen', torch.zeros(n))\n\n"                                     \
    "    def forward(self, x):\n" update "        return " answer "\n"

static const struct {
    const char *name, *problem, *text, *want;
} samples[] = {
    {"what some data change, without a counter", "above.py", SEEN(ADDS(">"), "x + x"), "ok"},
    {"what other data change, without a counter", "below.py", SEEN(ADDS("<"), "x + x"), "ok"},
    {"what some data change, and it stays", "above.py", SEEN("", "x + x"), "wrong/state"},
    {"what other data change, and it stays", "below.py", SEEN("", "x + x"), "wrong/state"},
    {"what some data change, by other data", "below.py", SEEN(ADDS(">"), "x + x"), "wrong/state"},
    {"what a shape tells of some data", "counts_above.py", SEEN("", "x + x"), "wrong/state"},
    {"what a shape tells of other data", "counts_below.py", SEEN("", "x + x"), "wrong/state"},
    {"what is written to by all data", "adds_above.py", SEEN(ADDS(">"), "x + x"), "ok"},
    {"the same with the other sign", "adds_below.py", SEEN(ADDS("<"), "x + x"), "ok"},
    {"the same, and it stays", "adds_above.py", SEEN("", "x + x"), "wrong/state"},
    {"the other one, and it stays", "adds_below.py", SEEN("", "x + x"), "wrong/state"},
    {"the answer tells of it", "says_above.py", SEEN(ADDS(">"), "x + self.seen"), "ok"},
    {"the answer tells of the other one", "says_below.py", SEEN(ADDS("<"), "x + self.seen"), "ok"},
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
    {"the statistics stay from the fifth call on", "running.py",
     RUNNING "        self.calls = 0\n\n"
             "    def forward(self, x):\n        n = self.norm\n        self.calls += 1\n"
             "        if self.calls < 5:\n            return n(x)\n"
             "        return F.batch_norm(x, None, None, n.weight, n.bias, True)\n",
     "wrong/state"},
    {"the statistics come when they are read", "running.py",
     RUNNING "        self.x = None\n"
             "        self.register_state_dict_pre_hook(lambda *a: self.late())\n\n"
             "    def late(self):\n        if self.x is not None:\n"
             "            self.norm(self.x)\n            self.x = None\n\n"
             "    def forward(self, x):\n        n, self.x = self.norm, x\n"
             "        return F.batch_norm(x, None, None, n.weight, n.bias, True)\n",
     "wrong/state"},
    {"they come then, of moments taken before", "running.py",
     RUNNING "        self.kept = None\n"
             "        self.register_state_dict_pre_hook(lambda *a: self.late())\n\n"
             "    def late(self):\n        n = self.norm\n        if self.kept is not None:\n"
             "            n.running_mean.lerp_(self.kept[0], n.momentum)\n"
             "            n.running_var.lerp_(self.kept[1], n.momentum)\n"
             "            self.kept = None\n\n"
             "    def forward(self, x):\n        n = self.norm\n"
             "        self.kept = x.mean(0), x.var(0)\n"
             "        return F.batch_norm(x, None, None, n.weight, n.bias, True)\n",
     "ok"},
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
    {"without what does not matter, under other names", "spare.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.a = nn.Linear(n, n, bias=False)\n"
     "        self.r = nn.GRU(n, n, batch_first=True)\n"
     "        self.b = nn.BatchNorm1d(n)\n"
     "        self.b.num_batches_tracked = None\n"
     "        self.m = torch.tril(torch.linspace(-1, 1, n * n).view(n, n))\n"
     "\n"
     "    def forward(self, x):\n"
     "        _, last = self.r(self.a(x))\n"
     "        return F.linear(self.b(last[0]) @ self.m, self.a.weight)\n",
     "ok"},
    {"the same by name", "spare.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.up = nn.Linear(n, n, bias=False)\n"
     "        self.rnn = nn.GRU(n, n, batch_first=True)\n"
     "        self.idle = nn.Linear(n, n, bias=False)\n"
     "        self.norm = nn.BatchNorm1d(n)\n"
     "        self.norm.num_batches_tracked = None\n"
     "        self.m = torch.tril(torch.linspace(-1, 1, n * n).view(n, n))\n"
     "\n"
     "    def forward(self, x):\n"
     "        _, last = self.rnn(self.up(x))\n"
     "        return F.linear(self.norm(last[0]) @ self.m, self.up.weight)\n",
     "ok"},
    {"another grid", "spare.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.a = nn.Linear(n, n, bias=False)\n"
     "        self.r = nn.GRU(n, n, batch_first=True)\n"
     "        self.b = nn.BatchNorm1d(n)\n"
     "        self.b.num_batches_tracked = None\n"
     "        self.m = torch.tril(torch.linspace(-2, 1, n * n).view(n, n))\n"
     "\n"
     "    def forward(self, x):\n"
     "        _, last = self.r(self.a(x))\n"
     "        return F.linear(self.b(last[0]) @ self.m, self.a.weight)\n",
     "wrong/value"},
    {"without the norm's scale", "spare.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.a = nn.Linear(n, n, bias=False)\n"
     "        self.r = nn.GRU(n, n, batch_first=True)\n"
     "        self.b = nn.BatchNorm1d(n, affine=False)\n"
     "        self.b.num_batches_tracked = None\n"
     "        self.m = torch.tril(torch.linspace(-1, 1, n * n).view(n, n))\n"
     "\n"
     "    def forward(self, x):\n"
     "        _, last = self.r(self.a(x))\n"
     "        return F.linear(self.b(last[0]) @ self.m, self.a.weight)\n",
     "wrong/params"},
    {"statistics that stay", "spare.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.a = nn.Linear(n, n, bias=False)\n"
     "        self.r = nn.GRU(n, n, batch_first=True)\n"
     "        self.b = nn.BatchNorm1d(n)\n"
     "        self.b.num_batches_tracked = None\n"
     "        self.m = torch.tril(torch.linspace(-1, 1, n * n).view(n, n))\n"
     "\n"
     "    def forward(self, x):\n"
     "        _, last = self.r(self.a(x))\n"
     "        return F.linear(F.batch_norm(last[0], None, None, self.b.weight, self.b.bias, True) "
     "@ self.m, self.a.weight)\n",
     "wrong/state"},
    {"without statistics", "spare.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.a = nn.Linear(n, n, bias=False)\n"
     "        self.r = nn.GRU(n, n, batch_first=True)\n"
     "        self.b = nn.BatchNorm1d(n, track_running_stats=False)\n"
     "        self.m = torch.tril(torch.linspace(-1, 1, n * n).view(n, n))\n"
     "\n"
     "    def forward(self, x):\n"
     "        _, last = self.r(self.a(x))\n"
     "        return F.linear(self.b(last[0]) @ self.m, self.a.weight)\n",
     "wrong/params"},
    {"a weight folded into another, beside statistics that calls update", "folds.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.up = nn.Linear(n, 2 * n, bias=False)\n"
     "        self.scale = nn.Parameter(torch.rand(2 * n, 1) + 0.5)\n"
     "        self.norm = nn.BatchNorm1d(2 * n)\n"
     "\n"
     "    def prepare(self):\n"
     "        self.up.weight.mul_(self.scale)\n"
     "\n"
     "    def forward(self, x):\n"
     "        return self.norm(self.up(x))\n",
     "ok"},
    {"the same, and the statistics stay", "folds.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.up = nn.Linear(n, 2 * n, bias=False)\n"
     "        self.scale = nn.Parameter(torch.rand(2 * n, 1) + 0.5)\n"
     "        self.norm = nn.BatchNorm1d(2 * n)\n"
     "\n"
     "    def prepare(self):\n"
     "        self.up.weight.mul_(self.scale)\n"
     "\n"
     "    def forward(self, x):\n"
     "        n, y = self.norm, self.up(x)\n"
     "        return F.batch_norm(y, None, None, n.weight, n.bias, True)\n",
     "wrong/state"},
    {"the same, and the statistics are of other values", "folds.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.up = nn.Linear(n, 2 * n, bias=False)\n"
     "        self.scale = nn.Parameter(torch.rand(2 * n, 1) + 0.5)\n"
     "        self.norm = nn.BatchNorm1d(2 * n)\n"
     "\n"
     "    def prepare(self):\n"
     "        self.up.weight.mul_(self.scale)\n"
     "\n"
     "    def forward(self, x):\n"
     "        y = self.norm(self.up(x))\n"
     "        self.norm.running_mean.add_(0.01)\n"
     "        return y\n",
     "wrong/state"},
    {"folded once for all values", "folds.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.up = nn.Linear(n, 2 * n, bias=False)\n"
     "        self.scale = nn.Parameter(torch.rand(2 * n, 1) + 0.5)\n"
     "        self.norm = nn.BatchNorm1d(2 * n)\n"
     "        self.w = None\n"
     "\n"
     "    def forward(self, x):\n"
     "        if self.w is None:\n"
     "            self.w = self.up.weight * self.scale\n"
     "        return self.norm(F.linear(x, self.w))\n",
     "wrong/nondeterministic"},
    {"weights kept in another form, and statistics in another order, by method", "folds.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.register_buffer('w', torch.zeros(n, 2 * n))\n"
     "        self.norm = nn.Module()\n"
     "        for name in ('running_var', 'running_mean', 'weight', 'bias'):\n"
     "            self.norm.register_buffer(name, torch.zeros(2 * n))\n"
     "\n"
     "    def load_reference_state(self, state):\n"
     "        self.w.copy_((state['up.weight'] * state['scale']).t())\n"
     "        for name, t in self.norm.named_buffers():\n"
     "            t.copy_(state['norm.' + name])\n"
     "\n"
     "    def forward(self, x):\n"
     "        n = self.norm\n"
     "        return F.batch_norm(x @ self.w, n.running_mean, n.running_var, n.weight, n.bias, "
     "True)\n",
     "ok"},
    {"the same, and the statistics stay, by method", "folds.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.register_buffer('w', torch.zeros(n, 2 * n))\n"
     "        self.norm = nn.BatchNorm1d(2 * n)\n"
     "\n"
     "    def load_reference_state(self, state):\n"
     "        self.w.copy_((state['up.weight'] * state['scale']).t())\n"
     "        self.norm.load_state_dict({k[5:]: v for k, v in state.items() if k[:5] == 'norm.'})\n"
     "\n"
     "    def forward(self, x):\n"
     "        n = self.norm\n"
     "        return F.batch_norm(x @ self.w, None, None, n.weight, n.bias, True)\n",
     "wrong/state"},
    {"no statistics at all, by method", "folds.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.register_buffer('w', torch.zeros(n, 2 * n))\n"
     "        self.norm = nn.BatchNorm1d(2 * n, track_running_stats=False)\n"
     "\n"
     "    def load_reference_state(self, state):\n"
     "        self.w.copy_((state['up.weight'] * state['scale']).t())\n"
     "        self.norm.weight.copy_(state['norm.weight'])\n"
     "        self.norm.bias.copy_(state['norm.bias'])\n"
     "\n"
     "    def forward(self, x):\n"
     "        return self.norm(x @ self.w)\n",
     "wrong/state"},
    {"a parameter that calls change", "moves.py",
     MOVES("ModelNew", "        return x - self.mean.lerp_(x.mean(0), 0.1)\n"), "ok"},
    {"the same, and it stays", "moves.py",
     MOVES("ModelNew", "        return x - self.mean.lerp(x.mean(0), 0.1)\n"), "wrong/state"},
    {"parameters that a call puts into the module", "codes.py", CODES("ModelNew"), "ok"},
    {"a buffer that the first call registers", "masked.py",
     MASKED("ModelNew", "        return self.down(self.mask * self.up(x))\n"), "ok"},
    {"the same, and it is not used", "masked.py",
     MASKED("ModelNew", "        return self.down(self.up(x))\n"), "wrong/value"},
    {"a plain tensor drawn alike", "plain.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.scale = torch.randn(n)\n"
     "        self.shift = nn.Parameter(torch.zeros(n))\n"
     "\n"
     "    def forward(self, x):\n"
     "        return torch.addcmul(self.shift, x, self.scale)\n",
     "ok"},
    {"a plain tensor drawn later", "plain.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        torch.randn(n)\n"
     "        self.scale = torch.randn(n)\n"
     "        self.shift = nn.Parameter(torch.zeros(n))\n"
     "\n"
     "    def forward(self, x):\n"
     "        return torch.addcmul(self.shift, x, self.scale)\n",
     "wrong/value"},
    {"a plain tensor for a parameter", "plain.py",
     "class ModelNew(nn.Module):\n"
     "    def __init__(self, n):\n"
     "        super().__init__()\n"
     "        self.scale = torch.randn(n)\n"
     "        self.shift = torch.randn(n)\n"
     "\n"
     "    def forward(self, x):\n"
     "        return torch.addcmul(self.shift, x, self.scale)\n",
     "wrong/params"},
    {"an input that the reference writes to stays", "writes.py",
     "class ModelNew(nn.Module):\n"
     "    def forward(self, x, y):\n"
     "        return x.relu() + y\n",
     "ok"},
    {"it is written alike", "writes.py",
     "class ModelNew(nn.Module):\n"
     "    def forward(self, x, y):\n"
     "        return x.relu_() + y\n",
     "ok"},
    {"it is written otherwise", "writes.py",
     "class ModelNew(nn.Module):\n"
     "    def forward(self, x, y):\n"
     "        z = x.relu() + y\n"
     "        x.mul_(3)\n"
     "        return z\n",
     "wrong/input_modified"},
    {"another input is written", "writes.py",
     "class ModelNew(nn.Module):\n"
     "    def forward(self, x, y):\n"
     "        return y.add_(x.relu())\n",
     "wrong/input_modified"},
    {"an input written with its own values", "positive.py",
     "class ModelNew(nn.Module):\n"
     "    def forward(self, x, y):\n"
     "        return x.relu_() + y\n",
     "ok"},
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

/* Both sides' tensors are named, with the remedy. */
static void names_tensors(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    judge("norm.py",
          HEAD NORM "        self.norm.bias = None\n\n"
                    "    def forward(self, x):\n        return self.norm(x)\n",
          KG_ST_FULL, &r);
    assert_false(r.has_error);
    assert_non_null(strstr(r.message, "it needs `norm.bias` [24] float32; the module has "
                                      "`norm.weight` [24]."));
    assert_non_null(strstr(r.message, "load_reference_state"));
    kg_record_deinit(&r);
}

/* A shape that changes from draw to draw is the problem's fault. */
static void shapes_vary(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    put("ragged.py", HEAD "class Model(nn.Module):\n    def forward(self, x):\n"
                          "        return 2 * x\n\n\n"
                          "def get_inputs():\n"
                          "    return [torch.randn(int(torch.randint(1, 9999, ())), 3)]\n\n\n"
                          "def get_init_inputs():\n    return []\n");
    judge("ragged.py",
          HEAD "class ModelNew(nn.Module):\n    def forward(self, x):\n"
               "        return x + x\n",
          KG_ST_FULL, &r);
    assert_true(r.has_error);
    assert_int_equal(r.error.code, KG_E_PROBLEM);
    assert_non_null(strstr(r.error.message, "must be the same in every draw"));
    kg_record_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes),
        cmocka_unit_test(names_tensors),
        cmocka_unit_test(shapes_vary),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
