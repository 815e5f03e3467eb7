/* The sandbox: starts one program confined, watches it, ends it with everything it left behind.
 *
 * Always: new session, rlimits, no-new-privileges, seccomp, Landlock, environment from an
 * allow-list, descriptors closed but those listed, parent-death signal. Where the host allows:
 * user, mount, pid, net, ipc namespaces, own uid, cgroups (v2, or v1 memory, pids, freezer). What
 * was reached and what was lacking is in `isolation` and goes into every record. Two deaths are
 * told apart: the sandbox failed (kg_err, blame host) or the program ended (struct kg_exit).
 * docs/security.md lists each step with the attack it stops; tests/unit/test_sandbox_ladder.c
 * removes each in turn. Threads: one owner per object. */
#ifndef KG_GYM_SANDBOX_SANDBOX_H
#define KG_GYM_SANDBOX_SANDBOX_H

#include <sys/types.h>

#include "base/buf.h"

enum kg_profile {
    KG_PROFILE_COMPILE, /* may exec tools below /usr, write its scratch folder */
    KG_PROFILE_RUN,     /* exec of the runner only; the runner then seals itself (kg_seccomp_run) */
    KG_PROFILE_JUDGE,   /* kgym's own judge: no exec, no files, no sockets but its own */
    KG_PROFILE_PYTHON,  /* a Python runner: may exec what it is shown, write its own /tmp */
    KG_PROFILE_CUDA,    /* the same on a GPU, where the driver wants local sockets */
};

enum kg_step { /* bits; the ladder, in the order of application */
               KG_STEP_RLIMIT = 1 << 0,
               KG_STEP_CGROUP = 1 << 1,
               KG_STEP_USERNS = 1 << 2,
               KG_STEP_MOUNTNS = 1 << 3,
               KG_STEP_PIDNS = 1 << 4,
               KG_STEP_NETNS = 1 << 5,
               KG_STEP_IPCNS = 1 << 6,
               KG_STEP_UID = 1 << 7,
               KG_STEP_LANDLOCK = 1 << 8,
               KG_STEP_NNP = 1 << 9,
               KG_STEP_SECCOMP = 1 << 10,
               KG_STEP_TMPFS = 1 << 11,
               KG_STEP_ENV = 1 << 12,
               KG_STEP_FDS = 1 << 13,
               KG_STEP_SESSION = 1 << 14,
};
#define KG_STEP_COUNT 15
const char *kg_step_name(int step); /* one of the above: "rlimit", ... */

struct kg_isolation {
    int level;           /* 0..3: docs/security.md, "Levels" */
    uint32_t has, lacks; /* bits of enum kg_step */
};

struct kg_bind {
    const char *src,
        *dst; /* host path, path inside; without a mount namespace src is granted as is */
    bool writable;
};

struct kg_limits {
    int64_t memory_bytes; /* address space (rlimit) and cgroup memory */
    int64_t processes;    /* tasks, threads included */
    int64_t file_bytes;   /* largest single file */
    int64_t cpu_s;
    int64_t descriptors;
};

enum kg_proc { KG_PROC_NONE, KG_PROC_OWN /* its own processes only */, KG_PROC_WHOLE };

/* Who gives birth to the program, instead of a clone of this process: a helper that forks a child,
 * which leaves for new namespaces, forks the program and goes, so that the program becomes this
 * process's child. ask hands the plan and the program's end of the control socket to the helper
 * (both stay the caller's) and returns when the child between is gone. */
struct kg_birth {
    enum kg_code (*ask)(void *helper, int plan_fd, int ctl_fd, struct kg_err *err);
    void *helper;
};

struct kg_sandbox_spec {
    enum kg_profile profile;
    const char *const *argv; /* argv[0] is the program's path inside */
    const char *const *envp; /* exactly this; NULL: empty */
    const char *workdir;     /* inside; NULL: "/" */
    const struct kg_bind *binds;
    size_t nbinds;
    const int *fds; /* fds[i] becomes descriptor i; -1: /dev/null. All others are closed */
    size_t nfds;
    struct kg_limits limits;
    int cpu; /* pin to this CPU; -1: inherit */
    bool no_aslr;
    uint32_t without;  /* tests only: steps left out; recorded in isolation.lacks */
    int64_t tmp_bytes; /* a tmpfs of its own at /tmp; 0: none. Needs the mount namespace */
    int *tmp_fd; /* gets that folder (O_PATH), or -1: the caller's to close. It can be read and
                    written, also when all processes in the sandbox have ended; NULL: unwanted */
    enum kg_proc proc; /* at /proc. Needs mount and pid namespace, and the host's leave */
    /* Address space that the program has before it starts, on top of the limit; -1: no limit of
     * address space at all (CUDA reserves more than there is). */
    int64_t address_bytes;
    const struct kg_birth *birth; /* NULL: clone, exec of argv; else argv and envp are not used */
};

