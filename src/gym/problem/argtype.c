/* Reads the type of an argument, such as "f32[rows,cols]". */
#include <string.h>

#include "gym/problem/parse.h"

static bool find_dtype(const char *text, size_t len, enum kg_dtype *out)
{
    for (int t = KG_F32; t <= KG_I64; t++) {
        if (len == 3 && strncmp(kg_dtype_name((enum kg_dtype)t), text, 3) == 0) {
            *out = (enum kg_dtype)t;
            return true;
        }
    }
    return false;
}

/* End of the extent at s: the next ',' or ']' outside parentheses (min(a,b) holds a comma), or
 * NULL. */
static const char *extent_end(const char *s)
{
    for (int depth = 0; *s != '\0'; s++) {
        depth += (*s == '(') - (*s == ')');
        if (depth <= 0 && (*s == ',' || *s == ']')) {
            return s;
        }
    }
    return NULL;
}

static enum kg_code read_extent(const struct kg_parse *c, struct kg_arg *a, int line,
                                const char *key, const char *start, size_t len)
{
    char text[KG_MAX_EXPR_BYTES + 1];
    int64_t extent;
    if (a->rank == KG_MAX_RANK) {
        return kg_parse_fail(c, line, key, "more than %d extents", KG_MAX_RANK);
    }
    if (len >= sizeof text) {
        return kg_parse_fail(c, line, key, "an extent longer than %d characters",
                             KG_MAX_EXPR_BYTES);
    }
    memcpy(text, start, len);
    text[len] = '\0';
    enum kg_code code = kg_parse_int(c, line, key, text, &a->extent[a->rank], &extent);
    if (code == KG_OK && extent < 1) {
        return kg_parse_fail(c, line, key, "extent '%s' is %lld at the default dims (at least 1)",
                             kg_expr_show(start, len, (char[KG_EXPR_SHOW]){0}), (long long)extent);
    }
    a->rank++;
    return code;
}

enum kg_code kg_parse_arg_type(const struct kg_parse *c, struct kg_arg *a, int line,
                               const char *key, const char *text)
{
    char shown[KG_EXPR_SHOW];
    size_t len = strcspn(text, "[");
    kg_expr_show(text, strlen(text), shown);
    if (!find_dtype(text, len, &a->dtype)) {
        return kg_parse_fail(c, line, key, "'%s' is no type (f32, f64, i32 or i64, then [extents])",
                             shown);
    }
    for (const char *s = text + len; *s != '\0' && *s != ']';) {
        const char *end = extent_end(++s);
        if (end == NULL) {
            return kg_parse_fail(c, line, key, "'%s' lacks its ']'", shown);
        }
        enum kg_code code = read_extent(c, a, line, key, s, (size_t)(end - s));
        if (code != KG_OK) {
            return code;
        }
        s = end;
        if (*s == ']' && s[1] != '\0') {
            return kg_parse_fail(c, line, key, "text follows ']' in '%s'", shown);
        }
    }
    return KG_OK;
}
