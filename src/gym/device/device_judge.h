/* The judge of tensors: one trusted process per device. It holds the masters of the inputs, the
 * expected answers and the comparison; on a GPU it also holds the clock. It never loads code of a
 * problem or a candidate.
 *
 * The broker drives it by messages of fixed size over a socket pair; each call here is one round
 * trip. If the judge dies, calls return KG_E_GYM, and the broker starts another one. A struct kg_dj
 * is for one thread.
 *
 * Port: what one runner shares with the judge: control block, IN, OUT. Two runners never share a
 * port. Otherwise a runner that is not stopped could read the other's inputs before its own call,
 * or read the other's answer. Case: one set of input tensors (masters) and the reference's answers
 * to them: side FLOAT, and side ORACLE in double precision, once they were taken. */
#ifndef KG_GYM_DEVICE_DEVICE_JUDGE_H
#define KG_GYM_DEVICE_DEVICE_JUDGE_H

#include <sys/types.h>

#include "base/rng.h"
#include "gym/device/tensor_compare.h"
#include "gym/tensor/tensor_wire.h"

/* How to start a judge. */
struct kg_dj_spec {
    const char *device; /* "cpu", "cuda:N" */
    int cpu;            /* core to pin it to; -1: do not pin */
    int64_t memory_cap; /* most bytes for masters and answers; 0: a quarter of the device */
    const volatile int *cancelled; /* may be NULL; 1: a call under way ends with KG_E_CANCELLED, and
                                      the judge ends too */
};

/* Facts about the device, from the judge. */
struct kg_dj_facts {
    char name[128], driver[64];
    char bus[32]; /* a GPU's PCI address: "0000:19:00.0" */
    int64_t memory_bytes, l2_bytes;
    int64_t free_bytes; /* of it, when the judge had started */
    double bandwidth;   /* bytes/s of the device's own copy; the largest value seen, see
                           kg_dj_bandwidth */
    char exchange[32];  /* "memfd", "cumem" */
    bool clock;         /* windows are times that count (a GPU) */
    bool confined;      /* its seccomp filter is on */
    bool sealed;        /* runners cannot write to IN, so it is not checked after a call */
};

/* Most bytes that the judge moves, or widens, at once. A GPU needs more of them for each start of a
 * kernel to count for nothing. */
static inline uint64_t kg_dj_part(const struct kg_dj_facts *f)
{
    return (uint64_t)(f->clock ? 128 : 16) << 20;
}

/* How long the request under way has waited for the device. Shared by broker and judge only. The
 * judge adds this time to a call's deadline, because the runner did not use it. */
struct kg_dj_pause {
    _Atomic int64_t since_ns; /* it waits since then; 0: it does not wait */
    _Atomic int64_t total_ns;
};

/* A judge, as the broker sees it. */
struct kg_dj {
    pid_t pid;
    int sock;
    uint64_t seq;
    struct kg_dj_facts facts;
    struct kg_dj_spec spec;
    struct kg_dj_pause *pause; /* NULL: the judge was not started */
    int64_t waited_ns;         /* total wait for users that have the device alone */
    double e_ref;  /* the largest e_ref of the tensors that the last kg_dj_self compared */
    int64_t bytes; /* of masters and answers that it holds, after the last request */
    bool held;     /* the caller holds the device itself (timing/lease.h). Otherwise every request
                      shares the device, so that no other process times anything beside its work. */
};

/* Forks the judge; the program is not executed anew. Call it before any candidate exists. Call it
 * from a thread that outlives the judge, because the judge dies with that thread. KG_E_USAGE: no
 * such kind of device; KG_E_HOST: the device is not there. */
enum kg_code kg_dj_start(const struct kg_dj_spec *spec, struct kg_dj *out,
                         struct kg_err *err) KG_MUST_USE;
void kg_dj_stop(struct kg_dj *j); /* may be called twice */

#define KG_DJ_PORTS      16
#define KG_DJ_CASES      (192 * 32) /* ids; 192 cases, and 31 further parts of each */
#define KG_DJ_KEPT_SLOTS 4          /* slots for kept answers of candidates */

/* Opens a port. in_bytes, out_bytes: sizes of the regions. fds: control block, IN and OUT for the
 * runner; the caller closes them. port: 0..KG_DJ_PORTS-1. KG_E_LIMIT: all ports are in use. */
