/* Removes control groups that killed brokers left behind. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "gym/sandbox/cgroup.h"

#define NEIGHBOUR_AGE_S 60

/* True for a group whose broker has ended. If the number is in use again, the group stays until
 * that process ends too. */
static bool is_orphan(const char *name)
{
    int pid = 0;
    return sscanf(name, "kgym-%d-", &pid) == 1 && pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

static void sweep_base(const char *base)
{
    DIR *dir = base[0] == '\0' ? NULL : opendir(base);
    struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        char folder[512];
        if (is_orphan(e->d_name)) {
            snprintf(folder, sizeof folder, "%s/%s", base, e->d_name);
            kg_cgroup_write(folder, "freezer.state", "THAWED");
            kg_cgroup_remove_folder(folder);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

/* A group beside this process's own may belong to a container whose processes are not visible here.
 * So nothing is killed; empty groups of some age are removed. */
static void tidy_neighbour(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        char folder[768];
        struct stat st;
        snprintf(folder, sizeof folder, "%s/%s", base, e->d_name);
        if (is_orphan(e->d_name) && stat(folder, &st) == 0 &&
            st.st_mtime + NEIGHBOUR_AGE_S < time(NULL)) {
            rmdir(folder);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void sweep_neighbours(const char *base)
{
    char parent[200];
    snprintf(parent, sizeof parent, "%s", base);
    char *slash = strrchr(parent, '/');
    if (slash == NULL || slash == parent) {
        return;
    }
    *slash = '\0';
    if (access(parent, W_OK) != 0) {
        return;
    }
    DIR *dir = opendir(parent);
    struct dirent *e;
    while (dir != NULL && (e = readdir(dir)) != NULL) {
        char folder[512];
        snprintf(folder, sizeof folder, "%s/%s", parent, e->d_name);
        if (e->d_type == DT_DIR && e->d_name[0] != '.') {
            tidy_neighbour(folder);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

void kg_cgroup_sweep(void)
{
    const struct kg_cgroup_host *h = kg_cgroup_host();
    for (int i = 0; i < 3; i++) {
        sweep_base(h->base[i]);
        sweep_neighbours(h->base[i]);
    }
}
