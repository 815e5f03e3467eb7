/* The engine against transformers, PEFT and torch.optim, for two tiny models and their adapters:
 * logits, loss and log-probs within 1e-5; gradients and three steps of AdamW within 1e-4 of the
 * tensor's largest value; greedy ids equal. tests/goldens/make_model_goldens.py made the files.
 * And the other way: what the engine saves has the bytes that those libraries saved. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

#include "lm/io/checkpoint.h"
#include "lm/io/safetensors.h"
#include "lm/model/forward.h"
#include "lm_files.h"
#include "tests/support/lm_model.h"

struct rig {
    const char *name;
    bool adapter;
    struct lm_threads *threads;
    struct lm_model *m;
    struct lm_trainer *t;
    struct lm_st *golden;
    int rows;
    struct lm_test_rows r;
    float one[LM_TEST_ROWS]; /* 1 / number of targets */
};

static void must(enum kg_code code, const struct kg_err *err)
{
    if (code != KG_OK) {
        fail_msg("%s", err->message);
    }
}

/* golden of that name, with "lora." before it if the rig has an adapter. */
static const struct lm_st_tensor *find(const struct rig *g, const char *name)
{
    char full[200];
    snprintf(full, sizeof full, "%s%s", g->adapter ? "lora." : "", name);
    const struct lm_st_tensor *t = lm_st_find(g->golden, full);
    if (t == NULL) {
        fail_msg("%s: no golden %s", g->name, full);
    }
    return t;
}

static void copy(const struct rig *g, const char *name, void *to)
{
    const struct lm_st_tensor *t = lm_st_find(g->golden, name);
    assert_non_null(t);
    assert_int_equal(lm_dtype_bytes(t->dtype), 4);
    memcpy(to, t->data, t->bytes);
}

static const char *in_model(const char *model, const char *file)
{
    char name[100];
    snprintf(name, sizeof name, "lm/%s/%s", model, file);
    return golden(name);
}

static void open_rig(struct rig *g, const char *name, bool adapter)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_trainer_options o = {.max_rows = 128, .max_seqs = 4, .max_tokens = 128};
    memset(g, 0, sizeof *g);
    g->name = name;
    g->adapter = adapter;
    must(lm_st_open(in_model(name, "golden.safetensors"), &g->golden, &err), &err);
    must(lm_threads_create(2, &g->threads, &err), &err);
    must(lm_checkpoint_open(in_model(name, ""), &g->m, &err), &err);
    if (adapter) {
        must(lm_checkpoint_open_adapter(in_model(name, "adapter"), g->m, &err), &err);
        assert_true(g->m->lora->cfg.r == 4 && g->m->lora->cfg.dropout == .05f);
    }
    must(lm_trainer_create(g->m, g->threads, &o, &g->t, &err), &err);
    copy(g, "start", g->r.start);
    copy(g, "ids", g->r.ids);
    copy(g, "target", g->r.target);
    copy(g, "c", g->r.c);
    copy(g, "eta", g->r.eta);
    g->rows = g->r.start[3];
    g->r.rows = (struct lm_rows){3, g->r.start, g->r.ids, g->r.target, 1, false, 0};
    int n = 0;
    for (int i = 0; i < g->rows; i++) {
        n += g->r.target[i] >= 0;
    }
    for (int i = 0; i < g->rows; i++) {
        g->one[i] = g->r.target[i] >= 0 ? 1 / (float)n : 0;
    }
}

static void close_rig(struct rig *g)
{
    lm_trainer_destroy(g->t);
    lm_model_destroy(g->m);
    lm_threads_destroy(g->threads);
    lm_st_close(g->golden);
}

static double largest(const float *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs((double)x[i]));
    }
    return most;
}

/* |got - golden| <= most (times the largest golden value, if relative). */
static void near(const struct rig *g, const char *name, const float *got, size_t n, double most,
                 bool relative)
{
    const struct lm_st_tensor *t = find(g, name);
    float *want = malloc(t->count * sizeof *want);
    assert_non_null(want);
    assert_int_equal(t->count, n);
    memcpy(want, t->data, t->bytes);
    double bound = most * (relative ? largest(want, n) : 1);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs((double)got[i] - (double)want[i]) <= bound)) {
            fail_msg("%s: %s[%zu] is %.9g, the golden %.9g; %.2g is allowed", g->name, t->name, i,
                     (double)got[i], (double)want[i], bound);
        }
    }
    free(want);
}

