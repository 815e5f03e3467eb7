/* Identities: a uid of its own for each sandbox, and the maps of user namespaces. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gym/sandbox/plan.h"

/* Above the ids that distributions and container managers use (systemd: up to 0x6fffffff for
 * containers). A pid is below 2^22, so every live process gets an id of its own. */
#define FIRST_UNUSED 0x70000000u
#define PIDS         (1u << 22)

/* The last range of ids in this user namespace, from an id_map file. */
static bool last_range(const char *file, uint32_t *first, uint32_t *count)
{
    FILE *f = fopen(file, "re");
    unsigned inside, outside, n;
    bool any = false;
    while (f != NULL && fscanf(f, "%u %u %u", &inside, &outside, &n) == 3) {
        if (!any || inside >= *first) {
            *first = inside;
            *count = n;
            any = true;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return any;
}

static bool pick(const char *file, pid_t pid, uint32_t *id)
{
    uint32_t first = 0, count = 0;
    if (!last_range(file, &first, &count)) {
        return false;
    }
    if (first <= FIRST_UNUSED && count - 1 >= FIRST_UNUSED - first + PIDS) {
        *id = FIRST_UNUSED + (uint32_t)pid % PIDS;
        return true;
    }
    /* A container's 65536 ids: systemd's range for short-lived services is 61184 to 65519. */
    if (first <= 61184 && count - 1 >= 65519 - first) {
        *id = 61184 + (uint32_t)pid % 4336;
        return true;
    }
    return false;
}

bool kg_ids_unused(pid_t pid, uint32_t *uid, uint32_t *gid)
{
    return pick("/proc/self/uid_map", pid, uid) && pick("/proc/self/gid_map", pid, gid);
}

static int put(pid_t pid, const char *file, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int rc = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    close(fd);
    return rc;
}

int kg_ids_map(pid_t pid, uint32_t uid, uint32_t gid)
{
    char line[64];
    /* An unprivileged gid_map needs it; otherwise it does no harm. */
    int rc = put(pid, "setgroups", "deny");
    snprintf(line, sizeof line, "%u %u 1\n", uid, uid);
    rc = rc ? rc : put(pid, "uid_map", line);
    snprintf(line, sizeof line, "%u %u 1\n", gid, gid);
    return rc ? rc : put(pid, "gid_map", line);
}

/* It uses raw system calls. The C library's own would wait for the broker's other threads, which do
 * not exist here. The bounding set is dropped first, while that is still allowed. */
void kg_child_ids(const struct kg_plan *plan)
{
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0) {
            kg_child_fail(plan, KG_STEP_UID, "drop its bounding set");
        }
    }
    if (syscall(SYS_setresgid, plan->gid, plan->gid, plan->gid) != 0 ||
        syscall(SYS_setresuid, plan->uid, plan->uid, plan->uid) != 0) {
        kg_child_fail(plan, KG_STEP_UID, "change to its own uid");
    }
}

void kg_child_drop_caps(const struct kg_plan *plan)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capset, &head, none) != 0) {
        kg_child_fail(plan, KG_STEP_UID, "drop its capabilities");
    }
}
