/* The dynamic symbol table: any bytes get an answer, without a read outside them; an object that is
 * cut anywhere never gains an export. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "gym/build/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size + 1); /* of exactly its size, so that a read beyond shows */
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    enum kg_elf_answer whole = kg_elf_exports(copy, size, "relu");
    KG_ASSERT(whole == kg_elf_exports(copy, size, "relu"));
    enum kg_elf_answer other = kg_elf_exports(copy, size, "");
    KG_ASSERT(other >= KG_ELF_EXPORTS && other <= KG_ELF_MALFORMED);
    KG_ASSERT(kg_elf_exports(copy, size / 2, "relu") != KG_ELF_EXPORTS || whole == KG_ELF_EXPORTS);
    /* a longer prefix finds no more */
    KG_ASSERT(kg_elf_imports(copy, size, "", "-") || !kg_elf_imports(copy, size, "relu", "-"));
    free(copy);
    return 0;
}
