/* The exclusive timing lease. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "gym/timing/lease.h"

#define MS 1000000ll

static char dir[64], path[96];

static void one_holder_at_a_time(void **state)
{
    (void)state;
    struct kg_lease a, b;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(kg_lease_acquire_at(path, 0, &a, NULL, &err), KG_OK);
    assert_int_equal(kg_lease_acquire_at(path, kg_clock_ns() + 20 * MS, &b, NULL, &err),
                     KG_E_LIMIT);
    assert_non_null(strstr(err.message, "another process has been timing for too long"));
    assert_int_equal(b.fd, -1);
    kg_lease_release(&a);
    kg_lease_release(&a);
    assert_int_equal(kg_lease_acquire_at(path, 0, &b, NULL, &err), KG_OK);
    kg_lease_release(&b);
}

static void the_next_waits_its_turn(void **state)
{
    (void)state;
    struct kg_lease a;
    struct kg_err err = KG_ERR_INIT;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) { /* holds it, says so, and dies without releasing */
        bool held = kg_lease_acquire_at(path, 0, &a, NULL, &err) == KG_OK;
        bool told = write(ready[1], "x", 1) == 1;
        usleep(30000);
        _exit(held && told ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kg_lease_acquire_at(path, kg_clock_ns() + 10000 * MS, &a, NULL, &err), KG_OK);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    kg_lease_release(&a);
    close(ready[0]);
    close(ready[1]);
}

static void waiting_can_be_cancelled(void **state)
{
    (void)state;
    struct kg_lease a, b;
    struct kg_err err = KG_ERR_INIT;
    volatile int cancel = 1;
    assert_int_equal(kg_lease_acquire_at(path, 0, &a, NULL, &err), KG_OK);
    assert_int_equal(kg_lease_acquire_at(path, 0, &b, &cancel, &err), KG_E_CANCELLED);
    kg_lease_release(&a);
}

/* Locks of one process on different descriptors exclude each other like those of two. */
static void users_share_a_device_and_one_may_have_it_alone(void **state)
{
    (void)state;
    char device[40];
    struct kg_lease a, b, c;
    struct kg_err err = KG_ERR_INIT;
    volatile int cancel = 1;
    snprintf(device, sizeof device, "test-%d", (int)getpid());
    assert_int_equal(kg_lease_share(device, &a, NULL, &err), KG_OK);
    assert_int_equal(kg_lease_share(device, &b, NULL, &err), KG_OK);
    assert_int_equal(kg_lease_alone(device, true, &c, &cancel, &err), KG_E_CANCELLED);
    assert_true(c.fd == -1);
    kg_lease_release(&a);
    kg_lease_release(&b);
    assert_int_equal(kg_lease_alone(device, true, &c, &cancel, &err), KG_OK);
    assert_int_equal(kg_lease_share(device, &a, &cancel, &err), KG_E_CANCELLED);
    assert_true(a.fd == -1);
    assert_true(!kg_lease_share_now(device, &a) && a.fd == -1);
    kg_lease_release(&c);
    assert_true(kg_lease_share_now(device, &a) && kg_lease_share_now(device, &b));
    assert_int_equal(kg_lease_alone(device, true, &c, &cancel, &err), KG_E_CANCELLED);
    kg_lease_release(&a);
    kg_lease_release(&b);
}

static void long_uses_may_go_on_beside_one_who_is_alone(void **state)
{
    (void)state;
    char device[40];
    struct kg_lease lasting, other, alone;
    struct kg_err err = KG_ERR_INIT;
    volatile int cancel = 1;
    snprintf(device, sizeof device, "test-beside-%d", (int)getpid());
    assert_int_equal(kg_lease_share_long(device, &lasting, NULL, &err), KG_OK);
    assert_int_equal(kg_lease_alone(device, false, &alone, &cancel, &err), KG_OK);
    assert_int_equal(kg_lease_share(device, &other, &cancel, &err), KG_E_CANCELLED);
    assert_int_equal(kg_lease_share_long(device, &other, &cancel, &err), KG_OK);
    kg_lease_release(&other);
    kg_lease_release(&alone);
    assert_int_equal(kg_lease_alone(device, true, &alone, &cancel, &err), KG_E_CANCELLED);
    kg_lease_release(&lasting);
}

typedef enum kg_code sharing(const char *device, struct kg_lease *l, const volatile int *cancel,
                             struct kg_err *err);

