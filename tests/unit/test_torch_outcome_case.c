/* What a PyTorch candidate's call comes to, from what the judge saw of it: each of the judge's
 * findings alone, and which of two decides. Reports and comparisons are the test's; that judges
 * make them is other tests' part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "gym/torch/judging/outcome.h"

static struct kg_record record;
static struct kg_worker worker;
static struct kg_tinstance instance;
static struct kg_evaluation evaluation = {.w = &worker, .r = &record};
static struct kg_dj_report report;
static struct kg_dj_judgement judgement;

/* One answer of four floats, right, on the law of the problem's own inputs. */
static int fresh(void **state)
{
    (void)state;
    struct kg_tleaf leaf = {.dtype = KG_TD_F32, .rank = 1, .shape = {4}, .bytes = 16};
    kg_record_init(&record);
    evaluation.repeats_twin = false;
    memset(&report, 0, sizeof report);
    instance.desc.noutputs = 2;
    instance.desc.output[0].leaf = instance.desc.output[1].leaf = leaf;
    report.nleaves = 2;
    report.leaf[0] = report.leaf[1] = leaf;
    snprintf(report.leaf[1].name, sizeof report.leaf[1].name, "1");
    judgement = (struct kg_dj_judgement){.leaf = 1};
    judgement.compare = (struct kg_tcompare){.pass = true, .n = 4};
    return 0;
}

static int done(void **state)
{
    (void)state;
    kg_record_deinit(&record);
    return 0;
}

static void again(void **state)
{
    done(state);
    fresh(state);
}

static void wrong(uint64_t bad, double worst)
{
    judgement.compare.pass = false;
    judgement.compare.n_bad = bad;
    judgement.compare.worst = worst;
}

/* "": it passes. */
static void check(enum kg_stage_result step, const char *want, const char *said)
{
    char got[64] = "";
    if (step != KG_STAGE_PASS) {
        snprintf(got, sizeof got, "%s/%s", kg_verdict_name(record.verdict), record.reason);
    }
    if (strcmp(got, want) != 0 || (said && !strstr(record.message, said))) {
        fail_msg("%s (%s), not %s (%s)", got, record.message ? record.message : "", want,
                 said ? said : "");
    }
    assert_int_equal(step, *want ? KG_STAGE_FAIL : KG_STAGE_PASS);
}

static void of_call(enum kg_tlaw law, const char *want, const char *said)
{
    struct kg_tcase c = {.law = law};
    check(kg_toutcome_case(&evaluation, &instance, &c, &report, &judgement), want, said);
}

static void of_state(const char *want, const char *said)
{
    struct kg_tcase c = {.law = KG_TL_OWN};
    check(kg_toutcome_state(&evaluation, &instance, &c, &report, &judgement), want, said);
}

static void a_right_answer(void **state)
{
    (void)state;
    of_call(KG_TL_OWN, "", NULL);
    report.unwritten = true; /* an answer that is right by the poison's own value */
    report.stale = true;     /* or as one before, since the inputs ask for that */
    of_call(KG_TL_OWN, "", NULL);
}

/* Each although every value is right. */
static void what_is_seen_beside_the_values(void **state)
{
    static const struct {
        size_t at; /* of a bool in the report or, from `form` on, in the judgement */
        bool form;
        const char *want, *said;
    } each[] = {
        {offsetof(struct kg_dj_report, late_write), false, "hack/async", "after it had been given"},
        {offsetof(struct kg_dj_report, input_modified), false, "wrong/input_modified",
         "writes to input 3"},
        {offsetof(struct kg_dj_report, guard_hit), false, "wrong/out_of_bounds",
         "outside its answer"},
        {offsetof(struct kg_dj_judgement, arity), true, "wrong/structure", "2 tensors, not 2"},
        {offsetof(struct kg_dj_judgement, structure), true, "wrong/structure", "put together"},
        {offsetof(struct kg_dj_judgement, dtype), true, "wrong/dtype", "`1` is "},
        {offsetof(struct kg_dj_judgement, shape), true, "wrong/shape", "`1` is "},
        {offsetof(struct kg_dj_judgement, device), true, "wrong/device", "another device"},
        {offsetof(struct kg_dj_judgement, alias), true, "wrong/alias", "shares its memory"},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        again(state);
        report.input_at = 3;
        *((bool *)(each[i].form ? (char *)&judgement : (char *)&report) + each[i].at) = true;
        of_call(KG_TL_OWN, each[i].want, each[i].said);
    }
}

