#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/timing/least_k.h"

/* The least K of a core is one for all workers of a host, and whatever the file holds does no harm.
 */

static char folder[64], path[128];

static int enter(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/kgym-test-least-k-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    snprintf(path, sizeof path, "%s/k", folder);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree(folder, &err) != KG_OK;
}

static void put(const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void the_lesser_counts_and_stays(void **state)
{
    (void)state;
    assert_int_equal(kg_least_k(path, 0), 0);
    assert_int_equal(kg_least_k(path, 11000), 11000); /* a worker that began on a busy host */
    assert_int_equal(kg_least_k(path, 6300), 6300);   /* another, when it was quiet */
    assert_int_equal(kg_least_k(path, 11000), 6300);
    assert_int_equal(kg_least_k(path, 0), 6300); /* one that has measured nothing */
}

static void another_process_sees_it(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        _exit(kg_least_k(path, 5000) == 5000 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(kg_least_k(path, 9000), 5000);
}

static void another_boot_says_nothing(void **state)
{
    (void)state;
    put("00000000-0000-0000-0000-000000000000 1000\n");
    assert_int_equal(kg_least_k(path, 9000), 9000);
    assert_int_equal(kg_least_k(path, 0), 9000);
}

/* Text in place of the number of a file that is otherwise right. */
static void put_number(const char *number)
{
    char line[128];
    assert_int_equal(kg_least_k(path, 9000), 9000);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    snprintf(strchr(line, ' ') + 1, 64, "%s", number);
    put(line);
}

static void nonsense_says_nothing(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "17\n",
                                      "-5\n",
                                      "1000",
                                      "1e3\n",
                                      "1000\n1\n",
                                      "1000 \n",
                                      "99\n",
                                      "x\n",
                                      "1000001\n",
                                      "9999999999999999999999999\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(unlink(path) == 0 || i == 0, 1);
        put_number(bad[i]);
        assert_int_equal(kg_least_k(path, 7000), 7000);
        assert_int_equal(kg_least_k(path, 0), 7000);
    }
    char much[5000];
    memset(much, 'a', sizeof much - 1);
    much[sizeof much - 1] = '\0';
    put(much);
    assert_int_equal(kg_least_k(path, 7000), 7000);
    assert_int_equal(kg_least_k(path, 0), 7000);
    assert_int_equal(kg_least_k(path, 3), 3); /* too little to be believed by others */
    assert_int_equal(kg_least_k(path, 0), 7000);
}

static void what_is_no_file_is_left_alone(void **state)
{
    (void)state;
    char other[160];
    struct stat st;
    snprintf(other, sizeof other, "%s/other", folder);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(kg_least_k(path, 7000), 7000);
    assert_int_equal(stat(other, &st), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(kg_least_k(path, 7000), 7000);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(kg_least_k("/nowhere/k", 7000), 7000);
}

/* A holder of the lock that was stopped keeps nobody from timing. */
static void a_lock_that_is_held_is_not_waited_for(void **state)
{
    (void)state;
    assert_int_equal(kg_least_k(path, 7000), 7000);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(kg_least_k(path, 9000), 9000);
    close(fd);
    assert_int_equal(kg_least_k(path, 9000), 7000);
}

static void each_core_has_its_own(void **state)
{
    (void)state;
    char a[128], b[128], c[128];
    kg_least_k_path(0, false, a, sizeof a);
    kg_least_k_path(1, false, b, sizeof b);
    kg_least_k_path(1, true, c, sizeof c);
    assert_string_not_equal(a, b);
    assert_string_not_equal(b, c);
    assert_int_equal(a[0], '/');
}

int main(void)
{
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, enter, leave)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(the_lesser_counts_and_stays),   IN_FOLDER(another_process_sees_it),
        IN_FOLDER(another_boot_says_nothing),     IN_FOLDER(nonsense_says_nothing),
        IN_FOLDER(what_is_no_file_is_left_alone), IN_FOLDER(a_lock_that_is_held_is_not_waited_for),
        cmocka_unit_test(each_core_has_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
