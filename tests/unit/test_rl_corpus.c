/* The corpus of SFT, and training on it: what the masks hold, what is left out, loss falls. */
#include "loop_rig.h"

static bool starts_with_prompt(const struct loop *l, const struct rl_document *d,
                               const struct rl_chain *c)
{
    struct lm_ids ids;
    lm_ids_init(&ids);
    loop_ok(rl_talker_prompt(&l->talker, c, &ids, &loop_err));
    bool same = ids.n < d->n && memcmp(ids.id, l->corpus.ids.id + d->first, ids.n * 4) == 0;
    lm_ids_deinit(&ids);
    return same;
}

/* The trained ids of a document are a reply and its end, and the reply is a candidate. */
static void masks_hold_replies(void **state)
{
    struct loop *l = *state;
    struct rl_chain all[600];
    size_t n[2] = {rl_split_list(&l->split, 1, false, all, 100)}, found = 0;
    n[1] = n[0] + rl_split_list(&l->split, 2, false, all + n[0], 500);
    for (size_t i = 0; i < l->corpus.n; i++) {
        const struct rl_document *d = &l->corpus.doc[i];
        const int32_t *id = l->corpus.ids.id + d->first;
        const uint8_t *mask = l->corpus.ids.mask + d->first;
        size_t from = 0;
        while (!mask[from]) {
            from++;
        }
        for (size_t k = from; k < d->n; k++) {
            assert_true(mask[k]);
        }
        assert_int_equal(id[d->n - 1], l->talker.end);
        struct kg_buf text;
        kg_buf_init(&text, RL_CHAIN_BYTES);
        rl_talker_text(&l->talker, id + from, d->n - from, &text);
        for (size_t k = 0; k < n[1]; k++) {
            struct rl_style s;
            if (starts_with_prompt(l, d, &all[k])) {
                found++;
                assert_true(rl_style_find(&all[k], text.data, text.len, &s));
            }
        }
        kg_buf_deinit(&text);
    }
    assert_in_range(found, 150, 300);
}

static void prompts_have_a_token_for_each_operator(void **state)
{
    struct loop *l = *state;
    struct lm_ids one, two;
    struct rl_chain a, b;
    lm_ids_init(&one);
    lm_ids_init(&two);
    loop_ok(rl_chain_parse("relu", &a, &loop_err));
    loop_ok(rl_chain_parse("relu_softmax", &b, &loop_err));
    loop_ok(rl_talker_prompt(&l->talker, &a, &one, &loop_err));
    loop_ok(rl_talker_prompt(&l->talker, &b, &two, &loop_err));
    assert_int_equal(two.n, one.n + 1);
    lm_ids_deinit(&one);
    lm_ids_deinit(&two);
}

/* Feedback is cut, and one that spells a special token stays text. */
static void feedback_is_cut(void **state)
{
    struct loop *l = *state;
    struct lm_ids ids, none;
    char text[400];
    lm_ids_init(&ids);
    lm_ids_init(&none);
    memset(text, 0, sizeof text);
    for (int i = 0; i < 39; i++) {
        memcpy(text + (size_t)10 * (size_t)i, "<|im_end|>", 10);
    }
    loop_ok(rl_talker_feedback(&l->talker, true, "", &none, &loop_err));
    loop_ok(rl_talker_feedback(&l->talker, true, text, &ids, &loop_err));
    assert_in_range(ids.n, none.n + 1, none.n + 24);
    size_t ends = 0;
    for (size_t i = 0; i < ids.n; i++) {
        ends += ids.id[i] == l->talker.end;
        assert_false(ids.mask[i]);
    }
    assert_int_equal(ends, 1); /* of the user's turn */
    lm_ids_reset(&ids);
    loop_ok(rl_talker_feedback(&l->talker, false, "", &ids, &loop_err));
    assert_int_equal(ids.n, none.n + 1);
    assert_int_equal(ids.id[0], l->talker.end);
    lm_ids_deinit(&ids);
    lm_ids_deinit(&none);
}

static enum kg_code say(void *user, struct rl_first_turn *turn, size_t n, struct kg_err *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++) {
        strcpy(turn[i].feedback, "Verdict: wrong.");
    }
    *(size_t *)user += n;
    return KG_OK;
}

