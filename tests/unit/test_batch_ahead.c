/* Records that wait beside a batch's output: what the file holds, when it is written anew, when it
 * goes, and that a batch does without where it cannot be written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "gym/batch/batch_ahead.h"

static char folder[] = "/tmp/kgym-ahead-XXXXXX", output[64], beside[80];
static struct kg_item item[6];
static struct kg_items items = {.item = item, .n = 6};
static char *ready[6];
static struct kg_err err = KG_ERR_INIT;

static int setup(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(output, sizeof output, "%s/out", folder);
    snprintf(beside, sizeof beside, "%s.ahead", output);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return kg_file_remove_tree(folder, &err) == KG_OK ? 0 : -1;
}

static struct kg_batch_waiting from(size_t written)
{
    return (struct kg_batch_waiting){&items, ready, written};
}

static void holds(const char *want)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    assert_int_equal(kg_file_read(beside, &b, &err), KG_OK);
    assert_int_equal(b.len, strlen(want));
    assert_memory_equal(b.data, want, b.len);
    kg_buf_deinit(&b);
}

/* Nothing waits so far. */
static void begin(struct kg_batch_ahead *a, const char *of)
{
    memset(ready, 0, sizeof ready);
    memset(item, 0, sizeof item);
    assert_int_equal(kg_batch_ahead_init(a, of, &err), KG_OK);
}

static void test_it_comes_and_goes(void **state)
{
    (void)state;
    struct kg_batch_ahead a;
    struct kg_batch_waiting w = from(0);
    begin(&a, output);
    ready[1] = "one";
    kg_batch_ahead_add(&a, "one", &w); /* not taken over yet */
    assert_false(kg_file_exists(beside));
    ready[1] = NULL;
    kg_batch_ahead_renew(&a, &w);
    assert_false(kg_file_exists(beside));
    ready[3] = "three";
    kg_batch_ahead_add(&a, "three", &w);
    ready[1] = "one";
    kg_batch_ahead_add(&a, "one", &w);
    holds("three\none\n");
    kg_batch_ahead_end(&a, &w); /* interrupted */
    holds("three\none\n");
    assert_int_equal(kg_batch_ahead_init(&a, output, &err), KG_OK);
    ready[1] = ready[3] = NULL;
    item[3].kept = "three";
    w = from(2);
    kg_batch_ahead_renew(&a, &w);
    holds("three\n");
    w = from(6);
    kg_batch_ahead_end(&a, &w);
    assert_false(kg_file_exists(beside));
}

static void test_it_does_not_grow_for_ever(void **state)
{
    (void)state;
    struct kg_batch_ahead a;
    struct kg_batch_waiting w = from(0);
    begin(&a, output);
    kg_batch_ahead_renew(&a, &w);
    a.most = 20;
    for (int i = 0; i < 4; i++) { /* 24 bytes */
        kg_batch_ahead_add(&a, "12345", &w);
    }
    item[1].kept = "one"; /* in the output by now */
    item[4].kept = "four";
    ready[5] = "five";
    w = from(2);
    kg_batch_ahead_add(&a, "five", &w);
    holds("four\nfive\n");
    assert_true(a.most > 20 && a.bytes == 10);
    ready[2] = "two";
    kg_batch_ahead_add(&a, "two", &w);
    holds("four\nfive\ntwo\n");
    w = from(6);
    kg_batch_ahead_end(&a, &w);
}

static void test_it_is_done_without(void **state)
{
    (void)state;
    struct kg_batch_ahead a;
    struct kg_batch_waiting w = from(0);
    char nowhere[100], longest[4200];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_int_equal(kg_batch_ahead_init(&a, longest, &err), KG_E_LIMIT);
    snprintf(nowhere, sizeof nowhere, "%s/missing/out", folder);
    begin(&a, nowhere);
    kg_batch_ahead_renew(&a, &w);
    kg_batch_ahead_add(&a, "one", &w);
    assert_true(a.failed);
    kg_batch_ahead_add(&a, "two", &w);
    item[4].kept = "four";
    a.failed = false;
    kg_batch_ahead_renew(&a, &w);
    assert_true(a.failed);
    kg_batch_ahead_end(&a, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_comes_and_goes),
        cmocka_unit_test(test_it_does_not_grow_for_ever),
        cmocka_unit_test(test_it_is_done_without),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
