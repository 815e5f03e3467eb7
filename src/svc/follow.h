/* Follows the events of a service (GET /v1/events as server-sent events) from now on. Callbacks
 * come in the loop of event_base. A stream that ends is not opened again by itself: whoever follows
 * decides when, and looks at what may have happened meanwhile. */
#ifndef KG_SVC_FOLLOW_H
#define KG_SVC_FOLLOW_H

#include "base/json.h"

struct event_base;
struct kg_svc_follow;

struct kg_svc_follow_calls {
    void (*begun)(void *ctx); /* from here on nothing is missed */
    /* {"seq", "time", "id", "type", "detail"}; borrowed. */
    void (*event)(void *ctx, const json_t *event);
    void (*ended)(void *ctx, int status); /* status 0: no answer came, or the connection broke */
    void *ctx;
};

/* token NULL: none. calls is copied. Errors: HOST (memory). */
enum kg_code kg_svc_follow_open(struct event_base *base, const char *host, int port,
                                const char *token, const struct kg_svc_follow_calls *calls,
                                struct kg_svc_follow **out, struct kg_err *err) KG_MUST_USE;
/* Asks for the stream. Once more only after `ended`, which always comes. */
void kg_svc_follow_start(struct kg_svc_follow *f);
/* No callback comes any more. NULL is nothing. */
void kg_svc_follow_close(struct kg_svc_follow *f);

#endif
