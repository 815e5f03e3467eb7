/* Two runs side by side: which problems count, paired intervals, what is refused and what is said;
 * published numbers. */
#include "bench_run_rig.h"

#include "base/term.h"
#include "trial/bench/compare.h"
#include "trial/bench/published.h"

struct two {
    struct tr_bench a, b;
    struct tr_compare c;
};

static enum kg_code compare(struct two *x, size_t turn, struct kg_err *why)
{
    const struct tr_tables_options o = {.seed = 42};
    WORKS(tr_bench_read("a", &x->a, &err));
    WORKS(tr_bench_read("b", &x->b, &err));
    return tr_compare_make(&x->a, &x->b, turn, &o, &x->c, why);
}

static void leave(struct two *x)
{
    tr_compare_deinit(&x->c);
    tr_bench_deinit(&x->a);
    tr_bench_deinit(&x->b);
}

static const struct tr_compare_row *row(const struct two *x, size_t view, const char *name)
{
    for (size_t i = 0; i < x->c.rows; i++) {
        if (strcmp(x->c.table[0].view[view].row[i].name, name) == 0) {
            return &x->c.table[0].view[view].row[i];
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Four problems, four samples. B lists the problems in another order. All 256 resamples of the
 * paired differences, against those that are drawn. */
static void paired_by_problem(void **state)
{
    (void)state;
    static const int hits_a[] = {4, 0, 2, 1}, hits_b[] = {4, 1, 3, 1};
    static const char *const turned[] = {"p3", "p1", "p0", "p2"};
    static const int from[] = {3, 1, 0, 2};
    struct bench_rig g;
    struct two x;
    bench_begin(&g, "a", 4, 4, 1);
    for (int i = 0; i < 16; i++) {
        bench_turn(&g, i / 4, i % 4 + 1, 1, i % 4 < hits_a[i / 4] ? 1.5 : 0);
    }
    bench_end(&g, NULL);
    bench_begin(&g, "b", 4, 4, 1);
    g.names = turned;
    for (int i = 0; i < 16; i++) {
        bench_turn(&g, i / 4, i % 4 + 1, 1, i % 4 < hits_b[from[i / 4]] ? 1.5 : 0);
    }
    bench_end(&g, NULL);
    WORKS(compare(&x, 0, &err));
    const struct tr_compare_row *r = row(&x, 0, "correct");
    double d[4], all[256];
    for (int q = 0; q < 4; q++) {
        d[q] = (hits_b[q] - hits_a[q]) / 4.0;
    }
    for (int i = 0; i < 256; i++) {
        all[i] = (d[i & 3] + d[i >> 2 & 3] + d[i >> 4 & 3] + d[i >> 6]) / 4;
    }
    qsort(all, 256, sizeof *all, ascending);
    NEAR(r->a, .4375, 1e-12);
    NEAR(r->b, .5625, 1e-12);
    NEAR(r->difference.value, .125, 1e-12);
    NEAR(r->difference.lo, all[6], .0626);
    NEAR(r->difference.hi, all[249], .0626);
    /* the runs alone spread far more than their difference */
    assert_true(r->difference.sd < .1 && r->difference.sd > .05);
    assert_int_equal(json_array_size(x.c.warnings), 0);
    leave(&x);
}

/* Differences by problem of 0.25 standard deviation, 100 problems: found from 7 points on. */
static void planning_numbers(void **state)
{
    (void)state;
    struct bench_rig a, b;
    struct two x;
    bench_begin(&a, "a", 100, 4, 1);
    bench_begin(&b, "b", 100, 4, 1);
    for (int q = 0; q < 100; q++) {
        for (int s = 1; s <= 4; s++) {
            bench_turn(&a, q, s, 1, s <= 2 ? 1.5 : 0);
            bench_turn(&b, q, s, 1, s <= (q % 2 ? 3 : 1) ? 1.5 : 0);
        }
    }
    bench_end(&a, NULL);
    bench_end(&b, NULL);
    WORKS(compare(&x, 0, &err));
    const struct tr_compare_row *r = row(&x, 0, "fast_1.2");
    NEAR(r->difference.value, 0, 1e-12);
    NEAR(r->difference.sd, .025, .001);
    NEAR(r->detectable, .07, .0005);
    leave(&x);
}

static void geometric_means_and_turns(void **state)
{
    (void)state;
    struct bench_rig a, b;
    struct two x;
    bench_begin(&a, "a", 2, 1, 2);
    bench_begin(&b, "b", 2, 1, 2);
    for (int q = 0; q < 2; q++) {
        bench_turn(&a, q, 1, 1, 2);
        bench_turn(&a, q, 1, 2, 1);
        bench_turn(&b, q, 1, 1, 2);
        bench_turn(&b, q, 1, 2, q ? 2 : .5);
    }
    bench_end(&a, NULL);
    bench_end(&b, NULL);
    WORKS(compare(&x, 0, &err));
    assert_int_equal(x.c.turn, 2);
    assert_int_equal(x.c.table[0].views, 2);
    NEAR(row(&x, 0, "geomean")->a, 1, 1e-12);
    NEAR(row(&x, 0, "geomean")->b, 1, 1e-12);
    NEAR(row(&x, 0, "fast_1")->difference.value, .5, 1e-12);
    NEAR(row(&x, 1, "geomean")->difference.value, 0, 1e-12); /* best of 2 */
    leave(&x);
    WORKS(compare(&x, 1, &err));
    assert_int_equal(x.c.table[0].views, 1);
    NEAR(row(&x, 0, "fast_1")->difference.value, 0, 1e-12);
    leave(&x);
}

static bool warns(const struct two *x, const char *text)
{
    size_t i;
    json_t *w;
    json_array_foreach(x->c.warnings, i, w)
    {
        if (strstr(json_string_value(w), text)) {
            return true;
        }
    }
    return false;
}

static void what_is_left_out_and_said(void **state)
{
    (void)state;
    static const char *const names_a[] = {"both", "gone", "broken"};
    static const char *const names_b[] = {"both", "new", "broken"};
    struct bench_rig a, b;
    struct kg_record r;
    struct two x;
    bench_begin(&a, "a", 3, 1, 1);
    bench_begin(&b, "b", 3, 2, 1);
    a.names = names_a;
    b.names = names_b;
    bench_turn(&a, 0, 1, 1, 1.5);
    bench_error(&a, 2, 1, 1, KG_E_PROBLEM, "it is");
    bench_right(&r, 3, 2.5);
    json_object_set_new(r.environment, "device_name", json_string("NVIDIA H200"));
    bench_add_record(&b, &r, 0, 1, 1);
    bench_end(&a, "\"gym\":{\"preset\":\"default\"},\"policy\":{\"model\":\"one\"},");
    bench_end(&b, "\"gym\":{\"preset\":\"fast\"},\"policy\":{\"model\":\"two\",\"top_p\":0.9},");
    WORKS(compare(&x, 0, &err));
    assert_int_equal(x.c.table[0].problems, 1);
    assert_string_equal(json_string_value(json_array_get(x.c.left[TR_ONLY_A], 0)), "gone");
    assert_string_equal(json_string_value(json_array_get(x.c.left[TR_ONLY_B], 0)), "new");
    assert_string_equal(json_string_value(json_array_get(x.c.left[TR_DEFECTIVE], 0)), "broken");
    assert_true(warns(&x, "device differs: A was judged on Test CPU, B on NVIDIA H200"));
    assert_true(warns(&x, "gym differs: A has {\"preset\":\"default\"}"));
    assert_true(warns(&x, "samples differ: A has 1, B has 2"));
    assert_true(warns(&x, "B is partial: 1 turns"));
    assert_false(warns(&x, "A is partial"));
    assert_int_equal(json_array_size(x.c.policies), 2);
    struct kg_buf text;
    kg_buf_init(&text, 1 << 16);
    tr_compare_text(&x.c, false, &text);
    assert_non_null(strstr(text.data, "WARNING: device differs"));
    assert_non_null(strstr(text.data, "left out, only in A: 1: gone\n"));
    assert_non_null(strstr(text.data, "policy  model: A \"one\", B \"two\"\n"));
    kg_buf_deinit(&text);
    json_t *j = tr_compare_json(&x.c);
    assert_string_equal(json_string_value(json_object_get(j, "schema")), "kgym.bench-compare/1");
    assert_int_equal(json_array_size(json_object_get(json_object_get(j, "left_out"), "only_b")), 1);
    json_decref(j);
    leave(&x);
}

/* Problems of one name and other texts are others. */
static void what_is_refused(void **state)
{
    (void)state;
    struct bench_rig g;
    struct two x;
    bench_begin(&g, "a", 2, 1, 3);
    bench_end(&g, NULL);
    bench_begin(&g, "b", 2, 1, 3);
    g.text = 1;
    bench_end(&g, NULL);
    FAILS(compare(&x, 0, &err), KG_E_USAGE, "no problem in common (2 have one name");
    FAILS(tr_compare_make(&x.a, &x.b, 4, &(struct tr_tables_options){.np = 0}, &x.c, &err),
          KG_E_USAGE, "--turn 4: a has 3 turns");
    leave(&x);
    bench_begin(&g, "b", 2, 1, 1);
    bench_end(&g, NULL);
    FAILS(compare(&x, 0, &err), KG_E_USAGE, "the turns differ, 3 in a and 1 in b");
    leave(&x);
    WORKS(compare(&x, 1, &err));
    assert_true(warns(&x, "turns differ: A has 3, B has 1; compared at turn 1"));
    leave(&x);
}

static void published(void **state)
{
    (void)state;
    static const int level[] = {1, 2};
    struct bench_rig g;
    struct bench_read x;
    struct kg_buf text;
    size_t n;
    const struct tr_published *all = tr_published(&n);
    for (size_t i = 0; i < n; i++) { /* a threshold that is higher is met less often */
        for (int l = 0; l < TR_PUBLISHED_LEVELS; l++) {
            for (int p = 1; p < TR_PUBLISHED_P; p++) {
                assert_true(all[i].fast[l][p] <= all[i].fast[l][p - 1]);
            }
        }
    }
    bench_begin(&g, "run", 2, 1, 1);
    g.level = level;
    bench_turn(&g, 0, 1, 1, 1.3);
    bench_end(&g, NULL);
    bench_open(&x, "run", NULL, 0);
    kg_buf_init(&text, 1 << 16);
    tr_published_text(&x.tables, false, &text);
    assert_non_null(
        strstr(text.data, "this run, last turn             100.0      100.0        0.0"));
    assert_non_null(strstr(text.data, "samples: 1, not 8"));
    assert_non_null(strstr(text.data, "device: Test CPU"));
    assert_non_null(strstr(text.data, "it is partial"));
    assert_non_null(strstr(text.data, "level 2"));
    assert_null(strstr(text.data, "level 3"));
    for (char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        assert_true(kg_term_columns(line) <= 80);
    }
    json_object_set_new(json_object_get(x.bench.run, "suite"), "kernelbench", json_false());
    kg_buf_reset(&text);
    tr_published_text(&x.tables, false, &text);
    assert_non_null(strstr(text.data, "other problems than KernelBench's"));
    assert_null(strstr(text.data, "this run, last turn"));
    kg_buf_reset(&text);
    tr_published_text(NULL, false, &text);
    assert_non_null(strstr(text.data, "level 3"));
    kg_buf_deinit(&text);
    bench_close(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paired_by_problem, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(planning_numbers, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(geometric_means_and_turns, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(what_is_left_out_and_said, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(what_is_refused, kb_enter, kb_leave),
        cmocka_unit_test_setup_teardown(published, kb_enter, kb_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
