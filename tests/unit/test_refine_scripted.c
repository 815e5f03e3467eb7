/* The scripted policy: its replies follow from what it is told, in the way that its header says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rl/chains/chains.h"
#include "trial/policy/scripted.h"

#define DRAWS 400

static const char first[] = "Write `k`:\nvoid k(const float *x, float *y, int64_t n, int64_t m);\n";
static const char wrong[] = "Verdict: wrong (value), stage tiny.\nIt is not right.\n";

static struct tr_policy policy(const char *name, int64_t context)
{
    struct tr_policy_options o = {.parallel = 2,
                                  .sampling = {.max_tokens = 4096, .context = context}};
    struct tr_policy p;
    struct kg_err err = KG_ERR_INIT;
    assert_int_equal(tr_scripted_open(name, &o, &p, &err), KG_OK);
    return p;
}

static struct tr_message say(enum tr_role role, const char *text)
{
    return (struct tr_message){.role = role, .text = text, .len = strlen(text)};
}

/* The reply to n messages; the caller's. */
static struct tr_reply *ask(struct tr_policy *p, const char *problem, uint32_t sample,
                            uint32_t turn, const struct tr_message *m, int n, int64_t most)
{
    struct kg_err err = KG_ERR_INIT;
    struct tr_reply *r = NULL;
    const struct tr_ask a = {.tag = 7,
                             .message = m,
                             .n = n,
                             .max_tokens = most,
                             .seed = 1,
                             .who = {.problem = problem, .sample = sample, .turn = turn}};
    assert_int_equal(p->submit(p->self, &a, &err), KG_OK);
    assert_int_equal(p->next(p->self, -1, -1, &r, &err), KG_OK);
    assert_true(r != NULL && r->tag == 7 && p->pending(p->self) == 0);
    return r;
}

/* The style of a reply; false: it has a flaw. */
static bool style_of(const struct rl_chain *c, const struct tr_reply *r, struct rl_style *out)
{
    const char *from = strstr(r->text, "```c\n");
    assert_non_null(from);
    const char *to = strstr(from + 5, "```");
    assert_non_null(to);
    return rl_style_find(c, from + 5, (size_t)(to - from - 5), out);
}

static void test_same_question_same_reply(void **state)
{
    (void)state;
    struct tr_policy p = policy("", 0);
    const struct tr_message m[] = {say(TR_USER, first)};
    struct tr_reply *a = ask(&p, "bias_softmax", 1, 1, m, 1, 0),
                    *b = ask(&p, "bias_softmax", 1, 1, m, 1, 0),
                    *c = ask(&p, "bias_softmax", 2, 1, m, 1, 0);
    assert_string_equal(a->text, b->text);
    assert_string_not_equal(a->text, c->text);
    assert_int_equal(a->usage.tokens_out, (a->len + 3) / 4);
    assert_int_equal(a->usage.tokens_in, (strlen(first) + 3) / 4);
    tr_reply_free(a);
    tr_reply_free(b);
    tr_reply_free(c);
    p.close(p.self);
}

/* Share of flawed replies after so many failures were told. */
static double flawed(const char *name, int failures)
{
    struct tr_policy p = policy(name, 0);
    struct rl_chain c;
    struct rl_style s;
    struct kg_err err = KG_ERR_INIT;
    struct tr_message m[21] = {say(TR_USER, first)};
    int bad = 0, n = 1;
    for (int i = 0; i < failures; i++) {
        m[n++] = say(TR_ASSISTANT, "```c\nvoid k(){}\n```\n");
        m[n++] = say(TR_USER, wrong);
    }
    assert_int_equal(rl_chain_parse("bias_softmax", &c, &err), KG_OK);
    for (uint32_t i = 1; i <= DRAWS; i++) {
        struct tr_reply *r = ask(&p, "bias_softmax", i, 1, m, n, 0);
        bad += !style_of(&c, r, &s);
        tr_reply_free(r);
    }
    p.close(p.self);
    return (double)bad / DRAWS;
}

static void test_failures_that_are_told_become_rare(void **state)
{
    (void)state;
    /* .5, .5 x .6, .5 x .6^3, at least .05; five standard errors of 400 draws are .125 at most */
    assert_true(fabs(flawed("", 0) - .5) < .125);
    assert_true(fabs(flawed("", 1) - .3) < .115);
    assert_true(fabs(flawed("learner", 3) - .108) < .078);
    assert_true(fabs(flawed("", 10) - .05) < .055);
    assert_true(fabs(flawed("deaf", 10) - .5) < .125);
}

static int height(struct rl_style s)
{
    return (int)s.form + (s.exp == RL_EXP_POLY) + s.lanes;
}

