/* Opens a pool whose settings are every key of a configuration. */
#include "gym/pool/configured.h"

#include <stdlib.h>
#include <string.h>

#include "gym/pool/settings.h"

enum kg_code kg_pool_error(const struct kgym_error *e, struct kg_err *err)
{
    if (e->code == KGYM_OK) {
        return KG_OK;
    }
    kg_fail(err, (enum kg_code)e->code, "%s", e->message);
    for (int b = KG_BLAME_HOST; b <= KG_BLAME_CANDIDATE; b++) {
        if (strcmp(e->blame, kg_blame_name((enum kg_blame)b)) == 0) {
            err->blame = (enum kg_blame)b;
        }
    }
    return err->code;
}

enum kg_code kg_pool_open(const struct kg_config *c, const struct kgym_options *options,
                          struct kgym_pool **out, struct kg_err *err)
{
    json_t *list = kg_settings_of(c);
    size_t n = json_array_size(list);
    const char **settings = calloc(n + 1, sizeof *settings);
    struct kgym_error e = {.code = KGYM_E_LIMIT, .message = "no memory for a pool"};
    if (settings && list) {
        struct kgym_options o = *options;
        for (size_t i = 0; i < n; i++) {
            settings[i] = json_string_value(json_array_get(list, i));
        }
        o.size = sizeof o;
        o.settings = settings;
        o.nsettings = n;
        (void)kgym_open(&o, out, &e);
    }
    free(settings);
    json_decref(list);
    return kg_pool_error(&e, err);
}
