/* The broker's side of a start: plan, cgroups and clone. Then it talks with the child until the
 * child is ready to execute its program, or names the step that failed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "gym/sandbox/cgroup.h"
#include "gym/sandbox/plan.h"

#define SETUP_TIMEOUT_MS 10000 /* a set-up takes 1 to 3 ms; beyond this a file system hangs */

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ull
#endif
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND 0x100000000ull
#endif

static uint64_t clone_flags(const struct kg_plan *plan)
{
    uint64_t flags = 0;
    flags |= plan->steps & KG_STEP_MOUNTNS ? CLONE_NEWNS : 0;
    flags |= plan->steps & KG_STEP_PIDNS ? CLONE_NEWPID : 0;
    flags |= (plan->steps & KG_STEP_NETNS) && plan->netns == 0 ? CLONE_NEWNET : 0;
    flags |= plan->steps & KG_STEP_IPCNS ? CLONE_NEWIPC : 0;
    flags |= (plan->steps & KG_STEP_USERNS) && !plan->root ? CLONE_NEWUSER : 0;
    return flags;
}

/* For containers that refuse clone3: the older call can do all but two things. The group is entered
 * by a move, and signal handlers are reset here. */
static pid_t clone_old(uint64_t flags, int *pidfd)
{
    long pid = syscall(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, pidfd, NULL, 0);
    if (pid == 0) {
        for (int sig = 1; sig < NSIG; sig++) {
            signal(sig, SIG_DFL);
        }
    }
    return (pid_t)pid;
}

static pid_t clone_child(const struct kg_plan *plan, int cgroup_fd, int *pidfd, bool *joined)
{
    uint64_t flags = clone_flags(plan);
    struct clone_args args = {
        .flags = flags | CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
        .pidfd = (uint64_t)(uintptr_t)pidfd,
        .exit_signal = SIGCHLD,
    };
    *joined = cgroup_fd >= 0;
    if (cgroup_fd >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)cgroup_fd;
    }
    long pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid < 0 && (errno == ENOSYS || errno == EPERM)) {
        *joined = false;
        return clone_old(flags, pidfd);
    }
    return (pid_t)pid;
}

/* Finds the single namespace that clone refuses. */
static int refused_step(const struct kg_plan *plan)
{
    static const struct {
        int step;
        uint64_t flag;
    } each[] = {{KG_STEP_USERNS, 0},
                {KG_STEP_MOUNTNS, CLONE_NEWNS},
                {KG_STEP_PIDNS, CLONE_NEWPID},
                {KG_STEP_NETNS, CLONE_NEWNET},
                {KG_STEP_IPCNS, CLONE_NEWIPC}};
    uint64_t user = plan->root ? 0 : CLONE_NEWUSER;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        if (!(plan->steps & (uint32_t)each[i].step)) {
            continue;
        }
        long pid = syscall(SYS_clone, each[i].flag | user | SIGCHLD, NULL, NULL, NULL, 0);
        if (pid == 0) {
            _exit(0);
        }
        int why = errno;
        if (pid > 0) {
            waitpid((pid_t)pid, NULL, 0);
        } else {
            errno = why;
            return each[i].step;
        }
    }
    return 0;
}

static bool send_note(const struct kg_plan *plan, const struct kg_note *note)
{
    return send(plan->ctl[0], note, sizeof *note, MSG_NOSIGNAL) == (ssize_t)sizeof *note;
}

/* Reads one note, and its descriptor for the caller of the spawn, if wanted. */
static bool take_note(const struct kg_plan *plan, struct kg_note *note)
{
    int fds[KG_MESSAGE_FDS], nfds, *place = plan->spec->tmp_fd;
    ssize_t n = kg_message_receive(plan->ctl[0], note, sizeof *note, fds, &nfds);
    for (int i = 0; i < nfds; i++) {
        if (n > 0 && place != NULL && *place < 0 && note->kind == KG_NOTE_TMP) {
            *place = fds[i];
        } else {
            close(fds[i]);
        }
    }
    return n == (ssize_t)sizeof *note;
}

