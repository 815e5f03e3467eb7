#include <stdlib.h>

#include "trial/drive/drive_parts.h"

enum { PROMPT_BYTES = 128 << 10 }; /* no first message is longer */

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
    const struct kgym_text_options o = {
        .size = sizeof o, .limit = PROMPT_BYTES, .language = d->o.language};
    struct kgym_error why = {0};
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
    if (kgym_prompt(d->o.pool, p->problem, NULL, 0, &o, &text, &why) != KGYM_OK) {
        return kg_fail(err, (enum kg_code)why.code, "%s", why.message);
    }
    d->last_prompt = d->nprompts;
    d->prompt[d->nprompts++] = (struct tr_prompt){p, text};
    *out = text;
    return KG_OK;
}
