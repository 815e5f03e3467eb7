/* The judge of C problems: a trusted process that writes inputs, holds the expected answers and
 * compares. It never loads code of a problem and never sees a candidate's source. The broker never
 * sees the expected values.
 *
 * The broker drives it by messages of fixed size over a socket pair; each call here is one round
 * trip. If the judge dies, calls return KG_E_GYM, and the broker starts another one. Start it
 * before any candidate exists, because it is forked and not executed. Start it from a thread that
 * outlives it, because it dies with that thread.
 *
 * Sides: outputs are copied from the shared OUT region into private memory; afterwards the runner
 * may write there without effect. One owner, one thread. docs/verification.md explains poison,
 * guards and replay. */
#ifndef KG_GYM_JUDGE_JUDGE_H
#define KG_GYM_JUDGE_JUDGE_H

#include <sys/types.h>

#include "gym/problem/variant.h"
#include "gym/run/region.h"
#include "gym/values/law.h"
#include "gym/verify/compare.h"

/* Whose outputs: of the reference in float, of the oracle (double), of the candidate. */
enum kg_side { KG_SIDE_FLOAT, KG_SIDE_ORACLE, KG_SIDE_CANDIDATE, KG_SIDE_COUNT };

/* One set of inputs. It holds everything that is needed to write the same inputs again. */
struct kg_case {
    struct kg_shape shape;
    enum kg_law law;
    struct kg_key key;
    uint64_t jitter; /* shifts the arrays in the regions; 0: every array is aligned to 64 bytes */
    uint64_t in_base, out_base; /* offsets in the regions: the buffer set */
    bool edited;                /* kg_law_edit was applied after the fill */
};

/* A judge, as the broker sees it. */
struct kg_judge {
    pid_t pid;
    int sock;
    uint64_t seq;                       /* number of the last request */
    int64_t answer_ns;                  /* a judge that is silent for so long is stuck, and ended */
    bool confined;                      /* its seccomp filter is on */
    bool opened;                        /* the regions below exist */
    struct kg_region in, out;           /* float reference and candidate */
    struct kg_region wide_in, wide_out; /* the oracle: twice as large */
    size_t in_bytes, out_bytes;
};

enum kg_take { /* what taking an output found, besides its values */
               KG_TAKE_OK,
               KG_TAKE_OUT_OF_BOUNDS /* a guard byte changed */,
               KG_TAKE_UNWRITTEN /* an element still holds poison */
};

struct kg_take_report {
    enum kg_take what;
    int arg;     /* index of the output */
    uint64_t at; /* guard: byte offset from the array's start, negative as two's complement; poison:
                    first element */
    uint64_t unwritten; /* elements of this output that still hold poison. An integer counts only in
                           a run of at least 4, or of the whole array, because a single one may
                           match by chance */
    bool certain; /* the output is of floats: no arithmetic makes the pattern, so the answer is
                     wrong even where NaN is expected and the values compare as equal */
};

/* The result of a comparison. */
struct kg_judgement {
    struct kg_compare compare; /* of the worst output */
    int arg;                   /* index of that output */
    bool replay;               /* wrong, and equal to an answer that was right for earlier inputs */
    bool earlier_expected; /* wrong, and equal to the answer that was expected for earlier inputs */
    bool repeats_twin; /* wrong, and equal to the answer before the edit: a replay, or a kernel that
                          ignores the edited element */
};

/* Forks the judge. cpu: core to pin it to; -1: do not pin. answer_ns is 120 s at first. KG_E_HOST:
 * no process or socket. */
enum kg_code kg_judge_start(int cpu, struct kg_judge *out, struct kg_err *err) KG_MUST_USE;
void kg_judge_stop(struct kg_judge *j); /* may be called twice; frees the regions too */
/* Makes the judge serve problem p. Everything of the last problem is forgotten but its saved
 * answers, and the regions are wiped. in_bytes, out_bytes: sizes of the narrow regions; the wide
 * ones are twice as large. 0: as before, or as the default shape needs. Regions that are too small
 * are replaced, and runners must then map them anew. */
enum kg_code kg_judge_open(struct kg_judge *j, const struct kg_problem *p, size_t in_bytes,
                           size_t out_bytes, struct kg_err *err) KG_MUST_USE;
/* Writes the inputs of c, poisons its outputs and sets all guards. wide: the same values, as
 * doubles, in the oracle's regions. KG_E_LIMIT: the case does not fit the regions. */
enum kg_code kg_judge_fill(struct kg_judge *j, const struct kg_case *c, bool wide,
                           struct kg_err *err) KG_MUST_USE;
/* Drops the cache lines of the inputs and outputs of c, so that the next call reads them from
 * memory. Contents stay. Runners must be frozen meanwhile. KG_E_HOST: the CPU has no instruction
 * for it. Cost: about 10 us per MB. */
enum kg_code kg_judge_flush(struct kg_judge *j, const struct kg_case *c,
                            struct kg_err *err) KG_MUST_USE;
/* Copies the outputs of c to a side, and checks guards and poison. The oracle's come from
 * wide_out. */
enum kg_code kg_judge_take(struct kg_judge *j, const struct kg_case *c, enum kg_side side,
                           struct kg_take_report *out, struct kg_err *err) KG_MUST_USE;
/* Compares the candidate's side with the others. The modes ORACLE and PRECISION need FLOAT and
 * ORACLE; the modes FLOAT and EXACT need FLOAT. KG_E_GYM: a side that is needed was not taken. */
enum kg_code kg_judge_compare(struct kg_judge *j, const struct kg_case *c,
                              enum kg_compare_mode mode, struct kg_judgement *out,
                              struct kg_err *err) KG_MUST_USE;
/* Tests whether the law applies to this case. The float reference must stay within the bound,
 * without the allowance for its own largest error. The classes (finite, infinite, NaN) of both
 * references must agree for 99 % of the elements. */
enum kg_code kg_judge_self(struct kg_judge *j, const struct kg_case *c, struct kg_judgement *out,
                           struct kg_err *err) KG_MUST_USE;
/* Keep expected answers under a number, so that all candidates of one problem share them. The judge
 * drops the least recently used ones beyond its cap. load: *hit tells whether the number was there,
 * for the same inputs. */
enum kg_code kg_judge_save(struct kg_judge *j, const struct kg_case *c, uint64_t number,
                           struct kg_err *err) KG_MUST_USE;
enum kg_code kg_judge_load(struct kg_judge *j, const struct kg_case *c, uint64_t number, bool *hit,
                           struct kg_err *err) KG_MUST_USE;
/* Zeroes the region of outputs before a candidate's process starts. Otherwise an earlier process
 * could leave it a message beside the arrays. Fill before the next take. */
enum kg_code kg_judge_clear(struct kg_judge *j, struct kg_err *err) KG_MUST_USE;
/* *ns: the fastest of 3 passes of the judge's own loop over the data of c: inputs are read, outputs
 * written. This is the floor. It destroys the poison, so fill or poison before the next call. */
enum kg_code kg_judge_floor(struct kg_judge *j, const struct kg_case *c, int64_t *ns,
                            struct kg_err *err) KG_MUST_USE;

#endif