enum kg_code kg_dj_port_open(struct kg_dj *j, uint64_t in_bytes, uint64_t out_bytes, int *port,
                             int fds[3], struct kg_err *err) KG_MUST_USE;
/* Names the runner behind a port by its pidfd, so that a wait ends when the runner ends. The pidfd
 * stays the caller's. */
enum kg_code kg_dj_port_attach(struct kg_dj *j, int port, int pidfd,
                               struct kg_err *err) KG_MUST_USE;
/* Closes a port. Its regions are freed, because the runner may still map them. */
enum kg_code kg_dj_port_close(struct kg_dj *j, int port, struct kg_err *err) KG_MUST_USE;
/* Closes a port whose runner has ended, with all its children. No other process has the regions
 * then, so the next port may get them, wiped. This saves 20 ms: the driver's time to make and free
 * such memory. */
enum kg_code kg_dj_port_end(struct kg_dj *j, int port, struct kg_err *err) KG_MUST_USE;
/* Limits OUT to out_bytes for the next calls. Where PyTorch's pool lies in OUT, the rest is then
 * neither poisoned nor accepted as an answer. Call it before the runner builds a module, because
 * the runner reads the limit then (tensor/tensor_wire.h). KG_E_LIMIT: OUT is smaller. */
enum kg_code kg_dj_port_use(struct kg_dj *j, int port, uint64_t out_bytes,
                            struct kg_err *err) KG_MUST_USE;

/* The rule by which the judge draws a tensor's values. */
struct kg_dj_law {
    uint32_t kind; /* enum kg_dj_kind */
    struct kg_key key;
    uint64_t stream; /* must differ for each tensor of a case */
    double a, b;     /* uniform: [a, b); normal: mean, sd; integers: [a, b); constant: a */
    uint32_t uneven; /* enum kg_dj_uneven */
};
/* How parts of a tensor differ in scale, so that a sum of some of them is not like a sum of all.
 * From 1,024 elements on, of a floating dtype. */
enum kg_dj_uneven {
    KG_DJ_EVEN,
    KG_DJ_EIGHTHS, /* each one times a factor of its own, of 1/2 to 2 */
    KG_DJ_TILES,   /* the last 64 to 127 of n elements have values of [a, b) times sqrt(n / 64), as
                      much as the others in a sum of squares; from 65,536 elements on 15 tiles of 64
                      at random places have half of that */
    KG_DJ_UNEVENS
};
#define KG_DJ_UNEVEN_LEAST 1024
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
    KG_DJ_SMALLINT, /* -8..8, so that sums are exact */
    KG_DJ_WIDEINT,  /* +-2048..4095: needs 12 bits of significand */
    KG_DJ_EQUAL,    /* all equal: +-(0.5 + |normal|) */
    KG_DJ_SPIKE,    /* uniform [a, b) with one huge value, often near the end */
    KG_DJ_BF16,     /* normal rounded to bfloat16 */
    KG_DJ_FULL, /* +-[1, 2) with the last bit of the significand set; no narrower type holds it */
    KG_DJ_KINDS
};

/* How the large tensors of an oracle's answers are kept: as doubles; as float differences from the
 * reference's (difference.h), which are compared piece by piece; or as these in the host's memory,
 * which no cap counts. Kept as differences, memory is short: an OUT that runners allocate in then
 * has room for one answer instead of two. */
enum kg_dj_keeps { KG_DJ_DOUBLES, KG_DJ_APART, KG_DJ_APART_ON_HOST, KG_DJ_KEEPS };
/* Sets the most bytes that masters and answers may take from now on (kg_dj_spec.memory_cap), and
 * how answers are kept. What is held stays. runners: bytes of the device that each runner's
 * allocator may keep between its calls, so that they need not be taken from the device again; 0:
 * little. */
enum kg_code kg_dj_cap(struct kg_dj *j, uint64_t bytes, enum kg_dj_keeps keeps, uint64_t runners,
                       struct kg_err *err) KG_MUST_USE;
/* Frees the regions of ended runners that the judge keeps for the next ones (kg_dj_port_end):
 * before somebody else is told that there is memory. */
