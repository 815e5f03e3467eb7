/* The device table of the judge of tensors: the operations on memory that one kind of device
 * offers.
 *
 * There are two rows. `cpu` is host memory with memfds; under the name `fake` its inputs are
 * writable for runners, which stands in for a GPU in protocol tests. `cuda` is an NVIDIA GPU. All
 * code above the table is the same for both rows.
 *
 * Addresses are opaque uint64_t. Only the table's functions may follow them; adding an offset
 * within an allocation is allowed. One thread issues all operations of a device, and they take
 * effect in order, as on one stream. Operations marked (async) may return before they are done;
 * operations that give results to the host wait for all earlier ones. A later operation may report
 * the error of an asynchronous one, sync at the latest. A function that returns nothing must
 * remember its failure for that. Sizes are bytes. Spans start at multiples of 8 unless said
 * otherwise, and end anywhere. n == 0 and empty spans are allowed everywhere and do nothing.
 * Runners may change their OUT regions at any time. So no function may read a byte of OUT twice and
 * rely on both reads being equal. */
#ifndef KG_GYM_DEVICE_DEVICE_H
#define KG_GYM_DEVICE_DEVICE_H

#include "gym/device/device_judge.h"

/* A piece of device memory: [at, at + bytes). */
struct kg_dspan {
    uint64_t at, bytes;
};

/* A keyed 128-bit digest. Digests of one device are comparable with each other only. */
struct kg_digest {
    uint64_t w[2];
};

/* One tensor that is copied from a runner's region to private memory. */
struct kg_dtake {
    uint64_t dst, src, bytes; /* src may have any alignment */
    uint32_t dtype;           /* enum kg_tdtype; bytes is a multiple of its size */
    bool look;                /* the poison was written there before the call: count it */
    struct kg_digest digest;  /* out: digest of what is at dst now */
    uint64_t unwritten;       /* out: elements that still hold the poison, see take() */
};

struct kg_device_ops;

struct kg_device {
    const struct kg_device_ops *ops;
    struct kg_dj_facts facts;
    struct kg_key secret; /* key of the digests; kg_device_open draws it */
    bool sealed;          /* runners cannot write to regions exported as read_only */
    bool pooled;          /* runners allocate in OUT, so answers may lie anywhere in it */
    void *self;           /* the row's own state */
};

struct kg_device_ops {
    const char *kind; /* "cpu" serves the names "cpu" and "cpu:..." */

    /* Fills facts, sealed, pooled and self. The judge's process calls it after the fork and before
     * its confinement. name: "cpu", "cuda:1". KG_E_HOST: the device is not there. */
    enum kg_code (*open)(struct kg_device *d, const char *name, struct kg_err *err);
    void (*close)(struct kg_device *d); /* frees also what is still allocated */

    /* Private memory, aligned to at least 256 bytes, contents undefined. KG_E_HOST: no memory. */
    enum kg_code (*alloc)(struct kg_device *d, uint64_t bytes, uint64_t *at, struct kg_err *err);
    void (*free)(struct kg_device *d, uint64_t at); /* at 0: does nothing */
    /* Memory for a runner: an allocation of its own, zeroed, with a descriptor. *bytes is rounded
     * up to the size that was made. *fd belongs to the caller, who may send it and close it at
     * once. read_only asks that the runner can only read. A device that cannot promise this sets
     * `sealed` to false, and the judge digests its inputs again after each call. A runner must not
     * be able to resize the memory, or resizing must not hurt the judge. */
    enum kg_code (*export)(struct kg_device *d, uint64_t *bytes, bool read_only, uint64_t *at,
                           int *fd, struct kg_err *err);
    /* again: no other process has the region any more, so export() may return it again, zeroed. */
    void (*unexport)(struct kg_device *d, uint64_t at, bool again);
    void (*trim)(struct kg_device *d); /* frees the regions that wait for export() */

    void (*copy)(struct kg_device *d, uint64_t dst, uint64_t src, uint64_t bytes); /* (async) */
    /* Copies from or to host memory. upload may be asynchronous only if it has read src before it
     * returns. */
    void (*upload)(struct kg_device *d, uint64_t dst, const void *src, uint64_t bytes);
    enum kg_code (*download)(struct kg_device *d, void *dst, uint64_t src, uint64_t bytes,
                             struct kg_err *err);

    /* Memory of the host that upload and download reach at full speed where the device has such;
     * its contents are undefined. NULL: there is none left. */
    void *(*host_alloc)(struct kg_device *d, uint64_t bytes);
    void (*host_free)(struct kg_device *d, void *at); /* NULL: does nothing */

