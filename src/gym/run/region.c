/* Creates, maps and seals regions: memfds, or files with 2 MB pages where the host allows them. */
#include "gym/run/region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gym/run/hugefile.h"

#define HUGE_BYTES ((size_t)2 << 20)
#define PAGE_BYTES ((size_t)4096)
#define MOST_BYTES ((size_t)1 << 36)
#define ALL_SEALS  (F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* True if shared memory gets 2 MB pages on request. The active choice stands in brackets. */
static bool huge_pages_offered(void)
{
    char text[128] = "";
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
    if (f == NULL) {
        return false;
    }
    bool read = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    return read && (strstr(text, "[advise]") || strstr(text, "[always]") ||
                    strstr(text, "[within_size]") || strstr(text, "[force]"));
}

/* A read-only descriptor of the same file. So nothing can be written through it even before the
 * seals are set. Without /proc the seals alone protect the region. */
static int reopen_read_only(int fd)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int ro = open(path, O_RDONLY | O_CLOEXEC);
    return ro >= 0 ? ro : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* A file with 2 MB pages. It needs no seals, because runners get a descriptor that only reads. */
static bool create_huge(size_t bytes, bool read_only, struct kg_region *out)
{
    int rw, ro;
    bytes = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    if (!kg_hugefile_open(bytes, &rw, &ro)) {
        return false;
    }
    *out = (struct kg_region){.fd = rw, .runner_fd = ro, .bytes = bytes, .huge = true};
    if (!read_only) {
        close(ro);
        out->runner_fd = rw;
    }
    return true;
}

enum kg_code kg_region_create(size_t bytes, bool read_only, struct kg_region *out,
                              struct kg_err *err)
{
    *out = (struct kg_region){.fd = -1, .runner_fd = -1};
    if (bytes == 0 || bytes > MOST_BYTES) {
        return kg_fail(err, KG_E_LIMIT, "a region of %zu bytes: 1 to %zu can be had", bytes,
                       MOST_BYTES);
    }
    if (bytes >= HUGE_BYTES && create_huge(bytes, read_only, out)) {
        return KG_OK;
    }
    bool huge = bytes >= HUGE_BYTES && huge_pages_offered();
    size_t unit = huge ? HUGE_BYTES : PAGE_BYTES;
    bytes = (bytes + unit - 1) / unit * unit;
    int fd = memfd_create(read_only ? "kgym-in" : "kgym-out", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return kg_fail(err, KG_E_HOST, "memfd_create for a region failed: %s", strerror(errno));
    }
    *out = (struct kg_region){.fd = fd, .runner_fd = fd, .bytes = bytes, .huge = huge};
    if (ftruncate(fd, (off_t)bytes) != 0) {
        kg_fail(err, KG_E_HOST, "cannot size a region to %zu bytes: %s", bytes, strerror(errno));
        kg_region_destroy(out);
        return err->code;
    }
    if (read_only) {
        out->runner_fd = reopen_read_only(fd);
    }
    if (out->runner_fd < 0) {
        kg_fail(err, KG_E_HOST, "cannot duplicate a region's descriptor: %s", strerror(errno));
        kg_region_destroy(out);
        return err->code;
    }
    return KG_OK;
}

void kg_region_destroy(struct kg_region *r)
{
    if (r->map != NULL) {
        munmap(r->map, r->bytes);
    }
    if (r->runner_fd >= 0 && r->runner_fd != r->fd) {
        close(r->runner_fd);
    }
    if (r->fd >= 0) {
        close(r->fd);
    }
    *r = (struct kg_region){.fd = -1, .runner_fd = -1};
}

/* Reserves an address aligned to 2 MB. At any other address the kernel cannot use a 2 MB page. */
static unsigned char *reserve_aligned(size_t bytes)
{
    unsigned char *p = mmap(NULL, bytes + HUGE_BYTES, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        return MAP_FAILED;
    }
    size_t head = -(uintptr_t)p & (HUGE_BYTES - 1);
    if (head > 0) {
        munmap(p, head);
    }
    if (head < HUGE_BYTES) {
        munmap(p + head + bytes, HUGE_BYTES - head);
    }
    return p + head;
}

/* True for a file of a tmpfs, which is created with the seal that forbids all others. */
static bool unsealable(const struct kg_region *r)
{
    return fcntl(r->fd, F_GET_SEALS) == F_SEAL_SEAL;
}

enum kg_code kg_region_map(struct kg_region *r, bool read_only, bool prefault, struct kg_err *err)
{
    unsigned char *at = reserve_aligned(r->bytes), *p = MAP_FAILED;
    if (at != MAP_FAILED) {
        p = mmap(at, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd, 0);
    }
    if (p == MAP_FAILED) {
        return kg_fail(err, KG_E_HOST, "cannot map a region of %zu bytes: %s", r->bytes,
                       strerror(errno));
    }
    if (r->huge) {
        madvise(p, r->bytes, MADV_HUGEPAGE); /* small pages serve as well */
    }
    if (prefault) {
        volatile unsigned char *touch = p;
        for (size_t i = 0; i < r->bytes; i += PAGE_BYTES) {
            unsigned char kept = touch[i];
            touch[i] = kept;
        }
    }
    if (read_only && !unsealable(r) && fcntl(r->fd, F_ADD_SEALS, ALL_SEALS) != 0) {
        kg_fail(err, KG_E_HOST, "cannot seal a region: %s", strerror(errno));
        munmap(p, r->bytes);
        return err->code;
    }
    r->map = p;
    return KG_OK;
}

bool kg_region_sealed(const struct kg_region *r)
{
    if (unsealable(r)) {
        int mode = r->runner_fd == r->fd ? -1 : fcntl(r->runner_fd, F_GETFL);
        return mode >= 0 && (mode & O_ACCMODE) == O_RDONLY;
    }
    return fcntl(r->fd, F_GET_SEALS) == ALL_SEALS;
}
