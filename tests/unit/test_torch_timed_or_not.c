/* Nothing that a PyTorch candidate sees tells whether a call of the timed process is timed. The
 * judge's own sequence of calls is played to a classifier that knows more than a candidate can: the
 * place of the inputs, whether it is that of the call before, the law of both, and how late the
 * call comes. What it learns from half of the processes it applies to the other half. The same
 * classifier tells calls of another sequence apart, in which timed calls have own values only, and
 * calls that are still owed follow the last pair. On a CPU windows are no times; the sequence is as
 * on a GPU. Skipped where Python lacks torch. */
#include "torch_eval_rig.h"

#include <math.h>

#include "base/rng.h"
#include "gym/torch/executor/torch_worker.h"
#include "gym/torch/problem/own_law.h"
#include "gym/torch/timing/torch_pairs.h"

#define PROCESSES 12
#define MOST      2000 /* calls of a process */
#define WARM      40
#define BLOCKS    14
#define CELLS     128
#define FIRST     5 /* calls of a process that see to it that each place was used */

struct call {
    enum kg_tlaw law;
    int place;
    bool timed;
};
struct process {
    struct call call[MOST];
    int n;
};
static struct process played[PROCESSES], former[PROCESSES];
static int nplayed;

/* --- the judge's own sequence --- */

static void note(enum kg_tlaw law, int place, bool timed)
{
    struct process *p = &played[nplayed];
    assert_true(p->n < MOST);
    p->call[p->n++] = (struct call){law, place, timed};
}

static int setup(void **state)
{
    (void)state;
    rig_defaults();
    config.deadline_run = config.torch_first_call = 20;
    return rig_open();
}

static void play(void)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    struct kg_tpairs_result res;
    struct kg_tpairs_options opt = KG_TPAIRS_DEFAULTS;
    opt.warmups = WARM;
    opt.blocks = opt.min_blocks = BLOCKS;
    if (nplayed > 0) {
        return;
    }
    judge("affine.py", good, KG_ST_FULL, &r); /* its cases tell which laws apply */
    kg_record_deinit(&r);
    *kg_torch_test(worker) = (struct kg_torch_test){.times_anywhere = true, .watch = note};
    for (uint64_t i = 0; i < PROCESSES; i++, nplayed++) {
        struct kg_tinstance *s = &kg_torch_of(worker)->instance[KG_INSTANCE_PUBLISHED];
        if (kg_tpairs_null(worker, s, &opt, (struct kg_key){{20261127, i}}, &res, &err) != KG_OK) {
            fail_msg("%s", err.message);
        }
        assert_int_equal(res.status, KG_TPAIRS_MEASURED);
        assert_true(res.n >= BLOCKS * 4 && res.n < 4 * KG_TPAIRS_BLOCKS);
        assert_int_equal(res.calls, played[i].n);
        kg_tpairs_result_deinit(&res);
    }
}

/* --- the other sequence --- */

static void one(struct process *p, struct kg_rng *r, bool own, bool timed)
{
    int last = p->n > 0 ? p->call[p->n - 1].place : 0;
    bool again = kg_rng_below(r, 3) == 0;
    int other = (int)kg_rng_below(r, KG_TORCH_PLACES - 1);
    enum kg_tlaw law = own || kg_rng_below(r, 3) != 0 ? KG_TL_OWN : KG_TL_LARGE;
    p->call[p->n++] = (struct call){law, again ? last : other + (other >= last), timed};
}

static void play_former(void)
{
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{1, 2}}, 0);
    for (int i = 0; i < PROCESSES; i++) {
        struct process *p = &former[i];
        while (p->n < WARM) {
            one(p, &r, false, false);
        }
        for (int k = 0; k < 30; k++) {
            if (kg_rng_below(&r, 16) == 0) {
                one(p, &r, false, false);
            }
            one(p, &r, true, true);
        }
        while (p->n < 2 * WARM + 20) {
            one(p, &r, true, false);
        }
    }
    kg_rng_deinit(&r);
}

/* --- the classifier --- */

static int kind_of(enum kg_tlaw law)
{
    return law == KG_TL_OWN ? 0 : kg_tplan_touches(law) ? 1 : 2;
}

static int by_what_it_sees(const struct process *p, int i)
{
    const struct call *c = &p->call[i];
    int repeats = (c->place == c[-1].place) * 2 + (c[-1].place == c[-2].place);
    return ((repeats * 3 + kind_of(c->law)) * 3 + kind_of(c[-1].law)) * 2 + i % 2;
}

/* How much more often it says `timed` of timed calls than of others: 0 for guessing, 1 if it knows.
 * Half of the processes teach it. */
