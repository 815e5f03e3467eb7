/* The insides of endpoint.h: an endpoint, its requests under way, and what each file does to them.
 * Private to endpoint*.c. Not thread safe. */
#ifndef KG_TRIAL_POLICY_ENDPOINT_PARTS_H
#define KG_TRIAL_POLICY_ENDPOINT_PARTS_H

#include "trial/policy/completion.h"
#include "trial/policy/curl_api.h"
#include "trial/policy/endpoint.h"
#include "trial/policy/refusal.h"
#include "trial/policy/sse.h"

enum tr_flight_state { TR_FLIGHT_FREE, TR_FLIGHT_WAITS, TR_FLIGHT_FLIES, TR_FLIGHT_LANDED };

/* How the body of an answer is read. */
enum tr_form { TR_FORM_OPEN, TR_FORM_EVENTS, TR_FORM_JSON, TR_FORM_ERROR, TR_FORM_WRONG };

struct tr_endpoint;

/* An ask, from submit until its reply is taken. */
struct tr_flight {
    struct tr_endpoint *endpoint;
    enum tr_flight_state state;
    uint64_t tag, seed;
    json_t *body;           /* the request without what the endpoint does not know; owned */
    size_t prompt_bytes;    /* of all messages */
    char problem[128];      /* for messages */
    int64_t first_ns;       /* of the first try */
    int64_t due_ns;         /* of the next try */
    uint64_t landed;        /* its place among those that have landed */
    int tries, odd;         /* requests sent; answers that were no chat completion */
    struct tr_reply *reply; /* empty until it has landed; owned */

    /* of one try */
    CURL *easy;
    struct kg_buf sent;
    unsigned sent_without; /* what the request left out */
    enum tr_form form;
    int status;
    char type[80]; /* of the content */
    char retry_after[80];
    int64_t byte_ns; /* the last byte came */
    int64_t gain_ns; /* the last piece of a reply came */
    size_t bytes;
    struct tr_sse sse;
    struct tr_completion got;
    struct kg_buf raw;     /* of a body that is no stream */
    struct kg_err trouble; /* of reading the body */
};

/* Parameters that an endpoint does not know. */
enum tr_without { TR_NO_SEED = 1, TR_NO_STREAM_OPTIONS = 2, TR_NO_MAX_TOKENS = 4 };

struct tr_endpoint {
    const struct tr_curl *curl;
    CURLM *multi;
    struct curl_slist *headers;
    char *base; /* URL without the last parts */
    char *url;  /* of chat completions */
    char *model;
    char *key; /* "" */
    char *stop[4];
    struct tr_sampling sampling; /* its stop is not used */
    double timeout_s, patience_s;
    bool stream;
    const volatile int *cancel;
    bool reached;     /* some answer of HTTP has come */
    bool last_call;   /* nothing is sent any more */
    unsigned without; /* enum tr_without */
    int64_t hold_ns;  /* nothing is sent before; 0: no such time */
    uint64_t landed;
    int parallel;
    struct tr_flight *flight; /* [parallel] */
};

/* --- endpoint_url.c --- */

/* Fills base and url of e. KG_E_USAGE; the message repeats nothing behind a user part. */
enum kg_code tr_endpoint_url(const char *text, struct tr_endpoint *e,
                             struct kg_err *err) KG_MUST_USE;
/* Fills the key of e. file NULL: $OPENAI_API_KEY. */
enum kg_code tr_endpoint_key(const char *file, struct tr_endpoint *e,
                             struct kg_err *err) KG_MUST_USE;

/* --- endpoint_request.c --- */

/* The body of an ask; the caller's. KG_E_HOST. */
enum kg_code tr_request_make(const struct tr_endpoint *e, const struct tr_ask *ask, json_t **out,
                             size_t *prompt_bytes, struct kg_err *err) KG_MUST_USE;
/* Its text, without what the endpoint does not know. */
void tr_request_text(const struct tr_endpoint *e, const json_t *body, struct kg_buf *out);
/* The 31 bits that stand for an ask's seed: of (seed, problem, sample, turn). */
uint32_t tr_request_seed(const struct tr_ask *ask);
/* The endpoint says that it does not know a parameter that can be left out: now it is. */
bool tr_request_without(struct tr_endpoint *e, unsigned sent_without, int status,
                        const struct tr_words *w);

/* --- endpoint_transfer.c --- */

/* Settings that all requests have: headers, certificates, no redirects. */
void tr_transfer_set(const struct tr_endpoint *e, CURL *easy, const char *url);
/* Sends a flight's request. */
enum kg_code tr_transfer_begin(struct tr_flight *f, struct kg_err *err) KG_MUST_USE;
/* The request has ended: what is still to be read of its answer. to_the_end: all of it came. */
void tr_transfer_read(struct tr_flight *f, bool to_the_end);
/* Ends a flight's request, finished or not. */
void tr_transfer_end(struct tr_flight *f);
void tr_flight_init(struct tr_endpoint *e, struct tr_flight *f);
/* Frees what a try held. */
void tr_flight_clear(struct tr_flight *f);
void tr_flight_deinit(struct tr_flight *f);

/* --- endpoint_outcome.c --- */

/* The request of a flight has ended so; timed_out: it was silent. The flight lands or waits. */
void tr_outcome(struct tr_flight *f, CURLcode result, bool timed_out);
/* Lands a flight without a reply, for the reason in the message. */
void tr_land(struct tr_flight *f, enum kg_code code, const char *message);
/* Tokens of so many bytes, where nobody counts: one for three. */
int64_t tr_tokens_of(size_t bytes);
/* Why a request failed below HTTP, for people. never: asking again does not help. */
void tr_transport_words(const struct tr_endpoint *e, CURLcode result, bool *never, char *out,
                        size_t cap);

/* --- endpoint_models.c --- */

/* Asks for the list of models; fills e->model where it is NULL, and the context where the list
 * tells it and the caller did not. */
enum kg_code tr_endpoint_models(struct tr_endpoint *e, struct kg_err *err) KG_MUST_USE;

#endif
