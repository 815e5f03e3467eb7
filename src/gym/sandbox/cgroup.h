/* Private to the sandbox: control groups, version 2, or the version 1 hierarchies memory, pids and
 * freezer. Each sandbox has one group, kgym-<broker's pid>-<number>, below the first place that
 * allows it. */
#ifndef KG_GYM_SANDBOX_CGROUP_H
#define KG_GYM_SANDBOX_CGROUP_H

#include "gym/sandbox/sandbox.h"

/* Where this host allows groups. */
struct kg_cgroup_host {
    int version;       /* 0: nowhere */
    char base[3][200]; /* version 2: one; version 1: memory, pids, freezer ("" if missing) */
    char why[120];     /* with version 0: the reason */
};

enum { KG_CG_MEMORY, KG_CG_PIDS, KG_CG_FREEZER };

/* Use of a group so far. */
struct kg_cgroup_use {
    int64_t peak_bytes; /* -1 unknown */
    int64_t cpu_ns;     /* -1 unknown */
    bool oom;           /* a task was killed for want of memory within the group's own limit */
};

/* Found once per process, by trying. */
const struct kg_cgroup_host *kg_cgroup_host(void);
/* Makes the groups of s and sets the limits (0: no limit). KG_E_HOST: refused. */
enum kg_code kg_cgroup_create(const struct kg_limits *limits, struct kg_sandbox *s,
                              struct kg_err *err) KG_MUST_USE;
/* Files to which a task writes "0" to join the group. Version 1 only, where a task can move itself
 * cheaply. */
size_t kg_cgroup_join_files(const struct kg_sandbox *s, char files[8][280]);
/* A descriptor of the version 2 group, for clone3; -1 for version 1. The caller closes it. */
int kg_cgroup_open(const struct kg_sandbox *s);
/* Moves a process into the groups. */
enum kg_code kg_cgroup_move(const struct kg_sandbox *s, pid_t pid, struct kg_err *err) KG_MUST_USE;
/* Reads the use so far. */
struct kg_cgroup_use kg_cgroup_read(const struct kg_sandbox *s);
/* CPU time of all tasks that it has had (version 2), or has (version 1); -1: unknown. */
int64_t kg_cgroup_cpu_ns(const struct kg_sandbox *s);
/* That of one process with all its threads; 0: there is none. */
int64_t kg_cgroup_cpu_of(pid_t pid);
/* Stops or continues all tasks; true once that is confirmed. */
bool kg_cgroup_freeze(const struct kg_sandbox *s, bool freeze);
/* Kills all tasks of the groups. */
void kg_cgroup_kill(const struct kg_sandbox *s);
/* Removes the groups, and kills tasks in them. It ends after a bounded time. */
void kg_cgroup_remove(struct kg_sandbox *s);
void kg_cgroup_remove_folder(const char *folder); /* the same for one folder */
/* Removes groups of brokers that are dead. */
void kg_cgroup_sweep(void);

/* Write or read one line of a group's file. */
int kg_cgroup_write(const char *folder, const char *file, const char *value); /* 0 or -errno */
bool kg_cgroup_get(const char *folder, const char *file, char *out, size_t cap);

#endif
