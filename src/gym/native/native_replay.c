/* A case of a C problem as JSON under the key `private`, and back. */
#include "gym/native/native_replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

json_t *kg_replay_case(const struct kg_problem *p, const struct kg_pooled_case *c)
{
    char key[33], jitter[17];
    json_t *dims = json_array();
    for (int i = 0; i < p->ndims; i++) {
        json_array_append_new(dims, json_integer(c->c.shape.dim[i]));
    }
    kg_key_hex(c->c.key, key);
    snprintf(jitter, sizeof jitter, "%016" PRIx64, c->c.jitter);
    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:b, s:b}", "variant", kg_variant_name(c->variant),
                     "law", kg_law_name(c->c.law), "dims", dims, "key", key, "jitter", jitter,
                     "edited", c->c.edited, "applies", c->applies);
}

static bool parse_variant(const char *name, enum kg_variant *out)
{
    for (int v = 0; name && v < KG_VARIANT_COUNT; v++) {
        if (strcmp(name, kg_variant_name((enum kg_variant)v)) == 0) {
            *out = (enum kg_variant)v;
            return true;
        }
    }
    return false;
}

/* Dims as recorded; they must be a legal shape of the problem. */
static bool parse_shape(const struct kg_problem *p, const json_t *dims, struct kg_shape *out)
{
    struct kg_shape done;
    if (!json_is_array(dims) || json_array_size(dims) != (size_t)p->ndims) {
        return false;
    }
    memset(out, 0, sizeof *out);
    for (int i = 0; i < p->ndims; i++) {
        out->dim[i] = json_integer_value(json_array_get(dims, (size_t)i));
    }
    done = *out;
    return kg_shape_complete(p, &done) && memcmp(&done, out, sizeof done) == 0;
}

enum kg_code kg_replay_parse(const struct kg_problem *p, const json_t *j, struct kg_case_pool *pool,
                             struct kg_pooled_case *out, struct kg_err *err)
{
    const char *variant = json_string_value(json_object_get(j, "variant"));
    const char *law = json_string_value(json_object_get(j, "law"));
    const char *key = json_string_value(json_object_get(j, "key"));
    const char *jitter = json_string_value(json_object_get(j, "jitter"));
    memset(out, 0, sizeof *out);
    if (!parse_variant(variant, &out->variant) || !law || !kg_law_parse(law, &out->c.law) || !key ||
        !kg_key_parse(key, &out->c.key) || !jitter ||
        !parse_shape(p, json_object_get(j, "dims"), &out->c.shape)) {
        return kg_fail(err, KG_E_INPUT,
                       "replay: a case under `private` is malformed or belongs to another problem");
    }
    out->c.jitter = strtoull(jitter, NULL, 16);
    out->c.edited = json_is_true(json_object_get(j, "edited"));
    out->number = KG_CASE_POOL_REPLAY | ++pool->replays;
    return KG_OK;
}
