/* The frames of a WebSocket (RFC 6455), as a server reads and writes them: bytes in, messages out.
 * No input or output, no clock.
 *
 * The reader takes bytes in any pieces and puts the fragments of a message together. Control frames
 * may stand between fragments. It refuses, with the status that the closing frame should have: a
 * frame that is not masked, reserved bits and opcodes, a length in more bytes than it needs, a long
 * or fragmented control frame, a fragment without a beginning, a status that must not be sent (all
 * 1002); text that is no UTF-8 (1007); a binary message (1003); a message longer than the limit
 * (1009). After a refusal it takes nothing more.
 *
 * Threads: a reader is used by one at a time. */
#ifndef KG_SVC_WS_FRAME_H
#define KG_SVC_WS_FRAME_H

#include "base/buf.h"

enum {
    KG_WS_CONTROL_MAX = 125, /* bytes of a control frame: RFC 6455, 5.5 */
    KG_WS_HEADER_MAX = 14,   /* bytes before a frame's payload */
    KG_WS_ACCEPT_LEN = 29    /* 28 characters and NUL */
};

enum kg_ws_opcode {
    KG_WS_MORE = 0,
    KG_WS_TEXT = 1,
    KG_WS_BINARY = 2,
    KG_WS_CLOSE = 8,
    KG_WS_PING = 9,
    KG_WS_PONG = 10
};

/* Status of a closing frame: RFC 6455, 7.4.1. */
enum kg_ws_status {
    KG_WS_NORMAL = 1000,
    KG_WS_AWAY = 1001,
    KG_WS_PROTOCOL = 1002,
    KG_WS_UNSUPPORTED = 1003,
    KG_WS_NO_STATUS = 1005, /* a closing frame without one; never sent */
    KG_WS_BAD_TEXT = 1007,
    KG_WS_POLICY = 1008,
    KG_WS_TOO_BIG = 1009,
    KG_WS_TRY_LATER = 1013
};

struct kg_ws_reader {
    struct kg_buf message; /* of fragments so far */
    unsigned char head[KG_WS_HEADER_MAX];
    size_t head_len;
    char control[KG_WS_CONTROL_MAX + 1];
    uint64_t left, taken; /* bytes of the frame's payload: to come, and taken */
    bool in_payload, in_message, whole, refused;
};

enum kg_ws_kind {
    KG_WS_NOTHING,  /* all bytes were taken, and more are needed */
    KG_WS_MESSAGE,  /* text [len], NUL behind it; lives until the next read */
    KG_WS_GOT_PING, /* text [len]: to be sent back */
    KG_WS_GOT_PONG,
    KG_WS_GOT_CLOSE, /* status: the client's; text [len]: its reason */
    KG_WS_REFUSED    /* status: to close with */
};

struct kg_ws_event {
    enum kg_ws_kind kind;
    const char *text;
    size_t len;
    int status;
};

/* most: bytes of a message. */
void kg_ws_reader_init(struct kg_ws_reader *r, size_t most);
void kg_ws_reader_deinit(struct kg_ws_reader *r);
/* Reads up to the end of the next message or control frame. Returns how many bytes it took; the
 * caller calls again with the others, until the event is KG_WS_NOTHING or KG_WS_REFUSED. */
size_t kg_ws_read(struct kg_ws_reader *r, const void *bytes, size_t n, struct kg_ws_event *out);

/* Adds a whole frame of a server, which is not masked. Control frames: n <= KG_WS_CONTROL_MAX. */
void kg_ws_add_frame(struct kg_buf *out, enum kg_ws_opcode opcode, const void *bytes, size_t n);
/* The same for a closing frame; reason: short text. */
void kg_ws_add_close(struct kg_buf *out, int status, const char *reason);

/* Sec-WebSocket-Accept for the client's Sec-WebSocket-Key. False: it is no base64 of 16 bytes. */
bool kg_ws_accept_key(const char *key, char out[KG_WS_ACCEPT_LEN]);
/* Is word one of the comma-separated words of a header? Case does not matter. */
bool kg_ws_has_word(const char *header, const char *word);

#endif