static double forward(struct rig *g)
{
    struct kg_err err = KG_ERR_INIT;
    double loss = 0;
    must(lm_trainer_forward(g->t, &g->r.rows, g->r.logp, g->r.ent, &err), &err);
    for (int i = 0; i < g->rows; i++) {
        loss -= (double)(g->one[i] * g->r.logp[i]);
    }
    return loss;
}

/* Of all rows, from a run of its own. */
static void logits(struct rig *g, float *z)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_run run;
    struct lm_run_options o = {.max_rows = 128, .max_tokens = 128, .n_pages = 6};
    static const int32_t pages[3][2] = {{0, 1}, {2, 3}, {4, 5}};
    struct lm_seq_rows seq[3];
    int32_t want[128];
    for (int s = 0; s < 3; s++) {
        seq[s] =
            (struct lm_seq_rows){g->r.start[s], g->r.start[s + 1] - g->r.start[s], 0, pages[s]};
    }
    for (int i = 0; i < g->rows; i++) {
        want[i] = i;
    }
    struct lm_batch b = {.n_rows = g->rows,
                         .n_seq = 3,
                         .ids = g->r.ids,
                         .seq = seq,
                         .n_want = g->rows,
                         .want = want};
    must(lm_run_open(&run, g->m, g->threads, &o, &err), &err);
    lm_forward(&run, &b);
    lm_forward_logits(&run, 0, g->rows, z);
    lm_run_close(&run);
}

static void check_values(struct rig *g)
{
    size_t vocab = (size_t)g->m->cfg.vocab;
    float *z = calloc((size_t)g->rows * vocab, sizeof *z);
    assert_non_null(z);
    logits(g, z);
    near(g, "logits", z, (size_t)g->rows * vocab, 1e-5, false);
    float loss = (float)forward(g);
    near(g, "loss", &loss, 1, 1e-5, false);
    for (int i = 0; i < g->rows; i++) { /* log-probs of the golden logits */
        const float *row = (const float *)z + (size_t)i * vocab;
        double sum = 0;
        for (size_t k = 0; k < vocab; k++) {
            sum += exp((double)row[k]);
        }
        if (g->r.target[i] >= 0) {
            assert_true(fabs((double)g->r.logp[i] + log(sum) - (double)row[g->r.target[i]]) < 1e-5);
        }
    }
    free(z);
}

static void check_tensors(struct rig *g, const char *prefix, bool gradients)
{
    char name[200];
    struct lm_params *p = lm_model_trained(g->m);
    for (int i = 0; i < p->n_tensors; i++) {
        const float *got = gradients ? lm_trainer_gradient(g->t, i) : p->tensors[i].data;
        snprintf(name, sizeof name, "%s%s", prefix, p->tensors[i].name);
        near(g, name, got, p->tensors[i].count, 1e-4, true);
    }
}

static void check_gradients(struct rig *g)
{
    forward(g);
    lm_trainer_backward(g->t, g->one, NULL);
    check_tensors(g, "grad.", true);
    lm_trainer_zero(g->t);
    g->r.rows.temperature = .75f;
    forward(g);
    double loss = 0;
    for (int i = 0; i < g->rows; i++) {
        loss -= (double)(g->r.c[i] * g->r.logp[i] + g->r.eta[i] * g->r.ent[i]);
    }
    float value = (float)loss;
    near(g, "policy.loss", &value, 1, 1e-5, true);
    lm_trainer_backward(g->t, g->r.c, g->r.eta);
    check_tensors(g, "policy.grad.", true);
    lm_trainer_zero(g->t);
    g->r.rows.temperature = 1;
}

static void check_steps(struct rig *g)
{
    const struct lm_adamw adam = {1e-2f, .9f, .95f, 1e-8f, .1f, 1};
    float norm[3];
    for (int i = 0; i < 3; i++) {
        forward(g);
        lm_trainer_backward(g->t, g->one, NULL);
        norm[i] = (float)lm_trainer_update(g->t, &adam).norm;
    }
    near(g, "norm", norm, 3, 1e-4, true);
    check_tensors(g, "after.", false);
}

