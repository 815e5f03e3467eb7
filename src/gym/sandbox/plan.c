/* Makes the plan of a sandbox: mounts, links, loader, filter, environment, and the steps to
 * take. */
#include "gym/sandbox/plan.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool has_mount(const struct kg_plan *p, const char *dst)
{
    for (size_t i = 0; i < p->nmounts; i++) {
        if (strcmp(p->mounts[i].dst, dst) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds a mount. src must exist; dst NULL: the same path inside. */
static int add_mount(struct kg_plan *p, const char *src, const char *dst, bool writable)
{
    char real[PATH_MAX];
    struct stat st;
    if (realpath(src, real) == NULL || stat(real, &st) != 0) {
        return -errno;
    }
    bool inside = (p->steps & KG_STEP_MOUNTNS) && dst != NULL;
    const char *place = inside ? dst : real;
    if (has_mount(p, place)) {
        return 0;
    }
    if (p->nmounts == KG_MAX_BINDS || strlen(real) >= KG_MAX_PATH || strlen(place) >= KG_MAX_PATH) {
        return -E2BIG;
    }
    struct kg_mount *m = &p->mounts[p->nmounts++];
    snprintf(m->src, sizeof m->src, "%s", real);
    snprintf(m->dst, sizeof m->dst, "%s", place);
    m->writable = writable;
    m->folder = S_ISDIR(st.st_mode);
    enum kg_profile profile = p->spec->profile;
    m->exec = !writable && (profile == KG_PROFILE_COMPILE || profile == KG_PROFILE_PYTHON ||
                            profile == KG_PROFILE_CUDA);
    return 0;
}

/* Libraries that the runner and the tools need to start. Others that this process happens to have
 * loaded are not shown. */
static bool is_wanted(const char *name)
{
    static const char *const wanted[] = {"libc.so",    "libm.so",  "ld-linux",
                                         "ld-",        "libdl.so", "libgcc_s.",
                                         "libpthread", "libffi.",  "libseccomp."};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (strncmp(name, wanted[i], strlen(wanted[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* System folders are shown whole, a library elsewhere alone. */
static void add_library(struct kg_plan *p, const char *path)
{
    char real[PATH_MAX];
    if (path[0] != '/' || realpath(path, real) == NULL) {
        return;
    }
    char *slash = strrchr(real, '/');
    if (!is_wanted(slash + 1)) {
        return;
    }
    if (strncmp(real, "/usr/lib", 8) == 0 || strncmp(real, "/lib", 4) == 0) {
        *slash = '\0';
    }
    int ignored = add_mount(p, real, real, false);
    (void)ignored; /* a missing library is noticed when the program is loaded */
}

static int see_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct kg_plan *p = data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_INTERP) {
            const char *loader = (const char *)(info->dlpi_addr + h->p_vaddr);
            snprintf(p->loader, sizeof p->loader, "%s", loader);
            char folder[KG_MAX_PATH], real[PATH_MAX];
            snprintf(folder, sizeof folder, "%s", loader);
            char *slash = strrchr(folder, '/');
            if (slash != NULL && slash != folder) {
                *slash = '\0';
                if (realpath(folder, real) != NULL) {
                    int ignored = add_mount(p, real, real, false);
                    (void)ignored;
                }
            }
            add_library(p, loader);
        }
    }
    add_library(p, info->dlpi_name);
    return 0;
}

/* On most systems /lib and /lib64 are links into /usr, and paths in programs go through them. */
static void add_links(struct kg_plan *p)
{
    static const char *const tops[] = {"/lib", "/lib64", "/lib32", "/bin", "/sbin"};
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++) {
        struct kg_link *l = &p->links[p->nlinks];
        ssize_t n = readlink(tops[i], l->target, sizeof l->target - 1);
        if (n > 0 && !has_mount(p, tops[i])) {
            l->target[n] = '\0';
            snprintf(l->path, sizeof l->path, "%s", tops[i]);
            p->nlinks++;
        }
    }
}

static void add_system(struct kg_plan *p)
{
    dl_iterate_phdr(see_object, p);
    int ignored = add_mount(p, "/etc/ld.so.cache", "/etc/ld.so.cache", false);
    if (p->spec->profile == KG_PROFILE_COMPILE) {
        ignored = add_mount(p, "/dev/null", "/dev/null", true);
    }
    (void)ignored; /* neither is required */
    if (p->steps & KG_STEP_MOUNTNS) {
        add_links(p);
    }
}

uint32_t kg_steps_possible(uint32_t steps, bool root)
{
    if (!root) {
        steps &= ~(uint32_t)KG_STEP_UID;
        if (!(steps & KG_STEP_USERNS)) {
            steps &= ~(uint32_t)(KG_STEP_MOUNTNS | KG_STEP_PIDNS | KG_STEP_NETNS | KG_STEP_IPCNS);
        }
    }
    if (!(steps & KG_STEP_NNP)) {
        steps &= ~(uint32_t)(KG_STEP_LANDLOCK | KG_STEP_SECCOMP);
    }
    return steps;
}

/* True for a tmpfs with a limit that is not the host's own. Where $TMPDIR is a tmpfs, a plain
 * folder on it shares its space with everybody. */
static bool is_limited_tmpfs(const char *folder)
{
    struct statfs fs;
    struct stat here, host;
    return statfs(folder, &fs) == 0 && fs.f_type == TMPFS_MAGIC && fs.f_blocks > 0 &&
           stat(folder, &here) == 0 &&
           (stat(kg_scratch_parent(), &host) != 0 || here.st_dev != host.st_dev);
}

/* True if everything it may write lies on such a tmpfs, or if it may write nothing. */
static bool on_limited_tmpfs(const struct kg_plan *p)
{
    for (size_t i = 0; i < p->nmounts; i++) {
        if (p->mounts[i].writable && p->mounts[i].folder && !is_limited_tmpfs(p->mounts[i].src)) {
            return false;
        }
    }
    return true;
}

/* True if every user may enter the folders above path and read the file. */
static bool is_open_to_all(const char *path)
{
    char at[KG_MAX_PATH];
    struct stat st;
    snprintf(at, sizeof at, "%s", path);
    if (stat(at, &st) != 0 || !(st.st_mode & (S_ISDIR(st.st_mode) ? S_IXOTH : S_IROTH))) {
        return false;
    }
    for (char *slash; (slash = strrchr(at, '/')) != NULL && slash != at;) {
        *slash = '\0';
        if (stat(at, &st) != 0 || !(st.st_mode & S_IXOTH)) {
            return false;
        }
    }
    return true;
}

/* Without mounts of its own, a sandbox with its own uid may not reach its files, such as a program
 * below a private home. Then it keeps the broker's uid, and the record says so. */
static void keep_reachable(struct kg_plan *p)
{
    for (size_t i = 0; !(p->steps & KG_STEP_MOUNTNS) && i < p->nmounts; i++) {
        const struct kg_mount *m = &p->mounts[i];
        char parent[KG_MAX_PATH];
        snprintf(parent, sizeof parent, "%s", m->src);
        char *slash = strrchr(parent, '/');
        slash[slash == parent] = '\0'; /* folders that it may write become its own */
        if (!is_open_to_all(m->writable ? parent : m->src)) {
            p->steps &= ~(uint32_t)KG_STEP_UID;
        }
    }
}

enum kg_code kg_plan_make(const struct kg_sandbox_spec *spec, uint32_t steps, struct kg_plan *out,
                          struct kg_err *err)
{
    memset(out, 0, sizeof *out);
    out->spec = spec;
    out->root = geteuid() == 0;
    out->steps = kg_steps_possible(steps, out->root);
    out->ctl[0] = out->ctl[1] = -1;
    for (size_t i = 0; i < spec->nbinds; i++) {
        const struct kg_bind *b = &spec->binds[i];
        int rc = add_mount(out, b->src, b->dst, b->writable);
        if (rc != 0) {
            return kg_fail(err, KG_E_HOST, "sandbox: cannot show %s: %s", b->src, strerror(-rc));
        }
    }
    if (!on_limited_tmpfs(out)) {
        out->steps &= ~(uint32_t)KG_STEP_TMPFS;
    }
    keep_reachable(out);
    add_system(out);
    static const char *const nothing[] = {NULL};
    out->envp = spec->envp != NULL ? spec->envp : nothing;
    if (!(out->steps & KG_STEP_ENV)) {
        out->envp = (const char *const *)environ;
    }
    /* The program seals itself further; this filter must still allow exec. */
    enum kg_filter which = spec->profile == KG_PROFILE_PYTHON ? KG_FILTER_PYTHON
                           : spec->profile == KG_PROFILE_CUDA ? KG_FILTER_CUDA
                                                              : KG_FILTER_TOOLS;
    int rc = out->steps & KG_STEP_SECCOMP ? kg_seccomp_program(which, &out->filter) : 0;
    if (rc != 0) {
        return kg_fail(err, KG_E_HOST, "sandbox: cannot make the system call filter: %s",
                       strerror(-rc));
    }
    return KG_OK;
}
