/* Checkpoints: the same bytes after a load, training that goes on with the same bits, and folders
 * that are refused: cut short, hostile, of another model, without DONE, on a full disk. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lm/io/checkpoint.h"
#include "lm/io/hfconfig.h"
#include "lm/io/safetensors_write.h"
#include "lm/tok/bpe_read.h"
#include "lm/tok/bpe_write.h"
#include "lm_files.h"
#include "tests/support/lm_model.h"

static const struct lm_lora_config lora = {.r = 4, .alpha = 8, .dropout = .1f, .targets = 0x51};
static const struct lm_adamw adam = {1e-2f, .9f, .95f, 1e-8f, .1f, 1};
static const struct lm_checkpoint plain = {.dtype = LM_F32, .eos_id = 2, .pad_id = -1};
static const int lengths[] = {9, 1, 40};

struct rig {
    struct lm_threads *threads;
    struct lm_model *m;
    struct lm_trainer *t;
    struct lm_test_rows r;
};

/* The trainer of a model. */
static void open_rig(struct rig *g, struct lm_model *m)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_trainer_options o = {.max_rows = 64, .max_seqs = 4, .max_tokens = 64};
    memset(g, 0, sizeof *g);
    g->m = m;
    assert_int_equal(lm_threads_create(1, &g->threads, &err), KG_OK);
    assert_int_equal(lm_trainer_create(m, g->threads, &o, &g->t, &err), KG_OK);
    lm_test_fill(&g->r, m->cfg.vocab, lengths, 3);
    g->r.rows.dropout = m->lora != NULL;
}

static void close_rig(struct rig *g)
{
    lm_trainer_destroy(g->t);
    lm_model_destroy(g->m);
    lm_threads_destroy(g->threads);
}

static struct lm_model *make(struct lm_config c, bool adapter)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_model *m;
    assert_int_equal(lm_model_create(&c, 3, &m, &err), KG_OK);
    lm_test_stir(m);
    if (adapter) {
        assert_int_equal(lm_lora_add(m, &lora, 5, &err), KG_OK);
    }
    return m;
}

static void steps(struct rig *g, int first, int n)
{
    struct kg_err err = KG_ERR_INIT;
    for (int i = first; i < first + n; i++) {
        g->r.ids[0] = i;
        g->r.rows.dropout_seed = (uint64_t)i;
        assert_int_equal(lm_trainer_forward(g->t, &g->r.rows, g->r.logp, NULL, &err), KG_OK);
        lm_trainer_backward(g->t, g->r.c, g->r.eta);
        assert_false(lm_trainer_update(g->t, &adam).skipped);
    }
}

