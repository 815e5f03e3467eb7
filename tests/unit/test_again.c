/* A wrong answer that is asked again: for which reasons, and what the second answer makes of the
 * first. No process is started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gym/eval/again.h"

struct second {
    struct kg_evaluation *e;
    enum kg_stage_result says;
    int asked;
};

static enum kg_stage_result answer(void *ctx, struct kg_err *err)
{
    struct second *s = ctx;
    s->asked++;
    kg_record_evidence(s->e->r, "mismatch", json_object());
    if (s->says == KG_STAGE_FAIL) {
        kg_record_verdict(s->e->r, KG_V_WRONG, "nonfinite", "another reason");
    } else if (s->says == KG_STAGE_ERROR) {
        kg_fail(err, KG_E_GYM, "lost");
    }
    return s->says;
}

static void a_second_answer(void **state)
{
    (void)state;
    static const struct {
        enum kg_verdict verdict;
        const char *reason;
        bool repeats;
        enum kg_stage_result says, wanted;
        int asked;
        enum kg_verdict then;
        const char *then_reason;
        size_t evidence;
    } table[] = {
        {KG_V_WRONG, "value", false, KG_STAGE_FAIL, KG_STAGE_FAIL, 1, KG_V_WRONG, "value", 1},
        {KG_V_WRONG, "value", false, KG_STAGE_PASS, KG_STAGE_FAIL, 1, KG_V_WRONG,
         "nondeterministic", 2},
        {KG_V_WRONG, "unwritten", true, KG_STAGE_PASS, KG_STAGE_FAIL, 1, KG_V_HACK, "replay", 2},
        {KG_V_WRONG, "variant", false, KG_STAGE_ERROR, KG_STAGE_FAIL, 1, KG_V_WRONG, "variant", 1},
        {KG_V_WRONG, "out_of_bounds", false, KG_STAGE_PASS, KG_STAGE_FAIL, 0, KG_V_WRONG,
         "out_of_bounds", 1},
        {KG_V_HACK, "replay", false, KG_STAGE_PASS, KG_STAGE_FAIL, 0, KG_V_HACK, "replay", 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_record r;
        struct kg_err err = KG_ERR_INIT;
        struct kg_evaluation e = {.r = &r, .repeats_twin = table[i].repeats};
        struct second s = {.e = &e, .says = table[i].says};
        kg_record_init(&r);
        kg_record_evidence(&r, "mismatch", json_object());
        kg_record_verdict(&r, table[i].verdict, table[i].reason, "the first");
        assert_int_equal(kg_again_ask(&e, answer, &s, &err), table[i].wanted);
        assert_int_equal(s.asked, table[i].asked);
        assert_int_equal(r.verdict, table[i].then);
        assert_string_equal(r.reason, table[i].then_reason);
        assert_int_equal(json_array_size(r.evidence), table[i].evidence);
        kg_record_deinit(&r);
    }
}

/* What was not written into a buffer of the judge's is no matter of luck; elsewhere it may be. */
static void a_timed_call(void **state)
{
    (void)state;
    static const struct {
        const char *reason;
        enum kg_doubt where;
        int64_t right;
        const char *then;
    } table[] = {
        {"value", KG_DOUBT_TIMED_GIVEN, 3, "nondeterministic"},
        {"value", KG_DOUBT_TIMED_MADE, 3, "nondeterministic"},
        {"value", KG_DOUBT_TIMED_MADE, 0, "value"},
        {"unwritten", KG_DOUBT_TIMED_MADE, 3, "nondeterministic"},
        {"unwritten", KG_DOUBT_TIMED_GIVEN, 3, "unwritten"},
        {"input_modified", KG_DOUBT_TIMED_MADE, 3, "input_modified"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_record r;
        struct kg_evaluation e = {.r = &r};
        kg_record_init(&r);
        kg_record_verdict(&r, KG_V_WRONG, table[i].reason, "wrong");
        kg_again_timed(&e, table[i].where, 1, 7, table[i].right);
        assert_string_equal(r.reason, table[i].then);
        assert_int_equal(json_array_size(r.evidence), 1);
        kg_record_deinit(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_answer),
        cmocka_unit_test(a_timed_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
