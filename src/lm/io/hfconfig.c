/* Every key is asked for by name; a key that would change the computation is compared with the one
 * value that is supported. */
#include "lm/io/hfconfig.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json_foreign.h"

#define MAX_VOCAB (1 << 24)
#define MAX_WIDTH (1 << 20)
#define MAX_COUNT 4096

struct source {
    const json_t *j;
    const char *name;
    struct kg_err *err;
};

static bool refuse(const struct source *s, const char *key, const char *what)
{
    kg_fail(s->err, KG_E_INPUT, "%s: \"%s\" %s", s->name, key, what);
    return false;
}

/* A key that is there and not null. */
static const json_t *there(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);
    return json_is_null(v) ? NULL : v;
}

static bool get_int(const struct source *s, const char *key, int most, int *out)
{
    const json_t *v = there(s->j, key);
    if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > most) {
        kg_fail(s->err, KG_E_INPUT, "%s: \"%s\" must be a whole number from 1 to %d", s->name, key,
                most);
        return false;
    }
    *out = (int)json_integer_value(v);
    return true;
}

static bool to_positive(const struct source *s, const char *key, const json_t *v, float *out)
{
    double d = json_is_number(v) ? json_number_value(v) : 0;
    *out = (float)d;
    return (d > 0 && isfinite(*out) && *out > 0) ||
           refuse(s, key, v == NULL ? "is missing" : "must be a positive number");
}

/* Absent is `otherwise`. */
static bool get_bool(const struct source *s, const char *key, bool otherwise, bool *out)
{
    const json_t *v = there(s->j, key);
    *out = v == NULL ? otherwise : json_is_true(v);
    return v == NULL || json_is_boolean(v) || refuse(s, key, "must be true or false");
}

static bool must_be_text(const struct source *s, const char *key, const char *want)
{
    const char *v = json_string_value(there(s->j, key));
    if (v == NULL || strcmp(v, want) != 0) {
        kg_fail(s->err, KG_E_INPUT, "%s: \"%s\" is %s%.60s%s; \"%s\" is supported", s->name, key,
                v == NULL ? "missing" : "\"", v == NULL ? "" : v, v == NULL ? "" : "\"", want);
        return false;
    }
    return true;
}

static bool must_be_absent(const struct source *s, const char *key)
{
    return there(s->j, key) == NULL || refuse(s, key, "is not supported");
}

static bool get_architecture(const struct source *s, struct lm_config *c)
{
    const json_t *list = there(s->j, "architectures");
    const char *name = json_string_value(json_array_get(list, 0));
    c->qkv_bias = name != NULL && strcmp(name, "Qwen2ForCausalLM") == 0;
    c->qk_norm = name != NULL && strcmp(name, "Qwen3ForCausalLM") == 0;
    if (!c->qkv_bias && !c->qk_norm) {
        kg_fail(s->err, KG_E_INPUT,
                "%s: the first of \"architectures\" is %.60s; Qwen2ForCausalLM and "
                "Qwen3ForCausalLM are supported",
                s->name, name == NULL ? "missing" : name);
        return false;
    }
    return must_be_text(s, "model_type", c->qkv_bias ? "qwen2" : "qwen3");
}

/* rope_scaling of transformers 4 and rope_parameters of 5: an object whose type must be the plain
 * rope. */
static bool check_rope(const struct source *s, const char *key)
{
    const json_t *v = there(s->j, key);
    if (v == NULL) {
        return true;
    }
    const json_t *type = there(v, "rope_type") != NULL ? there(v, "rope_type") : there(v, "type");
    const char *name = json_string_value(type);
    if (!json_is_object(v) || name == NULL || strcmp(name, "default") != 0) {
        kg_fail(s->err, KG_E_INPUT,
                "%s: \"%s\" has the type %.60s; only the default rope is "
                "supported",
                s->name, key, name == NULL ? "(none)" : name);
        return false;
    }
    return there(v, "partial_rotary_factor") == NULL ||
           json_number_value(there(v, "partial_rotary_factor")) == 1.0 ||
           refuse(s, key, "rotates a part of each head, which is not supported");
}

