/* Problem files: any bytes are a problem or an error that names the file; every shape that a
 * problem gives is complete, within its cost, and readable in all its parts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gym/problem/variant.h"
#include "tests/support/variant_cost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_shape(const struct kg_problem *p, const struct kg_shape *s)
{
    for (int k = 0; k < p->nargs; k++) {
        int64_t i;
        double lo, hi;
        bool scalar = p->args[k].role == KG_ROLE_DIM || p->args[k].role == KG_ROLE_PARAM;
        KG_ASSERT(kg_arg_count(p, k, s) >= 1);
        KG_ASSERT(kg_arg_scalar(p, k, s, &i, &lo) == scalar);
        KG_ASSERT(kg_arg_range(p, k, s, &lo, &hi) == p->args[k].has_range);
        KG_ASSERT(!p->args[k].has_range || lo < hi);
    }
    KG_ASSERT(kg_problem_reduce(p, s) >= 1);
    KG_ASSERT(kg_problem_flops(p, s) >= -1);
    KG_ASSERT(kg_problem_bytes(p, s) >= -1);
}

static void try_variants(const struct kg_problem *p)
{
    for (int v = 0; v < KG_VARIANT_COUNT; v++) {
        struct kg_rng rng;
        struct kg_shape s, full;
        kg_rng_init(&rng, (struct kg_key){{1, 2}}, (uint64_t)v);
        bool found = kg_variant_shape(p, (enum kg_variant)v, &rng, &s);
        kg_rng_deinit(&rng);
        full = s;
        KG_ASSERT(kg_shape_complete(p, &full));
        KG_ASSERT(memcmp(&full, &s, sizeof s) == 0);
        KG_ASSERT(!found || v == KG_VARIANT_DEFAULT || variant_cost(p, &s) <= 16);
        read_shape(p, &s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_problem *p = NULL;
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = kg_problem_parse((const char *)data, size, "fuzz/x.c", &p, &err);
    KG_ASSERT((code == KG_OK) == (p != NULL));
    if (p == NULL) {
        KG_ASSERT(strncmp(err.message, "fuzz/x.c:", 9) == 0);
        return 0;
    }
    try_variants(p);
    kg_problem_destroy(p);
    return 0;
}
