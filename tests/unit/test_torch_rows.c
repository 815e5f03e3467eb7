/* Lines of large files: the right ones whatever was read before, of files that change, and without
 * holding them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/torch/problem/rows.h"

static char dir[64];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/kgym-test-XXXXXX");
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return chdir("/") == 0 && kg_file_remove_tree(dir, &err) == KG_OK ? 0 : -1;
}

static void put(const char *name, const char *text)
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_file_write_atomic(name, text, strlen(text), &err), KG_OK);
}

static enum kg_code read_line(const char *file, long line, char *out, size_t cap)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, cap - 1);
    enum kg_code code = kg_trow_read(file, line, "what", &b, &err);
    snprintf(out, cap, "%s", code == KG_OK ? b.data : err.message);
    kg_buf_deinit(&b);
    return code;
}

static void expect_line(const char *file, long line, const char *want)
{
    char got[200];
    enum kg_code code = read_line(file, line, got, sizeof got);
    if ((code == KG_OK) != (want != NULL) || (want && strcmp(got, want) != 0)) {
        fail_msg("line %ld of %s: `%s`, not `%s`", line, file, got, want ? want : "none");
    }
    assert_true(want || code == KG_E_NOT_FOUND);
}

static long count_of(const char *file)
{
    long n;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_trows_count(file, &n, &err), KG_OK);
    return n;
}

static void small_files(void **state)
{
    (void)state;
    put("a", "one\n\nthree\n");
    expect_line("a", 3, "three");
    expect_line("a", 1, "one");
    expect_line("a", 2, "");
    expect_line("a", 4, NULL);
    assert_int_equal(count_of("a"), 3);
    put("b", "one\ntwo");
    assert_int_equal(count_of("b"), 2);
    expect_line("b", 2, "two");
    expect_line("b", 3, NULL);
    expect_line("b", 1000000, NULL);
    put("c", "");
    expect_line("c", 1, NULL);
    assert_int_equal(count_of("c"), 0);
    char text[200];
    assert_int_equal(read_line("nosuch", 1, text, sizeof text), KG_E_NOT_FOUND);
    assert_string_equal(text, "nosuch: cannot open: No such file or directory");
    assert_int_equal(read_line(".", 1, text, sizeof text), KG_E_IO);
    assert_int_equal(read_line("a", 3, text, 5), KG_E_LIMIT); /* 4 bytes, one too few */
}

/* A file that is another by now is read as it is. */
static void files_that_change(void **state)
{
    (void)state;
    put("a", "one\ntwo\nthree\n");
    expect_line("a", 3, "three");
    put("a", "1\n2\n3\n4\n");
    expect_line("a", 3, "3");
    expect_line("a", 4, "4");
    FILE *f = fopen("a", "r+"); /* the same size, and the same file */
    assert_non_null(f);
    usleep(20000); /* a time of change is as fine as the kernel's tick */
    assert_true(fputs("\n\n22\n3\n\n", f) >= 0 && fclose(f) == 0);
    expect_line("a", 3, "22");
    expect_line("a", 5, "");
}

static uint32_t x = 20261124;

static uint32_t next_number(void)
{
    x = x * 1664525 + 1013904223;
    return x >> 8;
}

#define LINES 30011
static long length[LINES + 1];

static void make(const char *name, int salt)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    for (long i = 1; i <= LINES; i++) {
        length[i] = (long)(next_number() % 40 == 0 ? next_number() % 3000 : next_number() % 30);
        fprintf(f, "%d:%ld:%*s\n", salt, i, (int)length[i], "");
    }
    assert_int_equal(fclose(f), 0);
}

static void expect_number(const char *name, int salt, long line)
{
    char got[4000], want[40];
    assert_int_equal(read_line(name, line, got, sizeof got), KG_OK);
    int n = snprintf(want, sizeof want, "%d:%ld:", salt, line);
    assert_memory_equal(got, want, (size_t)n);
    assert_int_equal(strspn(got + n, " "), strlen(got + n));
}

/* More lines than places, more files than are remembered, in any order. */
static void any_order(void **state)
{
    (void)state;
    char name[8];
    for (int f = 0; f < 6; f++) {
        snprintf(name, sizeof name, "f%d", f);
        make(name, f);
    }
    for (int k = 0; k < 3000; k++) {
        int f = (int)(next_number() % (k % 3 == 0 ? 6 : 2));
        long line = 1 + (long)(next_number() % LINES);
        snprintf(name, sizeof name, "f%d", f);
        for (long i = 0; i < (k % 10 == 0 ? 20 : 1) && line + i <= LINES; i++) {
            expect_number(name, f, line + i);
        }
    }
    assert_int_equal(count_of("f5"), LINES);
    char got[100];
    assert_int_equal(read_line("f5", LINES + 1, got, sizeof got), KG_E_NOT_FOUND);
}

static long peak_kb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static void memory_is_bounded(void **state)
{
    (void)state;
    FILE *f = fopen("large", "w");
    char *line = malloc(1 << 20);
    assert_non_null(f);
    assert_non_null(line);
    memset(line, 'a', 1 << 20);
    line[(1 << 20) - 1] = '\n';
    for (int i = 0; i < 64; i++) {
        assert_int_equal(fwrite(line, 1, 1 << 20, f), 1 << 20);
    }
    assert_int_equal(fclose(f), 0);
    free(line);
    long before = peak_kb();
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, 4 << 20);
    assert_int_equal(kg_trow_read("large", 60, "what", &b, &err), KG_OK);
    assert_int_equal(b.len, (1 << 20) - 1);
    kg_buf_deinit(&b);
    assert_true(peak_kb() - before < 16 << 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_files),
        cmocka_unit_test(files_that_change),
        cmocka_unit_test(any_order),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
