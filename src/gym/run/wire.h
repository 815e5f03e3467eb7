/* The memory that the broker and a runner share: a control block, and two regions of data at fixed
 * addresses. A call is a list of machine words.
 *
 * The runner knows nothing of problems: it loads one object, finds one symbol, and calls it with
 * these words. Everything that a runner writes here is a claim. The layout is fixed, because both
 * sides are built together. */
#ifndef KG_GYM_RUN_WIRE_H
#define KG_GYM_RUN_WIRE_H

#include <stdint.h>
#include <time.h>

/* The addresses are the same in every runner, so that page colouring and TLB act alike on both
 * sides of a pair. */
#define KG_ADDR_CTRL 0x100000000000ull
#define KG_ADDR_IN   0x200000000000ull
#define KG_ADDR_OUT  0x300000000000ull

/* A runner's descriptors: 0 is /dev/null, 1 and 2 are pipes; then: */
#define KG_FD_CTRL   3
#define KG_FD_IN     4
#define KG_FD_OUT    5
#define KG_FD_OBJECT 6 /* reserved: dlopen needs a path, so the object comes as argv[1] */

#define KG_WIRE_ARGS 32

enum kg_wire_class { KG_WIRE_PTR, KG_WIRE_I32, KG_WIRE_I64, KG_WIRE_F32, KG_WIRE_F64 };

/* One call's arguments. */
struct kg_wire_call {
    uint32_t nargs;
    uint8_t cls[KG_WIRE_ARGS];   /* enum kg_wire_class */
    uint64_t word[KG_WIRE_ARGS]; /* an address, or the bits of a value in the low bytes */
};

enum kg_wire_state {
    KG_WIRE_BOOT,
    KG_WIRE_LOADING,
    KG_WIRE_READY,
    KG_WIRE_LOAD_FAILED,
    KG_WIRE_NO_ENTRY
};

/* The control block. */
struct kg_wire {
    _Atomic uint32_t go;    /* futex; number of the call that the broker released; 0: none yet */
    _Atomic uint32_t done;  /* futex; number of the call that returned: a claim */
    _Atomic uint32_t state; /* futex; enum kg_wire_state: a claim */
    /* Futex; the broker saw LOADING, so a death from now on is the candidate's. */
    _Atomic uint32_t load;
    uint64_t in_bytes, out_bytes; /* sizes of the regions to map */
    char entry[128];
    struct kg_wire_call call;
    /* claims about a death, for messages only */
    uint32_t fault_signal;
    uint32_t fault_write;
    uint64_t fault_address;
    char note[256]; /* dlerror text */
    /* claims of the counting build of kgops: ticks within its operators, and calls of them */
    _Atomic uint64_t library_ticks, library_calls;
};

/* Ticks of a clock that broker and runner read alike and cheaply: the time-stamp counter, or ns
 * where there is none. */
static inline uint64_t kg_wire_ticks(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

#endif
