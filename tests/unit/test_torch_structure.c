/* Inputs keep what get_inputs guarantees: a kernel that uses it is right, one that is wrong is
 * refused, and a range is no guarantee. */
#include "torch_eval_rig.h"

#include "gym/torch/problem/task.h"

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.stage_timing = false;
    return rig_open();
}

#define TAIL "\n\n\ndef get_init_inputs():\n    return []\n"

/* forward: a line of statements for both sides. */
static void ends(const char *args, const char *reference, const char *inputs, const char *candidate,
                 const char *want)
{
    char problem[2000], source[2000];
    struct kg_record r;
    snprintf(problem, sizeof problem,
             HEAD "class Model(nn.Module):\n    def forward(self, %s):\n        return %s\n\n\n"
                  "def get_inputs():\n    %s" TAIL,
             args, reference, inputs);
    snprintf(source, sizeof source,
             HEAD "class ModelNew(nn.Module):\n    def forward(self, %s):\n        return %s\n",
             args, candidate);
    put("kind.py", problem);
    expect("kind.py", source, want, &r);
    kg_record_deinit(&r);
}

/* what: args, reference, inputs, a right answer that uses the guarantee, a wrong one. */
static const char *const kinds[][6] = {
    {"lower triangular", "a, x", "a @ x", "return [torch.randn(24, 24).tril(), torch.randn(24, 8)]",
     "a.tril() @ x", "a.tril(-1) @ x"},
    {"banded", "a, x", "a @ x", "return [torch.randn(24, 24).tril(1).triu(-1), torch.randn(24, 8)]",
     "a.tril(1).triu(-1) @ x", "a.tril(1).triu() @ x"},
    {"diagonal", "a, x", "a @ x", "return [torch.diag(torch.randn(24)), torch.randn(24, 8)]",
     "a.diagonal()[:, None] * x", "a.diagonal()[:, None] + x"},
    {"blocks", "a, x", "a @ x",
     "return [torch.block_diag(torch.randn(8, 8), torch.randn(16, 16)), torch.randn(24, 8)]",
     "torch.cat([a[:8, :8] @ x[:8], a[8:, 8:] @ x[8:]])",
     "torch.cat([a[:8, :8] @ x[:8], a[8:, 8:] @ x[:16]])"},
    {"symmetric", "a, x", "a @ x", "a = torch.randn(24, 24); return [a + a.T, torch.randn(24, 8)]",
     "a.T @ x", "a.triu() @ x"},
    {"definite", "a", "torch.linalg.cholesky(a)",
     "a = torch.randn(16, 16); return [a @ a.T + 16 * torch.eye(16)]",
     "torch.linalg.cholesky(a.tril() + a.tril(-1).T)", "torch.linalg.cholesky(a).triu()"},
    {"sorted", "e, x", "torch.searchsorted(e, x).float()",
     "return [torch.randn(32).sort().values, torch.randn(64)]",
     "(e[None, :] < x[:, None]).sum(1).float()", "(e[None, :] < x[:, None]).sum(1).float() - 1"},
    {"falling", "e", "e.flip(0)", "return [torch.randn(64).sort(descending=True).values]",
     "e.sort().values", "e.sort().values + 1"},
    {"sums", "p, x", "(p * (x + 3)).sum(1)",
     "return [torch.randn(16, 32).softmax(1), torch.randn(16, 32)]", "(p * x).sum(1) + 3",
     "(p * x).sum(1) + 2"},
    {"one-hot rows", "h, x", "h @ x",
     "return [F.one_hot(torch.randint(0, 12, (32,)), 12).float(), torch.randn(12, 8)]",
     "x[h.argmax(1)]", "x[h.argmin(1)]"},
    {"one line of sums", "p, x", "(p * (x + 3)).sum()",
     "return [torch.randn(64).softmax(0), torch.randn(64)]", "(p * x).sum() + 3",
     "(p * x).sum() + 2"},
    {"one line of norms", "q, x", "x / q.norm()",
     "return [F.normalize(torch.randn(1, 32)), torch.randn(16, 32)]", "x * 1", "x * 2"},
    {"infinite", "m, x", "(x + m).softmax(1)",
     "return [torch.full((16, 16), float('-inf')).triu(1), torch.randn(16, 16)]",
     "x.masked_fill(torch.ones(16, 16, dtype=torch.bool).triu(1), float('-inf')).softmax(1)",
     "x.softmax(1)"},
    {"norms", "q, x", "x / q.norm(dim=1, keepdim=True)",
     "return [F.normalize(torch.randn(16, 32)), torch.randn(16, 32)]", "x * 1", "x * 2"},
    {"equal", "a, b", "a @ b.T", "a = torch.randn(24, 32); return [a, a.clone()]", "a @ a.T",
     "a @ a.T * 2"},
    {"ones on the diagonal", "a, x", "a @ x",
     "return [torch.randn(12, 12).tril(-1) + torch.eye(12), torch.randn(12, 8)]",
     "a.tril(-1) @ x + x", "a.tril(-1) @ x"},
    {"a positive diagonal", "a, x", "a.diagonal().abs()[:, None] * (a @ x)",
     "a = torch.randn(24, 24).tril(-1) + torch.rand(24).diag(); return [a, torch.randn(24, 8)]",
     "a.diagonal()[:, None] * (a @ x)", "a.diagonal().abs()[:, None] * (a.tril(-1) @ x)"},
    {"dominant", "a, x", "x[a.abs().argmax(1)]",
     "return [torch.randn(24, 24) + 24 * torch.eye(24), torch.randn(24, 8)]", "x * 1", "x * 2"},
    {"semidefinite", "a", "torch.linalg.eigvalsh(a).abs().sum()",
     "a = torch.randn(32, 4); return [a @ a.T]", "a.trace()", "a.trace() * 2"},
    {"views of one storage", "x, y", "x + y.view(12, 8)",
     "x = torch.randn(12, 8); return [x, x.view(-1)]", "x * 2", "x"},
    {"a part of another", "x, y", "x + y", "x = torch.randn(12, 8); return [x, x[3]]", "x + x[3]",
     "x + x[2]"},
    {"another's transpose", "x, y", "y @ x", "x = torch.randn(12, 8); return [x, x.T]", "x.T @ x",
     "x.T @ x * 2"},
    {"a few zeros", "a, x", "a @ x", "return [torch.randn(3, 3).tril(), torch.randn(3, 4)]",
     "a.tril() @ x", "a.tril(-1) @ x"},
    {"zeros far from the first element", "a, x", "a @ x",
     "a = torch.randn(1200, 1200); a[900:, :200] = 0; return [a, torch.randn(1200, 2)]",
     "torch.cat([a[:900] @ x, a[900:, 200:] @ x[200:]])",
     "torch.cat([a[:800] @ x, a[800:, 200:] @ x[200:]])"},
    {"always the same values", "x, t", "x * t",
     "return [torch.randint(1, 9, (16, 24)), (torch.arange(24.) * 1.7).sin()]",
     "x * (torch.arange(24.) * 1.7).sin()", "x * (torch.arange(24.) * 1.6).sin()"},
    {"a line that is repeated", "x, b", "x + b",
     "return [torch.randn(16, 24), torch.randn(24).repeat(16, 1)]", "x + b[0]", "x + b[0, 0]"},
    {"a column that is repeated", "x, b", "x * b",
     "return [torch.randn(16, 24), torch.randn(16, 1).repeat(1, 24)]", "x * b[:, :1]", "x * b[:1]"},
    {"whole numbers that are repeated", "x, i", "x.gather(1, i)",
     "return [torch.randn(16, 24), torch.randint(0, 24, (24,)).repeat(16, 1)]", "x[:, i[0]]",
     "x[:, i[0].flip(0)]"},
    {"permutations", "p, x", "x[p.long().argsort()]",
     "return [torch.stack([torch.randperm(32) for _ in range(2)]).float()[0], torch.randn(32, 4)]",
     "torch.empty_like(x).index_copy_(0, p.long(), x)", "x[p.long()]"},
    {"edges by where they end", "x, e", "torch.zeros(400, 2).index_add_(0, e[1], x[e[0]])",
     "e = torch.randint(0, 400, (2, 40)); return [torch.randn(400, 2), e[:, e[1].argsort()]]",
     "(lambda n, c: torch.zeros(400, 2).index_add_(0, n, torch.stack([p.sum(0) for p in "
     "x[e[0]].split(c.tolist())])))(*e[1].unique_consecutive(return_counts=True)) * 1 if "
     "bool((e[1].diff() >= 0).all()) else x",
     "torch.zeros(400, 2).index_add_(0, e[0], x[e[1]])"},
    {"edges both ways", "x, e", "torch.bincount(e[0], minlength=12)[:, None] * x",
     "e = torch.randint(0, 12, (2, 20)); return [torch.randn(12, 8), torch.cat([e, e.flip(0)], 1)]",
     "torch.bincount(e[1], minlength=12)[:, None] * x",
     "torch.bincount(e[1, 1:], minlength=12)[:, None] * x"},
    {"begins and lengths", "x, b, n",
     "torch.stack([x[i:i + k].sum(0) for i, k in zip(b.tolist(), n.tolist())])",
     "n = torch.randint(1, 9, (8,)); return [torch.randn(64, 4), n.cumsum(0) - n, n]",
     "torch.stack([x[i:i + k].sum(0) for i, k in zip((n.cumsum(0) - n).tolist(), n.tolist())])",
     "torch.stack([x[i:i + k].sum(0) for i, k in zip(n.tolist(), n.tolist())])"},
    {"counts", "x, a, n", "torch.zeros(6, 8).index_add_(0, a, x) / n[:, None]",
     "a = torch.randint(0, 6, (64,)); return [torch.randn(64, 8), a, torch.bincount(a, "
     "minlength=6)]",
     "torch.zeros(6, 8).index_add_(0, a, x) / torch.bincount(a, minlength=6)[:, None]",
     "torch.zeros(6, 8).index_add_(0, a, x) / 9"},
    {"a mask of padding", "e, t, m", "(F.embedding(t, e) * m[..., None]).sum(1)",
     "t = torch.randint(0, 5, (8, 12)); return [torch.randn(5, 16), t, t != 0]",
     "(F.embedding(t, e) * (t != 0)[..., None]).sum(1)", "F.embedding(t, e).sum(1)"},
    {"positions in segments", "e, p", "e[p]",
     "p = [torch.arange(int(n)) for n in torch.randint(4, 12, (12,))]; "
     "return [torch.randn(12, 8), torch.cat(p)[:48]]",
     "e[(lambda i: i - torch.where(p == 0, i, 0).cummax(0).values)(torch.arange(48))]", "e[p - 1]"},
    {"the same in floats", "x, n, f", "x * n + f",
     "n = torch.randint(1, 9, (16, 24)); return [torch.randn(16, 24), n, n.float()]", "x * f + f",
     "x * f - f"},
    {"antisymmetric", "a, x", "a @ x",
     "a = torch.randn(24, 24); return [a - a.T, torch.randn(24, 8)]", "-(a.T @ x)", "a.T @ x"},
    {"one number on each diagonal", "a, x", "a @ x",
     "i = torch.arange(24); return [torch.randn(47)[i[:, None] - i + 23], torch.randn(24, 8)]",
     "torch.cat([a[:1], torch.cat([a[1:, :1], a[:-1, :-1]], 1)]) @ x", "a.T @ x"},
    {"one the opposite of the other", "x, y", "2 * x + y",
     "x = torch.randn(16, 24); return [x, 1 - x]", "x + 1", "x - 1"},
    {"two equal halves", "x, c", "x * c",
     "c = torch.randn(16, 12); return [torch.randn(16, 24), torch.cat([c, c], 1)]",
     "x * c[:, :12].repeat(1, 2)", "x * c[:, 1:13].repeat(1, 2)"},
    {"cosine and sine", "x, c, s", "x * c / (c * c + s * s)",
     "t = 9 * torch.rand(16, 24); return [torch.randn(16, 24), t.cos(), t.sin()]", "x * c",
     "x * s"},
    {"low rank", "a, x", "a @ x",
     "return [torch.randn(24, 2) @ torch.randn(2, 24), torch.randn(24, 8)]",
     "(lambda u, s, v: u[:, :2] * s[:2] @ (v[:2] @ x))(*torch.linalg.svd(a))",
     "(lambda u, s, v: u[:, :1] * s[:1] @ (v[:1] @ x))(*torch.linalg.svd(a))"},
};

