/* The tables of a run of `kgym bench`: published examples, the same numbers by enumeration, what
 * counts as a failure, and what is printed. */
#include "bench_run_rig.h"

#include "base/term.h"

static void EX_8_1_pass_at_k(void **state)
{
    (void)state;
    static const int right[] = {1, 3, 6, 0}, level[] = {1, 2, 3, 4};
    static const double want[4][4] = {
        {.125, .25, .5, 1}, {.375, .642857, .928571, 1}, {.75, .964286, 1, 1}, {0, 0, 0, 0}};
    struct bench_rig g;
    struct bench_read x;
    bench_begin(&g, "run", 4, 8, 1);
    g.level = level;
    for (int q = 0; q < 4; q++) {
        for (int s = 1; s <= 8; s++) {
            bench_turn(&g, q, s, 1, s <= right[q] ? 1.1 : 0);
        }
    }
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    assert_int_equal(x.tables.n, 5); /* all, and each level */
    assert_int_equal(x.tables.nk, 4);
    for (int q = 0; q < 4; q++) {
        assert_int_equal(x.tables.table[1 + q].level, level[q]);
        for (int j = 0; j < 4; j++) {
            NEAR(x.tables.table[1 + q].last[0].x[j].value, want[q][j], 1e-6);
            NEAR(x.tables.table[1 + q].last[1].x[j].value, want[q][j], 1e-6); /* fast_1 */
            NEAR(x.tables.table[1 + q].last[2].x[j].value, 0, 0);             /* fast_1.2 */
        }
    }
    NEAR(x.tables.table[0].last[0].x[1].value, (.25 + .642857 + .964286) / 4, 1e-6);
    struct kg_buf text;
    kg_buf_init(&text, 1 << 16);
    tr_tables_text(&x.tables, false, &text);
    const char *last = strstr(text.data, "\nlevel "), *all = strstr(text.data, "\nall, 4 problems");
    assert_true(last != NULL && all > last); /* a terminal shows the end */
    assert_null(strstr(all, "\nlevel "));
    kg_buf_deinit(&text);
    bench_close(&x);
}

static void EX_8_2_speeds(void **state)
{
    (void)state;
    static const double s[] = {.8, 1.0, 1.01, 1.3, 2.08, 7.5, 0, 0}, more[] = {3, 1.2};
    struct bench_rig g;
    struct bench_read x;
    bench_begin(&g, "run", 1, 8, 1);
    for (int i = 0; i < 8; i++) {
        bench_turn(&g, 0, i + 1, 1, s[i]);
    }
    bench_end(&g, NULL);
    bench_open(&x, "run", more, 2);
    assert_int_equal(x.tables.np, 5);
    NEAR(bench_value(&x, 0, "last", "fast_1"), .5, 1e-12); /* 1.0 itself is not above 1 */
    NEAR(bench_value(&x, 0, "last", "fast_1.2"), .375, 1e-12);
    NEAR(bench_value(&x, 0, "last", "fast_1.5"), .25, 1e-12);
    NEAR(bench_value(&x, 0, "last", "fast_2"), .25, 1e-12);
    NEAR(bench_value(&x, 0, "last", "fast_3"), .125, 1e-12);
    NEAR(bench_value(&x, 0, "last", "fast_1_lo"), .375, 1e-12); /* 1.01 is surely above .909 */
    NEAR(bench_value(&x, 0, "last", "geomean"), 1.5937, 1e-4);
    NEAR(bench_value(&x, 0, "last", "median"), 1.155, 1e-12);
    NEAR(bench_value(&x, 0, "last", "geo_floor1"), 1.4586, 1e-4);
    NEAR(bench_value(&x, 0, "last", "correct"), .75, 1e-12);
    assert_true(isnan(bench_row(&x, 0, "last", "correct")->x.lo)); /* one problem has no spread */
    assert_true(isnan(bench_row(&x, 0, "last", "median")->x.lo));
    bench_close(&x);
}

static void three(const char *folder)
{
    static const double s[3][3] = {{0, 1.04, 1.21}, {1.3, 0, 1.1}, {0, 0, 0}};
    struct bench_rig g;
    bench_begin(&g, folder, 3, 1, 3);
    for (int q = 0; q < 3; q++) {
        for (int t = 0; t < 3; t++) {
            bench_turn(&g, q, 1, t + 1, s[q][t]);
        }
    }
    bench_end(&g, NULL);
}

