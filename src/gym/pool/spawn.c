/* Starts supervisor and workers by posix_spawn, and finds the program that they are. */
#include "gym/pool/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUT_OF_THE_WAY                                                                             \
    16 /* above the descriptors that a role gets, so that none is overwritten                      \
        */

extern char **environ;

static void close_both(int a, int b)
{
    if (a >= 0) {
        close(a);
    }
    if (b >= 0) {
        close(b);
    }
}

/* Where the caller has closed it, descriptor 2 may be one of the pool's, closed on exec. The role
 * must have one, so that no file that it opens becomes its standard error. */
static bool inherits_stderr(void)
{
    int flags = fcntl(2, F_GETFD);
    return flags >= 0 && !(flags & FD_CLOEXEC);
}

/* A copy of fd that is `least` or above, in whose favour fd is closed. -1: errno. */
static int move(int fd, int least)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, least);
    int error = errno;
    close(fd);
    errno = error;
    return moved;
}

int kg_fd_above_stdio(int fd)
{
    if (fd < 0 || fd > 2) {
        return fd;
    }
    return move(fd, 3);
}

static int set_up(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attr,
                  const struct kg_role *role, int sock, int shared)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    flags = (short)(flags | (role->own_session ? POSIX_SPAWN_SETSID : 0));
    int bad = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    bad = bad ? bad : posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    bad = bad ? bad : posix_spawn_file_actions_adddup2(actions, sock, KG_ROLE_SOCKET);
    if (shared >= 0) {
        bad = bad ? bad : posix_spawn_file_actions_adddup2(actions, shared, KG_ROLE_SHARED);
    }
    if (!inherits_stderr()) {
        bad = bad ? bad : posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
    }
    int next = shared >= 0 ? KG_ROLE_SHARED + 1 : KG_ROLE_SOCKET + 1;
    bad = bad ? bad : posix_spawn_file_actions_addclosefrom_np(actions, next);
    bad = bad ? bad : posix_spawnattr_setsigmask(attr, &none);
    bad = bad ? bad : posix_spawnattr_setsigdefault(attr, &all);
    return bad ? bad : posix_spawnattr_setflags(attr, flags);
}

static int spawn(const struct kg_role *role, int sock, int shared, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    char name[32];
    snprintf(name, sizeof name, "%s", role->name);
    char kgym[] = "kgym", *argv[] = {kgym, name, NULL};
    int bad = posix_spawn_file_actions_init(&actions);
    if (bad) {
        return bad;
    }
    bad = posix_spawnattr_init(&attr);
    if (!bad) {
        bad = set_up(&actions, &attr, role, sock, shared);
        bad = bad ? bad : posix_spawn(pid, role->program, &actions, &attr, argv, environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return bad;
}

enum kg_code kg_role_start(const struct kg_role *role, pid_t *pid, int *sock, struct kg_err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return kg_fail(err, KG_E_HOST, "socketpair: %s", strerror(errno));
    }
    pair[0] = kg_fd_above_stdio(pair[0]);
    int theirs = move(pair[1], OUT_OF_THE_WAY);
    int shared = role->shared < 0 ? -1 : fcntl(role->shared, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    bool lacks = pair[0] < 0 || theirs < 0 || (shared < 0 && role->shared >= 0);
    int bad = lacks ? errno : spawn(role, theirs, shared, pid);
    close_both(theirs, shared);
    if (bad) {
        close_both(pair[0], -1);
        return kg_fail(err, KG_E_HOST, "%s: cannot be executed: %s", role->program, strerror(bad));
    }
    *sock = pair[0];
    return KG_OK;
}

/* A folder that may be entered is no program, and a library's folder may hold one named kgym. */
static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The folder of the file that holds this function, library or executable. The kernel's list of
 * mappings has its whole path; the dynamic linker may know a relative one only. */
static bool own_folder(char *out, size_t cap)
{
    uintptr_t here = (uintptr_t)kg_role_program;
    unsigned long long lo, hi;
    char line[PATH_MAX + 200];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *path = strchr(line, '/');
        found = sscanf(line, "%llx-%llx", &lo, &hi) == 2 && here >= lo && here < hi && path &&
                (size_t)snprintf(out, cap, "%s", path) < cap;
    }
    if (f) {
        fclose(f);
    }
    if (found) {
        *strrchr(out, '/') = 0;
    }
    return found;
}

static bool in_path(char *out, size_t cap)
{
    const char *path = getenv("PATH");
    for (const char *at = path; at && *at; at += strspn(at, ":")) {
        size_t n = strcspn(at, ":");
        if ((size_t)snprintf(out, cap, "%.*s/kgym", (int)n, at) < cap && is_program(out)) {
            return true;
        }
        at += n;
    }
    return false;
}

enum kg_code kg_role_program(const char *wanted, char *out, size_t cap, struct kg_err *err)
{
    static const char *const beside[] = {"kgym", "../kgym", "../bin/kgym", "../../bin/kgym"};
    const char *named = wanted && *wanted ? wanted : getenv("KGYM_PROGRAM");
    char folder[PATH_MAX];
    if (named && *named) {
        if ((size_t)snprintf(out, cap, "%s", named) < cap && is_program(out)) {
            return KG_OK;
        }
        return kg_fail(err, KG_E_HOST, "%s: no program that can be executed (%s)", named,
                       wanted && *wanted ? "option program" : "KGYM_PROGRAM");
    }
    for (size_t i = 0; own_folder(folder, sizeof folder) && i < sizeof beside / sizeof *beside;
         i++) {
        if ((size_t)snprintf(out, cap, "%s/%s", folder, beside[i]) < cap && is_program(out)) {
            return KG_OK;
        }
    }
    if (in_path(out, cap)) {
        return KG_OK;
    }
    return kg_fail(err, KG_E_HOST,
                   "the program `kgym` is neither beside the library nor in PATH; KGYM_PROGRAM "
                   "names it");
}
