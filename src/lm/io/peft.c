/* Slots, names, shapes, and the files. Reading adapter_config.json is in peft_parse.c. */
#include "lm/io/peft.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "lm/io/hfconfig.h"
#include "lm/io/safetensors_write.h"

static const struct {
    const char *block, *name;
} projs[LM_PEFT_PROJS] = {
    {"self_attn", "q_proj"}, {"self_attn", "k_proj"}, {"self_attn", "v_proj"},
    {"self_attn", "o_proj"}, {"mlp", "gate_proj"},    {"mlp", "up_proj"},
    {"mlp", "down_proj"},
};

enum kg_code lm_peft_init(struct lm_peft *p, int layers, struct kg_err *err)
{
    memset(p, 0, sizeof *p);
    p->slot = calloc((size_t)layers * LM_PEFT_PROJS, sizeof *p->slot);
    p->layers = layers;
    return p->slot != NULL ? KG_OK
                           : kg_fail_memory(err, KG_E_HOST, "out of memory for %d layers", layers);
}

void lm_peft_deinit(struct lm_peft *p)
{
    free(p->slot);
    memset(p, 0, sizeof *p);
}

struct lm_peft_slot *lm_peft_at(const struct lm_peft *p, int layer, enum lm_peft_proj proj)
{
    KG_ASSERT(layer >= 0 && layer < p->layers && proj < LM_PEFT_PROJS);
    return &p->slot[layer * LM_PEFT_PROJS + (int)proj];
}

double lm_peft_scale(const struct lm_peft *p, const struct lm_peft_slot *slot)
{
    return slot->rank == 0 ? 0
           : p->rslora     ? slot->alpha / sqrt(slot->rank)
                           : slot->alpha / slot->rank;
}

const char *lm_peft_proj_name(enum lm_peft_proj proj)
{
    return projs[proj].name;
}

void lm_peft_tensor_name(int layer, enum lm_peft_proj proj, char which, char out[128])
{
    snprintf(out, 128, "base_model.model.model.layers.%d.%s.%s.lora_%c.weight", layer,
             projs[proj].block, projs[proj].name, which);
}

void lm_peft_shape(const struct lm_config *c, enum lm_peft_proj proj, char which, int rank,
                   int64_t shape[2])
{
    int64_t q = (int64_t)c->heads * c->head_dim, kv = (int64_t)c->kv_heads * c->head_dim;
    int64_t in = proj == LM_PEFT_O ? q : proj == LM_PEFT_DOWN ? c->inter : c->hidden;
    int64_t out = proj == LM_PEFT_Q                            ? q
                  : proj == LM_PEFT_K || proj == LM_PEFT_V     ? kv
                  : proj == LM_PEFT_GATE || proj == LM_PEFT_UP ? c->inter
                                                               : c->hidden;
    shape[0] = which == 'A' ? rank : out;
    shape[1] = which == 'A' ? in : rank;
}

static enum kg_code check_tensor(const struct lm_st *st, const struct lm_config *c, int layer,
                                 enum lm_peft_proj proj, char which, int rank, struct kg_err *err)
{
    char name[128], have[128], want[128];
    int64_t shape[2];
    lm_peft_tensor_name(layer, proj, which, name);
    lm_peft_shape(c, proj, which, rank, shape);
    const struct lm_st_tensor *t = lm_st_find(st, name);
    if (t == NULL) {
        return kg_fail(err, KG_E_INPUT, "%s: no tensor %s, which adapter_config.json names",
                       lm_st_source(st), name);
    }
    if (t->rank != 2 || t->shape[0] != shape[0] || t->shape[1] != shape[1] ||
        !lm_dtype_is_float(t->dtype)) {
        return kg_fail(err, KG_E_INPUT,
                       "%s: tensor %s is %.20s %s; a floating type of shape %s is "
                       "needed",
                       lm_st_source(st), name, t->dtype_name,
                       lm_st_shape_text(t->shape, t->rank, have, sizeof have),
                       lm_st_shape_text(shape, 2, want, sizeof want));
    }
    return KG_OK;
}