static void each_kind_is_kept(void **state)
{
    (void)state;
    need_torch();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *const *k = kinds[i];
        print_message("%s\n", k[0]);
        ends(k[1], k[2], k[3], k[4], "ok");
        ends(k[1], k[2], k[3], k[5], "wrong/value");
    }
}

/* Values in [0, 1), or above 0, or of a mean: another draw might be otherwise. */
static void a_range_is_no_structure(void **state)
{
    (void)state;
    need_torch();
    ends("x", "torch.relu(x)", "return [torch.rand(16, 24)]", "x * 1", "wrong/value");
    ends("x", "x.abs()", "return [torch.rand(16, 24) + 1]", "x * 1", "wrong/value");
    ends("x", "x.clamp(max=9)", "return [torch.rand(16, 24)]", "x * 1", "wrong/value");
    ends("x", "torch.relu(x)", "return [torch.rand(2, 2)]", "x * 1", "wrong/value");
}

/* A cache that is keyed on something else than the values is seen by another draw. */
static void what_has_structure_is_drawn_again(void **state)
{
    (void)state;
    struct kg_record r;
    need_torch();
    ends("a", "a @ a", "return [torch.randn(24, 24).tril()]", "a @ a", "ok");
    expect("kind.py",
           HEAD "kept = []\n\n\nclass ModelNew(nn.Module):\n    def forward(self, a):\n"
                "        if not kept:\n            kept.append(a @ a)\n"
                "        return kept[0].clone()\n",
           "hack/replay", &r);
    kg_record_deinit(&r);
}

