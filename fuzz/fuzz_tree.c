/* A block that is said to hold folders: any bytes get an answer, without a read outside them, and
 * no name that leads out of a folder is part of a good one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "gym/build/tree.h"
#include "gym/build/tree_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* By another way than the reader's: what follows a head that was found good. */
static void look_at_names(const unsigned char *at, size_t left)
{
    struct kg_tree_head h;
    while (left > 0) {
        KG_ASSERT(left >= sizeof h);
        memcpy(&h, at, sizeof h);
        const char *name = (const char *)at + sizeof h;
        size_t all = sizeof h + h.name_bytes + (size_t)h.bytes;
        KG_ASSERT(all <= left && h.bytes <= left);
        KG_ASSERT(h.kind == KG_TREE_UP || h.name_bytes > 0);
        KG_ASSERT(memchr(name, '/', h.name_bytes) == NULL);
        KG_ASSERT(h.name_bytes != 2 || memcmp(name, "..", 2) != 0);
        at += all;
        left -= all;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size + 1); /* of its own, so that a read beyond shows */
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    if (kg_tree_check(copy, size)) {
        look_at_names(copy, size);
    }
    free(copy);
    return 0;
}
