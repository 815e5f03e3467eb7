/* All that is known of a trajectory, read from store and segments, and its texts: lines of
 * kgym.trajectory/1 (docs/trajectory.md), messages of a chat, rows of turns, one turn. In the loop
 * of the api process; plain data otherwise. */
#ifndef KG_SVC_TRAJ_TOLD_H
#define KG_SVC_TRAJ_TOLD_H

#include "svc/api_private.h"
#include "svc/traj_text.h"

/* Judged: there is a verdict, or an error that the candidate brought about. Lost: the gym could not
 * judge it, and it may be sent again. Defect: the problem is at fault; no turn follows. */
enum kg_svc_turn_state {
    KG_SVC_TURN_WAITING,
    KG_SVC_TURN_RUNNING,
    KG_SVC_TURN_JUDGED,
    KG_SVC_TURN_LOST,
    KG_SVC_TURN_DEFECT
};

struct kg_svc_told_turn {
    struct kg_svc_turn row;
    enum kg_svc_turn_state state;
    int64_t finished_ms;              /* of its job; 0: it has not ended */
    json_t *error;                    /* {code, blame, message}; NULL: none */
    struct kg_buf record;             /* as the service has it; empty: none */
    json_t *parsed;                   /* the record; NULL: none */
    struct kg_buf content;            /* as it was sent; empty where contents are not asked for */
    json_t *sent;                     /* {reply, finish}, of the content */
    struct kg_svc_slice usage, extra; /* in content */
    char *feedback;                   /* kgym_free; NULL: none, or no gym wrote the record */
};

struct kg_svc_told {
    struct kg_svc_traj row;
    struct kg_buf head;
    json_t *opened; /* {problem, preset, set, rewards, priority, language, system, prompt} */
    struct kg_svc_slice meta;
    struct kg_svc_told_turn turn[KG_SVC_TURNS_MAX];
    size_t n;
};

enum kg_svc_tell {
    KG_SVC_TELL_STATES = 0, /* states of turns alone */
    KG_SVC_TELL_RECORDS = 1,
    KG_SVC_TELL_CONTENTS = 2
};

/* out is large: on the heap. It is released in any case. what: of enum kg_svc_tell, summed.
 * Errors: NOT_FOUND, IO, LIMIT. */
enum kg_code kg_svc_tell(struct kg_svc_api *a, const char *id, unsigned what,
                         struct kg_svc_told *out, struct kg_err *err) KG_MUST_USE;
void kg_svc_told_deinit(struct kg_svc_told *t);

const char *kg_svc_turn_state_name(enum kg_svc_turn_state s);
bool kg_svc_turn_has_ended(enum kg_svc_turn_state s);
/* Its reward by this preset; NULL: the first one of the record. False: it has none. */
bool kg_svc_told_reward(const struct kg_svc_told_turn *t, const char *preset, double *out);
/* The judged turn with the highest reward, the earliest of several; -1: none. */
int kg_svc_told_best(const struct kg_svc_told *t, const char *preset);
/* No turn follows: it has ended, or the last one is judged, or the problem is at fault. */
bool kg_svc_told_is_done(const struct kg_svc_told *t);
/* How it ends, as it is now: "done", "infra", "defect". */
const char *kg_svc_told_end(const struct kg_svc_told *t);

/* --- texts; each adds one JSON object in one line --- */

/* What the model is told: system, prompt, replies, feedback. turns: the first so many of them. */
json_t *kg_svc_told_messages(const struct kg_svc_told *t, size_t turns);
/* {id, problem, group, state, ..., messages}: the answer to who opened it. */
void kg_svc_told_opened(const struct kg_svc_told *t, struct kg_buf *out);
/* Turn i with its record. content: with what was sent, too. */
void kg_svc_told_turn(const struct kg_svc_told *t, size_t i, bool content, struct kg_buf *out);
/* kgym.trajectory/1. extra: with that of turns; else {}. */
void kg_svc_told_line(const struct kg_svc_told *t, bool extra, struct kg_buf *out);
/* {id, problem, group, messages, best, verdict, reward}. */
void kg_svc_told_chat(const struct kg_svc_told *t, const char *preset, struct kg_buf *out);
/* Turn i as a row: {trajectory, problem, group, messages, turn, reply, ...}; messages: before it.
 */
void kg_svc_told_row(const struct kg_svc_told *t, size_t i, const char *preset, bool extra,
                     struct kg_buf *out);

#endif
