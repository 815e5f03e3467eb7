/* Bodies of trainers' remote rewards, and their answers. */
#include "svc/trainers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 200 };

/* --- one item --- */

/* A path would name a file of the server's host. */
static bool is_name(const json_t *label)
{
    const char *s = json_string_value(label);
    size_t n = json_string_length(label);
    return n > 0 && n <= NAME_MOST && strlen(s) == n && s[0] != '.' && !strpbrk(s, "/\\");
}

/* The first place counts: what comes after it is the model's, which may repeat the prompt. */
static bool cut(const json_t *query, const json_t *prompt, struct kg_trainers_item *out)
{
    const char *q = json_string_value(query), *p = json_string_value(prompt);
    size_t nq = json_string_length(query), np = json_string_length(prompt);
    const char *at = np > 0 ? memmem(q, nq, p, np) : NULL;
    if (!at) {
        return false;
    }
    out->reply = at + np;
    out->reply_len = nq - (size_t)(out->reply - q);
    return true;
}

static bool fill(const json_t *label, const char *field, struct kg_trainers_item *out,
                 struct kg_svc_refusal *no)
{
    struct kg_sha256 h;
    if (!is_name(label)) {
        return kg_svc_refuse(no, 400, "bad_body", field,
                             "must be the name of a problem, at most %d bytes and no path",
                             NAME_MOST);
    }
    out->problem = json_string_value(label);
    kg_sha256_begin(&h);
    kg_sha256_part(&h, out->problem, strlen(out->problem));
    kg_sha256_part(&h, out->reply, out->reply_len);
    kg_sha256_end(&h, out->key);
    return true;
}

/* --- the two forms --- */

static bool read_slime(struct kg_trainers_request *r, struct kg_svc_refusal *no)
{
    const json_t *response = json_object_get(r->body, "response");
    if (!json_is_string(response)) {
        return kg_svc_refuse(no, 400, "bad_body", "response",
                             response ? "must be a string" : "is missing");
    }
    r->item = calloc(1, sizeof *r->item);
    KG_ASSERT(r->item != NULL);
    r->n = 1;
    r->item->reply = json_string_value(response);
    r->item->reply_len = json_string_length(response);
    return fill(json_object_get(r->body, "label"), "label", r->item, no);
}

static bool is_list(const json_t *body, const char *name, size_t n, struct kg_svc_refusal *no)
{
    const json_t *list = json_object_get(body, name);
    if (!json_is_array(list)) {
        return kg_svc_refuse(no, 400, "bad_body", name, list ? "must be a list" : "is missing");
    }
    if (n > 0 && json_array_size(list) != n) {
        return kg_svc_refuse(no, 400, "bad_body", name, "has %zu entries, and `query` has %zu",
                             json_array_size(list), n);
    }
    return true;
}

static bool read_openrlhf(struct kg_trainers_request *r, struct kg_svc_refusal *no)
{
    const json_t *queries = json_object_get(r->body, "query");
    size_t n = json_array_size(queries);
    if (!is_list(r->body, "query", 0, no)) {
        return false;
    }
    if (n < 1 || n > KG_TRAINERS_ITEMS) {
        return kg_svc_refuse(no, 400, "bad_body", "query", "1 to %d entries are allowed",
                             KG_TRAINERS_ITEMS);
    }
    if (!is_list(r->body, "prompts", n, no) || !is_list(r->body, "labels", n, no)) {
        return false;
    }
    r->item = calloc(n, sizeof *r->item);
    KG_ASSERT(r->item != NULL);
    r->n = n;
    for (size_t i = 0; i < n; i++) {
        char field[32];
        const json_t *query = json_array_get(queries, i);
        const json_t *prompt = json_array_get(json_object_get(r->body, "prompts"), i);
        snprintf(field, sizeof field, "query.%zu", i);
        if (!json_is_string(query) || !json_is_string(prompt)) {
            return kg_svc_refuse(no, 400, "bad_body", field, "query and prompt must be strings");
        }
        if (!cut(query, prompt, &r->item[i])) {
            return kg_svc_refuse(no, 400, "bad_body", field,
                                 "does not hold its prompt, so there is no telling where the "
                                 "answer begins");
        }
        snprintf(field, sizeof field, "labels.%zu", i);
        if (!fill(json_array_get(json_object_get(r->body, "labels"), i), field, &r->item[i], no)) {
            return false;
        }
    }
    return true;
}

bool kg_trainers_read(const char *body, size_t len, struct kg_trainers_request *out,
                      struct kg_svc_refusal *no)
{
    struct kg_err err = KG_ERR_INIT;
    *out = (struct kg_trainers_request){0};
    if (kg_json_parse_loose(body, len, "body", &out->body, &err) != KG_OK) {
        return kg_svc_refuse(no, 400, "bad_body", "", "the body is not JSON in UTF-8");
    }
    bool openrlhf = json_object_get(out->body, "query") != NULL;
    bool slime = json_object_get(out->body, "response") != NULL;
    out->form = openrlhf ? KG_TRAINERS_OPENRLHF : KG_TRAINERS_SLIME;
    bool good = openrlhf != slime
                    ? (openrlhf ? read_openrlhf(out, no) : read_slime(out, no))
                    : kg_svc_refuse(no, 400, "bad_body", "",
                                    "an object with either `response` and `label`, or `query`, "
                                    "`prompts` and `labels` is needed");
    if (!good) {
        kg_trainers_deinit(out);
    }
    return good;
}

void kg_trainers_deinit(struct kg_trainers_request *r)
{
    free(r->item);
    json_decref(r->body);
    *r = (struct kg_trainers_request){0};
}

/* --- rewards --- */

bool kg_trainers_reward(const json_t *record, const char *preset, double *out, char *why, size_t n)
{
    const json_t *error = json_object_get(record, "error");
    const char *blame = json_string_value(json_object_get(error, "blame"));
    const char *message = json_string_value(json_object_get(error, "message"));
    const json_t *reward = json_object_get(json_object_get(record, "rewards"), preset);
    const json_t *value = json_object_get(reward, "value");
    if (json_is_object(error) && (!blame || strcmp(blame, "candidate") != 0)) {
        snprintf(why, n, "it could not be judged: %s", message ? message : "no message");
        return false;
    }
    if (!json_is_object(error) && !json_is_string(json_object_get(record, "verdict"))) {
        snprintf(why, n, "nothing was judged: the evaluation stopped before a verdict");
        return false;
    }
    if (!json_is_number(value) || !isfinite(json_number_value(value))) {
        snprintf(why, n, "its record has no reward `%s`", preset);
        return false;
    }
    *out = json_number_value(value);
    return true;
}

json_t *kg_trainers_answer(const struct kg_trainers_request *r, const double *rewards)
{
    if (r->form == KG_TRAINERS_SLIME) {
        return json_real(rewards[0]);
    }
    json_t *list = json_array();
    for (size_t i = 0; i < r->n; i++) {
        json_array_append_new(list, json_real(rewards[i]));
    }
    return json_pack("{s:O, s:o}", "rewards", list, "scores", list);
}
