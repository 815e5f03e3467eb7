/* The rounds of a refinement: one problem, many turns, a strategy that says what each of them is
 * shown, and the best verified kernel over all of them.
 *
 * Rounds are begun as soon as all that they depend on has ended, and are counted in their order
 * whatever the order of their ends. So the same stored turns give the same decisions, and a run
 * that was broken off goes on as if it had not been.
 *
 * A turn that is correct and looks faster than the best so far is judged again, by another process
 * with other secrets (tr_maker.again). It is the new best only if that says so: correct, and faster
 * than what the best was when it was judged again. So a best never becomes slower, and no best owes
 * its place to one lucky measurement. Equal code is judged again once only.
 *
 * Turns come from a table of functions, so a test brings its own. Not thread safe. */
#ifndef KG_TRIAL_REFINE_ROUNDS_H
#define KG_TRIAL_REFINE_ROUNDS_H

#include "trial/drive/drive.h"
#include "trial/refine/strategy.h"

/* The outcome of judging a reply again. */
struct tr_again {
    bool judged; /* false: the gym had no verdict; message says why */
    bool correct;
    char verdict[24];
    double speedup, speedup_lo, speedup_hi; /* NaN: not measured, or not trusted */
    char *record;                           /* [record_len] and a NUL; NULL: none; free */
    size_t record_len;
    char record_hash[65];
    char message[160];
};

/* Who makes turns. The functions are those of drive.h, for one problem. */
struct tr_maker {
    void *self;
    int (*room)(void *self);
    enum kg_code (*begin)(void *self, uint32_t sample, uint32_t turn,
                          const struct tr_message *message, int n, struct kg_err *err);
    enum kg_code (*next)(void *self, int timeout_ms, struct tr_turn **out, struct kg_err *err);
    const char *(*spent)(void *self);
    /* Is this turn's reply paid for already? Then a budget that is used up does not stop it. NULL:
     * none is. */
    bool (*kept)(void *self, uint32_t sample, uint32_t turn);
    enum kg_code (*again)(void *self, const struct tr_turn *t, struct tr_again *out,
                          struct kg_err *err);
    void (*release)(void *self, struct tr_turn *t); /* NULL is nothing */
    size_t (*count)(void *self, const char *text, size_t len);
};

/* A round that has ended. */
struct tr_round {
    int round;
    uint32_t sample, turn;
    int *shown; /* [nshown] rounds of its context, ascending */
    int nshown;
    bool shrunk;            /* shows fewer than w, so that it fits */
    int64_t tokens;         /* of its context, by the lengths of its parts */
    int64_t context;        /* the window that it was chosen for; 0: not known */
    struct tr_turn *result; /* NULL: its conversation had no room for it */
    struct tr_again again;
    bool tried; /* `again` was asked */
    bool new_best;
    int best;            /* round of the best so far; 0: none */
    double best_speedup; /* when it was judged again; 0: not measured */
};

enum tr_ending {
    TR_END_NONE,     /* goes on */
    TR_END_TURNS,    /* all rounds */
    TR_END_TARGET,   /* the lower end of the best one's interval is there */
    TR_END_PATIENCE, /* so many rounds without a new best */
    TR_END_SPENT,    /* a budget; tr_rounds_why() names it */
    TR_END_FULL,     /* the context has no room for a further round */
    TR_END_UNJUDGED, /* the gym had no verdict for three rounds in a row */
    TR_END_DEFECT,   /* the problem is at fault */
    TR_END_NO_REPLY, /* the policy gives none that could be read */
};
/* "turns", "target", ... for summaries. */
const char *tr_ending_name(enum tr_ending e);

struct tr_rounds_options {
    struct tr_plan plan; /* prompt and context as they are known before the first round */
    const char *prompt;  /* the first message; borrowed */
    double target;       /* 0: none */
    int patience;        /* 0: none */
    /* Rounds that an earlier process had counted. Target and patience, which may differ from its
     * own, do not end the run before all of them are counted again. */
    int before;
    /* The window that an earlier process chose this round for, which holds for it again; 0: none
     * was known then; -1: there was no such round. NULL: there was none at all. */
    int64_t (*window_of)(void *user, int round);
    /* A round was counted. Its error ends the run. NULL: nobody asks. */
    enum kg_code (*seen)(void *user, const struct tr_round *r, struct kg_err *err);
    void (*waits)(void *user); /* nothing has ended for 0.2 s; NULL: nobody asks */
    void *user;
};

/* What `no-feedback` says after each answer. */
extern const char tr_no_feedback[];

struct tr_rounds;
/* maker is borrowed. Errors: KG_E_USAGE (a plan out of its bounds), KG_E_HOST. */
enum kg_code tr_rounds_create(const struct tr_rounds_options *o, const struct tr_maker *maker,
                              struct tr_rounds **out, struct kg_err *err) KG_MUST_USE;
void tr_rounds_destroy(struct tr_rounds *r); /* NULL is nothing */
/* Until an ending. Turns that are under way then are waited for, and not counted: the folder has
 * them. Errors: those of the maker (KG_E_CANCELLED too) and of `seen`; what was counted stays. */
enum kg_code tr_rounds_run(struct tr_rounds *r, struct kg_err *err) KG_MUST_USE;
enum tr_ending tr_rounds_ending(const struct tr_rounds *r);
const char *tr_rounds_why(const struct tr_rounds *r); /* for people; "" where there is no more */
/* The rounds that were counted, in order; borrowed. */
const struct tr_round *tr_rounds_list(const struct tr_rounds *r, int *n);

#endif
