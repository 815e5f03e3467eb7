/* Problems whose answers are choices, each with a candidate that chooses otherwise among equals,
 * and some that choose wrong. Everything is static, as in torch_eval_rig.h, which it includes. */
#ifndef KG_TESTS_UNIT_TORCH_CHOICES_RIG_H
#define KG_TESTS_UNIT_TORCH_CHOICES_RIG_H

#include "torch_eval_rig.h"

#define MODEL(n) "class " n "(nn.Module):\n    def forward(self, x):\n"
#define WITH(n, state)                                                                             \
    "class " n "(nn.Module):\n    def __init__(self):\n        super().__init__()\n" state         \
    "\n    def forward(self, x):\n"
#define GIVEN(x)                                                                                   \
    "\n\ndef get_inputs():\n    return [" x "]\n\n\ndef get_init_inputs():\n    return []\n"

#define LAST                                                                                       \
    "        j = torch.arange(x.shape[-1]).expand(x.shape)\n"                                      \
    "        return torch.where(x == x.amax(-1, keepdim=True), j, -1).amax(-1)\n"
#define CODES  "        self.c = nn.Parameter(torch.randn(200, 16))\n"
#define ROUTES "        self.g = nn.Parameter(torch.randn(32, 8))\n"
#define BOTH   "        self.e = nn.Parameter(torch.randn(8, 32, 32) / 6)\n"
#define SUMS   "        l = (x[:, :, None] * self.g).sum(1)\n"
#define MIXED                                                                                      \
    "        y = torch.einsum('nd,edf->nef', x, self.e)\n"                                         \
    "        y = y.gather(1, i[..., None].expand(-1, -1, 32))\n"                                   \
    "        return (torch.softmax(v, -1)[..., None] * y).sum(1)\n"
#define COUNT   "        s = x.sort(-1)[0]\n        n = 1 + (s[:, 1:] != s[:, :-1]).sum(-1)\n"
#define SORT    "        v, i = torch.sort(x, -1)\n"
#define POOL(x) "        v, i = F.max_pool2d(" x ", 3, stride=2, padding=1, return_indices=True)\n"

#define CLOSE "        self.c = nn.Parameter(torch.empty(256, 32).uniform_(-1 / 256, 1 / 256))\n"
#define EXPANDED                                                                                   \
    "        n = (x * x).sum(-1, keepdim=True) + (self.c * self.c).sum(-1)\n"                      \
    "        d = n - 2 * x @ self.c.t()\n"
#define DIRECT "        d = ((x[:, None] - self.c) ** 2).sum(-1)\n"
#define MOST                                                                                       \
    "        n = (x[:, :, None] == x[:, None]).sum(-1)\n"                                          \
    "        m = torch.where(n == n.amax(-1, keepdim=True), x, 1e9).amin(-1)\n"                    \
    "        j = torch.arange(60).expand(x.shape)\n"
#define HITS                                                                                       \
    "        self.register_buffer('hits', torch.zeros(8))\n"                                       \
    "        self.register_buffer('mean', torch.zeros(8))\n"
#define HIT   "        self.hits.index_add_(0, i, torch.ones_like(i, dtype=x.dtype))\n"
#define DRIFT "        self.mean.lerp_(x.mean(0), 0.1)\n"
#define FOUND "        return x.gather(-1, i[:, None])\n"
#define USED  CLOSE "        self.register_buffer('used', torch.rand(256))\n"
#define USE   "        self.used.lerp_(F.one_hot(i, 256).sum(0).to(x.dtype), 0.1)\n"
#define MOVED                                                                                      \
    "        self.register_buffer('c', torch.empty(256, 32).uniform_(-1 / 256, 1 / 256))\n"        \
    "        self.register_buffer('sizes', torch.rand(256) + 1)\n"                                 \
    "        self.register_buffer('sums', torch.randn(256, 32) / 256)\n"
#define CHOSEN "        o = F.one_hot(d.argmin(-1), 256).to(x.dtype)\n        y = o @ self.c\n"
#define MOVE                                                                                       \
    "        self.sizes.lerp_(o.sum(0), 0.1)\n        self.sums.lerp_(o.t() @ x, 0.1)\n"           \
    "        self.c.copy_(self.sums / self.sizes[:, None])\n"
#define COUNTS                                                                                     \
    HEAD WITH("Model", HITS) "        i = x.argmax(-1)\n" HIT DRIFT FOUND GIVEN(                   \
        "torch.randint(0, 3, (512, 8)).float()")
