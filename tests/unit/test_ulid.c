#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ulid.h"

static void new_id(char out[KG_ULID_LEN])
{
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_ulid_new(out, &err), KG_OK);
}

static int64_t time_of(const char *id)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    int64_t ms = 0;
    for (int i = 0; i < 10; i++) {
        ms = ms * 32 + (strchr(digits, id[i]) - digits);
    }
    return ms;
}

static void shape(void **state)
{
    (void)state;
    char id[KG_ULID_LEN];
    new_id(id);
    assert_int_equal(strlen(id), 26);
    assert_int_equal(strspn(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
    int64_t off = time_of(id) - kg_clock_wall_ms();
    assert_true(off > -10000 && off < 10000);
    assert_true(kg_ulid_is(id));
    id[25] = 'u'; /* capitals only, and no I, L, O or U */
    assert_false(kg_ulid_is(id));
    id[25] = '\0';
    assert_false(kg_ulid_is(id));
    assert_false(kg_ulid_is("01J8Z3TQ4W6Y8A0C2E4G6J8K0NN"));
    assert_false(kg_ulid_is(""));
    assert_false(kg_ulid_is(NULL));
}

static void rises_under_any_wall_clock(void **state)
{
    (void)state;
    static const int64_t jumps[] = {0, -1, -3600000, 5000, -86400000, 0, -4000000000000, 0};
    char last[KG_ULID_LEN], id[KG_ULID_LEN];
    new_id(last);
    for (size_t j = 0; j < sizeof jumps / sizeof *jumps; j++) {
        kg_clock_wall_inject(jumps[j]);
        for (int i = 0; i < 2000; i++) {
            new_id(id);
            assert_true(strcmp(last, id) < 0);
            memcpy(last, id, sizeof last);
        }
    }
    kg_clock_wall_inject(0);
}

static void follows_a_clock_that_advances(void **state)
{
    (void)state;
    char a[KG_ULID_LEN], b[KG_ULID_LEN];
    new_id(a);
    kg_clock_wall_inject(100000000);
    new_id(b);
    kg_clock_wall_inject(0);
    assert_true(time_of(b) - time_of(a) > 90000000);
}

enum { THREADS = 4, EACH = 2000 };

static void *make_many(void *arg)
{
    char(*ids)[KG_ULID_LEN] = arg;
    for (int i = 0; i < EACH; i++) {
        struct kg_err err = KG_ERR_INIT;
        if (kg_ulid_new(ids[i], &err) != KG_OK) {
            abort();
        }
    }
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void unique_over_threads(void **state)
{
    (void)state;
    char(*ids)[KG_ULID_LEN] = calloc(THREADS * EACH, KG_ULID_LEN);
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_create(&threads[t], NULL, make_many, ids + t * EACH), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        for (int i = 1; i < EACH; i++) {
            assert_true(strcmp(ids[t * EACH + i - 1], ids[t * EACH + i]) < 0);
        }
    }
    qsort(ids, THREADS * EACH, KG_ULID_LEN, by_text);
    for (int i = 1; i < THREADS * EACH; i++) {
        assert_string_not_equal(ids[i - 1], ids[i]);
    }
    free(ids);
}

/* Children inherit the last id; under a wall clock that stands still they must part at once. */
static void unique_over_forks(void **state)
{
    (void)state;
    char ids[2][KG_ULID_LEN];
    kg_clock_wall_inject(-1000000000);
    for (int i = 0; i < 2; i++) {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        pid_t child = fork();
        if (child == 0) {
            char id[KG_ULID_LEN];
            struct kg_err err = KG_ERR_INIT;
            _exit(kg_ulid_new(id, &err) == KG_OK && write(fds[1], id, sizeof id) == sizeof id ? 0
                                                                                              : 1);
        }
        assert_int_equal(read(fds[0], ids[i], KG_ULID_LEN), KG_ULID_LEN);
        waitpid(child, NULL, 0);
        close(fds[0]);
        close(fds[1]);
    }
    kg_clock_wall_inject(0);
    assert_string_not_equal(ids[0], ids[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape),
        cmocka_unit_test(rises_under_any_wall_clock),
        cmocka_unit_test(follows_a_clock_that_advances),
        cmocka_unit_test(unique_over_threads),
        cmocka_unit_test(unique_over_forks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
