/* What `kgym sft` writes, read by transformers and PEFT: models of both families and an adapter
 * (r = 16, alpha = 32, dropout .05) give the same logits, the tokenizer the same ids. Needs the
 * libraries that `make goldens` installs, or the Python of $GOLDENS_PYTHON that has them; is
 * skipped without them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/wait.h>

#include "lm/lm.h"
#include "lm/model/forward.h"
#include "lm_files.h"
#include "rl/methods/streams.h"
#include "rl/sft/sft_job.h"

enum { VOCAB = 520, IDS = 60 };

static struct kg_err err = KG_ERR_INIT;
#define ok(call)                                                                                   \
    do {                                                                                           \
        if ((call) != KG_OK) {                                                                     \
            fail_msg("%s", err.message);                                                           \
        }                                                                                          \
    } while (0)

static struct lm_config shape(bool qwen3)
{
    return (struct lm_config){.vocab = VOCAB,
                              .hidden = 32,
                              .inter = 48,
                              .layers = 2,
                              .heads = 4,
                              .kv_heads = 2,
                              .head_dim = 8,
                              .max_pos = 256,
                              .rope_theta = 1e4f,
                              .rms_eps = 1e-6f,
                              .tied = qwen3,
                              .qkv_bias = !qwen3,
                              .qk_norm = qwen3};
}

static struct rl_talker open_talker(void)
{
    struct rl_talker t;
    const struct rl_source s = {.model = "",
                                .adapter = "",
                                .tokenizer = golden("tok/tokenizer.json"),
                                .template = "qwen3-instruct"};
    ok(rl_source_talker(&s, NULL, 24, &t, &err));
    return t;
}

/* Weights with no tensor at a default, and large enough for logits of about one. */
static void make_base(void **state, bool qwen3, const struct rl_talker *t)
{
    struct lm_model *m;
    const struct lm_config c = shape(qwen3);
    ok(lm_model_create(&c, 7, &m, &err));
    for (size_t i = 0; i < m->base.n; i++) {
        m->base.w[i] =
            m->base.w[i] * 3 + (float)(.1 * (rl_draw(1, RL_STREAM_SFT, 0, 0, (uint32_t)i) - .5));
    }
    lm_model_pack(m);
    ok(rl_source_save(in_folder(state, "base"), m, NULL, t, NULL, NULL, &err));
    lm_model_destroy(m);
}

static void write_data(void **state)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    for (int i = 0; i < 40; i++) {
        kg_buf_addf(&b,
                    "{\"messages\":[{\"role\":\"user\",\"content\":\"row %d\"},{\"role\":"
                    "\"assistant\",\"content\":\"for (int i = 0; i < %d; i++) {}\"}]}\n",
                    i, i % 7);
    }
    put_file(in_folder(state, "data.jsonl"), b.data, b.len);
    kg_buf_deinit(&b);
}

static void set(struct rl_sft_config *c, const char *key, const char *value)
{
    char pair[4300];
    snprintf(pair, sizeof pair, "%s=%s", key, value);
    ok(rl_sft_config_pair(c, pair, "test", &err));
}

static void sft(void **state, const char *run, bool lora)
{
    static struct rl_sft_config c;
    static volatile int cancel;
    rl_sft_config_defaults(&c);
    set(&c, "data", in_folder(state, "data.jsonl"));
    set(&c, "from", in_folder(state, "base"));
    set(&c, "threads", "1");
    set(&c, "sft.rows", "128");
    set(&c, "sft.lr", "0.01");
    if (lora) {
        set(&c, "lora.r", "16");
        set(&c, "lora.alpha", "32");
        set(&c, "lora.dropout", "0.05");
    }
    FILE *silent = fopen("/dev/null", "we");
    assert_non_null(silent);
    const struct rl_sft_job_options o = {
        .folder = in_folder(state, run), .terminal = silent, .cancel = &cancel};
    ok(rl_sft_job(&c, &o, &err));
    fclose(silent);
}