static void save(const char *dir, const struct lm_model *m, struct lm_trainer *t,
                 const struct lm_checkpoint *o)
{
    struct kg_err err = KG_ERR_INIT;
    if (lm_checkpoint_save(dir, m, t, o, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
}

static struct lm_model *load(const char *dir)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_model *m;
    if (lm_checkpoint_open(dir, &m, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return m;
}

/* Opening dir gives code, and a message with each of the words. */
static void refused(const char *dir, enum kg_code code, const char *word, const char *second)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_model *m;
    assert_int_equal(lm_checkpoint_open(dir, &m, &err), code);
    assert_null(m);
    if (strstr(err.message, word) == NULL || strstr(err.message, second) == NULL) {
        fail_msg("\"%s\" lacks %s or %s", err.message, word, second);
    }
}

static int count_files(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;
    while (readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n - 2;
}

/* The same names and bytes. */
static void same_folders(const char *a, const char *b)
{
    char x[5000], y[5000];
    DIR *d = opendir(a);
    assert_int_equal(count_files(a), count_files(b));
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        if (e->d_name[0] == '.') {
            continue;
        }
        snprintf(x, sizeof x, "%s/%s", a, e->d_name);
        snprintf(y, sizeof y, "%s/%s", b, e->d_name);
        struct kg_buf p = whole(x), q = whole(y);
        assert_int_equal(p.len, q.len);
        assert_memory_equal(p.data, q.data, p.len);
        kg_buf_deinit(&p);
        kg_buf_deinit(&q);
    }
    closedir(d);
}

static void a_load_and_a_save_give_the_same_bytes(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_bpe_def d;
    json_t *run = json_pack("{s:[i,i],s:s}", "draws", 3, 4, "name", "a"), *back = NULL;
    struct lm_checkpoint o = plain;
    assert_int_equal(lm_bpe_read(golden("tok/tokenizer.json"), &d, &err), KG_OK);
    o.tokenizer = &d;
    o.run = run;
    for (int i = 0; i < 2; i++) {
        struct rig g, h;
        open_rig(&g, make(i == 0 ? lm_test_qwen2() : lm_test_qwen3(), false));
        steps(&g, 0, 2);
        save(in_folder(state, "a"), g.m, g.t, &o);
        open_rig(&h, load(in_folder(state, "a")));
        assert_memory_equal(g.m->base.w, h.m->base.w, g.m->base.n * sizeof *g.m->base.w);
        assert_int_equal(lm_checkpoint_resume(in_folder(state, "a"), h.t, &back, &err), KG_OK);
        assert_true(json_equal(run, back));
        assert_int_equal(lm_trainer_counters(h.t)->steps, 2);
        json_decref(back);
        save(in_folder(state, "b/"), h.m, h.t, &o);
        same_folders(in_folder(state, "a"), in_folder(state, "b"));
        assert_int_equal(count_files(in_folder(state, "a")), 6);
        assert_int_equal(count_files(*state), 2); /* and nothing is left beside them */
        close_rig(&g);
        close_rig(&h);
    }
    json_decref(run);
    lm_bpe_def_deinit(&d);
}

static void ten_steps_are_five_a_save_and_five(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    for (int adapter = 0; adapter < 2; adapter++) {
        struct rig all, half, rest;
        json_t *run = NULL;
        open_rig(&all, make(lm_test_qwen3(), adapter));
        open_rig(&half, make(lm_test_qwen3(), adapter));
        steps(&all, 0, 10);
        if (adapter) {
            struct lm_model *base = make(lm_test_qwen3(), false);
            save(in_folder(state, "base"), base, NULL, &plain);
            lm_model_destroy(base);
        }
        steps(&half, 0, 5);
        save(in_folder(state, "five"), half.m, half.t, &plain);
        struct lm_model *m = load(in_folder(state, adapter ? "base" : "five"));
        if (adapter) {
            assert_int_equal(lm_checkpoint_open_adapter(in_folder(state, "five"), m, &err), KG_OK);
            assert_true(m->lora->cfg.dropout == lora.dropout && m->lora->cfg.alpha == lora.alpha);
            assert_int_equal(m->lora->cfg.targets, lora.targets);
        }
        open_rig(&rest, m);
        assert_int_equal(lm_checkpoint_resume(in_folder(state, "five"), rest.t, &run, &err), KG_OK);
        assert_null(run);
        steps(&rest, 5, 5);
        struct lm_params *a = lm_model_trained(all.m), *b = lm_model_trained(rest.m);
        assert_memory_equal(a->w, b->w, a->n * sizeof *a->w);
        assert_memory_not_equal(a->w, lm_model_trained(half.m)->w, a->n * sizeof *a->w);
        close_rig(&all);
        close_rig(&half);
        close_rig(&rest);
    }
}

/* Half types round once: what is read is what they can hold. */
static void half_types_are_read(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct lm_checkpoint o = plain;
        unsigned char bytes[2];
        o.dtype = i == 0 ? LM_BF16 : LM_F16;
        struct lm_model *m = make(lm_test_qwen2(), false);
        save(in_folder(state, "a"), m, NULL, &o);
        struct lm_model *n = load(in_folder(state, "a"));
        for (size_t k = 0; k < m->base.n; k++) {
            float want;
            lm_dtype_from_f32(o.dtype, (float *)&m->base.w[k], bytes, 1);
            lm_dtype_to_f32(o.dtype, bytes, &want, 1);
            assert_true(n->base.w[k] == want);
        }
        save(in_folder(state, "b"), n, NULL, &o);
        same_folders(in_folder(state, "a"), in_folder(state, "b"));
        lm_model_destroy(m);
        lm_model_destroy(n);
    }
}

/* model.safetensors of m, changed: 'm' without a tensor, 'e' with one more, 's' of another shape,
 * 'h' with a head too, 'r' with a head of one row less.
 * The folder is one of others: no DONE, no state.json. */
static void write_changed(const char *dir, const struct lm_model *m, char how)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_st_item items[80];
    size_t n = 0;
    for (int i = 0; i < m->base.n_tensors; i++) {
        const struct lm_tensor *t = &m->base.tensors[i];
        items[n] = (struct lm_st_item){
            .name = t->name, .dtype = LM_F32, .rank = t->rank, .shape = {t->shape[0], t->shape[1]}};
        items[n++].data = t->data;
    }
    if (how == 'm') {
        n--;
    } else if (how == 'e') {
        items[n] = items[n - 1];
        items[n++].name = "model.layers.9.mlp.up_proj.weight";
    } else if (how == 'h' || how == 'r') {
        items[n] = items[0]; /* the embedding has its shape */
        items[n].shape[0] -= how == 'r';
        items[n++].name = "lm_head.weight";
    } else {
        items[n - 1].shape[0]--;
    }
    assert_int_equal(lm_st_write_model(dir, items, n, 0, &err), KG_OK);
}

