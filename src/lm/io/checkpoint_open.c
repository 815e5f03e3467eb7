/* Reading a checkpoint: DONE first (checkpoint_place.c), then tensors, each of which must be wanted
 * and there. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "lm/io/checkpoint.h"
#include "lm/io/checkpoint_form.h"
#include "lm/io/hfconfig.h"
#include "lm/io/peft.h"
#include "lm/io/shards.h"
#include "lm/model/names.h"

/* The head of a tied model is its embedding. Some folders, those of Qwen3-0.6B and 1.7B among them,
 * store it a second time. That copy is not read, as in transformers and vLLM. */
static enum kg_code check_tied_head(const char *file, const struct lm_st_tensor *t,
                                    const struct lm_config *c, struct kg_err *err)
{
    char text[2][128];
    const int64_t shape[2] = {c->vocab, c->hidden};
    return t->rank == 2 && memcmp(t->shape, shape, sizeof shape) == 0
               ? KG_OK
               : kg_fail(err, KG_E_INPUT, "%s: tensor %s has shape %s; config.json needs %s", file,
                         t->name, lm_st_shape_text(t->shape, t->rank, text[0], sizeof text[0]),
                         lm_st_shape_text(shape, 2, text[1], sizeof text[1]));
}

static enum kg_code check_extra(const struct lm_shards *s, const struct lm_config *c,
                                const struct lm_tensor *want, int n, struct kg_err *err)
{
    for (size_t i = 0; i < lm_shards_files(s); i++) {
        const struct lm_st *file = lm_shards_file(s, i);
        for (size_t k = 0; k < lm_st_count(file); k++) {
            const struct lm_st_tensor *t = lm_st_at(file, k);
            int at = 0;
            while (at < n && strcmp(want[at].name, t->name) != 0) {
                at++;
            }
            if (at < n) {
                continue;
            }
            if (!c->tied || strcmp(t->name, "lm_head.weight") != 0) {
                return kg_fail(err, KG_E_INPUT,
                               "%s: tensor %.100s has no place in the model of config.json",
                               lm_st_source(file), t->name);
            }
            if (check_tied_head(lm_st_source(file), t, c, err) != KG_OK) {
                return err->code;
            }
        }
    }
    return KG_OK;
}

/* Before a model is made, so that a configuration cannot ask for more memory than the files hold.
 */
static enum kg_code check_tensors(const char *dir, const struct lm_shards *s,
                                  const struct lm_config *c, const struct lm_tensor *want, int n,
                                  struct kg_err *err)
{
    char text[2][128];
    for (int i = 0; i < n; i++) {
        const char *file = NULL;
        const int64_t shape[2] = {want[i].shape[0], want[i].shape[1]};
        const struct lm_st_tensor *t = lm_shards_find(s, want[i].name, &file);
        if (t == NULL) {
            return kg_fail(err, KG_E_INPUT, "%s: no tensor %s among the weights", dir,
                           want[i].name);
        }
        if (t->rank != want[i].rank ||
            memcmp(t->shape, shape, (size_t)t->rank * sizeof *shape) != 0) {
            return kg_fail(err, KG_E_INPUT, "%s: tensor %s has shape %s; config.json needs %s",
                           file, want[i].name,
                           lm_st_shape_text(t->shape, t->rank, text[0], sizeof text[0]),
                           lm_st_shape_text(shape, want[i].rank, text[1], sizeof text[1]));
        }
    }
    return check_extra(s, c, want, n, err);
}

static enum kg_code check_weights(const char *dir, const struct lm_shards *s,
                                  const struct lm_config *c, struct kg_err *err)
{
    enum kg_code code = lm_config_check(c, err);
    if (code != KG_OK) {
        return kg_err_prefix(err, "%s/config.json", dir);
    }
    int n = lm_names_count(c);
    struct lm_tensor *want = calloc((size_t)n, sizeof *want);
    if (want == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", dir);
    }
    lm_names_fill(c, want);
    code = check_tensors(dir, s, c, want, n, err);
    free(want);
    return code;
}

