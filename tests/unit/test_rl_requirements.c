/* What must not happen in a run, for requirements that no test of a single method holds; which test
 * holds which requirement is in docs/requirements.md. With the real pool and scripted replies. */
#include "loop_pool_rig.h"

#include <glob.h>

#include "rl/rollout/dryrun.h"
#include "rl/run/options.h"

/* --- configuration --- */

static void test_D_01_each_unknown_key_is_refused_by_name(void **state)
{
    (void)state;
    const struct kg_opts *o = rl_options();
    struct rl_config c;
    struct kg_buf dump;
    rl_config_defaults(&c);
    kg_buf_init(&dump, 1 << 20);
    rl_config_dump(&c, &dump);
    for (size_t i = 0; i < o->n; i++) {
        char pair[200], line[200];
        snprintf(line, sizeof line, "%s: ", o->table[i].key);
        assert_non_null(strstr(dump.data, line)); /* each key has a value that can be read */
        snprintf(pair, sizeof pair, "%sx=1", o->table[i].key);
        assert_int_equal(rl_config_pair(&c, pair, "--set", &loop_err), KG_E_USAGE);
        *strchr(pair, '=') = '\0';
        assert_non_null(strstr(loop_err.message, pair));
    }
    kg_buf_deinit(&dump);
}

static void test_D_02_recipes_pass_and_contradictions_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {{"rl.rollouts=1", "n1=zero"},
                                           {"turns=1", "mrs=turn"},
                                           {"loss=gspo", "offpolicy=pure"},
                                           {"adv=grpo", "cv=fit"},
                                           {"adv=grpo", "prs_mode=weight"}};
    char pattern[600];
    glob_t g;
    snprintf(pattern, sizeof pattern, "%s/configs/*.yaml", getenv("T"));
    assert_int_equal(glob(pattern, 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        rig_expect(0, "$K train %s --check", g.gl_pathv[i]);
    }
    globfree(&g);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rl_config c;
        struct rl_methods m;
        rl_config_defaults(&c);
        loop_ok(rl_config_pair(&c, wrong[i][0], "--set", &loop_err));
        loop_ok(rl_config_pair(&c, wrong[i][1], "--set", &loop_err));
        assert_int_equal(rl_config_methods(&c, &m, &loop_err), KG_E_USAGE);
    }
}

/* Sizes and rates are read from keys alone. */
static void test_D_28_names_of_files_set_nothing(void **state)
{
    (void)state;
    static const char text[] = "seed: 5\n";
    struct rl_config plain, named;
    loop_ok(kg_file_write_atomic("a.yaml", text, sizeof text - 1, &loop_err));
    assert_int_equal(mkdir("bs512-rows9", 0755), 0);
    loop_ok(kg_file_write_atomic("bs512-rows9/lr_1e-2_rollouts_32_8b.yaml", text, sizeof text - 1,
                                 &loop_err));
    rl_config_defaults(&plain);
    rl_config_defaults(&named);
    loop_ok(rl_config_file(&plain, "a.yaml", &loop_err));
    loop_ok(rl_config_file(&named, "bs512-rows9/lr_1e-2_rollouts_32_8b.yaml", &loop_err));
    assert_memory_equal(&plain, &named, sizeof plain);
}

/* What is written down is what was set last. */
static void test_D_40_what_is_reported_is_the_effective_configuration(void **state)
{
    (void)state;
    struct rl_config c;
    struct kg_buf dump;
    rl_config_defaults(&c);
    kg_buf_init(&dump, 1 << 20);
    loop_ok(kg_file_write_atomic("b.yaml", "rl: {lr: 0.25, groups: 3}\n", 26, &loop_err));
    loop_ok(rl_config_file(&c, "b.yaml", &loop_err));
    loop_ok(rl_config_pair(&c, "rl.lr=0.125", "--set", &loop_err));
    rl_config_dump(&c, &dump);
    assert_non_null(strstr(dump.data, "rl.lr: 0.125\n"));
    assert_null(strstr(dump.data, "rl.lr: 0.25\n")); /* no second value of the key */
    assert_non_null(strstr(dump.data, "rl.groups: 3\n"));
    kg_buf_deinit(&dump);
}

/* --- conversations --- */

static bool control(const struct rl_talker *t, int32_t id)
{
    return id == t->end || id == t->chat.start_id || id == t->chat.pad_id;
}