enum kg_code kg_dj_trim(struct kg_dj *j, struct kg_err *err) KG_MUST_USE;
/* Measures facts.bandwidth again. Others may have used the device when the judge started. */
enum kg_code kg_dj_bandwidth(struct kg_dj *j, struct kg_err *err) KG_MUST_USE;

/* Begins case id with n tensors; what case id held before is forgotten. The judge computes the
 * places of the tensors (kg_twire_place). KG_E_LIMIT: too many tensors, or no room under the
 * cap. */
enum kg_code kg_dj_case_begin(struct kg_dj *j, int id, const struct kg_tleaf *leaf, size_t n,
                              struct kg_err *err) KG_MUST_USE;
/* Frees the memory of cases id..id+n-1. Cases that were not begun are skipped. */
enum kg_code kg_dj_case_forget(struct kg_dj *j, int id, int n, struct kg_err *err) KG_MUST_USE;
/* Moves the case's tensors `by` bytes further into IN than their first place; `by` is a multiple of
 * KG_TWIRE_ALIGN, at most 1 MB. Masters keep their values. Answers are forgotten, and the runner
 * must bind the inputs again. The fastest set-up time of the case stays known. KG_E_LIMIT: no room;
 * nothing has changed. */
enum kg_code kg_dj_case_move(struct kg_dj *j, int id, uint64_t by, struct kg_err *err) KG_MUST_USE;
/* Fills master `at` of the case by a law. */
enum kg_code kg_dj_case_fill(struct kg_dj *j, int id, int at, const struct kg_dj_law *law,
                             struct kg_err *err) KG_MUST_USE;
/* Fills master `at` from tensor `from` of the last answer on a port, which is what a reference
 * drew. */
enum kg_code kg_dj_case_adopt(struct kg_dj *j, int id, int at, int port, int from,
                              struct kg_err *err) KG_MUST_USE;
/* The same into a case that is complete: the tensor is that of the case with an edit. */
enum kg_code kg_dj_case_adopt_edit(struct kg_dj *j, int id, int at, int port, int from,
                                   struct kg_err *err) KG_MUST_USE;
/* Begins case id with the tensors and the values of case `from`. */
enum kg_code kg_dj_case_copy(struct kg_dj *j, int id, int from, struct kg_err *err) KG_MUST_USE;
/* Changes one element of the floating master `at`; the key chooses it (single edit). */
enum kg_code kg_dj_case_edit(struct kg_dj *j, int id, int at, struct kg_key key,
                             struct kg_err *err) KG_MUST_USE;
/* Changes one element of the integer master `at` to its value in tensor `at` of the last answer on
 * a port, which is what a reference drew under another seed. So it stays in the range of its place.
 * Where the two draws agree at all places that the key chooses, nothing changes. */
enum kg_code kg_dj_case_edit_drawn(struct kg_dj *j, int id, int at, int port, struct kg_key key,
                                   struct kg_err *err) KG_MUST_USE;

/* Changes a few elements of the floating master `at`, which has values: 3 or 4, but at most one in
 * eight, at places that the key chooses, all odd or all even as its last bit says. Their magnitudes
 * are 2 to 64 units, of both signs; large: the first is 128 to 1024 units, or of 1 where the unit
 * is less. Half types hold at most 3e4. unit is above 0: the largest magnitude of the tensor's
 * usual values. */
enum kg_code kg_dj_case_touch(struct kg_dj *j, int id, int at, struct kg_key key, double unit,
                              bool large, struct kg_err *err) KG_MUST_USE;

/* Whose answer is kept. */
enum kg_dj_side {
    KG_DJ_NONE,
    KG_DJ_FLOAT,
    KG_DJ_ORACLE,
    KG_DJ_CANDIDATE,
    KG_DJ_OTHER, /* the reference's under another rounding: until kg_dj_choice has used it */
    KG_DJ_SIDES
};

enum kg_dj_status {
    KG_DJ_ANSWERED,
    KG_DJ_DIED,
    KG_DJ_LATE,     /* the deadline has passed */
    KG_DJ_PROTOCOL, /* wrong nonce, claims out of bounds, or answered twice or too early */
};

