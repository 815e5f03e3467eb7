/* The trusted side's functions on a Python runner's control block: names of its values, checks of
 * leaves, places of tensors, and the waits. */
#include "gym/tensor/tensor_wire.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Longest sleep before a wait checks whether the runner lives; a death is noticed this late. */
#define SLICE_NS 5000000

static const struct {
    const char *name;
    uint8_t bytes;
    bool floating;
} types[KG_TD_COUNT] = {
    [KG_TD_F32] = {"float32", 4, true}, [KG_TD_F64] = {"float64", 8, true},
    [KG_TD_F16] = {"float16", 2, true}, [KG_TD_BF16] = {"bfloat16", 2, true},
    [KG_TD_I64] = {"int64", 8, false},  [KG_TD_I32] = {"int32", 4, false},
    [KG_TD_I16] = {"int16", 2, false},  [KG_TD_I8] = {"int8", 1, false},
    [KG_TD_U8] = {"uint8", 1, false},   [KG_TD_BOOL] = {"bool", 1, false},
};

static const char *const commands[KG_TC_COUNT] = {
    [KG_TC_NONE] = "none",   [KG_TC_LOAD] = "load",   [KG_TC_DESCRIBE] = "describe",
    [KG_TC_BUILD] = "build", [KG_TC_STATE] = "state", [KG_TC_BIND] = "bind",
    [KG_TC_CALL] = "call",   [KG_TC_DRAW] = "draw",   [KG_TC_SNAPSHOT] = "snapshot",
    [KG_TC_NULL] = "null",   [KG_TC_EXIT] = "exit",   [KG_TC_PROFILE] = "profile",
    [KG_TC_TIME] = "time",   [KG_TC_TIMED] = "timed",
};

const char *kg_tcommand_name(enum kg_tcommand c)
{
    return (unsigned)c < KG_TC_COUNT ? commands[c] : "?";
}

const char *kg_tdtype_name(enum kg_tdtype t)
{
    return (unsigned)t < KG_TD_COUNT ? types[t].name : "?";
}

size_t kg_tdtype_bytes(enum kg_tdtype t)
{
    return (unsigned)t < KG_TD_COUNT ? types[t].bytes : 0;
}

bool kg_tdtype_floating(enum kg_tdtype t)
{
    return (unsigned)t < KG_TD_COUNT && types[t].floating;
}

/* Number of elements; false where the product overflows. */
static bool count_of(const struct kg_tleaf *leaf, uint64_t *out)
{
    uint64_t n = 1;
    bool zero = false;
    for (uint32_t i = 0; i < leaf->rank; i++) {
        zero = zero || leaf->shape[i] == 0;
    }
    for (uint32_t i = 0; i < leaf->rank && !zero; i++) {
        if (leaf->shape[i] < 0 || __builtin_mul_overflow(n, (uint64_t)leaf->shape[i], &n)) {
            return false;
        }
    }
    *out = zero ? 0 : n;
    return true;
}

const char *kg_twire_leaf_check(const struct kg_tleaf *leaf, uint64_t region)
{
    uint64_t n, bytes;
    if (leaf->dtype >= KG_TD_COUNT) {
        return "no known dtype";
    }
    if (leaf->rank > KG_TWIRE_RANK) {
        return "too many dimensions";
    }
    for (uint32_t i = 0; i < leaf->rank; i++) {
        if (leaf->shape[i] < 0) {
            return "a negative dimension";
        }
    }
    if (!count_of(leaf, &n) || n > INT64_MAX / 8) {
        return "more elements than can be";
    }
    bytes = n * types[leaf->dtype].bytes;
    if (leaf->bytes != bytes) {
        return "its bytes are not those of its shape";
    }
    if (leaf->offset > region || bytes > region - leaf->offset) {
        return "it lies outside the region";
    }
    if (leaf->offset % types[leaf->dtype].bytes != 0) {
        return "it is not aligned";
    }
    if (leaf->aliases > KG_TWIRE_LEAVES || leaf->device > 1 || leaf->copied > 1 || leaf->laid) {
        return "a field has no such value";
    }
    return leaf->name[KG_TWIRE_NAME - 1] == '\0' ? NULL : "its name does not end";
}

bool kg_tleaf_same_shape(const struct kg_tleaf *a, const struct kg_tleaf *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0;
}

