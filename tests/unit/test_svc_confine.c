/* What an api process can't do once it has confined itself, each tried in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "svc/confine.h"

enum { LACKING = 200, FAILED = 201 };

static char folder[64], readable[96], outside[96];
static int listener, port;

static int setup(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    (void)state;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    snprintf(folder, sizeof folder, "/tmp/svc-confine-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(readable, sizeof readable, "%s-reads", folder);
    snprintf(outside, sizeof outside, "%s-outside", folder);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool up = bind(listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(listener, 8) == 0 &&
              getsockname(listener, (struct sockaddr *)&a, &n) == 0;
    port = ntohs(a.sin_port);
    return up && kg_file_write_atomic(readable, "r", 1, &err) == KG_OK &&
                   kg_file_write_atomic(outside, "o", 1, &err) == KG_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    struct kg_err err = KG_ERR_INIT;
    (void)state;
    close(listener);
    unlink(readable);
    unlink(outside);
    return kg_file_remove_tree(folder, &err) != KG_OK;
}

/* --- tries: 0 if it worked, else errno --- */

static int opens(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 ? 0 : errno;
}

static int executes(void)
{
    char *const argv[] = {(char[]){"true"}, NULL}, *const envp[] = {NULL};
    execve("/bin/true", argv, envp);
    return errno;
}

static int reads_a_strange_file(void)
{
    return opens("/etc/passwd", O_RDONLY);
}

static int reads_another_process(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    return opens(path, O_RDONLY);
}

static int reads_what_it_may(void)
{
    return opens(readable, O_RDONLY);
}

static int writes_what_it_may_read(void)
{
    return opens(readable, O_WRONLY);
}

static int writes_outside(void)
{
    return opens(outside, O_WRONLY);
}

static int escapes_by_proc(void)
{
    return opens("/proc/self/root/etc/passwd", O_RDONLY);
}

static int escapes_by_a_link(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/link", folder);
    return symlink(outside, path) == 0 ? opens(path, O_RDONLY) : errno;
}

static int changes_a_mode(void)
{
    return chmod(outside, 0644) == 0 ? 0 : errno;
}

static int changes_its_folder(void)
{
    char path[128], other[128];
    snprintf(path, sizeof path, "%s/a", folder);
    snprintf(other, sizeof other, "%s/b", folder);
    int rc = opens(path, O_RDWR | O_CREAT | O_EXCL);
    rc = rc != 0 ? rc : rename(path, other) == 0 && unlink(other) == 0 ? 0 : errno;
    return rc != 0 ? rc : opens(folder, O_RDONLY | O_DIRECTORY);
}

static int kills_its_parent(void)
{
    return kill(getppid(), SIGCONT) == 0 ? 0 : errno;
}

static int traces_its_parent(void)
{
    return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0 ? 0 : errno;
}

static int makes_a_socket(void)
{
    int s = socket(AF_INET, SOCK_STREAM, 0);
    return s >= 0 ? 0 : errno;
}

static int makes_a_local_socket(void)
{
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    return s >= 0 ? 0 : errno;
}

static int connects_to(int where)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((uint16_t)where)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    return s >= 0 && connect(s, (struct sockaddr *)&a, sizeof a) == 0 ? 0 : errno;
}

static int connects_to_its_store(void)
{
    return connects_to(port);
}

static int connects_elsewhere(void)
{
    return connects_to(port > 1024 ? port - 1 : port + 1);
}

static int takes_a_client(void)
{
    struct sockaddr_in a;
    socklen_t n = sizeof a;
    fcntl(listener, F_SETFL, O_NONBLOCK);
    int s = accept4(listener, (struct sockaddr *)&a, &n, SOCK_CLOEXEC);
    return s >= 0 || errno == EAGAIN ? 0 : errno;
}

static void *nothing(void *arg)
{
    return arg;
}

static int starts_a_thread(void)
{
    pthread_t t;
    int rc = pthread_create(&t, NULL, nothing, NULL);
    return rc != 0 ? rc : pthread_join(t, NULL);
}

/* Confines a child, which tries. Returns what came of it. A host that can't confine it skips the
 * test. */
