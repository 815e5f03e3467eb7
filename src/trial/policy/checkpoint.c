/* The engine as a policy. Each ask is a conversation of its own, begun from all its ids: what is
 * drawn then depends on the ask alone, and a run that goes on draws the same. */
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "trial/policy/checkpoint_parts.h"

#define MAX_EVENT 256

/* --- landing --- */

static void land(struct tr_checkpoint *c, struct tr_seat *s)
{
    s->reply->usage.seconds = (double)(kg_clock_ns() - s->began_ns) * 1e-9;
    s->state = TR_SEAT_LANDED;
    s->landed = ++c->landed;
}

static void land_without(struct tr_checkpoint *c, struct tr_seat *s, enum kg_code code,
                         const char *why)
{
    s->reply->code = kg_fail(&s->reply->err, code, "%s: %s", c->dir, why);
    s->reply->logprob = NAN;
    land(c, s);
}

static void land_reply(struct tr_checkpoint *c, struct tr_seat *s, enum tr_finish finish)
{
    struct tr_reply *r = s->reply;
    lm_engine_release(c->engine, s->conversation);
    if (s->ids.failed || !kg_buf_ok(&s->text)) {
        land_without(c, s, KG_E_HOST, "no memory for a reply");
        return;
    }
    r->len = s->text.len;
    r->text = kg_buf_detach(&s->text);
    r->finish = finish;
    r->nids = (int)s->ids.n;
    r->ids = malloc((s->ids.n + 1) * sizeof *r->ids);
    if (r->text == NULL || r->ids == NULL) {
        free(r->text);
        r->text = NULL;
        land_without(c, s, KG_E_HOST, "no memory for a reply");
        return;
    }
    memcpy(r->ids, s->ids.id, s->ids.n * sizeof *r->ids);
    r->usage.tokens_out = r->nids;
    land(c, s);
}

/* --- asks --- */

/* Names the draws of an ask within its seed. */
static uint64_t request_of(const struct tr_speaker *who)
{
    char hex[KG_SHA256_HEX];
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    kg_sha256_part(&h, who->problem, strlen(who->problem));
    kg_sha256_part(&h, &who->sample, sizeof who->sample);
    kg_sha256_part(&h, &who->turn, sizeof who->turn);
    kg_sha256_end(&h, hex);
    hex[16] = '\0';
    return strtoull(hex, NULL, 16);
}

/* Begins the draws. A conversation that does not fit lands at once. */
static void begin(struct tr_checkpoint *c, struct tr_seat *s, const struct tr_ask *ask)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_ids ids;
    lm_ids_init(&ids);
    enum kg_code code = tr_checkpoint_context(c, ask->message, ask->n, &ids, &err);
    int64_t most = ask->max_tokens > 0 ? ask->max_tokens : c->sampling.max_tokens;
    int room = c->context - (int)ids.n;
    s->reply->usage.tokens_in = (int64_t)ids.n;
    if (code == KG_OK && (ids.n >= (size_t)c->context || room < 1)) {
        code = kg_fail(&err, KG_E_LIMIT, "the conversation has %zu tokens, the context holds %d",
                       ids.n, c->context);
    }
    if (code == KG_OK) {
        struct lm_turn turn = {.sampling = {.temperature = (float)c->sampling.temperature,
                                            .top_p = (float)c->sampling.top_p,
                                            .n_ids = c->talker.vocab,
                                            .seed = ask->seed},
                               .max_tokens = most < room ? (int)most : room};
        uint64_t request = request_of(&ask->who);
        turn.n_stop = rl_source_stops(&c->talker, turn.stop);
        code = lm_engine_submit(c->engine, ids.id, (int)ids.n, &turn, 1, &request, &s->conversation,
                                &err);
    }
    lm_ids_deinit(&ids);
    if (code != KG_OK) {
        land_without(c, s, code, err.message);
    }
}

static enum kg_code submit(void *self, const struct tr_ask *ask, struct kg_err *err)
{
    struct tr_checkpoint *c = self;
    struct tr_seat *s = NULL;
    for (int i = 0; i < c->parallel && s == NULL; i++) {
        s = c->seat[i].state == TR_SEAT_FREE ? &c->seat[i] : NULL;
    }
    if (s == NULL) {
        return kg_fail(err, KG_E_LIMIT, "checkpoint: %d replies are under way", c->parallel);
    }
    s->reply = calloc(1, sizeof *s->reply);
    if (s->reply == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "checkpoint: no memory for a reply");
    }
    s->reply->tag = ask->tag;
    s->reply->usage.tries = 1;
    s->reply->usage.counted = true;
    s->state = TR_SEAT_DRAWS;
    s->began_ns = kg_clock_ns();
    lm_ids_reset(&s->ids);
    kg_buf_reset(&s->text);
    s->stream = (struct lm_bpe_stream){.n = 0};
    begin(c, s, ask);
    return KG_OK;
}

static int pending(const void *self)
{
    const struct tr_checkpoint *c = self;
    int n = 0;
    for (int i = 0; i < c->parallel; i++) {
        n += c->seat[i].state != TR_SEAT_FREE;
    }
    return n;
}

static int room(const void *self)
{
    return ((const struct tr_checkpoint *)self)->parallel - pending(self);
}

/* --- drawing --- */

