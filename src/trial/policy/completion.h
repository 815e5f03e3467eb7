/* An answer of chat completions while it comes: text, reasoning, use of tokens, how it ended. It is
 * read from one JSON body, or from the events of a stream. Members that are not known are skipped;
 * of several choices the first counts. Reasoning comes as `reasoning_content` or `reasoning`.
 * An object `error` in place of an answer is kept as it is, for refusal.h.
 * Owner: the caller. Not thread safe. */
#ifndef KG_TRIAL_POLICY_COMPLETION_H
#define KG_TRIAL_POLICY_COMPLETION_H

#include "base/json.h"
#include "trial/policy/policy.h"

/* Text and reasoning of an answer, together; a whole body too. A million tokens have 4 MB. */
#define TR_ANSWER_MAX (64u << 20)

struct tr_completion {
    struct kg_buf text, reasoning;
    bool has_reasoning;
    bool ended;   /* a finish_reason came */
    bool done;    /* the stream's [DONE] came */
    bool aborted; /* the server gave the reply up: finish_reason "abort" or "error" */
    enum tr_finish finish;
    int64_t tokens_in, tokens_out; /* -1: not told, or no count */
    bool offered;                  /* log-probabilities came */
    double logprob;                /* their sum */
    char model[512];               /* "" until it is told */
    json_t *error;                 /* owned; NULL: none */
};

void tr_completion_init(struct tr_completion *c);
void tr_completion_deinit(struct tr_completion *c);
void tr_completion_reset(struct tr_completion *c);

/* One event of a stream. Errors: KG_E_INPUT (no JSON, members of another kind), KG_E_LIMIT (the
 * reply is longer than TR_ANSWER_MAX), KG_E_IO (the event is an error, kept in c->error). */
enum kg_code tr_completion_event(struct tr_completion *c, const char *data, size_t len,
                                 struct kg_err *err) KG_MUST_USE;
/* A whole body. Errors: the same. */
enum kg_code tr_completion_body(struct tr_completion *c, const char *body, size_t len,
                                struct kg_err *err) KG_MUST_USE;
/* It has an end: by its reason, or by the stream's. */
bool tr_completion_whole(const struct tr_completion *c);

#endif
