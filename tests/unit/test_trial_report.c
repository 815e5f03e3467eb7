/* The reports of trials: what is counted against a recount, hostile text, files that are missing,
 * cut off or under way, and the command. */
#include "kgym_rig.h"

#include <math.h>
#include <sys/resource.h>

#include "../support/sample_trial.h"
#include "trial/report/report_page.h"

static const struct sample_trial bench = {.problems = 6, .samples = 3, .turns = 2, .seed = 5};
static const struct sample_trial refine = {.problems = 1, .samples = 1, .turns = 14, .seed = 5};

static void make_bench(const char *folder, const struct sample_trial *o)
{
    rig_expect(0, "rm -rf %s && mkdir -p %s", folder, folder);
    sample_bench_write(folder, o);
}

static void make_refine(const char *folder, const struct sample_trial *o)
{
    rig_expect(0, "rm -rf %s && mkdir -p %s", folder, folder);
    sample_refine_write(folder, o);
}

static struct tr_report *open_run(const char *folder)
{
    struct kg_err err = KG_ERR_INIT;
    struct tr_report *r = NULL;
    if (tr_report_open(folder, &r, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    return r;
}

static void page_of(struct tr_report *r, struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(out, 64u << 20);
    assert_int_equal(tr_report_html(r, "a <title>", out, &err), KG_OK);
}

static void shows(const struct kg_buf *page, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strstr(page->data, parts[i]) == NULL) {
            fail_msg("the page lacks `%s`", parts[i]);
        }
    }
}

static size_t times(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        n++;
    }
    return n;
}

/* --- what is shown --- */

static void a_bench_is_shown(void **state)
{
    (void)state;
    static const char *const parts[] = {"problems × samples × turns",
                                        "6 × 3 × 2",
                                        "Best of all turns",
                                        "Level 2: all numbers of 2 problems",
                                        "fast_p over p",
                                        "best of turns 1 to t",
                                        "pass@k, best of turns",
                                        "speed-up, geometric mean",
                                        "compile_error/syntax",
                                        "placeholder=\"search name",
                                        "href=\"#p0\"",
                                        "id=\"p0\"",
                                        "Hacks",
                                        "hack · replay",
                                        "feedback that it was shown",
                                        "class=\"ins\">+ def kernel_1",
                                        "class=\"del\">- def kernel_0",
                                        "equal lines",
                                        "6 of 18 conversations are not shown whole",
                                        "tiny-32b",
                                        "a GPU"};
    struct kg_buf page;
    make_bench("bench", &bench);
    struct tr_report *r = open_run("bench");
    page_of(r, &page);
    shows(&page, parts, sizeof parts / sizeof *parts);
    assert_null(strstr(page.data, "This run is not whole"));
    assert_int_equal(times(page.data, "<tr><td class=\"n mute\">"), 6); /* the list of problems */
    kg_buf_deinit(&page);
    tr_report_close(r);
}

static void a_price_without_a_correct_turn_has_a_dash(void **state)
{
    (void)state;
    make_bench("dear", &bench);
    rig_expect(0,
               "cd dear && jq -c '.verdict = \"wrong\" | .reason = \"value\" | .correct = false | "
               ".speedup = null' records.jsonl > r && mv r records.jsonl && $K report . && "
               "grep -q 'by the prices given; – for a correct turn' report.html");
}

static void a_refinement_is_shown(void **state)
{
    (void)state;
    static const char *const parts[] = {"best verified kernel",
                                        "3.02x",
                                        "judged again",
                                        "speed-up by round",
                                        "tokens by round",
                                        "top-w",
                                        "new best",
                                        "shrunk",
                                        "kernel_0 &lt;img",
                                        "not needed for the answer",
                                        "71.0 %",
                                        "From best to best",
                                        "Round 1 to 4",
                                        "href=\"#r13\"",
                                        "id=\"r13\"",
                                        "candidate</span>",
                                        "class=\"mark\"",
                                        "14 rounds"};
    struct kg_buf page;
    make_refine("refine", &refine);
    struct tr_report *r = open_run("refine");
    page_of(r, &page);
    shows(&page, parts, sizeof parts / sizeof *parts);
    assert_int_equal(times(page.data, "<tr class=\"best\">"), 7);
    assert_null(strstr(page.data, "conversations are not shown whole"));
    kg_buf_deinit(&page);
    tr_report_close(r);
}

