/* Strategies of sequential test-time scaling: which earlier turns are the context of the next one.
 * Pure functions of the stored turns: no files, no clock, no draws, so a run that goes on decides
 * as before. Rounds count from 1 over the whole run; a round is one turn of one conversation
 * (`sample`).
 *
 *   vanilla              all earlier turns, until the context is full
 *   top-w                the w turns with the highest metric, of equal ones the later
 *   window               the w turns in a row with the largest sum, of equal ones the earliest
 *   last-w               the last w turns
 *   parallel             none: every round is a first turn
 *   parallel-then-sequential
 *                        as many first turns as conversations of `depth` turns need, then their
 *                        second turns, and so on
 *   restart              vanilla; where the context is full a new conversation begins
 *   no-feedback          vanilla, with one fixed sentence in place of each feedback
 *
 * Chosen turns are shown in the order in which they were made. A turn without a verdict, or whose
 * length is not known, is never shown. Thread safe. docs/refine.md tells what each is for. */
#ifndef KG_TRIAL_REFINE_STRATEGY_H
#define KG_TRIAL_REFINE_STRATEGY_H

#include "base/err.h"

enum tr_strategy {
    TR_VANILLA,
    TR_TOP_W,
    TR_WINDOW,
    TR_LAST_W,
    TR_PARALLEL,
    TR_PARALLEL_SEQUENTIAL,
    TR_RESTART,
    TR_NO_FEEDBACK,
    TR_STRATEGIES
};
enum tr_by { /* what a metric goes by */
             TR_BY_REWARD,
             TR_BY_SPEEDUP,
             TR_BY_COVERAGE,
             TR_BY_COVERAGE_REWARD, /* coverage, then reward: "lexicographic" */
             TR_BY_KINDS
};
const char *tr_strategy_name(enum tr_strategy s);
const char *tr_by_name(enum tr_by m);
/* KG_E_USAGE names those that there are. */
enum kg_code tr_strategy_parse(const char *name, enum tr_strategy *out,
                               struct kg_err *err) KG_MUST_USE;
enum kg_code tr_by_parse(const char *name, enum tr_by *out, struct kg_err *err) KG_MUST_USE;

enum { TR_ROUNDS_MAX = 1000, TR_SHOWN_MAX = TR_ROUNDS_MAX };

/* What a strategy knows of a round that has ended. */
struct tr_past {
    uint32_t sample, turn;
    bool judged;                      /* it has a reply, a verdict and a feedback */
    bool correct;                     /* else its metric is 0 */
    double reward, speedup, coverage; /* NaN counts as 0 */
    int64_t tokens;                   /* of its reply and its feedback in a context */
};

struct tr_plan {
    enum tr_strategy strategy;
    enum tr_by metric;
    int w;           /* of top-w, window, last-w: 1 or more */
    int depth;       /* of parallel-sequential: turns of a conversation, 1 or more */
    int rounds;      /* of the whole run: 1 to TR_ROUNDS_MAX */
    int64_t prompt;  /* tokens of the first message */
    int64_t reply;   /* most tokens of a reply */
    int64_t context; /* tokens of the window; 0: not known, nothing is left out for it */
    double reserve;  /* lengths are estimates: so much more is kept free, .2 is 20 % */
};

struct tr_choice {
    uint32_t sample, turn;   /* of the round to begin */
    int n;                   /* turns of the context */
    int shown[TR_SHOWN_MAX]; /* [n] their rounds, ascending */
    int64_t tokens;          /* of the whole context, by the lengths that were given */
    bool shrunk;             /* fewer than w, so that it fits */
    bool full;               /* no further round: the context has no room for it */
};

/* Chooses for round `round`, 1 to plan->rounds. past [round - 1], past[i] of round i + 1; only the
 * rounds up to tr_strategy_needs() must have ended. full is also said where the first message alone
 * does not fit. Cost: O(round^2). */
void tr_strategy_choose(const struct tr_plan *plan, const struct tr_past *past, int round,
                        struct tr_choice *out);
/* The last round that round `round` depends on; 0: none. */
int tr_strategy_needs(const struct tr_plan *plan, int round);
/* Does a context of so many tokens leave room for a reply? */
bool tr_strategy_fits(const struct tr_plan *plan, int64_t tokens);
/* May this choice be repeated after the model refused it as too long? For strategies that can
 * choose fewer turns, or begin anew. */
bool tr_strategy_yields(const struct tr_plan *plan, const struct tr_choice *c);

#endif
