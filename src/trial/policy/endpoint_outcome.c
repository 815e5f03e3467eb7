/* What a request's end means: a reply, another try after a while, or no reply. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "trial/policy/endpoint_parts.h"

int64_t tr_tokens_of(size_t bytes)
{
    return (int64_t)(bytes / 3) + 1;
}

/* --- landing --- */

/* The reply was allocated with the ask, so that landing cannot fail. */
static struct tr_reply *fill(struct tr_flight *f)
{
    struct tr_reply *r = f->reply;
    r->tag = f->tag;
    r->logprob = NAN;
    r->usage.tries = f->tries;
    r->usage.seconds = f->tries > 0 ? (double)(kg_clock_ns() - f->first_ns) * 1e-9 : 0;
    f->state = TR_FLIGHT_LANDED;
    f->landed = ++f->endpoint->landed;
    json_decref(f->body);
    f->body = NULL;
    return r;
}

void tr_land(struct tr_flight *f, enum kg_code code, const char *message)
{
    struct tr_reply *r = fill(f);
    size_t n;
    r->code = kg_fail(&r->err, code, "%s: %s", f->endpoint->base, message);
    n = strlen(r->err.message);
    tr_key_hide(f->endpoint->key, r->err.message, &n);
}

static char *taken(struct kg_buf *b, const char *key, size_t *len)
{
    *len = b->len;
    if (b->len > 0) {
        tr_key_hide(key, b->data, len);
    }
    return kg_buf_detach(b);
}

static void land_reply(struct tr_flight *f)
{
    struct tr_completion *c = &f->got;
    const char *key = f->endpoint->key;
    size_t bytes = c->text.len + c->reasoning.len;
    struct tr_reply *r = fill(f);
    r->text = taken(&c->text, key, &r->len);
    if (c->has_reasoning) {
        r->reasoning = taken(&c->reasoning, key, &r->reasoning_len);
    }
    if (r->text == NULL || (c->has_reasoning && r->reasoning == NULL)) {
        r->code = kg_fail_memory(&r->err, KG_E_HOST, "endpoint: no memory for a reply");
        return;
    }
    r->finish = c->finish;
    r->usage.counted = c->tokens_in >= 0 && c->tokens_out >= 0;
    r->usage.tokens_in = c->tokens_in >= 0 ? c->tokens_in : tr_tokens_of(f->prompt_bytes);
    r->usage.tokens_out = c->tokens_out >= 0 ? c->tokens_out : tr_tokens_of(bytes);
    r->logprob = c->offered ? c->logprob : (double)NAN;
    tr_words_clean(c->model, strlen(c->model), key, r->model, sizeof r->model);
}

/* --- another try --- */

/* The reason is for people; after the last try it is the reply's. */
static void again(struct tr_flight *f, enum kg_code code, double asked_s, const char *why)
{
    struct tr_endpoint *e = f->endpoint;
    int64_t now = kg_clock_ns();
    double patience =
        e->reached || e->patience_s < TR_FIRST_SECONDS ? e->patience_s : (double)TR_FIRST_SECONDS;
    double wait = tr_backoff(f->tries, f->seed, e->patience_s);
    double so_far = (double)(now - f->first_ns) * 1e-9;
    char text[400];
    wait = asked_s > wait ? asked_s : wait;
    f->odd += code == KG_E_INPUT;
    if (f->odd < TR_ODD_TRIES && so_far + wait <= patience) {
        f->due_ns = now + (int64_t)(wait * 1e9);
        f->state = TR_FLIGHT_WAITS;
        if (f->status == 429 && asked_s >= 0 && f->due_ns > e->hold_ns) {
            e->hold_ns = f->due_ns; /* a limit of the rate is that of all */
        }
        return;
    }
    if (asked_s >= 0 && asked_s > patience - so_far) {
        snprintf(text, sizeof text, "%.260s; it asks to wait %.0f s, patience ends after %.0f s",
                 why, asked_s, patience);
    } else {
        snprintf(text, sizeof text, "%.300s (asked %d times in %.1f s)", why, f->tries, so_far);
    }
    tr_land(f, code, text);
}

