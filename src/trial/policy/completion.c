/* Reads chat completions: whole ones have `message` in a choice, events have `delta`. */
#include "trial/policy/completion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tr_completion_init(struct tr_completion *c)
{
    *c = (struct tr_completion){.tokens_in = -1, .tokens_out = -1};
    kg_buf_init(&c->text, TR_ANSWER_MAX);
    kg_buf_init(&c->reasoning, TR_ANSWER_MAX);
}

void tr_completion_deinit(struct tr_completion *c)
{
    kg_buf_deinit(&c->text);
    kg_buf_deinit(&c->reasoning);
    json_decref(c->error);
}

void tr_completion_reset(struct tr_completion *c)
{
    tr_completion_deinit(c);
    tr_completion_init(c);
}

bool tr_completion_whole(const struct tr_completion *c)
{
    return (c->ended || c->done) && !c->aborted;
}

static enum kg_code odd(struct kg_err *err, const char *what)
{
    return kg_fail(err, KG_E_INPUT, "no chat completion: %s", what);
}

/* --- parts of a choice --- */

/* A text, or a list of parts of which those with a text count. null is nothing. */
static enum kg_code add_content(const json_t *j, struct kg_buf *out, struct kg_err *err)
{
    if (json_is_string(j)) {
        kg_buf_add(out, json_string_value(j), json_string_length(j));
        return KG_OK;
    }
    for (size_t i = 0; json_is_array(j) && i < json_array_size(j); i++) {
        const json_t *text = json_object_get(json_array_get(j, i), "text");
        if (json_is_string(text)) {
            kg_buf_add(out, json_string_value(text), json_string_length(text));
        }
    }
    return j == NULL || json_is_null(j) || json_is_array(j)
               ? KG_OK
               : odd(err, "the content is neither a text nor a list");
}

static enum kg_code add_message(struct tr_completion *c, const json_t *message, struct kg_err *err)
{
    const json_t *thought = json_object_get(message, "reasoning_content");
    thought = json_is_string(thought) ? thought : json_object_get(message, "reasoning");
    if (json_is_string(thought)) {
        c->has_reasoning = true;
        kg_buf_add(&c->reasoning, json_string_value(thought), json_string_length(thought));
    }
    if (add_content(json_object_get(message, "content"), &c->text, err) != KG_OK) {
        return err->code;
    }
    return kg_buf_ok(&c->text) && kg_buf_ok(&c->reasoning) &&
                   c->text.len + c->reasoning.len <= TR_ANSWER_MAX
               ? KG_OK
               : kg_fail(err, KG_E_LIMIT, "the reply is longer than %u MB", TR_ANSWER_MAX >> 20);
}

static void add_logprobs(struct tr_completion *c, const json_t *choice)
{
    const json_t *list = json_object_get(json_object_get(choice, "logprobs"), "content");
    for (size_t i = 0; json_is_array(list) && i < json_array_size(list); i++) {
        const json_t *x = json_object_get(json_array_get(list, i), "logprob");
        if (json_is_number(x)) {
            c->offered = true;
            c->logprob += json_number_value(x);
        }
    }
}

static void end(struct tr_completion *c, const char *reason)
{
    c->ended = true;
    c->finish = strcmp(reason, "length") == 0 || strcmp(reason, "max_tokens") == 0 ? TR_LENGTH
                : strcmp(reason, "content_filter") == 0                            ? TR_FILTER
                                                                                   : TR_STOP;
    c->aborted = strcmp(reason, "abort") == 0 || strcmp(reason, "error") == 0;
}

/* The first choice, or NULL: events before the first token and with the use of tokens have none. */
static const json_t *first_choice(const json_t *choices)
{
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *choice = json_array_get(choices, i);
        const json_t *index = json_object_get(choice, "index");
        if (!json_is_integer(index) || json_integer_value(index) == 0) {
            return choice;
        }
    }
    return NULL;
}

