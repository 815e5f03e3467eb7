/* What is decided before a sandbox is cloned, so that the child between clone and exec neither
 * allocates nor decides: it climbs the ladder step by step and reports the first that fails.
 * Private to the sandbox. */
#ifndef KG_GYM_SANDBOX_PLAN_H
#define KG_GYM_SANDBOX_PLAN_H

#include "gym/sandbox/seccomp.h"

#define KG_ALL_STEPS ((1u << KG_STEP_COUNT) - 1)
#define KG_MAX_BINDS 48
#define KG_MAX_LINKS 8
#define KG_MAX_PATH  512

struct kg_mount {
    char src[KG_MAX_PATH]; /* canonical */
    char dst[KG_MAX_PATH]; /* inside; equals src without a mount namespace */
    bool writable, folder, exec;
};

struct kg_link { /* /lib -> usr/lib and alike */
    char path[32], target[64];
};

struct kg_plan {
    const struct kg_sandbox_spec *spec;
    uint32_t steps;
    bool root; /* the broker is root in its own user namespace */
    struct kg_mount mounts[KG_MAX_BINDS];
    size_t nmounts;
    struct kg_link links[KG_MAX_LINKS];
    size_t nlinks;
    char loader[KG_MAX_PATH]; /* dynamic loader, which exec opens; "" if unknown */
    const struct sock_fprog *filter;
    const char *const *envp;
    char tasks[8][280]; /* files that the child writes 0 to, to join its cgroups */
    size_t ntasks;
    int ctl[2];   /* socket pair: broker's end, child's end */
    int netns;    /* descriptor + 1 of a network namespace to enter, 0: a new one */
    uint32_t uid; /* inside and outside */
    uint32_t gid;
    bool probe; /* climb the ladder, then exit 0 instead of exec */
};

/* Child and broker talk in these over ctl. */
enum kg_note_kind {
    KG_NOTE_GO,
    KG_NOTE_MAP,
    KG_NOTE_MAPPED,
    KG_NOTE_READY,
    KG_NOTE_FAILED,
    KG_NOTE_BORN, /* of the process between: pid is the program's */
    KG_NOTE_TMP,  /* comes with a descriptor: its own /tmp */
};
struct kg_note {
    enum kg_note_kind kind;
    int step;  /* bit that failed, 0: none in particular */
    int error; /* errno */
    uint32_t uid, gid;
    pid_t pid, between;
    char what[128];
};

/* Fill mounts, links, loader, filter, envp from spec and steps. */
enum kg_code kg_plan_make(const struct kg_sandbox_spec *spec, uint32_t steps, struct kg_plan *out,
                          struct kg_err *err) KG_MUST_USE;
/* Steps that can't be taken without others are taken out. */
uint32_t kg_steps_possible(uint32_t steps, bool root);
struct kg_isolation kg_isolation_of(uint32_t steps);

/* In the child. Never returns. */
_Noreturn void kg_child_main(struct kg_plan *plan);
/* The other way in (struct kg_birth). In the process between: leave for new namespaces, in which
 * its children will be born; then tell the broker who was. In the program: climb the ladder, and
 * return confined, with the control socket closed. */
void kg_child_leave(const struct kg_plan *plan);
void kg_child_born(const struct kg_plan *plan, pid_t pid);
void kg_child_climb(struct kg_plan *plan);
/* Reports to the broker and exits. Async-signal safe, as all below. */
_Noreturn void kg_child_fail(const struct kg_plan *plan, int step, const char *what);
void kg_child_netns(const struct kg_plan *plan);
/* CUDA names its threads through /proc, and fails where it can't. What is the host's there belongs
 * to a root that a uid of its own, or a user namespace, is not. */
static inline bool kg_proc_writable(const struct kg_plan *plan)
{
    return plan->spec->proc == KG_PROC_WHOLE &&
           (plan->steps & (plan->root ? KG_STEP_UID : KG_STEP_USERNS)) != 0;
}
void kg_child_mounts(const struct kg_plan *plan);
void kg_child_landlock(const struct kg_plan *plan);
void kg_child_ids(const struct kg_plan *plan);
void kg_child_drop_caps(const struct kg_plan *plan);

/* netns.c: before the clone, take a network namespace that is free; behind it, keep hold of the
 * one that is new; in the end let it go, all_dead: for the next. */
void kg_netns_choose(struct kg_plan *plan, struct kg_sandbox *s);
void kg_netns_hold(const struct kg_plan *plan, struct kg_sandbox *s);
void kg_netns_release(struct kg_sandbox *s, bool all_dead);

/* A uid and gid that nobody uses, different for each process; false: none is mapped here. */
bool kg_ids_unused(pid_t pid, uint32_t *uid, uint32_t *gid);
/* Maps one uid and gid of process pid's new user namespace to themselves. 0 or -errno. */
int kg_ids_map(pid_t pid, uint32_t uid, uint32_t gid);

/* A plan as a file, for the processes of a birth: a memfd, or -errno. What it needs of spec and
 * filter is in it; argv, envp, binds and fds are not. */
int kg_plan_save(const struct kg_plan *plan);
/* The plan of such a file, in memory that is kept, with the control socket and descriptors of this
 * process (borrowed); NULL with errno. */
struct kg_plan *kg_plan_load(int fd, int ctl_fd, const int *fds, size_t nfds);

int kg_landlock_abi(void); /* 0: none */

/* Spawn with exactly these steps, whatever the host's capabilities are said to be. On failure
 * *failed is the step's bit, or 0. probe: nothing is executed. */
enum kg_code kg_spawn_steps(const struct kg_sandbox_spec *spec, uint32_t steps, bool probe,
                            struct kg_sandbox *out, int *failed, struct kg_err *err) KG_MUST_USE;

/* Parts of a start, for adopt.c: everything after the child has a pid; and the whole of it by
 * plan->spec->birth. */
enum kg_code kg_spawn_talk(struct kg_plan *plan, struct kg_sandbox *s, bool move, int *failed,
                           struct kg_err *err) KG_MUST_USE;
bool kg_spawn_hear(const struct kg_plan *plan, struct kg_note *note);
enum kg_code kg_spawn_refused(const struct kg_note *note, int *failed, struct kg_err *err);
enum kg_code kg_adopt_and_talk(struct kg_plan *plan, struct kg_sandbox *s, int *failed,
                               struct kg_err *err) KG_MUST_USE;

/* A scratch folder without a file system of its own. */
enum kg_code kg_scratch_open_plain(struct kg_scratch *out, struct kg_err *err) KG_MUST_USE;
const char *kg_scratch_parent(void); /* the folder below which scratch folders are made */
bool kg_scratch_tmpfs_works(char why[120]);
void kg_scratch_sweep(void);

#endif