/* Of 400 replies to a conversation, the shares with a style above and equal to `from`. */
static double above(const struct tr_message *m, int n, struct rl_style from)
{
    struct tr_policy p = policy("", 0);
    struct rl_chain c;
    struct kg_err err = KG_ERR_INIT;
    int up = 0, known = 0;
    assert_int_equal(rl_chain_parse("bias_softmax", &c, &err), KG_OK);
    for (uint32_t i = 1; i <= DRAWS; i++) {
        struct tr_reply *r = ask(&p, "bias_softmax", i, 2, m, n, 0);
        struct rl_style s;
        if (style_of(&c, r, &s)) {
            known++;
            up += height(s) > height(from);
        }
        tr_reply_free(r);
    }
    p.close(p.self);
    return (double)up / known;
}

static void test_the_fastest_that_is_told_is_the_start(void **state)
{
    (void)state;
    struct rl_chain c;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf slow, fast;
    const struct rl_style low = {.form = RL_OWN}, high = {RL_OWN_FUSED, RL_EXP_POLY, false, false};
    assert_int_equal(rl_chain_parse("bias_softmax", &c, &err), KG_OK);
    kg_buf_init(&slow, 20000);
    kg_buf_init(&fast, 20000);
    kg_buf_adds(&slow, "```c\n");
    rl_chain_code(&c, low, &slow);
    kg_buf_adds(&slow, "```\n");
    kg_buf_adds(&fast, "```c\n");
    rl_chain_code(&c, high, &fast);
    kg_buf_adds(&fast, "```\n");
    const struct tr_message m[] = {
        say(TR_USER, first), say(TR_ASSISTANT, fast.data),
        say(TR_USER, "Verdict: ok, stage timing.\nSpeed-up: 2.5x, 95 % interval 2.4x to 2.6x.\n"),
        say(TR_ASSISTANT, slow.data),
        say(TR_USER, "Verdict: ok, stage timing.\nSpeed-up: 0.5x, 95 % interval 0.4x to 0.6x.\n")};
    const struct tr_message none[] = {say(TR_USER, first)};
    /* Only `lanes` is missing: half of the replies add it, and a few changes and draws do too. */
    double told = above(m, 5, high), first_turn = above(none, 1, high);
    assert_true(told > .45 && told < .75);
    assert_true(first_turn < .1);
    kg_buf_deinit(&slow);
    kg_buf_deinit(&fast);
}

static void test_other_problems_get_no_code(void **state)
{
    (void)state;
    struct tr_policy p = policy("", 0);
    const struct tr_message m[] = {say(TR_USER, "Write `softmax`: void softmax(...);")};
    struct tr_reply *a = ask(&p, "cumsum", 1, 1, m, 1, 0), *b = ask(&p, "softmax", 1, 1, m, 1, 0);
    assert_null(strstr(a->text, "```"));
    assert_null(strstr(b->text, "```")); /* a chain's name, and another function is asked for */
    tr_reply_free(a);
    tr_reply_free(b);
    p.close(p.self);
}

static void test_limits(void **state)
{
    (void)state;
    struct tr_policy p = policy("", 40);
    const struct tr_message m[] = {say(TR_USER, first)};
    struct tr_reply *r = ask(&p, "bias_softmax", 1, 1, m, 1, 20);
    assert_int_equal(r->finish, TR_LENGTH);
    assert_int_equal(r->usage.tokens_out, 20);
    assert_int_equal(r->len, 80);
    tr_reply_free(r);
    r = ask(&p, "bias_softmax", 1, 1, m, 1, 0); /* the window leaves less */
    assert_int_equal(r->finish, TR_LENGTH);
    assert_int_equal(r->usage.tokens_in + r->usage.tokens_out, 40);
    tr_reply_free(r);
    p.close(p.self);
    p = policy("", 10);
    r = ask(&p, "bias_softmax", 1, 1, m, 1, 0);
    assert_int_equal(r->code, KG_E_LIMIT);
    tr_reply_free(r);
    p.close(p.self);
}

static void test_room(void **state)
{
    (void)state;
    struct tr_policy p = policy("", 0);
    struct kg_err err = KG_ERR_INIT;
    const struct tr_message m[] = {say(TR_USER, first)};
    const struct tr_ask a = {
        .message = m, .n = 1, .who = {.problem = "bias_softmax", .sample = 1, .turn = 1}};
    assert_int_equal(p.submit(p.self, &a, &err), KG_OK);
    assert_int_equal(p.submit(p.self, &a, &err), KG_OK);
    assert_int_equal(p.room(p.self), 0);
    assert_int_equal(p.submit(p.self, &a, &err), KG_E_LIMIT);
    p.close(p.self); /* frees both */
    struct tr_policy_options o = {.parallel = 1};
    assert_int_equal(tr_scripted_open("clever", &o, &p, &err), KG_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_question_same_reply),
        cmocka_unit_test(test_failures_that_are_told_become_rare),
        cmocka_unit_test(test_the_fastest_that_is_told_is_the_start),
        cmocka_unit_test(test_other_problems_get_no_code),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
