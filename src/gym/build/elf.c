/* Reads the dynamic symbol table of an ELF object that may be hostile. */
#include "gym/build/elf.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

struct image {
    const unsigned char *at;
    size_t n;
};

/* True if the bytes off .. off+len lie inside. */
static bool inside(const struct image *f, uint64_t off, uint64_t len)
{
    return off <= f->n && len <= f->n - off;
}

static bool read_header(const struct image *f, Elf64_Ehdr *h)
{
    if (f->n < sizeof *h) {
        return false;
    }
    memcpy(h, f->at, sizeof *h);
    return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
           h->e_ident[EI_DATA] == ELFDATA2LSB && h->e_type == ET_DYN &&
           h->e_shentsize == sizeof(Elf64_Shdr) &&
           inside(f, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr));
}

static Elf64_Shdr section(const struct image *f, const Elf64_Ehdr *h, uint32_t i)
{
    Elf64_Shdr s; /* a copy, because a hostile file need not align anything */
    memcpy(&s, f->at + h->e_shoff + (uint64_t)i * sizeof s, sizeof s);
    return s;
}

static bool is_named(const struct image *f, const Elf64_Shdr *strings, uint32_t at,
                     const char *name)
{
    size_t n = strlen(name) + 1;
    return at < strings->sh_size && n <= strings->sh_size - at &&
           memcmp(f->at + strings->sh_offset + at, name, n) == 0;
}

static bool is_exported_function(const Elf64_Sym *s)
{
    int type = ELF64_ST_TYPE(s->st_info), bind = ELF64_ST_BIND(s->st_info);
    int visible = ELF64_ST_VISIBILITY(s->st_other);
    return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
           (bind == STB_GLOBAL || bind == STB_WEAK) &&
           (visible == STV_DEFAULT || visible == STV_PROTECTED);
}

static bool begins(const struct image *f, const Elf64_Shdr *strings, uint32_t at, const char *with)
{
    size_t n = strlen(with);
    return at < strings->sh_size && n <= strings->sh_size - at &&
           memcmp(f->at + strings->sh_offset + at, with, n) == 0;
}

/* The names of a symbol table; false: they are malformed. */
static bool strings_of(const struct image *f, const Elf64_Ehdr *h, const Elf64_Shdr *table,
                       Elf64_Shdr *out)
{
    if (table->sh_link >= h->e_shnum || table->sh_entsize != sizeof(Elf64_Sym) ||
        !inside(f, table->sh_offset, table->sh_size)) {
        return false;
    }
    *out = section(f, h, table->sh_link);
    return out->sh_type == SHT_STRTAB && inside(f, out->sh_offset, out->sh_size);
}

static enum kg_elf_answer search(const struct image *f, const Elf64_Ehdr *h,
                                 const Elf64_Shdr *table, const char *name)
{
    Elf64_Shdr strings;
    if (!strings_of(f, h, table, &strings)) {
        return KG_ELF_MALFORMED;
    }
    for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        memcpy(&s, f->at + table->sh_offset + i * sizeof s, sizeof s);
        if (is_exported_function(&s) && is_named(f, &strings, s.st_name, name)) {
            return KG_ELF_EXPORTS;
        }
    }
    return KG_ELF_LACKS;
}

enum kg_elf_answer kg_elf_exports(const void *bytes, size_t n, const char *name)
{
    struct image f = {bytes, n};
    Elf64_Ehdr h;
    if (!read_header(&f, &h)) {
        return KG_ELF_MALFORMED;
    }
    enum kg_elf_answer answer = KG_ELF_MALFORMED;
    for (uint32_t i = 0; i < h.e_shnum && answer != KG_ELF_EXPORTS; i++) {
        Elf64_Shdr s = section(&f, &h, i);
        if (s.sh_type == SHT_DYNSYM) {
            answer = search(&f, &h, &s, name);
        }
    }
    return answer;
}

static bool needs(const struct image *f, const Elf64_Ehdr *h, const Elf64_Shdr *table,
                  const char *prefix, const char *except)
{
    Elf64_Shdr strings;
    if (!strings_of(f, h, table, &strings)) {
        return true;
    }
    for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        memcpy(&s, f->at + table->sh_offset + i * sizeof s, sizeof s);
        if (s.st_shndx == SHN_UNDEF && begins(f, &strings, s.st_name, prefix) &&
            !begins(f, &strings, s.st_name, except)) {
            return true;
        }
    }
    return false;
}

bool kg_elf_imports(const void *bytes, size_t n, const char *prefix, const char *except)
{
    struct image f = {bytes, n};
    Elf64_Ehdr h;
    if (!read_header(&f, &h)) {
        return true;
    }
    bool table = false;
    for (uint32_t i = 0; i < h.e_shnum; i++) {
        Elf64_Shdr s = section(&f, &h, i);
        if (s.sh_type == SHT_DYNSYM && needs(&f, &h, &s, prefix, except)) {
            return true;
        }
        table = table || s.sh_type == SHT_DYNSYM;
    }
    return !table;
}
