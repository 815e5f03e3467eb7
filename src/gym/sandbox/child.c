/* The child between clone and exec. Nothing here allocates, takes a lock or uses stdio, because the
 * broker may have had other threads at the clone. Every step that the plan names must succeed;
 * caps.c found out before which steps the host allows. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/message.h"
#include "gym/sandbox/plan.h"

static void tell(const struct kg_plan *plan, const struct kg_note *note)
{
    ssize_t n =
        /* Write and not send, because the filter is loaded by then. */
        write(plan->ctl[1], note, sizeof *note);
    (void)n; /* if the broker is gone, this process dies anyway */
}

void kg_child_fail(const struct kg_plan *plan, int step, const char *what)
{
    struct kg_note note = {.kind = KG_NOTE_FAILED, .step = step, .error = errno};
    size_t n = strnlen(what, sizeof note.what - 1);
    memcpy(note.what, what, n);
    tell(plan, &note);
    _exit(127);
}

static struct kg_note hear(const struct kg_plan *plan, enum kg_note_kind kind)
{
    struct kg_note note = {.kind = KG_NOTE_FAILED};
    ssize_t n;
    do {
        n = recv(plan->ctl[1], &note, sizeof note, 0);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof note || note.kind != kind) {
        _exit(127);
    }
    return note;
}

/* Puts the descriptors in place: 0 to nfds-1 as asked, then the control socket; all others are
 * closed. It needs two passes, because a wanted descriptor may have another's number. */
static void arrange_descriptors(struct kg_plan *plan)
{
    const struct kg_sandbox_spec *spec = plan->spec;
    int first_free = (int)spec->nfds + 1;
    int moved[64];
    if (spec->nfds > sizeof moved / sizeof *moved) {
        errno = E2BIG;
        kg_child_fail(plan, KG_STEP_FDS, "pass so many descriptors");
    }
    int ctl = fcntl(plan->ctl[1], F_DUPFD_CLOEXEC, first_free);
    for (size_t i = 0; ctl >= 0 && i < spec->nfds; i++) {
        int fd = spec->fds[i] >= 0 ? spec->fds[i] : open("/dev/null", O_RDWR | O_CLOEXEC);
        moved[i] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, first_free);
        if (moved[i] < 0) {
            kg_child_fail(plan, KG_STEP_FDS, "open a descriptor");
        }
    }
    for (size_t i = 0; ctl >= 0 && i < spec->nfds; i++) {
        if (dup2(moved[i], (int)i) < 0) {
            kg_child_fail(plan, KG_STEP_FDS, "place a descriptor");
        }
    }
    if (!(plan->steps & KG_STEP_FDS)) {
        plan->ctl[1] = ctl >= 0 ? ctl : plan->ctl[1];
        return;
    }
    if (ctl < 0 || dup3(ctl, (int)spec->nfds, O_CLOEXEC) < 0) {
        kg_child_fail(plan, KG_STEP_FDS, "keep its control socket");
    }
    plan->ctl[1] = (int)spec->nfds;
    if (syscall(SYS_close_range, first_free, ~0u, 0) != 0) {
        for (int fd = first_free; fd < 65536; fd++) {
            close(fd);
        }
    }
}

static void join_cgroups(const struct kg_plan *plan)
{
    for (size_t i = 0; i < plan->ntasks; i++) {
        int fd = open(plan->tasks[i], O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1) {
            kg_child_fail(plan, KG_STEP_CGROUP, plan->tasks[i]);
        }
        close(fd);
    }
}

static void limit(const struct kg_plan *plan, int what, int64_t value)
{
    struct rlimit r = {(rlim_t)value, (rlim_t)value};
    struct rlimit old;
    if (getrlimit((__rlimit_resource_t)what, &old) == 0 && old.rlim_max < r.rlim_max) {
        r.rlim_cur = r.rlim_max = old.rlim_max; /* never above the broker's own limit */
    }
    if (setrlimit((__rlimit_resource_t)what, &r) != 0) {
        kg_child_fail(plan, KG_STEP_RLIMIT, "set its limits");
    }
}

/* The limit of address space. Beside a memory cgroup it is only a second barrier, with room for
 * memory that is reserved and never touched (stacks, arenas). Alone it is the memory limit. */
static int64_t address_space(const struct kg_plan *plan)
{
    int64_t m = plan->spec->limits.memory_bytes + plan->spec->address_bytes;
    return plan->steps & KG_STEP_CGROUP ? 2 * m + ((int64_t)1 << 30) : m + ((int64_t)256 << 20);
}

static void limit_resources(const struct kg_plan *plan)
{
    const struct kg_limits *l = &plan->spec->limits;
    limit(plan, RLIMIT_CORE, 0);
    limit(plan, RLIMIT_MSGQUEUE, 0);
    limit(plan, RLIMIT_RTPRIO, 0);
    limit(plan, RLIMIT_SIGPENDING, 256);
    if (l->memory_bytes > 0 && plan->spec->address_bytes >= 0) {
        limit(plan, RLIMIT_AS, address_space(plan));
    }
    if (l->file_bytes > 0) {
        limit(plan, RLIMIT_FSIZE, l->file_bytes);
    }
    if (l->cpu_s > 0) {
        limit(plan, RLIMIT_CPU, l->cpu_s);
    }
    /* The kernel counts per uid and user namespace. Without either, the user's own programs would
     * count too. */
    if (l->processes > 0 && (plan->steps & (KG_STEP_UID | KG_STEP_USERNS))) {
        limit(plan, RLIMIT_NPROC, l->processes);
    }
}

