/* Trajectories in the api process: opening one, its turns, its end. HTTP routes (api_traj.c) and
 * other ways in share it, so nothing here knows of an exchange: each call gives its answer, a
 * status and a JSON text, to a function of the caller's.
 *
 * An answer comes exactly once, in the loop: before the call returns, or later. ctx must live until
 * then. What is answered with 200 or 202 is durable. Errors are {code, message, field} as of
 * http.h.
 *
 * Turn n has been judged when its job has ended with a verdict, or with an error that the candidate
 * brought about; then the answer is 200 with the turn (docs/service.md, "Trajectories"), and the
 * next turn may come. What the gym could not do is 503 (`not_judged`), has no reward, and the same
 * turn may be sent again; that takes another job. No worker is held between turns. */
#ifndef KG_SVC_TRAJECTORIES_H
#define KG_SVC_TRAJECTORIES_H

#include "base/json.h"
#include "svc/traj.h"

struct kg_svc_api;

/* text: [len] bytes of JSON, NUL behind them; of the call only. */
typedef void kg_svc_traj_answer(void *ctx, int status, const char *text, size_t len);

struct kg_svc_traj_wish {
    const char *problem; /* a name of the suites */
    /* NULL: the client named the problem. Else it was drawn by this word, which tells one wish of a
     * key from another in place of the problem: a draw may have another outcome later. */
    const char *drawn_by;
    const char *preset, *rewards, *language, *system, *group, *key; /* NULL: none */
    const json_t *set;    /* object of options; NULL: none */
    const char *priority; /* NULL: normal */
    const char *meta;     /* JSON text of an object [meta_len]; NULL: none */
    size_t meta_len;
    int most_turns; /* 1 to KG_SVC_TURNS_MAX; 0: 3 */
    double idle_s;  /* it ends after so long without a turn; 0: an hour */
};

struct kg_svc_turn_wish {
    int n;                     /* from 1 */
    const char *owner;         /* of its job (http.h); NULL: none */
    json_t *reply;             /* a string; borrowed */
    const char *finish;        /* "stop", "length"; NULL: stop */
    const char *extra, *usage; /* JSON texts, which come back byte for byte; NULL: none */
    size_t extra_len, usage_len;
};

/* 200: {id, problem, group, state, max_turns, turns, messages: [{role, content}]}: what the model
 * is told first. The same key and wish: the same trajectory. */
void kg_svc_traj_open(struct kg_svc_api *a, const struct kg_svc_traj_wish *w,
                      kg_svc_traj_answer *answer, void *ctx);
/* Takes a turn, and waits for its verdict so long: 200 the turn, 202 it is not judged yet. The same
 * turn again is the same. */
void kg_svc_traj_take(struct kg_svc_api *a, const char *id, const struct kg_svc_turn_wish *w,
                      double wait_s, kg_svc_traj_answer *answer, void *ctx);
/* The turn as it is, or once it is judged: 200, or 202 after wait_s. Of a turn that the gym could
 * not judge: 200 with `state` "lost" and its `error`. */
void kg_svc_traj_look(struct kg_svc_api *a, const char *id, int n, double wait_s,
                      kg_svc_traj_answer *answer, void *ctx);
/* The whole trajectory as a line of kgym.trajectory/1. */
void kg_svc_traj_get(struct kg_svc_api *a, const char *id, kg_svc_traj_answer *answer, void *ctx);
/* Ends it; a turn that runs is judged still, and counts. how: "done", "full", "idle", "infra",
 * "defect". 200: the whole trajectory. */
void kg_svc_traj_close(struct kg_svc_api *a, const char *id, const char *how,
                       kg_svc_traj_answer *answer, void *ctx);
/* Ends those whose last turn is judged, and those that were idle for too long. Each second. */
void kg_svc_traj_tick(struct kg_svc_api *a);

#endif
