/* The data of `kgym sft`: files or a generated corpus, the tokenizer, validation apart. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "rl/run/gym.h"
#include "rl/run/verify.h"
#include "rl/sft/sft_parts.h"

static void note(struct rl_sft_state *s, const char *key, uint64_t n)
{
    json_object_set_new(s->report, key, json_integer((json_int_t)n));
}

/* --- files --- */

static enum kg_code read_files(const struct rl_sft_state *s, const struct rl_sft_files *f,
                               struct rl_data *d, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    rl_data_init(d, (enum rl_data_turns)s->c->turns);
    for (size_t i = 0; i < f->n && code == KG_OK; i++) {
        code = rl_data_file(d, f->path[i], err);
    }
    if (code == KG_OK && d->n == 0) {
        code = kg_fail(err, KG_E_INPUT,
                       "data: no conversation is left: %llu lines, %llu "
                       "trajectories without a correct turn",
                       (unsigned long long)d->counts.lines, (unsigned long long)d->counts.unsolved);
    }
    return code;
}

static void say_files(struct rl_sft_state *s, const struct rl_data *d,
                      const struct rl_encode_counts *e)
{
    const struct rl_data_counts *n = &d->counts;
    fprintf(s->o->terminal,
            "data: %llu lines: %llu chats, %llu trajectories (%llu without a correct turn and %llu "
            "of a faulty problem are left out)\n"
            "      %llu replies, of them %llu as context; too long: %llu left out, %llu cut\n",
            (unsigned long long)n->lines, (unsigned long long)n->chats,
            (unsigned long long)n->trajectories, (unsigned long long)n->unsolved,
            (unsigned long long)n->defective, (unsigned long long)n->replies,
            (unsigned long long)n->untrained, (unsigned long long)e->left_out,
            (unsigned long long)e->cut);
    note(s, "lines", n->lines);
    note(s, "chats", n->chats);
    note(s, "trajectories", n->trajectories);
    note(s, "unsolved", n->unsolved);
    note(s, "defective", n->defective);
    note(s, "replies", n->replies);
    note(s, "context_replies", n->untrained);
    note(s, "left_out", e->left_out);
    note(s, "cut", e->cut);
}

static const struct lm_config *shape_of(const struct rl_sft_state *s)
{
    return s->plan.fresh ? NULL : &s->shape;
}

static enum kg_code open_talker(struct rl_sft_state *s, const struct rl_data *d, struct kg_err *err)
{
    int feedback = (int)s->c->run.fb_max;
    return s->plan.tokenizer
               ? rl_encode_tokenizer(d, s->plan.merges, feedback, &s->talker, err)
               : rl_source_talker(&s->plan.source, shape_of(s), feedback, &s->talker, err);
}

static enum kg_code encode(struct rl_sft_state *s, const struct rl_data *d, struct rl_corpus *out,
                           struct rl_encode_counts *counts, struct kg_err *err)
{
    const struct rl_encode_options o = {.max_tokens = s->max_tokens, .cut = s->c->over == 1};
    return rl_encode(d, &s->talker, &o, out, counts, err);
}

static enum kg_code from_files(struct rl_sft_state *s, struct kg_err *err)
{
    struct rl_data d;
    struct rl_encode_counts counts = {0};
    enum kg_code code = read_files(s, &s->c->data, &d, err);
    code = code != KG_OK ? code : open_talker(s, &d, err);
    code = code != KG_OK ? code : encode(s, &d, &s->all, &counts, err);
    if (code == KG_OK) {
        say_files(s, &d, &counts);
    }
    rl_data_deinit(&d);
    return code;
}

static enum kg_code valid_files(struct rl_sft_state *s, struct kg_err *err)
{
    struct rl_data d;
    struct rl_encode_counts counts = {0};
    enum kg_code code = read_files(s, &s->c->valid, &d, err);
    code = code != KG_OK ? code : encode(s, &d, &s->other, &counts, err);
    rl_data_deinit(&d);
    return code != KG_OK ? kg_err_prefix(err, "valid") : KG_OK;
}

/* --- a generated corpus --- */