/* Only control tokens end a turn, and no text of a reply makes one. */
static void test_D_16_words_do_not_end_a_turn(void **state)
{
    (void)state;
    static const char code[] = "/* user: assistant */ int user, assistant;\n"
                               "// <|im_end|> <|im_start|>assistant <|endoftext|>\n";
    struct lm_ids ids;
    struct kg_buf text;
    lm_ids_init(&ids);
    kg_buf_init(&text, 4096);
    loop_ok(rl_talker_reply(&loop.talker, code, sizeof code - 1, &ids, &loop_err));
    for (size_t i = 0; i < ids.n; i++) {
        assert_int_equal(control(&loop.talker, ids.id[i]), i == ids.n - 1);
    }
    rl_talker_text(&loop.talker, ids.id, ids.n, &text);
    assert_string_equal(text.data, code);
    kg_buf_deinit(&text);
    lm_ids_deinit(&ids);
}

/* The corpus, and the contexts of rollouts (which evaluations are, too), begin with equal ids. */
static void test_D_36_one_renderer_for_all(void **state)
{
    (void)state;
    struct rl_chain chain[600];
    size_t n = rl_split_list(&loop.split, 2, false, chain, 600), found = 0;
    n = n < 600 ? n : 600;
    for (size_t k = 0; k < n; k++) {
        struct lm_ids ids;
        lm_ids_init(&ids);
        loop_ok(rl_talker_prompt(&loop.talker, &chain[k], &ids, &loop_err));
        for (size_t i = 0; i < loop.corpus.n; i++) {
            const struct rl_document *d = &loop.corpus.doc[i];
            const int32_t *id = loop.corpus.ids.id + d->first;
            if (d->n > ids.n && memcmp(id, ids.id, ids.n * sizeof *id) == 0) {
                assert_true(loop.corpus.ids.mask[d->first + ids.n]); /* the reply begins here */
                found++;
            }
        }
        lm_ids_deinit(&ids);
    }
    assert_in_range(found, 50, loop.corpus.n);
}

static void test_D_37_evaluations_ask_nothing_that_was_trained(void **state)
{
    (void)state;
    static struct rl_chain train[4000], held[4000];
    for (int part = 0; part < RL_PARTS; part++) {
        struct rl_split s;
        struct rl_audit *a;
        rl_split_init(&s, 3, part);
        size_t n = rl_split_list(&s, 2, true, held, 60);
        n = n < 60 ? n : 60;
        loop_ok(rl_audit_create(&s, held, n, &a, &loop_err));
        for (int operators = 1; operators <= 3; operators++) {
            size_t m = rl_split_list(&s, operators, false, train, 4000);
            for (size_t i = 0; i < m && i < 4000; i++) {
                loop_ok(rl_audit_chain(a, &train[i], &loop_err));
            }
        }
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(rl_audit_chain(a, &held[i], &loop_err), KG_E_INPUT);
        }
        rl_audit_destroy(a);
    }
}

/* --- rollouts --- */

struct stage {
    struct rl_judge *judge;
    struct rl_scripted *script;
    struct rl_rollouts *r;
    struct rl_policy policy;
    struct rl_rollout_stats stats;
};

static struct stage *open_stage(rl_script *say, const char *reward)
{
    const struct rl_judge_options o = {.reward = reward, .tickets = 8, .reuse = true};
    struct stage *s = calloc(1, sizeof *s);
    assert_non_null(s);
    loop_ok(rl_judge_create(pool, &o, &s->judge, &loop_err));
    loop_ok(rl_scripted_create(&loop.talker, say, NULL, 8, 4096, &s->script, &loop_err));
    loop_ok(rl_rollouts_create(8, 4096, 8, &s->r, &loop_err));
    s->policy = rl_policy_scripted(s->script);
    return s;
}

static void close_stage(struct stage *s)
{
    rl_judge_destroy(s->judge);
    rl_rollouts_destroy(s->r);
    rl_scripted_destroy(s->script);
    free(s);
}

static void walk(struct stage *s, int groups)
{
    struct rl_chain chains[2];
    const struct rl_rollout_options o = {.rollouts = 4, .turns = 2, .min_reply = 16};
    assert_true(rl_dry_chains(chains, 2) >= 2);
    loop_ok(rl_rollout_run(s->r, &loop.talker, &s->policy, s->judge, chains, groups, &o, &s->stats,
                           &loop_err));
}