/* Until somebody who queues keeps this use out, or a while has passed. */
static enum kg_code until_refused(sharing *share, const char *device)
{
    struct kg_lease l;
    struct kg_err err = KG_ERR_INIT;
    volatile int cancel = 1;
    enum kg_code code = KG_OK;
    for (int i = 0; i < 1000 && code == KG_OK; i++) {
        code = share(device, &l, &cancel, &err);
        kg_lease_release(&l);
        usleep(10000);
    }
    return code;
}

static void who_waits_to_be_alone_keeps_new_users_out(void **state)
{
    (void)state;
    char device[40];
    struct kg_lease inside, alone;
    struct kg_err err = KG_ERR_INIT;
    snprintf(device, sizeof device, "test-queue-%d", (int)getpid());
    assert_int_equal(kg_lease_share(device, &inside, NULL, &err), KG_OK);
    pid_t child = fork();
    if (child == 0) {
        close(inside.fd); /* the parent's to keep */
        _exit(kg_lease_alone(device, true, &alone, NULL, &err) == KG_OK ? 0 : 1);
    }
    assert_int_equal(until_refused(kg_lease_share, device), KG_E_CANCELLED);
    assert_false(kg_lease_share_now(device, &alone));
    kg_lease_release(&inside);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* While a long use goes on and somebody waits to be alone, short ones come and go, new long ones
 * for a moment only; then it is his, both ways. */
static void short_uses_go_on_while_a_long_one_ends(void **state)
{
    (void)state;
    char device[40];
    struct kg_lease lasting, other, alone;
    struct kg_err err = KG_ERR_INIT;
    volatile int cancel = 1;
    int hold[2], status = 0;
    snprintf(device, sizeof device, "test-long-%d", (int)getpid());
    assert_int_equal(pipe(hold), 0);
    assert_int_equal(kg_lease_share_long(device, &lasting, NULL, &err), KG_OK);
    pid_t child = fork();
    if (child == 0) {
        char c;
        close(hold[1]);
        kg_lease_release(&lasting); /* the parent's to keep */
        _exit(kg_lease_alone(device, true, &alone, NULL, &err) == KG_OK && read(hold[0], &c, 1) == 0
                  ? 0
                  : 1);
    }
    usleep(30000); /* it waits by now */
    assert_int_equal(kg_lease_share_long(device, &other, &cancel, &err), KG_OK);
    kg_lease_release(&other);
    assert_int_equal(until_refused(kg_lease_share_long, device), KG_E_CANCELLED);
    assert_int_equal(kg_lease_share(device, &other, &cancel, &err), KG_OK);
    kg_lease_release(&other);
    kg_lease_release(&lasting);
    assert_int_equal(until_refused(kg_lease_share, device), KG_E_CANCELLED); /* it has it */
    assert_int_equal(kg_lease_share_long(device, &other, &cancel, &err), KG_E_CANCELLED);
    close(hold[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(kg_lease_alone(device, true, &alone, NULL, &err), KG_OK);
    kg_lease_release(&alone);
    close(hold[0]);
}

/* Somebody inside takes long: who waits to be alone keeps nobody out until he has left, at
 * whichever door he waits. */
static void who_waits_steps_back_for_the_slow(void **state)
{
    (void)state;
    char device[40];
    struct kg_lease inside, other, alone;
    struct kg_err err = KG_ERR_INIT;
    volatile int cancel = 1;
    for (int later = 0; later < 2; later++) {
        int status = 0;
        snprintf(device, sizeof device, "test-slow-%d-%d", (int)getpid(), later);
        assert_int_equal(kg_lease_share(device, &inside, NULL, &err), KG_OK);
        if (!later) {
            assert_int_equal(kg_lease_slow(device, &inside, &err), KG_OK);
            assert_int_equal(kg_lease_slow(device, &inside, &err), KG_OK); /* again: nothing */
        }
        pid_t child = fork();
        if (child == 0) {
            kg_lease_release(&inside); /* the parent's to keep */
            _exit(kg_lease_alone(device, true, &alone, NULL, &err) == KG_OK ? 0 : 1);
        }
        if (later) { /* it waits already when that is said */
            assert_int_equal(until_refused(kg_lease_share, device), KG_E_CANCELLED);
            assert_int_equal(kg_lease_slow(device, &inside, &err), KG_OK);
        }
        usleep(100000);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(kg_lease_share(device, &other, &cancel, &err), KG_OK);
            kg_lease_release(&other);
            assert_int_equal(kg_lease_share_long(device, &other, &cancel, &err), KG_OK);
            kg_lease_release(&other);
            usleep(5000);
        }
        assert_int_equal(waitpid(child, &status, WNOHANG), 0);
        kg_lease_release(&inside);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    assert_int_equal(kg_lease_share(device, &inside, NULL, &err), KG_OK);
    assert_int_equal(kg_lease_slow(device, &inside, &err), KG_OK);
    assert_int_equal(kg_lease_alone(device, true, &alone, &cancel, &err), KG_E_CANCELLED);
    assert_true(alone.fd == -1 && alone.fd_long == -1);
    kg_lease_release(&inside);
}

/* Waits for the device, writes its letter, and leaves. */
static pid_t writer(const char *device, char letter, int out)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct kg_lease l;
        struct kg_err err = KG_ERR_INIT;
        enum kg_code code = letter == 'l' ? kg_lease_share_long(device, &l, NULL, &err)
                                          : kg_lease_alone(device, true, &l, NULL, &err);
        bool told = code == KG_OK && write(out, &letter, 1) == 1;
        usleep(20000);
        _exit(told ? 0 : 1);
    }
    return pid;
}

/* Long uses, which have waited longer, and yet are the last. */
static void those_who_want_it_alone_keep_long_uses_out(void **state)
{
    (void)state;
    char device[40], order[7] = "";
    struct kg_lease held, probe;
    struct kg_err err = KG_ERR_INIT;
    volatile int cancel = 1;
    int ends[2], status;
    snprintf(device, sizeof device, "test-order-%d", (int)getpid());
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(kg_lease_alone(device, true, &held, NULL, &err), KG_OK);
    for (int i = 0; i < 6; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            kg_lease_release(&held); /* the parent's to keep */
            pid_t child = writer(device, "lllaaa"[i], ends[1]);
            _exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 1);
        }
    }
    assert_int_equal(kg_lease_share_long(device, &probe, &cancel, &err), KG_E_CANCELLED);
    usleep(300000); /* all of them wait */
    kg_lease_release(&held);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(read(ends[0], order + i, 1), 1);
        assert_true(wait(&status) > 0 && status == 0);
    }
    assert_string_equal(order, "aaalll");
    close(ends[0]);
    close(ends[1]);
}

