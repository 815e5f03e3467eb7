/* The judge of tensors: a process per device that holds the masters of the inputs, the expected
 * answers, the comparison and, on a GPU, the clock. It never loads code of a problem or candidate.
 * The broker drives it by fixed-size messages over a socket pair; each call here is one round
 * trip. If it dies, calls return KG_E_GYM and the broker starts another.
 *
 * Port: what one runner shares with the judge: control block, IN, OUT. Ports are never shared
 * between runners: a runner that is not stopped could read the other's inputs before its own call,
 * or its answer. Case: one set of input tensors (masters), with the reference's answers (sides
 * FLOAT and ORACLE) once they were taken. */
#ifndef KG_GYM_DEVICE_DEVICE_JUDGE_H
#define KG_GYM_DEVICE_DEVICE_JUDGE_H

#include <sys/types.h>

#include "base/rng.h"
#include "gym/device/tensor_compare.h"
#include "gym/tensor/tensor_wire.h"

struct kg_dj_spec {
    const char *device; /* "cpu", "cuda:N" */
    int cpu;            /* pin; -1: do not */
    int64_t memory_cap; /* bytes that masters and answers may take; 0: a quarter of the device */
    const volatile int *cancelled; /* may be NULL; 1: a call under way ends with KG_E_CANCELLED, and
                                      the judge with it */
};

struct kg_dj_facts {
    char name[128], driver[64];
    char bus[32]; /* of a GPU: "0000:19:00.0" */
    int64_t memory_bytes, l2_bytes;
    double bandwidth;  /* bytes/s of its own copy: the most seen, at start and by kg_dj_bandwidth */
    char exchange[32]; /* "memfd", "cumem" */
    bool clock;        /* windows are times that count (a GPU) */
    bool confined;     /* its seccomp filter is on */
    bool sealed;       /* runners cannot write IN: nothing needs to be checked after a call */
};

/* Shared with the judge alone: how long the request under way has waited for the device, which is
 * nobody's time. */
struct kg_dj_pause {
    _Atomic int64_t since_ns; /* waiting now; 0: it is not */
    _Atomic int64_t total_ns;
};

struct kg_dj {
    pid_t pid;
    int sock;
    uint64_t seq;
    struct kg_dj_facts facts;
    struct kg_dj_spec spec;
    struct kg_dj_pause *pause; /* NULL: a judge that was not started */
    int64_t waited_ns;         /* for those who have the device alone, so far */
    double e_ref; /* the largest of the tensors that kg_dj_self has compared last (compare.h) */
    bool held;    /* the caller holds the device, for long or alone (timing/lease.h); else every
                     request shares it, so that no timing of another process sees its work */
};

/* Forked, not executed: start it before any candidate exists, from a thread that outlives it (it
 * dies with that thread). KG_E_USAGE: no such kind of device; KG_E_HOST: it is not there. */
enum kg_code kg_dj_start(const struct kg_dj_spec *spec, struct kg_dj *out,
                         struct kg_err *err) KG_MUST_USE;
void kg_dj_stop(struct kg_dj *j); /* idempotent */

#define KG_DJ_PORTS 16
#define KG_DJ_CASES 64
#define KG_DJ_ASIDE 4 /* answers of candidates for later */

/* fds: ctrl, in, out for the runner; the caller closes them. port: 0..KG_DJ_PORTS-1. */
enum kg_code kg_dj_port_open(struct kg_dj *j, uint64_t in_bytes, uint64_t out_bytes, int *port,
                             int fds[3], struct kg_err *err) KG_MUST_USE;
/* The runner behind a port: its pidfd, so that a wait ends with it. */
enum kg_code kg_dj_port_attach(struct kg_dj *j, int port, int pidfd,
                               struct kg_err *err) KG_MUST_USE;
enum kg_code kg_dj_port_close(struct kg_dj *j, int port, struct kg_err *err) KG_MUST_USE;
/* The same of a runner that is gone, with all that it had forked: nobody else has the regions, and
 * the next port may get them, wiped. A device's driver takes 20 ms to make and end such memory. */
enum kg_code kg_dj_port_end(struct kg_dj *j, int port, struct kg_err *err) KG_MUST_USE;
/* What comes next needs so much of OUT: where PyTorch's pool lies in it, the rest is neither
 * poisoned before a call nor any answer's, until more is used again. Before the runner builds a
 * module, which is when it looks (tensor/tensor_wire.h, out_bytes). KG_E_LIMIT: it has less. */