/* Root creates its user namespace last, so that the mounts belong to the namespace outside. Other
 * users entered theirs with clone. */
static void change_identity(struct kg_plan *plan)
{
    if (plan->root) {
        if (syscall(SYS_setgroups, 0, NULL) != 0) {
            kg_child_fail(plan, KG_STEP_UID, "leave its groups");
        }
        if (plan->steps & KG_STEP_USERNS) {
            if (unshare(CLONE_NEWUSER) != 0) {
                kg_child_fail(plan, KG_STEP_USERNS, "make a user namespace");
            }
            tell(plan, &(struct kg_note){.kind = KG_NOTE_MAP});
            hear(plan, KG_NOTE_MAPPED);
        }
        kg_child_ids(plan);
    }
    kg_child_drop_caps(plan);
}

static void tie_to_broker(const struct kg_plan *plan)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
        kg_child_fail(plan, 0, "ask for its parent's death signal");
    }
    /* The broker may have died just before. */
    struct pollfd p = {.fd = plan->ctl[1], .events = POLLIN};
    if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR))) {
        _exit(127);
    }
}

/* Sends its own /tmp to the broker. No foreign code has run here yet. */
static void hand_out_tmp(const struct kg_plan *plan)
{
    struct kg_note note = {.kind = KG_NOTE_TMP};
    int fd = open("/tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || !kg_message_send(plan->ctl[1], &note, sizeof note, &fd, 1)) {
        kg_child_fail(plan, KG_STEP_MOUNTNS, "hand out its /tmp");
    }
    close(fd);
}

static void climb(struct kg_plan *plan)
{
    const struct kg_sandbox_spec *spec = plan->spec;
    if ((plan->steps & KG_STEP_SESSION) && setsid() < 0) {
        kg_child_fail(plan, KG_STEP_SESSION, "start a session");
    }
    join_cgroups(plan);
    if (plan->steps & KG_STEP_MOUNTNS) {
        kg_child_mounts(plan);
        if (spec->tmp_bytes > 0) {
            hand_out_tmp(plan);
        }
    }
    if (chdir(spec->workdir != NULL ? spec->workdir : "/") != 0) {
        kg_child_fail(plan, 0, "enter its working folder");
    }
    if (plan->steps & KG_STEP_RLIMIT) {
        limit_resources(plan);
    }
    if (spec->no_aslr) {
        personality(ADDR_NO_RANDOMIZE); /* if refused, timing is noisier, nothing else */
    }
    change_identity(plan);
    if ((plan->steps & KG_STEP_NNP) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        kg_child_fail(plan, KG_STEP_NNP, "give up new privileges");
    }
    if (plan->steps & KG_STEP_LANDLOCK) {
        kg_child_landlock(plan);
    }
    tie_to_broker(plan);
    if ((plan->steps & KG_STEP_RLIMIT) && spec->limits.descriptors > 0) {
        limit(plan, RLIMIT_NOFILE, spec->limits.descriptors);
    }
    int rc = plan->filter != NULL ? kg_seccomp_load(plan->filter) : 0;
    if (rc != 0) {
        errno = -rc;
        kg_child_fail(plan, KG_STEP_SECCOMP, "load its system call filter");
    }
}

static void pin(const struct kg_plan *plan)
{
    if (plan->spec->cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)plan->spec->cpu, &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0) {
            kg_child_fail(plan, 0, "pin itself to its CPU");
        }
    }
}

static void say_not_executed(const char *program, int error)
{
    char line[KG_MAX_PATH + 128];
    int n = snprintf(line, sizeof line, "kgym: cannot execute %s: errno %d\n", program, error);
    ssize_t ignored = write(STDERR_FILENO, line, n < 0 ? 0 : (size_t)n % sizeof line);
    (void)ignored;
}

static void get_ready(struct kg_plan *plan)
{
    struct kg_note go = hear(plan, KG_NOTE_GO);
    plan->uid = go.uid;
    plan->gid = go.gid;
    pin(plan);
    arrange_descriptors(plan);
    climb(plan);
    tell(plan, &(struct kg_note){.kind = KG_NOTE_READY});
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void kg_child_leave(const struct kg_plan *plan)
{
    static const struct {
        int step, flag;
    } each[] = {{KG_STEP_USERNS, CLONE_NEWUSER},
                {KG_STEP_MOUNTNS, CLONE_NEWNS},
                {KG_STEP_PIDNS, CLONE_NEWPID},
                {KG_STEP_NETNS, CLONE_NEWNET},
                {KG_STEP_IPCNS, CLONE_NEWIPC}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        bool now = each[i].step != KG_STEP_USERNS || !plan->root; /* root's namespace comes last */
        if (now && (plan->steps & (uint32_t)each[i].step) && unshare(each[i].flag) != 0) {
            kg_child_fail(plan, each[i].step, "leave for a namespace");
        }
    }
}

void kg_child_born(const struct kg_plan *plan, pid_t pid)
{
    tell(plan, &(struct kg_note){.kind = KG_NOTE_BORN, .pid = pid, .between = getpid()});
}

void kg_child_climb(struct kg_plan *plan)
{
    get_ready(plan);
    close(plan->ctl[1]);
}

void kg_child_main(struct kg_plan *plan)
{
    close(plan->ctl[0]);
    kg_child_netns(plan);
    get_ready(plan);
    if (plan->probe) {
        _exit(0);
    }
    const struct kg_sandbox_spec *spec = plan->spec;
    execve(spec->argv[0], (char *const *)(uintptr_t)spec->argv,
           (char *const *)(uintptr_t)plan->envp);
    say_not_executed(spec->argv[0], errno);
    _exit(127);
}
