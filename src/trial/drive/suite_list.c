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

/* The command's own messages, one a line, without its name. */
static void take_errors(int fd, struct kg_buf *out)
{
    static const char before[] = "kgym problems: ";
    char text[65536];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] != '\0') {
            kg_buf_adds(out, strncmp(line, before, sizeof before - 1) == 0
                                 ? line + sizeof before - 1
                                 : line);
            kg_buf_addc(out, '\n');
        }
    }
}

/* It lists what it can, and says what it can not: with nothing listed, that is the error. */
static enum kg_code check_end(int status, const struct kg_buf *out, const struct kg_buf *errors,
                              struct kg_err *err)
{
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) <= 2;
    if (ended && (WEXITSTATUS(status) == 0 || (out->len > 0 && errors->len > 0))) {
        return KG_OK;
    }
    return ended && errors->len > 0
               ? kg_fail(err, KG_E_NOT_FOUND, "%.*s", (int)strcspn(errors->data, "\n"),
                         errors->data)
               : kg_fail(err, KG_E_HOST, "`kgym problems list` ended without a list");
}

static enum kg_code run(const char *word, int pipe[2], int messages, struct kg_buf *out,
                        struct kg_buf *errors, struct kg_err *err)
{
    char program[PATH_MAX + 16];
    pid_t pid;
    int status = 0;
    find_program(program, sizeof program);
    int rc = start(program, word, pipe[1], messages, &pid);
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
    take_errors(messages, errors);
    return code != KG_OK ? code : check_end(status, out, errors, err);
}

enum kg_code tr_suite_list(const char *word, struct kg_buf *out, struct kg_buf *errors,
                           struct kg_err *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return kg_fail(err, KG_E_HOST, "cannot make a pipe: %s", strerror(errno));
    }
    int messages = memfd_create("messages", MFD_CLOEXEC);
    enum kg_code code = messages >= 0 ? run(word, fds, messages, out, errors, err)
                                      : kg_fail(err, KG_E_HOST, "cannot make a file in memory: %s",
                                                strerror(errno));
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    if (messages >= 0) {
        close(messages);
    }
    return code;
}