enum kg_exit_kind {
    KG_EXIT_RUNNING,
    KG_EXIT_CODE,
    KG_EXIT_SIGNAL,
    KG_EXIT_OOM,
    KG_EXIT_KILLED /* by kg_sandbox_kill */
};
struct kg_exit {
    enum kg_exit_kind kind;
    int code;           /* exit status or signal number */
    int64_t peak_bytes; /* -1 unknown */
    int64_t cpu_ns;     /* -1 unknown */
};

struct kg_sandbox {
    pid_t pid; /* direct child, pid 1 of its namespace where there is one; -1 after the end */
    int pidfd;
    struct kg_isolation isolation;
    struct kg_exit exit;
    char cgroup[8][256]; /* private: folders to remove; [0] has memory and pids on version 2 */
    int ncgroup;
    bool stopped;
    int cgroup_version;   /* private, as the rest */
    int64_t cpu_limit_ns; /* 0: none */
    int netns;            /* descriptor + 1 of its network namespace, 0: not kept */
    enum kg_profile profile;
    uint32_t uid, gid; /* that it has outside */
};

/* The thread that spawns must outlive the program: the parent-death signal is tied to it.
 * Inside a pid namespace the program is pid 1: signals that it raises itself and does not handle
 * are ignored (abort() then ends in SIGSEGV); those of a fault, and SIGKILL from outside, end it.
 * A CPU limit ends it with SIGKILL, reported as SIGXCPU.
 * On success the program is running (or has failed to exec: then it exits with status 127 and a
 * line on its stderr). */
enum kg_code kg_sandbox_spawn(const struct kg_sandbox_spec *spec, struct kg_sandbox *out,
                              struct kg_err *err) KG_MUST_USE;
/* Reap if it ended. True: exit is final. Never blocks. */
bool kg_sandbox_poll(struct kg_sandbox *s);
/* Wait until it ends or the monotonic deadline passes (then it still runs). */
bool kg_sandbox_wait(struct kg_sandbox *s, int64_t deadline_ns);
/* Stop all its tasks and return once they are confirmed stopped (SIGSTOP + waitid; cgroup freezer
 * for descendants), or let them go on. False: it ended meanwhile, or was not seen to stop, which it
 * may do later: thaw one that is to go on. */
bool kg_sandbox_freeze(struct kg_sandbox *s);
bool kg_sandbox_thaw(struct kg_sandbox *s);
/* Kill everything that it started, reap, remove its cgroups. Idempotent; safe on a zeroed object
 * with pid -1. */
void kg_sandbox_end(struct kg_sandbox *s);

/* What this host allows, found by trying; for doctor, and for choosing steps. Cached per process.
 */
struct kg_host_caps {
    uint32_t steps;     /* that work here */
    int cgroup_version; /* 0 none, 1, 2 */
    int landlock_abi;   /* 0 none */
    bool root;
    char why[KG_STEP_COUNT][120]; /* for each missing step: the system's reason */
};
const struct kg_host_caps *kg_sandbox_caps(void);
/* What a spawn would reach here, for results that came from a cache. */
struct kg_isolation kg_sandbox_isolation(uint32_t without);
/* Refuses (KG_E_HOST) unless seccomp and Landlock are there or allow_unconfined. */
enum kg_code kg_sandbox_require(bool allow_unconfined, struct kg_err *err) KG_MUST_USE;
/* Remove cgroups and scratch folders that dead kgym processes left. Called at start-up. */
void kg_sandbox_sweep(void);

/* Inside the runner, after all set-up and before any candidate code: the allow-list. Returns 0 or
 * -errno; on failure the caller must exit. */
int kg_seccomp_run(void);
/* The filter of a profile, before exec. */
int kg_seccomp_profile(enum kg_profile profile);

/* A scratch folder on a tmpfs with size and inode limits in a private mount namespace where
 * allowed, else a plain folder below $TMPDIR. One per worker; emptied between evaluations. */
struct kg_scratch {
    char path[256];
    bool tmpfs;
    int lock_fd; /* private: says to a sweep that the owner lives */
};
enum kg_code kg_scratch_open(int64_t max_bytes, int64_t max_inodes, struct kg_scratch *out,
                             struct kg_err *err) KG_MUST_USE;
enum kg_code kg_scratch_clear(struct kg_scratch *s, struct kg_err *err) KG_MUST_USE;
void kg_scratch_close(struct kg_scratch *s);

#endif
