/* What answers in a trial: a model behind an endpoint, a checkpoint of the learner, or a script.
 * All take a conversation as messages and give a reply later; many are under way at once. A policy
 * is a table of functions over its own state.
 *
 *   endpoint    chat completions of an OpenAI-compatible server (endpoint.h)
 *   checkpoint  the learner's engine; earlier replies are spliced by their ids (checkpoint.h)
 *   scripted    a function of (problem, sample, turn, what was said so far) (scripted.h)
 *
 * Ownership: what submit is given is copied. Not thread safe. */
#ifndef KG_TRIAL_POLICY_POLICY_H
#define KG_TRIAL_POLICY_POLICY_H

#include <jansson.h>

#include "base/buf.h"

enum tr_role { TR_SYSTEM, TR_USER, TR_ASSISTANT };

struct tr_message {
    enum tr_role role;
    const char *text; /* [len], UTF-8 */
    size_t len;
    const int32_t *ids; /* [nids] of a reply that this kind of policy gave; NULL: by its text */
    int nids;
};

/* Who asks: for scripts, for seeds, for messages. sample and turn count from 1. */
struct tr_speaker {
    const char *problem; /* its name */
    uint32_t sample, turn;
};

struct tr_ask {
    uint64_t tag; /* the caller's; in flight once */
    const struct tr_message *message;
    int n;
    int64_t max_tokens; /* of the reply; 0: what the policy was opened with */
    uint64_t seed;      /* of the draws; sent to an endpoint, which may ignore it */
    struct tr_speaker who;
};

enum tr_finish {
    TR_STOP,
    TR_LENGTH, /* cut: by max_tokens, or by the end of the context */
    TR_FILTER, /* the endpoint withheld it */
};
/* "stop", "length", "filter" */
const char *tr_finish_name(enum tr_finish f);

enum { TR_TOKENS_MOST = 1000000000 }; /* of a reply; a larger count is a mistake */

/* What a reply took. */
struct tr_usage {
    int64_t tokens_in, tokens_out; /* as the policy counted them; else an estimate */
    bool counted;                  /* false: estimated */
    double seconds;                /* from the first try to the last byte */
    int tries;                     /* requests that were sent for it, 1 or more */
};

/* code KG_OK: a reply. Else there is none, and err says why:
 *   KG_E_LIMIT      the conversation does not fit the context of the model
 *   KG_E_INPUT      the endpoint answered, again and again, what is no chat completion; of a
 *                   checkpoint, the messages do not take turns
 *   KG_E_IO         the endpoint gave no reply, however often it was asked
 *   KG_E_USAGE      it refuses the key, the model or a parameter: no further ask can succeed
 *   KG_E_HOST       no memory */
struct tr_reply {
    uint64_t tag;
    enum kg_code code;
    struct kg_err err;
    char *text; /* [len] and a NUL; may hold NULs */
    size_t len;
    char *reasoning; /* [reasoning_len] and a NUL, where it came apart from the text; else NULL */
    size_t reasoning_len;
    enum tr_finish finish;
    struct tr_usage usage;
    char model[128]; /* the name that the endpoint gave; "" */
    int32_t *ids;    /* [nids] of a checkpoint's reply, its end included; else NULL */
    int nids;
    double logprob; /* sum over the sampled tokens; NaN: not offered */
};
void tr_reply_free(struct tr_reply *r); /* NULL is nothing */

struct tr_policy {
    void *self;
    /* Errors: KG_E_LIMIT (room() is 0), KG_E_HOST (memory). */
    enum kg_code (*submit)(void *self, const struct tr_ask *ask, struct kg_err *err);
    /* Works until a reply is there, or also_fd (-1: none) is readable, or the time is up (< 0: no
     * limit; 0: what is there). *out NULL: none; else the caller's. With nothing under way and no
     * descriptor it returns at once. Errors: KG_E_HOST. */
    enum kg_code (*next)(void *self, int also_fd, int timeout_ms, struct tr_reply **out,
                         struct kg_err *err);
    /* Nothing is sent from now on: an ask that has no request under way gets KG_E_CANCELLED, and
     * next() still gives what comes. NULL: asks under way cost nothing, so none is waited for. */
    void (*last_call)(void *self);
    int (*room)(const void *self);    /* asks that it takes now */
    int (*pending)(const void *self); /* asks that have no reply yet */
    /* Tokens of the window, prompt and reply together; 0: not known. */
    int64_t (*context)(const void *self);
    /* Tokens of a text; an estimate where there is no tokenizer. */
    size_t (*count)(void *self, const char *text, size_t len);
    /* What a run's run.json says of it: kind, model, sampling; never a key. The caller owns it. */
    json_t *(*describe)(const void *self);
    void (*close)(void *self); /* drops all that is under way, frees self */
};

/* How replies are drawn. Endpoint and checkpoint alike. */
struct tr_sampling {
    double temperature;  /* 1 */
    double top_p;        /* 1 */
    int64_t max_tokens;  /* of a reply: 8192 */
    int64_t context;     /* tokens of the window; 0: not known (endpoint), of the model */
    const char *stop[4]; /* NULL: none */
    int nstop;
    bool logprobs;
};

/* What `--policy` names: "endpoint:URL", "checkpoint:DIR", "scripted" or "scripted:NAME". */
enum tr_policy_kind { TR_ENDPOINT, TR_CHECKPOINT, TR_SCRIPTED };
struct tr_policy_name {
    enum tr_policy_kind kind;
    const char *rest; /* behind the colon, in the text that was parsed; "" */
};
/* KG_E_USAGE: no such kind, or nothing where something must follow. */
enum kg_code tr_policy_parse(const char *text, struct tr_policy_name *out,
                             struct kg_err *err) KG_MUST_USE;

/* All that opens one of any kind. */
struct tr_policy_options {
    const char *policy;   /* as tr_policy_parse takes it */
    const char *model;    /* the endpoint's name of it; NULL: the only one that it lists */
    const char *key_file; /* first word: the key; NULL: $OPENAI_API_KEY, else none */
    const char *adapter, *tokenizer, *template; /* of a checkpoint, as in struct rl_source; "" */
    struct tr_sampling sampling;
    int parallel;               /* replies under way at once: 16 */
    double timeout_s;           /* of one request without a byte: 300 */
    double patience_s;          /* asking again ends so long after the first try: 900 */
    bool stream;                /* of an endpoint: the reply comes in parts */
    int threads;                /* of a checkpoint; 0: all */
    const volatile int *cancel; /* not 0: opening ends with KG_E_CANCELLED, within a second or two
                                   of an endpoint; NULL: none */
};
void tr_policy_defaults(struct tr_policy_options *o);
/* After success the caller calls close. Errors: KG_E_USAGE, KG_E_NOT_FOUND, KG_E_INPUT, KG_E_IO,
 * KG_E_HOST. Messages name the URL without its user part, or the folder. */
enum kg_code tr_policy_open(const struct tr_policy_options *o, struct tr_policy *out,
                            struct kg_err *err) KG_MUST_USE;

#endif
