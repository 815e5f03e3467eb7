/* Private to api_openenv*.c: a session of OpenEnv's client, and its answers. In the loop of the api
 * process. */
#ifndef KG_SVC_API_OPENENV_H
#define KG_SVC_API_OPENENV_H

#include "svc/api_private.h"
#include "svc/openenv.h"
#include "svc/trajectories.h"
#include "svc/ws.h"

enum { KG_SVC_SESSION_WAIT_S = 300 }; /* of one call; then it is made again */

struct kg_svc_session {
    struct kg_svc_api *api;
    struct kg_ws *ws; /* NULL: it is gone */
    struct kg_openenv_message message;
    bool asked;                   /* an answer of the trajectories is to come */
    char owner[KG_SVC_OWNER_LEN]; /* of its jobs */
    /* The episode; id "": none. */
    char id[KG_ULID_LEN];
    char name[KG_OPENENV_ID_MAX + 1]; /* the client's id for it; "": it has none */
    char problem[KG_SVC_KEY_MAX + 1];
    int64_t turn, max_turns; /* turn: that have been judged */
    bool done;
    struct kg_svc_session *next;
};

/* Sends body, which is taken, and lets the next message come. The session has a socket. */
void kg_svc_session_answer(struct kg_svc_session *s, json_t *body);
/* The same with an error. code: OpenEnv's; field "": none. */
void kg_svc_session_error(struct kg_svc_session *s, const char *code, const char *field,
                          const char *message);
/* The same with an error of the trajectories, {code, message, field}, in OpenEnv's words. */
void kg_svc_session_refuse(struct kg_svc_session *s, int status, const json_t *body);
/* Answers with the episode as it is once its last turn has been judged. */
void kg_svc_session_show(struct kg_svc_session *s);
/* Waits for the verdict of turn n, then shows the episode. */
void kg_svc_session_look(struct kg_svc_session *s, int64_t n);
/* Episode and counts, without what the last turn said. */
struct kg_openenv_view kg_svc_session_view(const struct kg_svc_session *s);

#endif
