/* What the trusted side and one Python runner share: a control block of fixed layout, an input
 * region and an output region. Mirrored by harness/kgym_harness/wire.py; test_torch_wire compares
 * the two. Everything that a runner writes here is a claim: lengths, ranks, offsets and names are
 * checked by kg_twire_leaf_check before use, and no string of a runner's is parsed as a result.
 *
 * One command at a time: the trusted side fills `command`, the request and the leaves, announces
 * its number, and releases it by counting `go` up; the runner answers, stores the same number in
 * `done` and wakes that. A runner sleeps until a command is announced; what it has to do besides
 * calling the module, it does before the release, which is outside what is timed. Commands that
 * move data are released by the judge (device/device_judge.h), the others by the broker.
 * docs/protocol.md tells the whole story. */
#ifndef KG_GYM_TENSOR_TENSOR_WIRE_H
#define KG_GYM_TENSOR_TENSOR_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Descriptors of a Python runner: 0 /dev/null, 1 and 2 pipes, then: */
#define KG_TFD_CTRL 3
#define KG_TFD_IN   4 /* cpu: memfd that can only be read; cuda: an exported allocation */
#define KG_TFD_OUT  5

#define KG_TWIRE_MAGIC   0x6b677431u
#define KG_TWIRE_VERSION 2u
#define KG_TWIRE_TEXT    (96u << 10)
#define KG_TWIRE_LEAVES  256 /* tensors of one command: parameters are the most */
#define KG_TWIRE_RANK    8
#define KG_TWIRE_NAME    96
#define KG_TWIRE_ALIGN   256  /* of every tensor in a region */
#define KG_TWIRE_GUARD   4096 /* bytes between tensors, and at both ends */
/* Blocks from here on lie elsewhere in each call on a GPU. */
#define KG_TWIRE_LARGE ((uint64_t)8 << 20)

enum kg_tdtype { /* values are fixed: they are on the wire */
                 KG_TD_F32,
                 KG_TD_F64,
                 KG_TD_F16,
                 KG_TD_BF16,
                 KG_TD_I64,
                 KG_TD_I32,
                 KG_TD_I16,
                 KG_TD_I8,
                 KG_TD_U8,
                 KG_TD_BOOL,
                 KG_TD_COUNT
};
const char *kg_tdtype_name(enum kg_tdtype t); /* "float32", ... as torch says */
size_t kg_tdtype_bytes(enum kg_tdtype t);
bool kg_tdtype_floating(enum kg_tdtype t);

enum kg_tstate { /* of the runner: a claim */
                 KG_TS_BOOT,
                 KG_TS_READY, /* confined, regions mapped, no code of the candidate has run */
};

enum kg_tcommand {
    KG_TC_NONE,
    KG_TC_LOAD,     /* import the source file; request {path, entry, role, compat, precision};
                       compat: as KernelBench runs modules, in that precision */
    KG_TC_DESCRIBE, /* reference: what the task is; request {consts}; reply: the description */
    KG_TC_BUILD, /* construct the module; request {init, kwargs, seed, trials}; reply {state: [...],
                    seeds: [...] of so many trials} */
    KG_TC_STATE, /* leaves in IN are parameters and buffers, by name: load them, prepare() */
    KG_TC_BIND,  /* leaves in IN are the inputs of the calls to come: make tensors of them */
    KG_TC_CALL,  /* call the module on what was bound; leaves of the answer */
    KG_TC_DRAW,  /* reference: get_inputs() under `seed` into OUT; leaves */
    KG_TC_SNAPSHOT, /* state after a call, for problems whose reference updates buffers; leaves in
                       OUT */
    KG_TC_NULL,     /* null candidate: one empty kernel on cuda, nothing on cpu */
    KG_TC_EXIT,
    KG_TC_PROFILE, /* request {suppress: [name], take: bool}; reply: probe/profile.h's table */
    KG_TC_TIME,    /* KernelBench's procedure: call the module on the inputs of the last CALL, and
                      say how long that takes; request {warmups, discard, trials}; reply {ns: [...]}:
                      claims */
    KG_TC_TIMED,   /* the answer of TIME's last call; leaves in OUT */
    KG_TC_COUNT
};
const char *kg_tcommand_name(enum kg_tcommand c);

enum kg_tstatus { /* of an answer: a claim */
                  KG_TA_OK,
                  KG_TA_EXCEPTION, /* reply {type, message, where} */
                  KG_TA_NO_ENTRY,  /* the module does not define the entry */
                  KG_TA_SYNTAX,    /* reply {message, line} */
                  KG_TA_STATE,     /* STATE: names and shapes cannot be matched */
                  KG_TA_NEEDS_GPU, /* it asked for a device that is not there */
                  KG_TA_TOO_LARGE, /* the answer does not fit OUT or the leaves */
                  KG_TA_STRUCTURE, /* CALL: the answer holds something that is no plain tensor */
                  KG_TA_OUT_OF_MEMORY,
                  KG_TA_COUNT
};

