/* Requests under way at once over libcurl's multi interface: each ask has a flight, which is sent,
 * ends, waits for its next try, and lands with a reply. */
#include "trial/policy/endpoint_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define LONGEST_WAIT_MS 60000

/* --- asks --- */

static enum kg_code submit(void *self, const struct tr_ask *ask, struct kg_err *err)
{
    struct tr_endpoint *e = self;
    struct tr_flight *f = NULL;
    for (int i = 0; i < e->parallel && f == NULL; i++) {
        f = e->flight[i].state == TR_FLIGHT_FREE ? &e->flight[i] : NULL;
    }
    if (f == NULL) {
        return kg_fail(err, KG_E_LIMIT, "endpoint: %d requests are under way", e->parallel);
    }
    if (tr_request_make(e, ask, &f->body, &f->prompt_bytes, err) != KG_OK) {
        return err->code;
    }
    f->reply = calloc(1, sizeof *f->reply);
    if (f->reply == NULL) {
        json_decref(f->body);
        f->body = NULL;
        return kg_fail_memory(err, KG_E_HOST, "endpoint: no memory for a reply");
    }
    f->state = TR_FLIGHT_WAITS;
    f->tag = ask->tag;
    f->seed = tr_request_seed(ask);
    f->due_ns = 0;
    f->tries = f->odd = 0;
    return KG_OK;
}

static int pending(const void *self)
{
    const struct tr_endpoint *e = self;
    int n = 0;
    for (int i = 0; i < e->parallel; i++) {
        n += e->flight[i].state != TR_FLIGHT_FREE;
    }
    return n;
}

static int room(const void *self)
{
    return ((const struct tr_endpoint *)self)->parallel - pending(self);
}

/* --- steps of the loop --- */

static void last_call(void *self)
{
    ((struct tr_endpoint *)self)->last_call = true;
}

static void land_waiting(struct tr_endpoint *e)
{
    for (int i = 0; i < e->parallel; i++) {
        if (e->flight[i].state == TR_FLIGHT_WAITS) {
            tr_land(&e->flight[i], KG_E_CANCELLED, "not asked: the run ends");
        }
    }
}

static void send_due(struct tr_endpoint *e)
{
    int64_t now = kg_clock_ns();
    for (int i = 0; i < e->parallel && now >= e->hold_ns; i++) {
        struct tr_flight *f = &e->flight[i];
        struct kg_err err = KG_ERR_INIT;
        if (f->state != TR_FLIGHT_WAITS || f->due_ns > now) {
            continue;
        }
        f->first_ns = f->tries == 0 ? now : f->first_ns;
        if (tr_transfer_begin(f, &err) != KG_OK) {
            tr_transfer_end(f);
            tr_land(f, err.code, err.message);
        }
    }
}

static void take_ended(struct tr_endpoint *e)
{
    int left;
    for (CURLMsg *m; (m = e->curl->multi_info_read(e->multi, &left)) != NULL;) {
        if (m->msg == CURLMSG_DONE) {
            struct tr_flight *f = NULL;
            CURLcode result = m->data.result; /* m ends with the handle */
            e->curl->easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &f);
            tr_outcome(f, result, false);
        }
    }
}

/* When a flight counts as silent. */
static int64_t silent_at(const struct tr_endpoint *e, const struct tr_flight *f)
{
    int64_t by_byte = f->byte_ns + (int64_t)(e->timeout_s * 1e9);
    int64_t by_gain = f->gain_ns + (int64_t)(e->patience_s * 1e9);
    return by_byte < by_gain ? by_byte : by_gain;
}

static void end_silent(struct tr_endpoint *e)
{
    int64_t now = kg_clock_ns();
    for (int i = 0; i < e->parallel; i++) {
        struct tr_flight *f = &e->flight[i];
        if (f->state == TR_FLIGHT_FLIES && now >= silent_at(e, f)) {
            tr_outcome(f, CURLE_OPERATION_TIMEDOUT, true);
        }
    }
}