static enum kg_code load(const struct lm_shards *s, struct lm_model *m, struct kg_err *err)
{
    for (int i = 0; i < m->base.n_tensors; i++) {
        const struct lm_tensor *t = &m->base.tensors[i];
        const int64_t shape[2] = {t->shape[0], t->shape[1]};
        enum kg_code code = lm_shards_read_f32(s, t->name, shape, t->rank, (float *)t->data, err);
        if (code != KG_OK) {
            return code;
        }
    }
    lm_model_pack(m);
    return KG_OK;
}

enum kg_code lm_checkpoint_open(const char *dir, struct lm_model **out, struct kg_err *err)
{
    struct lm_config c;
    struct lm_shards *s;
    *out = NULL;
    enum kg_code code = lm_checkpoint_check(dir, err);
    code = code == KG_OK ? lm_hfconfig_read(dir, &c, err) : code;
    code = code == KG_OK ? lm_shards_open(dir, &s, err) : code;
    if (code != KG_OK) {
        return code;
    }
    code = check_weights(dir, s, &c, err);
    code = code == KG_OK ? lm_model_create(&c, 0, out, err) : code;
    code = code == KG_OK ? load(s, *out, err) : code;
    lm_shards_close(s);
    if (code != KG_OK) {
        lm_model_destroy(*out);
        *out = NULL;
    }
    return code;
}

/* The engine's adapter is one rank, one scale and the same targets in all layers. */
static enum kg_code to_lora(const char *dir, const struct lm_peft *p, struct lm_lora_config *c,
                            struct kg_err *err)
{
    double scale = 0;
    for (int i = 0; i < p->layers * LM_PEFT_PROJS; i++) {
        const struct lm_peft_slot *x = &p->slot[i];
        bool alike = (x->rank > 0) == (p->slot[i % LM_PEFT_PROJS].rank > 0);
        if (x->rank > 0 && c->r == 0) {
            c->r = x->rank;
            scale = lm_peft_scale(p, x);
        }
        alike = alike && (x->rank == 0 || (x->rank == c->r && lm_peft_scale(p, x) == scale));
        if (!alike) {
            return kg_fail(err, KG_E_INPUT,
                           "%s/adapter_config.json: layer %d, %s: its rank, alpha or target "
                           "differs from the others; the engine has one for all",
                           dir, i / LM_PEFT_PROJS,
                           lm_peft_proj_name((enum lm_peft_proj)(i % LM_PEFT_PROJS)));
        }
        c->targets |= x->rank > 0 ? 1u << (i % LM_PEFT_PROJS) : 0;
    }
    c->alpha = (float)(scale * c->r);
    c->dropout = p->dropout;
    return KG_OK;
}

/* The base must be the one that state.json names; a folder of others names none. */
static enum kg_code check_base(const char *dir, const struct lm_model *m, struct kg_err *err)
{
    char hash[KG_SHA256_HEX];
    json_t *j;
    if (!lm_checkpoint_has(dir, LM_CHECKPOINT_STATE)) {
        return KG_OK;
    }
    enum kg_code code = lm_checkpoint_read_json(dir, LM_CHECKPOINT_STATE, &j, err);
    if (code != KG_OK) {
        return code;
    }
    const char *want = json_string_value(json_object_get(j, "base_sha256"));
    lm_checkpoint_hash(m, hash);
    if (want == NULL || strcmp(want, hash) != 0) {
        code = kg_fail(err, KG_E_INPUT,
                       "%s/" LM_CHECKPOINT_STATE ": base_sha256: an adapter of another model", dir);
    }
    json_decref(j);
    return code;
}

