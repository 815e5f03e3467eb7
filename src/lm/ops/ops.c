#include "lm/ops/ops.h"

#include <string.h>

static size_t round_page(int keys)
{
    return ((size_t)keys + LM_PAGE - 1) / LM_PAGE * LM_PAGE;
}

/* Queries, output and scores of one block, and one number for each row. */
size_t lm_attn_scratch(int d, int keys)
{
    return LM_QROWS * (2 * (size_t)d + round_page(keys) + 1);
}

/* Queries, output gradients and query gradients of one block, two blocks of scores, two numbers for
 * each row; keys as rows and values as columns of the whole sequence. */
size_t lm_attn_back_scratch(int d, int keys)
{
    return LM_QROWS * (3 * (size_t)d + 2 * round_page(keys) + 2) + 2 * (size_t)d * round_page(keys);
}

const struct lm_ops *lm_ops_named(const char *name)
{
#if defined(__x86_64__) && !defined(LM_F64)
    __builtin_cpu_init();
    if (strcmp(name, "avx512") == 0) {
        return __builtin_cpu_supports("avx512f") ? &lm_ops_avx512 : NULL;
    }
    if (strcmp(name, "avx2") == 0) {
        bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        return has ? &lm_ops_avx2 : NULL;
    }
#endif
    return strcmp(name, "plain") == 0 ? &lm_ops_plain : NULL;
}

const struct lm_ops *lm_ops_best(void)
{
    static const char *const names[] = {"avx512", "avx2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct lm_ops *ops = lm_ops_named(names[i]);
        if (ops != NULL) {
            return ops;
        }
    }
    return &lm_ops_plain;
}