static bool get_rope(const struct source *s, struct lm_config *c)
{
    const json_t *old = there(s->j, "rope_theta");
    const json_t *new = there(there(s->j, "rope_parameters"), "rope_theta");
    float theta;
    if (!check_rope(s, "rope_scaling") || !check_rope(s, "rope_parameters") ||
        !to_positive(s, "rope_theta", new != NULL ? new : old, &c->rope_theta)) {
        return false;
    }
    return old == NULL || (to_positive(s, "rope_theta", old, &theta) && theta == c->rope_theta) ||
           refuse(s, "rope_theta", "differs from that of \"rope_parameters\"");
}

static bool get_head_dim(const struct source *s, struct lm_config *c)
{
    if (there(s->j, "head_dim") != NULL) {
        if (!get_int(s, "head_dim", MAX_COUNT, &c->head_dim)) {
            return false;
        }
    } else if (c->qk_norm) {
        return refuse(s, "head_dim", "is missing");
    } else if (c->hidden % c->heads != 0) {
        return refuse(s, "hidden_size", "is not a multiple of \"num_attention_heads\"");
    } else {
        c->head_dim = c->hidden / c->heads;
    }
    return c->head_dim % 2 == 0 || refuse(s, "head_dim", "must be even");
}

static bool get_sizes(const struct source *s, struct lm_config *c)
{
    if (!get_int(s, "vocab_size", MAX_VOCAB, &c->vocab) ||
        !get_int(s, "hidden_size", MAX_WIDTH, &c->hidden) ||
        !get_int(s, "intermediate_size", MAX_WIDTH, &c->inter) ||
        !get_int(s, "num_hidden_layers", MAX_COUNT, &c->layers) ||
        !get_int(s, "num_attention_heads", MAX_COUNT, &c->heads) ||
        !get_int(s, "num_key_value_heads", MAX_COUNT, &c->kv_heads) ||
        !get_int(s, "max_position_embeddings", 1 << 30, &c->max_pos)) {
        return false;
    }
    return (c->heads % c->kv_heads == 0 ||
            refuse(s, "num_attention_heads", "is not a multiple of \"num_key_value_heads\"")) &&
           get_head_dim(s, c);
}

static bool check_windows(const struct source *s, const struct lm_config *c)
{
    bool sliding;
    const json_t *types = there(s->j, "layer_types");
    if (!get_bool(s, "use_sliding_window", false, &sliding)) {
        return false;
    }
    if (sliding) {
        return refuse(s, "use_sliding_window", "is true, which is not supported");
    }
    if (types == NULL) {
        return true;
    }
    if (json_array_size(types) != (size_t)c->layers) {
        return refuse(s, "layer_types", "has not one entry for each layer");
    }
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (type == NULL || strcmp(type, "full_attention") != 0) {
            return refuse(s, "layer_types", "has another layer than \"full_attention\"");
        }
    }
    return true;
}

static bool check_rest(const struct source *s, const struct lm_config *c)
{
    bool bias = false;
    if (c->qk_norm && !get_bool(s, "attention_bias", false, &bias)) {
        return false;
    }
    return (!bias || refuse(s, "attention_bias", "is true, which is not supported")) &&
           must_be_text(s, "hidden_act", "silu") && must_be_absent(s, "quantization_config") &&
           check_windows(s, c);
}

static bool read_all(const struct source *s, struct lm_config *c)
{
    memset(c, 0, sizeof *c);
    return get_architecture(s, c) && get_sizes(s, c) && get_rope(s, c) &&
           to_positive(s, "rms_norm_eps", there(s->j, "rms_norm_eps"), &c->rms_eps) &&
           get_bool(s, "tie_word_embeddings", false, &c->tied) && check_rest(s, c);
}

enum kg_code lm_hfconfig_parse(const char *text, size_t len, const char *source,
                               struct lm_config *out, struct kg_err *err)
{
    json_t *j;
    enum kg_code code = kg_json_parse_foreign(text, len, source, false, &j, err);
    if (code != KG_OK) {
        return code;
    }
    struct source s = {.j = j, .name = source, .err = err};
    code = KG_OK;
    if (!json_is_object(j)) {
        code = kg_fail(err, KG_E_INPUT, "%s: not a JSON object", source);
    } else if (!read_all(&s, out)) {
        code = err->code;
    }
    json_decref(j);
    return code;
}

