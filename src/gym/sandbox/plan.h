/* Private to the sandbox: what is decided before the clone, so that the child between clone and
 * exec neither allocates nor decides. It takes the steps of the ladder one by one and reports the
 * first that fails. */
#ifndef KG_GYM_SANDBOX_PLAN_H
#define KG_GYM_SANDBOX_PLAN_H

#include "gym/sandbox/seccomp.h"

#define KG_ALL_STEPS ((1u << KG_STEP_COUNT) - 1)
#define KG_MAX_BINDS 48
#define KG_MAX_LINKS 8
#define KG_MAX_PATH  512

/* A file or folder that is shown inside. */
struct kg_mount {
    char src[KG_MAX_PATH]; /* a canonical path */
    char dst[KG_MAX_PATH]; /* inside; equals src without a mount namespace */
    bool writable, folder, exec;
};

struct kg_link { /* such as /lib -> usr/lib */
    char path[32], target[64];
};

/* Everything that the child needs. */
struct kg_plan {
    const struct kg_sandbox_spec *spec;
    uint32_t steps;
    bool root; /* the broker is root in its own user namespace */
    struct kg_mount mounts[KG_MAX_BINDS];
    size_t nmounts;
    struct kg_link links[KG_MAX_LINKS];
    size_t nlinks;
    char loader[KG_MAX_PATH]; /* the dynamic loader, which exec opens; "" if unknown */
    const struct sock_fprog *filter;
    const char *const *envp;
    char tasks[8][280]; /* the child writes 0 to these files to join its cgroups */
    size_t ntasks;
    int ctl[2];   /* socket pair: the broker's end, the child's end */
    int netns;    /* 1 + descriptor of a network namespace to enter; 0: a new one */
    uint32_t uid; /* the same inside and outside */
    uint32_t gid;
    bool probe; /* take the steps, then exit 0 instead of exec */
};

/* Messages between child and broker over ctl. */
enum kg_note_kind {
    KG_NOTE_GO,
    KG_NOTE_MAP,
    KG_NOTE_MAPPED,
    KG_NOTE_READY,
    KG_NOTE_FAILED,
    KG_NOTE_BORN, /* from the child between; pid is the program's */
    KG_NOTE_TMP,  /* comes with a descriptor of the program's own /tmp */
};
struct kg_note {
    enum kg_note_kind kind;
    int step;  /* the step that failed, as a bit; 0: no particular one */
    int error; /* errno */
    uint32_t uid, gid;
    pid_t pid, between;
    char what[128];
};

/* Fills mounts, links, loader, filter and envp from spec and steps. KG_E_HOST: a file cannot be
 * shown, or the filter cannot be made. */
enum kg_code kg_plan_make(const struct kg_sandbox_spec *spec, uint32_t steps, struct kg_plan *out,
                          struct kg_err *err) KG_MUST_USE;
/* Removes steps that need others which are missing. */
uint32_t kg_steps_possible(uint32_t steps, bool root);
/* The level of isolation that a set of steps reaches. */
struct kg_isolation kg_isolation_of(uint32_t steps);

/* Runs in the child, and never returns. */
_Noreturn void kg_child_main(struct kg_plan *plan);
/* The second way to start (struct kg_birth). leave: in the child between, enters new namespaces, in
 * which its children are forked. born: tells the broker the program's pid. climb: in the program,
 * takes the steps and returns confined, with the control socket closed. */
void kg_child_leave(const struct kg_plan *plan);
void kg_child_born(const struct kg_plan *plan, pid_t pid);
void kg_child_climb(struct kg_plan *plan);
/* Reports a failed step to the broker and exits. It and all functions below are async-signal
 * safe. */
_Noreturn void kg_child_fail(const struct kg_plan *plan, int step, const char *what);
void kg_child_netns(const struct kg_plan *plan);
/* CUDA names its threads through /proc, and fails where it cannot write there. The host's /proc
 * belongs to root, which a uid of its own or a user namespace is not. */
static inline bool kg_proc_writable(const struct kg_plan *plan)
{
    return plan->spec->proc == KG_PROC_WHOLE &&
           (plan->steps & (plan->root ? KG_STEP_UID : KG_STEP_USERNS)) != 0;
}
void kg_child_mounts(const struct kg_plan *plan);
void kg_child_landlock(const struct kg_plan *plan);
void kg_child_ids(const struct kg_plan *plan);
void kg_child_drop_caps(const struct kg_plan *plan);

/* netns.c. choose: before the clone, takes a free network namespace. hold: after it, keeps the new
 * one. release: at the end, offers it to the next sandbox if all_dead. */
void kg_netns_choose(struct kg_plan *plan, struct kg_sandbox *s);
void kg_netns_hold(const struct kg_plan *plan, struct kg_sandbox *s);
void kg_netns_release(struct kg_sandbox *s, bool all_dead);

/* A uid and gid that nothing else uses, different for each process. False: none is mapped here. */
bool kg_ids_unused(pid_t pid, uint32_t *uid, uint32_t *gid);
/* Maps one uid and gid of the new user namespace of process pid to themselves. Returns 0 or
 * -errno. */
int kg_ids_map(pid_t pid, uint32_t uid, uint32_t gid);

/* Stores a plan in a memfd, for the processes of a birth; returns it, or -errno. It holds what they
 * need of spec and filter, but not argv, envp, binds and fds. */
int kg_plan_save(const struct kg_plan *plan);
/* Loads such a plan into memory that is never freed. ctl_fd and fds are descriptors of this
 * process, and stay the caller's. NULL: errno is set. */
struct kg_plan *kg_plan_load(int fd, int ctl_fd, const int *fds, size_t nfds);

/* Spawns with exactly these steps, whatever the host is said to allow. On failure *failed is the
 * step's bit, or 0. probe: nothing is executed. */
enum kg_code kg_spawn_steps(const struct kg_sandbox_spec *spec, uint32_t steps, bool probe,
                            struct kg_sandbox *out, int *failed, struct kg_err *err) KG_MUST_USE;

/* Parts of a start, for adopt.c. talk: everything after the child has a pid. hear: one note; false:
 * silence or death. refused: the error of a failed step. adopt: the whole start by
 * plan->spec->birth. */
enum kg_code kg_spawn_talk(struct kg_plan *plan, struct kg_sandbox *s, bool move, int *failed,
                           struct kg_err *err) KG_MUST_USE;
bool kg_spawn_hear(const struct kg_plan *plan, struct kg_note *note);
enum kg_code kg_spawn_refused(const struct kg_note *note, int *failed, struct kg_err *err);
enum kg_code kg_adopt_and_talk(struct kg_plan *plan, struct kg_sandbox *s, int *failed,
                               struct kg_err *err) KG_MUST_USE;

/* A scratch folder without a file system of its own; the folder below which scratch folders are
 * made; whether a tmpfs can be mounted; and the removal of folders that dead brokers left. */
enum kg_code kg_scratch_open_plain(struct kg_scratch *out, struct kg_err *err) KG_MUST_USE;
const char *kg_scratch_parent(void);
bool kg_scratch_tmpfs_works(char why[120]);
void kg_scratch_sweep(void);

#endif
