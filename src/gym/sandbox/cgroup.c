/* Control groups of one sandbox: creation, limits, freezing, killing, reading and removal. */
#include "gym/sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int kg_cgroup_write(const char *folder, const char *file, const char *value)
{
    char path[320];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    ssize_t n = write(fd, value, strlen(value));
    int rc = n < 0 ? -errno : 0;
    close(fd);
    return rc;
}

bool kg_cgroup_get(const char *folder, const char *file, char *out, size_t cap)
{
    char path[320];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, out, cap - 1);
    close(fd);
    out[n < 0 ? 0 : n] = '\0';
    return n >= 0;
}

static int write_number(const char *folder, const char *file, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return kg_cgroup_write(folder, file, text);
}

static int limit_memory(const char *folder, int version, int64_t bytes)
{
    if (bytes <= 0) {
        return 0;
    }
    if (version == 2) {
        int rc = write_number(folder, "memory.max", bytes);
        kg_cgroup_write(folder, "memory.swap.max", "0"); /* absent where there is no swap */
        kg_cgroup_write(folder, "memory.oom.group", "1");
        return rc;
    }
    int rc = write_number(folder, "memory.limit_in_bytes", bytes);
    write_number(folder, "memory.memsw.limit_in_bytes", bytes);
    return rc;
}

static int make_group(const char *base, unsigned number, struct kg_sandbox *s)
{
    char *folder = s->cgroup[s->ncgroup];
    int n = snprintf(folder, sizeof s->cgroup[0], "%s/kgym-%d-%u", base, (int)getpid(), number);
    if (n < 0 || (size_t)n >= sizeof s->cgroup[0]) {
        return -ENAMETOOLONG;
    }
    if (mkdir(folder, 0755) != 0) {
        return -errno;
    }
    s->ncgroup++;
    return 0;
}

enum kg_code kg_cgroup_create(const struct kg_limits *limits, struct kg_sandbox *s,
                              struct kg_err *err)
{
    static unsigned number;
    const struct kg_cgroup_host *h = kg_cgroup_host();
    s->cgroup_version = h->version;
    s->ncgroup = 0;
    number++;
    int groups = h->version == 2 ? 1 : 3;
    for (int i = 0; i < groups; i++) {
        if (h->base[i][0] == '\0') {
            continue; /* freezing is useful but not required */
        }
        int rc = make_group(h->base[i], number, s);
        const char *folder = s->cgroup[s->ncgroup > 0 ? s->ncgroup - 1 : 0];
        if (rc == 0 && i == KG_CG_MEMORY) {
            rc = limit_memory(folder, h->version, limits->memory_bytes);
        }
        if (rc == 0 && limits->processes > 0 && (h->version == 2 || i == KG_CG_PIDS)) {
            rc = write_number(folder, "pids.max", limits->processes);
        }
        if (rc != 0) {
            kg_fail(err, KG_E_HOST, "sandbox: cannot make a cgroup below %s: %s", h->base[i],
                    strerror(-rc));
            kg_cgroup_remove(s);
            return err->code;
        }
    }
    return KG_OK;
}

size_t kg_cgroup_join_files(const struct kg_sandbox *s, char files[8][280])
{
    if (s->cgroup_version != 1) {
        return 0;
    }
    for (int i = 0; i < s->ncgroup; i++) {
        snprintf(files[i], 280, "%s/tasks", s->cgroup[i]);
    }
    return (size_t)s->ncgroup;
}

