/* Private to pairs*.c: what one measurement carries from call to call. */
#ifndef KG_GYM_TORCH_TIMING_TORCH_PAIRS_PRIVATE_H
#define KG_GYM_TORCH_TIMING_TORCH_PAIRS_PRIVATE_H

#include "base/rng.h"
#include "gym/timing/lease.h"
#include "gym/torch/timing/torch_pairs.h"

#define KG_TPAIRS_NULLS    4096 /* null windows kept */
#define KG_TPAIRS_REFUSALS 4    /* draws that the reference refuses: their law is asked no more */

enum kg_tflow {
    KG_TFLOW_ON,
    KG_TFLOW_LOUD,    /* somebody else's work was on the device */
    KG_TFLOW_DOUBT,   /* nothing is known of these inputs: the reference does not meet its oracle */
    KG_TFLOW_REFUSED, /* the reference refuses these inputs, */
    KG_TFLOW_LOST,    /* and they have ended its process or the candidate's */
    KG_TFLOW_FAILED,  /* out->failure says what the candidate did */
    KG_TFLOW_ERROR,   /* *err */
};

#define KG_TPAIRS_BEHIND                                                                           \
    16 /* calls that tell how long the rest of a window is on a quiet device                       \
        */

/* A timed call that the oracle will be asked about once the device is others' again. */
struct kg_tlater {
    bool there;
    uint64_t number; /* of its case */
    enum kg_tlaw law;
    int place;
    int64_t call;
    struct kg_dj_report report;
};

struct kg_tpairs {
    struct kg_worker *w;
    struct kg_tinstance *instance;
    struct kg_tpairs_options opt;
    struct kg_key key;
    int64_t *deadline_ns;
    struct kg_rng rng;       /* order, places, counts; never values */
    bool drawn;              /* every input is drawn by the reference */
    bool self;               /* the oracle is the reference itself under the same seed */
    struct kg_trunner *cand; /* NULL: none yet */
    bool placed;             /* every input has had values */
    bool lends;              /* null calls use the reference's regions */
    int set;                 /* where inputs lie, of KG_TORCH_PLACES */
    unsigned seen;           /* places that the candidate was called at, a bit each */
    uint64_t cases;          /* drawn so far: each has its own key */
    uint64_t seed;           /* of the calls of the last one */
    enum kg_tlaw law;        /* of the last one */
    uint32_t dealt;          /* other laws that were asked since all of them were, a bit each */
    double null_ns[KG_TPAIRS_NULLS];
    size_t nnull;
    double behind_ns[KG_TPAIRS_BEHIND]; /* of the reference's calls, while K is learnt */
    size_t nbehind;
    int64_t started_ns, born_ns;  /* of the measurement; of the candidate's part in it */
    struct kg_tpairs_result *out; /* of the run under way */
    struct kg_lease lease;
    bool cut_short;
    int64_t least; /* verified calls that the candidate's process owes */
    size_t loud;   /* pairs that were */
    bool no_room;  /* for answers that wait to be asked about */
    struct kg_tlater later[KG_DJ_KEPT_SLOTS];
    /* Draws of each law that the reference has refused; of the own one, in a row. */
    uint8_t refused[KG_TL_COUNT];
};

/* --- pairs_open.c --- */
/* The device to this measurement, and given back; waiting is not the candidate's time, nor the
 * measurement's. Whoever draws inputs on the host gives it back meanwhile. */
enum kg_code kg_tpairs_take_lease(struct kg_tpairs *s, struct kg_err *err) KG_MUST_USE;
void kg_tpairs_give_lease(struct kg_tpairs *s);
/* So many null windows at least, each after a call of the reference, as among pairs: null calls in
 * a row take 70 us less. */
enum kg_tflow kg_tpairs_nulls(struct kg_tpairs *s, size_t least, struct kg_err *err);
/* ERROR: on input after input the reference does not meet its own oracle. */
enum kg_tflow kg_tpairs_disagree(const struct kg_tpairs *s, struct kg_err *err);
/* All runners that are timed onto the worker's core. */
void kg_tpairs_one_core(const struct kg_tpairs *s);

/* --- pairs_values.c --- */
/* Some input can only be drawn by the reference. */
bool kg_tpairs_draws(const struct kg_tpairs *s);
/* Fresh values in place: masters of the next calls. */
enum kg_tflow kg_tpairs_draw(struct kg_tpairs *s, enum kg_tlaw law, struct kg_err *err);
/* The case of this number, law and place once more; the candidate is not asked. */
enum kg_tflow kg_tpairs_redraw(struct kg_tpairs *s, uint64_t number, enum kg_tlaw law, int place,
                               struct kg_err *err);
/* Before the reference is asked once more about the last case: its parameters, where a call changes
 * them. A call in double begins from those of the last load all the same. */
enum kg_tflow kg_tpairs_afresh(struct kg_tpairs *s, struct kg_err *err);

/* --- pairs_laws.c --- */
/* The law of a call, timed or not: of 16 calls nine have own values, four are touched, three have
 * another law of those that this instance is known to stand. One of which too many draws were
 * refused is left out. */
enum kg_tlaw kg_tpairs_law(struct kg_tpairs *s);
/* Does the time of a pair under this law count? */
bool kg_tpairs_counts(enum kg_tlaw law);
/* Tells a test what the last call of the candidate was like. */
void kg_tpairs_watch(const struct kg_tpairs *s, bool timed);

