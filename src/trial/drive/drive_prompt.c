/* First messages for problems. */
#include <stdlib.h>

#include "trial/drive/drive_parts.h"
#include "trial/drive/suite_list.h"

static enum kg_code make(struct kgym_pool *pool, const struct tr_problem *p, const char *language,
                         char **out, struct kg_err *err)
{
    const struct kgym_text_options o = {
        .size = sizeof o, .limit = TR_PROMPT_BYTES, .language = language};
    struct kgym_error why = {0};
    return kgym_prompt(pool, p->problem, NULL, 0, &o, out, &why) == KGYM_OK
               ? KG_OK
               : kg_fail(err, (enum kg_code)why.code, "%s", why.message);
}

bool tr_drive_own_fault(enum kg_code code)
{
    return code == KG_E_PROBLEM || code == KG_E_INPUT || code == KG_E_LIMIT;
}

enum kg_code tr_suite_weed(struct tr_suite *s, struct kgym_pool *pool, const char *language,
                           struct kg_err *err)
{
    size_t n = 0, all = s->n;
    enum kg_code code = KG_OK;
    for (size_t i = 0; i < all; i++) {
        struct tr_problem p = s->problem[i];
        char *text = NULL;
        enum kg_code made = code == KG_OK ? make(pool, &p, language, &text, err) : code;
        kgym_free(text);
        if (made != KG_OK && tr_drive_own_fault(made) && code == KG_OK) {
            struct kg_err why = *err;
            code = tr_suite_put_aside(s, p.name, why.message, err);
            free(p.name);
            free(p.problem);
            continue;
        }
        code = made;
        s->problem[n++] = p;
    }
    s->n = n;
    return code != KG_OK || n > 0
               ? code
               : kg_fail(err, KG_E_INPUT, "no problem of `%.100s` can be judged: %.200s", s->name,
                         s->aside[s->naside - 1].why);
}

static const char *known_prompt(struct tr_drive *d, const struct tr_problem *p)
{
    for (size_t k = 0; k < d->nprompts; k++) {
        size_t i = (d->last_prompt + k) % d->nprompts;
        if (d->prompt[i].problem == p) {
            d->last_prompt = i;
            return d->prompt[i].text;
        }
    }
    return NULL;
}

enum kg_code tr_drive_prompt(struct tr_drive *d, const struct tr_problem *p, const char **out,
                             struct kg_err *err)
{
    char *text = NULL;
    *out = known_prompt(d, p);
    if (*out != NULL) {
        return KG_OK;
    }
    struct tr_prompt *grown = realloc(d->prompt, (d->nprompts + 1) * sizeof *grown);
    if (grown == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for a first message");
    }
    d->prompt = grown;
    if (make(d->o.pool, p, d->o.language, &text, err) != KG_OK) {
        return err->code;
    }
    d->last_prompt = d->nprompts;
    d->prompt[d->nprompts++] = (struct tr_prompt){p, text};
    *out = text;
    return KG_OK;
}
