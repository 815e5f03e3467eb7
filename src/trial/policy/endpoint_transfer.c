/* One request: what is sent, and what is done with each byte that comes. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "trial/policy/endpoint_parts.h"

#define MAX_LINE   (4u << 20)
#define MAX_ERROR  (64u << 10)
#define CONNECT_MS 30000
#define MAX_STREAM ((size_t)1 << 30) /* bytes of a stream; a token has about 200 */

void tr_flight_init(struct tr_endpoint *e, struct tr_flight *f)
{
    *f = (struct tr_flight){.endpoint = e, .state = TR_FLIGHT_FREE};
    kg_buf_init(&f->sent, 1);
    tr_sse_init(&f->sse, MAX_LINE);
    tr_completion_init(&f->got);
    kg_buf_init(&f->raw, TR_ANSWER_MAX);
}

void tr_flight_clear(struct tr_flight *f)
{
    kg_buf_deinit(&f->sent);
    tr_sse_deinit(&f->sse);
    tr_completion_reset(&f->got);
    kg_buf_deinit(&f->raw);
}

void tr_flight_deinit(struct tr_flight *f)
{
    tr_transfer_end(f);
    tr_flight_clear(f);
    json_decref(f->body);
    tr_reply_free(f->reply);
}

/* --- what comes --- */

/* The value of a header line, without spaces around it; false: another header. */
static bool header_is(const char *line, size_t n, const char *name, char *out, size_t cap)
{
    size_t len = strlen(name);
    if (n <= len || strncasecmp(line, name, len) != 0 || line[len] != ':') {
        return false;
    }
    line += len + 1;
    n -= len + 1;
    while (n > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        n--;
    }
    while (n > 0 && strchr(" \t\r\n", line[n - 1]) != NULL) {
        n--;
    }
    n = n < cap - 1 ? n : cap - 1;
    memcpy(out, line, n);
    out[n] = '\0';
    return true;
}

/* A status line begins the headers of an answer; those of an earlier one (100 Continue) go. */
static size_t on_header(char *line, size_t size, size_t count, void *user)
{
    struct tr_flight *f = user;
    size_t n = size * count;
    f->byte_ns = kg_clock_ns();
    f->endpoint->reached = true;
    if (n > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
        f->type[0] = f->retry_after[0] = '\0';
    } else if (!header_is(line, n, "content-type", f->type, sizeof f->type)) {
        header_is(line, n, "retry-after", f->retry_after, sizeof f->retry_after);
    }
    return n;
}

