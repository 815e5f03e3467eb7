/* Turns under way: a turn's messages go to the policy, its reply is stored, then judged, its record
 * stored, and the turn given back with its verdict, its rewards and the feedback for the next one.
 * Many are under way at once; generation and judging overlap. Who decides what is asked next
 * (samples of a suite, rounds of a refinement) stands above.
 *
 * What the folder holds already is neither asked nor judged again. A reply without a record (the
 * process was killed between) is judged only. A record with an error whose blame is not the
 * candidate is judged again, twice at most in one process; then the turn has no verdict. Equal
 * replies to one problem share one evaluation; its record is stored under each turn's key.
 *
 * Not thread safe. */
#ifndef KG_TRIAL_DRIVE_DRIVE_H
#define KG_TRIAL_DRIVE_DRIVE_H

#include "gym/kgym.h"
#include "trial/drive/folder.h"
#include "trial/drive/suite.h"

/* A bound of 0 is none. */
struct tr_budget {
    int64_t tokens;             /* in and out together, of all runs of the folder */
    double money;               /* by the prices */
    double price_in, price_out; /* per million tokens */
    double seconds;             /* of this process */
};

struct tr_drive_options {
    struct tr_policy *policy; /* borrowed */
    struct kgym_pool *pool;   /* borrowed; nobody else may take its results */
    struct tr_folder *folder; /* borrowed */
    const char *rewards;      /* presets, the first is the one that counts; NULL: the pool's */
    const char *language;     /* of answers to PyTorch problems, as in kgym_text_options; NULL */
    int64_t feedback;         /* most tokens of a feedback: 600 */
    int64_t max_tokens;       /* of a reply */
    uint64_t seed;
    struct tr_budget budget;
    const volatile int *cancel; /* not 0: KG_E_CANCELLED; NULL: none */
};

struct tr_drive;
enum kg_code tr_drive_create(const struct tr_drive_options *o, struct tr_drive **out,
                             struct kg_err *err) KG_MUST_USE;
/* The folder still gets the replies that the policy has received. NULL is nothing. */
void tr_drive_destroy(struct tr_drive *d);

enum tr_judged {
    TR_JUDGED,     /* there is a verdict */
    TR_NO_VERDICT, /* the gym had none */
    TR_DEFECT,     /* the problem is at fault */
    TR_NO_REPLY,   /* err says why; code KG_E_LIMIT: the conversation is full */
};

/* A finished turn. All of it is freed by tr_turn_free. */
struct tr_turn {
    const struct tr_problem *problem; /* borrowed */
    uint32_t sample, turn;            /* from 1 */
    enum tr_judged state;
    struct kg_err err;      /* of NO_REPLY, NO_VERDICT, DEFECT */
    struct tr_reply *reply; /* NULL for NO_REPLY */
    bool replayed;          /* the reply came from the folder */
    bool shared;            /* the record is that of an equal reply, under this turn's key */
    char *record;           /* [record_len] and a NUL; NULL: none */
    size_t record_len;
    char verdict[24], reason[32]; /* "" */
    bool correct, hack;
    bool extracted, valid, compiled, numerics;
    double speedup, speedup_lo, speedup_hi; /* NaN: not measured, or not trusted */
    double coverage;                        /* NaN: not known */
    json_t *rewards;      /* {preset: value} of the record; NULL or empty without a verdict */
    double reward;        /* NaN: there is none */
    char *feedback;       /* the message that may follow; NULL without a verdict */
    char record_hash[65]; /* SHA-256 of the record without white space; "" */
    char config_hash[65]; /* of the gym's configuration in the record; "" */
    char code_hash[65];   /* of the code, as the record says; "" */
};
void tr_turn_free(struct tr_turn *t); /* NULL is nothing */

/* The first message for a problem, made once for each. Borrowed for the drive's life. Errors: those
 * of kgym_prompt. */
enum kg_code tr_drive_prompt(struct tr_drive *d, const struct tr_problem *p, const char **out,
                             struct kg_err *err) KG_MUST_USE;

/* Turns that may be begun now: bounded by the policy's room and by what waits to be judged. */
int tr_drive_room(const struct tr_drive *d);
/* Begins a turn; message [n] is its whole context. Errors: KG_E_LIMIT (no room); all others end the
 * drive: KG_E_IO, KG_E_INPUT (of the folder), those of kgym_submit, KG_E_HOST. */
enum kg_code tr_drive_begin(struct tr_drive *d, const struct tr_problem *p, uint32_t sample,
                            uint32_t turn, const struct tr_message *message, int n,
                            struct kg_err *err) KG_MUST_USE;
int tr_drive_pending(const struct tr_drive *d); /* begun, and not given back */
/* The next finished turn; *out is NULL when the time is up or nothing is under way; else the
 * caller's. Errors: KG_E_CANCELLED, KG_E_USAGE (the endpoint refuses the key or the model, or it
 * changed its model: both names), KG_E_IO (disk, or the endpoint stayed away), KG_E_INPUT (four
 * asks in a row, with no reply between, got what is no chat completion), those of kgym_next. After
 * an error the folder holds all that was received; the drive can only be destroyed. */
enum kg_code tr_drive_next(struct tr_drive *d, int timeout_ms, struct tr_turn **out,
                           struct kg_err *err) KG_MUST_USE;
/* The budget that is used up, "" while none is: "1000000 tokens (--max-tokens-total)". Turns under
 * way still end; the caller begins no further ones. */
const char *tr_drive_spent(const struct tr_drive *d);

/* Judges a source once more in a pool of the caller's (another process, other secrets). For a new
 * best of a refinement. record: the caller's, released with free. Errors: those of kgym. */
enum kg_code tr_drive_again(struct kgym_pool *pool, const struct tr_problem *p, const char *reply,
                            size_t len, char **record, struct kg_err *err) KG_MUST_USE;

struct tr_counts {
    uint64_t replied, replayed; /* replies that came, and that the folder had */
    uint64_t asked, sent;       /* of the policy; evaluations of the pool */
    struct tr_totals totals;    /* of the folder */
    double money;
    double pool_busy; /* mean of busy workers / workers */
};
struct tr_counts tr_drive_counts(const struct tr_drive *d);

#endif
