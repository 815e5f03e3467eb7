/* Expressions: any text parses or is refused with a message; what parses has a value or none, the
 * same one each time, and of the kind that the parser announced. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gym/problem/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void evaluate(const struct kg_expr *e, const int64_t *values)
{
    struct kg_value a, b;
    int64_t i;
    double d;
    bool ok = kg_expr_eval(e, values, &a);
    KG_ASSERT(ok == kg_expr_eval(e, values, &b));
    KG_ASSERT(ok == kg_expr_real(e, values, &d));
    KG_ASSERT(kg_expr_int(e, values, &i) == (ok && !kg_expr_is_real(e)));
    if (ok) {
        KG_ASSERT(a.real == kg_expr_is_real(e));
        KG_ASSERT(a.real ? a.d - a.d == 0 && a.d == b.d : a.i == b.i && a.i == i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const NAMES[] = {"n", "h", "kh", "min"};
    static const int64_t VALUES[][4] = {{4, 64, 3, 1}, {0, -1, INT64_MAX, INT64_MIN}};
    char *text = calloc(1, size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    struct kg_arena arena;
    struct kg_err err = KG_ERR_INIT;
    const struct kg_expr *e = NULL;
    kg_arena_init(&arena, "fuzz", 64u << 10);
    enum kg_code code = kg_expr_parse(text, NAMES, 4, "fuzz:1: x", &arena, &e, &err);
    KG_ASSERT((code == KG_OK) == (e != NULL));
    if (e != NULL) {
        KG_ASSERT(kg_expr_uses(e) < 16);
        evaluate(e, VALUES[0]);
        evaluate(e, VALUES[1]);
    } else {
        KG_ASSERT(strncmp(err.message, "fuzz:1: x: ", 11) == 0);
    }
    kg_arena_deinit(&arena);
    free(text);
    return 0;
}