static void other_tensors_are_refused(void **state)
{
    char name[4100];
    struct lm_model *m = make(lm_test_qwen3(), false);
    const char *last = m->base.tensors[m->base.n_tensors - 1].name;
    save(in_folder(state, "a"), m, NULL, &plain);
    assert_int_equal(unlink(in_folder(state, "a/DONE")), 0);
    assert_int_equal(unlink(in_folder(state, "a/state.json")), 0);
    snprintf(name, sizeof name, "%s", in_folder(state, "a"));
    lm_model_destroy(load(name)); /* as Hugging Face has it */
    write_changed(name, m, 'm');
    refused(name, KG_E_INPUT, last, "a");
    write_changed(name, m, 'e');
    refused(name, KG_E_INPUT, "model.layers.9.mlp.up_proj.weight", "model.safetensors");
    write_changed(name, m, 's');
    refused(name, KG_E_INPUT, last, "[52, 24]");
    lm_model_destroy(m);
}

/* Qwen3-0.6B is tied, and its files hold the head as well. */
static void a_tied_head_that_is_stored_is_left_alone(void **state)
{
    char name[4100];
    struct lm_model *m = make(lm_test_qwen2(), false);
    assert_true(m->cfg.tied);
    snprintf(name, sizeof name, "%s", in_folder(state, "a"));
    save(name, m, NULL, &plain);
    assert_int_equal(unlink(in_folder(state, "a/DONE")), 0);
    assert_int_equal(unlink(in_folder(state, "a/state.json")), 0);
    write_changed(name, m, 'h');
    struct lm_model *back = load(name);
    assert_int_equal(back->base.n, m->base.n);
    assert_memory_equal(back->base.w, m->base.w, m->base.n * sizeof *m->base.w);
    lm_model_destroy(back);
    write_changed(name, m, 'r');
    refused(name, KG_E_INPUT, "tensor lm_head.weight has shape [", "model.safetensors");
    lm_model_destroy(m);
}

/* A configuration of 50 terabytes beside small weights. */
static void a_hostile_configuration_costs_no_memory(void **state)
{
    static const char cut[] = "\"vocab_size\": 53", in[] = "\"vocab_size\": 99";
    struct kg_err err = KG_ERR_INIT;
    struct lm_model *m = make(lm_test_qwen3(), false);
    save(in_folder(state, "a"), m, NULL, &plain);
    assert_int_equal(unlink(in_folder(state, "a/DONE")), 0);
    assert_int_equal(unlink(in_folder(state, "a/state.json")), 0);
    struct kg_buf b = whole(in_folder(state, "a/config.json"));
    memcpy(strstr(b.data, cut), in, strlen(in));
    put_file(in_folder(state, "a/config.json"), b.data, b.len);
    refused(in_folder(state, "a"), KG_E_INPUT, "embed_tokens", "needs [99, 24]");
    kg_buf_deinit(&b);
    struct lm_config c = lm_test_qwen3();
    c.vocab = 1 << 24;
    c.inter = 1 << 18;
    c.hidden = 1 << 16;
    c.layers = 1024;
    const struct lm_hfconfig_extra extra = {LM_F32, -1, -1};
    assert_int_equal(lm_hfconfig_write(in_folder(state, "a"), &c, &extra, &err), KG_OK);
    refused(in_folder(state, "a"), KG_E_INPUT, "embed_tokens", "needs [16777216, 65536]");
    lm_model_destroy(m);
}

