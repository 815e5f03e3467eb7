/* The device table of the judge of tensors: what a place for tensors can do. Two rows: `cpu` (host
 * memory, memfds; `fake` is the same with inputs that a runner can write, the stand-in for a GPU in
 * protocol tests) and `cuda`. Everything above the table (judge.h) is the same code for all rows.
 *
 * Addresses are opaque uint64_t: only the table's functions follow them, and addition of an offset
 * within an allocation is allowed. All operations of one device are issued by one thread, in order,
 * as on one stream: those marked (async) may return before they are done, those that give results
 * to the host wait for what came before. Errors of an asynchronous operation may be reported by a
 * later one, at the latest by sync. A function that returns nothing and fails must be remembered
 * and reported so. Sizes are bytes; spans start at multiples of 8 unless said otherwise, and end
 * anywhere. n == 0 and empty spans are allowed everywhere and do nothing.
 * The answer regions of runners change under the device's hands at any time: no function may read a
 * byte of them twice and rely on both reads being equal. */
#ifndef KG_GYM_DEVICE_DEVICE_H
#define KG_GYM_DEVICE_DEVICE_H

#include "gym/device/device_judge.h"

struct kg_dspan {
    uint64_t at, bytes;
};

struct kg_digest {
    uint64_t w[2];
};

/* A tensor on its way from a runner's region to private memory. */
struct kg_dtake {
    uint64_t dst, src, bytes; /* src may start anywhere */
    uint32_t dtype;           /* enum kg_tdtype; bytes is a multiple of its size */
    bool look;                /* the pattern was written there before the call: count it */
    struct kg_digest digest;  /* out: of what is at dst now */
    uint64_t unwritten;       /* out: elements that hold the pattern, see take() */
};

struct kg_device_ops;

struct kg_device {
    const struct kg_device_ops *ops;
    struct kg_dj_facts facts;
    struct kg_key secret; /* of the digests: set by kg_device_open */
    bool sealed;          /* what export() made read_only can't be written by a runner */
    bool pooled;          /* runners allocate in OUT: answers may lie anywhere there */
    void *self;           /* the row's own state */
};

struct kg_device_ops {
    const char *kind; /* "cpu": serves the names "cpu", "cpu:..."  */

    /* Fill facts, sealed, pooled and self. Called in the judge's process, after the fork, before it
     * is confined. KG_E_HOST when the device is not there. name: "cpu", "cuda:1". */
    enum kg_code (*open)(struct kg_device *d, const char *name, struct kg_err *err);
    void (*close)(struct kg_device *d); /* everything that is still allocated too */

    /* Private memory, at least 256-byte aligned; contents undefined. KG_E_HOST: no memory. */
    enum kg_code (*alloc)(struct kg_device *d, uint64_t bytes, uint64_t *at, struct kg_err *err);
    void (*free)(struct kg_device *d, uint64_t at); /* 0: nothing */
    /* Memory that a runner gets by a descriptor, an allocation of its own, zeroed; *bytes is
     * rounded up to what was made. *fd is the caller's (it may be sent and closed at once).
     * read_only: the runner's side should only be able to read; where the device cannot promise
     * that, `sealed` is false and the judge digests what it wrote again after each call.
     * Resizing by a runner must be impossible, or must not hurt the judge. */
    enum kg_code (*export)(struct kg_device *d, uint64_t *bytes, bool read_only, uint64_t *at,
                           int *fd, struct kg_err *err);
    /* again: nobody else has it any more; it may come back from export(), zeroed. */
    void (*unexport)(struct kg_device *d, uint64_t at, bool again);

    void (*copy)(struct kg_device *d, uint64_t dst, uint64_t src, uint64_t bytes); /* (async) */
    /* host memory; upload may be asynchronous only if it has read src before it returns */
    void (*upload)(struct kg_device *d, uint64_t dst, const void *src, uint64_t bytes);
    enum kg_code (*download)(struct kg_device *d, void *dst, uint64_t src, uint64_t bytes,
                             struct kg_err *err);