static int confined(int connects, int (*try)(void))
{
    const char *const reads[] = {readable, "/nowhere/at/all", NULL};
    const struct kg_svc_reach reach = {.folder = folder, .reads = reads, .connects = connects};
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct kg_err err = KG_ERR_INIT;
        char lacks[KG_SVC_LACKS_MAX];
        enum kg_code code = kg_svc_confine(&reach, lacks, &err);
        if (code != KG_OK || lacks[0] != '\0') {
            fprintf(stderr, "%s%s\n", err.message, lacks);
            _exit(code == KG_OK ? LACKING : FAILED);
        }
        _exit(try());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == LACKING) {
        print_message("skipped: this host lacks the step above\n");
        skip();
    }
    return WEXITSTATUS(status);
}

static void it_works_on_in_its_folder(void **state)
{
    (void)state;
    const int none = KG_SVC_NO_CONNECTION;
    assert_int_equal(confined(none, changes_its_folder), 0);
    assert_int_equal(confined(none, reads_what_it_may), 0);
    assert_int_equal(confined(none, takes_a_client), 0);
    assert_int_equal(confined(none, starts_a_thread), 0);
    assert_int_equal(confined(port, connects_to_its_store), 0);
    assert_int_equal(confined(KG_SVC_LOCAL_SOCKET, makes_a_local_socket), 0);
}

static void it_executes_nothing(void **state)
{
    (void)state;
    assert_int_equal(confined(KG_SVC_NO_CONNECTION, executes), EPERM);
    assert_int_equal(confined(port, executes), EPERM);
}

static void it_opens_no_file_outside(void **state)
{
    (void)state;
    int (*const tries[])(void) = {reads_a_strange_file,    reads_another_process,
                                  writes_what_it_may_read, writes_outside,
                                  escapes_by_proc,         escapes_by_a_link};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        assert_int_equal(confined(KG_SVC_NO_CONNECTION, tries[i]), EACCES);
    }
    assert_int_equal(confined(port, reads_a_strange_file), EACCES);
    assert_int_equal(confined(port, changes_a_mode), EPERM);
}

static void it_connects_to_its_store_alone(void **state)
{
    (void)state;
    assert_int_equal(confined(KG_SVC_NO_CONNECTION, makes_a_socket), EPERM);
    assert_int_equal(confined(KG_SVC_NO_CONNECTION, makes_a_local_socket), EPERM);
    assert_int_equal(confined(KG_SVC_LOCAL_SOCKET, makes_a_socket), EPERM);
    assert_int_equal(confined(port, makes_a_local_socket), EPERM);
    long abi = syscall(444, NULL, 0, 1); /* landlock_create_ruleset: it knows TCP since 4 */
    assert_int_equal(confined(port, connects_elsewhere), abi >= 4 ? EACCES : ECONNREFUSED);
}

static void it_rules_no_other_process(void **state)
{
    (void)state;
    assert_int_equal(confined(KG_SVC_NO_CONNECTION, kills_its_parent), EPERM);
    assert_int_equal(confined(KG_SVC_NO_CONNECTION, traces_its_parent), EPERM);
}

static void *confines(void *arg)
{
    const struct kg_svc_reach reach = {.folder = folder, .connects = KG_SVC_NO_CONNECTION};
    struct kg_err err = KG_ERR_INIT;
    char lacks[KG_SVC_LACKS_MAX];
    *(enum kg_code *)arg = kg_svc_confine(&reach, lacks, &err);
    return NULL;
}

/* Landlock confines one thread, so another one would be left out. */
static void a_process_with_threads_is_refused(void **state)
{
    pthread_t t;
    enum kg_code code = KG_OK;
    (void)state;
    assert_int_equal(pthread_create(&t, NULL, confines, &code), 0);
    pthread_join(t, NULL);
    assert_int_equal(code, KG_E_HOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_works_on_in_its_folder),
        cmocka_unit_test(it_executes_nothing),
        cmocka_unit_test(it_opens_no_file_outside),
        cmocka_unit_test(it_connects_to_its_store_alone),
        cmocka_unit_test(it_rules_no_other_process),
        cmocka_unit_test(a_process_with_threads_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
