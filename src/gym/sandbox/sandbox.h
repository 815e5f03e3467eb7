/* The sandbox: starts one program confined, watches it, and ends it with everything that it
 * started.
 *
 * Always: new session, rlimits, no-new-privileges, seccomp, Landlock, an environment from a list,
 * no other descriptors than those listed, parent-death signal. Where the host allows it: user,
 * mount, pid, net and ipc namespaces, a uid of its own, cgroups (v2, or v1 memory, pids and
 * freezer). `isolation` has what was reached and what was lacking; every record contains it. Two
 * failures are told apart: the sandbox failed (kg_err, blame host), or the program ended (struct
 * kg_exit). docs/security.md lists each step with the attack that it stops;
 * tests/unit/test_sandbox_ladder.c removes each step in turn. Threads: one owner per object. */
#ifndef KG_GYM_SANDBOX_SANDBOX_H
#define KG_GYM_SANDBOX_SANDBOX_H

#include <sys/types.h>

#include "base/buf.h"

enum kg_profile {
    KG_PROFILE_COMPILE, /* may execute tools below /usr and write to its scratch folder */
    KG_PROFILE_RUN,     /* may execute the runner only, which then seals itself (kg_seccomp_run) */
    KG_PROFILE_JUDGE,   /* kgym's own judge: no exec, no files, no new sockets */
    KG_PROFILE_PYTHON, /* a Python runner: may execute what it is shown and write to its own /tmp */
    KG_PROFILE_CUDA,   /* the same on a GPU, whose driver needs local sockets */
};

