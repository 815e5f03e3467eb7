/* Draws conversations of known styles, trains the tokenizer on their texts, and encodes them. */
#include "rl/data/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rl/data/data.h"

#define MAX_TEXTS (512u << 20)
#define SINGLES   .1 /* share of chains with one operator among those that have no three */

/* The whole text is one piece, so tokens may hold several words and lines. */
static const char whole_text[] = "[^\\x{0}]+";

struct draft {
    struct rl_chain chain;
    int turns;
    size_t at[2], len[2]; /* of its replies in texts */
    char feedback[RL_FEEDBACK_BYTES];
};

struct work {
    const struct rl_corpus_options *o;
    const struct rl_split *split;
    struct rl_audit *audit;
    struct rl_chain *chains[RL_CHAIN_MAX]; /* of the training side */
    size_t n_chains[RL_CHAIN_MAX];
    struct draft *draft;
    struct kg_buf texts;
};

static enum kg_code memory(struct kg_err *err)
{
    kg_fail(err, KG_E_HOST, "corpus: no memory");
    return KG_E_HOST;
}

static void close_work(struct work *w)
{
    rl_audit_destroy(w->audit);
    for (int n = 0; n < RL_CHAIN_MAX; n++) {
        free(w->chains[n]);
    }
    free(w->draft);
    kg_buf_deinit(&w->texts);
}

/* All pairs that are held out; no triple has a text that none of them forbids by its pair. */
static enum kg_code open_audit(struct work *w, struct kg_err *err)
{
    size_t n = rl_split_list(w->split, 2, true, NULL, 0);
    struct rl_chain *held = calloc(n + 1, sizeof *held);
    if (held == NULL) {
        return memory(err);
    }
    rl_split_list(w->split, 2, true, held, n);
    enum kg_code code = rl_audit_create(w->split, held, n, &w->audit, err);
    free(held);
    return code;
}

static enum kg_code open_work(struct work *w, struct kg_err *err)
{
    kg_buf_init(&w->texts, MAX_TEXTS);
    w->draft = calloc((size_t)w->o->documents, sizeof *w->draft);
    if (w->draft == NULL) {
        return memory(err);
    }
    for (int n = 1; n <= RL_CHAIN_MAX; n++) {
        size_t all = rl_split_list(w->split, n, false, NULL, 0);
        w->chains[n - 1] = calloc(all + 1, sizeof *w->chains[0]);
        if (w->chains[n - 1] == NULL) {
            return memory(err);
        }
        w->n_chains[n - 1] = rl_split_list(w->split, n, false, w->chains[n - 1], all);
    }
    return open_audit(w, err);
}

/* --- drafts --- */

static enum kg_code add_text(struct work *w, struct draft *d, int turn, struct kg_err *err)
{
    const char *text = w->texts.data + d->at[turn];
    d->len[turn] = w->texts.len - d->at[turn];
    if (!kg_buf_ok(&w->texts)) {
        return kg_fail(err, KG_E_LIMIT, "corpus: more than %u bytes of text", MAX_TEXTS);
    }
    return rl_audit_text(w->audit, text, d->len[turn], err);
}

