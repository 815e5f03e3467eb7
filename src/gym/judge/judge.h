/* The judge: a process of its own that writes inputs, holds the expected answers and compares. It
 * never loads problem code and never sees a candidate's source; the broker never sees the expected
 * values. The broker drives it by fixed-size messages over a socket pair; every call here is one
 * round trip. If the judge dies, calls return KG_E_GYM and the broker starts another. Start it
 * before any candidate exists, from a thread that outlives it: it is forked, not executed, and dies
 * with that thread.
 *
 * Sides: outputs are taken from the shared OUT region into private copies, after which the runner
 * may do what it likes. One owner, one thread. docs/verification.md has poison, guards, replay. */
#ifndef KG_GYM_JUDGE_JUDGE_H
#define KG_GYM_JUDGE_JUDGE_H

#include <sys/types.h>

#include "gym/problem/variant.h"
#include "gym/run/region.h"
#include "gym/values/law.h"
#include "gym/verify/compare.h"

enum kg_side { KG_SIDE_FLOAT, KG_SIDE_ORACLE, KG_SIDE_CANDIDATE, KG_SIDE_COUNT };

/* One set of inputs: everything needed to make it again. */
struct kg_case {
    struct kg_shape shape;
    enum kg_law law;
    struct kg_key key;
    uint64_t jitter;            /* of the layout; 0 = aligned to 64 bytes */
    uint64_t in_base, out_base; /* where in the regions: the buffer set */
    bool edited;                /* kg_law_edit applied after the fill */
};

struct kg_judge {
    pid_t pid;
    int sock;
    uint64_t seq;                       /* of the last request */
    bool confined;                      /* its seccomp filter is on */
    bool opened;                        /* the regions below exist */
    struct kg_region in, out;           /* narrow: float reference and candidate */
    struct kg_region wide_in, wide_out; /* the oracle's */
    size_t in_bytes, out_bytes;
};

enum kg_take { /* what taking an output saw besides the values */
               KG_TAKE_OK,
               KG_TAKE_OUT_OF_BOUNDS /* a guard byte changed */,
               KG_TAKE_UNWRITTEN /* poison left */
};

struct kg_take_report {
    enum kg_take what;
    int arg;     /* which output */
    uint64_t at; /* byte offset from the array's start (negative as two's complement) or element */
    uint64_t unwritten; /* elements of all outputs that still hold poison; an integer counts only in
                           a run of at least 4, or of the whole array: one may match by chance */
};

struct kg_judgement {
    struct kg_compare compare; /* of the worst output */
    int arg;                   /* which output that is */
    bool replay;               /* fails, and equals an answer that was right for earlier inputs */
    bool earlier_expected;     /* fails, and equals what was expected for earlier inputs */
    bool repeats_twin; /* fails, and equals the answer to the same inputs without the edit: a
                          replay, or a kernel that does not look at the edited element */
};

/* cpu: pin; -1: do not. */
enum kg_code kg_judge_start(int cpu, struct kg_judge *out, struct kg_err *err) KG_MUST_USE;
void kg_judge_stop(struct kg_judge *j); /* idempotent; regions too */
/* Serve this problem; forgets everything of the last one but its saved answers, and wipes what the
 * regions held. bytes: narrow region sizes, the wide ones are twice as large; 0: as before, or what
 * the default shape needs. Regions that are too small are replaced: runners must map them anew. */
enum kg_code kg_judge_open(struct kg_judge *j, const struct kg_problem *p, size_t in_bytes,
                           size_t out_bytes, struct kg_err *err) KG_MUST_USE;
/* Write the inputs of c, poison its outputs, set all guards. wide: into the oracle's regions, same
 * values widened. */
enum kg_code kg_judge_fill(struct kg_judge *j, const struct kg_case *c, bool wide,
                           struct kg_err *err) KG_MUST_USE;
/* Poison outputs and guards again, inputs untouched. */
enum kg_code kg_judge_poison(struct kg_judge *j, const struct kg_case *c,
                             struct kg_err *err) KG_MUST_USE;
/* Drop the cache lines of the inputs and outputs of c, contents unchanged: the next call finds them
 * in memory. While the runners are frozen. KG_E_HOST where the CPU has no instruction for it. Cost:
 * about 10 us per MB. */
enum kg_code kg_judge_flush(struct kg_judge *j, const struct kg_case *c,
                            struct kg_err *err) KG_MUST_USE;
/* Copy the outputs of c to the private side, checking guards and poison. Oracle: from wide_out. */
enum kg_code kg_judge_take(struct kg_judge *j, const struct kg_case *c, enum kg_side side,
                           struct kg_take_report *out, struct kg_err *err) KG_MUST_USE;
/* Compare the candidate's side with the others (modes ORACLE, PRECISION need FLOAT and ORACLE;
 * FLOAT and EXACT need FLOAT). */
enum kg_code kg_judge_compare(struct kg_judge *j, const struct kg_case *c,
                              enum kg_compare_mode mode, struct kg_judgement *out,
                              struct kg_err *err) KG_MUST_USE;
/* Is the float reference itself within the bound here, without the allowance for its own worst
 * error, and do the references agree on the classes of 99 % (does the law apply)? */
enum kg_code kg_judge_self(struct kg_judge *j, const struct kg_case *c, struct kg_judgement *out,
                           struct kg_err *err) KG_MUST_USE;
/* Expected answers under a number, so that candidates of one problem share them; the judge evicts
 * by its memory cap. load: *hit says whether it was there. */
enum kg_code kg_judge_save(struct kg_judge *j, const struct kg_case *c, uint64_t number,
                           struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_load(struct kg_judge *j, const struct kg_case *c, uint64_t number, bool *hit,
                           struct kg_err *err) KG_MUST_USE;
/* Zero the whole region of outputs, before a candidate's process starts: what an earlier one, or
 * another candidate, has left beside the arrays is no message to it. Fill before the next take. */
enum kg_code kg_judge_clear(struct kg_judge *j, struct kg_err *err) KG_MUST_USE;
/* Fastest of 3 passes over the inputs (read) and outputs (written) of c by the judge's own loop, in
 * ns: the bandwidth floor. Leaves the outputs unpoisoned: fill or poison before the next call. */
enum kg_code kg_judge_floor(struct kg_judge *j, const struct kg_case *c, int64_t *ns,
                            struct kg_err *err) KG_MUST_USE;

#endif
