/* Server-sent events, as far as streamed completions use them: the data of each event. Bytes come
 * in any pieces. Other fields and comments are skipped, a byte order mark at the start too; lines
 * end with CR, LF or both. An event whose last line has its end counts at the end of the stream,
 * though no empty line follows: servers forget it. A line and an event have a maximum.
 * Source: WHATWG HTML, "Server-sent events". Owner: the caller. Not thread safe. */
#ifndef KG_TRIAL_POLICY_SSE_H
#define KG_TRIAL_POLICY_SSE_H

#include "base/buf.h"

struct tr_sse {
    struct kg_buf line, data;
    bool has_data; /* the event has a line of data, perhaps an empty one */
    bool after_cr; /* a LF that comes next belongs to it */
    bool begun;    /* the first line has been seen */
};

/* Gets one event's data [len], NUL behind them. Anything but KG_OK ends the feed with it. */
typedef enum kg_code tr_sse_event(void *user, const char *data, size_t len, struct kg_err *err);

void tr_sse_init(struct tr_sse *s, size_t max_bytes);
void tr_sse_deinit(struct tr_sse *s);
void tr_sse_reset(struct tr_sse *s);
/* Errors: KG_E_LIMIT (a line or an event is longer than max_bytes), those of the event. */
enum kg_code tr_sse_feed(struct tr_sse *s, const char *bytes, size_t n, tr_sse_event *event,
                         void *user, struct kg_err *err) KG_MUST_USE;
/* The stream has ended. */
enum kg_code tr_sse_end(struct tr_sse *s, tr_sse_event *event, void *user,
                        struct kg_err *err) KG_MUST_USE;

#endif
