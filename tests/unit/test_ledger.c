/* The ledger of a device's memory: who holds what, who waits, and what a death leaves. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "gym/timing/lease.h"
#include "gym/timing/ledger.h"

#define PAGE KG_LEDGER_PAGE
#define ALL  (10 * PAGE)

static char device[40];
static struct kg_err err;

static struct kg_ledger opened(void)
{
    struct kg_ledger l;
    err = (struct kg_err)KG_ERR_INIT;
    assert_int_equal(kg_ledger_open(device, &l, &err), KG_OK);
    return l;
}

static enum kg_code take(struct kg_ledger *l, uint64_t bytes)
{
    return kg_ledger_take(l, bytes, ALL, NULL, &err);
}

static void pages_are_taken_and_given(void **state)
{
    (void)state;
    struct kg_ledger a = opened(), b = opened();
    assert_int_equal(take(&a, 5 * PAGE + 1), KG_OK); /* begun pages count whole */
    assert_int_equal(a.held, 6 * PAGE);
    assert_int_equal(kg_ledger_others(&b, ALL), 6 * PAGE);
    assert_int_equal(kg_ledger_others(&a, ALL), 0); /* its own are not others' */
    assert_true(kg_ledger_is_held(&b) && !kg_ledger_is_held(&a));
    assert_false(kg_ledger_try(&b, 5 * PAGE, ALL));
    assert_int_equal(b.held, 0);
    assert_int_equal(kg_ledger_others(&a, ALL), 0); /* all or nothing */
    assert_true(kg_ledger_try(&b, 4 * PAGE, ALL));
    assert_int_equal(kg_ledger_others(&a, ALL), 4 * PAGE);
    assert_true(kg_ledger_try(&a, 2 * PAGE, ALL)); /* less than before */
    assert_int_equal(kg_ledger_others(&b, ALL), 2 * PAGE);
    assert_true(kg_ledger_try(&b, 8 * PAGE, ALL)); /* more: what it holds counts */
    assert_int_equal(kg_ledger_others(&a, ALL), 8 * PAGE);
    assert_false(kg_ledger_try(&b, 9 * PAGE, ALL)); /* in vain: it keeps what it has */
    assert_int_equal(b.held, 8 * PAGE);
    assert_int_equal(kg_ledger_others(&a, ALL), 8 * PAGE);
    kg_ledger_give(&b);
    assert_false(kg_ledger_is_held(&a));
    kg_ledger_close(&b);
    kg_ledger_close(&a);
    kg_ledger_close(&a);
}

static void more_than_there_is_is_refused(void **state)
{
    (void)state;
    struct kg_ledger a = opened();
    assert_int_equal(take(&a, ALL + 1), KG_E_LIMIT);
    assert_string_equal(err.message,
                        "640 MB of the device's memory are needed, and there are 640 MB");
    assert_true(err.memory);
    assert_false(kg_ledger_try(&a, 11 * PAGE, ALL));
    kg_ledger_close(&a);
}

/* A child that takes so much, says so, and stays. */
static pid_t holder(uint64_t bytes, int told[2])
{
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        struct kg_ledger l = opened();
        bool held = take(&l, bytes) == KG_OK;
        bool said = write(told[1], held ? "y" : "n", 1) == 1;
        while (held && said) {
            pause();
        }
        _exit(1);
    }
    return child;
}

static void wait_until_told(const int told[2])
{
    char c = 0;
    assert_int_equal(read(told[0], &c, 1), 1);
    assert_int_equal(c, 'y');
    close(told[0]);
    close(told[1]);
}

