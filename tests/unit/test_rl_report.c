/* The report of a training run: its tables against numbers computed by hand, hostile text, files
 * that are missing or cut off, a component that was idle, large files, and the command. */
#include "kgym_rig.h"

#include <math.h>
#include <sys/resource.h>

#include "../support/sample_run.h"
#include "base/file.h"
#include "rl/report/parts.h"

static const struct sample_run usual = {
    .pairs = 12, .triples = 5, .samples = 2, .steps = 60, .turns = 2, .end = true};

static void make(const char *folder, const struct sample_run *o)
{
    rig_expect(0, "rm -rf %s && mkdir -p %s", folder, folder);
    sample_run_write(folder, o);
}

static struct rl_report *open_run(const char *folder)
{
    struct kg_err err = KG_ERR_INIT;
    struct rl_report *r = NULL;
    if (rl_report_open(folder, &r, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return r;
}

static void page_of(const struct rl_report *r, struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(out, 64u << 20);
    assert_int_equal(rl_report_html(r, "a <title>", out, &err), KG_OK);
}

/* --- numbers --- */

/* Two pairs, two samples, two turns, written out; each value can be counted by hand. */
static const char by_hand[] = "bias_softmax|eval-before|ok 1.0 .1|ok 1.3 1\n"
                              "bias_softmax|eval-before|wrong|wrong\n"
                              "gain_softmax|eval-before|compile_error|ok 1.5 1\n"
                              "gain_softmax|eval-before|hack|no_code\n"
                              "bias_softmax|eval-after|ok 2.0 1|ok 1.1 1\n"
                              "bias_softmax|eval-after|ok 1.25 .2|wrong\n"
                              "gain_softmax|eval-after|ok 3.0 1|ok 3.0 1\n"
                              "gain_softmax|eval-after|rejected|ok 1.15 1\n";

static json_t *turn_by_hand(const char *text, int turn)
{
    char verdict[32];
    double s = NAN, c = NAN;
    sscanf(text, "%31s %lf %lf", verdict, &s, &c);
    return json_pack("{s:i,s:s,s:s,s:o?,s:o?}", "turn", turn, "verdict", verdict, "reply", "x",
                     "speedup", isfinite(s) ? json_real(s) : NULL, "coverage",
                     isfinite(c) ? json_real(c) : NULL);
}

static void write_by_hand(const char *folder)
{
    char text[sizeof by_hand], path[200];
    memcpy(text, by_hand, sizeof text);
    rig_expect(0, "mkdir -p %s", folder);
    snprintf(path, sizeof path, "%s/trajectories.jsonl", folder);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    for (char *at, *line = strtok_r(text, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
        char *part[4] = {line};
        for (int i = 1; i < 4; i++) {
            part[i] = strchr(part[i - 1], '|') + 1;
            part[i][-1] = '\0';
        }
        sample_line(f, json_pack("{s:{s:s},s:{s:s,s:i},s:[o,o]}", "problem", "name", part[0],
                                 "extra", "phase", part[1], "step", -1, "turns",
                                 turn_by_hand(part[2], 1), turn_by_hand(part[3], 2)));
    }
    fclose(f);
}

static void tables_are_what_one_counts(void **state)
{
    (void)state;
    write_by_hand("hand");
    struct rl_report *r = open_run("hand");
    const struct rl_score_table *t = &r->table[RL_PART_PAIRS];
    assert_int_equal(t->problems, 2);
    assert_int_equal(t->samples, 2);
    assert_int_equal(t->views, 3);
    static const struct {
        int view;
        enum rl_row row;
        double before, after;
    } want[] = {
        {0, RL_ROW_CORRECT, .25, .75},     {1, RL_ROW_CORRECT, .5, .75},
        {2, RL_ROW_CORRECT, .5, 1},        {0, RL_ROW_FAST_12, 0, .75},
        {1, RL_ROW_FAST_12, .5, .25},      {2, RL_ROW_FAST_12, .5, .75},
        {2, RL_ROW_FAST_1, .5, 1},         {2, RL_ROW_FAST_11, .5, 1},
        {0, RL_ROW_HACK, .25, 0},          {0, RL_ROW_COMPILED, .75, .75},
        {0, RL_ROW_VALID, 1, .75},         {0, RL_ROW_LAZY, .25, .25},
        {0, RL_ROW_COVERAGE, .1, 2.2 / 3}, {0, RL_ROW_GEOMEAN, 1, cbrt(2 * 1.25 * 3)},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct rl_score_row *s = &t->row[want[i].view][want[i].row];
        print_message("view %d %s\n", want[i].view, rl_row_name(want[i].row));
        assert_true(fabs(s->before - want[i].before) < 1e-9);
        assert_true(fabs(s->after - want[i].after) < 1e-9);
        assert_true(fabs(s->difference.value - (s->after - s->before)) < 1e-9);
        assert_true(s->difference.lo <= s->difference.value + 1e-9 &&
                    s->difference.hi >= s->difference.value - 1e-9);
    }
    assert_int_equal(r->kernels.n_best, 2);
    assert_true(r->kernels.best[0].speedup == 3.0 && r->kernels.best[1].speedup == 2.0);
    assert_int_equal(r->kernels.n_some, 6);
    rl_report_close(r);
}

static void effect_needs_all_three(void **state)
{
    (void)state;
    make("effect", &usual);
    struct rl_report *r = open_run("effect");
    struct rl_score_row *row = r->table[RL_PART_PAIRS].row[2];
    row[RL_ROW_FAST_12].difference = (struct rl_interval){.value = .3, .lo = .1, .hi = .5};
    row[RL_ROW_CORRECT].before = .8;
    row[RL_ROW_CORRECT].after = .75;
    assert_true(rl_report_effect(r).shown);
    row[RL_ROW_CORRECT].after = .69; /* fell by more than .1 */
    assert_false(rl_report_effect(r).shown);
    row[RL_ROW_CORRECT].after = .9;
    row[RL_ROW_FAST_12].difference.lo = 0; /* not above 0 */
    assert_false(rl_report_effect(r).shown);
    row[RL_ROW_FAST_12].difference.lo = .01;
    r->recheck = json_pack("{s:s,s:i,s:i}", "preset", "default", "n", 20, "held", 18);
    assert_true(rl_report_effect(r).shown);
    json_object_set_new(r->recheck, "held", json_integer(17));
    assert_false(rl_report_effect(r).shown);
    assert_non_null(strstr(rl_report_effect(r).text, "17 of 20 held"));
    rl_report_close(r);
}

/* The counter of evaluations has those before RL, too. */
static void rates_are_of_their_own_step(void **state)
{
    (void)state;
    rig_expect(0, "rm -rf rates && mkdir rates && jq -cn 'range(3) | {phase: \"rl\", step: ., "
                  "seconds: (2 * .), sampled: 30, evaluations: (9000 + 8 * .)}' "
                  "> rates/metrics.jsonl");
    struct rl_report *r = open_run("rates");
    const double *made = rl_columns_find(&r->columns, "rate.evaluations");
    const double *sampled = rl_columns_find(&r->columns, "rate.sampled");
    assert_true(made != NULL && isnan(made[0]) && made[1] == 4);
    assert_true(sampled != NULL && sampled[0] == 15 && sampled[1] == 15);
    rl_report_close(r);
}

/* --- the page --- */

static void everything_is_shown(void **state)
{
    (void)state;
    static const char *const parts[] = {"Before and after RL",
                                        "12 held-out pairs",
                                        "5 held-out triples",
                                        "best of 2 turns",
                                        "fast_1.2 by turn",
                                        "funnel: share",
                                        "by cause",
                                        "evaluations per second",
                                        "Components",
                                        "0 rows touched",
                                        "Styles",
                                        "own-fused",
                                        "Best kernels",
                                        "A later turn is faster",
                                        "A later turn mends",
                                        "class=\"ins\"",
                                        "class=\"del\"",
                                        "config.yaml",
                                        "SFT: loss",
                                        "norm of the gradient"};
    struct kg_buf page;
    make("run", &usual);
    struct rl_report *r = open_run("run");
    page_of(r, &page);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strstr(page.data, parts[i]) == NULL) {
            fail_msg("the page lacks `%s`", parts[i]);
        }
    }
    assert_null(strstr(page.data, "failed its own report"));
    kg_buf_deinit(&page);
    rl_report_close(r);
}

/* No correct reply before RL: its geometric mean has no value. */
static void a_tile_without_a_value_has_a_dash(void **state)
{
    (void)state;
    struct kg_buf page;
    write_by_hand("dash");
    rig_expect(0, "sed -i '/eval-before/ s/\"ok\"/\"wrong\"/g' dash/trajectories.jsonl");
    struct rl_report *r = open_run("dash");
    page_of(r, &page);
    assert_non_null(strstr(page.data, "speed-up, geometric mean</span><b class=\"\">– → 1."));
    kg_buf_deinit(&page);
    rl_report_close(r);
}

/* The page holds no markup of a model's: no tag but its own, no script, no foreign address. */
static void hostile_text_stays_text(void **state)
{
    (void)state;
    struct kg_buf page;
    make("run", &usual);
    rig_expect(0, "printf '[{}, {\"cpu\": \"<i>fast</i>\", \"<b>host</b>\": \"<script>\"}]' > "
                  "run/host.json");
    struct rl_report *r = open_run("run");
    page_of(r, &page);
    assert_non_null(strstr(page.data, "&lt;script&gt;alert(1)"));
    assert_null(strstr(page.data, "<script"));
    assert_null(strstr(page.data, "<img"));
    assert_null(strstr(page.data, "<b>host"));
    assert_non_null(strstr(page.data, "&lt;i&gt;fast"));
    assert_null(strstr(page.data, "a <title>"));
    assert_null(strchr(page.data, '\x1b'));
    assert_null(strstr(page.data, "http://"));
    assert_null(strstr(page.data, "https://"));
    assert_non_null(strstr(page.data, "default-src 'none'"));
    kg_buf_deinit(&page);
    rl_report_close(r);
}

static void a_diff_shows_what_changed(void **state)
{
    (void)state;
    struct kg_buf out;
    kg_buf_init(&out, 1 << 16);
    rl_page_diff("a=b+c;", "a=<x+c;\nd", &out);
    assert_string_equal(out.data, "<pre class=\"diff\">a=<span class=\"del\">b</span>"
                                  "<span class=\"ins\">&lt;x</span>+c;<span class=\"ins\">\nd"
                                  "</span></pre>\n");
    kg_buf_reset(&out);
    rl_page_diff("same", "same", &out);
    assert_string_equal(out.data, "<pre class=\"diff\">same</pre>\n");
    kg_buf_deinit(&out);
}

/* Lines far from a change are counted, those beside it shown; ends that are alike are not compared.
 */
static void a_long_diff_is_by_lines(void **state)
{
    (void)state;
    struct kg_buf a, b, out;
    kg_buf_init(&out, 1 << 20);
    kg_buf_init(&a, 1 << 20);
    kg_buf_init(&b, 1 << 20);
    rl_page_diff_lines("1\n2\n3\n4\n5\nx\n7\n8\n9\n10\n11\n12",
                       "1\n2\n3\n4\n5\n<y\n7\n8\n9\n10\n11\n12", &out);
    assert_string_equal(out.data,
                        "<pre class=\"diff lines\"><i>… 2 equal lines</i>\n  3\n  4\n  5\n"
                        "<span class=\"del\">- x</span>\n<span class=\"ins\">+ &lt;y"
                        "</span>\n  7\n  8\n  9\n<i>… 3 equal lines</i>\n</pre>\n");
    for (int i = 0; i < 900; i++) {
        kg_buf_addf(&a, "a%d = %d;\n", i, i);
        kg_buf_addf(&b, "a%d = %d;\n", i, i == 450 ? -1 : i);
    }
    kg_buf_reset(&out);
    rl_page_diff(a.data, b.data, &out); /* 5400 words */
    assert_non_null(strstr(out.data, "<span class=\"del\">- a450 = 450;</span>\n"
                                     "<span class=\"ins\">+ a450 = -1;</span>\n  a451"));
    assert_non_null(strstr(out.data, "<i>… 447 equal lines</i>\n  a447"));
    assert_true(out.len < 400);
    kg_buf_deinit(&a);
    kg_buf_deinit(&b);
    kg_buf_deinit(&out);
}

/* --- broken input --- */

static void what_is_missing_is_named(void **state)
{
    (void)state;
    make("part", &usual);
    rig_expect(0, "rm part/trajectories.jsonl part/config.yaml; $K report part");
    rig_shows("note: trajectories.jsonl: is not there");
    rig_shows("effect shown: not known");
    make("part", &usual);
    rig_expect(0, "rm part/metrics.jsonl; $K report part");
    rig_shows("note: metrics.jsonl: is not there");
    rig_shows("12 held-out pairs");
    rig_expect(0, "mkdir -p none");
    rig_expect(2, "$K report none");
    rig_says("neither metrics.jsonl nor trajectories.jsonl is there");
    rig_expect(2, "echo words > none/metrics.jsonl; $K report none");
    rig_says("metrics.jsonl:1: no JSON object");
    rig_expect(2, ": > none/metrics.jsonl; $K report none");
    rig_expect(2, "$K report no-such-folder");
}

static void lines_that_are_cut_off_are_left_out(void **state)
{
    (void)state;
    make("cut", &usual);
    rig_expect(0, "truncate -s -20 cut/metrics.jsonl; truncate -s -300 cut/trajectories.jsonl; "
                  "$K report cut --out cut.html");
    rig_shows("the last line is cut off: left out");
    rig_shows("has no line `end`");
    rig_shows("12 held-out pairs");
    make("cut", &usual);
    rig_expect(0, "for i in 1 2 3 4 5; do echo '[1'; echo '{\"turns\": 3}'; done >> "
                  "cut/trajectories.jsonl; $K report cut --out cut.html");
    rig_shows("5 lines are left out in all");
    rig_shows("5 lines are no trajectories of a run");
    rig_expect(0, "head -c 5000000 /dev/zero | tr '\\0' x >> cut/metrics.jsonl; $K report cut");
    rig_shows("the last line is cut off");
}

/* Members of other types than the form says are as good as missing. */
static void odd_types_do_no_harm(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{\"phase\": 3}", "{\"phase\": \"rl\", \"step\": \"x\"}",
        "{\"phase\": \"rl\", \"step\": 4, \"reward\": [], \"norm\": {\"a\": {\"b\": {\"c\": 1}}}}",
        "{\"phase\": \"end\", \"components\": [1], \"idle\": 3, \"rl\": \"x\"}",
        "{\"phase\": \"end\", \"components\": {\"prs\": 1, \"mrs\": [\"a\"]}, \"idle\": [1]}"};
    rig_expect(0, "rm -rf odd; mkdir odd");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        rig_expect(0, "echo '%s' >> odd/metrics.jsonl", lines[i]);
    }
    rig_expect(0,
               "echo '{\"problem\": {\"name\": \"bias_softmax\"}, \"extra\": {\"phase\": \"rl\", "
               "\"step\": 1e99}, \"turns\": [1, {\"verdict\": 2, \"reply\": [], \"extra\": "
               "{\"why\": {}}}]}' > odd/trajectories.jsonl");
    rig_expect(1, "$K report odd"); /* idle names something */
    rig_expect(0, "echo '{\"preset\": 3, \"n\": 0, \"items\": [1, {}]}' > odd/recheck.json; "
                  "sed -i /idle/d odd/metrics.jsonl; $K report odd");
}

