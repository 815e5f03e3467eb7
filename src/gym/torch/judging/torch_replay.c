/* Repeating a verdict from the seeds of its record. */
#include "gym/torch/judging/torch_replay.h"

#include <string.h>

#include "gym/torch/judging/instance.h"

json_t *kg_treplay_parameters(const struct kg_tinstance *s)
{
    json_t *keys = json_array();
    for (int set = 0; set < 2; set++) {
        char hex[33];
        kg_key_hex(s->state_key[set], hex);
        json_array_append_new(keys, json_string(hex));
    }
    return keys;
}

json_t *kg_treplay_case(const struct kg_tinstance *s, const struct kg_tcase *c)
{
    char key[33];
    kg_key_hex(c->key, key);
    return json_pack("{s:s, s:s, s:I, s:s, s:b}", "variant", kg_instance_name(s->kind), "law",
                     kg_tlaw_name(c->law), "seed", (json_int_t)c->seed, "key", key, "applies",
                     c->applies);
}

static enum kg_code malformed(struct kg_err *err)
{
    return kg_fail(err, KG_E_INPUT,
                   "replay: a case under `private` is malformed or belongs to another problem");
}

/* All expected answers were to the old parameters. */
enum kg_code kg_treplay_take_parameters(struct kg_worker *w, struct kg_tinstance *s,
                                        const json_t *parameters, struct kg_err *err)
{
    if (kg_tinstance_open(w, s, err) != KG_OK) {
        return err->code;
    }
    for (size_t set = 0; set < 2; set++) {
        const char *hex = json_string_value(json_array_get(parameters, set));
        if (!hex || !kg_key_parse(hex, &s->state_key[set])) {
            return malformed(err);
        }
        s->state_made[set] = false;
    }
    s->state_loaded = -1;
    for (int l = 0; l < KG_TL_COUNT; l++) {
        s->cases[l].ready = false;
    }
    return KG_OK;
}

enum kg_code kg_treplay_take_case(struct kg_tinstance *s, const json_t *entry, enum kg_tlaw *law,
                                  struct kg_err *err)
{
    const char *name = json_string_value(json_object_get(entry, "law"));
    const char *key = json_string_value(json_object_get(entry, "key"));
    const json_t *seed = json_object_get(entry, "seed");
    if (!name || !kg_tlaw_parse(name, law) || !key || !json_is_integer(seed) ||
        json_integer_value(seed) < 0 || !kg_key_parse(key, &s->cases[*law].key)) {
        return malformed(err);
    }
    struct kg_tcase *c = &s->cases[*law];
    c->seed = (uint64_t)json_integer_value(seed);
    c->ready = false;
    c->forced = true;
    return KG_OK;
}