/* --- pairs_calls.c --- */
/* Whoever is called on inputs that have moved learns where they lie before the window opens. */
struct kg_dj_call kg_tpairs_call_of(const struct kg_tpairs *s, int port, enum kg_tcommand command);
enum kg_tflow kg_tpairs_ask_reference(struct kg_tpairs *s, const struct kg_dj_call *c,
                                      const char *what, struct kg_dj_report *rep,
                                      struct kg_err *err);
enum kg_tflow kg_tpairs_ask_candidate(struct kg_tpairs *s, const struct kg_dj_call *c,
                                      struct kg_dj_report *rep, struct kg_err *err);
/* One call of the reference on the last case; keep FLOAT or ORACLE. */
enum kg_tflow kg_tpairs_reference(struct kg_tpairs *s, enum kg_dj_side keep,
                                  struct kg_dj_report *rep, struct kg_err *err);
/* For kg_dj_self. usual: of the problem's own inputs. */
uint32_t kg_tpairs_how(const struct kg_tpairs *s, bool usual);
/* The reference's own answers to the last case agree. */
enum kg_tflow kg_tpairs_self(struct kg_tpairs *s, bool *applies, struct kg_err *err);
/* Own values that the reference does not refuse, and its answer to them; *err: what it says of the
 * last of KG_TPAIRS_REFUSALS draws. */
enum kg_tflow kg_tpairs_own(struct kg_tpairs *s, struct kg_dj_report *rep, struct kg_err *err);
/* All calls of a process alike, and those that tell K, are launched ahead of their inputs. */
bool kg_tpairs_ahead(const struct kg_tpairs *s);
/* A null call on the last case, which has the reference's answer; a quiet one's window is kept. */
enum kg_tflow kg_tpairs_null_call(struct kg_tpairs *s, bool *loud, struct kg_err *err);
/* Both sides on fresh values, the candidate's answer compared; s->law is their law afterwards. What
 * the reference refuses is drawn again. pair NULL: nobody times it. LOUD and DOUBT only where
 * nothing was wrong. LOST: such inputs have ended a process. */
enum kg_tflow kg_tpairs_verified(struct kg_tpairs *s, bool cand_first, struct kg_pair *pair,
                                 struct kg_err *err);

/* All but the numbers. */
bool kg_tpairs_sound(const struct kg_dj_report *rep, const struct kg_dj_judgement *j);
/* What the candidate did; returns FAILED. j NULL: nothing was compared. */
enum kg_tflow kg_tpairs_fail(struct kg_tpairs *s, enum kg_tcommand command, int64_t call,
                             const struct kg_dj_report *rep, const struct kg_dj_judgement *j);

/* --- pairs_choices.c --- */
/* The reference in float and in double do not agree about the last case: they do, if they differ
 * in choices that rounding makes. */
enum kg_tflow kg_tpairs_settle(struct kg_tpairs *s, bool *applies, struct kg_err *err);
/* The candidate's answer to it is wrong by the oracle: it is right, and *j renewed, if the
 * reference gives it where it rounds otherwise. */
enum kg_tflow kg_tpairs_seen(struct kg_tpairs *s, struct kg_dj_judgement *j, struct kg_err *err);
/* A call of the reference on the last case under rounding n. ERROR where it refuses, too. */
enum kg_tflow kg_tpairs_rounded(struct kg_tpairs *s, int n, enum kg_dj_side keep,
                                struct kg_dj_report *rep, struct kg_err *err);

/* --- pairs_left.c --- */
/* The judge's case of the state that calls leave, where the reference's change theirs. */
enum kg_code kg_tpairs_left_begin(struct kg_tpairs *s, struct kg_err *err) KG_MUST_USE;
/* Is the state after the last call compared? Drawn: no process can tell before it is asked, nor
 * whether the call was timed. */
bool kg_tpairs_left_asked(struct kg_tpairs *s);
/* What the reference's last call has left; nothing may have called it since. */
enum kg_tflow kg_tpairs_left_reference(struct kg_tpairs *s, struct kg_err *err);
/* And what the candidate's has. The last answer of the candidate is no longer there. */
enum kg_tflow kg_tpairs_left_candidate(struct kg_tpairs *s, struct kg_err *err);

/* --- pairs_later.c --- */
/* The last case's inputs can be made again, and its answer is not too long to be kept. */
bool kg_tpairs_may_wait(const struct kg_tpairs *s, const struct kg_dj_report *rep);
/* The candidate's answer, found right by the float reference, is one of a random few of this run
 * that the oracle will be asked about, or is not. */
enum kg_tflow kg_tpairs_for_later(struct kg_tpairs *s, const struct kg_dj_report *rep,
                                  struct kg_err *err);
/* Asks about one of them. */
enum kg_tflow kg_tpairs_ask_later(struct kg_tpairs *s, struct kg_tlater *l, struct kg_err *err);

/* --- pairs_sum.c --- */
/* What a timed call took, K included: its window; or, launched ahead, from the release to the post
 * of its answer, and what the rest of the window took longer than usual. */
int64_t kg_tpairs_time(const struct kg_tpairs *s, const struct kg_dj_report *rep);
/* The same of the candidate, as if K of its process were that of the reference's. */
int64_t kg_tpairs_candidate_time(const struct kg_tpairs *s, const struct kg_dj_report *rep);
/* The rest of a window: the judge's set-up before the release, and all behind the post. */
int64_t kg_tpairs_behind(const struct kg_dj_report *rep);
/* Times and K of the pairs so far (one at least), for the next two. */
void kg_tpairs_sum_up(struct kg_tpairs *s);
bool kg_tpairs_ratio(const struct kg_tpairs *s, struct kg_ratio *out); /* of the pairs so far */
void kg_tpairs_conclude(struct kg_tpairs *s);

#endif
