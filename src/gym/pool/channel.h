/* Frames over a local socket: how client, supervisor and worker of a pool speak. A frame is a kind,
 * a JSON head and raw bytes (a reply may hold anything). A channel buffers both directions:
 * queueing never blocks, so that two ends that both send cannot wait for each other. Refuses:
 * frames longer than KG_FRAME_MAX, or than the channel's own `most`, and heads that are no JSON
 * object; each ends the channel. Descriptors that a peer sends along are closed by the kernel. No
 * signals: writes to a peer that is gone do not raise SIGPIPE. Not thread safe. */
#ifndef KG_GYM_POOL_CHANNEL_H
#define KG_GYM_POOL_CHANNEL_H

#include "base/json.h"

#define KG_FRAME_MAX   (256u << 20)
#define KG_HEAD_MAX    (1u << 20)        /* bytes of a head, which is parsed as JSON */
#define KG_ALL_CORES   (-1)              /* as `core` of a hold or a release */
#define KG_CHANNEL_MAX ((size_t)4 << 30) /* bytes that wait in one direction */

enum kg_frame_kind {
    /* client -> supervisor */
    KG_FRAME_OPEN = 1, /* first: the options */
    KG_FRAME_TASK,
    KG_FRAME_CANCEL,  /* {id} */
    KG_FRAME_REQUEST, /* {request, call, ...}: answered by a REPLY */
    KG_FRAME_DRAIN,
    /* supervisor -> client */
    KG_FRAME_RESULT,
    KG_FRAME_REPLY,  /* {request, code, blame, message, ...} */
    KG_FRAME_BROKEN, /* {code, blame, message}: no worker can run here */
    /* supervisor -> worker: CONFIGURE first, then TASK; worker -> supervisor: READY or BROKEN
     * first, then a RESULT for each TASK */
    KG_FRAME_CONFIGURE,
    KG_FRAME_READY, /* it is open: from here on it may run what it judges */
    /* supervisor -> client */
    KG_FRAME_TAKEN, /* {id}: a worker, or a service, gets this task now */
    /* client -> a remote pool's process (src/remote) */
    KG_FRAME_CLOSE, /* the caller closes the pool, and has not just gone */
};

struct kg_frame {
    enum kg_frame_kind kind;
    json_t *head; /* an object; owned */
    char *body;   /* NUL-terminated; owned */
    size_t len;   /* of body */
};
void kg_frame_deinit(struct kg_frame *f);

struct kg_channel {
    int fd;
    struct kg_buf in, out;
    size_t in_at, out_at; /* what is done of them */
    size_t most;          /* bytes of head and body that a frame of the peer may have */
    bool ended;           /* the peer is gone, or has broken the format */
    bool unread;          /* it takes no more; what it sent before may wait to be read */
};

/* fd: a stream socket, owned by the channel from now on; -1: a channel that has ended. */
void kg_channel_init(struct kg_channel *c, int fd);
void kg_channel_deinit(struct kg_channel *c);

/* Appends a frame to what is to be sent. Takes head. False: nothing was appended. The channel has
 * ended, or it goes on, but the frame is too long, has no head (NULL: no memory for it), or there
 * is no memory for the frame. */
bool kg_channel_queue(struct kg_channel *c, enum kg_frame_kind kind, json_t *head, const void *body,
                      size_t len);
/* The same for a frame that the peer waits for. Where it cannot be appended the channel has ended,
 * so that nobody waits without end. */
void kg_channel_queue_or_end(struct kg_channel *c, enum kg_frame_kind kind, json_t *head,
                             const void *body, size_t len);
/* Sends what the socket takes now. Is anything left? */
bool kg_channel_flush(struct kg_channel *c);
/* Queues and sends all of it, however long the peer takes to read. False: as above. */
bool kg_channel_send(struct kg_channel *c, enum kg_frame_kind kind, json_t *head, const void *body,
                     size_t len);

/* Reads what is there now, 1 MiB at most, without waiting. */
void kg_channel_fill(struct kg_channel *c);
/* Once the peer takes no more: has it sent something before that can still be read? Then the
 * channel goes on until all of that is read. */
bool kg_channel_last(struct kg_channel *c);
/* Reads as kg_channel_fill does. True: last, which kg_channel_last answered, and something came: so
 * once its frames are taken, there may be more to read. */
bool kg_channel_fill_on(struct kg_channel *c, bool last);
/* The next whole frame that was read, in *out, for the caller to deinit. False: none. */
bool kg_channel_take(struct kg_channel *c, struct kg_frame *out);
/* Waits for a frame. False: the channel has ended, or timeout_ms (< 0: none) is over, or a signal
 * came and *stop is set (NULL: signals are ignored). */
bool kg_channel_wait(struct kg_channel *c, int timeout_ms, const volatile int *stop,
                     struct kg_frame *out);

/* Error as members code, blame, message of an object, and back. put: takes head and returns it, or
 * NULL: no memory. A head that lacks its code would say OK. */
json_t *kg_frame_put_error(json_t *head, const struct kg_err *e) KG_MUST_USE;
enum kg_code kg_frame_get_error(const json_t *head, struct kg_err *err);

/* Members of a head; what is missing or of another type is 0 or NULL. */
int64_t kg_frame_int(const json_t *head, const char *key);
const char *kg_frame_text(const json_t *head, const char *key);

#endif