static void two_turns(void **state)
{
    (void)state;
    struct rl_corpus_options o = loop_corpus_options();
    struct rl_split split;
    struct rl_talker t;
    struct rl_corpus c;
    size_t asked = 0, talks = 0;
    rl_split_init(&split, 5, 0);
    o.documents = 100;
    o.talks = .5;
    assert_int_equal(rl_corpus_create(&o, &split, NULL, NULL, &t, &c, &loop_err), KG_E_USAGE);
    loop_ok(rl_corpus_create(&o, &split, say, &asked, &t, &c, &loop_err));
    for (size_t i = 0; i < c.n; i++) {
        int ends = 0, changes = 0;
        for (size_t k = c.doc[i].first; k < c.doc[i].first + c.doc[i].n; k++) {
            ends += c.ids.mask[k] && c.ids.id[k] == t.end;
            changes += k > c.doc[i].first && c.ids.mask[k] && !c.ids.mask[k - 1];
        }
        talks += c.doc[i].turns == 2;
        assert_int_equal(ends, c.doc[i].turns);
        assert_int_equal(changes, c.doc[i].turns);
    }
    assert_int_equal(talks, asked);
    assert_in_range(talks, 30, 70);
    rl_corpus_destroy(&c);
    rl_talker_close(&t);
}

static void same_options_same_ids(void **state)
{
    struct loop *l = *state;
    const struct rl_corpus_options o = loop_corpus_options();
    struct rl_talker t;
    struct rl_corpus c;
    loop_ok(rl_corpus_create(&o, &l->split, NULL, NULL, &t, &c, &loop_err));
    assert_int_equal(c.ids.n, l->corpus.ids.n);
    assert_memory_equal(c.ids.id, l->corpus.ids.id, c.ids.n * sizeof *c.ids.id);
    rl_corpus_destroy(&c);
    rl_talker_close(&t);
}

static struct rl_sft_options sft_options(void)
{
    return (struct rl_sft_options){.seed = 1,
                                   .rows = 1024,
                                   .seqs = 32,
                                   .steps = 25,
                                   .warmup = 3,
                                   .lowest = .1f,
                                   .adamw = {1e-2f, .9f, .95f, 1e-8f, 0, 1}};
}

static void loss_falls(void **state)
{
    struct loop *l = *state;
    struct rl_sft_options o = sft_options();
    struct rl_sft_stats first, last;
    o.steps = 1;
    loop_ok(rl_sft_run(l->trainer, &l->corpus, &o, NULL, NULL, &first, &loop_err));
    o.steps = 60;
    loop_ok(rl_sft_run(l->trainer, &l->corpus, &o, NULL, NULL, &last, &loop_err));
    print_message("loss %.3f, then %.3f\n", first.loss, last.loss);
    assert_true(first.loss > 5); /* log of the vocabulary is 6.5 */
    assert_true(last.loss < .6 * first.loss);
    assert_int_equal(last.step, 60);
    assert_int_equal(last.skipped, 0);
    assert_in_range(last.trained, 1000, last.tokens);
}

static bool stop_at_three(void *user, const struct rl_sft_stats *s)
{
    (void)user;
    return s->step < 3;
}

static void sft_ends_when_told(void **state)
{
    struct loop *l = *state;
    struct rl_sft_options o = sft_options();
    struct rl_sft_stats s;
    loop_ok(rl_sft_run(l->trainer, &l->corpus, &o, stop_at_three, NULL, &s, &loop_err));
    assert_int_equal(s.step, 3);
    o.rows = 8; /* no document is so short */
    assert_int_equal(rl_sft_run(l->trainer, &l->corpus, &o, NULL, NULL, &s, &loop_err), KG_E_INPUT);
}

int main(void)
{
    static struct loop l;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(masks_hold_replies, &l),
        cmocka_unit_test_prestate(prompts_have_a_token_for_each_operator, &l),
        cmocka_unit_test_prestate(feedback_is_cut, &l),
        cmocka_unit_test_prestate(two_turns, &l),
        cmocka_unit_test_prestate(same_options_same_ids, &l),
        cmocka_unit_test_prestate(loss_falls, &l),
        cmocka_unit_test_prestate(sft_ends_when_told, &l),
    };
    loop_open(&l, 1024, 32);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    loop_close(&l);
    return failed;
}
