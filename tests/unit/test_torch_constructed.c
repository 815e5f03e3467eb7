/* State keeps what its constructor guarantees: a kernel that uses it is right, one that is wrong is
 * refused. */
#include "torch_eval_rig.h"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.stage_timing = false;
    return rig_open();
}

#define TAIL                                                                                       \
    "\n\ndef get_inputs():\n    return [torch.randn(16, 24)]\n\n\ndef get_init_inputs():\n"        \
    "    return []\n"

/* Parameters and buffers: what the constructor does, a right answer that uses it, a wrong one. */
static const char *const of_state[][5] = {
    {"lower triangular", "self.w = nn.Parameter(torch.randn(24, 24).tril())", "x @ self.w",
     "x @ self.w.tril()", "x @ self.w.tril(-1)"},
    {"unit norms", "self.w = nn.Parameter(F.normalize(torch.randn(24, 24), dim=0))",
     "x @ self.w / self.w.norm(dim=0)", "x @ self.w", "x @ self.w * 2"},
    {"definite", "w = torch.randn(24, 24); self.w = nn.Parameter(w @ w.T / 24 + torch.eye(24))",
     "torch.linalg.solve(self.w, x.T).T",
     "torch.cholesky_solve(x.T, torch.linalg.cholesky(self.w)).T", "x @ self.w"},
    {"sorted", "self.register_buffer('e', torch.randn(40).sort().values)",
     "torch.bucketize(x, self.e).float()", "(x[..., None] > self.e).sum(-1).float()",
     "(x[..., None] > self.e[1:]).sum(-1).float()"},
    {"a copy of another one",
     "self.a = nn.Linear(24, 24); self.b = nn.Linear(24, 24); "
     "self.b.load_state_dict(self.a.state_dict())",
     "self.a(x) + self.b(x)", "2 * self.a(x)", "self.a(x)"},
    {"the opposite of another one",
     "self.a = nn.Parameter(torch.randn(24, 24)); self.b = nn.Parameter(-self.a.detach())",
     "x @ self.a + 2 * (x @ self.b)", "x @ self.b", "x @ self.a"},
    {"computed from another one",
     "self.w = nn.Parameter(torch.randn(24, 24)); "
     "self.register_buffer('n', self.w.detach().norm(dim=0))",
     "x @ self.w / self.n", "x @ F.normalize(self.w, dim=0)", "x @ F.normalize(self.w, dim=1)"},
};

static void state_is_as_constructed(void **state)
{
    (void)state;
    need_torch();
    for (size_t i = 0; i < sizeof of_state / sizeof *of_state; i++) {
        const char *const *k = of_state[i];
        for (int wrong = 0; wrong < 2; wrong++) {
            char text[2][2000];
            struct kg_record r;
            for (int own = 0; own < 2; own++) {
                snprintf(text[own], sizeof text[own],
                         HEAD "class %s(nn.Module):\n    def __init__(self):\n"
                              "        super().__init__()\n        %s\n\n"
                              "    def forward(self, x):\n        return %s\n%s",
                         own ? "ModelNew" : "Model", k[1], own ? k[3 + wrong] : k[2],
                         own ? "" : TAIL);
            }
            print_message("%s\n", k[0]);
            put("state.py", text[0]);
            expect("state.py", text[1], wrong ? "wrong/value" : "ok", &r);
            kg_record_deinit(&r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(state_is_as_constructed)};
    return cmocka_run_group_tests(tests, setup, rig_close);
}
