/* The least K of a core in a file of one line, "BOOT_ID NANOSECONDS\n", under a lock. */
#include "gym/timing/least_k.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gym/timing/lease.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT    36 /* characters of a boot id */
#define LINE    64
#define TRIES   10 /* to lock the file, a millisecond apart: a holder may have been stopped */

void kg_least_k_path(int cpu, bool cold, char *out, size_t cap)
{
    char base[96];
    kg_lease_default_path(base, sizeof base);
    snprintf(out, cap, "%s.core%d.k%s", base, cpu, cold ? ".cold" : "");
}

/* false: this host has no boot id, so nobody could tell whether the file is of this boot. */
static bool boot_id(char out[BOOT + 1])
{
    int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, BOOT);
    if (fd >= 0) {
        close(fd);
    }
    out[BOOT] = '\0';
    return n == BOOT && strlen(out) == BOOT;
}

static bool locked(int fd)
{
    for (int i = 0; i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            return true;
        }
        usleep(1000);
    }
    return false;
}

/* The file, locked; -1: none. A file of somebody else, a link or a pipe is none. */
static int open_locked(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd >= 0 &&
        (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != getuid() || !locked(fd))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool plausible(int64_t ns)
{
    return ns >= KG_LEAST_K_MIN && ns <= KG_LEAST_K_MAX;
}

/* What the file says of this boot; 0: nothing. */
static int64_t stored(int fd, const char *boot)
{
    char line[LINE + 1], *end;
    ssize_t n = pread(fd, line, LINE, 0);
    if (n <= BOOT + 1 || memcmp(line, boot, BOOT) != 0 || line[BOOT] != ' ') {
        return 0;
    }
    line[n] = '\0';
    int64_t ns = strtoll(line + BOOT + 1, &end, 10);
    return *end == '\n' && end[1] == '\0' && plausible(ns) ? ns : 0;
}

int64_t kg_least_k(const char *path, int64_t mine)
{
    char boot[BOOT + 1], line[LINE];
    int fd = boot_id(boot) ? open_locked(path) : -1;
    if (fd < 0) {
        return mine;
    }
    int64_t seen = stored(fd, boot), least = mine;
    if (seen > 0 && (mine == 0 || seen < mine)) {
        least = seen;
    } else if (plausible(mine) && mine != seen) {
        int n = snprintf(line, sizeof line, "%s %" PRId64 "\n", boot, mine);
        if (ftruncate(fd, 0) != 0 || pwrite(fd, line, (size_t)n, 0) != n) {
            (void)!ftruncate(fd, 0); /* an empty file says nothing */
        }
    }
    close(fd);
    return least;
}