static void end(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_killed_holder_leaves_nothing(void **state)
{
    (void)state;
    int told[2];
    struct kg_ledger a = opened();
    pid_t child = holder(8 * PAGE, told);
    wait_until_told(told);
    assert_false(kg_ledger_try(&a, 3 * PAGE, ALL));
    end(child);
    assert_true(kg_ledger_try(&a, ALL, ALL));
    kg_ledger_close(&a);
}

static void wait_until_wanted(const struct kg_ledger *l)
{
    for (int i = 0; i < 4000 && !kg_ledger_is_wanted(l); i++) {
        usleep(5000);
    }
    assert_true(kg_ledger_is_wanted(l));
}

/* Who waits holds nothing, is seen to wait, is not overtaken, and gets all at once. */
static void who_waits_is_seen_and_not_overtaken(void **state)
{
    (void)state;
    int told[2];
    struct kg_ledger a = opened(), b = opened(), c = opened();
    assert_int_equal(take(&a, 4 * PAGE), KG_OK);
    assert_int_equal(take(&b, 4 * PAGE), KG_OK);
    assert_false(kg_ledger_is_wanted(&a));
    pid_t child = holder(9 * PAGE, told);
    wait_until_wanted(&a);
    assert_false(kg_ledger_try(&c, PAGE, ALL)); /* two pages are free, but it was there before */
    assert_int_equal(kg_ledger_others(&c, ALL), 8 * PAGE);
    assert_true(kg_ledger_try(&a, 3 * PAGE, ALL)); /* who takes less overtakes nobody */
    assert_int_equal(kg_ledger_others(&c, ALL), 7 * PAGE);
    kg_ledger_give(&a);
    kg_ledger_close(&b);
    wait_until_told(told);
    assert_int_equal(kg_ledger_others(&c, ALL), 9 * PAGE);
    assert_false(kg_ledger_is_wanted(&a));
    end(child);
    kg_ledger_close(&c);
    kg_ledger_close(&a);
}

static volatile int cancel;

static void on_alarm(int sig)
{
    (void)sig;
    cancel = 1;
}

static void waiting_can_be_cancelled(void **state)
{
    (void)state;
    struct kg_ledger a = opened(), b = opened();
    assert_int_equal(take(&a, 8 * PAGE), KG_OK);
    cancel = 0;
    signal(SIGALRM, on_alarm);
    alarm(1);
    assert_int_equal(kg_ledger_take(&b, 8 * PAGE, ALL, &cancel, &err), KG_E_CANCELLED);
    assert_int_equal(b.held, 0);
    assert_false(kg_ledger_is_wanted(&a));
    kg_ledger_close(&b);
    kg_ledger_close(&a);
}

/* Many processes take and give at random: together they never hold more than there is. */
static void together_they_never_hold_more_than_there_is(void **state)
{
    (void)state;
    pid_t child[6];
    for (int k = 0; k < 6; k++) {
        child[k] = fork();
        if (child[k] == 0) {
            struct kg_ledger l = opened();
            unsigned seed = (unsigned)k + 1;
            for (int i = 0; i < 20; i++) {
                seed = seed * 1103515245u + 12345u;
                uint64_t want = (1 + (seed >> 16) % 9) * PAGE;
                if (take(&l, want) != KG_OK || l.held + kg_ledger_others(&l, ALL) > ALL) {
                    _exit(1);
                }
                usleep(200);
                kg_ledger_give(&l);
            }
            _exit(0);
        }
    }
    for (int k = 0; k < 6; k++) {
        int status = 1;
        assert_int_equal(waitpid(child[k], &status, 0), child[k]);
        assert_int_equal(status, 0);
    }
}

static int set_up(void **state)
{
    (void)state;
    snprintf(device, sizeof device, "test-ledger-%d", (int)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char path[KG_LEASE_PATH];
    kg_lease_device_path(device, ".memory", path);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_taken_and_given),
        cmocka_unit_test(more_than_there_is_is_refused),
        cmocka_unit_test(a_killed_holder_leaves_nothing),
        cmocka_unit_test(who_waits_is_seen_and_not_overtaken),
        cmocka_unit_test(waiting_can_be_cancelled),
        cmocka_unit_test(together_they_never_hold_more_than_there_is),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
