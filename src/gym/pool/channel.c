/* Frames over a local socket, buffered in both directions. */
#include "gym/pool/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define CHUNK     (256u << 10)
#define FILL_MOST (1u << 20) /* of one peer at a time, so that none keeps the others waiting */

/* Both ends are the same program on the same host: host byte order. */
struct prefix {
    uint32_t kind, head, body; /* bytes of each */
};

void kg_frame_deinit(struct kg_frame *f)
{
    json_decref(f->head);
    free(f->body);
    *f = (struct kg_frame){0};
}

void kg_channel_init(struct kg_channel *c, int fd)
{
    *c = (struct kg_channel){.fd = fd, .most = KG_FRAME_MAX, .ended = fd < 0};
    kg_buf_init(&c->in, 2 * (size_t)KG_FRAME_MAX);
    kg_buf_init(&c->out, KG_CHANNEL_MAX);
}

void kg_channel_deinit(struct kg_channel *c)
{
    if (c->fd >= 0) {
        close(c->fd);
    }
    kg_buf_deinit(&c->in);
    kg_buf_deinit(&c->out);
    c->fd = -1;
    c->ended = true;
}

/* Drops the part that is done, once it is at least half of the buffer: each byte moves once. */
static void compact(struct kg_buf *b, size_t *at)
{
    if (*at == 0 || *at < b->len / 2) {
        return;
    }
    size_t left = b->len - *at;
    memmove(b->data, b->data + *at, left);
    b->len = left;
    b->data[left] = 0;
    *at = 0;
    if (left == 0 && b->cap > 4 * CHUNK) { /* one large frame must not hold its memory for good */
        size_t max = b->max;
        kg_buf_deinit(b);
        kg_buf_init(b, max);
    }
}

bool kg_channel_queue(struct kg_channel *c, enum kg_frame_kind kind, json_t *head, const void *body,
                      size_t len)
{
    struct kg_buf text;
    kg_buf_init(&text, KG_HEAD_MAX);
    kg_json_dump(head, &text);
    json_decref(head);
    bool good = !c->ended && kg_buf_ok(&text) && text.len + len <= KG_FRAME_MAX;
    size_t before = c->out.len;
    if (good) {
        struct prefix p = {(uint32_t)kind, (uint32_t)text.len, (uint32_t)len};
        kg_buf_add(&c->out, &p, sizeof p);
        kg_buf_add(&c->out, text.data, text.len);
        kg_buf_add(&c->out, body, len);
        good = kg_buf_ok(&c->out);
    }
    if (!good) { /* half a frame would break the format */
        c->out.len = before;
        c->out.truncated = false;
        if (c->out.cap > 0) {
            c->out.data[before] = 0;
        }
    }
    kg_buf_deinit(&text);
    return good;
}

void kg_channel_queue_or_end(struct kg_channel *c, enum kg_frame_kind kind, json_t *head,
                             const void *body, size_t len)
{
    c->ended = !kg_channel_queue(c, kind, head, body, len) || c->ended;
}

bool kg_channel_flush(struct kg_channel *c)
{
    while (!c->ended && c->out_at < c->out.len) {
        ssize_t n = send(c->fd, c->out.data + c->out_at, c->out.len - c->out_at,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            c->out_at += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            c->ended = c->unread = true;
        }
    }
    compact(&c->out, &c->out_at);
    return !c->ended && c->out_at < c->out.len;
}

bool kg_channel_send(struct kg_channel *c, enum kg_frame_kind kind, json_t *head, const void *body,
                     size_t len)
{
    if (!kg_channel_queue(c, kind, head, body, len)) {
        return false;
    }
    while (kg_channel_flush(c)) {
        struct pollfd p = {.fd = c->fd, .events = POLLOUT};
        (void)poll(&p, 1, -1);
    }
    return !c->ended;
}

