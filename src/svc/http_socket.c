/* A connection that goes on in another protocol. libevent 2.1 can't give a connection away, so
 * evhttp keeps it, with a request that is never answered, and its buffers get other callbacks.
 * Freeing the connection frees the request and closes the descriptor. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "svc/http_private.h"

static struct evhttp_connection *connection(const struct kg_svc_exchange *x)
{
    return x->req != NULL ? evhttp_request_get_connection(x->req) : NULL;
}

static struct bufferevent *buffers(const struct kg_svc_exchange *x)
{
    return evhttp_connection_get_bufferevent(connection(x));
}

void kg_svc_socket_end(struct kg_svc_exchange *x)
{
    evhttp_connection_free(connection(x));
    kg_svc_exchange_end(x);
}

void kg_svc_socket_stop(struct kg_svc_exchange *x)
{
    x->socket->gone(x->socket_arg);
    kg_svc_socket_end(x);
}

static void on_readable(struct bufferevent *b, void *arg)
{
    struct kg_svc_exchange *x = arg;
    char piece[16384];
    for (int n; (n = evbuffer_remove(bufferevent_get_input(b), piece, sizeof piece)) > 0;) {
        x->socket->bytes(x->socket_arg, piece, (size_t)n);
    }
}

static void on_drained(struct bufferevent *b, void *arg)
{
    struct kg_svc_exchange *x = arg;
    (void)b;
    x->socket->drained(x->socket_arg);
}

static void on_event(struct bufferevent *b, short what, void *arg)
{
    (void)b;
    if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0) {
        kg_svc_socket_stop(arg);
    }
}

bool kg_svc_socket_begin(struct kg_svc_exchange *x, const struct kg_svc_socket_calls *calls,
                         void *arg)
{
    struct evhttp_connection *c = connection(x);
    if (c == NULL) {
        kg_svc_exchange_end(x);
        return false;
    }
    struct bufferevent *b = buffers(x);
    struct evbuffer *out = bufferevent_get_output(b);
    struct evkeyval *kv;
    evbuffer_add_printf(out, "HTTP/1.1 101 Switching Protocols\r\n");
    TAILQ_FOREACH(kv, evhttp_request_get_output_headers(x->req), next)
    {
        evbuffer_add_printf(out, "%s: %s\r\n", kv->key, kv->value);
    }
    evbuffer_add_printf(out, "\r\n");
    x->socket = calls;
    x->socket_arg = arg;
    evhttp_connection_set_closecb(c, NULL, NULL);
    bufferevent_set_timeouts(b, NULL, NULL);
    bufferevent_setcb(b, on_readable, on_drained, on_event, x);
    bufferevent_enable(b, EV_WRITE);
    kg_svc_socket_read(x, true);
    return true;
}

size_t kg_svc_socket_write(struct kg_svc_exchange *x, const void *bytes, size_t n)
{
    struct evbuffer *out = bufferevent_get_output(buffers(x));
    evbuffer_add(out, bytes, n);
    return evbuffer_get_length(out);
}

void kg_svc_socket_read(struct kg_svc_exchange *x, bool on)
{
    struct bufferevent *b = buffers(x);
    if (on) {
        bufferevent_enable(b, EV_READ);
        bufferevent_trigger(b, EV_READ, BEV_TRIG_DEFER_CALLBACKS); /* for what is there already */
    } else {
        bufferevent_disable(b, EV_READ);
    }
}
