/* The first message for a problem. The supervisor, which has the configuration and the device,
 * renders it. The caller's own token counter, which only this process has, measures it. */
#include <stdlib.h>
#include <string.h>

#include "gym/pool/client.h"
#include "gym/prompt/prompt.h"

#define TEXT_MOST (64u << 20)
#define NAME_MOST 4096

static enum kg_code check(const char *problem, const char *text, size_t len,
                          const struct kgym_text_options *o, struct kg_err *err)
{
    enum kg_prompt_language language;
    if (!problem || !*problem || strlen(problem) > NAME_MOST) {
        return kg_fail(err, KG_E_USAGE, "prompt: a problem of 1 to %d bytes is needed", NAME_MOST);
    }
    if (text && len > TEXT_MOST) {
        return kg_fail(err, KG_E_LIMIT, "prompt: the problem's text has more than 64 MB");
    }
    if (o->language && !kg_prompt_language_parse(o->language, &language)) {
        return kg_fail(err, KG_E_USAGE,
                       "options: language: triton, cuda or pytorch is needed, not `%.40s`",
                       o->language);
    }
    return KG_OK;
}

static enum kg_code ask(struct kgym_pool *p, const char *problem, const char *text, size_t len,
                        const struct kgym_text_options *o, json_t **reply, struct kg_err *err)
{
    json_t *head = json_pack("{s:s, s:o, s:b, s:b, s:s}", "call", "prompt", "problem",
                             kg_json_text(problem, strlen(problem)), "given", text != NULL, "plain",
                             o->plain != 0, "language", o->language ? o->language : "triton");
    pthread_mutex_lock(&p->lock);
    enum kg_code code = kg_client_request(p, head, text ? text : "", text ? len : 0, reply, err);
    pthread_mutex_unlock(&p->lock);
    return code;
}

enum kgym_code kgym_prompt(struct kgym_pool *p, const char *problem, const char *problem_text,
                           size_t problem_text_len, const struct kgym_text_options *options,
                           char **text, struct kgym_error *err)
{
    struct kgym_text_options o = {0};
    struct kg_err e = KG_ERR_INIT;
    json_t *reply = NULL;
    *text = NULL;
    if (options && !kg_client_copy(&o, sizeof o, options, options->size)) {
        kg_fail(&e, KG_E_USAGE, "options: size is not that of a known kgym_text_options");
    } else if (check(problem, problem_text, problem_text_len, &o, &e) == KG_OK &&
               ask(p, problem, problem_text, problem_text_len, &o, &reply, &e) == KG_OK) {
        const struct kg_prompt_spec spec = {.limit = o.limit, .count = o.count, .user = o.user};
        const char *body = kg_frame_text(reply, "body");
        body = body ? body : "";
        if (kg_prompt_check_limit(&spec, problem, body, strlen(body), &e) == KG_OK) {
            *text = strdup(body);
            e.code = *text ? KG_OK : kg_fail(&e, KG_E_LIMIT, "no memory for the prompt");
        }
    }
    json_decref(reply);
    return kg_client_error(&e, err);
}