/* --- what is counted --- */

/* Each problem's best turn is the largest speed of its records; turns are counted once, and of two
 * records the last counts. */
static void the_last_record_counts(void **state)
{
    (void)state;
    make_bench("twice", &bench);
    rig_expect(0, "cd twice && tail -n 1 records.jsonl | jq -c '.speedup = {ratio: 77, lo: 76, hi: "
                  "78} | .verdict = \"ok\" | .reason = null | .correct = true | .compiled = true | "
                  ".timing.status = \"measured\"' > one && sed -n '$p' records.jsonl > old && "
                  "cat one >> records.jsonl && jq -c 'select(.batch_id | endswith(\"/s1/t1\")) | "
                  ".verdict = \"ok\" | .correct = true | .compiled = true | .timing.status = "
                  "\"not_trusted\"' old records.jsonl >> untimed && cat untimed >> records.jsonl");
    struct tr_report *r = open_run("twice");
    size_t untimed = 0;
    assert_int_equal(r->n, 6 * 3 * 2);
    assert_int_equal(r->n_talk, 18);
    assert_true(r->turn[r->problem[5].best].facts.speedup == 77);
    for (size_t p = 0; p < r->n_problem; p++) {
        size_t right = 0;
        double best = 0;
        for (size_t i = 0; i < r->n; i++) {
            if (r->turn[i].problem == p && r->turn[i].facts.correct) {
                right++;
                best = fmax(best, r->turn[i].facts.speedup); /* passes by NaN: not timed */
                untimed += !isfinite(r->turn[i].facts.speedup);
            }
        }
        assert_int_equal(r->problem[p].right, right);
        assert_int_equal(r->problem[p].n, 6);
        assert_true(best == 0 || r->turn[r->problem[p].best].facts.speedup == best);
        assert_true((right == 0) == (r->problem[p].best == SIZE_MAX));
    }
    assert_true(untimed > 0);
    tr_report_close(r);
    rig_expect(0, "cd twice && cat old >> records.jsonl");
    r = open_run("twice");
    assert_true(r->turn[r->n - 1].facts.speedup != 77);
    tr_report_close(r);
}

/* The list begins with the fastest kernel. */
static void problems_are_in_order(void **state)
{
    (void)state;
    struct kg_buf page;
    make_bench("order", &bench);
    struct tr_report *r = open_run("order");
    page_of(r, &page);
    double last = 1e9;
    size_t seen = 0;
    for (const char *at = page.data; (at = strstr(at, "<tr><td class=\"n mute\">")) != NULL; at++) {
        const char *speed = strstr(at, "x <i class=\"mute\">["), *end = strstr(at, "</tr>");
        double x = -1;
        if (speed != NULL && speed < end) {
            while (speed[-1] != '>') {
                speed--;
            }
            x = strtod(speed, NULL);
        }
        assert_true(x <= last);
        last = x;
        seen++;
    }
    assert_int_equal(seen, 6);
    kg_buf_deinit(&page);
    tr_report_close(r);
}

/* --- hostile text --- */

/* The page holds no markup of a model's: no tag but its own, one script, no foreign address. */
static void is_clean(const struct kg_buf *page)
{
    assert_non_null(strstr(page->data, "&lt;script&gt;alert(2)"));
    assert_null(strstr(page->data, "<img"));
    assert_null(strstr(page->data, "onerror=\"y"));
    assert_int_equal(times(page->data, "<script"), 1);
    assert_non_null(strstr(page->data, "<script>'use strict'"));
    assert_null(strstr(page->data, "a <title>"));
    assert_null(strchr(page->data, '\x1b'));
    assert_null(strstr(page->data, "src="));
    assert_non_null(strstr(page->data, "default-src 'none'"));
    assert_null(strstr(page->data, "href=\"h"));
}

