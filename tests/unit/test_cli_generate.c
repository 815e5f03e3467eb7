/* kgym problems generate: what it writes, twice the same, and what it refuses. */
#include "kgym_rig.h"

static void test_two_sides(void **state)
{
    (void)state;
    rig_expect(0, "$K problems generate chains --out w --seed 7 --triples 9");
    rig_shows("w/train: 28 single operators, 429 pairs, 9 triples\n"
              "w/held-out: 0 single operators, 107 pairs, 9 triples\n");
    rig_expect(0, "test $(ls w/train | wc -l) = 466 && test $(ls w/held-out | wc -l) = 116");
    rig_expect(1, "ls w/train w/held-out | grep '\\.c$' | sort | uniq -d | grep .");
    rig_expect(0, "$K problems list w/held-out | grep -c 'level 2'");
    rig_shows("116\n");
    rig_expect(0, "$K problems generate chains --out=again --seed=7 --part 0 --triples=9 && "
                  "diff -r w again");
    rig_expect(1, "$K problems generate chains --out other --seed 7 --part 1 --triples 0 && "
                  "ls w/held-out other/held-out | grep -E '^[a-z]*_[a-z]*\\.c$' | sort | uniq -d | "
                  "grep .");
}

/* What is written is what the gym judges: a reference is a candidate that is right. */
static void test_a_generated_problem_is_judged(void **state)
{
    (void)state;
    rig_expect(0, "$K problems generate chains --out one --seed 3 --triples 0");
    rig_expect(0, "sed 's/real/float/g; 1,/---\\*\\//d' one/train/softmax.c > copy.c && "
                  "$K eval ./one/train/softmax.c copy.c --no-stage-timing");
    rig_expect(1, "sed 's/softmax/log_softmax/' copy.c > wrong.c; "
                  "$K eval ./one/train/softmax.c wrong.c --no-stage-timing");
}

static void test_bad_words(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "generate: name a generator: chains"},
        {"chans --out a --seed 1", "unknown word `chans`; did you mean `chains`?"},
        {"chains chains --out a --seed 1", "one generator at a time, not `chains` as well"},
        {"chains --seed 1", "generate: --out DIR is missing"},
        {"chains --out a", "generate: --seed N is missing"},
        {"chains --out a --seed", "--seed"},
        {"chains --out a --seed -1", "--seed: `-1` is not a whole number from 0 to "},
        {"chains --out a --seed 99999999999999999999", "--seed: `99999999999999999999` is not"},
        {"chains --out a --seed 1 --part 5", "--part: `5` is not a whole number from 0 to 4"},
        {"chains --out a --seed 1 --triples 1x", "--triples: `1x` is not a whole number"},
        {"chains --out a --seeds 1", "unknown option `--seeds`; did you mean `--seed`?"},
        {"chains --out full --seed 1", "full: is not empty (name a new folder)"},
        {"chains --out full/it --seed 1", "full/it"},
        {"chains --out /proc/none --seed 1", "/proc/none"},
    };
    rig_expect(0, "mkdir -p full; echo mine > full/it");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rig_expect(2, "$K problems generate %s", bad[i][0]);
        rig_says("kgym problems: ");
        rig_says(bad[i][1]);
        assert_int_equal(rig.out.len, 0);
    }
    rig_expect(0, "cat full/it && test ! -e a");
    rig_shows("mine\n");
}

static void test_words_are_offered(void **state)
{
    (void)state;
    rig_expect(0, "$K problems generate --help > a; $K problems --help > b; cmp a b");
    rig_expect(0, "grep -q 'problems generate chains --out DIR --seed N' a");
    rig_expect(0, "$K completion bash | grep -q 'generate) echo \"chains --out --seed'");
    rig_expect(2, "$K problems generat");
    rig_says("did you mean `generate`?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sides),
        cmocka_unit_test(test_a_generated_problem_is_judged),
        cmocka_unit_test(test_bad_words),
        cmocka_unit_test(test_words_are_offered),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