static struct tr_reply *landed(struct tr_endpoint *e)
{
    struct tr_flight *first = NULL;
    for (int i = 0; i < e->parallel; i++) {
        struct tr_flight *f = &e->flight[i];
        if (f->state == TR_FLIGHT_LANDED && (first == NULL || f->landed < first->landed)) {
            first = f;
        }
    }
    struct tr_reply *r = first != NULL ? first->reply : NULL;
    if (first != NULL) {
        tr_flight_clear(first);
        first->reply = NULL;
        first->state = TR_FLIGHT_FREE;
    }
    return r;
}

/* Until the next thing to do by the clock, at most until_ns. */
static int wait_ms(const struct tr_endpoint *e, int64_t until_ns)
{
    int64_t now = kg_clock_ns(), next = now + (int64_t)LONGEST_WAIT_MS * 1000000;
    next = until_ns >= 0 && until_ns < next ? until_ns : next;
    for (int i = 0; i < e->parallel; i++) {
        const struct tr_flight *f = &e->flight[i];
        int64_t at = f->state == TR_FLIGHT_FLIES                             ? silent_at(e, f)
                     : f->state == TR_FLIGHT_WAITS && f->due_ns > e->hold_ns ? f->due_ns
                     : f->state == TR_FLIGHT_WAITS                           ? e->hold_ns
                                                                             : next;
        next = at < next ? at : next;
    }
    return next <= now ? 0 : (int)((next - now + 999999) / 1000000);
}

/* Time in which this process stood still is not the endpoint's silence. */
static void forgive(struct tr_endpoint *e, int64_t lost_ns)
{
    for (int i = 0; lost_ns > 0 && i < e->parallel; i++) {
        e->flight[i].byte_ns += lost_ns;
        e->flight[i].gain_ns += lost_ns;
    }
}

static enum kg_code next(void *self, int also_fd, int timeout_ms, struct tr_reply **out,
                         struct kg_err *err)
{
    struct tr_endpoint *e = self;
    int64_t until = timeout_ms < 0 ? -1 : kg_clock_ns() + (int64_t)timeout_ms * 1000000;
    for (*out = NULL;;) {
        int running, ready = 0;
        if (e->last_call) {
            land_waiting(e);
        } else {
            send_due(e);
        }
        CURLMcode code = e->curl->multi_perform(e->multi, &running);
        if (code != CURLM_OK) {
            return kg_fail(err, KG_E_HOST, "endpoint: libcurl: %s", e->curl->multi_strerror(code));
        }
        take_ended(e);
        end_silent(e);
        *out = landed(e);
        if (*out != NULL || (also_fd < 0 && pending(e) == 0)) {
            break;
        }
        int ms = wait_ms(e, until);
        int64_t began = kg_clock_ns();
        struct curl_waitfd also = {.fd = also_fd, .events = CURL_WAIT_POLLIN};
        code = e->curl->multi_poll(e->multi, &also, also_fd >= 0, ms, &ready);
        forgive(e, kg_clock_lost(began, (int64_t)ms * 1000000));
        if (code != CURLM_OK) {
            return kg_fail(err, KG_E_HOST, "endpoint: libcurl: %s", e->curl->multi_strerror(code));
        }
        if ((also_fd >= 0 && also.revents != 0) || (until >= 0 && kg_clock_ns() >= until)) {
            break;
        }
    }
    return KG_OK;
}

/* --- the rest of a policy --- */

static int64_t context(const void *self)
{
    return ((const struct tr_endpoint *)self)->sampling.context;
}

static size_t count(void *self, const char *text, size_t len)
{
    (void)self;
    (void)text;
    return (size_t)tr_tokens_of(len);
}

static json_t *describe(const void *self)
{
    const struct tr_endpoint *e = self;
    const struct tr_sampling *s = &e->sampling;
    json_t *stop = json_array();
    for (int i = 0; i < s->nstop; i++) {
        json_array_append_new(stop, kg_json_text(e->stop[i], strlen(e->stop[i])));
    }
    return json_pack("{s:s,s:s,s:o,s:f,s:f,s:I,s:o,s:b}", "kind", "endpoint", "url", e->base,
                     "model", kg_json_text(e->model, strlen(e->model)), "temperature",
                     s->temperature, "top_p", s->top_p, "max_tokens", (json_int_t)s->max_tokens,
                     "stop", stop, "logprobs", (int)s->logprobs);
}