static void an_idle_component_fails_the_run(void **state)
{
    (void)state;
    struct sample_run o = usual;
    o.idle = "mrs";
    make("idle", &o);
    rig_expect(1, "$K report idle");
    rig_shows("FAILED: `mrs` was on and looked at nothing");
    rig_expect(0, "grep -q 'This run failed its own report' idle/report.html");
    rig_expect(1, "$K report idle --json | jq -e .failed && exit 1");
    rig_expect(0, "sed -i 's/\"components\":{/&\"over\":[0,0],\"coverage\":[0,0],/; "
                  "s/\"idle\":\"mrs\"/\"idle\":\"coverage\"/' idle/metrics.jsonl");
    rig_expect(1, "$K report idle");
    rig_expect(0, "grep -q '<td class=\"bad\">coverage<' idle/report.html && "
                  "grep -q '<td class=\"mute\">over<' idle/report.html");
    make("idle", &usual);
    rig_expect(0, "$K report idle --json | jq -e '.failed == false and .parts.pairs.problems == 12 "
                  "and .parts.pairs.views.best[\"fast_1.2\"].difference[1] > -1'");
}

/* A file of more than 64 MB needs little memory: lines are not kept. */
static void large_files_need_little_memory(void **state)
{
    (void)state;
    struct rusage before, after;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* freed memory is kept */
#endif
    make("large", &usual);
    rig_expect(0, "cd large && cp trajectories.jsonl one && while [ $(stat -c %%s "
                  "trajectories.jsonl) -lt 68000000 ]; do cat one one one one one one one one one "
                  "one one one >> trajectories.jsonl; done");
    getrusage(RUSAGE_SELF, &before);
    struct rl_report *r = open_run("large");
    getrusage(RUSAGE_SELF, &after);
    print_message("%zu trajectories, %ld KB more\n", r->walks.n,
                  after.ru_maxrss - before.ru_maxrss);
    assert_true(r->walks.n > 20000);
    long more = after.ru_maxrss - before.ru_maxrss;
    rl_report_close(r);
    assert_true(more < 48 << 10);
    rig_expect(0, "rm -rf large");
}

