/* Memory of one unit of work (a request, an evaluation): many small allocations, freed at once.
 * The cap is fixed at creation; hitting it is KG_E_LIMIT with the arena's name, never a crash.
 * Returned memory is zeroed and aligned to 16 bytes. Not thread safe. */
#ifndef KG_BASE_ARENA_H
#define KG_BASE_ARENA_H

#include "base/err.h"

struct kg_arena {
    const char *name; /* appears in messages; static string */
    size_t cap, used;
    struct kg_arena_block *head;
};

void kg_arena_init(struct kg_arena *a, const char *name, size_t cap_bytes);
void kg_arena_reset(struct kg_arena *a); /* frees all allocations, keeps name and cap */
void kg_arena_deinit(struct kg_arena *a);
/* NULL and *err filled when the cap or the host's memory is exhausted. */
void *kg_arena_alloc(struct kg_arena *a, size_t bytes, struct kg_err *err) KG_MUST_USE;
char *kg_arena_dup(struct kg_arena *a, const char *s, size_t n,
                   struct kg_err *err) KG_MUST_USE; /* + NUL */
char *kg_arena_printf(struct kg_arena *a, struct kg_err *err, const char *fmt, ...)
    KG_PRINTF(3, 4) KG_MUST_USE;

#endif