/* One command for a runner. */
struct kg_dj_call {
    int port, id; /* id: the case, -1: none */
    int lent;     /* NULL: 1 + the port whose regions stand for its own, which are small; 0: none */
    uint32_t command; /* STATE, BIND, CALL, DRAW, SNAPSHOT, NULL, TIMED */
    uint32_t flags;   /* enum kg_tflag */
    uint64_t seed;
    enum kg_dj_side keep;       /* CALL, SNAPSHOT, TIMED: side that the answer is kept as */
    bool timed;                 /* flush before the call and watch for other work (GPU) */
    int64_t deadline_ns;        /* monotonic */
    _Atomic uint32_t *building; /* the runner's word about compiling (tensor/tensor_wire.h); NULL:
                                   it is not asked */
};

/* Observations of the judge, and claims of the runner, about one command. */
struct kg_dj_report {
    enum kg_dj_status status;
    enum kg_tstatus said;
    int64_t window_ns; /* t0 to t1 of the judge's clock; on the cpu, and where the call was not
                          timed, for information only: the judge does other things in it */
    int64_t setup_ns;  /* the judge's own copies and flush before the release; see `loud` */
    int64_t close_ns;  /* the judge's digest of the answer at the window's end; see `loud` */
    int64_t answer_ns; /* from the release until the judge sees that the answer was posted */
    int64_t released_ns, answered_ns; /* these two moments, as kg_clock_ns() tells; 0: never */
    uint64_t call_ns, peak_bytes;     /* claims */
    bool bound;                       /* the runner was told where its inputs lie */
    bool late_write; /* the digest within the window differs from that of the copy taken after it */
    bool input_modified; /* IN is not what was written */
    int input_at;        /* index of the first such leaf */
    bool guard_hit;      /* bytes around an answer in OUT changed */
    bool unwritten;      /* poison left in an answer */
    bool loud;           /* the judge's own steps were slow: other work was on the device */
    bool stale; /* the answer equals one that was right for earlier inputs on this port, although
                   another answer was expected now */
    uint32_t nleaves;
    struct kg_tleaf leaf[KG_TWIRE_LEAVES]; /* sizes and places were checked */
    char structure[1024];
};

/* Runs one command that moves data.
 *
 * BIND only tells the runner where the leaves lie; it is part of a CALL or NULL with KG_TF_BIND
 * where they have moved, and of a CALL with KG_TF_ANEW. CALL writes fresh poison to OUT, copies the
 * case's masters with their guards into IN, releases the runner, waits, digests, and takes the
 * answer. So the inputs do not exist for the runner before t0. Errors: KG_E_GYM a command that does
 * not fit the state, KG_E_LIMIT regions too small, KG_E_HOST. Faults of the runner are in the
 * report; they are no errors. */
enum kg_code kg_dj_run(struct kg_dj *j, const struct kg_dj_call *c, struct kg_dj_report *out,
                       struct kg_err *err) KG_MUST_USE;

/* How bounds are computed. k: length of the longest sum; 0: unknown. how: KG_DJ_LEARNS: the errors
 * found here also hold for later values of this case that have no oracle. This is right only if
 * those values follow the same law, and FLOAT answers the inputs as they are. KG_DJ_RARE: a few
 * elements of the reference's answer may be further off, and then of others'. KG_DJ_NARROW: the
 * reference rounds to narrow types inside, ORACLE does not; so it may be as far off as such an
 * answer. KG_DJ_OVERFLOWS: where neither FLOAT nor ORACLE is finite, any answer is right: they have
 * left the range of their types on the way, and another order of operations may not. fill: of the
 * first outputs, see kg_filled; 0: none. */
#define KG_DJ_LEARNS    1U
#define KG_DJ_RARE      2U
#define KG_DJ_NARROW    4U
#define KG_DJ_OVERFLOWS 8U
#define KG_DJ_FILLS     16
struct kg_dj_ask {
    int64_t k;
    uint32_t how, unused;
    double fill[KG_DJ_FILLS];
};
/* Computes the bounds of a case from its sides FLOAT and ORACLE. *applies: the reference itself
 * stays within the bound, so candidates may be asked for this law. */
enum kg_code kg_dj_self(struct kg_dj *j, int id, const struct kg_dj_ask *how, bool *applies,
                        struct kg_err *err) KG_MUST_USE;