/* False: nothing until the deadline, or the child has ended. */
bool kg_spawn_hear(const struct kg_plan *plan, struct kg_note *note)
{
    int64_t until = kg_clock_ns() + SETUP_TIMEOUT_MS * (int64_t)1000000;
    for (;;) {
        int64_t left_ms = (until - kg_clock_ns()) / 1000000;
        struct pollfd p = {.fd = plan->ctl[0], .events = POLLIN};
        int n = left_ms <= 0 ? 0 : poll(&p, 1, (int)left_ms);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        return n > 0 && take_note(plan, note);
    }
}

enum kg_code kg_spawn_refused(const struct kg_note *note, int *failed, struct kg_err *err)
{
    *failed = note->step;
    return kg_fail(err, KG_E_HOST, "sandbox: step %s failed: %s: %s",
                   note->step == 0 ? "exec" : kg_step_name(note->step), note->what,
                   strerror(note->error));
}

static enum kg_code map_ids(pid_t pid, uint32_t uid, uint32_t gid, int *failed, struct kg_err *err)
{
    int rc = kg_ids_map(pid, uid, gid);
    if (rc == 0) {
        return KG_OK;
    }
    struct kg_note note = {.step = KG_STEP_USERNS, .error = -rc, .what = "map its uid"};
    return kg_spawn_refused(&note, failed, err);
}

/* Gives the folders that it may write to the new uid, which exists only now. */
static enum kg_code hand_over(const struct kg_plan *plan, struct kg_err *err)
{
    for (size_t i = 0; (plan->steps & KG_STEP_UID) && i < plan->nmounts; i++) {
        const struct kg_mount *m = &plan->mounts[i];
        if (m->writable && m->folder && chown(m->src, plan->uid, plan->gid) != 0) {
            return kg_fail(err, KG_E_HOST, "sandbox: cannot hand over %s: %s", m->src,
                           strerror(errno));
        }
    }
    return KG_OK;
}

static enum kg_code converse(struct kg_plan *plan, struct kg_sandbox *s, int *failed,
                             struct kg_err *err)
{
    enum kg_code code = hand_over(plan, err);
    if (code == KG_OK && !plan->root && (plan->steps & KG_STEP_USERNS)) {
        code = map_ids(s->pid, plan->uid, plan->gid, failed, err);
    }
    struct kg_note note = {.kind = KG_NOTE_GO, .uid = plan->uid, .gid = plan->gid};
    if (code != KG_OK) {
        return code;
    }
    send_note(plan, &note);
    for (;;) {
        if (!kg_spawn_hear(plan, &note)) {
            return kg_fail(err, KG_E_HOST, "sandbox: the child died or hung while it was set up");
        }
        if (note.kind == KG_NOTE_READY) {
            return KG_OK;
        }
        if (note.kind == KG_NOTE_TMP) {
            continue;
        }
        if (note.kind == KG_NOTE_FAILED) {
            note.what[sizeof note.what - 1] = '\0';
            return kg_spawn_refused(&note, failed, err);
        }
        code = map_ids(s->pid, plan->uid, plan->gid, failed, err);
        if (code != KG_OK) {
            return code;
        }
        note = (struct kg_note){.kind = KG_NOTE_MAPPED};
        send_note(plan, &note);
    }
}

static enum kg_code choose_ids(struct kg_plan *plan, pid_t pid, struct kg_err *err)
{
    plan->uid = geteuid();
    plan->gid = getegid();
    if ((plan->steps & KG_STEP_UID) && !kg_ids_unused(pid, &plan->uid, &plan->gid)) {
        return kg_fail(err, KG_E_HOST, "sandbox: step uid failed: no unused uid is mapped here");
    }
    return KG_OK;
}

enum kg_code kg_spawn_talk(struct kg_plan *plan, struct kg_sandbox *s, bool move, int *failed,
                           struct kg_err *err)
{
    enum kg_code code = choose_ids(plan, s->pid, err);
    if (code != KG_OK) {
        *failed = KG_STEP_UID;
        return code;
    }
    s->uid = plan->uid;
    s->gid = plan->gid;
    if (move) {
        code = kg_cgroup_move(s, s->pid, err);
        *failed = code != KG_OK ? KG_STEP_CGROUP : 0;
    }
    return code != KG_OK ? code : converse(plan, s, failed, err);
}

