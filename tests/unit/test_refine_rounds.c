/* The loop of a refinement with a scripted judge in place of policy and gym: contexts stay below
 * their limit, the best is verified and never becomes slower, and each ending comes when it must.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trial/refine/rounds.h"

#define ROUNDS 20
#define QUEUE  64

/* Turns of a script: lengths, verdicts and speeds follow from (sample, turn) and a seed. */
struct maker {
    uint64_t seed;
    int64_t context, reply; /* asserted of each context; 0: not */
    int64_t refuse;         /* contexts above it are refused; 0: none */
    int room;
    bool shuffled;        /* the last that was begun comes first */
    bool liar;            /* judging again says wrong */
    double slower;        /* judging again gives this part of the first speed-up; 0: all */
    double fixed;         /* speed-up of each turn; 0: drawn */
    enum tr_judged state; /* of each turn */
    enum kg_code code;    /* of NO_REPLY */
    int spent_after;      /* begun turns after which a budget is used up; 0: never */
    const char *hash;     /* hash of each turn's code; NULL: not known */
    bool deaf;            /* each answer is followed by the fixed sentence, and no feedback */
    int kept;             /* turns that are paid for already */
    int begun, again;
    int64_t longest;
    struct tr_turn *queue[QUEUE];
    int n;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(const struct maker *m, uint32_t sample, uint32_t turn, uint64_t what)
{
    return mix(mix(m->seed + what) + ((uint64_t)sample << 20) + turn);
}

static size_t count(void *self, const char *text, size_t len)
{
    (void)self;
    (void)text;
    return (len + 3) / 4;
}

static int room(void *self)
{
    const struct maker *m = self;
    return m->room - m->n;
}

static const char *spent(void *self)
{
    const struct maker *m = self;
    return m->spent_after > 0 && m->begun >= m->spent_after ? "9 tokens (--max-tokens-total)" : "";
}

static bool kept(void *self, uint32_t sample, uint32_t turn)
{
    (void)sample;
    return (int)turn <= ((const struct maker *)self)->kept;
}

static char *text_of(size_t tokens)
{
    char *s = malloc(4 * tokens + 1);
    assert_non_null(s);
    memset(s, 'x', 4 * tokens);
    s[4 * tokens] = '\0';
    return s;
}

static struct tr_turn *make(const struct maker *m, uint32_t sample, uint32_t turn, int64_t in)
{
    struct tr_turn *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->sample = sample;
    t->turn = turn;
    t->state = m->refuse > 0 && in > m->refuse ? TR_NO_REPLY : m->state;
    t->speedup = t->speedup_lo = t->reward = NAN;
    if (t->state == TR_NO_REPLY) {
        kg_fail(&t->err, m->refuse > 0 ? KG_E_LIMIT : m->code, "no reply");
        return t;
    }
    t->reply = calloc(1, sizeof *t->reply);
    assert_non_null(t->reply);
    t->reply->text = text_of(300 + draw(m, sample, turn, 1) % 600);
    t->reply->len = strlen(t->reply->text);
    t->reply->nids = 1;
    t->reply->ids = malloc(sizeof *t->reply->ids);
    assert_non_null(t->reply->ids);
    t->reply->ids[0] = (int32_t)t->reply->len;
    t->reply->usage = (struct tr_usage){.tokens_in = in,
                                        .tokens_out = (int64_t)t->reply->len / 4,
                                        .counted = draw(m, sample, turn, 2) % 2};
    if (t->state == TR_JUDGED) {
        t->correct = m->fixed > 0 || draw(m, sample, turn, 3) % 3 != 0;
        t->feedback = text_of(20 + draw(m, sample, turn, 4) % 130);
        snprintf(t->code_hash, sizeof t->code_hash, "%s", m->hash != NULL ? m->hash : "");
        double s = m->fixed > 0 ? m->fixed : .5 + (double)(draw(m, sample, turn, 5) % 1000) / 250;
        t->speedup = t->reward = t->correct ? s : NAN;
    } else {
        kg_fail(&t->err, KG_E_GYM, "no verdict");
    }
    return t;
}

static enum kg_code begin(void *self, uint32_t sample, uint32_t turn,
                          const struct tr_message *message, int n, struct kg_err *err)
{
    struct maker *m = self;
    int64_t in = 0;
    (void)err;
    assert_true(n % 2 == 1 && m->n < QUEUE);
    for (int i = 0; i < n; i++) {
        assert_int_equal(message[i].role, i % 2 == 0 ? TR_USER : TR_ASSISTANT);
        in += (int64_t)count(NULL, message[i].text, message[i].len);
        bool fixed = strcmp(message[i].text, tr_no_feedback) == 0;
        assert_true(fixed == (m->deaf && i > 0 && i % 2 == 0));
        /* A reply is spliced by its own ids. */
        assert_int_equal(message[i].nids, i % 2);
        assert_true(i % 2 == 0 || message[i].ids[0] == (int32_t)message[i].len);
    }
    assert_true(m->context == 0 || in + m->reply <= m->context);
    m->longest = in > m->longest ? in : m->longest;
    m->begun++;
    m->queue[m->n++] = make(m, sample, turn, in);
    return KG_OK;
}

static enum kg_code next(void *self, int timeout_ms, struct tr_turn **out, struct kg_err *err)
{
    struct maker *m = self;
    (void)timeout_ms;
    (void)err;
    assert_true(m->n > 0);
    *out = m->queue[m->shuffled ? m->n - 1 : 0];
    if (!m->shuffled) {
        memmove(m->queue, m->queue + 1, (size_t)(m->n - 1) * sizeof *m->queue);
    }
    m->n--;
    return KG_OK;
}

static enum kg_code again(void *self, const struct tr_turn *t, struct tr_again *out,
                          struct kg_err *err)
{
    struct maker *m = self;
    (void)err;
    m->again++;
    double s = t->speedup * (m->slower > 0 ? m->slower : 1);
    *out = (struct tr_again){.judged = true,
                             .correct = !m->liar,
                             .speedup = m->liar ? NAN : s,
                             .speedup_lo = m->liar ? NAN : s - .1,
                             .speedup_hi = m->liar ? NAN : s + .1};
    return KG_OK;
}

static void release(void *self, struct tr_turn *t)
{
    (void)self;
    if (t != NULL) {
        if (t->reply != NULL) {
            free(t->reply->text);
            free(t->reply->ids);
        }
        free(t->reply);
        free(t->feedback);
        free(t);
    }
}

static struct tr_maker table(struct maker *m)
{
    return (struct tr_maker){.self = m,
                             .room = room,
                             .begin = begin,
                             .next = next,
                             .spent = spent,
                             .kept = kept,
                             .again = again,
                             .release = release,
                             .count = count};
}

static struct tr_rounds_options options(enum tr_strategy s)
{
    static char prompt[1201];
    memset(prompt, 'p', 1200);
    return (struct tr_rounds_options){.plan = {.strategy = s,
                                               .metric = TR_BY_REWARD,
                                               .w = 4,
                                               .depth = 3,
                                               .rounds = ROUNDS,
                                               .prompt = 300,
                                               .reply = 1000},
                                      .prompt = prompt};
}

static struct tr_rounds *run(struct maker *m, const struct tr_rounds_options *o)
{
    static struct tr_maker t;
    struct tr_rounds *r;
    struct kg_err err = KG_ERR_INIT;
    m->room = m->room > 0 ? m->room : 1;
    t = table(m);
    assert_int_equal(tr_rounds_create(o, &t, &r, &err), KG_OK);
    assert_int_equal(tr_rounds_run(r, &err), KG_OK);
    assert_int_equal(m->n, 0);
    return r;
}

static void check_best(const struct tr_rounds *r)
{
    double best = 0;
    int n, at = 0;
    const struct tr_round *x = tr_rounds_list(r, &n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(x[i].round, i + 1);
        if (x[i].new_best) {
            assert_true(x[i].tried && x[i].again.correct && x[i].again.speedup > best);
            best = x[i].again.speedup;
            at = i + 1;
        }
        assert_true(x[i].best == at && x[i].best_speedup == best);
    }
}

static void test_context_stays_below_its_limit(void **state)
{
    (void)state;
    for (int s = 0; s < TR_STRATEGIES; s++) {
        for (uint64_t seed = 1; seed <= 12; seed++) {
            struct maker m = {.seed = seed,
                              .context = 4000 + (int64_t)seed * 200,
                              .reply = 1000,
                              .deaf = s == TR_NO_FEEDBACK};
            struct tr_rounds_options o = options((enum tr_strategy)s);
            int n;
            o.plan.context = m.context;
            o.plan.metric = (enum tr_by)(seed % TR_BY_KINDS);
            struct tr_rounds *r = run(&m, &o);
            tr_rounds_list(r, &n);
            bool ends = s == TR_VANILLA || s == TR_NO_FEEDBACK;
            assert_int_equal(tr_rounds_ending(r), ends ? TR_END_FULL : TR_END_TURNS);
            assert_true(ends ? n < ROUNDS : n == ROUNDS);
            assert_true(m.longest + 1000 <= m.context);
            check_best(r);
            tr_rounds_destroy(r);
        }
    }
}

static void test_reserve_is_kept_free(void **state)
{
    (void)state;
    struct maker m = {.seed = 3};
    struct tr_rounds_options o = options(TR_VANILLA);
    o.plan.context = 8000;
    o.plan.reserve = .2;
    struct tr_rounds *r = run(&m, &o);
    assert_int_equal(tr_rounds_ending(r), TR_END_FULL);
    assert_true((double)m.longest * 1.2 + 1000 <= 8000);
    assert_non_null(strstr(tr_rounds_why(r), "reserve"));
    tr_rounds_destroy(r);
}

/* The window is not known: the model says that the context is too long. */
static void test_refused_contexts(void **state)
{
    (void)state;
    static const enum tr_ending want[TR_STRATEGIES] = {TR_END_FULL,  TR_END_TURNS, TR_END_TURNS,
                                                       TR_END_TURNS, TR_END_TURNS, TR_END_TURNS,
                                                       TR_END_TURNS, TR_END_FULL};
    for (int s = 0; s < TR_STRATEGIES; s++) {
        struct maker m = {.seed = 5, .refuse = 2000, .deaf = s == TR_NO_FEEDBACK};
        struct tr_rounds_options o = options((enum tr_strategy)s);
        int n, shrunk = 0;
        struct tr_rounds *r = run(&m, &o);
        const struct tr_round *x = tr_rounds_list(r, &n);
        assert_int_equal(tr_rounds_ending(r), want[s]);
        for (int i = 0; i < n; i++) {
            shrunk += x[i].shrunk;
        }
        bool managed = s == TR_TOP_W || s == TR_WINDOW || s == TR_LAST_W;
        assert_int_equal(shrunk > 0, managed);
        if (s == TR_RESTART) {
            assert_true(x[n - 1].sample > 1);
        }
        tr_rounds_destroy(r);
    }
}

static void test_first_message_does_not_fit(void **state)
{
    (void)state;
    struct maker m = {.seed = 1};
    struct tr_rounds_options o = options(TR_TOP_W);
    int n;
    o.plan.context = 1299;
    struct tr_rounds *r = run(&m, &o);
    tr_rounds_list(r, &n);
    assert_true(n == 0 && m.begun == 0 && tr_rounds_ending(r) == TR_END_FULL);
    assert_non_null(strstr(tr_rounds_why(r), "300 tokens"));
    tr_rounds_destroy(r);
}

/* Rounds are counted in their order, in whatever order they end, and with whatever room. */
static void test_order_does_not_matter(void **state)
{
    (void)state;
    for (int s = 0; s < TR_STRATEGIES; s++) {
        bool deaf = s == TR_NO_FEEDBACK;
        struct maker a = {.seed = 9, .deaf = deaf},
                     b = {.seed = 9, .room = 7, .shuffled = true, .deaf = deaf};
        struct tr_rounds_options o = options((enum tr_strategy)s);
        int n, k;
        o.patience = 6;
        struct tr_rounds *one = run(&a, &o);
        struct maker kept = a;
        struct tr_rounds *many = run(&b, &o);
        const struct tr_round *x = tr_rounds_list(one, &n), *y = tr_rounds_list(many, &k);
        assert_int_equal(n, k);
        for (int i = 0; i < n; i++) {
            assert_true(x[i].sample == y[i].sample && x[i].turn == y[i].turn);
            assert_true(x[i].nshown == y[i].nshown && x[i].best == y[i].best);
            assert_memory_equal(x[i].shown, y[i].shown, (size_t)x[i].nshown * sizeof(int));
        }
        assert_true(kept.again == b.again);
        tr_rounds_destroy(one);
        tr_rounds_destroy(many);
    }
}

static void test_a_best_is_judged_again(void **state)
{
    (void)state;
    struct maker liar = {.seed = 2, .liar = true}, slow = {.seed = 2, .slower = .8};
    struct tr_rounds_options o = options(TR_TOP_W);
    int n, news = 0;
    struct tr_rounds *r = run(&liar, &o);
    const struct tr_round *x = tr_rounds_list(r, &n);
    assert_true(liar.again > 0);
    assert_true(x[n - 1].best == 0);
    tr_rounds_destroy(r);
    r = run(&slow, &o);
    x = tr_rounds_list(r, &n);
    check_best(r);
    for (int i = 0; i < n; i++) {
        news += x[i].new_best;
        assert_true(!x[i].new_best || fabs(x[i].best_speedup - .8 * x[i].result->speedup) < 1e-12);
    }
    assert_true(news > 0 && news <= slow.again);
    tr_rounds_destroy(r);
}

/* Equal code that was measured to be faster is no new best, and has one second verdict. */
static void test_equal_code_is_judged_again_once(void **state)
{
    (void)state;
    for (int lies = 0; lies < 2; lies++) {
        struct maker m = {.seed = 2, .hash = "5f", .liar = lies == 1};
        struct tr_rounds_options o = options(TR_TOP_W);
        int n, news = 0;
        struct tr_rounds *r = run(&m, &o);
        const struct tr_round *x = tr_rounds_list(r, &n);
        for (int i = 0; i < n; i++) {
            news += x[i].new_best;
        }
        assert_int_equal(n, ROUNDS);
        assert_int_equal(m.again, 1);
        assert_int_equal(news, 1 - lies);
        tr_rounds_destroy(r);
    }
}

/* One ending: what it takes, and the rounds that were counted until it. */
static void expect(struct maker m, const struct tr_rounds_options *o, enum tr_ending want,
                   int rounds)
{
    int n;
    struct tr_rounds *r = run(&m, o);
    tr_rounds_list(r, &n);
    assert_int_equal(tr_rounds_ending(r), want);
    assert_int_equal(n, rounds);
    tr_rounds_destroy(r);
}

static void test_endings(void **state)
{
    (void)state;
    struct tr_rounds_options o = options(TR_LAST_W);
    expect((struct maker){.fixed = 2}, &o, TR_END_TURNS, ROUNDS);
    o.target = 1.9; /* the lower end of 2 is 1.9, of 1.95 it is not */
    expect((struct maker){.fixed = 2.01}, &o, TR_END_TARGET, 1);
    expect((struct maker){.fixed = 1.95}, &o, TR_END_TURNS, ROUNDS);
    o.target = 0;
    o.patience = 5; /* the first is the best, the others are as fast */
    expect((struct maker){.fixed = 2}, &o, TR_END_PATIENCE, 6);
    o.patience = 0;
    expect((struct maker){.fixed = 2, .spent_after = 4}, &o, TR_END_SPENT, 4);
    expect((struct maker){.fixed = 2, .spent_after = 4, .kept = 7}, &o, TR_END_SPENT, 7);
    expect((struct maker){.state = TR_NO_VERDICT}, &o, TR_END_UNJUDGED, 3);
    expect((struct maker){.state = TR_DEFECT}, &o, TR_END_DEFECT, 1);
    expect((struct maker){.state = TR_NO_REPLY, .code = KG_E_INPUT}, &o, TR_END_NO_REPLY, 1);
    o.plan.strategy = TR_PARALLEL; /* what was under way when the budget ended counts */
    expect((struct maker){.fixed = 2, .room = 8, .spent_after = 12}, &o, TR_END_SPENT, 12);
}

static enum kg_code refuse_third(void *user, const struct tr_round *r, struct kg_err *err)
{
    (void)user;
    return r->round < 3 ? KG_OK : kg_fail(err, KG_E_IO, "disk full");
}

static void test_an_error_keeps_what_was_counted(void **state)
{
    (void)state;
    struct maker m = {.seed = 4, .room = 1};
    struct tr_rounds_options o = options(TR_VANILLA);
    const struct tr_maker t = table(&m);
    struct kg_err err = KG_ERR_INIT;
    struct tr_rounds *r;
    int n;
    o.seen = refuse_third;
    assert_int_equal(tr_rounds_create(&o, &t, &r, &err), KG_OK);
    assert_int_equal(tr_rounds_run(r, &err), KG_E_IO);
    tr_rounds_list(r, &n);
    assert_int_equal(n, 3);
    tr_rounds_destroy(r);
    o.plan.rounds = TR_ROUNDS_MAX + 1;
    assert_int_equal(tr_rounds_create(&o, &t, &r, &err), KG_E_USAGE);
    o.plan.rounds = 3;
    o.plan.w = 0;
    assert_int_equal(tr_rounds_create(&o, &t, &r, &err), KG_E_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_stays_below_its_limit),
        cmocka_unit_test(test_reserve_is_kept_free),
        cmocka_unit_test(test_refused_contexts),
        cmocka_unit_test(test_first_message_does_not_fit),
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_a_best_is_judged_again),
        cmocka_unit_test(test_equal_code_is_judged_again_once),
        cmocka_unit_test(test_endings),
        cmocka_unit_test(test_an_error_keeps_what_was_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