/* Each file of a checkpoint lost, cut short or longer; DONE and state.json hostile. */
static void broken_folders_are_refused(void **state)
{
    static const char *const files[] = {"state.json", "config.json", "model.safetensors"};
    char name[4100], path[5000];
    struct lm_model *m = make(lm_test_qwen2(), false);
    snprintf(name, sizeof name, "%s", in_folder(state, "a"));
    for (size_t i = 0; i < 3; i++) {
        for (int how = 0; how < 3; how++) {
            save(name, m, NULL, &plain);
            snprintf(path, sizeof path, "%s/%s", name, files[i]);
            struct kg_buf b = whole(path);
            if (how == 0) {
                assert_int_equal(unlink(path), 0);
            } else {
                kg_buf_addc(&b, ' ');
                put_file(path, b.data, how == 1 ? b.len / 2 : b.len);
            }
            kg_buf_deinit(&b);
            refused(name, KG_E_INPUT, files[i], "DONE");
        }
    }
    static const char *const done[] = {
        "",
        "{",
        "[]",
        "{\"format\":\"kgym.checkpoint/2\",\"files\":{}}",
        "{\"format\":\"kgym.checkpoint/1\"}",
        "{\"format\":\"kgym.checkpoint/1\",\"files\":[1]}",
        "{\"format\":\"kgym.checkpoint/1\",\"files\":{\"state.json\":\"x\"}}",
        "{\"format\":\"kgym.checkpoint/1\",\"files\":{\"../b\":1,\"state.json\":1}}"};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) {
        save(name, m, NULL, &plain);
        put_file(in_folder(state, "a/DONE"), done[i], strlen(done[i]));
        refused(name, KG_E_INPUT, "a/", "");
    }
    refused(in_folder(state, "nothing"), KG_E_NOT_FOUND, "nothing", "folder");
    lm_model_destroy(m);
}

/* A process that is killed between two files leaves a folder that is refused, wherever it was, and
 * the older checkpoint is whole. Here the files are removed from the last on, as if never made. */
static void a_crash_between_files_is_refused(void **state)
{
    static const char *const order[] = {"DONE", "optim.safetensors", "model.safetensors",
                                        "config.json"};
    char path[5000];
    struct kg_err err = KG_ERR_INIT;
    struct rig g;
    open_rig(&g, make(lm_test_qwen2(), false));
    save(in_folder(state, "a"), g.m, g.t, &plain);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", in_folder(state, "a"), order[i]);
        assert_int_equal(unlink(path), 0);
        refused(in_folder(state, "a"), KG_E_INPUT, "DONE", "not a whole checkpoint");
        assert_int_equal(lm_checkpoint_resume(in_folder(state, "a"), g.t, NULL, &err), KG_E_INPUT);
    }
    close_rig(&g);
}

/* DONE is written when all else is: it lists the optimiser's moments too. */
static void short_moments_are_refused(void **state)
{
    char path[5000];
    struct rig g;
    open_rig(&g, make(lm_test_qwen2(), false));
    save(in_folder(state, "a"), g.m, g.t, &plain);
    snprintf(path, sizeof path, "%s/optim.safetensors", in_folder(state, "a"));
    struct kg_buf b = whole(path);
    put_file(path, b.data, b.len / 2);
    kg_buf_deinit(&b);
    refused(in_folder(state, "a"), KG_E_INPUT, "optim.safetensors", "DONE");
    close_rig(&g);
}

/* From now on this process cannot exchange two folders, as on NFS. */
static void lose_exchange(int why)
{
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
    bool good = seccomp_rule_add(c, SCMP_ACT_ERRNO((unsigned)why), SCMP_SYS(renameat2), 1,
                                 SCMP_A4(SCMP_CMP_EQ, RENAME_EXCHANGE)) == 0 &&
                seccomp_load(c) == 0;
    seccomp_release(c);
    if (!good || renameat2(AT_FDCWD, "/", AT_FDCWD, "/", RENAME_EXCHANGE) == 0) {
        _exit(3);
    }
}