static void hostile_text_stays_text(void **state)
{
    (void)state;
    struct kg_buf page;
    struct sample_trial o = bench;
    o.name = "x\"><img src=x onerror=alert(1)>";
    make_bench("evil", &o);
    rig_expect(0, "sed -i 's/src=x/SRC=x/g' evil/*; $K report evil --out evil.html");
    rig_expect(1, "grep -q \"$(printf '\\033')\" stdout");
    struct tr_report *r = open_run("evil");
    page_of(r, &page);
    is_clean(&page);
    kg_buf_deinit(&page);
    tr_report_close(r);
    make_refine("evil", &o);
    rig_expect(0, "sed -i 's/src=x/SRC=x/g' evil/*; $K report evil --out evil.html");
    rig_expect(1, "grep -q \"$(printf '\\033')\" stdout");
    r = open_run("evil");
    page_of(r, &page);
    is_clean(&page);
    kg_buf_deinit(&page);
    tr_report_close(r);
}

/* The policy allows this script and no other. */
static void the_script_is_named_by_its_hash(void **state)
{
    (void)state;
    make_bench("hash", &(struct sample_trial){.problems = 2, .samples = 1, .turns = 1, .seed = 1});
    rig_expect(0,
               "$K report hash --out hash.html && sed -n 's/^<script>\\(.*\\)<\\/script>$/\\1/p' "
               "hash.html | tr -d '\\n' | openssl dgst -sha256 -binary | base64 > want && "
               "grep -qF \"script-src 'sha256-$(cat want)'\" hash.html");
}

/* --- files that are not whole --- */

static void a_run_under_way_has_a_report(void **state)
{
    (void)state;
    struct sample_trial o = bench;
    o.under_way = true;
    make_bench("way", &o);
    rig_expect(0, "$K report way");
    rig_shows("PARTIAL");
    rig_expect(0, "grep -q 'This run is not whole' way/report.html && grep -q 'not judged yet' "
                  "way/report.html && ! grep -q '\\[0.00, 0.00\\]' way/report.html");
    rig_expect(0, "cd way && rm trajectories.jsonl && truncate -s -40 records.jsonl && truncate -s "
                  "-40 replies.jsonl && $K report .");
    rig_shows("note: trajectories.jsonl: is not there");
    rig_expect(0,
               "cd way && $K report . > said && test $(grep -c 'records.jsonl:[0-9]' said) = 1 && "
               "grep -q 'the last line is cut off: left out' report.html");
    rig_expect(0, "cd way && rm replies.jsonl records.jsonl && $K report . && $K report . --json | "
                  "jq -e '.schema == \"kgym.bench/1\" and (.notes | length) > 2'");
    make_refine("way", &refine);
    rig_expect(0, "cd way && rm summary.json best.record.json && truncate -s -40 rounds.jsonl && "
                  "$K report . && grep -q 'under way' report.html");
    rig_shows("rounds.jsonl:14: the last line is cut off: left out");
    rig_expect(0, "cd way && rm r[eo]*.jsonl && $K report .");
    rig_shows("best: -");
}

static void lines_that_say_nothing_are_left_out(void **state)
{
    (void)state;
    make_bench("odd", &bench);
    rig_expect(
        0,
        "cd odd && $K report . --json | jq -S 'del(.notes, .lines_left_out)' > ../before && for f "
        "in replies "
        "records trajectories; do printf '%%s\\n' '[1' '{}' '{\"key\": 3, \"batch_id\": {}, "
        "\"id\": []}' '{\"key\": \"a/s0/t1\", \"batch_id\": \"/s1/t1\", \"schema\": "
        "\"kgym.record/1\", \"id\": \"x\"}' >> $f.jsonl; done; $K report .");
    rig_shows("replies.jsonl: 3 lines name no turn of the run");
    rig_shows("records.jsonl: 3 lines name no turn of the run");
    rig_shows("trajectories.jsonl: 3 lines name no turn of the run");
    rig_expect(0, "$K report odd --json | jq -S 'del(.notes, .lines_left_out)' | cmp - before");
    make_refine("odd", &refine);
    rig_expect(
        0,
        "cd odd && printf '%%s\\n' '{}' '{\"round\": \"x\", \"context\": {}, \"again\": 3, "
        "\"new_best\": true, \"key\": \"no/s1/t1\", \"speedup\": \"fast\"}' '{\"round\": "
        "9000000000000000000, \"speedup\": 1e308, \"speedup_lo\": -1e308, \"speedup_hi\": 1e308, "
        "\"tokens_in\": 1e300}' >> rounds.jsonl "
        "&& echo '[]' > best.record.json && $K report . && ! grep -q "
        "'d=\"[^\"]*nan\\|00000000000000' report.html");
    rig_shows("best.record.json: must be a JSON object");
}