enum kg_step { /* bits of the ladder, in the order in which they are taken */
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
const char *kg_step_name(int step); /* of one step: "rlimit", ... */

struct kg_isolation {
    int level;           /* 0..3: docs/security.md, "Levels" */
    uint32_t has, lacks; /* bits of enum kg_step */
};

/* A file or folder to show. */
struct kg_bind {
    /* Host path, and path inside; without a mount namespace src is used inside too. */
    const char *src, *dst;
    bool writable;
};

/* 0: no limit. */
struct kg_limits {
    int64_t memory_bytes; /* address space (rlimit) and memory of the cgroup */
    int64_t processes;    /* tasks, threads included */
    int64_t file_bytes;   /* of a single file */
    int64_t cpu_s;
    int64_t descriptors;
};

enum kg_proc { KG_PROC_NONE, KG_PROC_OWN /* its own processes only */, KG_PROC_WHOLE };

/* How a helper starts the program, instead of a clone of this process. The helper forks a child,
 * which enters new namespaces, forks the program and exits. So the program becomes this process's
 * child. ask sends the plan and the program's end of the control socket to the helper; both stay
 * the caller's. It returns when the child between has exited. */
struct kg_birth {
    enum kg_code (*ask)(void *helper, int plan_fd, int ctl_fd, struct kg_err *err);
    void *helper;
};

/* The program to start, and its confinement. Pointers are the caller's, for the length of the
 * spawn. */
struct kg_sandbox_spec {
    enum kg_profile profile;
    const char *const *argv; /* argv[0] is the program's path inside */
    const char *const *envp; /* exactly this environment; NULL: empty */
    const char *workdir;     /* a path inside; NULL: "/" */
    const struct kg_bind *binds;
    size_t nbinds;
    const int *fds; /* fds[i] becomes descriptor i; -1: /dev/null. All others are closed */
    size_t nfds;
    struct kg_limits limits;
    int cpu; /* core to pin to; -1: inherit */
    bool no_aslr;
    uint32_t without;  /* for tests: steps to leave out; recorded in isolation.lacks */
    int64_t tmp_bytes; /* size of its own tmpfs at /tmp; 0: none. Needs the mount namespace */
    int *tmp_fd; /* receives that folder (O_PATH), or -1; the caller closes it. It stays readable
                    and writable after all processes in the sandbox have ended. NULL: not wanted */
    /* Contents of /proc. Needs mount and pid namespaces, and a host that allows it. */
    enum kg_proc proc;
    /* Address space that the program already has, added to the limit. -1: no limit of address
     * space, because CUDA reserves more than there is. */
    int64_t address_bytes;
    /* NULL: clone and exec of argv. Else argv and envp are not used. */
    const struct kg_birth *birth;
};

enum kg_exit_kind {
    KG_EXIT_RUNNING,
    KG_EXIT_CODE,
    KG_EXIT_SIGNAL,
    KG_EXIT_OOM,
    KG_EXIT_KILLED /* by kg_sandbox_end */
};
struct kg_exit {
    enum kg_exit_kind kind;
    int code;           /* exit status or signal number */
    int64_t peak_bytes; /* -1 unknown */
    int64_t cpu_ns;     /* -1 unknown */
};

struct kg_sandbox {
    pid_t pid; /* the direct child, pid 1 of its namespace where there is one; -1 after the end */
    int pidfd;
    struct kg_isolation isolation;
    struct kg_exit exit;
    char cgroup[8][256]; /* private: folders to remove; in version 2 [0] has memory and pids */
    int ncgroup;
    bool stopped;
    int cgroup_version;   /* private, like the rest */
    int64_t cpu_limit_ns; /* 0: none */
    int netns;            /* 1 + descriptor of its network namespace; 0: not kept */
    enum kg_profile profile;
    uint32_t uid, gid; /* its ids outside */
};

/* Starts a program confined.
 *
 * The thread that spawns must outlive the program, because the parent-death signal belongs to it.
 * Inside a pid namespace the program is pid 1. Signals that it raises itself and does not handle
 * are ignored there (abort() then ends in SIGSEGV). Faults, and SIGKILL from outside, end it. A CPU
 * limit ends it with SIGKILL, which is reported as SIGXCPU. On success the program runs. If exec
 * failed, it exits with status 127 and a line on its stderr. KG_E_HOST: a step failed; the message
 * names it. */
enum kg_code kg_sandbox_spawn(const struct kg_sandbox_spec *spec, struct kg_sandbox *out,
                              struct kg_err *err) KG_MUST_USE;
/* Reaps the program if it has ended. True: exit is final. Never blocks. */
bool kg_sandbox_poll(struct kg_sandbox *s);
/* Waits until it ends or deadline_ns (monotonic) passes; false: it still runs. */
bool kg_sandbox_wait(struct kg_sandbox *s, int64_t deadline_ns);
/* freeze stops all tasks, and returns once they are confirmed stopped (SIGSTOP and waitid; the
 * cgroup freezer for descendants). thaw continues them. False: it ended, or was not seen to stop.
 * Such a program may stop later, so thaw one that is to go on. */
bool kg_sandbox_freeze(struct kg_sandbox *s);
bool kg_sandbox_thaw(struct kg_sandbox *s);
/* CPU time that it and what it started have used, in ns; -1: unknown. Cgroups of version 2 count
 * all of it; with version 1 what has ended is missing, and without cgroups all but the first
 * process. */
int64_t kg_sandbox_cpu_ns(const struct kg_sandbox *s);
/* Kills everything that it started, reaps it, removes its cgroups. May be called twice, and on a
 * zeroed object with pid -1. */
void kg_sandbox_end(struct kg_sandbox *s);

/* Steps that this host allows, found by trying. Doctor shows it, and it chooses the steps. Cached
 * per process. */
struct kg_host_caps {
    uint32_t steps;     /* steps that work here */
    int cgroup_version; /* 0 none, 1, 2 */
    bool freezer;       /* a program's children can be stopped with it */
    int landlock_abi;   /* 0 none */
    bool root;
    char why[KG_STEP_COUNT][120]; /* for each missing step, the system's reason */
};
const struct kg_host_caps *kg_sandbox_caps(void);
/* The isolation that a spawn would reach here, for results from a cache. */
struct kg_isolation kg_sandbox_isolation(uint32_t without);
/* Refuses with KG_E_HOST unless seccomp and Landlock work, or allow_unconfined. */
enum kg_code kg_sandbox_require(bool allow_unconfined, struct kg_err *err) KG_MUST_USE;
/* Removes cgroups and scratch folders that dead kgym processes left. Call it at start. */
void kg_sandbox_sweep(void);

/* Seals the runner, after its set-up and before any candidate code. Returns 0 or -errno; on failure
 * the caller must exit. */
int kg_seccomp_run(void);
/* Loads the filter of a profile, before exec. Returns 0 or -errno. */
int kg_seccomp_profile(enum kg_profile profile);

/* A scratch folder: a tmpfs with limits of size and inodes in a private mount namespace where
 * allowed, else a plain folder below $TMPDIR. Each worker has one. A user that puts files there
 * removes them. */
struct kg_scratch {
    char path[256];
    bool tmpfs;
    int lock_fd; /* private: tells a sweep that the owner lives */
};
/* open makes the folder; close removes it. KG_E_HOST: no folder or no right. */
enum kg_code kg_scratch_open(int64_t max_bytes, int64_t max_inodes, struct kg_scratch *out,
                             struct kg_err *err) KG_MUST_USE;
void kg_scratch_close(struct kg_scratch *s);

#endif