static void EX_8_3_by_turn_and_best(void **state)
{
    (void)state;
    static const char *const view[] = {"turn 1", "turn 2", "last", "best of 2", "best of 3"};
    static const double fast_1[] = {1, 1, 2, 2, 2}, fast_12[] = {1, 0, 1, 1, 2};
    struct bench_read x;
    three("run");
    bench_open(&x, "run", NULL, 0);
    assert_int_equal(x.tables.table[0].views, 5);
    for (int i = 0; i < 5; i++) {
        NEAR(bench_value(&x, 0, view[i], "fast_1"), fast_1[i] / 3, 1e-12);
        NEAR(bench_value(&x, 0, view[i], "fast_1.2"), fast_12[i] / 3, 1e-12);
    }
    NEAR(x.tables.table[0].last[1].x[0].value, 2.0 / 3, 1e-12);
    NEAR(x.tables.table[0].best[2].x[0].value, 2.0 / 3, 1e-12);
    bench_close(&x);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All 256 resamples of four problems, each with its samples, against the 10 000 that are drawn. */
static void EX_8_4_the_problem_is_the_unit(void **state)
{
    (void)state;
    static const int hits[] = {4, 0, 2, 1};
    double m[4], all[256];
    struct bench_rig g;
    struct bench_read x;
    bench_begin(&g, "run", 4, 4, 1);
    g.of = 16;
    for (int q = 0; q < 4; q++) {
        m[q] = hits[q] / 4.0;
        for (int s = 1; s <= 4; s++) {
            bench_turn(&g, q, s, 1, s <= hits[q] ? 1.5 : 0);
        }
    }
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    for (int i = 0; i < 256; i++) {
        all[i] = (m[i & 3] + m[i >> 2 & 3] + m[i >> 4 & 3] + m[i >> 6]) / 4;
    }
    qsort(all, 256, sizeof *all, ascending);
    const struct tr_row *row = bench_row(&x, 0, "last", "correct");
    NEAR(row->x.value, .4375, 1e-12);
    NEAR(row->x.sd, .184877, .004);
    NEAR(row->x.lo, all[6], .0626); /* one step of the sixteenths */
    NEAR(row->x.hi, all[249], .0626);
    /* 4 of 16 problems: the standard error of all 16 is half of it, twice 1.96 of it the width */
    NEAR(row->half_full, 1.959964 * .213478 / 2, 1e-5);
    assert_true(isnan(bench_row(&x, 0, "last", "geomean")->half_full));
    bench_close(&x);
}

/* Whether any of the samples of `set` is above p; p below 0: correct. */
static bool any(const double *s, unsigned set, double p)
{
    for (int i = 0; i < 6; i++) {
        if ((set >> i & 1) && (p < 0 ? s[i] > 0 : s[i] > p)) {
            return true;
        }
    }
    return false;
}

static double enumerated(const double s[3][6], int k, double p)
{
    double sum = 0;
    for (int q = 0; q < 3; q++) {
        int sets = 0, good = 0;
        for (unsigned set = 0; set < 64; set++) {
            if (__builtin_popcount(set) == k) {
                sets++;
                good += any(s[q], set, p);
            }
        }
        sum += (double)good / sets;
    }
    return sum / 3;
}

static void pass_at_k_is_that_of_all_sets_of_k(void **state)
{
    (void)state;
    static const double s[3][6] = {
        {0, 1.1, 0, 1.3, 0, .7}, {2.5, 0, 0, 0, 0, 0}, {.9, .9, 1, 1.6, 1.7, 0}};
    struct bench_rig g;
    struct bench_read x;
    bench_begin(&g, "run", 3, 6, 1);
    for (int i = 0; i < 18; i++) {
        bench_turn(&g, i / 6, i % 6 + 1, 1, s[i / 6][i % 6]);
    }
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    static const int k[] = {1, 2, 4, 6};
    assert_int_equal(x.tables.nk, 4);
    for (size_t i = 0; i <= x.tables.np; i++) {
        const struct tr_pass *pass = &x.tables.table[0].last[i];
        for (int j = 0; j < 4; j++) {
            assert_int_equal(x.tables.k[j], k[j]);
            NEAR(pass->x[j].value, enumerated(s, k[j], pass->p), 1e-12);
            assert_true(pass->x[j].lo <= pass->x[j].value && pass->x[j].hi >= pass->x[j].value);
        }
    }
    /* the curve is fast_p at each p */
    const struct tr_curve *c = &x.tables.curve;
    NEAR(c->p[0], .5, 0);
    NEAR(c->p[c->n - 1], 4, 1e-12);
    for (size_t i = 0; i < c->n; i++) {
        NEAR(c->last[i].value, enumerated(s, 1, c->p[i]), 1e-12);
    }
    bench_close(&x);
}

/* --- what counts --- */

static void missing_turns_are_failures(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    bench_begin(&g, "run", 2, 2, 2);
    bench_turn(&g, 0, 1, 1, 1.5);
    bench_turn(&g, 0, 1, 2, 1.5);
    bench_turn(&g, 0, 2, 1, 1.5); /* no room for a second turn */
    bench_ended(&g, 0, 2, "full");
    bench_turn(&g, 1, 1, 1, 1.5);
    bench_error(&g, 1, 1, 2, KG_E_GYM, "a worker died");
    bench_reply(&g, 1, 2, 1, 10, 5, "length"); /* not judged yet */
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    const struct tr_counts_of_turns *c = &x.tables.counts;
    NEAR(bench_value(&x, 0, "last", "correct"), .25, 1e-12);
    NEAR(bench_value(&x, 0, "turn 1", "correct"), .75, 1e-12);
    NEAR(bench_value(&x, 0, "best of 2", "correct"), .75, 1e-12);
    assert_true(x.tables.partial);
    assert_int_equal(c->turns, 8);
    assert_int_equal(c->replied, 6);
    assert_int_equal(c->judged, 4);
    assert_int_equal(c->no_verdict, 2);
    assert_int_equal(c->missing, 1); /* the conversation that is full has no further one */
    assert_int_equal(c->cut, 1);
    assert_int_equal(c->full, 1);
    struct kg_buf text;
    kg_buf_init(&text, 1 << 16);
    tr_tables_text(&x.tables, false, &text);
    assert_non_null(strstr(text.data, "PARTIAL: of 8 turns 2 have no verdict and 1 no reply yet;"));
    assert_non_null(strstr(text.data, "NO ROOM: 1 of 8 turns did not fit"));
    kg_buf_deinit(&text);
    bench_close(&x);
}

static void a_record_that_is_judged_again_counts(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    bench_begin(&g, "run", 1, 1, 1);
    bench_error(&g, 0, 1, 1, KG_E_HOST, "busy");
    struct kg_record r;
    bench_right(&r, 1.25, 1.2);
    bench_add_record(&g, &r, 0, 1, 1);
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    assert_false(x.tables.partial);
    NEAR(bench_value(&x, 0, "last", "fast_1.2"), 1, 0);
    NEAR(bench_value(&x, 0, "last", "fast_1.2_lo"), 0, 0); /* its lower end is 1.2, not above */
    bench_close(&x);
}

static void defective_problems_are_left_out_and_named(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    struct kg_buf text;
    bench_begin(&g, "run", 3, 1, 1);
    bench_turn(&g, 0, 1, 1, 1.5);
    bench_error(&g, 1, 1, 1, KG_E_PROBLEM, "its \033[31mreference does not compile");
    bench_turn(&g, 2, 1, 1, 0);
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    NEAR(bench_value(&x, 0, "last", "correct"), .5, 1e-12);
    assert_int_equal(x.tables.counts.defects, 1);
    assert_int_equal(x.tables.counts.turns, 2);
    assert_int_equal(x.tables.tokens_in, 30); /* but they were paid for */
    kg_buf_init(&text, 1 << 16);
    tr_tables_text(&x.tables, false, &text);
    assert_non_null(strstr(text.data, "left out as defective: p1: its "));
    assert_null(strchr(text.data, '\033'));
    json_t *j = tr_tables_json(&x.tables);
    const json_t *defect = json_array_get(json_object_get(j, "defects"), 0);
    assert_string_equal(json_string_value(json_object_get(defect, "problem")), "p1");
    json_decref(j);
    kg_buf_deinit(&text);
    bench_close(&x);
}

static void all_problems_defective(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    struct kg_buf text;
    bench_begin(&g, "run", 1, 1, 1);
    bench_error(&g, 0, 1, 1, KG_E_PROBLEM, "broken");
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    assert_int_equal(x.tables.n, 0);
    kg_buf_init(&text, 1 << 16);
    tr_tables_text(&x.tables, true, &text);
    assert_non_null(strstr(text.data, "no table"));
    json_t *j = tr_tables_json(&x.tables);
    assert_int_equal(json_array_size(json_object_get(j, "tables")), 0);
    json_decref(j);
    kg_buf_deinit(&text);
    bench_close(&x);
}

static void rates_by_verdict(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    struct kg_record r;
    bench_begin(&g, "run", 1, 8, 1);
    bench_verdict(&g, 0, 1, 1, KG_V_NO_CODE, "empty");
    bench_verdict(&g, 0, 2, 1, KG_V_REJECTED, "libc.call");
    bench_verdict(&g, 0, 3, 1, KG_V_COMPILE_ERROR, "syntax");
    bench_verdict(&g, 0, 4, 1, KG_V_HACK, "replay");
    bench_turn(&g, 0, 5, 1, 0);
    bench_right(&r, 1.5, 1.4);
    r.coverage = .25;
    bench_add_record(&g, &r, 0, 6, 1);
    bench_right(&r, 2, 1.9); /* a framework's compiler wrote it: not correct, right values */
    r.league.eligible = false;
    bench_add_record(&g, &r, 0, 7, 1);
    bench_right(&r, 3, 2.9); /* right, and its time is not trusted */
    r.timing.status = KG_T_NOT_TRUSTED;
    r.coverage = .75;
    bench_add_record(&g, &r, 0, 8, 1);
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    NEAR(bench_value(&x, 0, "last", "valid"), 6 / 8.0, 1e-12);
    NEAR(bench_value(&x, 0, "last", "compiled"), 5 / 8.0, 1e-12);
    NEAR(bench_value(&x, 0, "last", "correct"), 2 / 8.0, 1e-12);
    NEAR(bench_value(&x, 0, "last", "fast_1"), 1 / 8.0, 1e-12);
    NEAR(bench_value(&x, 0, "last", "hack"), 2 / 4.0, 1e-12);
    NEAR(bench_value(&x, 0, "last", "coverage"), .5, 1e-12);
    assert_int_equal(x.tables.table[0].correct, 2);
    assert_int_equal(x.tables.table[0].timed, 1);
    assert_int_equal(x.tables.counts.untimed, 1);
    assert_int_equal(x.tables.counts.hacks, 1);
    struct kg_buf text;
    kg_buf_init(&text, 1 << 16);
    tr_tables_text(&x.tables, false, &text);
    assert_non_null(strstr(text.data, "NO SPEED: 1 of 2 correct replies"));
    kg_buf_deinit(&text);
    bench_close(&x);
}

static void errors_of_the_candidate_are_failures(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    struct kg_record r;
    struct kg_err fault = KG_ERR_INIT;
    bench_begin(&g, "run", 1, 1, 1);
    bench_reply(&g, 0, 1, 1, 10, 5, "stop");
    kg_record_init(&r);
    (void)!kg_fail(&fault, KG_E_NEEDS_GPU, "no device");
    fault.blame = KG_BLAME_CANDIDATE;
    kg_record_error(&r, &fault);
    bench_add_record(&g, &r, 0, 1, 1);
    bench_end(&g, NULL);
    WORKS(tr_bench_read("run", &x.bench, &err));
    const struct tr_facts *f = &x.bench.turn[0].facts;
    assert_int_equal(f->state, TR_FACT_JUDGED);
    assert_string_equal(f->verdict, "needs_gpu");
    assert_false(f->correct || f->compiled);
    tr_bench_deinit(&x.bench);
}

static void cost_of_a_correct_kernel(void **state)
{
    (void)state;
    struct bench_rig g;
    struct bench_read x;
    bench_begin(&g, "run", 2, 1, 2); /* each turn: 10 tokens in, 5 out */
    g.price_in = 1e5;
    g.price_out = 2e5;
    bench_turn(&g, 0, 1, 1, 0);
    bench_turn(&g, 0, 1, 2, 1.5);
    bench_turn(&g, 1, 1, 1, 0);
    bench_turn(&g, 1, 1, 2, 0);
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    NEAR(bench_value(&x, 0, "last", "tokens_per_correct"), 60, 1e-9);
    NEAR(bench_value(&x, 0, "last", "money_per_correct"), 40 * .1 + 20 * .2, 1e-9);
    assert_true(isnan(bench_value(&x, 0, "turn 1", "tokens_per_correct")));
    NEAR(x.tables.money, 8, 1e-9);
    bench_close(&x);
}

/* --- the size of intervals --- */

/* 100 problems, 8 samples; solved [9]: how many problems have so many samples right. */
static void plan(const int *solved, struct bench_read *x)
{
    struct bench_rig g;
    int q = 0;
    bench_begin(&g, "run", 100, 8, 1);
    for (int hits = 0; hits <= 8; hits++) {
        for (int i = 0; i < solved[hits]; i++, q++) {
            for (int s = 1; s <= 8; s++) {
                bench_turn(&g, q, s, 1, s <= hits ? 1.5 : 0);
            }
        }
    }
    assert_int_equal(q, 100);
    bench_end(&g, NULL);
    bench_open(x, "run", NULL, 0);
}

/* At a rate of .2 the published standard errors are .0141 where samples are independent (here in
 * binomial numbers) and .0400 where all samples of a problem go alike. */
static void planning_numbers(void **state)
{
    (void)state;
    static const int independent[9] = {17, 34, 29, 15, 4, 1}, alike[9] = {[0] = 80, [8] = 20};
    struct bench_read x;
    plan(independent, &x);
    NEAR(bench_value(&x, 0, "last", "fast_1"), .2, .003);
    NEAR(bench_row(&x, 0, "last", "fast_1")->x.sd, .0141, .0007);
    bench_close(&x);
    plan(alike, &x);
    const struct tr_row *row = bench_row(&x, 0, "last", "fast_1");
    NEAR(row->x.value, .2, 1e-12);
    NEAR(row->x.sd, .04, .002);
    NEAR(row->x.hi - row->x.lo, 2 * 1.96 * .04, .012);
    assert_true(isnan(row->half_full)); /* it is the whole suite */
    bench_close(&x);
}

/* --- what is printed --- */

static void summary_and_text(void **state)
{
    (void)state;
    struct bench_read x;
    struct kg_buf text;
    three("run");
    bench_open(&x, "run", NULL, 0);
    json_t *j = tr_tables_json(&x.tables), *view;
    size_t i;
    assert_string_equal(json_string_value(json_object_get(j, "schema")), "kgym.bench/1");
    const json_t *table = json_array_get(json_object_get(j, "tables"), 0);
    assert_true(json_is_null(json_object_get(table, "level")));
    json_array_foreach(json_object_get(table, "views"), i, view)
    {
        const char *name = json_string_value(json_object_get(view, "name"));
        const json_t *fast = json_object_get(json_object_get(view, "rows"), "fast_1");
        const struct tr_row *row = bench_row(&x, 0, name, "fast_1");
        NEAR(json_real_value(json_array_get(fast, 0)), row->x.value, 0);
        NEAR(json_real_value(json_array_get(fast, 1)), row->x.lo, 0);
        NEAR(json_real_value(json_array_get(fast, 2)), row->x.hi, 0);
    }
    assert_int_equal(json_array_size(json_object_get(table, "pass")), 1 + x.tables.np);
    json_decref(j);
    kg_buf_init(&text, 1 << 16);
    tr_tables_text(&x.tables, false, &text);
    for (char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (kg_term_columns(line) > 80) {
            fail_msg("more than 80 columns: %s", line);
        }
        *end = '\n';
    }
    assert_non_null(strstr(text.data, "hand: 3 problems x 1 sample x 3 turns\n"));
    assert_non_null(strstr(text.data, "best of 3"));
    kg_buf_deinit(&text);
    bench_close(&x);
}

static void thresholds(void **state)
{
    (void)state;
    double p[TR_MORE_P];
    size_t n;
    WORKS(tr_tables_parse_p("1,1.1,3", p, &n, &err));
    assert_int_equal(n, 3);
    NEAR(p[1], 1.1, 0);
    FAILS(tr_tables_parse_p("1,,3", p, &n, &err), KG_E_USAGE, "--p");
    FAILS(tr_tables_parse_p("1,x", p, &n, &err), KG_E_USAGE, "`x`");
    FAILS(tr_tables_parse_p("nan", p, &n, &err), KG_E_USAGE, "--p");
    FAILS(tr_tables_parse_p("0", p, &n, &err), KG_E_USAGE, "--p");
    FAILS(tr_tables_parse_p("3,4,5,6,7,8,9,10,11,12,13,14,15", p, &n, &err), KG_E_USAGE,
          "more than 12");
    WORKS(tr_tables_parse_p("3,4,5,6,7,8,9,10,11,12,13,14", p, &n, &err));
    struct bench_read x;
    three("many"); /* all that are taken have their rows */
    bench_open(&x, "many", p, n);
    assert_int_equal(x.tables.np, TR_MOST_P);
    bench_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(EX_8_1_pass_at_k, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(EX_8_2_speeds, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(EX_8_3_by_turn_and_best, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(EX_8_4_the_problem_is_the_unit, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(pass_at_k_is_that_of_all_sets_of_k, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(missing_turns_are_failures, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(a_record_that_is_judged_again_counts, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(defective_problems_are_left_out_and_named, kb_enter,
                                        kb_leave),
        cmocka_unit_test_setup_teardown(all_problems_defective, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(rates_by_verdict, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(errors_of_the_candidate_are_failures, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(cost_of_a_correct_kernel, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(planning_numbers, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(summary_and_text, kb_enter, kb_leave),
        cmocka_unit_test(thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