uint64_t kg_tleaf_count(const struct kg_tleaf *leaf)
{
    uint64_t n = 0;
    return count_of(leaf, &n) ? n : 0;
}

uint64_t kg_tleaf_row(const struct kg_tleaf *leaf)
{
    int64_t last = leaf->rank > 1 ? leaf->shape[leaf->rank - 1] : 1;
    return last > 0 ? (uint64_t)last : 1;
}

uint64_t kg_tleaf_reach(const struct kg_tleaf *leaf)
{
    uint64_t last = 0, step = 0;
    for (uint32_t i = 0; i < leaf->rank; i++) {
        if (leaf->shape[i] < 1 || leaf->stride[i] < 0 ||
            __builtin_mul_overflow((uint64_t)leaf->shape[i] - 1, (uint64_t)leaf->stride[i],
                                   &step) ||
            __builtin_add_overflow(last, step, &last) || last >= INT64_MAX / 8) {
            return 0;
        }
    }
    return last + 1;
}

uint64_t kg_tleaf_memory(const struct kg_tleaf *leaf)
{
    return leaf->laid ? kg_tleaf_reach(leaf) : kg_tleaf_count(leaf);
}

uint64_t kg_tleaf_at(const struct kg_tleaf *leaf, uint64_t i)
{
    uint64_t at = 0;
    for (uint32_t k = leaf->rank; leaf->laid && k-- > 0;) {
        at += i % (uint64_t)leaf->shape[k] * (uint64_t)leaf->stride[k];
        i /= (uint64_t)leaf->shape[k];
    }
    return leaf->laid ? at : i;
}

void kg_tleaf_contiguous(struct kg_tleaf *leaf)
{
    int64_t step = 1;
    for (uint32_t k = leaf->rank; k-- > 0;) {
        leaf->stride[k] = step;
        step *= leaf->shape[k] > 0 ? leaf->shape[k] : 1;
    }
}

uint64_t kg_twire_place(struct kg_tleaf *leaf, size_t n)
{
    uint64_t at = KG_TWIRE_GUARD;
    for (size_t i = 0; i < n; i++) {
        leaf[i].offset = at;
        leaf[i].bytes = kg_tleaf_memory(&leaf[i]) * kg_tdtype_bytes((enum kg_tdtype)leaf[i].dtype);
        uint64_t end = at + leaf[i].bytes;
        at = (end + KG_TWIRE_ALIGN - 1) / KG_TWIRE_ALIGN * KG_TWIRE_ALIGN + KG_TWIRE_GUARD;
    }
    return at;
}

static void announce(struct kg_twire *w, uint32_t number)
{
    atomic_store_explicit(&w->announced, number, memory_order_release);
    syscall(SYS_futex, &w->announced, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void kg_twire_announce(struct kg_twire *w)
{
    announce(w, atomic_load(&w->go) + 1);
}

void kg_twire_release(struct kg_twire *w, const uint64_t nonce[2])
{
    w->nonce[0] = nonce[0];
    w->nonce[1] = nonce[1];
    uint32_t number = atomic_fetch_add_explicit(&w->go, 1, memory_order_release) + 1;
    if (atomic_load(&w->announced) != number) {
        announce(w, number);
    }
    syscall(SYS_futex, &w->go, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool is_dead(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return pidfd >= 0 && poll(&p, 1, 0) > 0;
}

int kg_twire_wait(struct kg_twire *w, int pidfd, int64_t deadline_ns, const volatile int *cancelled)
{
    uint32_t number = atomic_load_explicit(&w->go, memory_order_relaxed);
    for (;;) {
        uint32_t done = atomic_load_explicit(&w->done, memory_order_acquire);
        if (done == number) {
            return 0;
        }
        if (is_dead(pidfd)) {
            /* The runner may have answered and died at once; then the answer counts. */
            done = atomic_load_explicit(&w->done, memory_order_acquire);
            return done == number ? 0 : KG_TWIRE_RUNNER_DEAD;
        }
        int64_t now = kg_clock_ns(), left = deadline_ns - now;
        if (left <= 0 || (cancelled != NULL && *cancelled)) {
            return KG_TWIRE_LATE;
        }
        left = left < SLICE_NS ? left : SLICE_NS;
        struct timespec t = {0, left};
        syscall(SYS_futex, &w->done, FUTEX_WAIT, done, &t, NULL, 0);
        deadline_ns += kg_clock_lost(now, left);
    }
}
