/* Reads the arguments of a problem: name, type, role, value, range. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gym/problem/parse.h"

static const char *const ARG_KEYS[] = {"name", "type", "role", "range", "value", NULL};
static const char *const ROLES[] = {"in", "out", "dim", "param"};

/* "args.NAME" or "args.NAME.field" for messages. */
static const char *arg_key(const struct kg_arg *a, const char *field, char out[KG_KEY_BYTES])
{
    snprintf(out, KG_KEY_BYTES, "args.%s%s%s", a->name, *field == '\0' ? "" : ".", field);
    return out;
}

static int index_in(const char *word, size_t len, const char *const *list, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (strlen(list[k]) == len && strncmp(list[k], word, len) == 0) {
            return (int)k;
        }
    }
    return -1;
}

static bool holds(enum kg_dtype t, double v)
{
    switch (t) {
    case KG_F32:
        return fabs(v) <= FLT_MAX;
    case KG_I32:
        return v >= INT32_MIN && v <= INT32_MAX;
    case KG_I64:
        return fabs(v) <= 9007199254740992.0; /* 2^53: ranges and values pass through double */
    default:
        return isfinite(v);
    }
}

/* One integer or real expression, as the dtype needs, whose default value the dtype holds. */
static enum kg_code read_bound(const struct kg_parse *c, const struct kg_arg *a, const char *key,
                               const struct kg_yaml *node, const struct kg_expr **out, double *v)
{
    enum kg_code code = kg_parse_kind(c, node, key, KG_YAML_SCALAR);
    if (code != KG_OK) {
        return code;
    }
    if (a->dtype == KG_I32 || a->dtype == KG_I64) {
        int64_t i = 0;
        code = kg_parse_int(c, node->line, key, node->text, out, &i);
        *v = (double)i;
    } else {
        code = kg_parse_real(c, node->line, key, node->text, out, v);
    }
    if (code == KG_OK && !holds(a->dtype, *v)) {
        return kg_parse_fail(c, node->line, key, "%g does not fit %s", *v, kg_dtype_name(a->dtype));
    }
    return code;
}

static enum kg_code read_range(const struct kg_parse *c, struct kg_arg *a,
                               const struct kg_yaml *node)
{
    char key[KG_KEY_BYTES];
    double lo, hi;
    arg_key(a, "range", key);
    enum kg_code code = kg_parse_kind(c, node, key, KG_YAML_LIST);
    if (code != KG_OK) {
        return code;
    }
    const struct kg_yaml *first = node->child;
    if (first == NULL || first->next == NULL || first->next->next != NULL) {
        return kg_parse_fail(c, node->line, key, "must be two values, [lo, hi], hi excluded");
    }
    code = read_bound(c, a, key, first, &a->lo, &lo);
    if (code == KG_OK) {
        code = read_bound(c, a, key, first->next, &a->hi, &hi);
    }
    if (code == KG_OK && !(lo < hi)) {
        return kg_parse_fail(c, node->line, key, "is empty: %g is not below %g (hi is excluded)",
                             lo, hi);
    }
    a->has_range = code == KG_OK;
    return code;
}

static enum kg_code check_role(const struct kg_parse *c, struct kg_arg *a)
{
    char key[KG_KEY_BYTES];
    bool array = a->role == KG_ROLE_IN || a->role == KG_ROLE_OUT;
    a->dim = index_in(a->name, strlen(a->name), c->dim_names, (size_t)c->p->ndims);
    if (array && a->rank == 0) {
        return kg_parse_fail(c, a->line, arg_key(a, "type", key),
                             "role %s needs an array such as %s[n] (scalars are dim or param)",
                             kg_role_name(a->role), kg_dtype_name(a->dtype));
    }
    if (!array && a->rank > 0) {
        return kg_parse_fail(c, a->line, arg_key(a, "type", key),
                             "role %s needs a scalar (arrays are in or out)",
                             kg_role_name(a->role));
    }
    if (a->role != KG_ROLE_DIM) {
        return a->dim < 0
                   ? KG_OK
                   : kg_parse_fail(c, a->line, arg_key(a, "role", key),
                                   "'%s' is a dim (make the role dim, or rename it)", a->name);
    }
    if (a->dtype != KG_I64) {
        return kg_parse_fail(c, a->line, arg_key(a, "type", key), "a dim is passed as i64");
    }
    if (a->dim < 0) {
        const char *near = kg_nearest(a->name, c->dim_names, (size_t)c->p->ndims);
        return kg_parse_fail(c, a->line, arg_key(a, "name", key),
                             "role dim, but there is no dim '%s'%s%s%s", a->name,
                             near != NULL ? " (did you mean '" : " (declare it in dims)",
                             near != NULL ? near : "", near != NULL ? "'?)" : "");
    }
    return KG_OK;
}

