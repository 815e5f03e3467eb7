/* Private to src/remote: the process, its tasks, its connections. One thread; all callbacks come in
 * the loop. */
#ifndef KG_REMOTE_REMOTE_PRIVATE_H
#define KG_REMOTE_REMOTE_PRIVATE_H

#include <sys/queue.h>

#include "base/ulid.h"
#include "gym/eval/config.h"
#include "gym/pool/channel.h"
#include "remote/remote.h"
#include "svc/client.h"
#include "svc/fetch.h"
#include "svc/follow.h"
#include "svc/tokens.h"

struct event;

enum {
    KG_REMOTE_LINKS = 8,     /* connections: the service syncs submissions of several at once */
    KG_REMOTE_MOST = 1024,   /* jobs at the service at once, unless the pool has `workers` */
    KG_REMOTE_RUN_MAX = 100, /* bytes of a run's name */
    KG_REMOTE_KEY_MAX = KG_REMOTE_RUN_MAX + 64
};

enum kg_remote_want { KG_REMOTE_NOTHING, KG_REMOTE_POST, KG_REMOTE_GET, KG_REMOTE_DELETE };

struct kg_remote_task {
    uint64_t id;
    json_t *head; /* of its frame */
    char *body;   /* problem's text, reply, record to replay */
    size_t len;
    char key[KG_REMOTE_KEY_MAX]; /* "": not made yet */
    int lost;                    /* jobs under this key that were lost before they were asked for */
    char job[KG_ULID_LEN];       /* "": not known */
    enum kg_remote_want want;
    bool there;     /* it was sent: the service may have it */
    bool asking;    /* a request is under way */
    bool moved;     /* an event came meanwhile */
    bool running;   /* as far as events say */
    bool told;      /* an event has said so since the request under way was sent */
    bool answered;  /* the client has its result; the job is to be cancelled */
    bool left;      /* nobody waits for it, and the job goes on: the answer under way ends it */
    bool cancels;   /* its DELETE was sent, and no answer says yet what became of the job */
    bool held;      /* it waits for such an answer, as its job is the same */
    int unreadable; /* times that the service could not read its record */
    int64_t deadline_ns, seen_ns;
    TAILQ_ENTRY(kg_remote_task) todo, all;
};
TAILQ_HEAD(kg_remote_tasks, kg_remote_task);

struct kg_remote_link {
    struct kg_remote *remote;
    struct kg_svc_client *client;
    struct kg_remote_task *task; /* whose request is under way; NULL: none */
    struct event *pause;         /* pending: after a failure it rests */
    int pause_ms;
};

struct kg_remote {
    struct event_base *base;
    struct kg_channel client;
    struct event *readable, *writable, *tick;
    /* the service */
    char url[300], token[KG_SVC_TOKEN_LEN]; /* token "": none */
    struct kg_svc_target target;
    struct kg_remote_link link[KG_REMOTE_LINKS];
    struct kg_svc_follow *follow;
    struct event *follow_again;
    bool following;
    int64_t down_ns; /* since when it does not answer; 0: it does */
    bool down_told;
    /* what is asked of it */
    struct kg_config config;
    json_t *set; /* {"key": "value"} that differ from the preset */
    char run[KG_REMOTE_RUN_MAX + 1];
    bool run_named, public_only;
    bool again; /* another process served this pool before */
    int most;
    /* tasks */
    struct kg_remote_tasks all, todo; /* todo: they want a request, and have none under way */
    int nthere, nall, ncancels;
    /* jobs that moved before the answer to their submission was read; others' jobs too */
    char early[1024][KG_ULID_LEN];
    size_t nearly;
    bool ending;
    int64_t end_ns;
};

/* --- remote_open.c --- */

/* From the options of an OPEN frame. Errors: USAGE, NOT_FOUND, IO, INPUT; HOST: no service is
 * there. */
enum kg_code kg_remote_open(struct kg_remote *r, const json_t *options,
                            struct kg_err *err) KG_MUST_USE;

/* --- remote_body.c --- */

/* The body of the submission, and with it the task's key. Errors: USAGE, INPUT, NOT_FOUND, IO:
 * nothing that a service can judge. */
enum kg_code kg_remote_body(struct kg_remote *r, struct kg_remote_task *t, struct kg_buf *out,
                            struct kg_err *err) KG_MUST_USE;

/* --- remote_task.c --- */

void kg_remote_add(struct kg_remote *r, struct kg_frame *f);
void kg_remote_cancel(struct kg_remote *r, uint64_t id);
/* Deadlines, and jobs that nothing was heard of for long. */
void kg_remote_look(struct kg_remote *r);
/* Jobs whose tasks nobody waits for are cancelled; the others too where `all`. */
void kg_remote_end(struct kg_remote *r, bool all);
/* The stream of events has begun: what happened before is asked for. */
void kg_remote_ask_all(struct kg_remote *r);
void kg_remote_event(struct kg_remote *r, const json_t *event);
/* The service has answered the task's request; not for lack of a service or of room there. */
void kg_remote_answer(struct kg_remote *r, struct kg_remote_task *t, int status,
                      const json_t *answer);
/* The task ends with this error. */
void kg_remote_fail(struct kg_remote *r, struct kg_remote_task *t, const struct kg_err *e);
void kg_remote_drop(struct kg_remote *r, struct kg_remote_task *t);
/* Has another task, which somebody waits for, the same job? */
bool kg_remote_is_shared(const struct kg_remote *r, const struct kg_remote_task *t);
/* Is the job of the task, whose key is known, being cancelled for another one? */
bool kg_remote_is_cancelled(const struct kg_remote *r, const struct kg_remote_task *t);
/* Its next request. */
void kg_remote_want(struct kg_remote *r, struct kg_remote_task *t, enum kg_remote_want want);

/* --- remote_link.c --- */

enum kg_code kg_remote_connect(struct kg_remote *r, struct kg_err *err) KG_MUST_USE;
void kg_remote_disconnect(struct kg_remote *r);
/* Requests that wait go out on links that are free. */
void kg_remote_feed(struct kg_remote *r);
/* Nothing can be done with this service any more: the client is told why. */
void kg_remote_break(struct kg_remote *r, const struct kg_err *e);

/* --- remote_prompt.c --- */

/* The first message that a request asks for, as a service writes it. Errors: as kgym_prompt. */
enum kg_code kg_remote_prompt(const struct kg_remote *r, const struct kg_frame *f,
                              struct kg_buf *out, struct kg_err *err) KG_MUST_USE;

/* --- remote.c --- */

/* Sends a frame to the client, now or when it reads. Takes head. */
void kg_remote_tell(struct kg_remote *r, enum kg_frame_kind kind, json_t *head, const void *body,
                    size_t len);

#endif