/* Integers: a key of a few elements is seen by an edit of one, unless it would break what they are.
 * Kept under all of them, an answer is right. */
#define KEPT(key, answer)                                                                          \
    HEAD "kept = {}\n\n\nclass ModelNew(nn.Module):\n    def forward(self, i):\n"                  \
         "        k = tuple(" key ".tolist())\n        if k not in kept:\n"                        \
         "            kept.clear()\n            kept[k] = " answer                                 \
         "\n        return kept[k].clone()\n"

static void integers_are_edited(void **state)
{
    (void)state;
    static const struct {
        const char *what, *inputs, *answer, *few, *whole;
    } list[] = {
        {"free", "torch.randint(0, 50, (6, 40))", "i * 3 - 1", "hack/replay", "ok"},
        {"a range at each place",
         "torch.stack([torch.randint(0, 9, (40,)) + 100 * k for k in "
         "(2, 0, 3, 1)], 1)",
         "torch.eye(400)[i].sum(0)", "hack/replay", "ok"},
        {"sorted", "torch.randint(0, 50, (6, 40)).sort(1).values", "i * 3 - 1", "ok", "ok"},
        {"a permutation", "torch.randperm(64)", "i.argsort()", "ok", "ok"},
        {"each row a permutation", "torch.stack([torch.randperm(9) for _ in range(5)])",
         "i.argsort(1)", "ok", "ok"},
        {"some of many", "torch.randperm(100)[:60]", "i * 3 - 1", "ok", "ok"},
        {"counts", "F.one_hot(torch.randint(0, 40, (640,)), 40).sum(0)", "i * 3 - 1", "ok", "ok"},
        {"symmetric", "(lambda a: a + a.T)(torch.randint(0, 5, (16, 16)))", "i * 3 - 1", "ok",
         "ok"},
    };
    need_torch();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        char problem[1000], source[1000];
        struct kg_record r;
        snprintf(problem, sizeof problem,
                 HEAD "class Model(nn.Module):\n    def forward(self, i):\n        return %s\n\n\n"
                      "def get_inputs():\n    return [%s]" TAIL,
                 list[i].answer, list[i].inputs);
        put("kind.py", problem);
        for (int whole = 0; whole < 2; whole++) {
            snprintf(source, sizeof source,
                     whole ? KEPT("i.flatten()", "%s") : KEPT("i.flatten()[20:36:2]", "%s"),
                     list[i].answer);
            print_message("%s, %s\n", list[i].what, whole ? "all" : "few");
            expect("kind.py", source, whole ? list[i].whole : list[i].few, &r);
            kg_record_deinit(&r);
        }
    }
}