enum kg_tflag {                  /* of a command */
                KG_TF_WIDE = 1,  /* CALL: in double precision (the oracle) */
                KG_TF_TRAIN = 2, /* reserved */
                KG_TF_NEAR = 4,  /* CALL: floating inputs moved by a rounding error of float32 (of
                                    float64 where they are double), each up or down */
                KG_TF_FINE = 64, /* CALL, league tf32, with NEAR: products lose a 16th of what they
                                    may; alone: all of it, another way */
                KG_TF_ROUND = 128, /* CALL, league tf32: operands of products are rounded, not cut;
                                      inputs are as they are */
                KG_TF_POLITE = 8,  /* CALL, DRAW: it says in `building` when it does not need the
                                      device */
                KG_TF_DRAWS = 16,  /* CALL, NULL: `seed` is there from the release on, not before:
                                      the answer depends on it */
                KG_TF_BIND = 32,   /* CALL, NULL: BIND's part first, before the release. To the
                                      judge: where inputs lie elsewhere than what is bound */
};

/* Compiling takes seconds in which others may be timed, get_inputs() on the host tenths of one. A
 * runner that lies about it is as loud as one whose code works while it is loaded. */
enum kg_tbuilding {
    KG_TB_NONE,  /* the device is shared with it; only the trusted side writes this */
    KG_TB_BUSY,  /* it compiles or draws: the device is others' */
    KG_TB_WAITS, /* it has done so, or has not begun yet, and waits for NONE before it touches the
                    device */
};

/* One tensor in a region. Strides in elements. */
struct kg_tleaf {
    uint32_t dtype; /* enum kg_tdtype */
    uint32_t rank;
    uint64_t offset; /* bytes from the region's start */
    uint64_t bytes;  /* what it covers there, contiguous */
    int64_t shape[KG_TWIRE_RANK];
    int64_t stride[KG_TWIRE_RANK]; /* answers: as the candidate's tensor had them; the copy in OUT
                                      is contiguous where `copied` */
    uint32_t copied;               /* answers: it lay outside OUT and was copied into it */
    uint32_t device;               /* answers: 0 cpu, 1 cuda: where the candidate's tensor was */
    uint32_t aliases; /* answers: index + 1 of the bound input whose storage it shares; 0 none */
    uint32_t pad;
    char name[KG_TWIRE_NAME]; /* state: qualified name; inputs: position; answers: path */
};

struct kg_twire {
    uint32_t magic, version;
    _Atomic uint32_t go;        /* futex: number of the command released */
    _Atomic uint32_t done;      /* futex: number of the command answered: a claim */
    _Atomic uint32_t state;     /* futex: enum kg_tstate: a claim */
    _Atomic uint32_t announced; /* futex: number of the command that is there, or about to be */
    _Atomic uint32_t prepared;  /* the one that waits for nothing but its release: a claim */
    /* request */
    uint32_t command, flags;
    uint32_t request_bytes, nrequest;
    uint64_t nonce[2]; /* fresh per command; the answer repeats it */
    uint64_t seed;
    uint64_t in_bytes, out_bytes; /* the regions; of OUT, after the start, what is in use: the
                                     runner looks when it builds a module */
    /* answer, all claims */
    uint32_t status, reply_bytes, nreply;
    _Atomic uint32_t building; /* futex: enum kg_tbuilding: a claim */
    uint64_t echo[2];          /* the nonce */
    uint64_t call_ns;          /* the runner's own clock over the call: shown, never used */
    uint64_t peak_bytes;       /* of its allocator: shown */
    char structure[1024];      /* of the answer: "T", "(T,T)", "[T]", "{\"a\":T}" */
    char request[KG_TWIRE_TEXT], reply[KG_TWIRE_TEXT]; /* JSON */
    struct kg_tleaf in[KG_TWIRE_LEAVES], out[KG_TWIRE_LEAVES];
    /* Claims about a death. On the CPU the regions lie at KG_ADDR_IN and KG_ADDR_OUT (run/wire.h)
     * in every runner: a write that faulted within IN is a write to an input. */
    uint32_t fault_signal, fault_write;
    uint64_t fault_address;
};

/* NULL, or what is wrong with a claimed leaf: rank, dtype, shape against bytes, bounds of a region
 * of `region` bytes, overlap is not looked at. Reads a private copy. */
const char *kg_twire_leaf_check(const struct kg_tleaf *leaf, uint64_t region);
/* Elements; 0 where a dim is 0. Shape must have been checked. */
uint64_t kg_tleaf_count(const struct kg_tleaf *leaf);
/* Place leaves one after the other with guards, offsets and bytes filled from dtype and shape;
 * returns the region's size that is needed. */
uint64_t kg_twire_place(struct kg_tleaf *leaf, size_t n);

#define KG_TWIRE_RUNNER_DEAD 1 /* results of kg_twire_wait besides 0 */
#define KG_TWIRE_LATE        2
/* The command that the caller has filled in is about to be released: the runner prepares for it and
 * looks for the release. */
void kg_twire_announce(struct kg_twire *w);
/* Release it, announced or not: a fresh nonce, go + 1, wake. */
void kg_twire_release(struct kg_twire *w, const uint64_t nonce[2]);
/* Until done says the number released. 0 (answered; echo not yet compared), KG_TWIRE_RUNNER_DEAD
 * (its pidfd says so), KG_TWIRE_LATE (monotonic deadline, or *cancelled). */
int kg_twire_wait(struct kg_twire *w, int pidfd, int64_t deadline_ns,
                  const volatile int *cancelled);

#endif