static double told_apart(const struct process *all, int first)
{
    double n[2][CELLS] = {{0}}, sum[2] = {0}, said[2] = {0}, asked[2] = {0};
    for (int k = 0; k < 2 * PROCESSES; k++) { /* first those that teach */
        const struct process *p = &all[k < PROCESSES ? k : k - PROCESSES];
        bool teaches = k < PROCESSES;
        for (int i = first; i < p->n && (k % 2 == 0) == teaches; i++) {
            bool timed = p->call[i].timed;
            int at = by_what_it_sees(p, i);
            assert_in_range(at, 0, CELLS - 1);
            n[timed][at] += teaches;
            sum[timed] += teaches;
            asked[timed] += !teaches;
            said[timed] += !teaches && n[1][at] * sum[0] > n[0][at] * sum[1];
        }
    }
    assert_true(asked[0] > 150 && asked[1] > 150);
    return said[1] / asked[1] - said[0] / asked[0];
}

/* The share of calls that nobody times in the later half of a process, less that in the earlier
 * one. A process knows that its first calls warm it up. */
static double late(const struct process *all)
{
    double n[2] = {0}, untimed[2] = {0};
    for (int k = 0; k < PROCESSES; k++) {
        const struct process *p = &all[k];
        int from = WARM + 6;
        for (int i = from; i < p->n; i++) {
            int later = i >= (from + p->n) / 2;
            n[later]++;
            untimed[later] += !p->call[i].timed;
        }
    }
    return untimed[1] / n[1] - untimed[0] / n[0];
}

/* Of 2 x 250 calls guessing is within 0.045 (one standard deviation); shares of 350 calls differ by
 * 0.02. Keys of the sequence are fixed. */
static void nothing_tells_that_a_call_is_timed(void **state)
{
    (void)state;
    need_torch();
    play();
    double seen = told_apart(played, FIRST), number = late(played);
    print_message("told apart: by what it sees %.3f; later calls less often timed: %.3f\n", seen,
                  number);
    assert_true(fabs(seen) < 0.13);
    assert_true(fabs(number) < 0.1);
}

static void the_same_classifier_knows_the_other_sequence(void **state)
{
    (void)state;
    play_former();
    double seen = told_apart(former, FIRST), number = late(former);
    print_message("told apart: by what it sees %.3f; later calls less often timed: %.3f\n", seen,
                  number);
    assert_true(seen > 0.22);
    assert_true(number > 0.3);
}

/* Shares of the laws, and of repeated places, among timed calls and among others. */
static void laws_and_places_are_drawn_alike(void **state)
{
    (void)state;
    static const double want[3] = {9.0 / 16, 4.0 / 16, 3.0 / 16};
    double n[2] = {0}, kinds[2][3] = {{0}}, again[2] = {0};
    need_torch();
    play();
    for (int k = 0; k < PROCESSES; k++) {
        for (int i = FIRST; i < played[k].n; i++) {
            const struct call *c = &played[k].call[i];
            n[c->timed]++;
            kinds[c->timed][kind_of(c->law)]++;
            again[c->timed] += c->place == c[-1].place;
        }
    }
    for (int timed = 0; timed < 2; timed++) {
        assert_true(n[timed] > 300);
        assert_true(fabs(again[timed] / n[timed] - 1.0 / 3) < 0.1);
        for (int kind = 0; kind < 3; kind++) {
            assert_true(fabs(kinds[timed][kind] / n[timed] - want[kind]) < 0.1);
        }
    }
}

/* The probe is drawn apart, and own and touched inputs are no other law. */
static bool is_dealt(enum kg_tlaw law)
{
    return kind_of(law) == 2 && !kg_tlaw_probes(law);
}

/* In each process all other laws come before one comes again. */
static void no_law_comes_again_before_all_have_come(void **state)
{
    (void)state;
    unsigned known = 0;
    need_torch();
    play();
    for (int k = 0; k < PROCESSES; k++) {
        for (int i = 0; i < played[k].n; i++) {
            known |= is_dealt(played[k].call[i].law) ? 1u << played[k].call[i].law : 0;
        }
    }
    assert_true(__builtin_popcount(known) >= 8);
    for (int k = 0; k < PROCESSES; k++) {
        unsigned seen = 0;
        for (int i = 0; i < played[k].n; i++) {
            enum kg_tlaw law = played[k].call[i].law;
            if (is_dealt(law)) {
                seen = seen == known ? 0 : seen;
                assert_false(seen >> law & 1);
                seen |= 1u << law;
            }
        }
        assert_true(__builtin_popcount(seen) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_tells_that_a_call_is_timed),
        cmocka_unit_test(the_same_classifier_knows_the_other_sequence),
        cmocka_unit_test(laws_and_places_are_drawn_alike),
        cmocka_unit_test(no_law_comes_again_before_all_have_come),
    };
    return cmocka_run_group_tests(tests, setup, rig_close);
}
