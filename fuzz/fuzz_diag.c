/* Compiler messages: any text is cleaned within its bound, and the first error is a string. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "gym/build/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_buf out;
    kg_buf_init(&out, 4096);
    kg_diag_clean((const char *)data, size, &out);
    KG_ASSERT(out.len <= 4096 && out.len <= size);
    int line = -1;
    char first[64];
    memset(first, 'x', sizeof first);
    kg_diag_first(out.data, "candidate.c", &line, first, sizeof first);
    KG_ASSERT(line >= 0 && memchr(first, '\0', sizeof first) != NULL);
    KG_ASSERT(strchr(first, '\n') == NULL);
    bool exhausted = kg_diag_exhausted(out.data);
    KG_ASSERT(exhausted == kg_diag_exhausted(out.data));
    kg_buf_deinit(&out);
    return 0;
}
