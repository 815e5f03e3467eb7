/* The memory that the trusted side and one Python runner share: a control block of fixed layout, an
 * input region and an output region.
 *
 * harness/kgym_harness/wire.py repeats the layout in Python; test_torch_wire compares the two.
 * Everything that a runner writes here is a claim. kg_twire_leaf_check checks lengths, ranks,
 * offsets and names before use. No string of a runner is parsed as a result.
 *
 * There is one command at a time. The trusted side fills `command`, the request and the leaves,
 * announces the command's number, and releases it by adding 1 to `go`. The runner answers, stores
 * the number in `done` and wakes the trusted side. A runner sleeps until a command is announced. It
 * does everything but the call of the module before the release, which is not timed. The judge
 * releases commands that move data (device/device_judge.h), the broker all others. docs/protocol.md
 * describes the whole protocol. */
#ifndef KG_GYM_TENSOR_TENSOR_WIRE_H
#define KG_GYM_TENSOR_TENSOR_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A Python runner's descriptors: 0 is /dev/null, 1 and 2 are pipes; then: */
#define KG_TFD_CTRL 3
#define KG_TFD_IN   4 /* cpu: a memfd that only reads; cuda: an exported allocation */
#define KG_TFD_OUT  5

#define KG_TWIRE_MAGIC   0x6b677431u
#define KG_TWIRE_VERSION 2u
#define KG_TWIRE_TEXT    (96u << 10)
#define KG_TWIRE_LEAVES  256 /* most tensors of one command; parameters come in parts */
#define KG_TWIRE_RANK    8
#define KG_TWIRE_NAME    96
#define KG_TWIRE_ALIGN   256  /* alignment of every tensor in a region */
#define KG_TWIRE_GUARD   4096 /* bytes between tensors, and at both ends */
/* On a GPU, blocks of at least this size change their place from call to call. */
#define KG_TWIRE_LARGE ((uint64_t)8 << 20)