/* --- the command --- */

static void words(void **state)
{
    (void)state;
    make("run", &usual);
    rig_expect(0, "$K report run --title 'T & t' --out page.html && grep -q 'T &amp; t' page.html");
    rig_expect(2, "$K report run --recheck 0");
    rig_says("--recheck: `0` is not a number from 1 to 64");
    rig_expect(2, "$K report run --out run/metrics.jsonl");
    rig_says("this file holds JSON");
    rig_expect(2, "$K report run/metrics.jsonl --recheck 3");
    rig_says("need the folder of a run");
    rig_expect(2, "$K report run --jsn");
}

/* Without feedback a second turn is another trajectory from the same prompt: the tables are those
 * of the same replies in one trajectory. */
static void samples_without_feedback_are_turns(void **state)
{
    (void)state;
    make("apart", &usual);
    rig_expect(0, "$K report apart --json | jq .parts > together");
    rig_expect(0,
               "jq -c 'if .extra.phase == \"rl\" then . else .turns[] as $t | .turns = [$t] end' "
               "apart/trajectories.jsonl > t && mv t apart/trajectories.jsonl");
    rig_expect(1, "$K report apart --json | jq .parts | cmp - together");
    rig_expect(0, "echo 'feedback: false' >> apart/config.yaml; "
                  "$K report apart --json | jq .parts | cmp - together");
}

