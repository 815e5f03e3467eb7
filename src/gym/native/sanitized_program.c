/* The program that runs a reference under the sanitizers. It reads cases: for each argument 8
 * bytes, the size of an array or the bits of a scalar, then the contents of an input. */
#include "gym/native/sanitized_reference.h"

static const char *const c_type[] = {
    [KG_F32] = "float", [KG_F64] = "double", [KG_I32] = "int32_t", [KG_I64] = "int64_t"};

/* Places: on the heap; the end at a page that cannot be touched; the start behind one. */
static const char head[] =
    "\n#undef real\n#undef main\n#line 1 \"kgym-driver.c\"\n"
    "#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "#include <sys/mman.h>\n#include <unistd.h>\n"
    "const char *__asan_default_options(void);\n"
    "const char *__asan_default_options(void)\n"
    "{\n"
    "    return \"detect_leaks=0:exitcode=99:quarantine_size_mb=1:allocator_may_return_null=1:\"\n"
    "           \"detect_stack_use_after_return=0\";\n"
    "}\n"
    "enum { KGYM_PAGE = 4096 };\n"
    "struct kgym_array { unsigned char *at, *map; uint64_t bytes, mapped; };\n"
    "static struct kgym_array kgym_arrays[32];\n"
    "static int kgym_read(void *to, uint64_t n)\n"
    "{\n"
    "    unsigned char *p = to;\n"
    "    while (n > 0) {\n"
    "        ssize_t got = read(0, p, n);\n"
    "        if (got <= 0) {\n            return 0;\n        }\n"
    "        p += got;\n        n -= (uint64_t)got;\n"
    "    }\n"
    "    return 1;\n"
    "}\n"
    "static void kgym_make(struct kgym_array *a, uint64_t bytes, int place)\n"
    "{\n"
    "    *a = (struct kgym_array){.bytes = bytes};\n"
    "    if (place == 0) {\n"
    "        a->at = malloc(bytes);\n"
    "    } else {\n"
    "        uint64_t room = (bytes + KGYM_PAGE - 1) / KGYM_PAGE * KGYM_PAGE;\n"
    "        a->mapped = room + 2 * KGYM_PAGE;\n"
    "        a->map = mmap(0, a->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
    "        if (a->map == MAP_FAILED ||\n"
    "            mprotect(a->map + KGYM_PAGE, room, PROT_READ | PROT_WRITE) != 0) {\n"
    "            _exit(98);\n        }\n"
    "        a->at = a->map + KGYM_PAGE + (place == 1 ? room - bytes : 0);\n"
    "    }\n"
    "    if (!a->at) {\n        _exit(98);\n    }\n"
    "}\n"
    "static void kgym_drop(struct kgym_array *a)\n"
    "{\n"
    "    if (a->map) {\n        munmap(a->map, a->mapped);\n    } else {\n        free(a->at);\n   "
    " }\n"
    "    *a = (struct kgym_array){0};\n"
    "}\n"
    "static void kgym_tell(int arg)\n"
    "{\n"
    "    fprintf(stderr, \"kgym: array %d at %p bytes %llu\\n\", arg, (void "
    "*)kgym_arrays[arg].at,\n"
    "            (unsigned long long)kgym_arrays[arg].bytes);\n"
    "}\n";

static void read_arguments(const struct kg_problem *p, struct kg_buf *out)
{
    for (int i = 0; i < p->nargs; i++) {
        const struct kg_arg *a = &p->args[i];
        kg_buf_addf(out, "        uint64_t w%d;\n        if (!kgym_read(&w%d, 8)) {\n", i, i);
        kg_buf_adds(out, i == 0 ? "            return 0;\n        }\n"
                                : "            return 97;\n        }\n");
        if (a->rank == 0) {
            kg_buf_addf(out, "        %s a%d;\n        memcpy(&a%d, &w%d, sizeof a%d);\n",
                        c_type[a->dtype], i, i, i, i);
            continue;
        }
        kg_buf_addf(out,
                    "        kgym_make(&kgym_arrays[%d], w%d, place);\n        kgym_tell(%d);\n", i,
                    i, i);
        if (a->role == KG_ROLE_IN) {
            kg_buf_addf(out,
                        "        if (!kgym_read(kgym_arrays[%d].at, w%d)) {\n            return "
                        "97;\n        }\n",
                        i, i);
        }
    }
}

/* The first word of a case is the place of its arrays. */
void kg_sanitized_program(const struct kg_problem *p, struct kg_buf *out)
{
    kg_buf_add(out, p->source, p->source_len);
    kg_buf_adds(out, head);
    kg_buf_adds(out, "int main(void)\n{\n"
                     "    for (int number = 0;; number++) {\n        uint64_t place;\n"
                     "        if (!kgym_read(&place, 8)) {\n            return 0;\n        }\n");
    read_arguments(p, out);
    kg_buf_addf(out, "        fprintf(stderr, \"kgym: case %%d\\n\", number);\n        %s(",
                p->entry);
    for (int i = 0; i < p->nargs; i++) {
        if (p->args[i].rank == 0) {
            kg_buf_addf(out, "%sa%d", i > 0 ? ", " : "", i);
        } else {
            kg_buf_addf(out, "%s(void *)kgym_arrays[%d].at", i > 0 ? ", " : "", i);
        }
    }
    kg_buf_adds(out, ");\n");
    for (int i = 0; i < p->nargs; i++) {
        if (p->args[i].rank > 0) {
            kg_buf_addf(out, "        kgym_drop(&kgym_arrays[%d]);\n", i);
        }
    }
    kg_buf_adds(out, "    }\n}\n");
}