enum kg_tdtype { /* the values are on the wire, so they are fixed */
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
const char *kg_tdtype_name(enum kg_tdtype t); /* as torch says: "float32", ... */
/* Size of an element; whether the type is floating. */
size_t kg_tdtype_bytes(enum kg_tdtype t);
bool kg_tdtype_floating(enum kg_tdtype t);

enum kg_tstate { /* of the runner: a claim */
                 KG_TS_BOOT,
                 KG_TS_READY, /* confined, regions mapped; no code of the candidate has run yet */
};

enum kg_tcommand {
    KG_TC_NONE,
    KG_TC_LOAD, /* import the source file; request {path, entry, role, compat, precision}. compat:
                   run modules as KernelBench does, in that precision */
    KG_TC_DESCRIBE, /* reference: describe the task; request {consts}; reply: the description */
    KG_TC_BUILD, /* construct the module; request {init, kwargs, seed, trials}; reply {state: [...],
                    seeds: [...], one for each trial} */
    KG_TC_STATE, /* leaves in IN are named parameters and buffers, or a part of them: when all are
                    there load them, then prepare() */
    KG_TC_BIND,  /* leaves in IN are the inputs of the next calls: make tensors of them */
    KG_TC_CALL,  /* call the module on the bound inputs; leaves of the answer */
    KG_TC_DRAW,  /* reference: get_inputs() under `seed`, written to OUT; leaves */
    KG_TC_SNAPSHOT, /* state after a call, where the reference updates buffers; leaves in OUT */
    KG_TC_NULL,     /* null runner: one empty kernel on cuda, nothing on cpu */
    KG_TC_EXIT,
    KG_TC_PROFILE, /* request {suppress: [name], take: bool}; reply: probe/profile.h's table */
    KG_TC_TIME,  /* KernelBench's procedure: call the module on the inputs of the last CALL and time
                    it; request {warmups, discard, trials}; reply {ns: [...]}, which are claims */
    KG_TC_TIMED, /* the answer of the last call of TIME; leaves in OUT */
    KG_TC_COUNT
};
const char *kg_tcommand_name(enum kg_tcommand c); /* "load", ...; "?" */

enum kg_tstatus { /* of an answer: a claim */
                  KG_TA_OK,
                  KG_TA_EXCEPTION, /* reply {type, message, where, memory: "host" or "device" where
                                      it is about memory, device: bool, an error of the device} */
                  KG_TA_NO_ENTRY,  /* the module does not define the entry */
                  KG_TA_SYNTAX,    /* reply {message, line} */
                  KG_TA_STATE,     /* STATE: names or shapes do not match */
                  KG_TA_NEEDS_GPU, /* it asked for a device that does not exist */
                  KG_TA_TOO_LARGE, /* the answer exceeds OUT, or the number of leaves */
                  KG_TA_STRUCTURE, /* CALL: the answer holds something other than plain tensors */
                  KG_TA_OUT_OF_MEMORY, /* reply as of EXCEPTION, with memory */
                  KG_TA_COUNT
};

enum kg_tflag {                  /* of a command */
                KG_TF_WIDE = 1,  /* CALL: in double precision (the oracle) */
                KG_TF_TRAIN = 2, /* reserved */
                KG_TF_NEAR = 4, /* CALL: each floating input is moved up or down by a rounding error
                                   of float32 (of float64 where it is double), times 2^n with
                                   ROUND_BY(n) */
                KG_TF_FINE = 64, /* CALL, league tf32. With NEAR: products lose a 16th of what they
                                    may lose. Alone: all of it, in another way */
                KG_TF_ROUND = 128, /* CALL, league tf32: operands of products are rounded, not cut;
                                      inputs stay */
                KG_TF_POLITE = 8,  /* CALL, DRAW, DESCRIBE, BUILD: the runner tells in `building`
                                      when it does not need the device */
                KG_TF_DRAWS = 16,  /* CALL, NULL: `seed` appears only at the release, because the
                                      answer depends on it */
                KG_TF_ORDER = 256, /* CALL: as in a plain program, on the default stream, on which
                                      the answer is copied into OUT before anybody waits for it */
                KG_TF_LATE = 512,  /* with ORDER: the inputs come late on that stream */
                KG_TF_LEFT = 1024, /* SNAPSHOT: what a call leaves: of the state only what calls
                                      of the reference change and a candidate needs */
                KG_TF_INPUTS = 2048, /* SNAPSHOT: instead of state, the inputs that the reference
                                        writes to, as they came. With LEFT: the copies of them, as
                                        the last CALL left them */
                KG_TF_MORE = 4096,   /* STATE, SNAPSHOT: another part follows */
                KG_TF_AHEAD = 8192,  /* CALL, NULL: launch before the release, let the device hold
                                        that back until then, and let it post the answer. The
                                        nonce comes with the announcement */
                KG_TF_ANEW = 16384,  /* CALL: takes its inputs as after a BIND, wherever they lie */
                /* STATE, SNAPSHOT: the number of a part, times PART: of LEAVES tensors each */
                KG_TF_PART = 1 << 16,
                KG_TF_PARTS = 31 << 16,
                KG_TF_ROUNDING = 0xff0000, /* CALL: which way to round (KG_TF_ROUND_BY); 0: as it
                                              is. With NEAR: how far inputs are moved */
                /* DRAW: 1 + the number of a law (enum kg_tlaw), times LAW, that changes inputs
                   within their structure; an input, times WHICH, that the law picks out; and
                   1 + another one, times MATE, whose low bits lean where those of the first do */
                KG_TF_LAW = 1 << 16,
                KG_TF_LAWS = 31 << 16,
                KG_TF_WHICH = 1 << 21,
                KG_TF_WHICHES = 63 << 21,
                KG_TF_MATE = 1 << 27,
                KG_TF_MATES = 15 << 27,
                KG_TF_BIND = 32, /* CALL, NULL: do BIND's part first, before the release. To the
                                    judge: do so where inputs have moved */
};

#define KG_TF_ROUND_BY(n) ((uint32_t)(n) << 16) /* n: 0..255 */

/* Compiling takes seconds, get_inputs() and a constructor on the host tenths of a second. Others
 * may be timed meanwhile. A runner that lies here disturbs others no more than code that works
 * while it is loaded. */
enum kg_tbuilding {
    KG_TB_NONE,  /* the runner shares the device; only the trusted side writes this */
    KG_TB_BUSY,  /* it compiles, draws or constructs, and does not use the device */
    KG_TB_WAITS, /* it waits for NONE before it uses the device */
};

/* One tensor in a region. Strides in elements. */
struct kg_tleaf {
    uint32_t dtype; /* enum kg_tdtype */
    uint32_t rank;
    uint64_t offset; /* in bytes from the region's start */
    uint64_t bytes;  /* size there */
    int64_t shape[KG_TWIRE_RANK];
    int64_t stride[KG_TWIRE_RANK]; /* answers: strides of the candidate's tensor; the copy in OUT is
                                      contiguous where `copied`. Inputs: where `laid` */
    uint32_t copied;               /* answers: the tensor lay outside OUT and was copied into it */
    uint32_t device;               /* answers: where the candidate's tensor lay: 0 cpu, 1 cuda */
    uint32_t aliases; /* answers: 1 + index of the bound input whose memory it reaches; 0: none */
    uint32_t laid;    /* inputs: 1: `bytes` is memory that the strides reach, with gaps, or with
                         elements that several places share; 0: contiguous */
    char name[KG_TWIRE_NAME]; /* state: qualified name; inputs: position; answers: path */
};

/* The control block. */
struct kg_twire {
    uint32_t magic, version;
    _Atomic uint32_t go;        /* futex: number of the released command */
    _Atomic uint32_t done;      /* futex: number of the answered command: a claim */
    _Atomic uint32_t state;     /* futex: enum kg_tstate: a claim */
    _Atomic uint32_t announced; /* futex: number of the command that is there, or will follow */
    _Atomic uint32_t prepared;  /* the command that waits for its release only: a claim */
    /* request */
    uint32_t command, flags;
    uint32_t request_bytes, nrequest;
    uint64_t nonce[2]; /* fresh per command; the answer repeats it */
    uint64_t seed;
    uint64_t in_bytes, out_bytes; /* sizes of the regions. out_bytes is later the part of OUT in
                                     use; a runner reads it when it builds a module */
    uint64_t out_below; /* of it: answers that are copied go below, calls allocate above; 0: OUT
                           has room for one answer, and is not divided */
    uint64_t may_keep;  /* bytes of the device that a runner's allocator may keep between calls,
                           beside OUT; 0: little */
    /* answer, all claims */
    uint32_t status, reply_bytes, nreply;
    _Atomic uint32_t building; /* futex: enum kg_tbuilding: a claim */
    uint64_t echo[2];          /* the nonce */
    uint64_t call_ns;          /* the runner's own clock; shown, never used */
    uint64_t peak_bytes;       /* of its allocator; shown, never used */
    char structure[1024];      /* of the answer: "T", "(T,T)", "[T]", "{\"a\":T}" */
    char request[KG_TWIRE_TEXT], reply[KG_TWIRE_TEXT]; /* JSON */
    struct kg_tleaf in[KG_TWIRE_LEAVES], out[KG_TWIRE_LEAVES];
    /* Claims about a death. On the CPU the regions lie at KG_ADDR_IN and KG_ADDR_OUT (run/wire.h)
     * in every runner. So a write that faulted within IN was a write to an input. */
    uint32_t fault_signal, fault_write;
    uint64_t fault_address;
};

/* Checks a claimed leaf: rank, dtype, shape against bytes, and the bounds of a region of `region`
 * bytes. Overlaps are not checked. NULL, or what is wrong. leaf must be a private copy. */
const char *kg_twire_leaf_check(const struct kg_tleaf *leaf, uint64_t region);
/* Number of elements; 0 where a dim is 0. The shape must have been checked. */
uint64_t kg_tleaf_count(const struct kg_tleaf *leaf);
/* Elements of a row, the last dim; at least 1. Each of a vector is a row of its own. */
uint64_t kg_tleaf_row(const struct kg_tleaf *leaf);
bool kg_tleaf_same_shape(const struct kg_tleaf *a, const struct kg_tleaf *b);
/* Elements of memory that shape and strides reach; 0 where a dim is 0, or a stride is negative, or
 * no memory is so large. */
uint64_t kg_tleaf_reach(const struct kg_tleaf *leaf);
/* Elements of the leaf's memory: what it reaches where it is laid, else its count. */
uint64_t kg_tleaf_memory(const struct kg_tleaf *leaf);
/* Where in its memory the i-th element lies, counted in the order of the dimensions. */
uint64_t kg_tleaf_at(const struct kg_tleaf *leaf, uint64_t i);
/* Sets the strides of a contiguous tensor. */
void kg_tleaf_contiguous(struct kg_tleaf *leaf);
/* Places leaves one after the other with guards between. Fills offset and bytes from dtype, shape
 * and, where they are laid, strides; returns the size of the region that is needed. */
uint64_t kg_twire_place(struct kg_tleaf *leaf, size_t n);

#define KG_TWIRE_RUNNER_DEAD 1 /* results of kg_twire_wait besides 0 */
#define KG_TWIRE_LATE        2
/* Announces the command that the caller has filled in. The runner prepares for it, and then polls
 * for the release. */
void kg_twire_announce(struct kg_twire *w);
/* Releases the command, announced or not: a fresh nonce, go + 1, wake. */
void kg_twire_release(struct kg_twire *w, const uint64_t nonce[2]);
/* Waits until `done` equals the released number. 0: answered; the caller must compare echo.
 * KG_TWIRE_RUNNER_DEAD: its pidfd says so. KG_TWIRE_LATE: deadline_ns (monotonic) passed, or
 * *cancelled. */
int kg_twire_wait(struct kg_twire *w, int pidfd, int64_t deadline_ns,
                  const volatile int *cancelled);

#endif