/* Which tensor is one too many. */
static enum kg_code fail_extra(const struct lm_st *st, const struct lm_peft *p, struct kg_err *err)
{
    for (size_t k = 0; k < lm_st_count(st); k++) {
        const char *name = lm_st_at(st, k)->name;
        bool wanted = false;
        for (int i = 0; !wanted && i < p->layers * LM_PEFT_PROJS; i++) {
            char a[128], b[128];
            lm_peft_tensor_name(i / LM_PEFT_PROJS, (enum lm_peft_proj)(i % LM_PEFT_PROJS), 'A', a);
            lm_peft_tensor_name(i / LM_PEFT_PROJS, (enum lm_peft_proj)(i % LM_PEFT_PROJS), 'B', b);
            wanted = p->slot[i].rank > 0 && (strcmp(a, name) == 0 || strcmp(b, name) == 0);
        }
        if (!wanted) {
            return kg_fail(err, KG_E_INPUT,
                           "%s: tensor %.100s has no place in this model, or "
                           "adapter_config.json does not name it",
                           lm_st_source(st), name);
        }
    }
    return KG_OK;
}

static enum kg_code check_tensors(const struct lm_st *st, const struct lm_config *c,
                                  const struct lm_peft *p, struct kg_err *err)
{
    size_t wanted = 0;
    for (int i = 0; i < p->layers * LM_PEFT_PROJS; i++) {
        int layer = i / LM_PEFT_PROJS, rank = p->slot[i].rank;
        enum lm_peft_proj proj = (enum lm_peft_proj)(i % LM_PEFT_PROJS);
        if (rank == 0) {
            continue;
        }
        enum kg_code code = check_tensor(st, c, layer, proj, 'A', rank, err);
        code = code == KG_OK ? check_tensor(st, c, layer, proj, 'B', rank, err) : code;
        if (code != KG_OK) {
            return code;
        }
        wanted += 2;
    }
    return lm_st_count(st) == wanted ? KG_OK : fail_extra(st, p, err);
}

static enum kg_code open_files(const char *dir, const struct lm_config *c, struct lm_peft *p,
                               struct lm_st **st, struct kg_err *err)
{
    char path[PATH_MAX];
    struct kg_buf text;
    kg_buf_init(&text, LM_PEFT_MAX_BYTES);
    snprintf(path, sizeof path, "%s/adapter_config.json", dir);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code == KG_OK ? lm_peft_parse(text.data, text.len, path, c, p, err) : code;
    kg_buf_deinit(&text);
    if (code != KG_OK) {
        return code;
    }
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", dir);
    code = lm_st_open(path, st, err);
    return code == KG_OK ? check_tensors(*st, c, p, err) : code;
}

enum kg_code lm_peft_open(const char *dir, const struct lm_config *c, struct lm_peft *p,
                          struct lm_st **st, struct kg_err *err)
{
    memset(p, 0, sizeof *p);
    *st = NULL;
    enum kg_code code = strlen(dir) > PATH_MAX - 64
                            ? kg_fail(err, KG_E_IO, "%s: path too long", dir)
                            : open_files(dir, c, p, st, err);
    if (code != KG_OK) {
        lm_st_close(*st);
        *st = NULL;
        lm_peft_deinit(p);
    }
    return code;
}

/* Targets by their short names where all layers are alike, by full names otherwise; what differs
 * from the first adapter goes to the patterns. */
static json_t *describe(const struct lm_peft *p, const struct lm_peft_slot *first)
{
    json_t *targets = json_array(), *ranks = json_object(), *alphas = json_object();
    char name[128];
    bool alike = true;
    for (int i = 0; i < p->layers * LM_PEFT_PROJS; i++) {
        alike = alike && (p->slot[i].rank > 0) == (p->slot[i % LM_PEFT_PROJS].rank > 0);
    }
    for (int i = 0; i < p->layers * LM_PEFT_PROJS; i++) {
        int k = i % LM_PEFT_PROJS;
        if (p->slot[i].rank == 0) {
            continue;
        }
        snprintf(name, sizeof name, "layers.%d.%s.%s", i / LM_PEFT_PROJS, projs[k].block,
                 projs[k].name);
        if (!alike || i < LM_PEFT_PROJS) {
            json_array_append_new(targets, json_string(alike ? projs[k].name : name));
        }
        if (p->slot[i].rank != first->rank) {
            json_object_set_new(ranks, name, json_integer(p->slot[i].rank));
        }
        if (p->slot[i].alpha != first->alpha) {
            json_object_set_new(alphas, name, json_real(p->slot[i].alpha));
        }
    }
    json_t *alpha = first->alpha == floor(first->alpha) && first->alpha < 1e9
                        ? json_integer((json_int_t)first->alpha)
                        : json_real(first->alpha);
    return json_pack("{s:s,s:s,s:s,s:i,s:o,s:f,s:o,s:s,s:b,s:b,s:b,s:b,s:b,s:n,s:o,s:o}",
                     "peft_type", "LORA", "task_type", "CAUSAL_LM", "base_model_name_or_path",
                     p->base, "r", first->rank, "lora_alpha", alpha, "lora_dropout",
                     lm_hfconfig_shortest(p->dropout), "target_modules", targets, "bias", "none",
                     "fan_in_fan_out", 0, "use_rslora", (int)p->rslora, "use_dora", 0,
                     "init_lora_weights", 1, "inference_mode", 1, "modules_to_save", "rank_pattern",
                     ranks, "alpha_pattern", alphas);
}