/* Somebody waits to be alone while another makes a context. Returns how long it does until that is
 * seen by one who comes last. */
static int64_t seen_after(void)
{
    char device[40];
    struct kg_lease other, last, alone;
    struct kg_err err = KG_ERR_INIT;
    volatile int cancel = 1;
    int begun[2], status = 1;
    int64_t since, until = kg_clock_ns() + 10000 * MS;
    snprintf(device, sizeof device, "test-last-%d", (int)getpid());
    assert_int_equal(pipe(begun), 0);
    assert_int_equal(kg_lease_share_long(device, &other, NULL, &err), KG_OK);
    pid_t child = fork();
    if (child == 0) {
        kg_lease_release(&other); /* its parent has it */
        since = kg_clock_ns();
        bool told = write(begun[1], &since, sizeof since) == sizeof since;
        bool got = kg_lease_alone(device, true, &alone, NULL, &err) == KG_OK;
        usleep(50000);
        _exit(told && got ? 0 : 1);
    }
    assert_int_equal(read(begun[0], &since, sizeof since), sizeof since);
    while (kg_lease_share_last(device, &last, &cancel, &err) == KG_OK) {
        kg_lease_release(&last);
        assert_true(kg_clock_ns() < until);
    }
    int64_t seen = kg_clock_ns() - since;
    assert_int_equal(err.code, KG_E_CANCELLED);
    kg_lease_release(&other);
    int64_t released = kg_clock_ns();
    assert_int_equal(kg_lease_share_last(device, &last, NULL, &err), KG_OK);
    assert_true(kg_clock_ns() - released >= 50 * MS);
    kg_lease_release(&last);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(begun[0]);
    close(begun[1]);
    return seen;
}

/* Also while those who wait let more contexts join, for 150 ms. A busy host may be late. */
static void who_comes_last_lets_those_who_wait_go_first(void **state)
{
    (void)state;
    int64_t least = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t seen = seen_after();
        least = seen < least ? seen : least;
    }
    assert_true(least < 120 * MS);
}

static void a_link_is_not_followed(void **state)
{
    (void)state;
    char link[128];
    struct kg_lease a;
    struct kg_err err = KG_ERR_INIT;
    snprintf(link, sizeof link, "%s/link", dir);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(kg_lease_acquire_at(link, 0, &a, NULL, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "it is a symbolic link"));
    unlink(link);
}

