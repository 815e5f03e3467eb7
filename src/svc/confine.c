/* Landlock and a filter of system calls around the api process. */
#include "svc/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ruleset.h"

/* --- files, TCP, signals --- */

enum {
    TO_READ = KG_RULE_READ_FILE | KG_RULE_READ_DIR,
    TO_CHANGE =
        TO_READ | KG_RULE_WRITE_FILE | KG_RULE_REMOVE_FILE | KG_RULE_MAKE_REG | KG_RULE_TRUNCATE
};

static enum kg_code failed(const char *what, struct kg_err *err)
{
    return kg_fail(err, KG_E_HOST, "the api process cannot confine itself: %s: %s", what,
                   strerror(errno));
}

static enum kg_code allow_path(int rules, const char *path, uint64_t rights, struct kg_err *err)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? KG_OK : failed(path, err);
    }
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) {
        rights &= KG_RULE_OF_A_FILE;
    }
    enum kg_code code = kg_ruleset_allow(rules, fd, rights) == 0 ? KG_OK : failed(path, err);
    close(fd);
    return code;
}

static enum kg_code allow_all(int rules, int abi, uint64_t handled,
                              const struct kg_svc_reach *reach, struct kg_err *err)
{
    /* Names of hosts are looked up again when the connection to the store is. */
    static const char *const names[] = {"/etc/hosts",     "/etc/resolv.conf", "/etc/nsswitch.conf",
                                        "/etc/host.conf", "/etc/gai.conf",    NULL};
    const char *const *list[] = {reach->reads, reach->connects > 0 ? names : NULL};
    enum kg_code code = allow_path(rules, reach->folder, TO_CHANGE & handled, err);
    /* What it knows of itself: a sanitizer looks for leaks there when the process ends. */
    code = code != KG_OK ? code : allow_path(rules, "/proc/self", TO_READ & handled, err);
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; code == KG_OK && list[l] != NULL && list[l][i] != NULL; i++) {
            code = allow_path(rules, list[l][i], TO_READ & handled, err);
        }
    }
    if (code == KG_OK && reach->connects > 0 && abi >= KG_RULESET_ABI_TCP &&
        kg_ruleset_allow_connect(rules, (uint16_t)reach->connects) != 0) {
        return failed("allow a port", err);
    }
    return code;
}

static enum kg_code restrict_files(int abi, const struct kg_svc_reach *reach, struct kg_err *err)
{
    uint64_t handled;
    int rules = kg_ruleset_create(abi, &handled);
    if (rules < 0) {
        return failed("create a ruleset", err);
    }
    enum kg_code code = allow_all(rules, abi, handled, reach, err);
    if (code == KG_OK && kg_ruleset_restrict(rules) != 0) {
        code = failed("restrict itself", err);
    }
    close(rules);
    return code;
}

/* --- system calls --- */

/* Programs, namespaces, mounts, other processes, the kernel, and what changes files without opening
 * them, which Landlock does not see. */
static const int never[] = {
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fspick),
    SCMP_SYS(open_tree),
    SCMP_SYS(move_mount),
    SCMP_SYS(mount_setattr),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(kill),
    SCMP_SYS(tkill),
    SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
    SCMP_SYS(kcmp),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(reboot),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(syslog),
    SCMP_SYS(personality),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(mknod),
    SCMP_SYS(mknodat),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(chown),
    SCMP_SYS(lchown),
    SCMP_SYS(fchownat),
    SCMP_SYS(utime),
    SCMP_SYS(utimes),
    SCMP_SYS(futimesat),
    SCMP_SYS(utimensat),
    SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr),
    SCMP_SYS(removexattr),
    SCMP_SYS(lremovexattr),
    SCMP_SYS(bind),
    SCMP_SYS(listen),
    SCMP_SYS(shmget),
    SCMP_SYS(shmat),
    SCMP_SYS(msgget),
    SCMP_SYS(semget),
};

static int deny(scmp_filter_ctx c, const int *calls, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = calls[i] < 0 ? 0 : seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
    }
    return rc;
}

/* Families of sockets below the last one that is asked for, and all above it. */
static int deny_sockets(scmp_filter_ctx c, int connects)
{
    static const int tcp[] = {AF_INET, AF_INET6, AF_NETLINK}, local[] = {AF_UNIX};
    const int *allowed = connects > 0 ? tcp : local;
    size_t n = connects > 0                      ? sizeof tcp / sizeof *tcp
               : connects == KG_SVC_LOCAL_SOCKET ? sizeof local / sizeof *local
                                                 : 0;
    int rc = 0;
    for (int family = 0; family < AF_MAX && rc == 0; family++) {
        bool may = false;
        for (size_t i = 0; i < n; i++) {
            may = may || allowed[i] == family;
        }
        rc = may ? 0
                 : seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                                    SCMP_A0_32(SCMP_CMP_EQ, (unsigned)family));
    }
    return rc ? rc
              : seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                                 SCMP_A0_32(SCMP_CMP_GE, (unsigned)AF_MAX));
}

/* traces: Landlock keeps tracing within the process; without it the filter forbids it. */
static int filter(const struct kg_svc_reach *reach, bool traces)
{
    static const int tracing[] = {SCMP_SYS(ptrace)};
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ALLOW);
    if (c == NULL) {
        return -ENOMEM;
    }
    int rc = seccomp_attr_set(c, SCMP_FLTATR_CTL_SSB, 1); /* else speculation is switched off */
    rc = rc ? rc : deny(c, never, sizeof never / sizeof *never);
    rc = rc || traces ? rc : deny(c, tracing, 1);
    rc = rc ? rc : deny_sockets(c, reach->connects);
    /* Signals go to itself alone, as of abort(). */
    rc = rc ? rc
            : seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1,
                               SCMP_A0_32(SCMP_CMP_NE, (unsigned)getpid()));
    rc = rc ? rc : seccomp_load(c);
    seccomp_release(c);
    return rc;
}

/* Threads are files of this folder, two more names are in it. */
static bool is_alone(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) != 0 || st.st_nlink <= 3;
}

enum kg_code kg_svc_confine(const struct kg_svc_reach *reach, char lacks[KG_SVC_LACKS_MAX],
                            struct kg_err *err)
{
    int abi = kg_ruleset_abi();
    lacks[0] = '\0';
    if (!is_alone()) {
        return kg_fail(err, KG_E_HOST, "an api process with threads cannot confine itself");
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return failed("no new privileges", err);
    }
    if (abi > 0 && restrict_files(abi, reach, err) != KG_OK) {
        return err->code;
    }
    int rc = filter(reach, abi > 0);
    snprintf(lacks, KG_SVC_LACKS_MAX, "%s%s%s", abi == 0 ? "Landlock, so it may open files" : "",
             abi == 0 && rc != 0 ? ", and " : "",
             rc != 0 ? "filters of system calls, so it may execute programs" : "");
    return KG_OK;
}
