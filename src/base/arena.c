/* Arena: memory from large blocks that are freed all at once, with a cap. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN     16u
#define BLOCK_MIN 8192u

/* Blocks hang in a list, the newest first; only the newest has room that is still handed out. The
 * size is a multiple of ALIGN, so bytes[] follows at an aligned address. */
struct kg_arena_block {
    struct kg_arena_block *next;
    size_t size, used;
    _Alignas(16) unsigned char bytes[];
};

void kg_arena_init(struct kg_arena *a, const char *name, size_t cap_bytes)
{
    *a = (struct kg_arena){.name = name, .cap = cap_bytes};
}

void kg_arena_reset(struct kg_arena *a)
{
    struct kg_arena_block *b = a->head;
    while (b != NULL) {
        struct kg_arena_block *next = b->next;
        free(b);
        b = next;
    }
    a->head = NULL;
    a->used = 0;
}

void kg_arena_deinit(struct kg_arena *a)
{
    kg_arena_reset(a);
    a->cap = 0;
}

static struct kg_arena_block *add_block(struct kg_arena *a, size_t bytes)
{
    size_t size = bytes > BLOCK_MIN ? bytes : BLOCK_MIN;
    struct kg_arena_block *b = NULL;
    if (size <= SIZE_MAX - sizeof *b) {
        b = calloc(1, sizeof *b + size);
    }
    if (b == NULL) {
        return NULL;
    }
    b->size = size;
    /* A large block goes behind a head that still has more room than it would leave. */
    if (a->head != NULL && a->head->size - a->head->used > size - bytes) {
        b->next = a->head->next;
        a->head->next = b;
    } else {
        b->next = a->head;
        a->head = b;
    }
    return b;
}

void *kg_arena_alloc(struct kg_arena *a, size_t bytes, struct kg_err *err)
{
    size_t left = a->cap - a->used;
    size_t rounded = bytes == 0 ? ALIGN : (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (rounded < bytes || rounded > left) {
        kg_fail(err, KG_E_LIMIT, "%s: memory limit of %zu bytes reached (%zu in use, %zu wanted)",
                a->name, a->cap, a->used, bytes);
        return NULL;
    }
    struct kg_arena_block *b = a->head;
    if (b == NULL || b->size - b->used < rounded) {
        b = add_block(a, rounded);
        if (b == NULL) {
            kg_fail(err, KG_E_HOST, "%s: this machine is out of memory (%zu bytes wanted)", a->name,
                    bytes);
            return NULL;
        }
    }
    void *p = b->bytes + b->used;
    b->used += rounded;
    a->used += rounded;
    return p;
}

char *kg_arena_dup(struct kg_arena *a, const char *s, size_t n, struct kg_err *err)
{
    if (n == SIZE_MAX) {
        kg_fail(err, KG_E_LIMIT, "%s: text too long", a->name);
        return NULL;
    }
    char *p = kg_arena_alloc(a, n + 1, err);
    if (p != NULL && n > 0) {
        memcpy(p, s, n);
    }
    return p;
}

char *kg_arena_printf(struct kg_arena *a, struct kg_err *err, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = NULL;
    if (n < 0) {
        kg_fail(err, KG_E_LIMIT, "%s: text cannot be formatted", a->name);
    } else {
        p = kg_arena_alloc(a, (size_t)n + 1, err);
    }
    if (p != NULL) {
        vsnprintf(p, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    return p;
}