enum kg_code kg_dj_port_use(struct kg_dj *j, int port, uint64_t out_bytes,
                            struct kg_err *err) KG_MUST_USE;

/* How a tensor's values are made by the judge itself. */
struct kg_dj_law {
    uint32_t kind; /* enum kg_dj_kind */
    struct kg_key key;
    uint64_t stream; /* different for each tensor of a case */
    double a, b;     /* uniform: [a, b); normal: mean, sd; integers: [a, b); constant: a */
};
enum kg_dj_kind {
    KG_DJ_UNIFORM,
    KG_DJ_NORMAL,
    KG_DJ_INTEGER,
    KG_DJ_CONSTANT,
    KG_DJ_HEAVY,    /* heavy tail */
    KG_DJ_SPARSE,   /* 95 % zeros, else normal */
    KG_DJ_OFFSET,   /* normal + 1e3 */
    KG_DJ_SMALL,    /* normal * 1e-4 */
    KG_DJ_LARGE,    /* normal * 1e3 */
    KG_DJ_SMALLINT, /* -8..8: sums are exact */
    KG_DJ_WIDEINT,  /* +-2048..4095: needs 12 bits of significand */
    KG_DJ_EQUAL,    /* all equal, one normal draw */
    KG_DJ_SPIKE,    /* uniform [a, b) with one huge value, the last tile included */
    KG_DJ_BF16,     /* normal rounded to bfloat16 */
    KG_DJ_FULL,     /* +-[1, 2), the last bit of the significand set: no narrower type holds it */
    KG_DJ_KINDS
};

/* facts.bandwidth once more: at the start others may have used the device. */
enum kg_code kg_dj_bandwidth(struct kg_dj *j, struct kg_err *err) KG_MUST_USE;

/* Forget what case id held; leaves are laid out by the judge (kg_twire_place). */
enum kg_code kg_dj_case_begin(struct kg_dj *j, int id, const struct kg_tleaf *leaf, size_t n,
                              struct kg_err *err) KG_MUST_USE;
/* What cases id..id+n-1 held takes no memory any more; one that was not begun is none either. */
enum kg_code kg_dj_case_forget(struct kg_dj *j, int id, int n, struct kg_err *err) KG_MUST_USE;
/* The same tensors, `by` bytes further into IN than they lay first (a multiple of KG_TWIRE_ALIGN,
 * up to 1 MB). Masters keep their values; answers are forgotten, and what was bound no longer is.
 * What a quiet set-up of this case takes stays known. KG_E_LIMIT: no room for the move, nothing has
 * changed. */
enum kg_code kg_dj_case_move(struct kg_dj *j, int id, uint64_t by, struct kg_err *err) KG_MUST_USE;
/* Fill master `at` of the case by a law ... */
enum kg_code kg_dj_case_fill(struct kg_dj *j, int id, int at, const struct kg_dj_law *law,
                             struct kg_err *err) KG_MUST_USE;
/* ... or from the tensor `from` of the last answer on a port (what a reference drew). */
enum kg_code kg_dj_case_adopt(struct kg_dj *j, int id, int at, int port, int from,
                              struct kg_err *err) KG_MUST_USE;
/* Begin case id with the tensors and the masters of another. */
enum kg_code kg_dj_case_copy(struct kg_dj *j, int id, int from, struct kg_err *err) KG_MUST_USE;
/* Change one element of one floating master, chosen by key (single edit). */
enum kg_code kg_dj_case_edit(struct kg_dj *j, int id, struct kg_key key,
                             struct kg_err *err) KG_MUST_USE;

enum kg_dj_side { KG_DJ_NONE, KG_DJ_FLOAT, KG_DJ_ORACLE, KG_DJ_CANDIDATE, KG_DJ_SIDES };

enum kg_dj_status {
    KG_DJ_ANSWERED,
    KG_DJ_DIED,
    KG_DJ_LATE,     /* deadline */
    KG_DJ_PROTOCOL, /* wrong nonce, claims out of bounds, answered twice or before it was asked */
};

struct kg_dj_call {
    int port, id;     /* case; -1: none */
    uint32_t command; /* STATE, BIND, CALL, DRAW, SNAPSHOT, NULL, TIMED */
    uint32_t flags;   /* enum kg_tflag */
    uint64_t seed;
    enum kg_dj_side keep; /* CALL, SNAPSHOT, TIMED: where the answer goes */
    bool timed;           /* flush before, quiet check: GPU */
    int64_t deadline_ns;  /* monotonic */
    _Atomic uint32_t
        *building; /* its runner's word about compiling (tensor/tensor_wire.h); NULL: nobody asks */
};