/* Writes FOLDER/NAME.f32, and says how far it is from another one. */
static void write_logits(void **state, const char *name, const char *model, const char *adapter,
                         const int32_t *ids, float *z)
{
    char path[200];
    struct lm_model *m;
    struct lm_threads *threads;
    struct lm_run run;
    static const int32_t pages[] = {0};
    int32_t want[IDS];
    const struct rl_source s = {.model = model, .adapter = adapter};
    const struct lm_run_options o = {.max_rows = IDS, .max_tokens = IDS, .n_pages = 1};
    const struct lm_seq_rows seq = {0, IDS, 0, pages};
    for (int i = 0; i < IDS; i++) {
        want[i] = i;
    }
    const struct lm_batch b = {
        .n_rows = IDS, .n_seq = 1, .ids = ids, .seq = &seq, .n_want = IDS, .want = want};
    ok(rl_source_model(&s, &m, &err));
    ok(lm_threads_create(1, &threads, &err));
    ok(lm_run_open(&run, m, threads, &o, &err));
    lm_forward(&run, &b);
    lm_forward_logits(&run, 0, IDS, z);
    snprintf(path, sizeof path, "%s.f32", name);
    put_file(in_folder(state, path), z, (size_t)IDS * VOCAB * sizeof *z);
    lm_run_close(&run);
    lm_threads_destroy(threads);
    lm_model_destroy(m);
}

static void write_texts(void **state, const struct rl_talker *t)
{
    static const char text[] = "static void k(float *a) { a[0] = 1.5f; } /* \xc3\xa9 */\n";
    static const char chat[] = "[{\"role\":\"system\",\"content\":\"be brief\"},"
                               "{\"role\":\"user\",\"content\":\"relu softmax\"}]";
    const struct lm_chat_message m[] = {
        {.role = LM_CHAT_SYSTEM, .content = "be brief", .len = 8},
        {.role = LM_CHAT_USER, .content = "relu softmax", .len = 12}};
    struct lm_ids ids;
    lm_ids_init(&ids);
    ok(lm_bpe_encode(t->bpe, text, sizeof text - 1, LM_BPE_PLAIN, &ids, &err));
    put_file(in_folder(state, "text.txt"), text, sizeof text - 1);
    put_file(in_folder(state, "text.i32"), ids.id, ids.n * sizeof *ids.id);
    lm_ids_reset(&ids);
    ok(lm_chat_encode(&t->chat, m, 2, true, &ids, &err));
    put_file(in_folder(state, "chat.json"), chat, sizeof chat - 1);
    put_file(in_folder(state, "chat.i32"), ids.id, ids.n * sizeof *ids.id);
    lm_ids_deinit(&ids);
}

static void move(void **state, const char *from, const char *to)
{
    assert_int_equal(rename(in_folder(state, from), in_folder(state, to)), 0);
}

static void check(void **state)
{
    char command[9000];
    const char *tree = getenv("KGYM_TREE"), *given = getenv("GOLDENS_PYTHON");
    char venv[4096];
    snprintf(venv, sizeof venv, "%s/build/goldens-venv/bin/python", tree == NULL ? "." : tree);
    const char *python = given != NULL ? given : venv;
    if (!kg_file_exists(python)) {
        print_message("skipped: no %s (make goldens installs it)\n", python);
        skip();
    }
    snprintf(command, sizeof command, "OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 '%s' '%s' '%s' 2>&1",
             python, golden("check_saved.py"), (const char *)*state);
    fflush(stdout);
    int status = system(command);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void family(void **state, bool qwen3)
{
    static float base[IDS * VOCAB], z[IDS * VOCAB];
    int32_t ids[IDS];
    struct rl_talker t = open_talker();
    for (uint32_t i = 0; i < IDS; i++) {
        ids[i] = (int32_t)rl_draw_below(2, RL_STREAM_SFT, 0, 0, i, VOCAB);
    }
    make_base(state, qwen3, &t);
    write_data(state);
    sft(state, "run-full", false);
    sft(state, "run-lora", true);
    move(state, "run-full/model", "full");
    move(state, "run-lora/adapter", "adapter");
    put_file(in_folder(state, "ids.i32"), ids, sizeof ids);
    write_texts(state, &t);
    rl_talker_close(&t);
    write_logits(state, "base", in_folder(state, "base"), "", ids, base);
    write_logits(state, "full", in_folder(state, "full"), "", ids, z);
    assert_memory_not_equal(z, base, sizeof z); /* it was trained */
    write_logits(state, "adapter", in_folder(state, "base"), in_folder(state, "adapter"), ids, z);
    assert_memory_not_equal(z, base, sizeof z);
    check(state);
}

static void qwen2_loads(void **state)
{
    family(state, false);
}

static void qwen3_loads(void **state)
{
    family(state, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(qwen2_loads, new_folder, drop_folder),
        cmocka_unit_test_setup_teardown(qwen3_loads, new_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
