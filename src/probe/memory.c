/* Mappings and futexes of a Python runner. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gym/run/wire.h"
#include "probe/probe.h"

uint64_t kg_probe_map(int what, int fd, uint64_t *bytes)
{
    static const uint64_t places[] = {KG_ADDR_CTRL, KG_ADDR_IN, KG_ADDR_OUT};
    struct stat st;
    if (what < 0 || what > 2 || fstat(fd, &st) != 0) {
        errno = what < 0 || what > 2 ? EINVAL : errno;
        return 0;
    }
    *bytes = (uint64_t)st.st_size;
    if (what == 0 && *bytes < sizeof(struct kg_twire)) {
        errno = EINVAL;
        return 0;
    }
    if (*bytes > 0) {
        void *want = (void *)(uintptr_t)places[what]; // NOLINT(performance-no-int-to-ptr)
        int prot = what == 1 ? PROT_READ : PROT_READ | PROT_WRITE;
        void *at = mmap(want, *bytes, prot, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
        if (at == MAP_FAILED) {
            return 0;
        }
        if (at != want) { /* a kernel that does not know NOREPLACE */
            munmap(at, *bytes);
            errno = EEXIST;
            return 0;
        }
    }
    close(fd);
    return places[what];
}

uint32_t kg_probe_wait(_Atomic uint32_t *word, uint32_t value)
{
    for (;;) {
        uint32_t now = atomic_load_explicit(word, memory_order_acquire);
        if (now != value) {
            return now;
        }
        syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
    }
}

void kg_probe_post(_Atomic uint32_t *word, uint32_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
