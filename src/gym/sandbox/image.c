/* Stores a plan in a file, for the helper of adopt.c. The plan's own arrays are copied as they are;
 * then follows what it points to. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gym/sandbox/plan.h"

#define MOST_FILTER 4096

struct image {
    struct kg_plan plan;
    struct kg_sandbox_spec spec;
    struct sock_fprog filter;
    char workdir[KG_MAX_PATH];
    struct sock_filter code[MOST_FILTER];
};

int kg_plan_save(const struct kg_plan *plan)
{
    const struct kg_sandbox_spec *spec = plan->spec;
    int fd = memfd_create("kgym-plan", MFD_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    struct image *i = MAP_FAILED;
    if (ftruncate(fd, sizeof *i) == 0) {
        i = mmap(NULL, sizeof *i, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (i == MAP_FAILED) {
        int why = errno;
        close(fd);
        return -why;
    }
    i->plan = *plan;
    i->spec = *spec;
    i->plan.spec = NULL;
    i->plan.envp = NULL;
    i->plan.filter = NULL;
    i->spec.argv = i->spec.envp = NULL;
    i->spec.binds = NULL;
    i->spec.fds = NULL;
    i->spec.birth = NULL;
    i->spec.tmp_fd = NULL;
    i->spec.workdir = NULL;
    size_t n = spec->workdir != NULL ? strlen(spec->workdir) : 0;
    int rc = fd;
    if (n >= sizeof i->workdir || (plan->filter != NULL && plan->filter->len > MOST_FILTER)) {
        close(fd);
        rc = -E2BIG;
    } else {
        memcpy(i->workdir, spec->workdir != NULL ? spec->workdir : "", n);
        i->filter.len = plan->filter != NULL ? plan->filter->len : 0;
        if (plan->filter != NULL) {
            memcpy(i->code, plan->filter->filter, i->filter.len * sizeof *i->code);
        }
    }
    munmap(i, sizeof *i);
    return rc;
}

struct kg_plan *kg_plan_load(int fd, int ctl_fd, const int *fds, size_t nfds)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size != sizeof(struct image)) {
        errno = EINVAL;
        return NULL;
    }
    struct image *i = mmap(NULL, sizeof *i, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (i == MAP_FAILED) {
        return NULL;
    }
    i->plan.spec = &i->spec;
    i->plan.ctl[0] = -1;
    i->plan.ctl[1] = ctl_fd;
    i->spec.fds = fds;
    i->spec.nfds = nfds;
    i->spec.workdir = i->workdir[0] != '\0' ? i->workdir : NULL;
    i->filter.filter = i->code;
    i->plan.filter = i->filter.len > 0 ? &i->filter : NULL;
    return &i->plan;
}