int kg_cgroup_open(const struct kg_sandbox *s)
{
    if (s->cgroup_version != 2 || s->ncgroup == 0) {
        return -1;
    }
    return open(s->cgroup[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

enum kg_code kg_cgroup_move(const struct kg_sandbox *s, pid_t pid, struct kg_err *err)
{
    for (int i = 0; i < s->ncgroup; i++) {
        int rc = write_number(s->cgroup[i], "cgroup.procs", pid);
        if (rc != 0) {
            return kg_fail(err, KG_E_HOST, "sandbox: cannot move a process into %s: %s",
                           s->cgroup[i], strerror(-rc));
        }
    }
    return KG_OK;
}

/* The number after `key ` in a file of such lines; -1: no such line. */
static int64_t keyed(const char *folder, const char *file, const char *key)
{
    char text[2048];
    if (!kg_cgroup_get(folder, file, text, sizeof text)) {
        return -1;
    }
    size_t n = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, n) == 0 && line[n] == ' ') {
            return strtoll(line + n, NULL, 10);
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return -1;
}

static int64_t number_in(const char *folder, const char *file)
{
    char text[64];
    if (!kg_cgroup_get(folder, file, text, sizeof text) || text[0] < '0' || text[0] > '9') {
        return -1;
    }
    return strtoll(text, NULL, 10);
}

/* oom_kill counts tasks of this group, whoever lacked memory: the host and a group above it choose
 * their victims here as well. `oom` counts where this group's own limit was reached. Version 1 has
 * no such count that every kernel keeps (failcnt stays 0 where memory with swap has the same
 * limit), so the peak tells. A file that is missing (-1) excuses nobody. */
static bool out_of_own_memory(const char *folder, int version)
{
    if (version == 2) {
        return keyed(folder, "memory.events", "oom_kill") > 0 &&
               keyed(folder, "memory.events", "oom") != 0;
    }
    int64_t peak = number_in(folder, "memory.max_usage_in_bytes"),
            limit = number_in(folder, "memory.limit_in_bytes");
    return keyed(folder, "memory.oom_control", "oom_kill") > 0 &&
           (peak < 0 || peak >= limit - limit / 16);
}

struct kg_cgroup_use kg_cgroup_read(const struct kg_sandbox *s)
{
    struct kg_cgroup_use use = {-1, -1, false};
    if (s->ncgroup == 0) {
        return use;
    }
    const char *folder = s->cgroup[0];
    if (s->cgroup_version == 2) {
        use.peak_bytes = number_in(folder, "memory.peak");
        use.cpu_ns = kg_cgroup_cpu_ns(s);
    } else {
        use.peak_bytes = number_in(folder, "memory.max_usage_in_bytes");
    }
    use.oom = out_of_own_memory(folder, s->cgroup_version);
    return use;
}

int64_t kg_cgroup_cpu_of(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    bool there = pid > 0 && clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0;
    return there ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

/* Calls back for each process that is listed and can be seen; returns their number. */
static int each_listed(const char *folder, void (*one)(pid_t pid, void *user), void *user)
{
    char path[320];
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    FILE *f = fopen(path, "re");
    char line[32];
    int n = 0;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        long pid = strtol(line, NULL, 10);
        if (pid > 1) { /* 0: not visible from this pid namespace */
            one((pid_t)pid, user);
            n++;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return n;
}

static void add_cpu(pid_t pid, void *sum)
{
    *(int64_t *)sum += kg_cgroup_cpu_of(pid);
}

int64_t kg_cgroup_cpu_ns(const struct kg_sandbox *s)
{
    int64_t sum = 0;
    if (s->ncgroup == 0) {
        return -1;
    }
    if (s->cgroup_version == 2) {
        int64_t us = keyed(s->cgroup[0], "cpu.stat", "usage_usec");
        return us < 0 ? -1 : us * 1000;
    }
    return each_listed(s->cgroup[0], add_cpu, &sum) > 0 ? sum : -1;
}

static void pause_us(long us)
{
    nanosleep(&(struct timespec){0, us * 1000}, NULL);
}

bool kg_cgroup_freeze(const struct kg_sandbox *s, bool freeze)
{
    bool two = s->cgroup_version == 2;
    if (s->ncgroup == 0 || (!two && s->ncgroup <= KG_CG_FREEZER)) {
        return false;
    }
    const char *folder = s->cgroup[two ? 0 : KG_CG_FREEZER];
    for (int i = 0; i < 1000; i++) {
        char state[32] = "";
        /* Version 1 may stay FREEZING until it is asked again. */
        int rc = two ? kg_cgroup_write(folder, "cgroup.freeze", freeze ? "1" : "0")
                     : kg_cgroup_write(folder, "freezer.state", freeze ? "FROZEN" : "THAWED");
        if (rc != 0) {
            return false;
        }
        if (two ? keyed(folder, "cgroup.events", "frozen") == freeze
                : kg_cgroup_get(folder, "freezer.state", state, sizeof state) &&
                      strncmp(state, freeze ? "FROZEN" : "THAWED", 6) == 0) {
            return true;
        }
        pause_us(50);
    }
    return false;
}

static void kill_one(pid_t pid, void *user)
{
    (void)user;
    kill(pid, SIGKILL);
}

/* Sends SIGKILL to every listed process; returns their number. */
static int kill_listed(const char *folder)
{
    return each_listed(folder, kill_one, NULL);
}

static void kill_group(const char *folder)
{
    /* A fork may escape one pass, though not from a frozen group. So the list is read until it is
     * empty. */
    for (int i = 0; i < 200 && kill_listed(folder) > 0; i++) {
        pause_us(i < 20 ? 100 : 1000);
    }
}

void kg_cgroup_kill(const struct kg_sandbox *s)
{
    if (s->ncgroup == 0) {
        return;
    }
    if (s->cgroup_version == 2 && kg_cgroup_write(s->cgroup[0], "cgroup.kill", "1") == 0) {
        return;
    }
    bool frozen = kg_cgroup_freeze(s, true);
    kill_listed(s->cgroup[0]);
    if (frozen) {
        kg_cgroup_freeze(s, false);
    }
    kill_group(s->cgroup[0]);
}

void kg_cgroup_remove_folder(const char *folder)
{
    for (int i = 0; i < 200; i++) {
        if (rmdir(folder) == 0 || errno == ENOENT) {
            return;
        }
        kill_listed(folder);
        pause_us(i < 20 ? 100 : 5000);
    }
}

void kg_cgroup_remove(struct kg_sandbox *s)
{
    for (int i = s->ncgroup - 1; i >= 0; i--) {
        kg_cgroup_remove_folder(s->cgroup[i]);
    }
    s->ncgroup = 0;
}