/* A line of a megabyte is shown in part; texts are read again, so memory does not grow with them.
 */
static void long_replies_need_little_memory(void **state)
{
    (void)state;
    struct rusage before, after;
    struct stat st;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* freed memory is kept */
#endif
    make_bench("long", &(struct sample_trial){.problems = 4, .samples = 2, .turns = 2, .seed = 2});
    rig_expect(0, "cd long && head -c 1500000 /dev/zero | tr '\\0' '<' > text && jq -c --rawfile t "
                  "text '.text = $t' replies.jsonl > l && mv l replies.jsonl && rm text");
    getrusage(RUSAGE_SELF, &before);
    struct tr_report *r = open_run("long");
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf page;
    kg_buf_init(&page, 64u << 20);
    assert_int_equal(tr_report_html(r, "long", &page, &err), KG_OK);
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(stat("long/replies.jsonl", &st), 0);
    long more = after.ru_maxrss - before.ru_maxrss;
    print_message("%ld KB of replies, %ld KB more memory, a page of %zu KB\n",
                  (long)(st.st_size >> 10), more, page.len >> 10);
    assert_true(st.st_size > 22 << 20);
    assert_true(page.len < 4 << 20);
    assert_true(more < 16 << 10);
    kg_buf_deinit(&page);
    tr_report_close(r);
    rig_expect(0, "rm -rf long");
}

/* --- the command --- */

static void words(void **state)
{
    (void)state;
    make_bench("run", &bench);
    rig_expect(0, "$K report run --title 'T & t' --out page.html && grep -q 'T &amp; t' page.html");
    rig_shows("report: page.html");
    rig_expect(2, "$K report run --recheck 3");
    rig_says("--recheck needs a training run");
    rig_expect(2, "$K report run --out run/records.jsonl");
    rig_says("this file holds JSON");
    make_refine("run", &refine);
    rig_expect(0,
               "$K report run --json | jq -e '.kind == \"refine\" and (.rounds | length) == 14 and "
               ".summary.ending == \"turns\"'");
    rig_expect(0, "$K report run");
    rig_shows("refine KernelBench, 14 rounds");
    rig_shows("(judged again)");
    rig_shows("speed-up [95 %]      judged again\n");
    rig_expect(2, "mkdir -p other && echo '{\"kind\": \"x\"}' > other/run.json && $K report other");
    rig_says("other/run.json: kind `x` is no trial");
    rig_expect(2, "echo '[]' > other/run.json && $K report other");
    rig_says("run.json: must be a JSON object");
    rig_expect(2, "echo '[' > other/run.json && $K report other");
    rig_says("other/run.json:2:1:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bench_is_shown),
        cmocka_unit_test(a_price_without_a_correct_turn_has_a_dash),
        cmocka_unit_test(a_refinement_is_shown),
        cmocka_unit_test(the_last_record_counts),
        cmocka_unit_test(problems_are_in_order),
        cmocka_unit_test(hostile_text_stays_text),
        cmocka_unit_test(the_script_is_named_by_its_hash),
        cmocka_unit_test(a_run_under_way_has_a_report),
        cmocka_unit_test(lines_that_say_nothing_are_left_out),
        cmocka_unit_test(long_replies_need_little_memory),
        cmocka_unit_test(words),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