static enum kg_code write_weights(const char *path, const struct lm_config *c,
                                  const struct lm_peft *p, const float *const *a,
                                  const float *const *b, enum lm_dtype dtype, struct kg_err *err)
{
    size_t most = (size_t)p->layers * LM_PEFT_PROJS * 2, n = 0;
    struct lm_st_item *items = calloc(most, sizeof *items);
    char(*names)[128] = calloc(most, sizeof *names);
    if (items == NULL || names == NULL) {
        free(items);
        free(names);
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    for (size_t i = 0; i < most; i++) {
        size_t at = i / 2;
        char which = i % 2 == 0 ? 'A' : 'B';
        enum lm_peft_proj proj = (enum lm_peft_proj)(at % LM_PEFT_PROJS);
        if (p->slot[at].rank > 0) {
            lm_peft_tensor_name((int)(at / LM_PEFT_PROJS), proj, which, names[n]);
            items[n] = (struct lm_st_item){.name = names[n],
                                           .dtype = dtype,
                                           .rank = 2,
                                           .from_f32 = true,
                                           .data = which == 'A' ? a[at] : b[at]};
            lm_peft_shape(c, proj, which, p->slot[at].rank, items[n++].shape);
        }
    }
    enum kg_code code = lm_st_write(path, items, n, err);
    free(items);
    free(names);
    return code;
}

static enum kg_code write_config(const char *path, const struct lm_peft *p,
                                 const struct lm_peft_slot *first, struct kg_err *err)
{
    struct kg_buf text;
    json_t *j = describe(p, first);
    if (j == NULL) {
        return kg_fail(err, KG_E_INPUT, "%s: the name of the base model is not UTF-8", path);
    }
    kg_buf_init(&text, LM_PEFT_MAX_BYTES);
    kg_json_dump_pretty(j, &text);
    kg_buf_addc(&text, '\n');
    json_decref(j);
    enum kg_code code = kg_buf_ok(&text) ? kg_file_write_atomic(path, text.data, text.len, err)
                                         : kg_fail(err, KG_E_LIMIT, "%s: more than %u bytes", path,
                                                   LM_PEFT_MAX_BYTES);
    kg_buf_deinit(&text);
    return code;
}

enum kg_code lm_peft_write(const char *dir, const struct lm_config *c, const struct lm_peft *p,
                           const float *const *a, const float *const *b, enum lm_dtype dtype,
                           struct kg_err *err)
{
    char path[PATH_MAX];
    const struct lm_peft_slot *first = NULL;
    for (int i = 0; first == NULL && i < p->layers * LM_PEFT_PROJS; i++) {
        first = p->slot[i].rank > 0 ? &p->slot[i] : NULL;
    }
    if (first == NULL || strlen(dir) > PATH_MAX - 64) {
        return kg_fail(err, KG_E_INPUT, "%s: %s", dir,
                       first == NULL ? "an adapter without any matrix" : "path too long");
    }
    snprintf(path, sizeof path, "%s/adapter_model.safetensors", dir);
    enum kg_code code = write_weights(path, c, p, a, b, dtype, err);
    if (code != KG_OK) {
        return code;
    }
    snprintf(path, sizeof path, "%s/adapter_config.json", dir);
    return write_config(path, p, first, err);
}
