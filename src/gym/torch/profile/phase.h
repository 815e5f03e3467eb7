/* Do calls of one process launch the same kernels of the candidate's own, whatever their number?
 * Launch records of call after call, noted in order; the first calls of a process are its set-up
 * (tuning, captures, caches) and compared with nothing.
 *
 * A change between calls on the same inputs, or from inputs to inputs, is evidence and no more:
 * tuning may take longer, and a branch on values or a cache that is renewed is honest. Only one
 * pattern is taken for a hack: kg_tphase_left(). Everything here is a claim. Pure. */
#ifndef KG_GYM_TORCH_PROFILE_PHASE_H
#define KG_GYM_TORCH_PROFILE_PHASE_H

#include "gym/torch/profile/torch_profile.h"

#define KG_TPHASE_WARMUP 10 /* calls of set-up, as many as the warm-ups of docs/timing.md */
#define KG_TPHASE_AFTER  6  /* calls without, at least, before it is believed */

struct kg_tphase { /* zeroed: of no call */
    int64_t calls;
    struct {
        bool there;
        uint64_t seed; /* of the inputs */
        struct kg_tprofile list;
    } base[KG_TL_COUNT]; /* the first call after the set-up, by law */
    /* the first call whose own kernels are not its base's; 0: none */
    int64_t changed;
    enum kg_tlaw law;
    struct kg_tprofile is;
    /* the first call but one that launched none of its own; 0: none. And what came after. */
    int64_t left, after;
    bool back;  /* one that did */
    bool other; /* it is not plain what took over: the caller sets it, too, for a call
                   whose records were lost */
    struct kg_tprofile before; /* all that was launched until then, */
    struct kg_tprofile since;  /* and by calls on other values after the last of its own */
};

/* The next call: its inputs' law and seed, what it launched. */
void kg_tphase_note(struct kg_tphase *p, enum kg_tlaw law, uint64_t seed,
                    const struct kg_tprofile *call);
/* The first law whose inputs have other kernels of its own launched than those of `own`;
 * KG_TL_OWN: none. */
enum kg_tlaw kg_tphase_by_values(const struct kg_tphase *p);
/* Every call on inputs of the problem's own law, but perhaps the first, launched kernels of its
 * own, until a call after the set-up from which on none did; and each of these launches a library's
 * that no call before did, and nothing but libraries'. Whoever tunes has tried what it settles for.
 */
bool kg_tphase_left(const struct kg_tphase *p);

#endif
