/* What OpenEnv's clients are told: an episode as store and segments have it. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_openenv.h"
#include "svc/traj_told.h"

enum { IDLE_MORE_MS = 1000 }; /* the episode ends before its socket */

static const char *text(const json_t *j, const char *name)
{
    return json_string_value(json_object_get(j, name));
}

/* --- answers to the client --- */

void kg_svc_session_answer(struct kg_svc_session *s, json_t *body)
{
    struct kg_buf text;
    kg_openenv_deinit(&s->message);
    kg_buf_init(&text, 256u << 20);
    kg_json_dump(body, &text);
    json_decref(body);
    kg_ws_send(s->ws, text.data, text.len);
    kg_buf_deinit(&text);
    kg_ws_next(s->ws);
}

void kg_svc_session_error(struct kg_svc_session *s, const char *code, const char *field,
                          const char *message)
{
    kg_svc_session_answer(s, kg_openenv_error(code, field, message));
}

void kg_svc_session_refuse(struct kg_svc_session *s, int status, const json_t *body)
{
    const char *message = text(body, "message"), *field = text(body, "field");
    const char *code = status == 400 || status == 404 ? "VALIDATION_ERROR"
                       : status == 429                ? "CAPACITY_REACHED"
                                                      : "EXECUTION_ERROR";
    kg_svc_session_error(s, code, field != NULL ? field : "",
                         message != NULL ? message : "the gym could not do it");
}

struct kg_openenv_view kg_svc_session_view(const struct kg_svc_session *s)
{
    bool plays = s->id[0] != '\0';
    return (struct kg_openenv_view){.episode_id = !plays               ? NULL
                                                  : s->name[0] != '\0' ? s->name
                                                                       : s->id,
                                    .problem = plays ? s->problem : NULL,
                                    .turn = s->turn,
                                    .max_turns = s->max_turns,
                                    .done = s->done};
}

/* --- the episode as it is --- */

static json_t *rewards_of(const struct kg_svc_told_turn *turn)
{
    json_t *out = json_object();
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(turn->parsed, "rewards"), name, value)
    {
        double reward;
        if (kg_svc_told_reward(turn, name, &reward)) {
            json_object_set_new(out, name, json_real(reward));
        }
    }
    return out;
}

/* The observation after the last judged turn (NULL: there is none yet). */
static void show(struct kg_svc_session *s, const struct kg_svc_told *t,
                 const struct kg_svc_told_turn *last)
{
    struct kg_openenv_view v = kg_svc_session_view(s);
    json_t *messages = NULL, *rewards = last != NULL ? rewards_of(last) : NULL;
    if (last == NULL) {
        messages = kg_svc_told_messages(t, 0);
    } else {
        v.feedback = last->feedback;
        v.verdict = text(last->parsed, "verdict");
        v.reason = text(last->parsed, "reason");
        v.evaluation = last->row.job;
        const char *next = last->feedback != NULL ? last->feedback : "";
        messages = s->done ? json_array()
                           : json_pack("[{s:s, s:o}]", "role", "user", "content",
                                       kg_json_text(next, strlen(next)));
    }
    v.messages = messages;
    v.rewards = rewards;
    kg_svc_session_answer(s, kg_openenv_observation(&v));
    json_decref(messages);
    json_decref(rewards);
}

/* Answers with the state of the episode, once its last turn is judged. */
static void show_told(struct kg_svc_session *s, const struct kg_svc_told *t)
{
    const struct kg_svc_told_turn *last = t->n > 0 ? &t->turn[t->n - 1] : NULL;
    if (last != NULL && !kg_svc_turn_has_ended(last->state)) {
        kg_svc_session_look(s, (int64_t)t->n);
        return;
    }
    if (last != NULL && last->state == KG_SVC_TURN_DEFECT) {
        s->done = true;
        kg_svc_session_error(s, "EXECUTION_ERROR", "",
                             "the problem is at fault: the episode has ended");
        return;
    }
    if (last != NULL && last->state == KG_SVC_TURN_LOST && s->message.kind == KG_OPENENV_STEP) {
        /* What the turn before was told is no answer to this step. */
        s->done = t->row.seq > 0;
        kg_svc_session_error(s, "EXECUTION_ERROR", "",
                             s->done ? "the gym could not judge the turn: the episode has ended"
                                     : "the gym could not judge the turn: send it again");
        return;
    }
    const char *problem = s->message.problem; /* of a reset */
    if (problem != NULL && strcmp(problem, t->row.problem) != 0) {
        s->id[0] = '\0';
        kg_svc_session_error(s, "VALIDATION_ERROR", "problem",
                             "the episode is about another problem");
        return;
    }
    s->turn = (int64_t)t->n - (last != NULL && last->state == KG_SVC_TURN_LOST);
    s->done = kg_svc_told_is_done(t);
    s->max_turns = t->row.most_turns;
    snprintf(s->problem, sizeof s->problem, "%s", t->row.problem);
    kg_ws_set_idle(s->ws, t->row.idle_ms + IDLE_MORE_MS);
    show(s, t, s->turn > 0 ? &t->turn[s->turn - 1] : NULL);
}

void kg_svc_session_show(struct kg_svc_session *s)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_told *t = malloc(sizeof *t);
    KG_ASSERT(t != NULL);
    if (kg_svc_tell(s->api, s->id, KG_SVC_TELL_RECORDS, t, &err) == KG_OK) {
        show_told(s, t);
    } else {
        if (s->message.kind == KG_OPENENV_RESET || err.code == KG_E_NOT_FOUND) {
            s->id[0] = '\0'; /* else it goes on once it can be read again */
        }
        kg_svc_session_error(
            s, err.code == KG_E_NOT_FOUND ? "VALIDATION_ERROR" : "EXECUTION_ERROR", "episode_id",
            err.code == KG_E_NOT_FOUND ? "there is no such episode"
                                       : "the episode can't be read now: ask again");
    }
    kg_svc_told_deinit(t);
    free(t);
}
