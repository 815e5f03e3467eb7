/* Looks for symbols in a 64-bit little-endian ELF object. The bytes may be hostile: every offset
 * is checked, nothing is loaded, and nothing is allocated. Pure. */
#ifndef KG_GYM_BUILD_ELF_H
#define KG_GYM_BUILD_ELF_H

#include <stdbool.h>
#include <stddef.h>

enum kg_elf_answer {
    KG_ELF_EXPORTS,   /* a defined and visible global or weak function of that name */
    KG_ELF_LACKS,     /* the tables are sound, but it is not in them */
    KG_ELF_MALFORMED, /* not such an object, or tables that point outside */
};

/* Looks for the function `name` in the object bytes [n]. */
enum kg_elf_answer kg_elf_exports(const void *bytes, size_t n, const char *name);
/* True if the object may need a symbol that begins with `prefix` from another library: such a name
 * is undefined in its table. Names that begin with `except` don't count. Malformed: true. */
bool kg_elf_imports(const void *bytes, size_t n, const char *prefix, const char *except);

#endif