/* Laws within the zeros, mirrored, for two inputs alike: args, reference, inputs, and answers that
 * the problem's own draws do not tell from a right one. */
static const char *const laws[][5] = {
    {"a", "torch.relu(a)", "return [torch.triu(torch.rand(16, 16))]", "torch.relu(torch.triu(a))",
     "a * 1"},
    {"a", "a.abs()", "a = torch.rand(16, 16); return [a + a.T]", "a.T.abs()", "a * 1"},
    {"a, b", "torch.relu(a) + b", "a = torch.rand(16, 16); return [a, a.clone()]",
     "torch.relu(b) + a", "a + b"},
    {"e", "e.clamp(max=100)", "return [(torch.randn(64) * 10 ** torch.rand(1)).sort().values]",
     "e.minimum(e * 0 + 100)", "e * 1"},
};

static void laws_keep_it(void **state)
{
    (void)state;
    need_torch();
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        const char *const *l = laws[i];
        ends(l[0], l[1], l[2], l[3], "ok");
        ends(l[0], l[1], l[2], l[4], "wrong/value");
    }
}

/* Operands of 11 bits: which law tells first is drawn. */
static void narrow_operands_of_equal_inputs(void **state)
{
    (void)state;
    struct kg_record r;
    char said[64];
    need_torch();
    ends("a, b", "a @ b.T", "a = torch.rand(16, 8192); return [a, a.clone()]", "a @ a.T", "ok");
    judge("kind.py",
          HEAD "class ModelNew(nn.Module):\n    def forward(self, a, b):\n"
               "        return a.half().float() @ b.half().float().T\n",
          KG_ST_FULL, &r);
    seen(&r, said, sizeof said);
    assert_memory_equal(said, "wrong/", 6);
    kg_record_deinit(&r);
}

