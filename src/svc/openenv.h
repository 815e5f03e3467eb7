/* OpenEnv's messages on a WebSocket (docs/trainers.md, "OpenEnv"), as openenv-core 0.3 writes and
 * reads them. Pure: no socket, no store, no clock.
 *
 *   {"type": "reset", "data": {...}}     {"type": "observation", "data": {observation, reward,
 * done}}
 *   {"type": "step", "data": {reply}}    the same
 *   {"type": "state"}                    {"type": "state", "data": {episode_id, step_count, ...}}
 *   {"type": "close"}                    nothing
 *
 * What can't be done is {"type": "error", "data": {message, code, field?}}, which repeats nothing
 * of the message. It is never a reward.
 *
 * Ownership: a message owns all that its pointers name, until deinit. Threads: calls are
 * independent. */
#ifndef KG_SVC_OPENENV_H
#define KG_SVC_OPENENV_H

#include "base/json.h"
#include "svc/refusal.h"

enum { KG_OPENENV_ID_MAX = 160 }; /* bytes of an episode's id */

enum kg_openenv_kind { KG_OPENENV_RESET, KG_OPENENV_STEP, KG_OPENENV_STATE, KG_OPENENV_CLOSE };

struct kg_openenv_message {
    json_t *body; /* owned */
    enum kg_openenv_kind kind;
    /* reset; NULL or 0: not named */
    const char *episode_id, *problem, *preset, *rewards, *language, *group;
    const json_t *set;
    bool has_seed;
    int64_t seed;
    int max_turns;
    double idle_s;
    /* step */
    json_t *reply; /* a string */
};

/* False: *no is filled, its code with OpenEnv's ("INVALID_JSON", "UNKNOWN_TYPE",
 * "VALIDATION_ERROR"), and *out needs no deinit. */
bool kg_openenv_read(const char *text, size_t n, struct kg_openenv_message *out,
                     struct kg_svc_refusal *no);
void kg_openenv_deinit(struct kg_openenv_message *m); /* idempotent */

/* An episode as its client sees it. Texts: NULL is null. */
struct kg_openenv_view {
    const char *episode_id, *problem;
    int64_t turn, max_turns; /* turn: judged so far */
    bool done;
    const json_t *messages; /* [{role, content}] that the model is told next; NULL: none */
    /* of the last turn */
    const char *feedback, *verdict, *reason, *evaluation;
    const json_t *rewards; /* name to number; NULL: none */
};

/* The whole answer, a new value. Its reward is the first of v->rewards. */
json_t *kg_openenv_observation(const struct kg_openenv_view *v);
json_t *kg_openenv_state(const struct kg_openenv_view *v);
/* code: as above, or "EXECUTION_ERROR", "CAPACITY_REACHED". field "": none. */
json_t *kg_openenv_error(const char *code, const char *field, const char *message);

/* {"action", "observation", "state"}: their JSON schemas. Static text. */
const char *kg_openenv_schema(void);

#endif
