/* Private to the client's side of a pool: what struct kgym_pool holds.
 *
 * One thread at a time reads the socket (`reading`); others that wait for something sleep on
 * `heard` meanwhile. A task stays in `task` until its result has come, so that a supervisor that
 * died can be started anew with all of them. */
#ifndef KG_GYM_POOL_CLIENT_H
#define KG_GYM_POOL_CLIENT_H

#include <pthread.h>
#include <sys/types.h>

#include "gym/kgym.h"
#include "gym/pool/channel.h"

struct kg_client_task {
    uint64_t id;
    char *tag;
    json_t *head;
    char *body;
    size_t len;
    int64_t deadline_ns; /* monotonic; 0: none */
    bool cancelled;      /* a supervisor that is started anew is told so again */
    bool taken;          /* a worker of this supervisor, or a service, has it, or had it */
    int deaths;          /* of supervisors while it was taken */
};

#define KG_CLIENT_NO_CORE (-2)

struct kgym_pool {
    pthread_mutex_t lock;
    pthread_cond_t heard;
    bool reading;
    struct kg_channel channel;
    pid_t supervisor;
    int wake, poll_fd; /* eventfd that is set while results wait; epoll of it and the socket */
    char program[4096];
    json_t *options; /* of the OPEN frame */
    bool remote;     /* a service judges: src/remote is the supervisor */
    int queue_limit;
    bool draining;
    int workers;      /* wanted; 0: as the supervisor has it */
    json_t *held;     /* cores that the caller holds, numbers; KG_CLIENT_NO_CORE: asked for now */
    uint64_t next_id; /* of a task */
    int64_t next_request;
    struct kg_client_task *task; /* [ntasks] without a result, by id */
    size_t ntasks, task_cap;
    struct kgym_result **done; /* [ndone] results that wait for kgym_next, oldest first */
    size_t ndone, done_cap;
    json_t *replies;      /* {"REQUEST": head} of requests that are answered */
    int deaths;           /* of supervisors since the last result */
    int64_t starts;       /* of supervisors, in all */
    struct kg_err broken; /* why nothing more will come; code KG_OK: it may */
};

/* --- client_task.c --- */

/* KG_E_USAGE or KG_E_LIMIT where a field is wrong. */
enum kg_code kg_client_check_task(const struct kgym_task *t, struct kg_err *err) KG_MUST_USE;
/* A copy of the task as the last of p->task. KG_E_LIMIT: no memory. */
enum kg_code kg_client_add_task(struct kgym_pool *p, const struct kgym_task *t,
                                struct kg_err *err) KG_MUST_USE;
/* Frees what a task holds. */
void kg_client_task_deinit(struct kg_client_task *t);
/* A member of a head, unless text is NULL. False: no memory. */
bool kg_client_set_text(json_t *head, const char *key, const char *text);

/* --- client_start.c --- */

/* Starts the supervisor and greets it. */
enum kg_code kg_client_start(struct kgym_pool *p, struct kg_err *err) KG_MUST_USE;
/* Ends it: closes the socket and waits, 10 s at most. */
void kg_client_end(struct kgym_pool *p);
/* The supervisor is gone: another one gets all tasks that have no result. Fills p->broken when that
 * does not help any more. */
void kg_client_restart(struct kgym_pool *p);
/* Sends a frame. A supervisor that is found dead is replaced; the new one gets all of p->task, and
 * not this frame. KG_E_LIMIT: no memory for the frame; nothing was sent, the supervisor goes on. */
enum kg_code kg_client_send(struct kgym_pool *p, enum kg_frame_kind kind, json_t *head,
                            const void *body, size_t len, struct kg_err *err) KG_MUST_USE;

/* --- client_hear.c: with the lock held --- */

/* Reads what is there and files it: results, replies, bad news. */
void kg_client_hear(struct kgym_pool *p);
/* The supervisor takes no more: reads and files what it sent before. */
void kg_client_hear_last(struct kgym_pool *p);
/* Waits until something was heard or end_ns (monotonic; < 0: none) has passed. False: it has. */
bool kg_client_wait(struct kgym_pool *p, int64_t end_ns);
/* The oldest result, or NULL. */
struct kgym_result *kg_client_take(struct kgym_pool *p);
/* Keeps the eventfd set exactly while results, or bad news, wait. */
void kg_client_show(struct kgym_pool *p);
/* One round trip. head: of a REQUEST, with `call` and its arguments; taken. *reply: the caller's.
 */
enum kg_code kg_client_request(struct kgym_pool *p, json_t *head, const void *body, size_t len,
                               json_t **reply, struct kg_err *err) KG_MUST_USE;

/* A caller's structure, which begins with its size. One of an older header is shorter: new fields
 * are 0. One of a newer header is refused, since this library does not know its fields. */
bool kg_client_copy(void *out, size_t known, const void *given, size_t size);
/* An internal error as the public one; returns its code. */
enum kgym_code kg_client_error(const struct kg_err *e, struct kgym_error *out);

#endif
