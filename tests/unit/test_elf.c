/* The symbol table reader: what exports, what does not, and what is not an object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "gym/build/elf.h"

static void load(const char *name, struct kg_buf *out)
{
    char path[512];
    struct kg_err err = KG_ERR_INIT;
    const char *tree = getenv("KGYM_TREE");
    snprintf(path, sizeof path, "%s/fuzz/corpus/elf/%s.bin", tree != NULL ? tree : ".", name);
    kg_buf_init(out, 1 << 20);
    if (kg_file_read(path, out, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
}

struct expected {
    const char *file, *name;
    enum kg_elf_answer want;
};

static void test_answers(void **state)
{
    (void)state;
    static const struct expected table[] = {
        {"exports", "relu", KG_ELF_EXPORTS},
        {"exports", "rel", KG_ELF_LACKS},
        {"exports", "relu2", KG_ELF_LACKS},
        {"exports", "elu", KG_ELF_LACKS}, /* a suffix of a name in the string table */
        {"exports", "", KG_ELF_LACKS},
        {"lacks", "relu", KG_ELF_LACKS}, /* hidden */
        {"lacks", "other", KG_ELF_EXPORTS},
        {"header", "relu", KG_ELF_MALFORMED},
        {"link-outside", "relu", KG_ELF_MALFORMED},
        {"size-huge", "relu", KG_ELF_MALFORMED},
        {"offset-huge", "relu", KG_ELF_MALFORMED},
        {"entsize-zero", "relu", KG_ELF_MALFORMED},
        {"sections-huge", "relu", KG_ELF_MALFORMED},
        {"strings-cut", "relu", KG_ELF_LACKS},
        {"name-outside", "relu", KG_ELF_LACKS},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_buf b;
        load(table[i].file, &b);
        enum kg_elf_answer got = kg_elf_exports(b.data, b.len, table[i].name);
        if (got != table[i].want) {
            fail_msg("%s, %s: %d", table[i].file, table[i].name, got);
        }
        kg_buf_deinit(&b);
    }
}

static void test_imports(void **state)
{
    (void)state;
    static const char *const malformed[] = {"header", "link-outside", "size-huge", "entsize-zero"};
    struct kg_buf b;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        load(malformed[i], &b);
        assert_true(kg_elf_imports(b.data, b.len, "kgops_", "kgops_temp_"));
        kg_buf_deinit(&b);
    }
    load("exports", &b);
    assert_false(kg_elf_imports(b.data, b.len, "kgops_", "kgops_temp_"));
    assert_false(kg_elf_imports(b.data, b.len, "relu", "-")); /* it has that itself */
    assert_true(kg_elf_imports(b.data, b.len / 2, "kgops_", "kgops_temp_"));
    kg_buf_deinit(&b);
    char path[512];
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/kgops/libkgops.so", getenv("KGYM_BUILD"));
    kg_buf_init(&b, 1 << 22);
    assert_int_equal(kg_file_read(path, &b, &err), KG_OK);
    assert_true(kg_elf_imports(b.data, b.len, "aligned_", "free"));
    assert_false(kg_elf_imports(b.data, b.len, "aligned_", "aligned_al"));
    assert_false(kg_elf_imports(b.data, b.len, "kgops_", "kgops_temp_"));
    kg_buf_deinit(&b);
}

static void test_every_cut_is_answered(void **state)
{
    (void)state;
    struct kg_buf b;
    load("exports", &b);
    for (size_t n = 0; n < b.len; n++) {
        char *cut = malloc(n + 1);
        memcpy(cut, b.data, n);
        /* The section table lies at the end: without it there is no answer. */
        assert_int_equal(kg_elf_exports(cut, n, "relu"), KG_ELF_MALFORMED);
        free(cut);
    }
    kg_buf_deinit(&b);
}

static void test_every_byte_changed_is_answered(void **state)
{
    (void)state;
    struct kg_buf b;
    load("exports", &b);
    for (size_t i = 0; i < b.len; i++) {
        for (int v = 0; v < 3; v++) {
            char old = b.data[i];
            b.data[i] = (char)(v == 0 ? old ^ 1 : v == 1 ? 0xff : 0);
            enum kg_elf_answer got = kg_elf_exports(b.data, b.len, "relu");
            assert_true(got >= KG_ELF_EXPORTS && got <= KG_ELF_MALFORMED);
            b.data[i] = old;
        }
    }
    assert_int_equal(kg_elf_exports(b.data, b.len, "relu"), KG_ELF_EXPORTS);
    kg_buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_imports),
        cmocka_unit_test(test_every_cut_is_answered),
        cmocka_unit_test(test_every_byte_changed_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