void kg_channel_fill(struct kg_channel *c)
{
    for (size_t done = 0; !c->ended && done < FILL_MOST; done += CHUNK / 4) {
        compact(&c->in, &c->in_at);
        char chunk[CHUNK / 4];
        ssize_t n = recv(c->fd, chunk, sizeof chunk, MSG_DONTWAIT);
        if (n > 0) {
            kg_buf_add(&c->in, chunk, (size_t)n);
            c->ended = !kg_buf_ok(&c->in);
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else {
            c->ended = n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
            return;
        }
        if ((size_t)n < sizeof chunk) {
            return;
        }
    }
}

bool kg_channel_last(struct kg_channel *c)
{
    bool there = c->ended && c->unread;
    c->ended = c->ended && !there;
    c->unread = false;
    return there;
}

bool kg_channel_fill_on(struct kg_channel *c, bool last)
{
    size_t had = c->in.len - c->in_at;
    kg_channel_fill(c);
    return last && !c->ended && c->in.len - c->in_at != had;
}

static bool read_frame(const struct prefix *p, const char *at, struct kg_frame *out)
{
    struct kg_err ignored = KG_ERR_INIT;
    *out = (struct kg_frame){.kind = (enum kg_frame_kind)p->kind, .len = p->body};
    if (kg_json_parse(at, p->head, "frame", &out->head, &ignored) != KG_OK ||
        !json_is_object(out->head)) {
        return false;
    }
    out->body = malloc((size_t)p->body + 1);
    if (!out->body) {
        return false;
    }
    memcpy(out->body, at + p->head, p->body);
    out->body[p->body] = 0;
    return true;
}

bool kg_channel_take(struct kg_channel *c, struct kg_frame *out)
{
    struct prefix p;
    size_t there = c->in.len - c->in_at;
    if (there < sizeof p) {
        return false;
    }
    memcpy(&p, c->in.data + c->in_at, sizeof p);
    if (p.head > KG_HEAD_MAX || (uint64_t)p.head + p.body > c->most) {
        c->ended = true;
        return false;
    }
    size_t whole = sizeof p + p.head + p.body;
    if (there < whole) {
        return false;
    }
    bool good = read_frame(&p, c->in.data + c->in_at + sizeof p, out);
    c->in_at += whole;
    if (!good) {
        kg_frame_deinit(out);
        c->ended = true;
    }
    return good;
}

bool kg_channel_wait(struct kg_channel *c, int timeout_ms, const volatile int *stop,
                     struct kg_frame *out)
{
    int64_t end = kg_clock_ns() + (int64_t)timeout_ms * 1000000;
    while (!kg_channel_take(c, out)) {
        int64_t left = (end - kg_clock_ns() + 999999) / 1000000;
        if (c->ended || (stop && *stop) || (timeout_ms >= 0 && left <= 0)) {
            return false;
        }
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        if (poll(&p, 1, timeout_ms < 0 ? -1 : (int)left) > 0) {
            kg_channel_fill(c);
        }
    }
    return true;
}

json_t *kg_frame_put_error(json_t *head, const struct kg_err *e)
{
    json_t *message = kg_json_text(e->message, strlen(e->message));
    if (json_object_set_new(head, "code", json_integer(e->code)) != 0 ||
        json_object_set_new(head, "blame", json_integer(e->blame)) != 0 ||
        json_object_set(head, "message", message) != 0) {
        json_decref(head);
        head = NULL;
    }
    json_decref(message);
    return head;
}

enum kg_code kg_frame_get_error(const json_t *head, struct kg_err *err)
{
    int64_t code = kg_frame_int(head, "code");
    const char *message = kg_frame_text(head, "message");
    if (code == KG_OK) {
        return KG_OK;
    }
    int64_t blame = kg_frame_int(head, "blame");
    bool known = code > KG_OK && code <= KG_E_FULL;
    kg_fail(err, known ? (enum kg_code)code : KG_E_GYM, "%s", message ? message : "no message");
    if (blame >= KG_BLAME_HOST && blame <= KG_BLAME_CANDIDATE) {
        err->blame = (enum kg_blame)blame;
    }
    return err->code;
}

int64_t kg_frame_int(const json_t *head, const char *key)
{
    return json_integer_value(json_object_get(head, key));
}

const char *kg_frame_text(const json_t *head, const char *key)
{
    return json_string_value(json_object_get(head, key));
}