void tr_transport_words(const struct tr_endpoint *e, CURLcode result, bool *never, char *out,
                        size_t cap)
{
    bool trust = result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE ||
                 result == CURLE_SSL_ISSUER_ERROR;
    *never = trust || result == CURLE_URL_MALFORMAT;
    if (trust) {
        snprintf(out, cap,
                 "its certificate is not trusted (%s): $SSL_CERT_FILE names a file of certificates "
                 "that are",
                 e->curl->easy_strerror(result));
    } else {
        snprintf(out, cap, "%s", e->curl->easy_strerror(result));
    }
}

/* --- kinds of ends --- */

static double asked_wait(const struct tr_flight *f)
{
    time_t now = (time_t)(kg_clock_wall_ms() / 1000);
    return tr_retry_after(f->retry_after, (int64_t)f->endpoint->curl->getdate(f->retry_after, NULL),
                          (int64_t)now);
}

/* An error of HTTP, or one within an answer. */
static void on_refusal(struct tr_flight *f)
{
    struct tr_endpoint *e = f->endpoint;
    struct tr_words w;
    char text[400];
    tr_words_read(f->raw.data, f->raw.len, f->got.error, e->key, &w);
    int status = f->form == TR_FORM_ERROR ? f->status : w.status != 0 ? w.status : 500;
    enum tr_fate fate = tr_refusal_fate(status, &w);
    if (fate == TR_NEVER && tr_request_without(e, f->sent_without, status, &w)) {
        f->due_ns = kg_clock_ns();
        f->state = TR_FLIGHT_WAITS;
        return;
    }
    snprintf(text, sizeof text, "it %s (HTTP %d)%s%s%s",
             status == 401 && *e->key == '\0' ? "asks for a key ($OPENAI_API_KEY, --key-file)"
             : status == 401 || status == 403 ? "refuses the key"
             : status >= 300 && status < 400  ? "sends to another address, which must be named"
             : fate == TR_FULL                ? "says that the conversation is too long"
                                              : "refuses the request",
             status, w.text[0] != '\0' ? ": " : "", w.text,
             status == 404 && f->tries == 1 ? "; is the URL right, is the model's name?" : "");
    if (fate == TR_AGAIN) {
        again(f, KG_E_IO, asked_wait(f), text);
    } else {
        tr_land(f, fate == TR_FULL ? KG_E_LIMIT : KG_E_USAGE, text);
    }
}

static void on_wrong_type(struct tr_flight *f)
{
    struct tr_words w;
    char type[80], text[400];
    tr_words_read(f->raw.data, f->raw.len, NULL, f->endpoint->key, &w);
    tr_words_clean(f->type, strlen(f->type), f->endpoint->key, type, sizeof type);
    snprintf(text, sizeof text,
             "it answers with `%s`, which is no chat completion: is the URL that of an "
             "OpenAI-compatible server? It says: %.120s",
             type, w.text);
    again(f, KG_E_INPUT, -1, text);
}

/* Below HTTP: not reached, cut off, silent. */
static void on_transport(struct tr_flight *f, CURLcode result, bool timed_out)
{
    bool never = false;
    char text[300];
    if (timed_out) {
        snprintf(text, sizeof text, "it was silent for too long (%s)",
                 f->bytes > 0 ? "in the middle of a reply" : "not a byte came");
    } else if (result == CURLE_OK) {
        snprintf(text, sizeof text, "%s",
                 f->got.aborted ? "it gave the reply up" : "the stream ended before the reply did");
    } else if (result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_WEIRD_SERVER_REPLY) {
        again(f, KG_E_INPUT, -1, "what answers does not speak HTTP");
        return;
    } else {
        tr_transport_words(f->endpoint, result, &never, text, sizeof text);
    }
    if (never) {
        tr_land(f, KG_E_USAGE, text);
    } else {
        again(f, KG_E_IO, -1, text);
    }
}

void tr_outcome(struct tr_flight *f, CURLcode result, bool timed_out)
{
    tr_transfer_read(f, result == CURLE_OK && !timed_out);
    tr_transfer_end(f);
    bool answer = f->form == TR_FORM_EVENTS || f->form == TR_FORM_JSON;
    if (answer && tr_completion_whole(&f->got)) {
        land_reply(f); /* also when what follows its end is lost: it is paid for */
    } else if (f->got.error != NULL || f->form == TR_FORM_ERROR) {
        on_refusal(f);
    } else if (f->trouble.code != KG_OK) {
        again(f, KG_E_INPUT, -1, f->trouble.message);
    } else if (f->form == TR_FORM_WRONG) {
        on_wrong_type(f);
    } else {
        on_transport(f, result, timed_out);
    }
}
