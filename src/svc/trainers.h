/* `POST /v1/reward`: the bodies in which trainers ask a remote model for rewards, as jobs of the
 * gym, and the gym's rewards as their answers (docs/trainers.md). Pure: no socket, no store, no
 * clock.
 *
 *   slime     {"prompt", "response", "label"}        a number
 *   OpenRLHF  {"query": [], "prompts": [], "labels": []}   {"rewards": [], "scores": []}
 *
 * A label names the problem. A query is a prompt and its answer in one text: it is cut after its
 * prompt, so that an example in the prompt is never judged; a query that does not hold its prompt
 * is refused. Where the gym could not judge there is no reward: the whole request is answered 503,
 * and the trainer asks again. It never becomes 0.
 *
 * Ownership: a request owns all that its pointers name, until deinit. Threads: calls are
 * independent. */
#ifndef KG_SVC_TRAINERS_H
#define KG_SVC_TRAINERS_H

#include "base/hash.h"
#include "base/json.h"
#include "svc/refusal.h"

#define KG_TRAINERS_ITEMS 4096 /* of one request, at most */

enum kg_trainers_form { KG_TRAINERS_SLIME, KG_TRAINERS_OPENRLHF };

struct kg_trainers_item {
    const char *problem; /* a name, never a path */
    const char *reply;   /* [reply_len] bytes, without the prompt */
    size_t reply_len;
    /* SHA-256 of problem and reply: the key of the job, so that a retry joins it. */
    char key[KG_SHA256_HEX];
};

struct kg_trainers_request {
    json_t *body; /* owned */
    enum kg_trainers_form form;
    struct kg_trainers_item *item; /* [n], owned */
    size_t n;
};

/* Unknown members are ignored: trainers add some. false: *no is filled, *out needs no deinit. */
bool kg_trainers_read(const char *body, size_t len, struct kg_trainers_request *out,
                      struct kg_svc_refusal *no);
void kg_trainers_deinit(struct kg_trainers_request *r); /* idempotent */

/* The reward of a record by this preset. false: there is none, since the gym, the host or the
 * problem kept it from being judged, or nothing was judged, or the record was made without this
 * preset; why [n] says which. */
bool kg_trainers_reward(const json_t *record, const char *preset, double *out, char *why, size_t n);

/* The answer: a new value. rewards: [r->n], finite. */
json_t *kg_trainers_answer(const struct kg_trainers_request *r, const double *rewards);

#endif