/* Kernels of the corpus, judged again by the real gym. */
static void kernels_are_judged_again(void **state)
{
    (void)state;
    const struct sample_run few = {.pairs = 2, .samples = 4, .steps = 1, .turns = 1, .end = true};
    make("again", &few);
    rig_expect(0, "sed -i 's/\"speedup\":[0-9][0-9.]*/\"speedup\":1.0/g' again/trajectories.jsonl; "
                  "$K report again --recheck 2");
    rig_shows("judged again by default: 2 of 2 correct kernels held");
    rig_expect(0, "jq -e '.n == 2 and .held == 2 and (.items | length) >= 3' again/recheck.json");
    rig_expect(0, "jq -e '.items[0].verdict == \"ok\"' again/recheck.json");
    rig_expect(0, "$K report again"); /* kept */
    rig_shows("2 of 2 correct kernels held");
    rig_expect(0, "grep -q 'Judged again' again/report.html");
    /* wrong kernels do not hold */
    rig_expect(0,
               "jq -c '.turns |= map(.reply = \"void k(void) {}\")' again/trajectories.jsonl > t "
               "&& mv t again/trajectories.jsonl && $K report again --recheck 2");
    rig_shows("0 of 2 correct kernels held");
    rig_shows("effect shown: no");
    rig_expect(0, "rm again/recheck.json; sed -i /eval-after/d again/trajectories.jsonl; "
                  "$K report again --recheck 2");
    rig_shows("note: no kernel was judged again");
    rig_expect(1, "test -e again/recheck.json");
    rig_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_what_one_counts),
        cmocka_unit_test(effect_needs_all_three),
        cmocka_unit_test(rates_are_of_their_own_step),
        cmocka_unit_test(samples_without_feedback_are_turns),
        cmocka_unit_test(everything_is_shown),
        cmocka_unit_test(a_tile_without_a_value_has_a_dash),
        cmocka_unit_test(hostile_text_stays_text),
        cmocka_unit_test(a_diff_shows_what_changed),
        cmocka_unit_test(a_long_diff_is_by_lines),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(lines_that_are_cut_off_are_left_out),
        cmocka_unit_test(odd_types_do_no_harm),
        cmocka_unit_test(an_idle_component_fails_the_run),
        cmocka_unit_test(large_files_need_little_memory),
        cmocka_unit_test(words),
        cmocka_unit_test(kernels_are_judged_again),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
