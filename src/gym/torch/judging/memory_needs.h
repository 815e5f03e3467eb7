/* What an evaluation needs of a device's memory on each rung, and which rung that makes.
 *
 * Pure functions of sizes in bytes; no errors, no memory. The judge's part comes first, then the
 * regions of the runners, then what calls allocate. A candidate is owed more than the reference
 * uses: the reference's own calls, and inputs, answers and state once more. Where less is left for
 * it, nobody can say that a want of memory is its own fault. */
#ifndef KG_GYM_TORCH_JUDGING_MEMORY_NEEDS_H
#define KG_GYM_TORCH_JUDGING_MEMORY_NEEDS_H

#include "gym/torch/torch.h"

#define KG_TM_SLICES 32 /* of an oracle that works in slices */

/* Of one instance. */
struct kg_tsizes {
    uint64_t in, answer, wide, state; /* the judge's; wide: an answer in double */
    uint64_t call;                    /* what a call allocates, copies of inputs too */
    uint64_t ports;                   /* regions of reference and candidate */
    uint64_t ports_short;             /* the same, where OUT has room for one answer */
    uint64_t joined;                  /* what it needs besides for slices in double */
    uint64_t contexts;                /* of the driver, for all processes */
    uint64_t part;                    /* what the judge moves or widens at once */
    bool changes;                     /* a call changes the state */
    bool parts;                       /* the state is more than one command carries */
};

struct kg_tneeds {
    uint64_t least[KG_TM_RUNGS]; /* of each rung */
    uint64_t judge[KG_TM_RUNGS]; /* of that: the judge's least */
    uint64_t ports[KG_TM_RUNGS]; /* of that: the runners' regions */
    uint64_t all;                /* every case stays, another candidate's runner is begun ahead */
    uint64_t call, in;           /* of the reference; of the inputs */
    bool in_out;                 /* where OUT has room for one answer, calls allocate in it */
    uint64_t rest;               /* contexts and parameters of the runners */
    uint64_t owed;               /* to a candidate, besides one call like the reference's */
};

/* How the bytes that are held are shared out. */
struct kg_tshares {
    uint64_t judge; /* most that it may hold */
    uint64_t lacks; /* what a candidate is owed and does not get; 0: nothing */
    uint64_t calls; /* what reference and candidate may each keep between calls; 0: little */
};

void kg_tneeds_of(const struct kg_tsizes *z, struct kg_tneeds *out);
/* The highest rung that fits, of those that leave a candidate what it is owed and let both sides be
 * timed; else of those that leave it that; else the one that leaves it most. A rung whose oracle is
 * in double goes before one in float. KG_TM_NONE: not one fits. slices: the oracle may work in
 * slices. */
enum kg_tmemory_rung kg_tneeds_rung(const struct kg_tneeds *n, bool slices, uint64_t capacity);
/* Does the oracle work in slices; are its answers kept as differences; by the host; are there none
 * in double? */
bool kg_trung_slices(enum kg_tmemory_rung rung);
bool kg_trung_apart(enum kg_tmemory_rung rung);
bool kg_trung_hosts(enum kg_tmemory_rung rung);
bool kg_trung_is_single(enum kg_tmemory_rung rung);
/* What timing needs on a rung. */
uint64_t kg_tneeds_timed(const struct kg_tneeds *n, enum kg_tmemory_rung rung);
/* What to reserve on a rung, at most the capacity: with room for more cases, and the least. */
uint64_t kg_tneeds_reservation(const struct kg_tneeds *n, enum kg_tmemory_rung rung,
                               uint64_t capacity);
uint64_t kg_tneeds_bare(const struct kg_tneeds *n, enum kg_tmemory_rung rung, uint64_t capacity);
/* Of so many bytes that are held. */
struct kg_tshares kg_tneeds_shares(const struct kg_tneeds *n, enum kg_tmemory_rung rung,
                                   uint64_t held);

#endif