static enum kg_code draw(struct work *w, struct draft *d, struct kg_rng *r, struct kg_err *err)
{
    int n = kg_rng_unit(r) < w->o->triples ? 3 : kg_rng_unit(r) < SINGLES ? 1 : 2;
    bool talk = kg_rng_unit(r) < w->o->talks;
    struct rl_talk t;
    d->chain = w->chains[n - 1][kg_rng_below(r, w->n_chains[n - 1])];
    d->turns = talk ? 2 : 1;
    if (rl_audit_chain(w->audit, &d->chain, err) != KG_OK) {
        return err->code;
    }
    if (talk) {
        struct rl_talk_mix mix = rl_talk_mix_default;
        mix.styles = *w->o->mix;
        rl_talk_draw(&d->chain, &mix, w->split, r, &t);
    }
    for (int turn = 0; turn < d->turns; turn++) {
        d->at[turn] = w->texts.len;
        if (talk) {
            rl_talk_code(&t, turn, &w->texts);
        } else {
            rl_chain_code(&d->chain, rl_style_draw(&d->chain, w->o->mix, r), &w->texts);
        }
        if (add_text(w, d, turn, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

static enum kg_code draw_all(struct work *w, struct kg_err *err)
{
    struct kg_rng r;
    enum kg_code code = KG_OK;
    kg_rng_init(&r, (struct kg_key){{w->o->seed, 0}}, 0);
    for (int i = 0; i < w->o->documents && code == KG_OK; i++) {
        code = draw(w, &w->draft[i], &r, err);
    }
    kg_rng_deinit(&r);
    return code;
}

static enum kg_code ask_all(struct work *w, rl_feedback_fn *ask, void *user, struct kg_err *err)
{
    size_t n = 0;
    struct rl_first_turn *turn = calloc((size_t)w->o->documents, sizeof *turn);
    if (turn == NULL) {
        return memory(err);
    }
    for (int i = 0; i < w->o->documents; i++) {
        const struct draft *d = &w->draft[i];
        if (d->turns == 2) {
            turn[n++] = (struct rl_first_turn){
                .chain = d->chain, .code = w->texts.data + d->at[0], .len = d->len[0]};
        }
    }
    enum kg_code code = n == 0 ? KG_OK : ask(user, turn, n, err);
    for (int i = w->o->documents - 1; i >= 0 && code == KG_OK; i--) {
        if (w->draft[i].turns == 2) {
            memcpy(w->draft[i].feedback, turn[--n].feedback, sizeof turn->feedback);
        }
    }
    free(turn);
    return code;
}

/* --- the tokenizer --- */

/* Words of prompts stand apart, so no token holds two operators; and so often that each operator
 * becomes one token. */
static enum kg_code teach_prompts(const struct work *w, struct lm_bpe_trainer *t,
                                  struct kg_err *err)
{
    static const char *const roles[] = {"user\n", "assistant\n"};
    enum kg_code code = KG_OK;
    for (int i = 0; i < w->o->documents && code == KG_OK; i++) {
        for (int k = 0; k < 2 && code == KG_OK; k++) {
            code = lm_bpe_trainer_add(t, roles[k], strlen(roles[k]), err);
        }
        for (int op = 0; op < rl_ops_count() && i % 2 == 0 && code == KG_OK; op++) {
            char word[RL_CHAIN_NAME];
            snprintf(word, sizeof word, " %s", rl_op_name(op));
            code = lm_bpe_trainer_add(t, word, strlen(word), err);
        }
    }
    return code;
}

static enum kg_code teach(struct work *w, struct lm_bpe_trainer *t, struct kg_err *err)
{
    enum kg_code code = teach_prompts(w, t, err);
    for (int i = 0; i < w->o->documents && code == KG_OK; i++) {
        const struct draft *d = &w->draft[i];
        for (int turn = 0; turn < d->turns && code == KG_OK; turn++) {
            code = lm_bpe_trainer_add(t, w->texts.data + d->at[turn], d->len[turn], err);
        }
        if (d->turns == 2 && code == KG_OK) {
            code = lm_bpe_trainer_add(t, d->feedback, strlen(d->feedback), err);
        }
    }
    return code;
}

static enum kg_code train_tokenizer(struct work *w, struct rl_talker *talker, struct kg_err *err)
{
    const struct lm_bpe_train_options o = {
        .vocab = 256 + (size_t)w->o->merges, .min_count = 2, .pattern = whole_text};
    struct lm_bpe_trainer *t;
    struct lm_bpe_def def;
    if (lm_bpe_trainer_create(&o, &t, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = teach(w, t, err);
    code = code != KG_OK ? code : lm_bpe_trainer_run(t, &def, err);
    lm_bpe_trainer_destroy(t);
    return code != KG_OK ? code : rl_talker_open(&def, w->o->feedback, talker, err);
}

/* --- documents --- */

static enum kg_code encode(const struct work *w, const struct draft *d,
                           const struct rl_talker *talker, struct rl_corpus *c, struct kg_err *err)
{
    struct rl_document *doc = &c->doc[c->n];
    *doc = (struct rl_document){.first = c->ids.n, .turns = d->turns, .chain = d->chain};
    enum kg_code code = rl_talker_prompt(talker, &d->chain, &c->ids, err);
    for (int turn = 0; turn < d->turns && code == KG_OK; turn++) {
        if (turn > 0) {
            code = rl_talker_feedback(talker, true, d->feedback, &c->ids, err);
        }
        if (code == KG_OK) {
            code = rl_talker_reply(talker, w->texts.data + d->at[turn], d->len[turn], &c->ids, err);
        }
    }
    doc->n = c->ids.n - doc->first;
    c->longest = doc->n > c->longest ? doc->n : c->longest;
    c->n++;
    return code;
}

static enum kg_code encode_all(const struct work *w, const struct rl_talker *talker,
                               struct rl_corpus *out, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    lm_ids_init(&out->ids);
    out->doc = calloc((size_t)w->o->documents, sizeof *out->doc);
    if (out->doc == NULL) {
        return memory(err);
    }
    for (int i = 0; i < w->o->documents && code == KG_OK; i++) {
        code = encode(w, &w->draft[i], talker, out, err);
    }
    return code;
}

void rl_corpus_keys(struct rl_corpus *c)
{
    struct kg_buf text;
    kg_buf_init(&text, RL_CHAIN_BYTES);
    for (size_t i = 0; i < c->n; i++) {
        if (c->doc[i].chain.n > 0) {
            kg_buf_reset(&text);
            rl_chain_problem(&c->doc[i].chain, &text);
            c->doc[i].problem = rl_data_key_of(text.data, text.len);
        }
    }
    kg_buf_deinit(&text);
}

void rl_corpus_destroy(struct rl_corpus *c)
{
    free(c->doc);
    lm_ids_deinit(&c->ids);
    *c = (struct rl_corpus){0};
}

enum kg_code rl_corpus_create(const struct rl_corpus_options *o, const struct rl_split *split,
                              rl_feedback_fn *ask, void *user, struct rl_talker *talker,
                              struct rl_corpus *out, struct kg_err *err)
{
    struct work w = {.o = o, .split = split};
    *out = (struct rl_corpus){0};
    if (!o->own_tokenizer) {
        *talker = (struct rl_talker){0};
    }
    if (o->documents < 1 || (o->talks > 0 && ask == NULL)) {
        rl_talker_close(talker);
        return kg_fail(err, KG_E_USAGE, "corpus: %s",
                       o->documents < 1 ? "no documents" : "two turns need the gym's feedback");
    }
    enum kg_code code = open_work(&w, err);
    code = code != KG_OK ? code : draw_all(&w, err);
    code = code != KG_OK || o->talks <= 0 ? code : ask_all(&w, ask, user, err);
    code = code != KG_OK || o->own_tokenizer ? code : train_tokenizer(&w, talker, err);
    code = code != KG_OK ? code : encode_all(&w, talker, out, err);
    if (code != KG_OK) {
        rl_corpus_destroy(out);
        rl_talker_close(talker);
    }
    close_work(&w);
    return code;
}