/* The result of a comparison. */
struct kg_dj_judgement {
    int leaf; /* the worst one; -1: none */
    struct kg_tcompare compare;
    bool shape, dtype,
        arity;      /* these differ from the reference's answer, so nothing was compared */
    bool replay;    /* wrong here, but right for inputs of an earlier call */
    bool structure; /* nesting or keys differ, so nothing was compared */
    bool device;    /* a tensor lay on another device; a claim, values were compared */
    bool alias;     /* it shares memory with an input, unlike the reference's; a claim, values were
                       compared */
    bool repeats_twin; /* wrong here, and equal to the answer before the edit: a replay, or a kernel
                          that ignores the edited element */
    double moved;      /* kg_dj_compare_left only */
};
/* Compares the candidate's side with FLOAT and ORACLE. Timed calls have new inputs and no ORACLE;
 * they are compared with FLOAT, within the largest errors that kg_dj_self has learnt for this case.
 * There is one candidate's side: that of the last call that was kept so, and it must be of this
 * case. compare.bit_equal tells whether copies and gathers are exact. */
enum kg_code kg_dj_compare(struct kg_dj *j, int id, bool probe, struct kg_dj_judgement *out,
                           struct kg_err *err) KG_MUST_USE;
/* The same of tensor `at` alone, which is state that a call has left. Before the call it was master
 * `was` of case `before`. moved: how far it is from that, on average. Of floats the mean distance
 * counts, where it is finite; of integers the share that changed. -1: not known, it is too large.
 */
enum kg_code kg_dj_compare_left(struct kg_dj *j, int id, int at, int before, int was,
                                struct kg_dj_judgement *out, struct kg_err *err) KG_MUST_USE;
/* Moves the candidate's side, and a copy of FLOAT, into a slot below KG_DJ_KEPT_SLOTS; what the
 * slot held is forgotten. *kept false: there is no memory for it, and the candidate's side stays
 * where it is. */
enum kg_code kg_dj_kept(struct kg_dj *j, int id, int slot, bool *kept,
                        struct kg_err *err) KG_MUST_USE;
/* Makes the contents of a slot the candidate's side and FLOAT again. The case must hold the same
 * inputs at the same place as then. *same false: it does not, and nothing has changed. The
 * comparison that follows neither remembers the answer nor searches for replays. */
enum kg_code kg_dj_recall(struct kg_dj *j, int id, int slot, bool *same,
                          struct kg_err *err) KG_MUST_USE;
/* Questions about discrete choices (docs/verification.md, "Choices among equals").
 * POINTS: shows which outputs of the case are indices into its inputs, by its FLOAT; or, where from
 *   is another case, takes what that one has shown. *flag: some are.
 * JUMPS: compares OTHER with FLOAT. *flag: more than 0.1 % of an output's integers jump, or
 *   of its rows of floats.
 * ONCE: *flag: the candidate's lines of indices have none twice where no line of FLOAT has.
 * SEEN: in the candidate's side, elements that are not FLOAT's but OTHER's are made the expected
 *   ones, if OTHER's jump. *flag: some were. The next kg_dj_compare looks at the others.
 * SETTLE: in ORACLE, rows that FLOAT chose otherwise are made FLOAT's, where OTHER's are ORACLE's.
 *   *flag: some were. kg_dj_self is due then.
 * JUMPS, SEEN and SETTLE forget OTHER. Indices that were shown to point jump where they point at
 * another value. */
enum kg_dj_choice {
    KG_DJ_POINTS,
    KG_DJ_JUMPS,
    KG_DJ_ONCE,
    KG_DJ_SEEN,
    KG_DJ_SETTLE,
    KG_DJ_CHOICES
};
enum kg_code kg_dj_choice(struct kg_dj *j, int id, int from, enum kg_dj_choice what, bool *flag,
                          struct kg_err *err) KG_MUST_USE;
/* Compares the candidate's side with FLOAT by closeness (device/allclose.h) instead of the bound. 0
 * < tolerance <= 1. The answer is not remembered, and replays are not searched. */
enum kg_code kg_dj_compare_close(struct kg_dj *j, int id, double tolerance,
                                 struct kg_dj_judgement *out, struct kg_err *err) KG_MUST_USE;

#endif