static bool type_is(const char *type, const char *name)
{
    size_t n = strlen(name);
    return strncasecmp(type, name, n) == 0 && (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

static void choose_form(struct tr_flight *f)
{
    const struct tr_curl *c = f->endpoint->curl;
    long status = 0;
    c->easy_getinfo(f->easy, CURLINFO_RESPONSE_CODE, &status);
    f->status = (int)status;
    if (status == 0) {
        return;
    }
    if (status < 200 || status >= 300) {
        f->form = TR_FORM_ERROR;
    } else if (type_is(f->type, "text/event-stream")) {
        f->form = TR_FORM_EVENTS;
    } else if (type_is(f->type, "application/json")) {
        f->form = TR_FORM_JSON;
    } else if (f->type[0] == '\0') {
        f->form = f->endpoint->stream ? TR_FORM_EVENTS : TR_FORM_JSON;
    } else {
        f->form = TR_FORM_WRONG;
    }
}

static enum kg_code on_event(void *user, const char *data, size_t len, struct kg_err *err)
{
    struct tr_flight *f = user;
    size_t had = f->got.text.len + f->got.reasoning.len;
    bool whole = tr_completion_whole(&f->got);
    enum kg_code code = tr_completion_event(&f->got, data, len, err);
    if (f->got.text.len + f->got.reasoning.len > had || tr_completion_whole(&f->got) != whole) {
        f->gain_ns = kg_clock_ns();
    }
    return code;
}

/* Servers keep a connection open with empty lines before a whole body. */
static void take_json(struct tr_flight *f, const char *bytes, size_t n)
{
    size_t at = 0;
    while (f->raw.len == 0 && at < n && strchr(" \t\r\n", bytes[at]) != NULL && bytes[at] != '\0') {
        at++;
    }
    if (at < n) {
        f->gain_ns = f->byte_ns;
        kg_buf_add(&f->raw, bytes + at, n - at);
    }
    if (!kg_buf_ok(&f->raw)) {
        kg_fail(&f->trouble, KG_E_LIMIT, "the answer is longer than %u MB", TR_ANSWER_MAX >> 20);
    }
}

/* 0 ends the transfer, with trouble or without: of an error the beginning is enough. */
static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct tr_flight *f = user;
    size_t n = size * count;
    f->byte_ns = kg_clock_ns();
    f->bytes += n;
    if (f->form == TR_FORM_OPEN) {
        choose_form(f);
    }
    if (f->form == TR_FORM_EVENTS) {
        if (f->bytes > MAX_STREAM) {
            kg_fail(&f->trouble, KG_E_LIMIT, "the stream is longer than %zu MB", MAX_STREAM >> 20);
        } else if (tr_sse_feed(&f->sse, bytes, n, on_event, f, &f->trouble) != KG_OK) {
            return 0;
        }
    } else if (f->form == TR_FORM_JSON) {
        take_json(f, bytes, n);
    } else {
        size_t room = f->raw.len < MAX_ERROR ? MAX_ERROR - f->raw.len : 0;
        kg_buf_add(&f->raw, bytes, n < room ? n : room);
        return n <= room ? n : 0;
    }
    return f->trouble.code == KG_OK ? n : 0;
}

void tr_transfer_read(struct tr_flight *f, bool to_the_end)
{
    if (f->form == TR_FORM_OPEN && f->bytes == 0) {
        choose_form(f); /* an answer without a body */
    }
    if (f->trouble.code != KG_OK || !to_the_end) {
        return;
    }
    if (f->form == TR_FORM_EVENTS) {
        (void)!tr_sse_end(&f->sse, on_event, f, &f->trouble);
    } else if (f->form == TR_FORM_JSON) {
        (void)!tr_completion_body(&f->got, f->raw.data, f->raw.len, &f->trouble);
    }
}

/* --- what is sent --- */

void tr_transfer_set(const struct tr_endpoint *e, CURL *easy, const char *url)
{
    const struct tr_curl *c = e->curl;
    const char *trusted = getenv("SSL_CERT_FILE");
    c->easy_setopt(easy, CURLOPT_URL, url);
    c->easy_setopt(easy, CURLOPT_HTTPHEADER, e->headers);
    c->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    c->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   e->timeout_s * 1000 < CONNECT_MS ? (long)(e->timeout_s * 1000) : CONNECT_MS);
    if (trusted != NULL && *trusted != '\0') {
        c->easy_setopt(easy, CURLOPT_CAINFO, trusted);
    }
}

enum kg_code tr_transfer_begin(struct tr_flight *f, struct kg_err *err)
{
    struct tr_endpoint *e = f->endpoint;
    const struct tr_curl *c = e->curl;
    tr_request_text(e, f->body, &f->sent);
    f->sent_without = e->without;
    f->easy = kg_buf_ok(&f->sent) ? c->easy_init() : NULL;
    if (f->easy == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "endpoint: no memory for a request");
    }
    tr_transfer_set(e, f->easy, e->url);
    c->easy_setopt(f->easy, CURLOPT_POSTFIELDS, f->sent.data);
    c->easy_setopt(f->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)f->sent.len);
    c->easy_setopt(f->easy, CURLOPT_HEADERFUNCTION, on_header);
    c->easy_setopt(f->easy, CURLOPT_HEADERDATA, f);
    c->easy_setopt(f->easy, CURLOPT_WRITEFUNCTION, on_body);
    c->easy_setopt(f->easy, CURLOPT_WRITEDATA, f);
    c->easy_setopt(f->easy, CURLOPT_PRIVATE, f);
    f->form = TR_FORM_OPEN;
    f->status = 0;
    f->bytes = 0;
    f->type[0] = f->retry_after[0] = '\0';
    f->trouble = (struct kg_err)KG_ERR_INIT;
    f->byte_ns = f->gain_ns = kg_clock_ns();
    f->tries++;
    tr_sse_reset(&f->sse);
    tr_completion_reset(&f->got);
    kg_buf_reset(&f->raw);
    if (c->multi_add_handle(e->multi, f->easy) != CURLM_OK) {
        return kg_fail_memory(err, KG_E_HOST, "endpoint: libcurl takes no further request");
    }
    f->state = TR_FLIGHT_FLIES;
    return KG_OK;
}

void tr_transfer_end(struct tr_flight *f)
{
    const struct tr_curl *c = f->endpoint->curl;
    if (f->easy != NULL) {
        (void)c->multi_remove_handle(f->endpoint->multi, f->easy);
        c->easy_cleanup(f->easy);
        f->easy = NULL;
    }
    kg_buf_deinit(&f->sent);
    kg_buf_init(&f->sent, 1);
}
