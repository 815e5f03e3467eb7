/* Executes `kgym problems list --json` and takes what it prints. */
#include "trial/drive/suite_list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

extern char **environ;

/* As a pool finds it: $KGYM_PROGRAM, else beside this executable or in the folder above, else by
 * $PATH. */
static void find_program(char *out, size_t cap)
{
    static const char *const beside[] = {"kgym", "../kgym"};
    const char *named = getenv("KGYM_PROGRAM");
    char folder[PATH_MAX];
    struct kg_err ignored = KG_ERR_INIT;
    if (named != NULL && named[0] != '\0') {
        snprintf(out, cap, "%s", named);
        return;
    }
    bool known = kg_file_self_dir(folder, sizeof folder, &ignored) == KG_OK;
    for (size_t i = 0; known && i < sizeof beside / sizeof *beside; i++) {
        if ((size_t)snprintf(out, cap, "%s/%s", folder, beside[i]) < cap &&
            access(out, X_OK) == 0) {
            return;
        }
    }
    snprintf(out, cap, "kgym");
}

static int start(const char *program, const char *word, int out, int errors, pid_t *pid)
{
    const char *const argv[] = {program, "problems", "list", "--json", word, NULL};
    posix_spawn_file_actions_t act;
    int rc = posix_spawn_file_actions_init(&act);
    if (rc != 0) {
        return rc;
    }
    posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&act, out, 1);
    posix_spawn_file_actions_adddup2(&act, errors, 2);
    rc = posix_spawnp(pid, program, &act, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&act);
    return rc;
}

/* Until its end. */
static enum kg_code take(int fd, struct kg_buf *out, struct kg_err *err)
{
    char part[65536];
    for (ssize_t n; (n = read(fd, part, sizeof part)) != 0;) {
        if (n < 0 && errno != EINTR) {
            return kg_fail(err, KG_E_IO, "the list of problems: cannot read: %s", strerror(errno));
        }
        if (n > 0) {
            kg_buf_add(out, part, (size_t)n);
        }
    }
    return kg_buf_ok(out)
               ? KG_OK
               : kg_fail(err, KG_E_LIMIT, "the list of problems has more than %zu bytes", out->max);
}

/* The command's own message, without its name. */
static enum kg_code refused(int errors, const char *program, struct kg_err *err)
{
    static const char before[] = "kgym problems: ";
    char text[sizeof err->message];
    ssize_t n = pread(errors, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    size_t cut = strncmp(text, before, sizeof before - 1) == 0 ? sizeof before - 1 : 0;
    return text[0] != '\0' ? kg_fail(err, KG_E_NOT_FOUND, "%s", text + cut)
                           : kg_fail(err, KG_E_HOST, "%s: it printed no list of problems", program);
}

static enum kg_code run(const char *word, int pipe[2], int errors, struct kg_buf *out,
                        struct kg_err *err)
{
    char program[PATH_MAX + 16];
    pid_t pid;
    int status = 0;
    find_program(program, sizeof program);
    int rc = start(program, word, pipe[1], errors, &pid);
    close(pipe[1]);
    pipe[1] = -1;
    if (rc != 0) {
        return kg_fail(err, KG_E_HOST, "%s: cannot execute: %s", program, strerror(rc));
    }
    enum kg_code code = take(pipe[0], out, err);
    close(pipe[0]); /* after an error the child must not wait for a reader */
    pipe[0] = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return code != KG_OK || good ? code : refused(errors, program, err);
}

enum kg_code tr_suite_list(const char *word, struct kg_buf *out, struct kg_err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return kg_fail(err, KG_E_HOST, "cannot make a pipe: %s", strerror(errno));
    }
    int errors = memfd_create("errors", MFD_CLOEXEC);
    enum kg_code code =
        errors >= 0 ? run(word, fds, errors, out, err)
                    : kg_fail(err, KG_E_HOST, "cannot make a file in memory: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    if (errors >= 0) {
        close(errors);
    }
    return code;
}
