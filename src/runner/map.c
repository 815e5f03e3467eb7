#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner/runner.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* Touches each page, for kernels before 5.14, which have no MADV_POPULATE. No other code uses the
 * memory yet. */
static void touch(unsigned char *at, uint64_t bytes, int writable)
{
    for (uint64_t i = 0; i < bytes; i += 4096) {
        volatile unsigned char *p = at + i;
        unsigned char byte = *p;
        if (writable) {
            *p = byte;
        }
    }
}

static void map_at(uint64_t address, uint64_t bytes, int prot, int fd, const char *what)
{
    void *want = (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    void *at = mmap(want, bytes, prot, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    if (at != want) {
        kg_runner_die(what);
    }
    madvise(at, bytes, MADV_HUGEPAGE); /* refused where shared memory has no 2 MB pages */
    int writable = (prot & PROT_WRITE) != 0;
    if (madvise(at, bytes, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) != 0) {
        if (errno != EINVAL) {
            kg_runner_die(what);
        }
        touch(at, bytes, writable);
    }
}

void kg_runner_map(void)
{
    map_at(KG_ADDR_CTRL, sizeof(struct kg_wire), PROT_READ | PROT_WRITE, KG_FD_CTRL,
           "cannot map the control page");
    const struct kg_wire *w = kg_runner_wire();
    map_at(KG_ADDR_IN, w->in_bytes, PROT_READ, KG_FD_IN, "cannot map the inputs");
    map_at(KG_ADDR_OUT, w->out_bytes, PROT_READ | PROT_WRITE, KG_FD_OUT, "cannot map the outputs");
}
