/* What the broker and a runner share: one page of control words, two regions of data at fixed
 * addresses, and a call described as a list of machine words. The runner knows nothing of
 * problems: it loads one object, finds one symbol, and calls it with the words it is given.
 * Everything a runner writes here is a claim. Layout is fixed; both sides are built together. */
#ifndef KG_GYM_RUN_WIRE_H
#define KG_GYM_RUN_WIRE_H

#include <stdint.h>

/* Same addresses in every runner: page colouring and TLB behave alike on both sides of a pair. */
#define KG_ADDR_CTRL 0x100000000000ull
#define KG_ADDR_IN   0x200000000000ull
#define KG_ADDR_OUT  0x300000000000ull

/* Descriptors of a runner: 0 /dev/null, 1 and 2 pipes, then: */
#define KG_FD_CTRL   3
#define KG_FD_IN     4
#define KG_FD_OUT    5
#define KG_FD_OBJECT 6 /* reserved: dlopen needs a path, so the object comes as argv[1] */

#define KG_WIRE_ARGS 32

enum kg_wire_class { KG_WIRE_PTR, KG_WIRE_I32, KG_WIRE_I64, KG_WIRE_F32, KG_WIRE_F64 };

struct kg_wire_call {
    uint32_t nargs;
    uint8_t cls[KG_WIRE_ARGS];   /* enum kg_wire_class */
    uint64_t word[KG_WIRE_ARGS]; /* address, or the value's bits in the low bytes */
};

enum kg_wire_state {
    KG_WIRE_BOOT,
    KG_WIRE_LOADING,
    KG_WIRE_READY,
    KG_WIRE_LOAD_FAILED,
    KG_WIRE_NO_ENTRY
};

struct kg_wire {
    _Atomic uint32_t go;    /* futex; call number released by the broker, 0 before the first */
    _Atomic uint32_t done;  /* futex; call number that has returned: a claim */
    _Atomic uint32_t state; /* futex; enum kg_wire_state: a claim */
    _Atomic uint32_t load;  /* futex; the broker saw LOADING: what dies later is the candidate */
    uint64_t in_bytes, out_bytes; /* sizes of the regions to map */
    char entry[128];
    struct kg_wire_call call;
    /* claims about a death, for messages only */
    uint32_t fault_signal;
    uint32_t fault_write;
    uint64_t fault_address;
    char note[256]; /* dlerror text */
};

#endif
