/* The ledger: record locks of open file descriptions, one byte of the file for each page. */
#include "gym/timing/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gym/timing/lease.h"

#define TURN    0 /* held by the one who takes pages now */
#define WAITING 1 /* shared by all who want pages */
#define FIRST   8 /* of the first page */
#define POLL_NS 5000000

static struct flock range(short type, uint64_t at, uint64_t n)
{
    return (struct flock){
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = (off_t)n};
}

static bool lock(const struct kg_ledger *l, short type, uint64_t at, uint64_t n)
{
    struct flock f = range(type, at, n);
    return fcntl(l->fd, F_OFD_SETLK, &f) == 0;
}

static bool is_free(const struct kg_ledger *l, uint64_t at, uint64_t n)
{
    struct flock f = range(F_WRLCK, at, n);
    return fcntl(l->fd, F_OFD_GETLK, &f) != 0 || f.l_type == F_UNLCK;
}

static uint64_t pages_of(uint64_t bytes)
{
    return bytes / KG_LEDGER_PAGE + (bytes % KG_LEDGER_PAGE > 0);
}

static uint64_t pages_in(uint64_t capacity)
{
    uint64_t n = capacity / KG_LEDGER_PAGE;
    return n < KG_LEDGER_PAGES ? n : KG_LEDGER_PAGES;
}

enum kg_code kg_ledger_open(const char *device, struct kg_ledger *l, struct kg_err *err)
{
    char path[KG_LEASE_PATH];
    *l = KG_LEDGER_NONE;
    kg_lease_device_path(device, ".memory", path);
    return kg_lease_open_file(path, &l->fd, err);
}

void kg_ledger_close(struct kg_ledger *l)
{
    if (l->fd >= 0) {
        kg_ledger_give(l); /* a child may have the descriptor, too */
        close(l->fd);
    }
    *l = KG_LEDGER_NONE;
}

void kg_ledger_give(struct kg_ledger *l)
{
    if (l->held > 0) {
        lock(l, F_UNLCK, FIRST, KG_LEDGER_PAGES);
        l->held = 0;
    }
}

static enum kg_code pause_for(const volatile int *cancel, struct kg_err *err)
{
    struct timespec t = {.tv_nsec = POLL_NS};
    if (cancel && *cancel) {
        return kg_fail(err, KG_E_CANCELLED, "cancelled while waiting for memory of the device");
    }
    nanosleep(&t, NULL);
    return KG_OK;
}

/* The first n pages that are free or held already, or as many as there are of these. */
static uint64_t lock_pages(const struct kg_ledger *l, uint64_t n, uint64_t all)
{
    uint64_t got = 0, p = 0;
    for (; p < all && got < n; p++) {
        got += lock(l, F_WRLCK, FIRST + p, 1);
    }
    lock(l, F_UNLCK, FIRST + p, KG_LEDGER_PAGES - p);
    return got;
}

/* All n pages, or no more than were held. */
static bool take_pages(const struct kg_ledger *l, uint64_t n, uint64_t all)
{
    bool all_n = lock_pages(l, n, all) == n;
    if (!all_n) {
        lock_pages(l, l->held / KG_LEDGER_PAGE, all);
    }
    return all_n;
}

static enum kg_code wait_for_pages(const struct kg_ledger *l, uint64_t n, uint64_t all,
                                   const volatile int *cancel, struct kg_err *err)
{
    while (!lock(l, F_WRLCK, TURN, 1)) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            return kg_fail(err, KG_E_HOST, "cannot lock the ledger of the device's memory: %s",
                           strerror(errno));
        }
        if (pause_for(cancel, err) != KG_OK) {
            return err->code;
        }
    }
    enum kg_code code = KG_OK;
    while (code == KG_OK && !take_pages(l, n, all)) {
        code = pause_for(cancel, err);
    }
    lock(l, F_UNLCK, TURN, 1);
    return code;
}

enum kg_code kg_ledger_take(struct kg_ledger *l, uint64_t bytes, uint64_t capacity,
                            const volatile int *cancel, struct kg_err *err)
{
    uint64_t n = pages_of(bytes), all = pages_in(capacity);
    kg_ledger_give(l);
    if (n > all) {
        return kg_fail_memory(
            err, KG_E_LIMIT, "%llu MB of the device's memory are needed, and there are %llu MB",
            (unsigned long long)(bytes >> 20), (unsigned long long)(capacity >> 20));
    }
    lock(l, F_RDLCK, WAITING, 1);
    enum kg_code code = wait_for_pages(l, n, all, cancel, err);
    lock(l, F_UNLCK, WAITING, 1);
    l->held = code == KG_OK ? n * KG_LEDGER_PAGE : 0;
    return code;
}

bool kg_ledger_try(struct kg_ledger *l, uint64_t bytes, uint64_t capacity)
{
    uint64_t n = pages_of(bytes), all = pages_in(capacity);
    bool less = n * KG_LEDGER_PAGE <= l->held;
    bool turn = !less && n <= all && lock(l, F_WRLCK, TURN, 1);
    bool got = (less || turn) && take_pages(l, n, all);
    if (turn) {
        lock(l, F_UNLCK, TURN, 1);
    }
    l->held = got ? n * KG_LEDGER_PAGE : l->held;
    return got;
}

bool kg_ledger_is_wanted(const struct kg_ledger *l)
{
    return l->fd >= 0 && !is_free(l, WAITING, 1);
}

bool kg_ledger_is_held(const struct kg_ledger *l)
{
    return l->fd >= 0 && !is_free(l, FIRST, KG_LEDGER_PAGES);
}

uint64_t kg_ledger_others(const struct kg_ledger *l, uint64_t capacity)
{
    uint64_t all = pages_in(capacity), n = 0;
    for (uint64_t p = 0; p < all; p++) {
        n += !is_free(l, FIRST + p, 1);
    }
    return n * KG_LEDGER_PAGE;
}
