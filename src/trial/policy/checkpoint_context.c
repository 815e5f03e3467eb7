/* Conversations as ids. */
#include <stdlib.h>

#include "trial/policy/checkpoint_parts.h"

/* Appends an assistant's message; *ended: it has its end. */
static enum kg_code add_reply(struct tr_checkpoint *c, const struct tr_message *m,
                              struct lm_ids *out, bool *ended, struct kg_err *err)
{
    if (m->ids == NULL) {
        *ended = true;
        return rl_talker_reply(&c->talker, m->text, m->len, out, err);
    }
    for (int i = 0; i < m->nids; i++) {
        if (m->ids[i] < 0 || m->ids[i] >= c->talker.vocab) {
            return kg_fail(err, KG_E_INPUT, "id %d of a reply is not one of this model's",
                           (int)m->ids[i]);
        }
    }
    lm_ids_add(out, m->ids, (size_t)m->nids);
    *ended = m->nids > 0 && m->ids[m->nids - 1] == c->talker.end;
    return KG_OK;
}

static enum kg_code encode(struct tr_checkpoint *c, const struct tr_message *m, int n,
                           struct lm_ids *out, struct kg_err *err)
{
    struct lm_chat_message *chat = calloc((size_t)n + 1, sizeof *chat);
    if (chat == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for %d messages", n);
    }
    for (int i = 0; i < n; i++) {
        chat[i] = (struct lm_chat_message){.role = m[i].role == TR_SYSTEM ? LM_CHAT_SYSTEM
                                                   : m[i].role == TR_USER ? LM_CHAT_USER
                                                                          : LM_CHAT_ASSISTANT,
                                           .content = m[i].text,
                                           .len = m[i].len};
    }
    enum kg_code code = lm_chat_encode(&c->talker.chat, chat, (size_t)n, true, out, err);
    free(chat);
    return code;
}

/* A system message may stand first; then user and assistant take turns, the user first and last. */
static enum kg_code check_turns(const struct tr_message *m, int n, struct kg_err *err)
{
    int first = n > 0 && m[0].role == TR_SYSTEM;
    for (int i = first; i < n; i++) {
        if (m[i].role != ((i - first) % 2 == 0 ? TR_USER : TR_ASSISTANT)) {
            return kg_fail(err, KG_E_INPUT, "message %d: user and assistant must take turns",
                           i + 1);
        }
    }
    return n > first && m[n - 1].role == TR_USER
               ? KG_OK
               : kg_fail(err, KG_E_INPUT, "the last message must be of the user");
}

/* The template renders all up to the first reply that has ids; from there on ids are appended. */
enum kg_code tr_checkpoint_context(struct tr_checkpoint *c, const struct tr_message *m, int n,
                                   struct lm_ids *out, struct kg_err *err)
{
    int at = 0;
    enum kg_code code = check_turns(m, n, err);
    while (at < n && (m[at].role != TR_ASSISTANT || m[at].ids == NULL)) {
        at++;
    }
    code = code != KG_OK ? code : encode(c, m, at, out, err);
    for (; code == KG_OK && at < n; at += 2) {
        bool ended = false;
        code = add_reply(c, &m[at], out, &ended, err);
        code = code != KG_OK ? code
                             : lm_chat_continue(&c->talker.chat, ended, m[at + 1].text,
                                                m[at + 1].len, out, err);
    }
    return code == KG_OK && out->failed ? kg_fail_memory(err, KG_E_HOST, "no memory for the ids")
                                        : code;
}