static void only_a_regular_file_will_do(void **state)
{
    (void)state;
    char fifo[128];
    struct kg_lease a;
    struct kg_err err = KG_ERR_INIT;
    snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(kg_lease_acquire_at(fifo, 0, &a, NULL, &err), KG_E_HOST);
    assert_non_null(strstr(err.message, "not a regular file of this user's"));
    unlink(fifo);
    assert_int_equal(kg_lease_acquire_at("/nowhere/lock", 0, &a, NULL, &err), KG_E_HOST);
    assert_string_equal(err.message,
                        "/nowhere/lock: cannot open the timing lease: No such file or directory");
}

static void the_default_path_names_the_user(void **state)
{
    (void)state;
    char standard[120], uid[16];
    kg_lease_default_path(standard, sizeof standard);
    snprintf(uid, sizeof uid, "%u", (unsigned)getuid());
    assert_non_null(strstr(standard, uid));
    assert_int_equal(standard[0], '/');
    struct kg_lease l = KG_LEASE_NONE;
    volatile int cancel = 1; /* somebody on this host may be timing */
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = kg_lease_acquire(-1, &l, &cancel, &err);
    assert_true(code == KG_OK || code == KG_E_CANCELLED);
    snprintf(standard + strlen(standard), sizeof standard - strlen(standard), ".core-1");
    assert_true(code != KG_OK || access(standard, F_OK) == 0);
    kg_lease_release(&l);
}

/* Load on another core hardly matters (docs/timing.md), so each core has a lease of its own. */
static void each_core_has_its_own_lease(void **state)
{
    (void)state;
    struct kg_lease a = KG_LEASE_NONE, b = KG_LEASE_NONE, again = KG_LEASE_NONE;
    volatile int cancel = 1; /* who would have to wait does not */
    struct kg_err err = KG_ERR_INIT;
    char base[96], one[120], other[120];
    kg_lease_default_path(base, sizeof base);
    snprintf(one, sizeof one, "%s.core900001", base);
    snprintf(other, sizeof other, "%s.core900002", base);
    assert_int_equal(kg_lease_acquire(900001, &a, &cancel, &err), KG_OK);
    assert_int_equal(kg_lease_acquire(900002, &b, &cancel, &err), KG_OK);
    assert_int_equal(kg_lease_acquire(900001, &again, &cancel, &err), KG_E_CANCELLED);
    kg_lease_release(&a);
    kg_lease_release(&b);
    unlink(one);
    unlink(other);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/kgym-lease-XXXXXX");
    if (!mkdtemp(dir)) {
        return 1;
    }
    snprintf(path, sizeof path, "%s/lock", dir);
    return 0;
}

/* Removes the lock files of this program's devices, whose names hold its pid: they lie where every
 * kgym of this user has its own. Returns how many there were. */
static int remove_device_locks(void)
{
    char base[96], folder[96], mark[24];
    kg_lease_default_path(base, sizeof base);
    char *name = strrchr(base, '/') + 1;
    snprintf(folder, sizeof folder, "%.*s", (int)(name - base), base);
    snprintf(mark, sizeof mark, "-%d", (int)getpid());
    DIR *d = opendir(folder);
    int n = 0;
    for (const struct dirent *e; d && (e = readdir(d));) {
        bool ours = strncmp(e->d_name, name, strlen(name)) == 0 && strstr(e->d_name, ".test-") &&
                    strstr(e->d_name, mark);
        n += ours && unlinkat(dirfd(d), e->d_name, 0) == 0;
    }
    if (d) {
        closedir(d);
    }
    return n;
}

/* Lock files stay after their lease. So a program that makes up devices removes them, or they pile
 * up in a folder that nobody cleans. */
static int tear_down(void **state)
{
    (void)state;
    bool some = remove_device_locks() > 0, all = remove_device_locks() == 0;
    unlink(path);
    return rmdir(dir) == 0 && some && all ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_holder_at_a_time),
        cmocka_unit_test(the_next_waits_its_turn),
        cmocka_unit_test(waiting_can_be_cancelled),
        cmocka_unit_test(users_share_a_device_and_one_may_have_it_alone),
        cmocka_unit_test(long_uses_may_go_on_beside_one_who_is_alone),
        cmocka_unit_test(who_waits_to_be_alone_keeps_new_users_out),
        cmocka_unit_test(short_uses_go_on_while_a_long_one_ends),
        cmocka_unit_test(who_waits_steps_back_for_the_slow),
        cmocka_unit_test(those_who_want_it_alone_keep_long_uses_out),
        cmocka_unit_test(who_comes_last_lets_those_who_wait_go_first),
        cmocka_unit_test(a_link_is_not_followed),
        cmocka_unit_test(only_a_regular_file_will_do),
        cmocka_unit_test(the_default_path_names_the_user),
        cmocka_unit_test(each_core_has_its_own_lease),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
