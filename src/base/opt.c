/* Option tables: checks of a table, defaults, and setting one option from text. */
#include "base/opt.h"

#include "base/opt_table.h"
#include "base/yaml.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_OPTIONS 256 /* of one table */

const struct kg_opt *kg_opt_find(const struct kg_opts *o, const char *key)
{
    for (size_t i = 0; i < o->n; i++) {
        if (strcmp(o->table[i].key, key) == 0) {
            return &o->table[i];
        }
    }
    return NULL;
}

void kg_opt_flag_name(const struct kg_opt *opt, char out[KG_OPT_KEY_MAX])
{
    size_t i = 0;
    for (; i < KG_OPT_KEY_MAX - 1 && opt->key[i] != '\0'; i++) {
        char c = opt->key[i];
        out[i] = c == '.' || c == '_' ? '-' : c;
    }
    out[i] = '\0';
}

void kg_opt_env_name(const struct kg_opt *opt, char out[KG_OPT_KEY_MAX + 8])
{
    snprintf(out, KG_OPT_KEY_MAX + 8, "KGYM_%s", opt->key);
    for (char *p = out; *p != '\0'; p++) {
        *p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
    }
}

static bool field_fits(const struct kg_opt *opt)
{
    switch (opt->type) {
    case KG_OPT_BOOL:
        return opt->size == sizeof(bool);
    case KG_OPT_INT:
        return opt->size == sizeof(int64_t) && opt->lo <= opt->hi;
    case KG_OPT_REAL:
        return opt->size == sizeof(double) && opt->lo <= opt->hi;
    case KG_OPT_STRING:
        return opt->size > 0;
    case KG_OPT_ENUM:
        return opt->size == sizeof(int) && opt->names != NULL && opt->names[0] != NULL;
    }
    return false;
}

/* Flags are what collides first: `a.b`, `a_b` and the `--no-` of a boolean `b` beside a `no.b`. */
static bool spelling_unique(const struct kg_opts *o, size_t at)
{
    char flag[KG_OPT_KEY_MAX], no_flag[KG_OPT_KEY_MAX + 8], other[KG_OPT_KEY_MAX];
    kg_opt_flag_name(&o->table[at], flag);
    snprintf(no_flag, sizeof no_flag, "no-%s", flag);
    for (size_t i = 0; i < o->n; i++) {
        kg_opt_flag_name(&o->table[i], other);
        if ((i != at && strcmp(flag, other) == 0) ||
            (o->table[at].type == KG_OPT_BOOL && strcmp(no_flag, other) == 0)) {
            return false;
        }
    }
    return true;
}

void kg_opts_defaults(const struct kg_opts *o, void *config)
{
    KG_ASSERT(o->n <= MAX_OPTIONS);
    for (size_t i = 0; i < o->n; i++) {
        const struct kg_opt *opt = &o->table[i];
        struct kg_err err = KG_ERR_INIT;
        KG_ASSERT(strlen(opt->key) < KG_OPT_KEY_MAX && opt->unit != NULL && opt->help != NULL);
        KG_ASSERT(strspn(opt->key, "abcdefghijklmnopqrstuvwxyz0123456789._") == strlen(opt->key));
        KG_ASSERT(field_fits(opt));
        KG_ASSERT(spelling_unique(o, i));
        KG_ASSERT(kg_opt_store(opt, config, opt->def, "default", &err) == KG_OK);
    }
}

static enum kg_code unknown(const struct kg_opts *o, const char *key, const char *source,
                            struct kg_err *err)
{
    const char *keys[MAX_OPTIONS];
    size_t n = o->n < MAX_OPTIONS ? o->n : MAX_OPTIONS;
    for (size_t i = 0; i < n; i++) {
        keys[i] = o->table[i].key;
    }
    const char *near = kg_nearest(key, keys, n);
    if (near == NULL) {
        return kg_fail(err, KG_E_USAGE, "%s: unknown option `%.80s`", source, key);
    }
    return kg_fail(err, KG_E_USAGE, "%s: unknown option `%.80s`, did you mean `%s`?", source, key,
                   near);
}

enum kg_code kg_opt_pass_on(const struct kg_opts *o, void *config, const char *key, size_t i,
                            const char *value, const char *source, struct kg_err *err)
{
    bool taken = false;
    enum kg_code code =
        o->other != NULL ? o->other(config, key, i, value, source, &taken, err) : KG_OK;
    return code != KG_OK || taken ? code : unknown(o, key, source, err);
}

enum kg_code kg_opts_set(const struct kg_opts *o, void *config, const char *key, const char *value,
                         const char *source, struct kg_err *err)
{
    const struct kg_opt *opt = kg_opt_find(o, key);
    if (opt == NULL) {
        return kg_opt_pass_on(o, config, key, 0, value, source, err);
    }
    return kg_opt_store(opt, config, value, source, err);
}

enum kg_code kg_opts_set_pair(const struct kg_opts *o, void *config, const char *key_eq_value,
                              const char *source, struct kg_err *err)
{
    const char *eq = strchr(key_eq_value, '=');
    if (eq == NULL) {
        return kg_fail(err, KG_E_USAGE, "%s: `%.80s` is not of the form key=value", source,
                       key_eq_value);
    }
    char key[256];
    snprintf(key, sizeof key, "%.*s", (int)(eq - key_eq_value < 255 ? eq - key_eq_value : 255),
             key_eq_value);
    return kg_opts_set(o, config, key, eq + 1, source, err);
}
