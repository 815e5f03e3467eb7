/* What an evaluation becomes when parts of the gym are killed under it at random moments: the right
 * verdict or an error, never a hang, and the next one is as if nothing had been. */
#include "faults_rig.h"

#define KILLS    60
#define KILLS_NS 300000000000ll /* as many must fit into this, on a busy machine too */

static void test_killed_at_any_moment(void **state)
{
    (void)state;
    int64_t until = kg_clock_ns() + KILLS_NS;
    int errors = 0, evaluations = 0, hits = 0, right = 0;
    expect_right(0, "before");
    while (kills() < KILLS && kg_clock_ns() < until) {
        struct kg_record r;
        int which = (int)kg_rng_below(&rng, (uint64_t)CANDIDATES);
        if (which == TIMED && kg_rng_below(&rng, 2)) { /* it takes longest */
            which = 0;
        }
        enum victim victim = (enum victim)(JUDGE + kg_rng_below(&rng, VICTIM_KINDS - JUDGE));
        uint64_t most = victim == COMPILER ? 40000 : which == TIMED ? 400000 : 120000;
        int before = kills();
        atomic_store(&shared->delay_us, (int)kg_rng_below(&rng, most));
        atomic_store(&shared->victim, (int)victim);
        judge(which, &r);
        atomic_store(&shared->victim, NOBODY);
        evaluations++;
        hits += kills() > before;
        errors += r.has_error;
        right += !r.has_error;
        if (!r.has_error && r.verdict != candidates[which].verdict) {
            fail_msg("candidate %d with its %s killed: %s/%s: %s", which, victim_names[victim],
                     kg_verdict_name(r.verdict), r.reason ? r.reason : "", r.message);
        }
        if (r.has_error && (r.error.code != KG_E_GYM && r.error.code != KG_E_HOST)) {
            fail_msg("candidate %d with its %s killed: an error of kind %s: %s", which,
                     victim_names[victim], kg_code_name(r.error.code), r.error.message);
        }
        assert_int_equal(r.nrewards > 0, !r.has_error);
        kg_record_deinit(&r);
        if (evaluations % 6 == 0) {
            expect_right((int)kg_rng_below(&rng, (uint64_t)CANDIDATES), "afterwards");
        }
    }
    printf("told: %d kills of %d:", kills(), KILLS);
    for (int i = JUDGE; i < VICTIM_KINDS; i++) {
        printf(" %d %s,", atomic_load(&shared->kills[i]), victim_names[i]);
    }
    printf(" %d evaluations, %d hit: %d right, %d errors\n", evaluations, hits, right, errors);
    assert_true(kills() >= KILLS);
    for (int i = JUDGE; i < VICTIM_KINDS; i++) {
        assert_true(atomic_load(&shared->kills[i]) > 0);
    }
    assert_true(right > errors);
    for (int i = 0; i < CANDIDATES; i++) {
        expect_right(i, "at the end");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, open_worker, close_worker);
}