static void check_greedy(struct rig *g, int which)
{
    char name[64];
    struct kg_err err = KG_ERR_INIT;
    struct lm_engine *e;
    struct lm_engine_options o = {.max_seqs = 2, .max_tokens = 128};
    struct lm_event events[4];
    int32_t prompt[64], want[64], got[64];
    int handle, n = 0;
    snprintf(name, sizeof name, "greedy.%d.prompt", which);
    copy(g, name, prompt);
    int length = (int)find(g, name)->count;
    snprintf(name, sizeof name, "greedy.%d.new", which);
    copy(g, name, want);
    struct lm_turn turn = {.max_tokens = (int)find(g, name)->count};
    must(lm_engine_create(g->m, g->threads, &o, &e, &err), &err);
    must(lm_engine_submit(e, prompt, length, &turn, 1, (const uint64_t[]){7}, &handle, &err), &err);
    while (lm_engine_busy(e)) {
        int k = lm_engine_step(e, events, 4);
        for (int i = 0; i < k; i++) {
            got[n++] = events[i].token;
        }
    }
    lm_engine_destroy(e);
    assert_int_equal(n, turn.max_tokens);
    assert_memory_equal(got, want, (size_t)n * sizeof *got);
}

static void check_model(struct rig *g)
{
    check_values(g);
    check_greedy(g, 0);
    check_greedy(g, 1);
    check_gradients(g);
    check_steps(g);
    close_rig(g);
}

static void qwen2_is_that_of_transformers(void **state)
{
    (void)state;
    struct rig g;
    open_rig(&g, "qwen2", false);
    assert_true(g.m->cfg.qkv_bias && g.m->cfg.tied);
    check_model(&g);
}

static void qwen3_is_that_of_transformers(void **state)
{
    (void)state;
    struct rig g;
    open_rig(&g, "qwen3", false);
    assert_true(g.m->cfg.qk_norm && !g.m->cfg.tied);
    check_model(&g);
}

static void adapters_are_those_of_peft(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig g;
        open_rig(&g, i == 0 ? "qwen2" : "qwen3", true);
        check_values(&g);
        check_gradients(&g);
        check_steps(&g);
        close_rig(&g);
    }
}

/* A golden that is not the engine's is noticed: each kind of value, off by a little. */
static void other_values_are_noticed(void **state)
{
    (void)state;
    struct rig g;
    open_rig(&g, "qwen2", false);
    const struct lm_st_tensor *t = find(&g, "logits");
    float *z = malloc(t->bytes), *want = malloc(t->bytes);
    assert_true(z != NULL && want != NULL);
    memcpy(want, t->data, t->bytes);
    g.m->base.w[3] += 1e-3f;
    lm_model_pack(g.m);
    logits(&g, z);
    double most = 0;
    for (size_t i = 0; i < t->count; i++) {
        most = fmax(most, fabs((double)z[i] - (double)want[i]));
    }
    assert_true(most > 1e-5);
    free(z);
    free(want);
    close_rig(&g);
}

static void same_bytes(const char *a, const char *b)
{
    struct kg_buf x = whole(a), y = whole(b);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    kg_buf_deinit(&x);
    kg_buf_deinit(&y);
}

static void saved_weights_have_the_bytes_of_the_libraries(void **state)
{
    const struct lm_checkpoint o = {.dtype = LM_F32, .eos_id = -1, .pad_id = -1};
    struct kg_err err = KG_ERR_INIT;
    struct lm_model *m;
    must(lm_checkpoint_open(in_model("qwen2", ""), &m, &err), &err);
    must(lm_checkpoint_save(in_folder(state, "a"), m, NULL, &o, &err), &err);
    same_bytes(in_folder(state, "a/model.safetensors"), in_model("qwen2", "model.safetensors"));
    must(lm_checkpoint_open_adapter(in_model("qwen2", "adapter"), m, &err), &err);
    must(lm_checkpoint_save(in_folder(state, "b"), m, NULL, &o, &err), &err);
    same_bytes(in_folder(state, "b/adapter_model.safetensors"),
               in_model("qwen2", "adapter/adapter_model.safetensors"));
    lm_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qwen2_is_that_of_transformers),
        cmocka_unit_test(qwen3_is_that_of_transformers),
        cmocka_unit_test(adapters_are_those_of_peft),
        cmocka_unit_test(other_values_are_noticed),
        cmocka_unit_test_setup_teardown(saved_weights_have_the_bytes_of_the_libraries, new_folder,
                                        drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
