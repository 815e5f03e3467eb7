/* Reads single fields of a problem: names, formulas, numbers. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "gym/problem/parse.h"

/* Keywords of gnu17, `real` (references only) and macros that gcc predefines without underscores:
 * as a parameter or function name each would break the candidate's prototype. */
static const char *const RESERVED[] = {
    "asm",      "auto",   "break", "case",   "char",     "const",  "continue", "default",
    "do",       "double", "else",  "enum",   "extern",   "float",  "for",      "goto",
    "if",       "inline", "int",   "linux",  "long",     "main",   "real",     "register",
    "restrict", "return", "short", "signed", "sizeof",   "static", "struct",   "switch",
    "typedef",  "typeof", "union", "unix",   "unsigned", "void",   "volatile", "while",
};

enum kg_code kg_parse_fail(const struct kg_parse *c, int line, const char *key, const char *fmt,
                           ...)
{
    char what[320];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return kg_fail(c->err, KG_E_PROBLEM, "%s:%d: %s: %s", c->file, line, key, what);
}

static size_t count_names(const char *const *names)
{
    size_t n = 0;
    while (names[n] != NULL) {
        n++;
    }
    return n;
}

enum kg_code kg_parse_keys(const struct kg_parse *c, const struct kg_yaml *map, const char *prefix,
                           const char *const *names)
{
    size_t n = count_names(names);
    for (const struct kg_yaml *e = map->child; e != NULL; e = e->next) {
        bool known = false;
        for (size_t k = 0; k < n; k++) {
            known = known || strcmp(e->key, names[k]) == 0;
        }
        if (known) {
            continue;
        }
        char shown[KG_EXPR_SHOW], key[KG_KEY_BYTES];
        kg_expr_show(e->key, strlen(e->key), shown);
        snprintf(key, sizeof key, "%s%s", prefix, shown);
        const char *near = kg_nearest(e->key, names, n);
        return near != NULL
                   ? kg_parse_fail(c, e->line, key, "unknown key (did you mean '%s'?)", near)
                   : kg_parse_fail(c, e->line, key, "unknown key (docs/problems.md lists them)");
    }
    return KG_OK;
}

enum kg_code kg_parse_kind(const struct kg_parse *c, const struct kg_yaml *node, const char *key,
                           enum kg_yaml_kind kind)
{
    static const char *const NAMES[] = {"a single value", "a list", "a map"};
    if (node->kind == kind) {
        return KG_OK;
    }
    return kg_parse_fail(c, node->line, key, "must be %s, not %s", NAMES[kind], NAMES[node->kind]);
}

enum kg_code kg_parse_name(const struct kg_parse *c, int line, const char *key, const char *text)
{
    char shown[KG_EXPR_SHOW];
    size_t len = strlen(text);
    bool ok = len > 0 && len <= KG_MAX_NAME_BYTES && !isdigit((unsigned char)text[0]);
    for (size_t k = 0; k < len && ok; k++) {
        ok = isalnum((unsigned char)text[k]) || text[k] == '_';
    }
    kg_expr_show(text, len, shown);
    if (!ok) {
        return kg_parse_fail(c, line, key,
                             "'%s' is no name (a C identifier of at most %d characters)", shown,
                             KG_MAX_NAME_BYTES);
    }
    for (size_t k = 0; k < sizeof RESERVED / sizeof RESERVED[0]; k++) {
        if (strcmp(text, RESERVED[k]) == 0) {
            return kg_parse_fail(c, line, key, "'%s' means something in C (choose another name)",
                                 shown);
        }
    }
    if (strncmp(text, "kgops_", 6) == 0 || strncmp(text, "__", 2) == 0) {
        return kg_parse_fail(c, line, key, "'%s' has a reserved prefix (choose another name)",
                             shown);
    }
    return KG_OK;
}

bool kg_parse_is_digits(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

enum kg_code kg_parse_count(const struct kg_parse *c, const struct kg_yaml *node, const char *key,
                            int64_t lo, int64_t hi, int64_t *out)
{
    int64_t v = 0;
    bool ok = node->kind == KG_YAML_SCALAR && kg_parse_is_digits(node->text);
    for (const char *s = node->text; ok && *s != '\0'; s++) {
        ok = !__builtin_mul_overflow(v, 10, &v) && !__builtin_add_overflow(v, *s - '0', &v);
    }
    if (!ok || v < lo || v > hi) {
        return kg_parse_fail(c, node->line, key, "must be an integer from %lld to %lld",
                             (long long)lo, (long long)hi);
    }
    *out = v;
    return KG_OK;
}

enum kg_code kg_parse_formula(const struct kg_parse *c, int line, const char *key, const char *text,
                              const struct kg_expr **out)
{
    char what[KG_KEY_BYTES + 200];
    if (strlen(text) > KG_MAX_EXPR_BYTES) {
        return kg_parse_fail(c, line, key, "longer than %d characters (name parts of it as dims)",
                             KG_MAX_EXPR_BYTES);
    }
    snprintf(what, sizeof what, "%s:%d: %s", c->file, line, key);
    return kg_expr_parse(text, c->dim_names, (size_t)c->p->ndims, what, &c->p->arena, out, c->err);
}

static enum kg_code no_value(const struct kg_parse *c, int line, const char *key)
{
    return kg_parse_fail(c, line, key,
                         "has no value at the default dims (division by zero, overflow, or the "
                         "root or logarithm of a negative number)");
}

enum kg_code kg_parse_int(const struct kg_parse *c, int line, const char *key, const char *text,
                          const struct kg_expr **out, int64_t *at_default)
{
    enum kg_code code = kg_parse_formula(c, line, key, text, out);
    if (code != KG_OK) {
        return code;
    }
    if (kg_expr_is_real(*out)) {
        return kg_parse_fail(c, line, key, "must be an integer (this is a real number)");
    }
    return kg_expr_int(*out, c->def.dim, at_default) ? KG_OK : no_value(c, line, key);
}

enum kg_code kg_parse_real(const struct kg_parse *c, int line, const char *key, const char *text,
                           const struct kg_expr **out, double *at_default)
{
    enum kg_code code = kg_parse_formula(c, line, key, text, out);
    if (code != KG_OK) {
        return code;
    }
    return kg_expr_real(*out, c->def.dim, at_default) ? KG_OK : no_value(c, line, key);
}