    /* Draws n elements of dtype by a law; device_law.h says what each kind means for each dtype.
     * The same law gives the same bytes on one kind of device. Kinds of devices may use the key
     * differently, but the distribution is the same. (async) */
    void (*fill)(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t n,
                 const struct kg_dj_law *law);
    /* Writes an 8-byte word again and again: the byte at address a is byte (a & 7) of the word. One
     * pattern serves as poison of answers of every dtype and as guard (kg_device_poison).
     * (async) */
    void (*pattern)(struct kg_device *d, uint64_t dst, uint64_t bytes, uint64_t word);
    /* *bad: index of the first span that does not hold the pattern throughout, or -1. Spans start
     * and end anywhere. */
    enum kg_code (*check)(struct kg_device *d, const struct kg_dspan *span, size_t n, uint64_t word,
                          int *bad, struct kg_err *err);

    /* Digest of each span, keyed with d->secret. It also ends a timed window: it must be ordered
     * after all work on the device that was issued before it, the runner's included. */
    enum kg_code (*digest)(struct kg_device *d, const struct kg_dspan *span, size_t n,
                           struct kg_digest *out, struct kg_err *err);
    /* digest() of the spans and check() of the zones, whose result is *bad, in one wait where both
     * are few: each wait may give other processes a turn on the device. */
    enum kg_code (*inspect)(struct kg_device *d, const struct kg_dspan *span, size_t n,
                            struct kg_digest *out, const struct kg_dspan *zone, size_t nzones,
                            uint64_t word, int *bad, struct kg_err *err);
    /* Copies each tensor, digests the copy and counts poison in it. src is read once, so the digest
     * is that of the bytes at dst and equals digest() of them. An element counts if it holds the
     * pattern of its place (phase of src). Floating elements count each. Others count only in runs
     * of at least 16 bytes, or where the whole tensor is one run, because a small integer may match
     * by chance. */
    enum kg_code (*take)(struct kg_device *d, struct kg_dtake *t, size_t n, uint64_t word,
                         struct kg_err *err);
    /* dst [n] f64 = src [n] of a floating dtype. (async) */
    void (*widen)(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t src,
                  uint64_t n);

    /* dst [n] f32: what is kept of an oracle's o [n] f64 beside r [n] of dtype, and back: dst [n]
     * f64 of what was kept (difference.h). (async) */
    void (*differ)(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                   uint64_t n);
    void (*rejoin)(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t r,
                   uint64_t kept, uint64_t n);

    /* The functions of tensor_compare.h on device addresses. o 0: no oracle. */
    enum kg_code (*bounds)(struct kg_device *d, enum kg_tdtype dtype, uint64_t r, uint64_t o,
                           uint64_t n, const struct kg_bound_ask *ask, struct kg_tbound *out,
                           struct kg_err *err);
    enum kg_code (*compare)(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t r,
                            uint64_t o, uint64_t n, const struct kg_tbound *bound, bool probe,
                            struct kg_tcompare *out, struct kg_err *err);
    /* *out: how many elements of y are further from o [n] f64 than the limits, both finite. y: of a
     * floating dtype. own_error and rms of the limits do not count. */
    enum kg_code (*far)(struct kg_device *d, enum kg_tdtype dtype, uint64_t y, uint64_t o,
                        uint64_t n, const struct kg_limits_of *limits, uint64_t *out,
                        struct kg_err *err);
    /* out->rms: over the finite elements of a floating tensor that belong to no fill, 0 for other
     * dtypes; out->used: how many they are, where there is a fill. Needed to compare without an
     * oracle. */
    enum kg_code (*rms)(struct kg_device *d, enum kg_tdtype dtype, uint64_t v, uint64_t n,
                        double fill, struct kg_tbound *out, struct kg_err *err);

    /* Evicts the caches: reads or writes at least twice the size of the L2, and resets persisting
     * lines. (async) */
    void (*flush)(struct kg_device *d);
    /* Waits for everything. KG_E_HOST if anything failed since the last sync. */
    enum kg_code (*sync)(struct kg_device *d, struct kg_err *err);
    /* Measures the bandwidth of the device's own copy once more. facts.bandwidth keeps the largest
     * value seen. */
    enum kg_code (*bandwidth)(struct kg_device *d, struct kg_err *err);
    int64_t (*clock)(struct kg_device *d); /* monotonic ns, as base/clock.h */
};

/* The row of the host; cuda.h declares the other one. */
extern const struct kg_device_ops kg_device_cpu;
/* Opens the row that serves `name` and draws the secret of its digests. The rows are listed in
 * device.c. KG_E_USAGE: no row serves the name; KG_E_HOST: the device is not there. */
enum kg_code kg_device_open(const char *name, struct kg_device *out,
                            struct kg_err *err) KG_MUST_USE;
void kg_device_close(struct kg_device *d); /* may be called twice */

/* The poison word of a nonce. Each 16 bits of it are 0x7ffX or 0xfffX. So every element is a NaN as
 * f16, bf16, f32 and f64, and an unlikely number as an integer. */
uint64_t kg_device_poison(struct kg_key nonce);
/* True if v [n] has too few distinct values to conclude anything from two equal answers: fewer than
 * 4 for floating dtypes, 8 for others. v is host memory; at most 4096 elements are looked at. */
bool kg_device_degenerate(enum kg_tdtype dtype, const void *v, uint64_t n);

#endif
