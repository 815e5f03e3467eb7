/* Contexts as ids: prompt, reply, feedback. */
#include "rl/data/talker.h"

#include <string.h>

#define MAX_TEXT 65536

enum kg_code rl_talker_open(struct lm_bpe_def *def, int feedback, struct rl_talker *out,
                            struct kg_err *err)
{
    *out = (struct rl_talker){.feedback = feedback};
    if (lm_bpe_add_qwen(def, true, err) != KG_OK) {
        lm_bpe_def_deinit(def);
        return err->code;
    }
    if (lm_bpe_create(def, "the corpus", &out->bpe, err) != KG_OK) {
        return err->code;
    }
    if (lm_chat_init(&out->chat, LM_CHAT_QWEN3_INSTRUCT, out->bpe, err) != KG_OK) {
        rl_talker_close(out);
        return err->code;
    }
    out->vocab = lm_bpe_size(out->bpe);
    out->end = out->chat.end_id;
    return KG_OK;
}

void rl_talker_close(struct rl_talker *t)
{
    lm_bpe_close(t->bpe);
    t->bpe = NULL;
}

enum kg_code rl_talker_prompt(const struct rl_talker *t, const struct rl_chain *c,
                              struct lm_ids *out, struct kg_err *err)
{
    struct kg_buf text;
    kg_buf_init(&text, RL_CHAIN_BYTES);
    kg_buf_addc(&text, ' '); /* so the first operator has the token of all others */
    rl_chain_prompt(c, &text);
    const struct lm_chat_message m = {.role = LM_CHAT_USER, .content = text.data, .len = text.len};
    enum kg_code code = lm_chat_encode(&t->chat, &m, 1, true, out, err);
    kg_buf_deinit(&text);
    return code;
}

enum kg_code rl_talker_feedback(const struct rl_talker *t, bool ended, const char *text,
                                struct lm_ids *out, struct kg_err *err)
{
    struct lm_ids ids;
    struct kg_buf cut;
    size_t most = (size_t)t->feedback;
    lm_ids_init(&ids);
    kg_buf_init(&cut, MAX_TEXT);
    kg_buf_adds(&cut, text);
    enum kg_code code = lm_bpe_encode(t->bpe, cut.data, cut.len, LM_BPE_PLAIN, &ids, err);
    while (code == KG_OK && ids.n > (size_t)t->feedback) { /* a cut text may have other ids */
        kg_buf_reset(&cut);
        lm_bpe_decode(t->bpe, ids.id, most < ids.n ? most : ids.n, true, &cut);
        lm_ids_reset(&ids);
        most--;
        code = lm_bpe_encode(t->bpe, cut.data, cut.len, LM_BPE_PLAIN, &ids, err);
    }
    if (code == KG_OK) {
        code = lm_chat_continue(&t->chat, ended, cut.data, cut.len, out, err);
    }
    kg_buf_deinit(&cut);
    lm_ids_deinit(&ids);
    return code;
}

enum kg_code rl_talker_reply(const struct rl_talker *t, const char *code, size_t len,
                             struct lm_ids *out, struct kg_err *err)
{
    size_t from = out->n;
    if (lm_bpe_encode(t->bpe, code, len, LM_BPE_PLAIN, out, err) != KG_OK) {
        return err->code;
    }
    lm_ids_add(out, &t->end, 1);
    if (out->failed) {
        return kg_fail(err, KG_E_HOST, "no memory for the ids of a reply");
    }
    lm_ids_set_mask(out, from, true);
    return KG_OK;
}

void rl_talker_text(const struct rl_talker *t, const int32_t *ids, size_t n, struct kg_buf *out)
{
    lm_bpe_decode(t->bpe, ids, n, true, out);
}

size_t rl_talker_count(void *talker, const char *text, size_t len)
{
    const struct rl_talker *t = talker;
    struct kg_err err = KG_ERR_INIT;
    struct lm_ids ids;
    lm_ids_init(&ids);
    size_t n = lm_bpe_encode(t->bpe, text, len, LM_BPE_PLAIN, &ids, &err) == KG_OK ? ids.n : len;
    lm_ids_deinit(&ids);
    return n;
}
