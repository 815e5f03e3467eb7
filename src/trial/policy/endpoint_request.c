/* The body of a request. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trial/policy/endpoint_parts.h"

#define MAX_BODY    (256u << 20)
#define LEAST_REPLY 256 /* tokens that are asked for in any case */

uint32_t tr_request_seed(const struct tr_ask *ask)
{
    char hex[KG_SHA256_HEX];
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    kg_sha256_part(&h, &ask->seed, sizeof ask->seed);
    kg_sha256_part(&h, ask->who.problem, strlen(ask->who.problem));
    kg_sha256_part(&h, &ask->who.sample, sizeof ask->who.sample);
    kg_sha256_part(&h, &ask->who.turn, sizeof ask->who.turn);
    kg_sha256_end(&h, hex);
    hex[8] = '\0';
    return (uint32_t)strtoul(hex, NULL, 16) & 0x7fffffffu; /* some servers take 32 bits, signed */
}

static json_t *messages_of(const struct tr_ask *ask, size_t *bytes)
{
    static const char *const roles[] = {
        [TR_SYSTEM] = "system", [TR_USER] = "user", [TR_ASSISTANT] = "assistant"};
    json_t *list = json_array();
    *bytes = 0;
    for (int i = 0; i < ask->n; i++) {
        const struct tr_message *m = &ask->message[i];
        json_array_append_new(list, json_pack("{s:s,s:o}", "role", roles[m->role], "content",
                                              kg_json_text(m->text, m->len)));
        *bytes += m->len;
    }
    return list;
}

/* vLLM refuses a prompt and a bound of the reply that exceed the window together. The estimate of
 * the prompt is high for code and English. */
static int64_t bound_of(const struct tr_endpoint *e, const struct tr_ask *ask, size_t bytes)
{
    int64_t most = ask->max_tokens > 0 ? ask->max_tokens : e->sampling.max_tokens;
    int64_t room = e->sampling.context - tr_tokens_of(bytes) - (int64_t)16 * ask->n;
    room = room > LEAST_REPLY ? room : LEAST_REPLY;
    return e->sampling.context > 0 && room < most ? room : most;
}

enum kg_code tr_request_make(const struct tr_endpoint *e, const struct tr_ask *ask, json_t **out,
                             size_t *prompt_bytes, struct kg_err *err)
{
    const struct tr_sampling *s = &e->sampling;
    json_t *messages = messages_of(ask, prompt_bytes);
    json_t *body = json_pack("{s:o,s:o,s:f,s:f,s:I,s:I,s:b}", "model",
                             kg_json_text(e->model, strlen(e->model)), "messages", messages,
                             "temperature", s->temperature, "top_p", s->top_p, "max_tokens",
                             (json_int_t)bound_of(e, ask, *prompt_bytes), "seed",
                             (json_int_t)tr_request_seed(ask), "stream", (int)e->stream);
    if (body == NULL || json_array_size(messages) != (size_t)ask->n) {
        json_decref(body);
        return kg_fail_memory(err, KG_E_HOST, "endpoint: no memory for a request");
    }
    if (e->stream) {
        json_object_set_new(body, "stream_options", json_pack("{s:b}", "include_usage", 1));
    }
    if (s->logprobs) {
        json_object_set_new(body, "logprobs", json_true());
    }
    if (s->nstop > 0) {
        json_t *stop = json_array();
        for (int i = 0; i < s->nstop; i++) {
            json_array_append_new(stop, kg_json_text(e->stop[i], strlen(e->stop[i])));
        }
        json_object_set_new(body, "stop", stop);
    }
    *out = body;
    return KG_OK;
}

void tr_request_text(const struct tr_endpoint *e, const json_t *body, struct kg_buf *out)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)body); /* shallow: the messages are shared */
    if ((e->without & TR_NO_SEED) != 0) {
        json_object_del(copy, "seed");
    }
    if ((e->without & TR_NO_STREAM_OPTIONS) != 0) {
        json_object_del(copy, "stream_options");
    }
    if ((e->without & TR_NO_MAX_TOKENS) != 0) {
        json_object_set(copy, "max_completion_tokens", json_object_get(copy, "max_tokens"));
        json_object_del(copy, "max_tokens");
    }
    kg_buf_deinit(out);
    kg_buf_init(out, MAX_BODY);
    kg_json_dump(copy, out);
    json_decref(copy);
}

bool tr_request_without(struct tr_endpoint *e, unsigned sent_without, int status,
                        const struct tr_words *w)
{
    static const struct {
        const char *name;
        unsigned bit;
    } list[] = {{"seed", TR_NO_SEED},
                {"stream_options", TR_NO_STREAM_OPTIONS},
                {"max_tokens", TR_NO_MAX_TOKENS}};
    for (size_t i = 0; (status == 400 || status == 422) && i < sizeof list / sizeof *list; i++) {
        if (strcmp(w->param, list[i].name) == 0) {
            e->without |= list[i].bit;
            return (sent_without & list[i].bit) == 0;
        }
    }
    return false;
}
