/* Checks that need the whole problem: its suite, and sizes of its arrays. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gym/problem/parse.h"

/* The parent folder's name. A path without a folder, or one that ends in "." or "..", is resolved,
 * so that the suite is the same whatever way the file was named. */
enum kg_code kg_problem_suite_of(const char *path, struct kg_problem *p, struct kg_err *err)
{
    char folder[PATH_MAX] = ".", real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash != NULL && (size_t)(slash - path) < sizeof folder) {
        memcpy(folder, path, (size_t)(slash - path));
        folder[slash - path] = '\0';
    }
    const char *last = strrchr(folder, '/');
    last = last != NULL ? last + 1 : folder;
    if ((strcmp(last, ".") == 0 || strcmp(last, "..") == 0) && realpath(folder, real) != NULL) {
        last = strrchr(real, '/') + 1;
    }
    p->suite = kg_arena_dup(&p->arena, last, strlen(last), err);
    return p->suite == NULL ? err->code : KG_OK;
}

static enum kg_code check_sizes(const struct kg_parse *c)
{
    uint64_t total = 0;
    for (int k = 0; k < c->p->nargs; k++) {
        const struct kg_arg *a = &c->p->args[k];
        int64_t n = a->rank > 0 ? kg_arg_count(c->p, k, &c->def) : 0;
        if (n < 0 || n > KG_MAX_DATA_BYTES) {
            return kg_parse_fail(c, a->line, "args", "'%s' is too large at the default dims",
                                 a->name);
        }
        total += (uint64_t)n * kg_dtype_bytes(a->dtype);
    }
    if (total > KG_MAX_DATA_BYTES) {
        return kg_parse_fail(c, c->p->args[0].line, "args",
                             "all arrays together take %llu MB at the default dims (at most %u)",
                             (unsigned long long)(total >> 20), KG_MAX_DATA_BYTES >> 20);
    }
    return KG_OK;
}

enum kg_code kg_parse_whole(const struct kg_parse *c, int line)
{
    int inputs = 0, outputs = 0;
    for (int k = 0; k < c->p->nargs; k++) {
        inputs += c->p->args[k].role == KG_ROLE_IN;
        outputs += c->p->args[k].role == KG_ROLE_OUT;
    }
    if (inputs == 0 || outputs == 0) {
        return kg_parse_fail(c, line, "args", "no argument has role %s (a problem needs one)",
                             outputs == 0 ? "out" : "in");
    }
    enum kg_code code = check_sizes(c);
    if (code == KG_OK) {
        struct kg_shape s = c->def;
        KG_ASSERT(kg_shape_complete(c->p, &s));
    }
    return code;
}