#define WRONG 4
#define SCALE "        s = x.abs().amax(-1, keepdim=True) / 127\n"

static const struct {
    const char *name, *problem, *honest, *wrong[WRONG];
} choices[] = {
    {"topk",
     HEAD MODEL("Model") "        return torch.topk(x, 4)\n" GIVEN("torch.randn(16, 200)"),
     HEAD MODEL("ModelNew") "        v, i = torch.sort(x, descending=True, stable=True)\n"
                            "        return v[:, :4].contiguous(), i[:, :4].contiguous()\n",
     {HEAD MODEL("ModelNew") "        v, i = torch.topk(x, 5)\n        return v[:, :4], i[:, 1:]\n",
      HEAD MODEL("ModelNew") "        v, i = torch.topk(x, 4)\n        i[3, 1] = i[3, 0]\n"
                             "        return v, i\n"}},
    {"sort",
     HEAD MODEL("Model") "        return torch.sort(x, -1)\n" GIVEN("torch.randn(32, 100)"),
     HEAD MODEL("ModelNew") "        v, i = torch.sort(x.flip(-1), dim=-1, stable=True)\n"
                            "        return v, 99 - i\n",
     {HEAD MODEL("ModelNew") SORT
      "        i[5, 50:52] = i[5, 50:52].flip(0)\n        return v, i\n",
      HEAD MODEL("ModelNew") SORT "        return v, (i + 1) % 100\n",
      HEAD MODEL("ModelNew") SORT /* wrong where values are equal only */
      "        i[:, 1:] = torch.where(v[:, 1:] == v[:, :-1], i[:, :-1], i[:, 1:])\n"
      "        return v, i\n"}},
    {"argmax of integers",
     HEAD MODEL("Model") "        return torch.argmax(x, -1)\n" GIVEN(
         "torch.randint(0, 10, (64, 300)).float()"),
     HEAD MODEL("ModelNew") LAST,
     {HEAD MODEL("ModelNew") "        i = torch.argmax(x, -1)\n"
                             "        i[7] = torch.argmin(x[7])\n        return i\n",
      HEAD MODEL("ModelNew") "        return torch.where(x < 9, x, -1.0).argmax(-1)\n"}},
    {"max",
     HEAD MODEL("Model") "        v, i = torch.max(x, 1)\n        return v, i\n" GIVEN(
         "torch.randn(16, 40, 12)"),
     HEAD MODEL("ModelNew") "        v, i = torch.max(x.flip(1), 1)\n        return v, 39 - i\n",
     {HEAD MODEL(
         "ModelNew") "        v, i = torch.max(x, 1)\n        i[3, 3] = (i[3, 3] + 1) % 40\n"
                     "        return v, i\n"}},
    {"pooling",
     HEAD MODEL("Model") POOL("x") "        return v, i\n" GIVEN("torch.randn(4, 3, 17, 17)"),
     HEAD MODEL("ModelNew")
         POOL("x.flip(-1, -2)") "        return v.flip(-1, -2), (288 - i).flip(-1, -2)\n",
     {HEAD MODEL("ModelNew") POOL("x") "        i[1, 1, 2, 2] += 1\n        return v, i\n"}},
    {"nearest code",
     HEAD WITH("Model", CODES) "        return torch.cdist(x, self.c).argmin(-1)\n" GIVEN(
         "torch.randn(1024, 16)"),
     HEAD WITH("ModelNew",
               CODES) "        return ((x[:, None] - self.c) ** 2).sum(-1).argmin(-1)\n",
     {HEAD WITH("ModelNew",
                CODES) "        return torch.cdist(x, self.c).topk(2, largest=False)[1][:, 1]\n",
      HEAD WITH("ModelNew", CODES) "        i = torch.cdist(x, self.c).argmin(-1)\n"
                                   "        i[17] = (i[17] + 1) % 200\n        return i\n"}},
    {"experts",
     HEAD WITH("Model", ROUTES BOTH) "        v, i = (x @ self.g).topk(2)\n" MIXED GIVEN(
         "torch.randn(512, 32)"),
     HEAD WITH("ModelNew", ROUTES BOTH) SUMS "        v, i = l.topk(2)\n" MIXED,
     {HEAD WITH("ModelNew", ROUTES BOTH) SUMS "        v, i = l.topk(3)\n"
                                              "        v, i = v[:, ::2], i[:, ::2]\n" MIXED}},
    {"routes",
     HEAD WITH("Model",
               ROUTES) "        v, i = (x @ self.g).topk(2)\n"
                       "        return torch.softmax(v, -1), i\n" GIVEN("torch.randn(1024, 32)"),
     HEAD WITH("ModelNew", ROUTES) SUMS "        v, i = l.topk(2)\n"
                                        "        return torch.softmax(v, -1), i\n",
     {HEAD WITH("ModelNew", ROUTES) SUMS "        v, i = l.topk(2)\n        i[4, 1] = i[4, 0]\n"
                                         "        return torch.softmax(v, -1), i\n"}},
    {"different numbers",
     HEAD MODEL("Model") COUNT "        return n\n" GIVEN("torch.randint(0, 40, (16, 64)).float()"),
     HEAD MODEL("ModelNew") "        e = (x[:, :, None] == x[:, None]).tril(-1)\n"
                            "        return (~e.any(-1)).sum(-1)\n",
     {HEAD MODEL("ModelNew") COUNT "        n[3] += 1\n        return n\n",
      HEAD MODEL("ModelNew") COUNT "        n[3] = 64\n        return n\n"}},
    {"codes that lie close",
     HEAD WITH("Model", CLOSE) EXPANDED
     "        i = d.argmin(-1)\n        return self.c[i], i\n" GIVEN("torch.randn(1024, 32)"),
     HEAD WITH("ModelNew", CLOSE) DIRECT "        i = d.argmin(-1)\n        return self.c[i], i\n",
     {HEAD WITH("ModelNew", CLOSE) EXPANDED
      "        i = d.topk(2, largest=False)[1][:, 1]\n        return self.c[i], i\n",
      HEAD WITH("ModelNew", CLOSE) EXPANDED
      "        i = d[:, :240].argmin(-1)\n        return self.c[i], i\n",
      HEAD WITH("ModelNew", CLOSE) EXPANDED "        i = d.argmin(-1)\n        i[17] = (i[17] + 1) "
                                            "% 256\n        return self.c[i], i\n"}},
    {"codes alone",
     HEAD WITH("Model", CLOSE) EXPANDED
     "        return self.c[d.argmin(-1)]\n" GIVEN("torch.randn(1024, 32)"),
     HEAD WITH("ModelNew", CLOSE) DIRECT "        return self.c[d.argmin(-1)]\n",
     {HEAD WITH("ModelNew", CLOSE) EXPANDED
      "        return self.c[d.topk(2, largest=False)[1][:, 1]]\n"}},
    {"counts of the largest",
     COUNTS,
     HEAD WITH("ModelNew", HITS) "        i = 7 - x.flip(-1).argmax(-1)\n" HIT DRIFT FOUND,
     {HEAD WITH("ModelNew", HITS) "        i = x.argmax(-1)\n" HIT FOUND,
      /* not counted at all: so far off, too, as another choice among equals leaves the counts */
      HEAD WITH("ModelNew", HITS) "        i = x.argmax(-1)\n" DRIFT FOUND,
      /* the counts are those of another choice, and are further off than what is wrong */
      HEAD WITH("ModelNew", HITS) "        i = 7 - x.flip(-1).argmax(-1)\n" HIT DRIFT
                                  "        self.mean[3] += 1\n" FOUND,
      HEAD WITH("ModelNew", HITS) "        i = 7 - x.flip(-1).argmax(-1)\n" HIT DRIFT
                                  "        self.mean[3] = float('nan')\n" FOUND}},
    {"counts of codes",
     HEAD WITH("Model", USED) EXPANDED "        i = d.argmin(-1)\n" USE
                                       "        return self.c[i]\n" GIVEN("torch.randn(1024, 32)"),
     HEAD WITH("ModelNew", USED) DIRECT "        i = d.argmin(-1)\n" USE
                                        "        return self.c[i]\n",
     {HEAD WITH("ModelNew", USED) EXPANDED "        return self.c[d.argmin(-1)]\n",
      HEAD WITH("ModelNew", USED) EXPANDED "        i = d.argmin(-1)\n" USE
                                           "        i = d.argmin(-1)\n" USE
                                           "        return self.c[i]\n"}},
    {"codes that calls move",
     HEAD WITH("Model", MOVED) EXPANDED CHOSEN MOVE
     "        return y\n" GIVEN("torch.randn(1024, 32)"),
     HEAD WITH("ModelNew", MOVED) DIRECT CHOSEN MOVE "        return y\n",
     {HEAD WITH("ModelNew", MOVED) DIRECT CHOSEN MOVE
      "        self.sums[3, 3] += 1\n        return y\n",
      HEAD WITH("ModelNew", MOVED) DIRECT CHOSEN "        old = self.c.clone()\n" MOVE
                                                 "        self.c.copy_(old)\n        return y\n"}},
    {"rows in the order of a key",
     HEAD MODEL("Model") "        return x[torch.sort(x[:, 0], descending=True)[1]]\n" GIVEN(
         "torch.randn(256, 8)"),
     HEAD MODEL("ModelNew") "        o = torch.sort(x[:, 0], descending=True, stable=True)[1]\n"
                            "        return x[o]\n",
     {HEAD MODEL("ModelNew") "        o = torch.sort(x[:, 1], descending=True)[1]\n"
                             "        return x[o]\n",
      HEAD MODEL("ModelNew") "        y = x[torch.sort(x[:, 0], descending=True)[1]]\n"
                             "        y[3] = y[200]\n        return y\n"}},
    {"mode",
     HEAD MODEL("Model") "        return torch.mode(x, -1)\n" GIVEN(
         "torch.randint(0, 20, (32, 60)).float()"),
     HEAD MODEL("ModelNew") MOST "        return m, torch.where(x == m[:, None], j, 60).amin(-1)\n",
     {HEAD MODEL("ModelNew") "        v, i = torch.mode(x, -1)\n        return v, (i + 1) % 60\n"}},
    {"adaptive pooling",
     HEAD MODEL("Model") "        return F.adaptive_max_pool2d(F.relu(x), 4, "
                         "return_indices=True)\n" GIVEN("torch.randn(4, 8, 16, 16)"),
     HEAD MODEL("ModelNew") "        y = F.relu(x).flip(-1, -2)\n"
                            "        v, i = F.adaptive_max_pool2d(y, 4, return_indices=True)\n"
                            "        return v.flip(-1, -2), (255 - i).flip(-1, -2)\n",
     {HEAD MODEL("ModelNew") "        v, i = F.adaptive_max_pool2d(x, 4, return_indices=True)\n"
                             "        return F.relu(v), i.flip(0)\n"}},
    {"inverse",
     HEAD MODEL("Model") "        return torch.unique(x, return_inverse=True)[1]\n" GIVEN(
         "torch.randint(0, 50, (64, 64)).float()"),
     HEAD MODEL("ModelNew") "        return (x[..., None] > torch.unique(x)).sum(-1)\n",
     {HEAD MODEL("ModelNew") "        i = torch.unique(x, return_inverse=True)[1]\n"
                             "        i[3, 3] += 1\n        return i\n"}},
    {"steps",
     HEAD MODEL("Model") SCALE
     "        return torch.round(x / s).to(torch.int8), s\n" GIVEN("torch.randn(128, 128)"),
     HEAD MODEL("ModelNew") SCALE "        return torch.round(x * (1 / s)).to(torch.int8), s\n",
     {HEAD MODEL("ModelNew") SCALE "        return torch.floor(x / s).to(torch.int8), s\n"}},
};

static void judged(const char *name, const char *candidate, enum kg_stage stop, bool right)
{
    struct kg_record r;
    judge("choice.py", candidate, stop, &r);
    if (r.has_error || (r.verdict == KG_V_OK) != right || (!right && r.verdict != KG_V_WRONG)) {
        fail_msg("%s: %s, %s\n%s", name, kg_verdict_name(r.verdict),
                 r.has_error ? r.error.message
                 : r.message ? r.message
                             : "",
                 candidate);
    }
    kg_record_deinit(&r);
}

/* Each kind: the honest one so many times, and the wrong ones. */
static void each_kind(int times)
{
    for (size_t k = 0; k < sizeof choices / sizeof *choices; k++) {
        put("choice.py", choices[k].problem);
        for (int again = 0; again < times; again++) {
            judged(choices[k].name, choices[k].honest, KG_ST_FULL, true);
        }
        for (int again = 0; again < times; again += 3) {
            for (int i = 0; i < WRONG && choices[k].wrong[i] != NULL; i++) {
                judged(choices[k].name, choices[k].wrong[i], KG_ST_FULL, false);
            }
        }
    }
}

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.laws = KG_TL_COUNT; /* all of them */
    return rig_open();
}

#endif