static enum kg_code read_values(const struct kg_parse *c, struct kg_arg *a,
                                const struct kg_yaml *node)
{
    char key[KG_KEY_BYTES];
    const struct kg_yaml *range = kg_yaml_get(node, "range"), *value = kg_yaml_get(node, "value");
    if (range != NULL && a->role != KG_ROLE_IN && a->role != KG_ROLE_PARAM) {
        return kg_parse_fail(c, range->line, arg_key(a, "range", key),
                             "only inputs and params have a range");
    }
    if (value != NULL && a->role != KG_ROLE_PARAM) {
        return kg_parse_fail(c, value->line, arg_key(a, "value", key), "only params have a value");
    }
    if (value == NULL && a->role == KG_ROLE_PARAM) {
        return kg_parse_fail(c, a->line, arg_key(a, "", key), "a param needs a value");
    }
    double v = 0;
    enum kg_code code = KG_OK;
    if (value != NULL) {
        code = read_bound(c, a, arg_key(a, "value", key), value, &a->value, &v);
    }
    code = code == KG_OK && range != NULL ? read_range(c, a, range) : code;
    double lo = 0, hi = 0;
    int index = (int)(a - c->p->args);
    bool drawn = code == KG_OK && range != NULL && value != NULL;
    if (drawn && kg_arg_range(c->p, index, &c->def, &lo, &hi) && !(v >= lo && v < hi)) {
        return kg_parse_fail(c, value->line, arg_key(a, "value", key),
                             "%g is outside the range, %g to below %g", v, lo, hi);
    }
    return code;
}

/* A required scalar of an argument. */
static enum kg_code field(const struct kg_parse *c, const struct kg_yaml *node, const char *key,
                          const char *name, const char **out)
{
    char whole[KG_KEY_BYTES];
    const struct kg_yaml *n = kg_yaml_get(node, name);
    if (n == NULL) {
        return kg_parse_fail(c, node->line, key, "has no %s", name);
    }
    snprintf(whole, sizeof whole, "%s.%s", key, name);
    enum kg_code code = kg_parse_kind(c, n, whole, KG_YAML_SCALAR);
    if (code == KG_OK) {
        *out = n->text;
    }
    return code;
}

static enum kg_code read_role(const struct kg_parse *c, struct kg_arg *a, const char *text)
{
    char key[KG_KEY_BYTES], shown[KG_EXPR_SHOW];
    int role = index_in(text, strlen(text), ROLES, 4);
    if (role < 0) {
        return kg_parse_fail(c, a->line, arg_key(a, "role", key),
                             "'%s' is no role (in, out, dim or param)",
                             kg_expr_show(text, strlen(text), shown));
    }
    a->role = (enum kg_role)role;
    return KG_OK;
}

static enum kg_code read_name(struct kg_parse *c, struct kg_arg *a, const struct kg_yaml *node,
                              const char *key)
{
    const char *text = "";
    enum kg_code code = field(c, node, key, "name", &text);
    if (code == KG_OK) {
        code = kg_parse_name(c, node->line, key, text);
    }
    for (int k = 0; k < c->p->nargs && code == KG_OK; k++) {
        if (strcmp(c->p->args[k].name, text) == 0) {
            return kg_parse_fail(c, node->line, key, "'%s' is already the name of an argument",
                                 text);
        }
    }
    if (code == KG_OK) {
        a->name = kg_arena_dup(&c->p->arena, text, strlen(text), c->err);
        code = a->name == NULL ? c->err->code : KG_OK;
    }
    return code;
}

static enum kg_code read_arg(struct kg_parse *c, struct kg_arg *a, const struct kg_yaml *node)
{
    char key[KG_KEY_BYTES], prefix[KG_KEY_BYTES + 1];
    const char *type = "", *role = "";
    snprintf(key, sizeof key, "args[%d]", c->p->nargs);
    enum kg_code code = kg_parse_kind(c, node, key, KG_YAML_MAP);
    if (code == KG_OK) {
        a->line = node->line;
        code = read_name(c, a, node, key);
    }
    if (code != KG_OK) {
        return code;
    }
    arg_key(a, "", key);
    snprintf(prefix, sizeof prefix, "%s.", key);
    code = kg_parse_keys(c, node, prefix, ARG_KEYS);
    if (code == KG_OK) {
        code = field(c, node, key, "type", &type);
    }
    if (code == KG_OK) {
        code = field(c, node, key, "role", &role);
    }
    if (code == KG_OK) {
        code = kg_parse_arg_type(c, a, node->line, arg_key(a, "type", key), type);
    }
    if (code == KG_OK) {
        code = read_role(c, a, role);
    }
    if (code == KG_OK) {
        code = check_role(c, a);
    }
    return code == KG_OK ? read_values(c, a, node) : code;
}

enum kg_code kg_parse_args(struct kg_parse *c, const struct kg_yaml *list)
{
    enum kg_code code = kg_parse_kind(c, list, "args", KG_YAML_LIST);
    for (const struct kg_yaml *e = code == KG_OK ? list->child : NULL; e != NULL; e = e->next) {
        if (c->p->nargs == KG_MAX_ARGS) {
            return kg_parse_fail(c, e->line, "args", "more than %d arguments", KG_MAX_ARGS);
        }
        code = read_arg(c, &c->p->args[c->p->nargs], e);
        if (code != KG_OK) {
            return code;
        }
        c->p->nargs++;
    }
    return code;
}