/* A stop text ends the reply, which goes up to it. */
static bool stopped(const struct tr_checkpoint *c, struct tr_seat *s, size_t before)
{
    for (int i = 0; i < c->sampling.nstop; i++) {
        size_t n = strlen(c->stop[i]);
        size_t from = before >= n ? before - n : 0;
        char *at = n > 0 ? memmem(s->text.data + from, s->text.len - from, c->stop[i], n) : NULL;
        if (at != NULL) {
            s->text.len = (size_t)(at - s->text.data);
            *at = '\0';
            return true;
        }
    }
    return false;
}

static void take(struct tr_checkpoint *c, const struct lm_event *e)
{
    struct tr_seat *s = NULL;
    for (int i = 0; i < c->parallel && s == NULL; i++) {
        s = c->seat[i].state == TR_SEAT_DRAWS && c->seat[i].conversation == e->conversation
                ? &c->seat[i]
                : NULL;
    }
    if (s == NULL) {
        return;
    }
    size_t before = s->text.len;
    s->reply->logprob += (double)e->logp;
    lm_ids_add(&s->ids, &e->token, 1);
    lm_bpe_stream_push(c->talker.bpe, &s->stream, e->token, true, &s->text);
    bool stop = stopped(c, s, before);
    if (e->finish != LM_GOING && !stop) {
        lm_bpe_stream_end(&s->stream, &s->text);
    }
    if (e->finish != LM_GOING || stop) {
        land_reply(c, s, stop || e->finish == LM_STOP ? TR_STOP : TR_LENGTH);
    }
}

static struct tr_reply *landed(struct tr_checkpoint *c)
{
    struct tr_seat *first = NULL;
    for (int i = 0; i < c->parallel; i++) {
        struct tr_seat *s = &c->seat[i];
        if (s->state == TR_SEAT_LANDED && (first == NULL || s->landed < first->landed)) {
            first = s;
        }
    }
    struct tr_reply *r = first != NULL ? first->reply : NULL;
    if (first != NULL) {
        first->reply = NULL;
        first->state = TR_SEAT_FREE;
        kg_buf_deinit(&first->text);
    }
    return r;
}

/* Waits so long for the descriptor; true: it is readable. */
static bool readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return fd >= 0 && poll(&p, 1, timeout_ms) > 0;
}

static enum kg_code next(void *self, int also_fd, int timeout_ms, struct tr_reply **out,
                         struct kg_err *err)
{
    struct tr_checkpoint *c = self;
    struct lm_event events[MAX_EVENT];
    int64_t until = kg_clock_ns() + (int64_t)timeout_ms * 1000000;
    (void)err;
    for (;;) {
        *out = landed(c);
        if (*out != NULL) {
            return KG_OK;
        }
        if (!lm_engine_busy(c->engine)) {
            (void)readable(also_fd, timeout_ms);
            return KG_OK;
        }
        if (readable(also_fd, 0)) {
            return KG_OK;
        }
        int n = lm_engine_step(c->engine, events, MAX_EVENT);
        for (int i = 0; i < n; i++) {
            take(c, &events[i]);
        }
        if (timeout_ms >= 0 && kg_clock_ns() >= until) {
            *out = landed(c);
            return KG_OK;
        }
    }
}

/* --- the rest of a policy --- */

static int64_t context(const void *self)
{
    return ((const struct tr_checkpoint *)self)->context;
}

static size_t count(void *self, const char *text, size_t len)
{
    return rl_talker_count(&((struct tr_checkpoint *)self)->talker, text, len);
}

static json_t *describe(const void *self)
{
    const struct tr_checkpoint *c = self;
    const struct tr_sampling *s = &c->sampling;
    json_t *stop = json_array();
    for (int i = 0; i < s->nstop; i++) {
        json_array_append_new(stop, kg_json_text(c->stop[i], strlen(c->stop[i])));
    }
    return json_pack("{s:s,s:o,s:o,s:s,s:f,s:f,s:I,s:I,s:o}", "kind", "checkpoint", "model",
                     kg_json_text(c->dir, strlen(c->dir)), "adapter",
                     kg_json_text(c->adapter, strlen(c->adapter)), "template",
                     lm_chat_kind_name(c->talker.chat.kind), "temperature", s->temperature, "top_p",
                     s->top_p, "max_tokens", (json_int_t)s->max_tokens, "context",
                     (json_int_t)c->context, "stop", stop);
}

void tr_checkpoint_close(struct tr_checkpoint *c)
{
    for (int i = 0; c->seat != NULL && i < c->parallel; i++) {
        lm_ids_deinit(&c->seat[i].ids);
        kg_buf_deinit(&c->seat[i].text);
        tr_reply_free(c->seat[i].reply);
    }
    lm_engine_destroy(c->engine);
    lm_model_destroy(c->model);
    lm_threads_destroy(c->threads);
    rl_talker_close(&c->talker);
    for (int i = 0; i < c->sampling.nstop; i++) {
        free(c->stop[i]);
    }
    free(c->seat);
    free(c->dir);
    free(c->adapter);
    free(c);
}

static void close_checkpoint(void *self)
{
    tr_checkpoint_close(self);
}

struct tr_policy tr_checkpoint_policy(struct tr_checkpoint *c)
{
    return (struct tr_policy){.self = c,
                              .submit = submit,
                              .next = next,
                              .room = room,
                              .pending = pending,
                              .context = context,
                              .count = count,
                              .describe = describe,
                              .close = close_checkpoint};
}
