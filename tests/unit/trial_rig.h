/* What tests of trials share: a policy whose replies come from a function of the test's, and a pool
 * that judges quickly. */
#ifndef KG_TESTS_TRIAL_RIG_H
#define KG_TESTS_TRIAL_RIG_H

#include "kgym_rig.h"

#include <math.h>
#include <poll.h>

#include "trial/drive/drive.h"

#define good(call) assert_int_equal(call, KG_OK)

static struct kg_err err = KG_ERR_INIT;

/* Answers at once, in the order of the asks. */
struct stub {
    struct tr_reply *queue[64];
    int n, most, room; /* most: that were under way at once */
    int asks;
    void (*answer)(struct stub *s, const struct tr_ask *ask, struct tr_reply *reply);
    int late; /* calls of next that give nothing first */
    char last[1 << 16];
    int last_messages;
    const char *model;
};

static inline void stub_say(struct tr_reply *r, const char *text)
{
    r->text = strdup(text);
    r->len = strlen(text);
}

static inline enum kg_code stub_submit(void *self, const struct tr_ask *ask, struct kg_err *e)
{
    struct stub *s = self;
    struct tr_reply *r = calloc(1, sizeof *r);
    (void)e;
    assert_true(r != NULL && s->n < s->room);
    r->tag = ask->tag;
    r->usage = (struct tr_usage){.tokens_in = 100, .tokens_out = 10, .counted = true, .tries = 1};
    r->logprob = (double)NAN;
    snprintf(r->model, sizeof r->model, "%s", s->model ? s->model : "stub");
    snprintf(s->last, sizeof s->last, "%.*s", (int)ask->message[ask->n - 1].len,
             ask->message[ask->n - 1].text);
    s->last_messages = ask->n;
    s->asks++;
    s->answer(s, ask, r);
    s->queue[s->n++] = r;
    s->most = s->n > s->most ? s->n : s->most;
    return KG_OK;
}

static inline enum kg_code stub_next(void *self, int fd, int timeout_ms, struct tr_reply **out,
                                     struct kg_err *e)
{
    struct stub *s = self;
    (void)e;
    *out = NULL;
    if (s->n == 0 || s->late > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        s->late -= s->late > 0;
        poll(&p, 1, timeout_ms < 0 || timeout_ms > 10 ? 10 : timeout_ms);
        return KG_OK;
    }
    *out = s->queue[0];
    memmove(s->queue, s->queue + 1, (size_t)--s->n * sizeof s->queue[0]);
    return KG_OK;
}

static inline int stub_room(const void *self)
{
    const struct stub *s = self;
    return s->room - s->n;
}

static inline int stub_pending(const void *self)
{
    return ((const struct stub *)self)->n;
}

static inline int64_t stub_context(const void *self)
{
    (void)self;
    return 0;
}

static inline size_t stub_count(void *self, const char *text, size_t len)
{
    (void)self;
    (void)text;
    return len / 3;
}

static inline struct tr_policy stub_policy(struct stub *s)
{
    s->room = s->room > 0 ? s->room : 8;
    return (struct tr_policy){.self = s,
                              .submit = stub_submit,
                              .next = stub_next,
                              .room = stub_room,
                              .pending = stub_pending,
                              .context = stub_context,
                              .count = stub_count};
}

static inline void stub_drop(struct stub *s)
{
    for (int i = 0; i < s->n; i++) {
        tr_reply_free(s->queue[i]);
    }
    s->n = 0;
}

static inline struct kgym_pool *trial_pool(void)
{
    static const char *const quick[] = {"stage.timing=false"};
    const struct kgym_options o = {.size = sizeof o, .settings = quick, .nsettings = 1};
    struct kgym_pool *pool = NULL;
    struct kgym_error why;
    setenv("KGYM_PROGRAM", getenv("K"), 1);
    if (kgym_open(&o, &pool, &why) != KGYM_OK) {
        fail_msg("%s", why.message);
    }
    return pool;
}

/* A reply with the shipped candidate of a problem: "fast" or "wrong". */
static inline void trial_candidate(struct kg_buf *out, const char *problem, const char *kind)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s.%s.c", getenv("P"), problem, kind);
    kg_buf_adds(out, "Here it is:\n```c\n");
    good(kg_file_read(path, out, &err));
    kg_buf_adds(out, "\n```\n");
}

#endif
