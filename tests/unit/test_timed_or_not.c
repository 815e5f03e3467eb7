/* Nothing that a candidate sees tells whether a call is timed. The judge's own sequence of calls is
 * played to a classifier that knows more than a candidate can: which call repeats the addresses of
 * the one before, the law of the inputs, the same of the call before, and the call's number. What
 * it learns from half of the processes it applies to the other half. The same classifier tells the
 * calls of another sequence apart, in which a timed call always repeats its primer's addresses
 * under the own law. The first calls of a process are left out: a process knows that they only warm
 * it up, and everything is asked of them that is asked later. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../support/cobject.h"
#include "gym/timing/pairs.h"

#define PROCESSES 60
#define MOST      160 /* calls of a process */
#define CELLS     256

static const char problem_text[] = "/*---kgym\nname: half\nlevel: 1\nentry: half\n"
                                   "dims: {n: 2000}\nargs:\n"
                                   "  - {name: x, type: \"f32[n]\", role: in}\n"
                                   "  - {name: y, type: \"f32[n]\", role: out}\n"
                                   "  - {name: n, type: i64, role: dim}\n---*/\n"
                                   "#include <stdint.h>\n"
                                   "void half(const real *x, real *y, int64_t n)\n"
                                   "{ for (int64_t i = 0; i < n; i++) y[i] = x[i] / 2; }\n";

struct call {
    uint64_t place;
    enum kg_law law;
    bool timed;
};
struct process {
    struct call call[MOST];
    int n;
};
static struct process played[PROCESSES], former[PROCESSES];
static struct kg_problem *problem;
static struct kg_judge judge;

/* --- the judge's own sequence --- */

static void note(void *ctx, const struct kg_case *c, bool timed)
{
    struct process *p = ctx;
    assert_true(p->n < MOST);
    p->call[p->n++] = (struct call){c->in_base, c->law, timed};
}

static struct kg_runner_spec spec_of(const char *object, const char *entry, bool wide)
{
    return (struct kg_runner_spec){
        .program = cobject_built("kgym-runner"),
        .object = object,
        .entry = entry,
        .in = wide ? &judge.wide_in : &judge.in,
        .out = wide ? &judge.wide_out : &judge.out,
        .limits = {.memory_bytes = 512ll << 20,
                   .processes = 16,
                   .file_bytes = 1 << 20,
                   .cpu_s = 60,
                   .descriptors = 32},
        .cpu = -1,
    };
}

static void play(struct kg_pairs_input *in, struct process *out, uint64_t seed)
{
    static struct kg_pairs_result result;
    struct kg_err err = KG_ERR_INIT;
    struct kg_pairs_options o = KG_PAIRS_DEFAULTS;
    o.pairs = 10;
    o.processes = o.min_processes = 1;
    o.least_calls = 70;
    o.least_life_ns = 0;
    o.null_calls = 3;
    in->key = (struct kg_key){{20261127, seed}};
    in->watch_ctx = out;
    if (kg_pairs_run(in, &o, &result, &err) != KG_OK || result.status == KG_PAIRS_FAILED) {
        fail_msg("status %d, %s", (int)result.status, err.message);
    }
    assert_int_equal(result.process[0].n, 10);
    assert_true(result.process[0].seen[0] + result.process[0].seen[1] >= 10);
    int others = 0; /* timed under a law that does not count */
    for (int i = 0; i < out->n; i++) {
        enum kg_law law = out->call[i].law;
        others += out->call[i].timed && law != KG_LAW_OWN && law != KG_LAW_STRAYS;
    }
    assert_true(result.process[0].voided > 0 || result.process[0].others == others);
    kg_pairs_result_deinit(&result);
}

static int play_all(void **state)
{
    (void)state;
    static struct kg_pairs_own kept;
    size_t in_bytes, out_bytes;
    struct kg_err err = KG_ERR_INIT;
    if (kg_problem_parse(problem_text, sizeof problem_text - 1, "half.c", &problem, &err) !=
        KG_OK) {
        return -1;
    }
    kg_pairs_region_bytes(problem, &in_bytes, &out_bytes);
    if (kg_judge_start(-1, &judge, &err) != KG_OK ||
        kg_judge_open(&judge, problem, in_bytes, out_bytes, &err) != KG_OK) {
        return -1;
    }
    struct kg_runner_spec ref =
                              spec_of(cobject_build("f", problem_text, "-Dreal=float"), "half", 0),
                          null = spec_of(cobject_built("null.so"), "kgym_null", 0),
                          wide =
                              spec_of(cobject_build("d", problem_text, "-Dreal=double"), "half", 1);
    struct kg_pairs_input in = {.problem = problem,
                                .judge = &judge,
                                .reference = &ref,
                                .candidate = &ref,
                                .null_runner = &null,
                                .oracle = &wide,
                                .kept = &kept,
                                .laws = 1u << KG_LAW_STRAYS | 1u << KG_LAW_NORMAL |
                                        1u << KG_LAW_LARGE | 1u << KG_LAW_SPARSE,
                                .watch = note};
    kg_shape_default(problem, &in.shape);
    for (uint64_t i = 0; i < PROCESSES; i++) {
        play(&in, &played[i], i);
    }
    struct kg_handle *all[] = {&kept.ref, &kept.null, &kept.oracle};
    for (int i = 0; i < 3; i++) {
        kg_runner_stop(&all[i]->runner);
    }
    kg_judge_stop(&judge);
    kg_problem_destroy(problem);
    cobject_clean();
    return 0;
}