/* n saves over an older one; the status of the process. n 0: saves until it is killed. */
static pid_t start_saves(const char *dir, struct lm_model *m, int n, int lost)
{
    pid_t child = fork();
    if (child != 0) {
        return child;
    }
    if (lost != 0) {
        lose_exchange(lost);
    }
    for (int i = 0; n == 0 || i < n; i++) {
        struct kg_err err = KG_ERR_INIT;
        m->base.w[0] += 1;
        if (lm_checkpoint_save(dir, m, NULL, &plain, &err) != KG_OK) {
            fprintf(stderr, "%s\n", err.message);
            _exit(1);
        }
    }
    _exit(0);
}

/* Killed at any moment of a save over an older one: what is there is whole, old or new. */
static void a_killed_save_leaves_the_old_or_the_new(void **state)
{
    struct lm_model *m = make(lm_test_qwen2(), false);
    save(in_folder(state, "a"), m, NULL, &plain);
    for (int i = 0; i < 24; i++) {
        pid_t child = start_saves(in_folder(state, "a"), m, 0, i % 2 == 0 ? 0 : EINVAL);
        usleep((useconds_t)(750 * i + 700));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct lm_model *back = load(in_folder(state, "a"));
        assert_memory_equal(back->base.w + 1, m->base.w + 1, (m->base.n - 1) * sizeof(float));
        lm_model_destroy(back);
    }
    lm_model_destroy(m);
}

/* Where two folders cannot be exchanged, two renames do it, and nothing is left beside the new
 * one. A reader that puts the older one back between them does not disturb. */
static void a_save_needs_no_exchange(void **state)
{
    static const int lost[] = {EINVAL, ENOSYS, ENOTSUP};
    struct lm_model *m = make(lm_test_qwen2(), false);
    save(in_folder(state, "a"), m, NULL, &plain);
    for (int i = 0; i < 3; i++) {
        int status = 0;
        pid_t child = start_saves(in_folder(state, "a"), m, 12, lost[i]);
        while (waitpid(child, &status, WNOHANG) == 0) {
            struct kg_err err = KG_ERR_INIT;
            (void)!lm_checkpoint_recover(in_folder(state, "a"), &err);
        }
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        struct lm_model *back = load(in_folder(state, "a"));
        assert_true(back->base.w[0] == m->base.w[0] + 12);
        lm_model_destroy(back);
        assert_int_equal(count_files(*state), 1);
    }
    lm_model_destroy(m);
}

/* A crash between the two renames leaves the older folder under another name. */
static void a_replaced_checkpoint_comes_back(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_model *m = make(lm_test_qwen2(), false);
    save(in_folder(state, "a"), m, NULL, &plain);
    assert_int_equal(rename(in_folder(state, "a"), in_folder(state, "a.replaced")), 0);
    lm_model_destroy(load(in_folder(state, "a/")));
    assert_int_equal(count_files(*state), 1);
    assert_int_equal(rename(in_folder(state, "a"), in_folder(state, "a.replaced")), 0);
    put_file(in_folder(state, "a.replaced/config.json"), "{", 1); /* not whole */
    refused(in_folder(state, "a"), KG_E_INPUT, "a.replaced/config.json", "DONE");
    save(in_folder(state, "a"), m, NULL, &plain); /* a crash left both: the old one goes */
    assert_int_equal(count_files(*state), 1);
    assert_int_equal(mkdir(in_folder(state, "b.replaced"), 0777), 0); /* none of ours */
    refused(in_folder(state, "b"), KG_E_NOT_FOUND, "b: no such folder", "");
    assert_int_equal(lm_checkpoint_remove(in_folder(state, "b"), &err), KG_OK);
    assert_int_equal(lm_checkpoint_remove(in_folder(state, "a"), &err), KG_OK);
    assert_int_equal(count_files(*state), 0);
    lm_model_destroy(m);
}

/* As on a full disk, a write fails in the middle. */
static void a_full_disk_keeps_the_old(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct rlimit old, small;
    struct lm_model *m = make(lm_test_qwen3(), false);
    save(in_folder(state, "a"), m, NULL, &plain);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    for (rlim_t most = 16; most < 40000; most *= 5) { /* state.json, config.json, weights */
        small.rlim_cur = most;
        setrlimit(RLIMIT_FSIZE, &small);
        enum kg_code code = lm_checkpoint_save(in_folder(state, "a"), m, NULL, &plain, &err);
        enum kg_code fresh = lm_checkpoint_save(in_folder(state, "b"), m, NULL, &plain, &err);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(code, KG_E_IO);
        assert_int_equal(fresh, KG_E_IO);
        assert_non_null(strstr(err.message, "/b"));
        assert_int_equal(count_files(*state), 1);
        lm_model_destroy(load(in_folder(state, "a")));
    }
    lm_model_destroy(m);
}

