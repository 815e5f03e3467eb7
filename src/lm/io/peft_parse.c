/* adapter_config.json: which projections have an adapter, and of which rank. Names and patterns are
 * matched as PEFT does: a list by the end of the module's name, a pattern against all of it. */
#include "lm/io/peft.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <math.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_foreign.h"

#define MATCH_LIMIT  100000
#define MAX_PATTERNS 65536

struct reader {
    const json_t *j;
    const char *source;
    struct lm_peft *p;
    struct kg_err *err;
};

/* One compiled pattern that must match a whole name. */
struct matcher {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static bool refuse(const struct reader *r, const char *key, const char *what)
{
    kg_fail(r->err, KG_E_INPUT, "%s: \"%.60s\" %s", r->source, key, what);
    return false;
}

static void matcher_deinit(struct matcher *m)
{
    pcre2_code_free(m->code);
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->context);
}

/* below: the pattern may also match after a dot, as the patterns of ranks do. */
static bool matcher_init(const struct reader *r, struct matcher *m, const char *pattern, bool below)
{
    int number;
    PCRE2_SIZE at;
    char text[1200];
    int len = snprintf(text, sizeof text, "%s(?:%s)", below ? "(?:.*\\.)?" : "", pattern);
    *m = (struct matcher){0};
    if (len < 0 || (size_t)len >= sizeof text) {
        return refuse(r, pattern, "is too long for a pattern");
    }
    m->code =
        pcre2_compile((PCRE2_SPTR)text, (PCRE2_SIZE)len,
                      PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C,
                      &number, &at, NULL);
    if (m->code == NULL) {
        return refuse(r, pattern, "is not a pattern");
    }
    m->data = pcre2_match_data_create(1, NULL);
    m->context = pcre2_match_context_create(NULL);
    if (m->data == NULL || m->context == NULL) {
        matcher_deinit(m);
        return refuse(r, pattern, "cannot be matched: out of memory");
    }
    pcre2_set_match_limit(m->context, MATCH_LIMIT);
    return true;
}

/* 1, 0, or -1 with *err: the pattern takes too long. */
static int matches(const struct reader *r, const struct matcher *m, const char *pattern,
                   const char *name)
{
    int n = pcre2_match(m->code, (PCRE2_SPTR)name, strlen(name), 0, 0, m->data, m->context);
    if (n < 0 && n != PCRE2_ERROR_NOMATCH) {
        refuse(r, pattern, "takes too long to match");
        return -1;
    }
    return n >= 0;
}

/* The module's name as PEFT sees it. */
static const char *module_name(int i, char out[128])
{
    char tensor[128];
    lm_peft_tensor_name(i / LM_PEFT_PROJS, (enum lm_peft_proj)(i % LM_PEFT_PROJS), 'A', tensor);
    size_t skip = strlen("base_model.model."), drop = strlen(".lora_A.weight");
    snprintf(out, 128, "%.*s", (int)(strlen(tensor) - skip - drop), tensor + skip);
    return out;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0 && (n == k || name[n - k - 1] == '.');
}

/* The slots of a model, marked by rank 1 where a target names them. */
static bool mark_list(const struct reader *r, const json_t *list)
{
    char name[128];
    for (size_t k = 0; k < json_array_size(list); k++) {
        const char *target = json_string_value(json_array_get(list, k));
        bool any = false;
        for (int i = 0; target != NULL && i < r->p->layers * LM_PEFT_PROJS; i++) {
            if (ends_with(module_name(i, name), target)) {
                r->p->slot[i].rank = 1;
                any = true;
            }
        }
        if (!any) {
            return refuse(r, target == NULL ? "target_modules" : target,
                          "of \"target_modules\" is none of the seven projections of a layer");
        }
    }
    return json_array_size(list) > 0 || refuse(r, "target_modules", "is empty");
}