/* A reward needs a verdict: a gym without one, and one that pays for wrong replies, are refused. */
static void test_D_32_D_33_a_dry_run_refuses_a_gym_that_pays_wrongly(void **state)
{
    (void)state;
    struct kg_buf report;
    kg_buf_init(&report, 1 << 16);
    struct stage *s = open_stage(rl_dry_say, "dr-kernel-nopr");
    walk(s, 2);
    if (rl_dry_check(s->r, &report) != 0) {
        fail_msg("%s", report.data);
    }
    struct rl_verdict paid = *s->r->walk[1].turn[0].verdict; /* of the wrong reply */
    assert_true(!paid.correct && paid.reward == 0);
    paid.reward = 9; /* more than any correct reply gets */
    s->r->walk[1].turn[0].verdict = &paid;
    assert_int_equal(rl_dry_check(s->r, &report), 1);
    close_stage(s);
    s = open_stage(rl_dry_say, "none-such");
    walk(s, 1);
    assert_int_equal(s->stats.infra, 4);
    for (int i = 0; i < 4; i++) {
        const struct rl_verdict *v = s->r->walk[i].turn[0].verdict;
        assert_true(v == NULL || (v->state == RL_NO_VERDICT && v->reward == 0));
    }
    assert_true(rl_dry_check(s->r, &report) > 0);
    close_stage(s);
    kg_buf_deinit(&report);
}

/* Rollout 1 writes a long answer; the others are short, and no code. */
static void one_is_long(void *user, const struct rl_speaker *who, struct kg_buf *out)
{
    (void)user;
    for (int i = 0; who->rollout == 1 && who->turn == 1 && i < 400; i++) {
        kg_buf_addf(out, "word %d\n", i);
    }
    kg_buf_addf(out, "nothing %u", who->rollout);
}

/* A policy that passes everything on, slowly, and counts second turns that begin meanwhile. */
static struct {
    struct rl_policy inner;
    int second; /* second turns before the long answer ended */
    bool over;  /* it ended */
} slow;

static int slow_step(void *self, struct lm_event *events, int max)
{
    (void)self;
    if (slow.second < 3) {
        usleep(2000);
    }
    return slow.inner.step(slow.inner.self, events, max);
}

static enum kg_code slow_extend(void *self, int conversation, const int32_t *ids, int len,
                                const struct rl_speaker *who, struct kg_err *err)
{
    (void)self;
    slow.over = slow.over || who->rollout == 1;
    slow.second += !slow.over;
    return slow.inner.extend(slow.inner.self, conversation, ids, len, who, err);
}

static void test_D_21_a_slow_trajectory_blocks_nobody(void **state)
{
    (void)state;
    struct stage *s = open_stage(one_is_long, "dr-kernel-nopr");
    slow.inner = s->policy;
    s->policy.step = slow_step;
    s->policy.extend = slow_extend;
    walk(s, 1);
    assert_true(s->r->walk[0].turn[0].length > 1000);
    assert_int_equal(slow.second, 3);
    assert_true(slow.over);
    close_stage(s);
}

/* Sampled ids have a log-prob each, all others none: nothing is filtered afterwards. */
static void test_D_27_ids_and_log_probs_have_one_length(void **state)
{
    (void)state;
    const struct lm_engine_options eo = {.max_seqs = 8, .max_tokens = 300};
    struct rl_engine_policy p = {.turn = {.sampling = {.temperature = 1, .seed = 3},
                                          .max_tokens = 40,
                                          .stop = {loop.talker.end},
                                          .n_stop = 1}};
    struct stage *s = open_stage(one_is_long, "dr-kernel-nopr");
    loop_ok(lm_engine_create(loop.model, loop.threads, &eo, &p.engine, &loop_err));
    s->policy = rl_policy_engine(&p);
    rl_rollouts_destroy(s->r);
    loop_ok(rl_rollouts_create(8, 300, 8, &s->r, &loop_err));
    walk(s, 2);
    for (int i = 0; i < s->r->n; i++) {
        const struct rl_walk *w = &s->r->walk[i];
        int at = 0;
        for (int t = 0; t < w->turns; t++) {
            for (; at < w->turn[t].first; at++) {
                assert_true(w->mu[at] == 0);
            }
            for (; at < w->turn[t].first + w->turn[t].length; at++) {
                assert_true(w->mu[at] < 0);
            }
        }
        assert_int_equal(at, w->n);
    }
    lm_engine_destroy(p.engine);
    close_stage(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_D_01_each_unknown_key_is_refused_by_name),
        cmocka_unit_test(test_D_02_recipes_pass_and_contradictions_are_refused),
        cmocka_unit_test(test_D_28_names_of_files_set_nothing),
        cmocka_unit_test(test_D_40_what_is_reported_is_the_effective_configuration),
        cmocka_unit_test(test_D_16_words_do_not_end_a_turn),
        cmocka_unit_test(test_D_36_one_renderer_for_all),
        cmocka_unit_test(test_D_37_evaluations_ask_nothing_that_was_trained),
        cmocka_unit_test(test_D_32_D_33_a_dry_run_refuses_a_gym_that_pays_wrongly),
        cmocka_unit_test(test_D_21_a_slow_trajectory_blocks_nobody),
        cmocka_unit_test(test_D_27_ids_and_log_probs_have_one_length),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