static void close_endpoint(void *self)
{
    struct tr_endpoint *e = self;
    for (int i = 0; e->flight != NULL && i < e->parallel; i++) {
        tr_flight_deinit(&e->flight[i]);
    }
    if (e->multi != NULL) {
        (void)e->curl->multi_cleanup(e->multi);
    }
    for (struct curl_slist *h = e->headers; h != NULL; h = h->next) {
        explicit_bzero(h->data, strlen(h->data));
    }
    if (e->headers != NULL) {
        e->curl->slist_free_all(e->headers);
    }
    if (e->key != NULL) {
        explicit_bzero(e->key, strlen(e->key));
    }
    for (int i = 0; i < e->sampling.nstop; i++) {
        free(e->stop[i]);
    }
    free(e->key);
    free(e->flight);
    free(e->base);
    free(e->url);
    free(e->model);
    free(e);
}

/* --- opening --- */

static bool add_header(struct tr_endpoint *e, const char *line)
{
    struct curl_slist *list = e->curl->slist_append(e->headers, line);
    e->headers = list != NULL ? list : e->headers;
    return list != NULL;
}

static enum kg_code add_headers(struct tr_endpoint *e, struct kg_err *err)
{
    char *line = NULL;
    bool ok = add_header(e, "Content-Type: application/json") &&
              add_header(e, "Accept: application/json, text/event-stream") &&
              add_header(e, "Expect:") && add_header(e, "User-Agent: kgym");
    if (ok && e->key[0] != '\0') {
        ok = asprintf(&line, "Authorization: Bearer %s", e->key) >= 0 && add_header(e, line);
        if (line != NULL) {
            explicit_bzero(line, strlen(line));
            free(line);
        }
    }
    return ok ? KG_OK : kg_fail_memory(err, KG_E_HOST, "endpoint: no memory");
}

static enum kg_code copy_options(struct tr_endpoint *e, const struct tr_policy_options *o,
                                 struct kg_err *err)
{
    bool ok = true;
    e->sampling = o->sampling;
    for (int i = 0; i < o->sampling.nstop; i++) {
        e->stop[i] = strdup(o->sampling.stop[i]);
        ok = ok && e->stop[i] != NULL;
    }
    e->timeout_s = o->timeout_s;
    e->patience_s = o->patience_s;
    e->stream = o->stream;
    e->cancel = o->cancel;
    e->flight = calloc((size_t)o->parallel, sizeof *e->flight);
    for (int i = 0; e->flight != NULL && i < o->parallel; i++) {
        tr_flight_init(e, &e->flight[i]);
    }
    e->parallel = o->parallel;
    e->model = o->model != NULL ? strdup(o->model) : NULL;
    ok = ok && e->flight != NULL && (o->model == NULL || e->model != NULL);
    return ok ? KG_OK : kg_fail_memory(err, KG_E_HOST, "endpoint: no memory");
}

static enum kg_code open_multi(struct tr_endpoint *e, struct kg_err *err)
{
    e->multi = e->curl->multi_init();
    if (e->multi == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "endpoint: libcurl has no memory");
    }
    e->curl->multi_setopt(e->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)e->parallel);
    e->curl->multi_setopt(e->multi, CURLMOPT_MAXCONNECTS, (long)e->parallel);
    return KG_OK;
}

enum kg_code tr_endpoint_open(const char *url, const struct tr_policy_options *o,
                              struct tr_policy *out, struct kg_err *err)
{
    struct tr_endpoint *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "endpoint: no memory");
    }
    enum kg_code code = tr_endpoint_url(url, e, err);
    code = code != KG_OK ? code : tr_curl_load(&e->curl, err);
    code = code != KG_OK ? code : tr_endpoint_key(o->key_file, e, err);
    code = code != KG_OK ? code : copy_options(e, o, err);
    code = code != KG_OK ? code : add_headers(e, err);
    code = code != KG_OK ? code : open_multi(e, err);
    code = code != KG_OK || e->model != NULL ? code : tr_endpoint_models(e, err);
    if (code != KG_OK) {
        close_endpoint(e);
        return code;
    }
    *out = (struct tr_policy){.self = e,
                              .submit = submit,
                              .next = next,
                              .last_call = last_call,
                              .room = room,
                              .pending = pending,
                              .context = context,
                              .count = count,
                              .describe = describe,
                              .close = close_endpoint};
    return KG_OK;
}