static bool mark_pattern(const struct reader *r, const char *pattern)
{
    struct matcher m;
    char name[128];
    bool all = strcmp(pattern, "all-linear") == 0, any = all;
    if (!all && !matcher_init(r, &m, pattern, false)) {
        return false;
    }
    for (int i = 0; all && i < r->p->layers * LM_PEFT_PROJS; i++) {
        r->p->slot[i].rank = 1;
    }
    if (all) {
        return true;
    }
    int found = 0;
    for (int i = 0; found >= 0 && i < r->p->layers * LM_PEFT_PROJS; i++) {
        found = matches(r, &m, pattern, module_name(i, name));
        r->p->slot[i].rank = found > 0;
        any = any || found > 0;
    }
    bool outside = found >= 0 && (matches(r, &m, pattern, "lm_head") > 0 ||
                                  matches(r, &m, pattern, "model.embed_tokens") > 0);
    matcher_deinit(&m);
    if (outside) {
        return refuse(r, "target_modules", "names the embeddings or the head: not supported");
    }
    return found >= 0 && (any || refuse(r, "target_modules", "matches no projection"));
}

static bool mark_targets(const struct reader *r)
{
    const json_t *t = json_object_get(r->j, "target_modules");
    return json_is_string(t)  ? mark_pattern(r, json_string_value(t))
           : json_is_array(t) ? mark_list(r, t)
                              : refuse(r, "target_modules", "must be a list or a text");
}

static bool is_rank(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 1 &&
           json_integer_value(v) <= LM_PEFT_MAX_RANK;
}

static bool is_alpha(const json_t *v)
{
    return json_is_number(v) && isfinite(json_number_value(v));
}

/* Give every marked slot its value: the first pattern that matches it, or the general one. */
static bool apply_pattern(const struct reader *r, const char *key, bool is_of_rank, uint8_t *done)
{
    json_t *all = json_object_get(r->j, key), *value;
    const char *pattern;
    char name[128];
    if (json_object_size(all) > MAX_PATTERNS ||
        (all != NULL && !json_is_null(all) && !json_is_object(all))) {
        return refuse(r, key, "is not an object of patterns");
    }
    json_object_foreach(all, pattern, value)
    {
        struct matcher m;
        int found = 0;
        if (!(is_of_rank ? is_rank(value) : is_alpha(value))) {
            return refuse(r, pattern, "has no valid number");
        }
        if (!matcher_init(r, &m, pattern, true)) {
            return false;
        }
        for (int i = 0; found >= 0 && i < r->p->layers * LM_PEFT_PROJS; i++) {
            struct lm_peft_slot *s = &r->p->slot[i];
            found = s->rank == 0 || done[i] ? 0 : matches(r, &m, pattern, module_name(i, name));
            if (found > 0) {
                done[i] = 1;
                s->rank = is_of_rank ? (int)json_integer_value(value) : s->rank;
                s->alpha = is_of_rank ? s->alpha : json_number_value(value);
            }
        }
        matcher_deinit(&m);
        if (found < 0) {
            return false;
        }
    }
    return true;
}

static bool read_sizes(const struct reader *r)
{
    const json_t *rank = json_object_get(r->j, "r"), *alpha = json_object_get(r->j, "lora_alpha");
    size_t n = (size_t)r->p->layers * LM_PEFT_PROJS;
    if (!is_rank(rank) || !is_alpha(alpha)) {
        return refuse(r, is_rank(rank) ? "lora_alpha" : "r", "is missing or no valid number");
    }
    for (size_t i = 0; i < n; i++) {
        struct lm_peft_slot *s = &r->p->slot[i];
        s->alpha = s->rank > 0 ? json_number_value(alpha) : 0;
        s->rank = s->rank > 0 ? (int)json_integer_value(rank) : 0;
    }
    uint8_t *done = calloc(n + 1, 1);
    if (done == NULL) {
        return refuse(r, "rank_pattern", "cannot be read: out of memory");
    }
    bool ok = apply_pattern(r, "rank_pattern", true, done);
    memset(done, 0, n);
    ok = ok && apply_pattern(r, "alpha_pattern", false, done);
    free(done);
    return ok;
}

