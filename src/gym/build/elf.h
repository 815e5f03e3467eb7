/* The dynamic symbol table of a 64-bit little-endian ELF object, read from bytes that may be
 * hostile: every offset is checked, nothing is loaded, nothing is allocated. */
#ifndef KG_GYM_BUILD_ELF_H
#define KG_GYM_BUILD_ELF_H

#include <stdbool.h>
#include <stddef.h>

enum kg_elf_answer {
    KG_ELF_EXPORTS,   /* a global or weak function of that name, defined and visible */
    KG_ELF_LACKS,     /* a sound table without it */
    KG_ELF_MALFORMED, /* not such an object, or its tables point outside */
};

enum kg_elf_answer kg_elf_exports(const void *bytes, size_t n, const char *name);

#endif