static enum kg_code fill_adapter(const struct lm_st *st, struct lm_model *m, struct kg_err *err)
{
    for (int i = 0; i < m->lora->params.n_tensors; i++) {
        const struct lm_tensor *t = &m->lora->params.tensors[i];
        const int64_t shape[2] = {t->shape[0], t->shape[1]};
        const struct lm_st_tensor *from = lm_st_find(st, t->name);
        KG_ASSERT(from != NULL); /* lm_peft_open() has checked names and shapes */
        enum kg_code code = lm_st_read_f32(from, lm_st_source(st), shape, 2, (float *)t->data, err);
        if (code != KG_OK) {
            return code;
        }
    }
    lm_model_pack(m);
    return KG_OK;
}

enum kg_code lm_checkpoint_open_adapter(const char *dir, struct lm_model *m, struct kg_err *err)
{
    struct lm_peft p;
    struct lm_st *st;
    struct lm_lora_config c = {0};
    enum kg_code code = lm_checkpoint_check(dir, err);
    code = code == KG_OK ? lm_peft_open(dir, &m->cfg, &p, &st, err) : code;
    if (code != KG_OK) {
        return code;
    }
    code = to_lora(dir, &p, &c, err);
    code = code == KG_OK ? check_base(dir, m, err) : code;
    code = code == KG_OK ? lm_lora_add(m, &c, 0, err) : code;
    if (code == KG_OK) {
        code = fill_adapter(st, m, err);
        if (code != KG_OK) {
            lm_lora_destroy(m->lora);
            m->lora = NULL;
        }
    }
    lm_st_close(st);
    lm_peft_deinit(&p);
    return code;
}

static enum kg_code read_counters(const char *dir, const json_t *state, struct lm_counters *c,
                                  struct kg_err *err)
{
    static const char *const keys[2] = {"steps", "skipped"};
    uint64_t *to[2] = {&c->steps, &c->skipped};
    const json_t *j = json_object_get(state, "trainer");
    for (int i = 0; i < 2; i++) {
        const json_t *x = json_object_get(j, keys[i]);
        if (!json_is_integer(x) || json_integer_value(x) < 0) {
            return kg_fail(err, KG_E_INPUT,
                           "%s/" LM_CHECKPOINT_STATE ": trainer.%s: not there, or not a count", dir,
                           keys[i]);
        }
        *to[i] = (uint64_t)json_integer_value(x);
    }
    return KG_OK;
}

static enum kg_code read_optim(const char *dir, struct lm_trainer *t, struct kg_err *err)
{
    char path[PATH_MAX];
    struct lm_st *st;
    int n = lm_trainer_states(t);
    snprintf(path, sizeof path, "%s/" LM_CHECKPOINT_OPTIM, dir);
    enum kg_code code = lm_st_open(path, &st, err);
    if (code != KG_OK) {
        return code;
    }
    for (int i = 0; code == KG_OK && i < n; i++) {
        struct lm_state s = lm_trainer_state(t, i);
        const int64_t shape[2] = {s.shape[0], s.shape[1]};
        const struct lm_st_tensor *x = lm_st_find(st, s.name);
        code = x == NULL ? kg_fail(err, KG_E_INPUT, "%s: no tensor %s", path, s.name)
                         : lm_st_read_f32(x, path, shape, s.rank, (float *)s.data, err);
    }
    if (code == KG_OK && lm_st_count(st) != (size_t)n) {
        code = kg_fail(err, KG_E_INPUT, "%s: has %zu tensors; the trainer has %d", path,
                       lm_st_count(st), n);
    }
    lm_st_close(st);
    return code;
}

enum kg_code lm_checkpoint_resume(const char *dir, struct lm_trainer *t, json_t **run,
                                  struct kg_err *err)
{
    json_t *state;
    enum kg_code code = lm_checkpoint_check(dir, err);
    code = code == KG_OK ? lm_checkpoint_read_json(dir, LM_CHECKPOINT_STATE, &state, err) : code;
    if (code != KG_OK) {
        return code;
    }
    code = read_counters(dir, state, lm_trainer_counters(t), err);
    code = code == KG_OK ? read_optim(dir, t, err) : code;
    if (code == KG_OK && run != NULL) {
        *run = json_incref(json_object_get(state, "run"));
    }
    json_decref(state);
    return code;
}
