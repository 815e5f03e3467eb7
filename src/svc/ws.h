/* A WebSocket of the service: the handshake of RFC 6455 on an exchange, then whole messages of text
 * both ways. Messages are handed over one at a time, in order; up to KG_WS_QUEUE more wait. It
 * answers pings, and sends some, so that a client that has gone is found within KG_WS_SILENT_MS.
 *
 * It closes by itself what breaks the protocol (status 1002, 1003, 1007, 1009), sends more messages
 * than may wait (1008), or more bytes than the server holds (1013), and who says nothing for the
 * idle limit (1001). A client that does not read is read no more until it does.
 *
 * A socket lives until `gone` has returned. All in the loop of the api process. */
#ifndef KG_SVC_WS_H
#define KG_SVC_WS_H

#include "svc/http.h"

enum {
    KG_WS_QUEUE = 8,           /* messages that wait for the one before them */
    KG_WS_PING_MS = 20000,     /* between two pings of ours */
    KG_WS_SILENT_MS = 70000,   /* without a byte: three pings were not answered */
    KG_WS_CLOSING_MS = 5000,   /* for the client's part of a close */
    KG_WS_OUT_MOST = 4 << 20,  /* bytes that it has not read; then nothing of it is read */
    KG_WS_IDLE_MS = 60 * 60000 /* without a message, where no other limit is set */
};

struct event_base;
struct kg_ws;

struct kg_ws_calls {
    /* text: [n] bytes of UTF-8 with NUL behind, which live during the call. No other message comes
     * before kg_ws_next(). */
    void (*message)(void *arg, const char *text, size_t n);
    void (*gone)(void *arg); /* the last call: the socket is no more when it returns */
};

/* Answers the handshake of exchange x. most: bytes of a message. NULL: it is none (400), of another
 * version (426), or its client has gone; the exchange has ended, and no call follows. */
struct kg_ws *kg_ws_accept(struct kg_svc_exchange *x, struct event_base *base, size_t most,
                           const struct kg_ws_calls *calls, void *arg);
/* Sends a message; nothing where the socket closes already. */
void kg_ws_send(struct kg_ws *w, const char *text, size_t n);
/* The message was dealt with: the next one may come, at once or later. */
void kg_ws_next(struct kg_ws *w);
/* The socket ends after so many ms without a message, the time from message() to kg_ws_next() left
 * out. */
void kg_ws_set_idle(struct kg_ws *w, int64_t ms);
/* Begins to close; gone is called later. reason: a few words. */
void kg_ws_close(struct kg_ws *w, int status, const char *reason);

#endif
