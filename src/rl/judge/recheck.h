/* Judges a part of a run's correct evaluations again by another configuration of the gym, `default`
 * as a rule, and counts how many hold: `ok` again, and above 1.2x again if the first record said
 * so. Which ones are chosen is a keyed draw by the row (stream RL_STREAM_RECHECK), so a run that is
 * resumed, or repeated, chooses the same ones.
 *
 * The gym of the second configuration is a pool of its own, which starts when the first task goes
 * there. It shares the cores with the pool of the run. So offers are kept, and judged where the
 * caller says: rl_recheck_poll one at a time while the run goes on, rl_recheck_finish all of them.
 * Neither offer nor poll ever waits.
 *
 * Not thread safe. Memory: a few hundred bytes and the text of each chosen reply. */
#ifndef KG_RL_JUDGE_RECHECK_H
#define KG_RL_JUDGE_RECHECK_H

#include "rl/judge/judge.h"

#define RL_RECHECK_FAST 1.2

struct rl_recheck_options {
    uint64_t seed;
    int one_in;                  /* of so many correct ones, one; 0: none */
    const char *preset;          /* of the gym; NULL: "default" */
    const char *const *settings; /* "key=value" of the gym, after the preset */
    size_t nsettings;
    const char *gym, *token_file; /* a service that judges; NULL: this host does */
    int workers;                  /* of the pool; 0: one for each core */
    volatile int *cancel;         /* not 0: end with KG_E_CANCELLED; NULL: none */
};

enum rl_recheck_state {
    RL_RECHECK_WAITS,  /* not judged yet */
    RL_RECHECK_HELD,   /* ok again, and above 1.2x again if it was */
    RL_RECHECK_WRONG,  /* another verdict than ok */
    RL_RECHECK_SLOWER, /* ok, but no longer above 1.2x */
    /* These two count neither way: */
    RL_RECHECK_UNTIMED,   /* ok, and it was above 1.2x; the gym has no time now that it trusts */
    RL_RECHECK_NO_VERDICT /* the gym had none */
};
/* "held", "wrong", ...; static. */
const char *rl_recheck_state_name(enum rl_recheck_state s);
/* Does it count, as held or as not? */
bool rl_recheck_counts_in(enum rl_recheck_state s);

/* One reply. The caller fills all down to `first_speedup`. */
struct rl_recheck_item {
    uint32_t step, index; /* of its row */
    struct rl_chain chain;
    char *text; /* whole reply */
    size_t len;
    double first_speedup; /* 0: not measured */
    enum rl_recheck_state state;
    char name[24]; /* the second verdict; "": none */
    /* Of the second record; 0: not measured, or not trusted. */
    double speedup, speedup_lo, speedup_hi;
};

struct rl_recheck_counts {
    uint64_t offered; /* correct ones that the draw was made for */
    uint64_t chosen;
    uint64_t checked;   /* of them: judged again */
    uint64_t held;      /* of them */
    uint64_t disagreed; /* of them: checked - held */
    uint64_t failed;    /* no verdict, or no time where one is needed */
    /* Of those that were right and timed both times: sums of ln s. What was chosen because it
     * looked fast is slower the second time, by chance alone. */
    uint64_t timed;
    double first_log, again_log;
};
/* Geometric means of the two speed-ups; NaN: none was timed both times. */
void rl_recheck_speeds(const struct rl_recheck_counts *c, double *first, double *again);

struct rl_recheck;

/* Settings and strings must outlive it. Errors: KG_E_HOST (memory). */
enum kg_code rl_recheck_create(const struct rl_recheck_options *o, struct rl_recheck **out,
                               struct kg_err *err) KG_MUST_USE;
void rl_recheck_destroy(struct rl_recheck *r); /* ends its pool; NULL is nothing */

/* Draws for one evaluated reply; nothing happens unless `first` is correct. The text is copied.
 * Call it once for each distinct evaluation, not for shared records.
 * Errors: KG_E_HOST (memory). */
enum kg_code rl_recheck_offer(struct rl_recheck *r, uint32_t step, uint32_t index,
                              const struct rl_chain *chain, const char *text, size_t len,
                              const struct rl_verdict *first, struct kg_err *err) KG_MUST_USE;

/* Takes what is there, and sends the next one if none is in flight. Does not wait, but for the
 * start of the pool. Errors: those of kgym_open, kgym_submit and kgym_next. */
enum kg_code rl_recheck_poll(struct rl_recheck *r, struct kg_err *err) KG_MUST_USE;

/* Judges what waits, for at most so many seconds (0: no limit); the rest stays waiting.
 * Errors: as poll, KG_E_CANCELLED. */
enum kg_code rl_recheck_finish(struct rl_recheck *r, double seconds,
                               struct kg_err *err) KG_MUST_USE;

struct rl_recheck_counts rl_recheck_counts(const struct rl_recheck *r);
/* All that were chosen, in order of their offers; valid until the next offer. */
const struct rl_recheck_item *rl_recheck_items(const struct rl_recheck *r, size_t *n);

/* Judges a list at once, such as the last kernels of a demo: fills `state` and what follows of each
 * item [n]. Draws nothing. Errors: as finish. */
enum kg_code rl_recheck_list(const struct rl_recheck_options *o, struct rl_recheck_item *item,
                             size_t n, struct rl_recheck_counts *counts,
                             struct kg_err *err) KG_MUST_USE;

#endif
