/* Control groups, version 2 or the version 1 hierarchies memory, pids and freezer: one group per
 * sandbox, named kgym-<broker's pid>-<number>, made below the first place that lets it. Private to
 * the sandbox. */
#ifndef KG_GYM_SANDBOX_CGROUP_H
#define KG_GYM_SANDBOX_CGROUP_H

#include "gym/sandbox/sandbox.h"

struct kg_cgroup_host {
    int version;       /* 0: none usable */
    char base[3][200]; /* version 2: one; version 1: memory, pids, freezer ("" if missing) */
    char why[120];     /* version 0: the reason */
};

enum { KG_CG_MEMORY, KG_CG_PIDS, KG_CG_FREEZER };

struct kg_cgroup_use {
    int64_t peak_bytes; /* -1 unknown */
    int64_t cpu_ns;     /* -1 unknown */
    bool oom;
};

const struct kg_cgroup_host *kg_cgroup_host(void);
/* Make the groups of s and set the limits (0: none). */
enum kg_code kg_cgroup_create(const struct kg_limits *limits, struct kg_sandbox *s,
                              struct kg_err *err) KG_MUST_USE;
/* Files to which a task of the group-to-be writes "0"; version 1 only, where moving oneself is
 * cheap. */
size_t kg_cgroup_join_files(const struct kg_sandbox *s, char files[8][280]);
/* Descriptor of the version 2 group, for clone3; -1 otherwise. */
int kg_cgroup_open(const struct kg_sandbox *s);
enum kg_code kg_cgroup_move(const struct kg_sandbox *s, pid_t pid, struct kg_err *err) KG_MUST_USE;
struct kg_cgroup_use kg_cgroup_read(const struct kg_sandbox *s);
/* Stop or continue every task; true once confirmed. */
bool kg_cgroup_freeze(const struct kg_sandbox *s, bool freeze);
void kg_cgroup_kill(const struct kg_sandbox *s);
/* Remove the groups; tasks in them are killed. Bounded. */
void kg_cgroup_remove(struct kg_sandbox *s);
void kg_cgroup_remove_folder(const char *folder); /* one group, tasks killed; bounded */
void kg_cgroup_sweep(void);

/* One line into or out of a file of a group. */
int kg_cgroup_write(const char *folder, const char *file, const char *value); /* 0 or -errno */
bool kg_cgroup_get(const char *folder, const char *file, char *out, size_t cap);

#endif