static enum kg_code judge_sample(struct rl_sft_state *s, struct kgym_pool *pool, struct kg_err *err)
{
    struct rl_judge *judge;
    struct rl_verify_counts n;
    const struct rl_judge_options o = {
        .reward = rl_config_reward(&s->c->run), .tickets = RL_VERIFY_TICKETS, .reuse = true};
    if (rl_judge_create(pool, &o, &judge, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = rl_verify(&s->all, &s->talker, judge, s->plan.verify,
                                  (uint64_t)s->c->run.seed, s->o->cancel, &n, err);
    rl_judge_destroy(judge);
    if (code != KG_OK) {
        return code;
    }
    note(s, "verify_asked", n.asked);
    note(s, "verify_ok", n.ok);
    note(s, "verify_failed", n.failed);
    return rl_verify_tell(&n, s->all.n, s->o->terminal, err);
}

static enum kg_code make_corpus(struct rl_sft_state *s, struct kgym_pool *pool, struct kg_err *err)
{
    const struct rl_config *c = &s->c->run;
    struct rl_split split;
    struct rl_gym_asker asker = {.config = c, .pool = pool, .cancel = s->o->cancel};
    struct rl_corpus_options o = rl_config_corpus(c, &split);
    o.merges = s->plan.merges;
    o.own_tokenizer = !s->plan.tokenizer;
    if (o.own_tokenizer && open_talker(s, NULL, err) != KG_OK) {
        return err->code;
    }
    if (rl_corpus_create(&o, &split, rl_gym_ask, &asker, &s->talker, &s->all, err) != KG_OK) {
        return err->code;
    }
    rl_corpus_keys(&s->all);
    fprintf(s->o->terminal, "data: %zu generated conversations\n", s->all.n);
    note(s, "generated", s->all.n);
    return s->plan.verify > 0 ? judge_sample(s, pool, err) : KG_OK;
}

static enum kg_code from_generator(struct rl_sft_state *s, struct kg_err *err)
{
    struct kgym_pool *pool = NULL;
    bool gym = s->c->run.talks > 0 || s->plan.verify > 0;
    if (gym && rl_gym_open(&s->c->run, &pool, err) != KG_OK) {
        return err->code;
    }
    enum kg_code code = make_corpus(s, pool, err);
    if (pool != NULL) {
        kgym_close(pool);
    }
    if (code == KG_OK && s->plan.verify == 0) {
        fprintf(s->o->terminal, "verify: none\n");
    }
    return code;
}

/* --- training and validation --- */

static enum kg_code split(struct rl_sft_state *s, struct kg_err *err)
{
    size_t n = s->all.n;
    s->train = s->valid = s->all;
    if (s->c->valid.n > 0) {
        if (valid_files(s, err) != KG_OK) {
            return err->code;
        }
        s->valid = s->other;
        return KG_OK;
    }
    if (s->c->valid_share > 0 && rl_corpus_hold_out(&s->all, (uint64_t)s->c->run.seed,
                                                    s->c->valid_share, &n, err) != KG_OK) {
        return err->code;
    }
    s->train.n = n;
    s->valid.doc = s->all.doc + n;
    s->valid.n = s->all.n - n;
    return n > 0 ? KG_OK
                 : kg_fail(err, KG_E_INPUT, "valid_share: all problems are held out, none trains");
}

/* Names the training data, so a checkpoint of other data is refused. */
static void hash_data(struct rl_sft_state *s)
{
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    for (size_t i = 0; i < s->train.n; i++) {
        const struct rl_document *d = &s->train.doc[i];
        kg_sha256_part(&h, s->train.ids.id + d->first, d->n * sizeof *s->train.ids.id);
        kg_sha256_part(&h, s->train.ids.mask + d->first, d->n);
    }
    kg_sha256_end(&h, s->hash);
}

static uint64_t tokens_of(const struct rl_corpus *c)
{
    uint64_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        n += c->doc[i].n;
    }
    return n;
}

enum kg_code rl_sft_open_data(struct rl_sft_state *s, struct kg_err *err)
{
    size_t both = 0;
    s->report = json_pack("{s:s}", "phase", "data");
    enum kg_code code = s->plan.generated ? from_generator(s, err) : from_files(s, err);
    code = code != KG_OK ? code : split(s, err);
    code = code != KG_OK ? code : rl_corpus_overlap(&s->train, &s->valid, &both, err);
    if (code != KG_OK) {
        return code;
    }
    fprintf(s->o->terminal,
            "training on %zu conversations (%llu tokens), validation on %zu; problems of "
            "validation in training: %zu\n",
            s->train.n, (unsigned long long)tokens_of(&s->train), s->valid.n, both);
    if (both > 0) {
        return kg_fail(err, KG_E_INPUT,
                       "valid: %zu of %zu conversations are about problems of the training data",
                       both, s->valid.n);
    }
    note(s, "train", s->train.n);
    note(s, "valid", s->valid.n);
    note(s, "overlap", both);
    note(s, "tokens", tokens_of(&s->train));
    hash_data(s);
    return KG_OK;
}

void rl_sft_close_data(struct rl_sft_state *s)
{
    rl_corpus_destroy(&s->all);
    rl_corpus_destroy(&s->other);
    rl_talker_close(&s->talker);
    json_decref(s->report);
}
