/* `make demo` from its script, shortened to less than a minute (it claims no effect), and the
 * verdict of `make demo-check` on runs that were written for it. */
#include "kgym_rig.h"

#include "../support/sample_run.h"

#define SHORT                                                                                      \
    "--set corpus.documents=1500 --set corpus.merges=200 --set model.hidden=32 "                   \
    "--set model.inter=64 --set model.layers=2 --set sft.seconds=8 --set sft.rows=1024 "           \
    "--set rl.seconds=6 --set rl.groups=2 --set rl.rollouts=4 --set rl.rows=4096 "                 \
    "--set eval.pairs=3 --set eval.triples=1 --set eval.samples=2 --set corpus.talks=0 "           \
    "--set gym.timing.pairs=4 --set recheck_seconds=2 --recheck 2"

/* A tree with what the scripts use. */
static void plant(void)
{
    rig_expect(0, "rm -rf tree && mkdir -p tree/build home && cp -r $T/tools $T/configs tree/ && "
                  "ln -s $KGYM_HOME tree/build/release");
}

static void the_demo_runs_to_its_end(void **state)
{
    (void)state;
    plant();
    rig_expect(0,
               "unset KGYM_CACHE XDG_CACHE_HOME; HOME=$PWD/home tree/tools/demo.sh --built " SHORT);
    rig_shows("before RL -> after RL");
    rig_shows("\neffect shown: ");
    rig_shows("\nreport: runs/demo/report.html");
    rig_shows("\ndemo: seconds: train ");
    rig_expect(0, "grep -q 'Components' tree/runs/demo/report.html && find home -mindepth 1");
    assert_int_equal(rig.out.len, 0);
    rig_expect(2, "mkdir -p tree/other && : > tree/other/file; "
                  "tree/tools/demo.sh --built --out other");
    rig_says("is no folder of a run");
    rig_expect(0, "test -e tree/other/file");
    rig_expect(2, "tree/tools/demo.sh --bilt");
    rig_nothing_left();
}

/* Of the run above. */
static void its_checkpoint_loads_in_transformers(void **state)
{
    (void)state;
    rig_expect(
        0, "if test -x ${GOLDENS_PYTHON:-$T/build/goldens-venv/bin/python}; then echo there; fi");
    if (rig.out.len == 0) {
        print_message("skipped: no transformers (make goldens installs it)\n");
        skip();
    }
    rig_expect(0, "OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1 "
                  "${GOLDENS_PYTHON:-$T/build/goldens-venv/bin/python} "
                  "$T/tests/goldens/check_run.py tree/runs/demo");
    rig_shows("same texts: True");
}

/* held of 20; shown: the replies after RL are better. */
static void plant_run(const char *name, bool shown, int held)
{
    char folder[200];
    const struct sample_run o = {.pairs = 20,
                                 .triples = 3,
                                 .samples = 4,
                                 .steps = 2,
                                 .turns = 1,
                                 .end = true,
                                 .same = !shown};
    snprintf(folder, sizeof folder, "tree/runs/demo-check/%s", name);
    rig_expect(0, "mkdir -p %s", folder);
    sample_run_write(folder, &o);
    rig_expect(0, "echo '{\"preset\": \"default\", \"n\": 20, \"held\": %d}' > %s/recheck.json",
               held, folder);
}

static void plant_all(void)
{
    static const char *const kind[] = {"demo", "correct-only", "second-sample"};
    plant();
    for (int k = 0; k < 3; k++) {
        for (int seed = 0; seed < 4; seed++) {
            char name[40];
            snprintf(name, sizeof name, "%s-%d", kind[k], seed);
            plant_run(name, k == 0, 19);
        }
    }
}

#define TABLE "tree/tools/demo-check.sh --table"

static void three_of_four_seeds_are_needed(void **state)
{
    (void)state;
    plant_all();
    rig_expect(0, TABLE);
    rig_shows("0 of them were held out before");
    rig_shows("4 of 4 seeds show the effect, 3 are needed");
    rig_shows("| correct-only | 3 | 2 | ");
    rig_shows("| 19 of 20 | no |");
    rig_shows("share of styles by form");
    plant_run("demo-2", false, 19); /* no better than before */
    rig_expect(0, TABLE);
    rig_shows("3 of 4 seeds show the effect");
    plant_run("demo-0", true, 17); /* too few held */
    rig_expect(1, TABLE);
    rig_shows("2 of 4 seeds show the effect");
    plant_run("demo-0", true, 18);
    rig_expect(0, TABLE);
    rig_expect(0, "rm tree/runs/demo-check/demo-0/recheck.json");
    rig_expect(1, TABLE);
    plant_run("demo-0", true, 18);
    rig_expect(2, "rm -r tree/runs/demo-check/demo-1; " TABLE);
    rig_shows("| demo | 1 | failed or not there |");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_demo_runs_to_its_end),
        cmocka_unit_test(its_checkpoint_loads_in_transformers),
        cmocka_unit_test(three_of_four_seeds_are_needed),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