struct kg_dj_report {
    enum kg_dj_status status;
    enum kg_tstatus said;
    int64_t window_ns; /* t0 to t1 of the judge's clock; cpu: informs only */
    int64_t setup_ns;  /* the judge's own copies and flush before the release: quiet check */
    int64_t close_ns;  /* its digest of the answer, at the window's end: the same */
    uint64_t call_ns, peak_bytes; /* claims */
    bool bound;                   /* the runner took where its inputs lie, before the window */
    bool late_write;     /* the digest in the window is unlike that of the copy taken after it */
    bool input_modified; /* IN is not what was written */
    int input_at;        /* which leaf */
    bool guard_hit;      /* bytes around an answer in OUT changed */
    bool unwritten;      /* poison left in an answer */
    bool loud;           /* quiet check failed: somebody else's work was on the device */
    bool stale; /* the answer equals one that was right for earlier inputs on this port, to which
                   something else was expected */
    uint32_t nleaves;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES]; /* checked */
    char structure[1024];
};

/* One command with data. BIND writes nothing but the leaves' places, and is part of a CALL or NULL
 * with KG_TF_BIND where they have moved; CALL copies the case's masters
 * into IN (fresh poison in OUT, guards round everything), releases, waits, digests, takes the
 * answer. So inputs do not exist for the runner before t0. */
enum kg_code kg_dj_run(struct kg_dj *j, const struct kg_dj_call *c, struct kg_dj_report *out,
                       struct kg_err *err) KG_MUST_USE;

/* Bounds of a case from its sides FLOAT and ORACLE; *applies: the reference itself is within its
 * own bound (the law may be asked). k: reduction length, 0 unknown. learns: its errors here are
 * those of later values of this case, for which there will be no oracle; only where these are of
 * the same law, and FLOAT is the reference's answer to the inputs as they are. */
enum kg_code kg_dj_self(struct kg_dj *j, int id, int64_t k, bool learns, bool *applies,
                        struct kg_err *err) KG_MUST_USE;
struct kg_dj_judgement {
    int leaf; /* the worst */
    struct kg_tcompare compare;
    bool shape, dtype, arity; /* these differ from the reference's answer: nothing was compared */
    bool replay;              /* wrong here, and right for inputs asked earlier */
    bool structure;           /* nesting or keys differ: nothing was compared */
    bool device;              /* a tensor lay on another device: a claim; compared all the same */
    bool alias;               /* it shares storage with an input, and the reference's with none or
                                 another: a claim; compared all the same */
    bool repeats_twin; /* wrong here, and the answer to the same inputs before the edit: a replay,
                          or a kernel that overlooks the edited element */
};
/* The candidate's side against FLOAT and ORACLE; without ORACLE (timed calls, whose inputs are new)
 * against FLOAT, with the largest errors that kg_dj_self has learnt of this case. There
 * is one candidate's side: that of the last call kept so; it must be of this case. bit_equal says
 * whether copies and gathers are exact. */
enum kg_code kg_dj_compare(struct kg_dj *j, int id, bool probe, struct kg_dj_judgement *out,
                           struct kg_err *err) KG_MUST_USE;
/* Sets the candidate's side aside, and a copy of FLOAT, in a slot of KG_DJ_ASIDE: what was there is
 * forgotten. *kept false: no memory for that; it is still the candidate's side. */
enum kg_code kg_dj_kept(struct kg_dj *j, int id, int slot, bool *kept,
                        struct kg_err *err) KG_MUST_USE;
/* Makes them the candidate's side and FLOAT again, once the case has the very inputs that they
 * answer, at the place where they lay; *same false: they are others, and nothing has changed.
 * Nothing is remembered of the comparison, and nothing looked up. */
enum kg_code kg_dj_recall(struct kg_dj *j, int id, int slot, bool *same,
                          struct kg_err *err) KG_MUST_USE;
/* The candidate's side against FLOAT alone, by closeness (device/allclose.h) instead of the bound;
 * 0 < tolerance <= 1. Nothing is remembered of it, and nothing looked up. */
enum kg_code kg_dj_close(struct kg_dj *j, int id, double tolerance, struct kg_dj_judgement *out,
                         struct kg_err *err) KG_MUST_USE;

#endif