static enum kg_code path_in(const char *dir, char path[PATH_MAX], struct kg_err *err)
{
    int len = snprintf(path, PATH_MAX, "%s/config.json", dir);
    return len > 0 && len < PATH_MAX ? KG_OK : kg_fail(err, KG_E_IO, "%s: path too long", dir);
}

enum kg_code lm_hfconfig_read(const char *dir, struct lm_config *out, struct kg_err *err)
{
    char path[PATH_MAX];
    struct kg_buf text;
    enum kg_code code = path_in(dir, path, err);
    if (code != KG_OK) {
        return code;
    }
    kg_buf_init(&text, LM_HFCONFIG_MAX_BYTES);
    code = kg_file_read(path, &text, err);
    code = code == KG_OK ? lm_hfconfig_parse(text.data, text.len, path, out, err) : code;
    kg_buf_deinit(&text);
    return code;
}

double lm_hfconfig_shortest(float f)
{
    char text[32];
    for (int digits = 1; digits < 9; digits++) {
        double d = 0;
        snprintf(text, sizeof text, "%.*g", digits, (double)f);
        if (sscanf(text, "%lf", &d) == 1 && (float)d == f) {
            return d;
        }
    }
    return (double)f;
}

static const char *torch_name(enum lm_dtype t)
{
    return t == LM_BF16 ? "bfloat16" : t == LM_F16 ? "float16" : "float32";
}

static json_t *describe(const struct lm_config *c, const struct lm_hfconfig_extra *extra)
{
    json_t *j = json_pack("{s:[s],s:s}", "architectures",
                          c->qkv_bias ? "Qwen2ForCausalLM" : "Qwen3ForCausalLM", "model_type",
                          c->qkv_bias ? "qwen2" : "qwen3");
    json_t *sizes =
        json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "vocab_size", c->vocab, "hidden_size",
                  c->hidden, "intermediate_size", c->inter, "num_hidden_layers", c->layers,
                  "num_attention_heads", c->heads, "num_key_value_heads", c->kv_heads, "head_dim",
                  c->head_dim, "max_position_embeddings", c->max_pos);
    json_t *rest = json_pack(
        "{s:s,s:f,s:f,s:n,s:{s:s,s:f},s:b,s:b,s:b,s:f,s:s,s:s}", "hidden_act", "silu",
        "rms_norm_eps", lm_hfconfig_shortest(c->rms_eps), "rope_theta",
        lm_hfconfig_shortest(c->rope_theta), "rope_scaling", "rope_parameters", "rope_type",
        "default", "rope_theta", lm_hfconfig_shortest(c->rope_theta), "tie_word_embeddings",
        (int)c->tied, "attention_bias", 0, "use_sliding_window", 0, "attention_dropout", 0.0,
        "torch_dtype", torch_name(extra->dtype), "dtype", torch_name(extra->dtype));
    json_object_update(j, sizes);
    json_object_update(j, rest);
    json_decref(sizes);
    json_decref(rest);
    if (extra->eos_id >= 0) {
        json_object_set_new(j, "eos_token_id", json_integer(extra->eos_id));
    }
    if (extra->pad_id >= 0) {
        json_object_set_new(j, "pad_token_id", json_integer(extra->pad_id));
    }
    return j;
}

enum kg_code lm_hfconfig_write(const char *dir, const struct lm_config *c,
                               const struct lm_hfconfig_extra *extra, struct kg_err *err)
{
    char path[PATH_MAX];
    struct kg_buf text;
    if (c->qkv_bias == c->qk_norm) {
        return kg_fail(err, KG_E_INPUT,
                       "%s/config.json: neither Qwen2 (bias on q, k, v) nor Qwen3 "
                       "(norms on q, k)",
                       dir);
    }
    enum kg_code code = path_in(dir, path, err);
    if (code != KG_OK) {
        return code;
    }
    json_t *j = describe(c, extra);
    kg_buf_init(&text, LM_HFCONFIG_MAX_BYTES);
    kg_json_dump_pretty(j, &text);
    kg_buf_addc(&text, '\n');
    json_decref(j);
    code = kg_file_write_atomic(path, text.data, text.len, err);
    kg_buf_deinit(&text);
    return code;
}