    /* n elements of dtype by a law (device/device_law.h says what each kind means for each dtype).
     * The same law gives the same bytes on one device kind; kinds may differ in how they use the
     * key, not in the distribution. (async) */
    void (*fill)(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t n,
                 const struct kg_dj_law *law);
    /* The 8-byte word, repeated; its phase is that of the address: byte i holds byte (i & 7). One
     * pattern serves as poison of answers of every dtype and as guard (kg_device_poison). (async)
     */
    void (*pattern)(struct kg_device *d, uint64_t dst, uint64_t bytes, uint64_t word);
    /* Index of the first span that does not hold the pattern throughout, or -1. Spans start and end
     * anywhere. */
    enum kg_code (*check)(struct kg_device *d, const struct kg_dspan *span, size_t n, uint64_t word,
                          int *bad, struct kg_err *err);

    /* 128-bit keyed digest (d->secret) of each span. A digest is compared with digests of the same
     * device only. Also the end of a timed window: it must be ordered behind all work that was on
     * the device when it was issued, the runner's too. */
    enum kg_code (*digest)(struct kg_device *d, const struct kg_dspan *span, size_t n,
                           struct kg_digest *out, struct kg_err *err);
    /* Copies, digests what arrived at dst (never src a second time) so that it equals digest() of
     * the same bytes, and counts elements at dst that equal what the pattern has at their place
     * (phase of src): floating ones each, others only in runs of at least 16 bytes, or where the
     * whole tensor is one run: a small integer may match by chance. */
    enum kg_code (*take)(struct kg_device *d, struct kg_dtake *t, size_t n, uint64_t word,
                         struct kg_err *err);
    /* dst [n] f64 = src [n] of a floating dtype. (async) */
    void (*widen)(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t src,
                  uint64_t n);

    /* compare.h on device addresses. o 0: none. */
    enum kg_code (*bounds)(struct kg_device *d, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                           uint64_t n, int64_t k, struct kg_tbound *out, struct kg_err *err);
    enum kg_code (*compare)(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t r,
                            uint64_t o, uint64_t n, const struct kg_tbound *bound, bool probe,
                            struct kg_tcompare *out, struct kg_err *err);
    /* rms over the finite elements of a floating tensor; 0 for others (compare without o). */
    enum kg_code (*rms)(struct kg_device *d, enum kg_tdtype dtype, uint64_t v, uint64_t n,
                        double *out, struct kg_err *err);

    /* Evict what caches hold: stream over at least twice the L2, persisting lines reset. (async) */
    void (*flush)(struct kg_device *d);
    /* All done, and KG_E_HOST if anything since the last sync failed. */
    enum kg_code (*sync)(struct kg_device *d, struct kg_err *err);
    /* Its own copy's bandwidth once more: facts.bandwidth is the most that was seen. */
    enum kg_code (*bandwidth)(struct kg_device *d, struct kg_err *err);
    int64_t (*clock)(struct kg_device *d); /* monotonic ns, as base/clock.h unless better is had */
};

extern const struct kg_device_ops kg_device_cpu;
/* Rows are listed in device.c. Finds the row of `name`, opens it, draws the secret. KG_E_USAGE: no
 * such kind. */
enum kg_code kg_device_open(const char *name, struct kg_device *out,
                            struct kg_err *err) KG_MUST_USE;
void kg_device_close(struct kg_device *d); /* idempotent */

/* The poison word of a nonce: each 16 bits of it 0x7ffX or 0xfffX, so that every element is a NaN
 * as f16, bf16, f32 and f64, and a wild number as an integer. */
uint64_t kg_device_poison(struct kg_key nonce);
/* Too few distinct values among v [n, at most 4096 looked at] to say that two answers are equal
 * because one was remembered. Host memory. */
bool kg_device_degenerate(enum kg_tdtype dtype, const void *v, uint64_t n);

#endif