static enum kg_code add_choice(struct tr_completion *c, const json_t *choice, const char *member,
                               struct kg_err *err)
{
    const json_t *message = json_object_get(choice, member);
    const json_t *reason = json_object_get(choice, "finish_reason");
    if (message != NULL && !json_is_null(message)) {
        if (!json_is_object(message)) {
            return odd(err, "the message is no object");
        }
        if (add_message(c, message, err) != KG_OK) {
            return err->code;
        }
    }
    add_logprobs(c, choice);
    if (json_is_string(reason) && json_string_length(reason) > 0) { /* some send "" before it */
        end(c, json_string_value(reason));
    }
    return KG_OK;
}

/* --- what stands beside the choices --- */

static int64_t count_of(const json_t *usage, const char *name)
{
    const json_t *j = json_object_get(usage, name);
    json_int_t n = json_integer_value(j);
    return json_is_integer(j) && n >= 0 && n <= TR_TOKENS_MOST ? n : -1;
}

static void add_usage(struct tr_completion *c, const json_t *usage)
{
    if (json_is_object(usage)) {
        c->tokens_in = count_of(usage, "prompt_tokens");
        c->tokens_out = count_of(usage, "completion_tokens");
    }
}

static enum kg_code add_root(struct tr_completion *c, const json_t *root, const char *member,
                             bool needs_choice, struct kg_err *err)
{
    json_t *error = json_object_get(root, "error");
    const json_t *choices = json_object_get(root, "choices"), *choice = first_choice(choices);
    const char *model = json_string_value(json_object_get(root, "model"));
    if (error != NULL && !json_is_null(error)) {
        json_decref(c->error);
        c->error = json_incref(error);
        return kg_fail(err, KG_E_IO, "the answer is an error");
    }
    if (!json_is_object(root) || (needs_choice && choice == NULL)) {
        return odd(err, json_is_object(root) ? "there are no choices" : "the JSON is no object");
    }
    if (model != NULL && *model != '\0') {
        snprintf(c->model, sizeof c->model, "%s", model);
    }
    add_usage(c, json_object_get(root, "usage"));
    return choice == NULL ? KG_OK : add_choice(c, choice, member, err);
}

/* Broken UTF-8 becomes U+FFFD: a reply that is paid for is not lost for one byte. NULL: no JSON. */
static json_t *parse(const char *text, size_t len)
{
    struct kg_err none = KG_ERR_INIT;
    json_t *root = NULL;
    if (kg_json_parse_loose(text, len, "", &root, &none) != KG_OK) {
        json_t *mended = kg_json_text(text, len);
        const char *better = json_string_value(mended);
        size_t n = json_string_length(mended);
        if (better != NULL && (n != len || memcmp(better, text, n) != 0)) {
            (void)!kg_json_parse_loose(better, n, "", &root, &none);
        }
        json_decref(mended);
    }
    return root;
}

static enum kg_code add_json(struct tr_completion *c, const char *text, size_t len, bool event,
                             struct kg_err *err)
{
    json_t *root = parse(text, len);
    if (root == NULL) { /* the parser's own message quotes the text, which may hold anything */
        return odd(err, event ? "an event is no JSON" : "the body is no JSON");
    }
    enum kg_code code = add_root(c, root, event ? "delta" : "message", !event, err);
    json_decref(root);
    return code;
}

enum kg_code tr_completion_event(struct tr_completion *c, const char *data, size_t len,
                                 struct kg_err *err)
{
    if (len == 6 && memcmp(data, "[DONE]", 6) == 0) {
        c->done = true;
        return KG_OK;
    }
    return len == 0 ? KG_OK : add_json(c, data, len, true, err);
}

enum kg_code tr_completion_body(struct tr_completion *c, const char *body, size_t len,
                                struct kg_err *err)
{
    if (add_json(c, body, len, false, err) != KG_OK) {
        return err->code;
    }
    c->done = true;
    return KG_OK;
}