/* The first of them that is there, and any of them before the values. */
static void which_one_decides(void **state)
{
    (void)state;
    wrong(4, 1e9);
    judgement.alias = judgement.device = judgement.shape = judgement.structure = true;
    report.guard_hit = report.input_modified = report.late_write = report.stale = true;
    of_call(KG_TL_OWN, "hack/async", NULL);
    report.late_write = false;
    of_call(KG_TL_OWN, "wrong/input_modified", NULL);
    report.input_modified = false;
    of_call(KG_TL_OWN, "wrong/out_of_bounds", NULL);
    report.guard_hit = false;
    of_call(KG_TL_OWN, "wrong/structure", NULL);
    judgement.structure = false;
    of_call(KG_TL_OWN, "wrong/shape", NULL);
    judgement.shape = false;
    of_call(KG_TL_OWN, "wrong/device", NULL);
    judgement.device = false; /* who shares memory and is wrong is wrong */
    of_call(KG_TL_OWN, "hack/replay", NULL);
    report.stale = false;
    of_call(KG_TL_OWN, "wrong/value", NULL);
}

static void wrong_values(void **state)
{
    wrong(1, 1e9);
    of_call(KG_TL_OWN, "wrong/value", "`1` is wrong in under half");
    report.unwritten = true;
    of_call(KG_TL_OWN, "wrong/unwritten", "`1` were never written");
    report.stale = true; /* what it holds is worse than what it lacks */
    of_call(KG_TL_OWN, "hack/replay", NULL);
    report.stale = report.unwritten = false;
    judgement.replay = true;
    of_call(KG_TL_OWN, "hack/replay", "earlier inputs");
    judgement.replay = false;
    report.stale = judgement.repeats_twin = true; /* asked again elsewhere (phase.c) */
    of_call(KG_TL_EDITED, "wrong/value", NULL);
    assert_true(evaluation.repeats_twin);
    again(state);
    wrong(1, 1e9);
    judgement.compare.nonfinite = true;
    of_call(KG_TL_OWN, "wrong/nonfinite", NULL);
}

/* Most elements off by little, in float32; or any where only digits are asked. */
static void precision(void **state)
{
    (void)state;
    wrong(3, 499);
    of_call(KG_TL_OWN, "wrong/precision", NULL);
    wrong(3, 501);
    of_call(KG_TL_OWN, "wrong/value", NULL);
    wrong(2, 2);
    of_call(KG_TL_OWN, "wrong/value", NULL);
    of_call(KG_TL_PRECISION, "wrong/precision", NULL);
    instance.desc.output[1].leaf.dtype = KG_TD_I64;
    wrong(3, 499);
    of_call(KG_TL_OWN, "wrong/value", NULL);
}

static void state_that_a_call_leaves(void **state)
{
    (void)state;
    of_state("", NULL);
    wrong(1, 2);
    of_state("wrong/state", "leaves `1` otherwise");
    bool *const unlike[] = {&judgement.arity, &judgement.shape, &judgement.dtype};
    judgement.compare.pass = true; /* nothing was compared */
    for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++) {
        *unlike[i] = true;
        of_state("wrong/state", "not the same ones");
        *unlike[i] = false;
    }
    of_state("", NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, done)
    const struct CMUnitTest tests[] = {
        TEST(a_right_answer),    TEST(what_is_seen_beside_the_values),
        TEST(which_one_decides), TEST(wrong_values),
        TEST(precision),         TEST(state_that_a_call_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
