/* Writing a checkpoint: a folder beside the final one, DONE last, sync, and then
 * its place (checkpoint_place.c). */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "lm/io/checkpoint.h"
#include "lm/io/checkpoint_form.h"
#include "lm/io/hfconfig.h"
#include "lm/io/peft.h"
#include "lm/io/safetensors_write.h"
#include "lm/tok/bpe_write.h"

static enum kg_code write_json(const char *path, const json_t *j, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, LM_CHECKPOINT_MAX);
    kg_json_dump_pretty(j, &text);
    kg_buf_addc(&text, '\n');
    enum kg_code code = kg_buf_ok(&text) ? kg_file_write_atomic(path, text.data, text.len, err)
                                         : kg_fail(err, KG_E_LIMIT, "%s: more than %u bytes", path,
                                                   LM_CHECKPOINT_MAX);
    kg_buf_deinit(&text);
    return code;
}

static enum kg_code write_state(const char *dir, const struct lm_model *m, struct lm_trainer *t,
                                const struct lm_checkpoint *o, struct kg_err *err)
{
    char path[PATH_MAX], hash[KG_SHA256_HEX];
    json_t *j = json_pack("{s:s,s:s}", "format", LM_CHECKPOINT_FORMAT, "kind",
                          m->lora == NULL ? "model" : "adapter");
    if (m->lora != NULL) {
        lm_checkpoint_hash(m, hash);
        json_object_set_new(j, "base_sha256", json_string(hash));
    }
    if (t != NULL) {
        const struct lm_counters *c = lm_trainer_counters(t);
        json_object_set_new(j, "trainer",
                            json_pack("{s:I,s:I}", "steps", (json_int_t)c->steps, "skipped",
                                      (json_int_t)c->skipped));
    }
    if (o->run != NULL) {
        json_object_set_new(j, "run", json_deep_copy(o->run));
    }
    snprintf(path, sizeof path, "%s/" LM_CHECKPOINT_STATE, dir);
    enum kg_code code = write_json(path, j, err);
    json_decref(j);
    return code;
}

static void set_item(struct lm_st_item *item, const char *name, enum lm_dtype dtype, int rank,
                     const int *shape, const void *data)
{
    *item = (struct lm_st_item){.name = name, .dtype = dtype, .rank = rank, .from_f32 = true};
    item->data = data;
    for (int i = 0; i < rank; i++) {
        item->shape[i] = shape[i];
    }
}

static enum kg_code write_model(const char *dir, const struct lm_model *m,
                                const struct lm_checkpoint *o, struct kg_err *err)
{
    const struct lm_hfconfig_extra extra = {o->dtype, o->eos_id, o->pad_id};
    enum kg_code code = lm_hfconfig_write(dir, &m->cfg, &extra, err);
    if (code != KG_OK) {
        return code;
    }
    size_t n = (size_t)m->base.n_tensors;
    struct lm_st_item *items = calloc(n, sizeof *items);
    if (items == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", dir);
    }
    for (size_t i = 0; i < n; i++) {
        const struct lm_tensor *t = &m->base.tensors[i];
        set_item(&items[i], t->name, o->dtype, t->rank, t->shape, t->data);
    }
    code = lm_st_write_model(dir, items, n, 0, err);
    free(items);
    return code;
}

static enum kg_code write_adapter(const char *dir, const struct lm_model *m,
                                  const struct lm_checkpoint *o, struct kg_err *err)
{
    _Static_assert((int)LM_PARTS == (int)LM_PEFT_PROJS, "both lists name the same projections");
    size_t n = (size_t)m->lora->layers * LM_PARTS;
    const float **a = calloc(2 * n, sizeof *a);
    struct lm_peft p;
    if (a == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", dir);
    }
    enum kg_code code = lm_peft_init(&p, m->lora->layers, err);
    if (code == KG_OK) {
        snprintf(p.base, sizeof p.base, "%s", o->base == NULL ? "" : o->base);
        p.dropout = m->lora->cfg.dropout;
        for (size_t i = 0; i < n; i++) {
            const struct lm_adapter *x = &m->lora->adapters[i];
            a[i] = x->a;
            a[n + i] = x->b;
            if (x->a != NULL) {
                p.slot[i] = (struct lm_peft_slot){m->lora->cfg.r, (double)m->lora->cfg.alpha};
            }
        }
        code = lm_peft_write(dir, &m->cfg, &p, a, a + n, o->dtype, err);
        lm_peft_deinit(&p);
    }
    free(a);
    return code;
}

