/* The list of models: GET URL/models, {"data": [{"id": ...}, ...]}. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "trial/policy/endpoint_parts.h"

#define MAX_LIST (4u << 20)

static size_t take(char *bytes, size_t size, size_t count, void *user)
{
    struct kg_buf *b = user;
    kg_buf_add(b, bytes, size * count);
    return kg_buf_ok(b) ? size * count : 0;
}

static bool cancelled(const struct tr_endpoint *e)
{
    return e->cancel != NULL && *e->cancel != 0;
}

/* libcurl calls it about once a second, also while nothing comes. Not 0 ends the request. */
static int on_progress(void *user, curl_off_t all_in, curl_off_t in, curl_off_t all_out,
                       curl_off_t out)
{
    (void)all_in;
    (void)in;
    (void)all_out;
    (void)out;
    return cancelled(user);
}

/* One request. status 0: there is no answer, and words say why. */
static enum kg_code get(struct tr_endpoint *e, struct kg_buf *body, int *status, bool *never,
                        char *words, size_t cap, struct kg_err *err)
{
    const struct tr_curl *c = e->curl;
    char *url = NULL;
    long http = 0;
    CURL *easy = c->easy_init();
    if (easy == NULL || asprintf(&url, "%s/models", e->base) < 0) {
        c->easy_cleanup(easy);
        return kg_fail_memory(err, KG_E_HOST, "endpoint: no memory for a request");
    }
    tr_transfer_set(e, easy, url);
    c->easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                   e->timeout_s < TR_FIRST_SECONDS ? (long)(e->timeout_s * 1000)
                                                   : TR_FIRST_SECONDS * 1000L);
    c->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    c->easy_setopt(easy, CURLOPT_WRITEDATA, body);
    c->easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    c->easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    c->easy_setopt(easy, CURLOPT_XFERINFODATA, e);
    kg_buf_reset(body);
    CURLcode result = c->easy_perform(easy);
    c->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http);
    *status = result == CURLE_OK ? (int)http : 0;
    *never = false;
    if (result != CURLE_OK) {
        tr_transport_words(e, result, never, words, cap);
    }
    c->easy_cleanup(easy);
    free(url);
    return KG_OK;
}

/* Why the list did not come; whether it may come later. */
static enum kg_code refused(const struct tr_endpoint *e, const struct kg_buf *body, int status,
                            bool never, const char *transport, bool *later, struct kg_err *err)
{
    struct tr_words w;
    if (status == 0) {
        *later = !never;
        return kg_fail(err, never ? KG_E_USAGE : KG_E_IO, "%s: it gives no list of models: %s",
                       e->base, transport);
    }
    tr_words_read(body->data, body->len, NULL, e->key, &w);
    *later = tr_refusal_fate(status, &w) == TR_AGAIN;
    return kg_fail(err, *later ? KG_E_IO : KG_E_USAGE,
                   status == 401 || status == 403
                       ? "%s: it refuses the key (HTTP %d): %s"
                       : "%s: it gives no list of models (HTTP %d); --model names one. It says: %s",
                   e->base, status, w.text);
}

/* vLLM tells the window in `max_model_len`. */
static enum kg_code take_one(struct tr_endpoint *e, const json_t *list, struct kg_err *err)
{
    const json_t *one = json_array_get(list, 0);
    const json_t *window = json_object_get(one, "max_model_len");
    char names[300] = "", name[80];
    size_t n = 0;
    const char *id = json_string_value(json_object_get(one, "id"));
    if (json_array_size(list) == 1 && id != NULL && *id != '\0') {
        if (e->sampling.context == 0 && json_is_integer(window) && json_integer_value(window) > 0) {
            e->sampling.context = json_integer_value(window);
        }
        e->model = strdup(id);
        n = strlen(id);
        if (e->model != NULL) { /* the name is kept in the run's folder */
            tr_key_hide(e->key, e->model, &n);
        }
        return e->model != NULL ? KG_OK : kg_fail_memory(err, KG_E_HOST, "endpoint: no memory");
    }
    for (size_t i = 0; i < json_array_size(list) && n + sizeof name < sizeof names; i++) {
        id = json_string_value(json_object_get(json_array_get(list, i), "id"));
        if (id != NULL) {
            tr_words_clean(id, strlen(id), e->key, name, sizeof name);
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n > 0 ? ", " : "", name);
        }
    }
    return kg_fail(err, KG_E_USAGE, "%s: it has %zu models, --model must name one%s%s", e->base,
                   json_array_size(list), n > 0 ? ": " : "", names);
}

static enum kg_code read_list(struct tr_endpoint *e, const struct kg_buf *body, struct kg_err *err)
{
    json_t *root = NULL;
    struct kg_err none = KG_ERR_INIT;
    const json_t *list = NULL;
    if (kg_json_parse_loose(body->data, body->len, "", &root, &none) == KG_OK) {
        list = json_object_get(root, "data");
    }
    enum kg_code code =
        json_is_array(list)
            ? take_one(e, list, err)
            : kg_fail(err, KG_E_INPUT,
                      "%s/models: the answer is no list of models: is the URL that of an "
                      "OpenAI-compatible server? --model names a model without the list",
                      e->base);
    json_decref(root);
    return code;
}

static void wait_seconds(double s)
{
    struct timespec t = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};
    (void)nanosleep(&t, NULL);
}

enum kg_code tr_endpoint_models(struct tr_endpoint *e, struct kg_err *err)
{
    struct kg_buf body;
    char transport[300] = "";
    int status = 0;
    bool never = false, later = true;
    double patience = e->patience_s < TR_FIRST_SECONDS ? e->patience_s : (double)TR_FIRST_SECONDS;
    int64_t until = kg_clock_ns() + (int64_t)(patience * 1e9);
    enum kg_code code = KG_OK;
    kg_buf_init(&body, MAX_LIST);
    for (int tries = 1; later; tries++) {
        double wait = tr_backoff(tries, 0, e->patience_s);
        code = get(e, &body, &status, &never, transport, sizeof transport, err);
        if (cancelled(e)) {
            code = kg_fail(err, KG_E_CANCELLED, "interrupted");
            break;
        }
        if (code != KG_OK || (status >= 200 && status < 300)) {
            code = code != KG_OK ? code : read_list(e, &body, err);
            break;
        }
        code = refused(e, &body, status, never, transport, &later, err);
        later = later && kg_clock_ns() + (int64_t)(wait * 1e9) < until;
        if (later) {
            wait_seconds(wait); /* a signal ends it */
        }
    }
    kg_buf_deinit(&body);
    e->reached = e->reached || status != 0;
    return code;
}