static void no_adapter(const char *dir, struct lm_model *m, const char *word)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(lm_checkpoint_open_adapter(dir, m, &err), KG_E_INPUT);
    assert_null(m->lora);
    if (strstr(err.message, word) == NULL) {
        fail_msg("\"%s\" lacks %s", err.message, word);
    }
}

static void adapters_of_other_models_are_refused(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_config deep = lm_test_qwen3(), shallow = deep, wide = deep;
    shallow.layers = 2;
    deep.layers = 4;
    wide.inter = 44;
    struct lm_model *m = make(lm_test_qwen3(), true);
    struct lm_model *twin = make(lm_test_qwen3(), false);
    twin->base.w[7] += 1;
    save(in_folder(state, "a"), m, NULL, &plain);
    no_adapter(in_folder(state, "a"), twin, "base_sha256");
    twin->base.w[7] = m->base.w[7];
    assert_int_equal(lm_checkpoint_open_adapter(in_folder(state, "a"), twin, &err), KG_OK);
    assert_int_equal(lm_checkpoint_open_adapter(in_folder(state, "a"), twin, &err), KG_E_USAGE);
    lm_model_destroy(twin);
    const struct lm_config others[] = {deep, shallow, wide};
    const char *const words[] = {"layers.3", "layers.2", "[44, 4]"};
    for (int i = 0; i < 3; i++) {
        struct lm_model *other = make(others[i], false);
        no_adapter(in_folder(state, "a"), other, words[i]);
        lm_model_destroy(other);
    }
    lm_model_destroy(m);
}

/* Moments of a trainer of another kind, and counters that are none. */
static void other_states_are_refused(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    struct rig g, h;
    char done[200];
    static const char bad[] = "{\"format\":\"kgym.checkpoint/1\",\"trainer\":{\"steps\":-1}}";
    open_rig(&g, make(lm_test_qwen3(), true));
    open_rig(&h, make(lm_test_qwen3(), false));
    save(in_folder(state, "a"), g.m, g.t, &plain);
    assert_int_equal(lm_checkpoint_resume(in_folder(state, "a"), h.t, NULL, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "optim.safetensors: no tensor model.embed_tokens"));
    assert_int_equal(unlink(in_folder(state, "a/DONE")), 0);
    put_file(in_folder(state, "a/state.json"), bad, strlen(bad));
    snprintf(done, sizeof done, "{\"format\":\"kgym.checkpoint/1\",\"files\":{\"state.json\":%zu}}",
             strlen(bad));
    put_file(in_folder(state, "a/DONE"), done, strlen(done));
    assert_int_equal(lm_checkpoint_resume(in_folder(state, "a"), g.t, NULL, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "state.json: trainer.steps"));
    save(in_folder(state, "a"), h.m, NULL, &plain);
    assert_int_equal(lm_checkpoint_resume(in_folder(state, "a"), h.t, NULL, &err), KG_E_INPUT);
    assert_non_null(strstr(err.message, "trainer.steps"));
    close_rig(&g);
    close_rig(&h);
}

#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, new_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_load_and_a_save_give_the_same_bytes),
        IN_FOLDER(ten_steps_are_five_a_save_and_five),
        IN_FOLDER(half_types_are_read),
        IN_FOLDER(other_tensors_are_refused),
        IN_FOLDER(a_tied_head_that_is_stored_is_left_alone),
        IN_FOLDER(a_hostile_configuration_costs_no_memory),
        IN_FOLDER(broken_folders_are_refused),
        IN_FOLDER(a_crash_between_files_is_refused),
        IN_FOLDER(short_moments_are_refused),
        IN_FOLDER(a_killed_save_leaves_the_old_or_the_new),
        IN_FOLDER(a_save_needs_no_exchange),
        IN_FOLDER(a_replaced_checkpoint_comes_back),
        IN_FOLDER(a_full_disk_keeps_the_old),
        IN_FOLDER(adapters_of_other_models_are_refused),
        IN_FOLDER(other_states_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