/* --- the other sequence --- */

static void one(struct process *p, struct kg_rng *r, bool same, bool own, bool timed)
{
    uint64_t last = p->n > 0 ? p->call[p->n - 1].place : 0, other = kg_rng_below(r, 3);
    bool again = same || kg_rng_below(r, 3) == 0;
    enum kg_law law = own || kg_rng_below(r, 3) != 0 ? KG_LAW_OWN : KG_LAW_LARGE;
    p->call[p->n++] = (struct call){again ? last : other + (other >= last), law, timed};
}

static void play_former(void)
{
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{1, 2}}, 0);
    for (int i = 0; i < PROCESSES; i++) {
        struct process *p = &former[i];
        for (int k = 10 + (int)kg_rng_below(&r, 6); k > 0; k--) {
            one(p, &r, false, false, false);
        }
        for (int k = 0; k < 20; k++) {
            if (kg_rng_below(&r, 4) == 0) {
                one(p, &r, false, false, false);
            }
            one(p, &r, false, true, false);
            one(p, &r, true, true, true);
        }
        while (p->n < 70) {
            one(p, &r, false, false, false);
        }
    }
    kg_rng_deinit(&r);
}

/* --- the classifier --- */

static int kind_of(enum kg_law law)
{
    return law == KG_LAW_OWN ? 0 : law == KG_LAW_STRAYS ? 1 : 2;
}

static int by_what_it_sees(const struct process *p, int i)
{
    const struct call *c = &p->call[i];
    bool again = c->place == c[-1].place, before = c[-1].place == c[-2].place;
    return (((again * 2 + before) * 3 + kind_of(c->law)) * 3 + kind_of(c[-1].law)) * 2 + i % 2;
}

static int by_number(const struct process *p, int i)
{
    (void)p;
    return i;
}

/* How much more often it says `timed` of timed calls than of others: 0 for guessing, 1 if it knows.
 * Half of the processes teach it. */
static double told_apart(const struct process *all, int (*cell)(const struct process *, int))
{
    static const int first = 16; /* 10 warm-ups and up to 5 more */
    double n[2][CELLS] = {{0}}, sum[2] = {0}, said[2] = {0}, asked[2] = {0};
    for (int k = 0; k < PROCESSES; k++) {
        for (int i = first; i < all[k].n; i++) {
            bool timed = all[k].call[i].timed;
            int at = cell(&all[k], i);
            assert_in_range(at, 0, CELLS - 1);
            if (k % 2 == 0) {
                n[timed][at]++;
                sum[timed]++;
            }
        }
    }
    for (int k = 1; k < PROCESSES; k += 2) {
        for (int i = first; i < all[k].n; i++) {
            bool timed = all[k].call[i].timed;
            int at = cell(&all[k], i);
            asked[timed]++;
            said[timed] += n[1][at] * sum[0] > n[0][at] * sum[1];
        }
    }
    assert_true(asked[0] > 200 && asked[1] > 200);
    return said[1] / asked[1] - said[0] / asked[0];
}

/* Guessing is within 0.03 (one standard deviation for some 1200 calls of either kind). */
static void nothing_tells_that_a_call_is_timed(void **state)
{
    (void)state;
    double seen = told_apart(played, by_what_it_sees), number = told_apart(played, by_number);
    print_message("told apart: by what it sees %.3f, by its number %.3f\n", seen, number);
    assert_true(fabs(seen) < 0.12);
    assert_true(fabs(number) < 0.12);
}

static void the_same_classifier_knows_the_other_sequence(void **state)
{
    (void)state;
    play_former();
    double seen = told_apart(former, by_what_it_sees), number = told_apart(former, by_number);
    print_message("told apart: by what it sees %.3f, by its number %.3f\n", seen, number);
    assert_true(seen > 0.5);
    assert_true(number > 0.2);
}

/* Shares of the laws, and of repeated addresses, among timed calls and among others. */
static void laws_and_addresses_are_drawn_alike(void **state)
{
    (void)state;
    double n[2] = {0}, kinds[2][3] = {{0}}, again[2] = {0};
    static const double want[3] = {5.0 / 8, 2.0 / 8, 1.0 / 8};
    for (int k = 0; k < PROCESSES; k++) {
        for (int i = 1; i < played[k].n; i++) {
            const struct call *c = &played[k].call[i];
            n[c->timed]++;
            kinds[c->timed][kind_of(c->law)]++;
            again[c->timed] += c->place == c[-1].place;
        }
    }
    for (int timed = 0; timed < 2; timed++) {
        assert_true(fabs(again[timed] / n[timed] - 1.0 / 3) < 0.05);
        for (int kind = 0; kind < 3; kind++) {
            assert_true(fabs(kinds[timed][kind] / n[timed] - want[kind]) < 0.05);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_tells_that_a_call_is_timed),
        cmocka_unit_test(the_same_classifier_knows_the_other_sequence),
        cmocka_unit_test(laws_and_addresses_are_drawn_alike),
    };
    return cmocka_run_group_tests(tests, play_all, NULL);
}
