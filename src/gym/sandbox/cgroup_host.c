/* Finds where this host lets kgym make control groups, by making one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gym/sandbox/cgroup.h"

static const char *const v1_names[] = {"memory", "pids", "freezer"};

/* True if a comma-separated list contains the word. */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)) != NULL; p += n) {
        bool starts = p == list || p[-1] == ',' || p[-1] == ' ';
        bool ends = p[n] == '\0' || p[n] == ',' || p[n] == ' ' || p[n] == '\n';
        if (starts && ends) {
            return true;
        }
    }
    return false;
}

/* This process's path in the hierarchy of a controller (NULL: version 2). */
static bool own_path(const char *controller, char out[200])
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[512];
    bool found = false;
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        char *list = strchr(line, ':');
        char *path = list == NULL ? NULL : strchr(list + 1, ':');
        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        found = controller == NULL ? list[1] == '\0' : has_word(list + 1, controller);
        found = found && strlen(path) < 200;
        if (found) {
            snprintf(out, 200, "%s", path);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

/* Mount point and root of the hierarchy. Fields of mountinfo: id parent dev root point options -
 * type source super-options. */
static bool mount_of(const char *controller, char point[200], char root[200])
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char line[1024];
    bool found = false;
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        char type[32] = "", super[256] = "";
        const char *dash = strstr(line, " - ");
        if (dash == NULL || sscanf(line, "%*s %*s %*s %199s %199s", root, point) != 2 ||
            sscanf(dash, " - %31s %*s %255s", type, super) < 1) {
            continue;
        }
        found = controller == NULL ? strcmp(type, "cgroup2") == 0
                                   : strcmp(type, "cgroup") == 0 && has_word(super, controller);
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

static bool own_folder(const char *controller, char out[200], char top[200])
{
    char root[200], path[200], point[200];
    if (!mount_of(controller, point, root) || !own_path(controller, path)) {
        return false;
    }
    const char *below = path;
    size_t n = strlen(root);
    if (strcmp(root, "/") != 0) {
        below = strncmp(path, root, n) == 0 ? path + n : "";
    }
    snprintf(top, 200, "%s", point);
    int len = snprintf(out, 200, "%s%s", point, strcmp(below, "/") == 0 ? "" : below);
    return len > 0 && len < 200 && access(out, F_OK) == 0;
}

static int probe_group(const char *base, char group[256])
{
    snprintf(group, 256, "%s/kgym-%d-0", base, (int)getpid());
    rmdir(group);
    return mkdir(group, 0755) == 0 ? 0 : -errno;
}

static bool v1_works(int which, struct kg_cgroup_host *h)
{
    char top[200], group[256];
    if (!own_folder(v1_names[which], h->base[which], top)) {
        snprintf(h->why, sizeof h->why, "no cgroup hierarchy has `%s`", v1_names[which]);
        return false;
    }
    int rc = probe_group(h->base[which], group);
    if (rc == 0 && which == KG_CG_MEMORY) {
        rc = kg_cgroup_write(group, "memory.limit_in_bytes", "1073741824");
    } else if (rc == 0 && which == KG_CG_PIDS) {
        rc = kg_cgroup_write(group, "pids.max", "64");
    }
    rmdir(group);
    if (rc != 0) {
        snprintf(h->why, sizeof h->why, "%.80s: %s", h->base[which], strerror(-rc));
        h->base[which][0] = '\0';
    }
    return rc == 0;
}

static bool has_controllers(const char *folder)
{
    char list[256] = "";
    return kg_cgroup_get(folder, "cgroup.controllers", list, sizeof list) &&
           has_word(list, "memory") && has_word(list, "pids");
}

/* A group with processes cannot pass controllers to children. If this is its only process, as in a
 * scope made for it (systemd-run --scope -p Delegate=yes), it first moves to a leaf. */
static void hand_down(const char *base)
{
    const char *const both = "+memory +pids";
    if (kg_cgroup_write(base, "cgroup.subtree_control", both) != -EBUSY) {
        return;
    }
    char procs[64], leaf[256], self[32];
    snprintf(self, sizeof self, "%d", (int)getpid());
    if (!kg_cgroup_get(base, "cgroup.procs", procs, sizeof procs) ||
        strcspn(procs, "\n") != strlen(self) || strncmp(procs, self, strlen(self)) != 0 ||
        procs[strlen(self) + (procs[strlen(self)] != '\0')] != '\0') {
        return;
    }
    snprintf(leaf, sizeof leaf, "%s/kgym-%s-broker", base, self);
    if (mkdir(leaf, 0755) == 0 && kg_cgroup_write(leaf, "cgroup.procs", self) == 0) {
        kg_cgroup_write(base, "cgroup.subtree_control", both);
    }
}

/* Searches from this process's own group upwards for one that takes a child with both
 * controllers. */
static bool v2_works(struct kg_cgroup_host *h)
{
    char base[200], top[200], group[256];
    if (!own_folder(NULL, base, top)) {
        snprintf(h->why, sizeof h->why, "no cgroup file system is mounted");
        return false;
    }
    snprintf(h->why, sizeof h->why, "%.60s: memory and pids are not delegated", base);
    for (;;) {
        int rc = probe_group(base, group);
        bool works = rc == 0 && has_controllers(group);
        if (rc == 0 && !works && has_controllers(base)) {
            hand_down(base);
            works = has_controllers(group);
        }
        /* Moving a task there needs a permission of its own, in the common parent. */
        rmdir(group);
        if (works) {
            snprintf(h->base[0], sizeof h->base[0], "%s", base);
            return true;
        }
        if (rc != 0 && rc != -ENOENT) {
            snprintf(h->why, sizeof h->why, "%.80s: %s", base, strerror(-rc));
        }
        char *slash = strrchr(base, '/');
        if (slash == NULL || strlen(base) <= strlen(top)) {
            return false;
        }
        *slash = '\0';
    }
}

const struct kg_cgroup_host *kg_cgroup_host(void)
{
    static struct kg_cgroup_host host;
    static bool known;
    if (known) {
        return &host;
    }
    known = true;
    if (v1_works(KG_CG_MEMORY, &host) && v1_works(KG_CG_PIDS, &host)) {
        host.version = 1;
        v1_works(KG_CG_FREEZER, &host);
    } else if (v2_works(&host)) {
        host.version = 2;
    }
    return &host;
}
