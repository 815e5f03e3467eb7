/* Reads the dimensions of a problem: plain numbers, and formulas over other dimensions. */
#include <stdio.h>
#include <string.h>

#include "gym/problem/parse.h"

/* All names are known before the first formula is read, so that a formula over a later dim is told
 * apart from a misspelt one. */
static enum kg_code read_names(struct kg_parse *c, const struct kg_yaml *map)
{
    for (const struct kg_yaml *e = map->child; e != NULL; e = e->next) {
        if (c->p->ndims == KG_MAX_DIMS) {
            return kg_parse_fail(c, e->line, "dims", "more than %d dims", KG_MAX_DIMS);
        }
        enum kg_code code = kg_parse_name(c, e->line, "dims", e->key);
        if (code != KG_OK) {
            return code;
        }
        const char *name = kg_arena_dup(&c->p->arena, e->key, strlen(e->key), c->err);
        if (name == NULL) {
            return c->err->code;
        }
        c->dim_names[c->p->ndims] = name;
        c->p->dims[c->p->ndims++].name = name;
    }
    return KG_OK;
}

static enum kg_code read_derived(struct kg_parse *c, int k, const struct kg_yaml *node,
                                 const char *key)
{
    struct kg_dim *d = &c->p->dims[k];
    enum kg_code code = kg_parse_formula(c, node->line, key, node->text, &d->by);
    if (code != KG_OK) {
        return code;
    }
    uint64_t later = kg_expr_uses(d->by) >> k;
    if (later != 0) {
        return kg_parse_fail(c, node->line, key,
                             "uses '%s', which is not an earlier dim (dims are read in order)",
                             c->dim_names[k + __builtin_ctzll(later)]);
    }
    code = kg_parse_int(c, node->line, key, node->text, &d->by, &d->def);
    if (code == KG_OK && (d->def < 1 || d->def > KG_MAX_DIM)) {
        return kg_parse_fail(c, node->line, key, "is %lld at the default dims (must be 1 to %d)",
                             (long long)d->def, KG_MAX_DIM);
    }
    return code;
}

enum kg_code kg_parse_dims(struct kg_parse *c, const struct kg_yaml *map)
{
    enum kg_code code = kg_parse_kind(c, map, "dims", KG_YAML_MAP);
    if (code == KG_OK) {
        code = read_names(c, map);
    }
    const struct kg_yaml *e = map->child;
    for (int k = 0; k < c->p->ndims && code == KG_OK; k++, e = e->next) {
        char key[KG_KEY_BYTES];
        snprintf(key, sizeof key, "dims.%s", c->dim_names[k]);
        code = kg_parse_kind(c, e, key, KG_YAML_SCALAR);
        if (code == KG_OK && kg_parse_is_digits(e->text)) {
            code = kg_parse_count(c, e, key, 1, KG_MAX_DIM, &c->p->dims[k].def);
        } else if (code == KG_OK) {
            code = read_derived(c, k, e, key);
        }
        c->def.dim[k] = c->p->dims[k].def;
    }
    return code;
}