static enum kg_code write_optim(const char *dir, struct lm_trainer *t, struct kg_err *err)
{
    char path[PATH_MAX];
    size_t n = (size_t)lm_trainer_states(t);
    struct lm_st_item *items = calloc(n, sizeof *items);
    struct lm_state *states = calloc(n, sizeof *states);
    if (items == NULL || states == NULL) {
        free(items);
        free(states);
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", dir);
    }
    for (size_t i = 0; i < n; i++) {
        struct lm_state *s = &states[i];
        *s = lm_trainer_state(t, (int)i);
        set_item(&items[i], s->name, LM_F32, s->rank, s->shape, s->data);
    }
    snprintf(path, sizeof path, "%s/" LM_CHECKPOINT_OPTIM, dir);
    enum kg_code code = lm_st_write(path, items, n, err);
    free(items);
    free(states);
    return code;
}

/* DONE: the files of the folder, by name, with their bytes. */
static enum kg_code write_done(const char *dir, struct kg_err *err)
{
    char path[PATH_MAX];
    struct dirent **list;
    struct stat st;
    int n = scandir(dir, &list, NULL, alphasort);
    if (n < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot list: %s", dir, strerror(errno));
    }
    json_t *files = json_object();
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        if (list[i]->d_name[0] != '.' && stat(path, &st) == 0) {
            json_object_set_new(files, list[i]->d_name, json_integer(st.st_size));
        }
        free(list[i]);
    }
    free(list);
    json_t *j = json_pack("{s:s,s:o}", "format", LM_CHECKPOINT_FORMAT, "files", files);
    snprintf(path, sizeof path, "%s/" LM_CHECKPOINT_DONE, dir);
    enum kg_code code = write_json(path, j, err);
    json_decref(j);
    return code;
}

/* state.json first: from then on the folder is one of ours, and lacks DONE until the end. */
static enum kg_code write_files(const char *dir, const struct lm_model *m, struct lm_trainer *t,
                                const struct lm_checkpoint *o, struct kg_err *err)
{
    char path[PATH_MAX];
    enum kg_code code = write_state(dir, m, t, o, err);
    if (code == KG_OK) {
        code = m->lora == NULL ? write_model(dir, m, o, err) : write_adapter(dir, m, o, err);
    }
    if (code == KG_OK && o->tokenizer != NULL) {
        snprintf(path, sizeof path, "%s/tokenizer.json", dir);
        code = lm_bpe_write(o->tokenizer, path, err);
    }
    for (size_t i = 0; i < o->n_extra && code == KG_OK; i++) {
        snprintf(path, sizeof path, "%s/%.200s", dir, o->extra[i].name);
        code = kg_file_write_atomic(path, o->extra[i].text, o->extra[i].len, err);
    }
    if (code == KG_OK && t != NULL) {
        code = write_optim(dir, t, err);
    }
    code = code == KG_OK ? write_done(dir, err) : code;
    return code == KG_OK ? lm_checkpoint_sync(dir, err) : code;
}

enum kg_code lm_checkpoint_save(const char *dir, const struct lm_model *m, struct lm_trainer *t,
                                const struct lm_checkpoint *o, struct kg_err *err)
{
    char temporary[PATH_MAX];
    struct kg_err ignored = KG_ERR_INIT;
    size_t len = strlen(dir);
    while (len > 1 && dir[len - 1] == '/') {
        len--;
    }
    if (len > PATH_MAX - LM_CHECKPOINT_ROOM) {
        return kg_fail(err, KG_E_IO, "%s: path too long", dir);
    }
    snprintf(temporary, sizeof temporary, "%.*s.tmp.%ld", (int)len, dir, (long)getpid());
    enum kg_code code = kg_file_remove_tree(temporary, err);
    if (code == KG_OK && mkdir(temporary, 0777) != 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot create: %s", temporary, strerror(errno));
    }
    code = code == KG_OK ? write_files(temporary, m, t, o, err) : code;
    code = code == KG_OK ? lm_checkpoint_put(temporary, dir, err) : code;
    if (kg_file_remove_tree(temporary, &ignored) != KG_OK && code == KG_OK) {
        *err = ignored;
        return ignored.code;
    }
    return code;
}