static enum kg_code clone_and_talk(struct kg_plan *plan, struct kg_sandbox *s, int *failed,
                                   struct kg_err *err)
{
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old); /* no handler of the broker may run in the child */
    bool joined;
    int cgroup_fd = kg_cgroup_open(s);
    kg_netns_choose(plan, s);
    s->pid = clone_child(plan, cgroup_fd, &s->pidfd, &joined);
    if (s->pid == 0) {
        kg_child_main(plan);
    }
    int why = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (cgroup_fd >= 0) {
        close(cgroup_fd);
    }
    close(plan->ctl[1]);
    plan->ctl[1] = -1;
    kg_netns_hold(plan, s);
    if (s->pid < 0) {
        *failed = refused_step(plan);
        return kg_fail(err, KG_E_HOST, "sandbox: step %s failed: clone: %s",
                       *failed == 0 ? "clone" : kg_step_name(*failed), strerror(why));
    }
    return kg_spawn_talk(plan, s, cgroup_fd >= 0 && !joined, failed, err);
}

static enum kg_code spawn_plan(struct kg_plan *plan, struct kg_sandbox *s, int *failed,
                               struct kg_err *err)
{
    if (plan->steps & KG_STEP_CGROUP) {
        enum kg_code code = kg_cgroup_create(&plan->spec->limits, s, err);
        if (code != KG_OK) {
            *failed = KG_STEP_CGROUP;
            return code;
        }
        plan->ntasks = kg_cgroup_join_files(s, plan->tasks);
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, plan->ctl) != 0) {
        return kg_fail(err, KG_E_HOST, "sandbox: cannot make a socket pair: %s", strerror(errno));
    }
    enum kg_code code = plan->spec->birth != NULL ? kg_adopt_and_talk(plan, s, failed, err)
                                                  : clone_and_talk(plan, s, failed, err);
    for (int i = 0; i < 2; i++) {
        if (plan->ctl[i] >= 0) {
            close(plan->ctl[i]);
        }
    }
    return code;
}

static void drop_tmp(const struct kg_sandbox_spec *spec)
{
    if (spec->tmp_fd != NULL && *spec->tmp_fd >= 0) {
        close(*spec->tmp_fd);
        *spec->tmp_fd = -1;
    }
}

enum kg_code kg_spawn_steps(const struct kg_sandbox_spec *spec, uint32_t steps, bool probe,
                            struct kg_sandbox *out, int *failed, struct kg_err *err)
{
    *out = (struct kg_sandbox){.pid = -1, .pidfd = -1, .profile = spec->profile};
    *failed = 0;
    if (spec->tmp_fd != NULL) {
        *spec->tmp_fd = -1;
    }
    out->exit.peak_bytes = out->exit.cpu_ns = -1;
    struct kg_plan *plan = malloc(sizeof *plan);
    if (plan == NULL) {
        return kg_fail(err, KG_E_HOST, "sandbox: this machine is out of memory");
    }
    enum kg_code code = kg_plan_make(spec, steps, plan, err);
    if (code == KG_OK) {
        plan->probe = probe;
        out->isolation = kg_isolation_of(plan->steps);
        out->cpu_limit_ns = plan->steps & KG_STEP_RLIMIT ? spec->limits.cpu_s * 1000000000 : 0;
        code = spawn_plan(plan, out, failed, err);
    }
    free(plan);
    if (code != KG_OK) {
        struct kg_isolation isolation = out->isolation;
        kg_sandbox_end(out);
        out->isolation = isolation;
        drop_tmp(spec);
    }
    return code;
}

enum kg_code kg_sandbox_spawn(const struct kg_sandbox_spec *spec, struct kg_sandbox *out,
                              struct kg_err *err)
{
    int failed;
    uint32_t steps = kg_sandbox_caps()->steps & ~spec->without;
    return kg_spawn_steps(spec, steps, false, out, &failed, err);
}
