/* A configuration as "key=value" strings, and back. */
#include "gym/pool/settings.h"

#include <inttypes.h>
#include <string.h>

static void add_value(const struct kg_opt *o, const void *config, struct kg_buf *out)
{
    const char *at = (const char *)config + o->offset;
    switch (o->type) {
    case KG_OPT_BOOL:
        kg_buf_adds(out, *(const bool *)at ? "true" : "false");
        break;
    case KG_OPT_INT:
        kg_buf_addf(out, "%" PRId64, *(const int64_t *)(const void *)at);
        break;
    case KG_OPT_REAL:
        kg_buf_add_real(out, *(const double *)(const void *)at);
        break;
    case KG_OPT_ENUM:
        kg_buf_adds(out, o->names[*(const int *)(const void *)at]);
        break;
    default:
        kg_buf_adds(out, at);
    }
}

json_t *kg_settings_of(const struct kg_config *c)
{
    const struct kg_opts *opts = kg_config_options();
    json_t *list = json_array();
    struct kg_buf pair;
    bool good = true;
    kg_buf_init(&pair, 1 << 16);
    for (size_t i = 0; good && i < opts->n; i++) {
        kg_buf_reset(&pair);
        kg_buf_addf(&pair, "%s=", opts->table[i].key);
        add_value(&opts->table[i], c, &pair);
        good =
            kg_buf_ok(&pair) && json_array_append_new(list, kg_json_text(pair.data, pair.len)) == 0;
    }
    kg_buf_deinit(&pair);
    if (!good) { /* one that lacks would change verdicts */
        json_decref(list);
        list = NULL;
    }
    return list;
}

enum kg_code kg_settings_apply(const json_t *settings, struct kg_config *c, struct kg_err *err)
{
    size_t i;
    json_t *pair;
    json_array_foreach((json_t *)(uintptr_t)settings, i, pair)
    {
        const char *text = json_string_value(pair);
        if (!text) {
            return kg_fail(err, KG_E_USAGE, "setting %zu: a string `key=value` is needed", i + 1);
        }
        if (kg_opts_set_pair(kg_config_options(), c, text, "setting", err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}