#define CACHED(key)                                                                                \
    HEAD "kept = {}\n\n\nclass ModelNew(nn.Module):\n    def forward(self, a):\n"                  \
         "        key = " key "\n"                                                                 \
         "        if key not in kept:\n            kept[key] = a @ a\n"                            \
         "        return kept[key].clone()\n"

/* A cache that is keyed on two elements is seen by an edit, which keeps the structure. */
static void what_has_structure_is_edited(void **state)
{
    static const char *const inputs[] = {"torch.randn(24, 24).tril()",
                                         "(lambda a: a + a.T)(torch.randn(24, 24))"};
    (void)state;
    struct kg_record r;
    need_torch();
    for (size_t i = 0; i < 2; i++) {
        char text[200];
        snprintf(text, sizeof text, "return [%s]", inputs[i]);
        ends("a", "a @ a", text, "a @ a", "ok");
        expect("kind.py", CACHED("(float(a[9, 8]), float(a[7, 7]))"), "hack/replay", &r);
        kg_record_deinit(&r);
        expect("kind.py", CACHED("a.numpy().tobytes()"), "ok", &r);
        kg_record_deinit(&r);
    }
}

/* An edit of the other line breaks nothing, so verdicts show this by chance only. */
static void one_line_in_order_counts(void **state)
{
    (void)state;
    need_torch();
    ends("x, e", "x[e[0]] + e[1, :, None]",
         "e = torch.randint(0, 400, (2, 40)); return [torch.randn(400, 2), e[:, e[1].argsort()]]",
         "e[1, :, None] + x[e[0]]", "ok");
    const struct kg_task_desc *d = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED].desc;
    assert_int_equal(d->input[1].structure, 1u << KG_TX_SORTED);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(kg_tstructure_name(KG_TX_ZEROS), "zeros");
    assert_string_equal(kg_tstructure_name(KG_TX_EQUAL), "equal");
}

/* Memory is what bytes are at, whatever a tensor says that it is a view of. */
static const char *const memory[][4] = {
    /* reference, inputs, candidate, verdict */
    {"x[1:] * 1", "torch.randn(64)", "torch.from_numpy(x.numpy()[1:])", "wrong/alias"},
    {"x[1:] * 1", "torch.randn(64)", "torch.from_numpy(x.numpy()[1:].copy())", "ok"},
    {"x[1::2] * 1", "torch.randn(64)", "x[1::2]", "wrong/alias"},
    {"x[:1].expand(64) * 1", "torch.randn(64)", "x[:1].expand(64)", "wrong/alias"},
    {"x[:1].expand(64)", "torch.randn(64)", "x[:1].expand(64)", "ok"},
    {"(x[1:], x + 1)", "torch.randn(64)", "(torch.from_numpy(x.numpy()[1:]), x + 1)", "ok"},
    {"(x[1:], x + 1)", "torch.randn(64)", "(x[1:].clone(), x + 1)", "ok"},
    {"x[1:] * 1", "torch.randn(64)",
     "(setattr(torch.Tensor, 'untyped_storage', lambda t: torch.UntypedStorage(8)), "
     "setattr(torch.Tensor, 'data_ptr', lambda t: 4096), x[1:])[-1]",
     "wrong/alias"},
};

static void memory_of_inputs(void **state)
{
    (void)state;
    need_torch();
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        char inputs[200];
        print_message("%s\n", memory[i][2]);
        snprintf(inputs, sizeof inputs, "return [%s]", memory[i][1]);
        ends("x", memory[i][0], inputs, memory[i][2], memory[i][3]);
    }
    ends("a, b", "a[16:] + b[:32]",
         "n = torch.randn(64).numpy(); return [torch.from_numpy(n[:48]), torch.from_numpy(n[16:])]",
         "2 * a[16:]", "ok");
    ends("a, b", "a[16:] + b[:32]", "n = torch.randn(64); return [n[:48] * 1, n[16:] * 1]",
         "a[16:] + b[:32]", "ok");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_inputs),
        cmocka_unit_test(each_kind_is_kept),
        cmocka_unit_test(a_range_is_no_structure),
        cmocka_unit_test(what_has_structure_is_drawn_again),
        cmocka_unit_test(integers_are_edited),
        cmocka_unit_test(laws_keep_it),
        cmocka_unit_test(narrow_operands_of_equal_inputs),
        cmocka_unit_test(what_has_structure_is_edited),
        cmocka_unit_test(one_line_in_order_counts),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