/* Not there is 0. */
static bool read_dropout(const struct reader *r)
{
    const json_t *v = json_object_get(r->j, "lora_dropout");
    double x = json_number_value(v);
    if (v != NULL && !(json_is_number(v) && x >= 0 && (float)x < 1)) {
        return refuse(r, "lora_dropout", "is no number from 0 to below 1");
    }
    r->p->dropout = (float)x;
    return true;
}

/* What is not computed must not be there: null, false, an empty list or an empty object. */
static bool check_absent(const struct reader *r)
{
    static const char *const keys[] = {
        "use_dora",          "lora_bias",
        "modules_to_save",   "target_parameters",
        "fan_in_fan_out",    "layers_to_transform",
        "layers_pattern",    "exclude_modules",
        "layer_replication", "trainable_token_indices",
        "use_qalora",        "alora_invocation_tokens",
        "use_bdlora",        "arrow_config",
        "kasa_config",       "monteclora_config",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *v = json_object_get(r->j, keys[i]);
        bool off = v == NULL || json_is_null(v) || json_is_false(v) ||
                   (json_is_array(v) && json_array_size(v) == 0) ||
                   (json_is_object(v) && json_object_size(v) == 0);
        if (!off) {
            return refuse(r, keys[i], "is set, which is not supported");
        }
    }
    return true;
}

/* Some kinds of initial values (PiSSA, OLoRA, CorDA, LoftQ) change the base as well: PEFT takes a
 * part out of its weights, and does so again when it loads the adapter. Beside the base as it is
 * stored, the numbers of such an adapter are wrong. The names below leave the base as it is. */
static bool check_initial(const struct reader *r)
{
    static const char *const plain[] = {"gaussian", "orthogonal", "eva"};
    const json_t *v = json_object_get(r->j, "init_lora_weights");
    const char *name = json_string_value(v);
    char what[300];
    if (v == NULL || json_is_null(v) || json_is_boolean(v)) {
        return true;
    }
    if (name == NULL) {
        return refuse(r, "init_lora_weights", "is neither true, false nor a name");
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strcmp(name, plain[i]) == 0) {
            return true;
        }
    }
    snprintf(what, sizeof what,
             "is \"%.40s\", which may change the weights of the base too: not supported; in PEFT, "
             "save it converted to plain LoRA (path_initial_model_for_weight_conversion), or merge "
             "it into its base",
             name);
    return refuse(r, "init_lora_weights", what);
}

static bool read_all(const struct reader *r)
{
    const char *type = json_string_value(json_object_get(r->j, "peft_type"));
    const char *bias = json_string_value(json_object_get(r->j, "bias"));
    const char *base = json_string_value(json_object_get(r->j, "base_model_name_or_path"));
    if (type == NULL || strcmp(type, "LORA") != 0) {
        return refuse(r, "peft_type", "is not LORA");
    }
    if (bias != NULL && strcmp(bias, "none") != 0) {
        return refuse(r, "bias", "is not \"none\": not supported");
    }
    r->p->rslora = json_is_true(json_object_get(r->j, "use_rslora"));
    snprintf(r->p->base, sizeof r->p->base, "%s", base == NULL ? "" : base);
    return check_absent(r) && check_initial(r) && read_dropout(r) && mark_targets(r) &&
           read_sizes(r);
}

enum kg_code lm_peft_parse(const char *text, size_t len, const char *source,
                           const struct lm_config *c, struct lm_peft *p, struct kg_err *err)
{
    json_t *j = NULL;
    memset(p, 0, sizeof *p);
    enum kg_code code = kg_json_parse_foreign(text, len, source, false, &j, err);
    code = code == KG_OK ? lm_peft_init(p, c->layers, err) : code;
    if (code == KG_OK) {
        struct reader r = {.j = j, .source = source, .p = p, .err = err};
        code = read_all(&r) ? KG_OK : err->code;
    }
    json_decref(j);
    if (code != KG_OK) {
        lm_peft_deinit(p);
    }
    return code;
}
