/* Private to drive*.c: a turn under way, and how it goes on. A slot is free, then asked, then its
 * reply is stored, then it waits for the pool, is judged, or waits for an equal reply that is; then
 * it is done and stands in a queue until it is given back. */
#ifndef KG_TRIAL_DRIVE_DRIVE_PARTS_H
#define KG_TRIAL_DRIVE_DRIVE_PARTS_H

#include "rl/judge/index.h"
#include "trial/bench/facts.h"
#include "trial/bench/key.h"
#include "trial/drive/drive.h"

enum {
    TR_PROMPT_BYTES = 128 << 10, /* no first message is longer */
    TR_REPLY_BYTES = 4 << 20,    /* a million tokens; what is longer is cut */
    TR_SLOTS = 1024,             /* turns under way at once */
    TR_TRIES = 3,                /* evaluations of a turn in one process */
};

enum tr_step { TR_FREE, TR_ASKED, TR_STORED, TR_QUEUED, TR_JUDGING, TR_WAITS, TR_DONE };

struct tr_slot {
    enum tr_step step;
    struct tr_turn *turn;
    char key[TR_KEY_BYTES];
    uint64_t task; /* of the pool */
    int tries;
    int equal;  /* entry of equal replies */
    int waiter; /* next slot that waits for the same entry, -1: none */
};

/* Equal replies to one problem. */
struct tr_equal {
    char hash[KG_SHA256_HEX];
    char *key;   /* of a turn whose record is stored; NULL: none yet */
    int judging; /* slot whose reply is judged, -1: none */
    int waiter;  /* first slot that waits */
};

struct tr_prompt {
    const struct tr_problem *problem;
    char *text;
};

struct tr_drive {
    struct tr_drive_options o;
    struct tr_slot slot[TR_SLOTS];
    int done[TR_SLOTS], done_at, ndone; /* ring */
    int high;                           /* no slot from here on is in use */
    bool salvaged; /* what is under way has been waited for, before the end by an error */
    int pending, asked, to_judge; /* slots: all, of the policy, queued and judging */
    struct tr_equal *equal;
    size_t nequal, cap;
    struct rl_index index;
    struct tr_prompt *prompt;
    size_t nprompts, last_prompt;
    char model[128];
    int unread; /* asks in a row that got no chat completion */
    int workers;
    int64_t begun_ns, info_ns;
    double busy;
    int64_t samples;
    struct tr_counts counts;
    char spent[160];
};

/* Is this error of kgym_prompt the problem's own fault? */
bool tr_drive_own_fault(enum kg_code code);

/* The slot's turn has ended; it stands in the queue. */
void tr_drive_done(struct tr_drive *d, int i);

/* Notes how busy the pool is; often called. */
void tr_drive_measure(struct tr_drive *d);

/* --- drive_judge.c --- */

/* The slot has a reply, which is stored: it is judged, or shares a record. Errors: those of
 * kgym_submit but FULL, of the folder. */
enum kg_code tr_drive_judge(struct tr_drive *d, int i, struct kg_err *err) KG_MUST_USE;
/* Sends what waits for the pool and takes what it has finished. timeout_ms: as in kgym_next, for
 * the first result. Errors: as above, those of kgym_next. */
enum kg_code tr_drive_pump(struct tr_drive *d, int timeout_ms, struct kg_err *err) KG_MUST_USE;
/* The turn's reply has this stored record already: equal replies share it. KG_E_HOST. */
enum kg_code tr_drive_share(struct tr_drive *d, int i, struct kg_err *err) KG_MUST_USE;
void tr_drive_forget(struct tr_drive *d); /* frees the entries of equal replies */

/* --- drive_turn.c --- */

/* Takes a record over: facts, reward, feedback. False: this is no record with a verdict, a defect
 * or an error of the candidate's; the turn has no verdict, and err says why. */
bool tr_turn_read(struct tr_turn *t, const struct tr_drive_options *o, char *record, size_t len);
/* A stored reply. KG_E_INPUT: this is none; KG_E_HOST. */
enum kg_code tr_reply_read(const json_t *line, struct tr_reply **out,
                           struct kg_err *err) KG_MUST_USE;
#endif
