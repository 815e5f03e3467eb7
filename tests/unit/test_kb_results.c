/* KernelBench's result files: rounding, pass@k against the binomials, records to entries (the
 * golden files are worked out by hand), malformed results and baselines by file and key, metrics.
 */
#include "kb_rig.h"

#include "base/rng.h"
#include "gym/kernelbench/analysis.h"
#include "gym/kernelbench/kb_stats.h"
#include "tests/support/records.h"

static void three_digits_as_python_rounds(void **state)
{
    (void)state;
    static const struct {
        double in, out;
    } golden[] = {{1.23456, 1.23},  {0.00123456, 0.00123}, {1235.0, 1240.0},
                  {1225.0, 1220.0}, {999.6, 1000},         {0, 0},
                  {-1, -1},         {0.125, 0.125},        {2.675, 2.67},
                  {99999999, 1e8},  {1e-9, 1e-9}};
    for (size_t i = 0; i < N(golden); i++) {
        NEAR(kg_kb_round3(golden[i].in), golden[i].out, 0);
    }
    assert_true(isnan(kg_kb_round3(NAN)) && isinf(kg_kb_round3(INFINITY)));
}

static void times_as_numpy_sums_them_up(void **state)
{
    (void)state;
    const int64_t ns[] = {1234567, 1240001, 1229999, 1310000};
    struct kg_kb_stats s = kg_kb_stats_of(ns, N(ns));
    NEAR(s.mean, 1253641.75, 0);
    NEAR(s.std, 32730.52137818003, 1e-7);
    NEAR(s.min, 1229999, 0);
    NEAR(s.max, 1310000, 0);
    s = kg_kb_stats_of(ns, 1);
    NEAR(s.std, 0, 0);
    assert_true(isnan(kg_kb_stats_of(NULL, 0).mean));
}

/* C(n, k) exactly, n <= 30. */
static double binomial(int n, int k)
{
    uint64_t c = 1;
    if (k > n) {
        return 0;
    }
    for (int i = 1; i <= k; i++) {
        c = c * (uint64_t)(n - k + i) / (uint64_t)i;
    }
    return (double)c;
}

static void pass_at_k_is_the_combinatorial_one(void **state)
{
    (void)state;
    for (int n = 1; n <= 30; n++) {
        for (int c = 0; c <= n; c++) {
            double last = 0;
            for (int k = 1; k <= n; k++) {
                double got = kg_kb_pass_at_k(n, c, k);
                NEAR(got, 1 - binomial(n - c, k) / binomial(n, k), 1e-12);
                assert_true(got >= last && got <= 1); /* more samples never hurt */
                last = got;
            }
        }
    }
    NEAR(kg_kb_pass_at_k(4, 1, 1), 0.25, 1e-15);
    NEAR(kg_kb_pass_at_k(5, 2, 3), 0.9, 1e-15);
    NEAR(kg_kb_pass_at_k(100000, 1, 1), 1e-5, 1e-12);
    assert_true(isnan(kg_kb_pass_at_k(3, 4, 1)) && isnan(kg_kb_pass_at_k(3, -1, 1)));
    assert_true(isnan(kg_kb_pass_at_k(3, 1, 4)) && isnan(kg_kb_pass_at_k(3, 1, 0)));
}

static void record_of(struct kg_record *r, enum sample_kind kind)
{
    sample_record(r, kind, 1);
    json_object_set_new(r->environment, "cpu", json_string("a CPU"));
}

/* Two processes, four windows of 1.25364175 ms in the mean. */
static void timed_record(struct kg_record *r)
{
    static const int64_t ns[] = {1234567, 1240001, 1229999, 1310000};
    record_of(r, SAMPLE_OK);
    json_decref(r->timing.samples);
    r->timing.samples = json_array();
    for (int p = 0; p < 2; p++) {
        json_array_append_new(r->timing.samples,
                              json_pack("{s:i, s:[i,i], s:[I,I]}", "process", p, "reference_ns", 1,
                                        1, "candidate_ns", (json_int_t)ns[2 * p],
                                        (json_int_t)ns[2 * p + 1]));
    }
    r->timing.candidate_ns = 1237284;
    r->timing.reference_ns = 2500000;
    r->speedup.ratio = 2.0;
    r->speedup.lo = 1.5;
    r->speedup.hi = 2.5;
    json_object_set_new(r->environment, "device", json_string("cuda:0"));
    json_object_set_new(r->environment, "device_name", json_string("a GPU"));
}

static void records_become_entries(void **state)
{
    (void)state;
    static const enum sample_kind kinds[] = {
        SAMPLE_OK_UNTIMED,    SAMPLE_NO_CODE, SAMPLE_COMPILE_ERROR, SAMPLE_CRASH,   SAMPLE_TIMEOUT,
        SAMPLE_OUT_OF_MEMORY, SAMPLE_WRONG,   SAMPLE_HACK,          SAMPLE_REJECTED};
    struct kg_kb_problem problem = {
        .id = 2, .name = "2_x.py", .hash = "0123456789abcdef0123456789abcdef"};
    struct kg_record r;
    json_t *all = json_object();
    timed_record(&r);
    assert_true(kg_kb_is_result(&r));
    kg_kb_results_add(all, 2, kg_kb_result_json(&r, &(struct kg_kb_kernel){1, 2, 0}, &problem));
    kg_record_deinit(&r);
    for (size_t i = 0; i < N(kinds); i++) {
        record_of(&r, kinds[i]);
        kg_kb_results_add(all, 10,
                          kg_kb_result_json(&r, &(struct kg_kb_kernel){1, 10, (int)i}, NULL));
        kg_record_deinit(&r);
    }
    kb_golden(all, "eval_results.json");
    record_of(&r, SAMPLE_ERROR);
    assert_false(kg_kb_is_result(&r));
    kg_record_deinit(&r);
    record_of(&r, SAMPLE_STOPPED);
    assert_false(kg_kb_is_result(&r));
    kg_record_deinit(&r);
}

/* A time that is not trusted, or a wrong answer's, is no time. */
static void only_what_was_measured_is_a_time(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct kg_record r;
        timed_record(&r);
        if (i == 0) {
            r.timing.status = KG_T_NOT_TRUSTED;
        } else if (i == 1) {
            r.verdict = KG_V_WRONG;
            r.reason = "value";
        } else if (i == 2) {
            r.verdict = KG_V_HACK;
            r.reason = "floor";
        } else { /* the mean is unknown: the median */
            json_decref(r.timing.samples);
            r.timing.samples = NULL;
        }
        json_t *j = kg_kb_result_json(&r, &(struct kg_kb_kernel){1, 1, 0}, NULL);
        NEAR(json_number_value(json_object_get(j, "runtime")), i == 3 ? 1.24 : -1.0, 0);
        assert_int_equal(json_object_size(json_object_get(j, "runtime_stats")), 0);
        json_decref(j);
        kg_record_deinit(&r);
    }
}

/* By that project's own procedure the timed process is believed: its files hold what it says. */
static void claims_are_times_there(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        struct kg_record r;
        timed_record(&r);
        json_decref(r.timing.samples);
        r.timing.samples = NULL;
        r.timing.status = KG_T_NOT_TRUSTED;
        r.timing.preset = "kernelbench";
        r.timing.candidate_ns = r.timing.reference_ns = -1;
        r.timing.claims =
            json_pack("{s:i, s:i, s:i, s:{s:i, s:i, s:i, s:i}, s:{s:i, s:i, s:i, s:i}}", "trials",
                      100, "warmups", 3, "discarded", 1, "candidate", "mean_ns", 123456, "std_ns",
                      2345, "min_ns", 120001, "max_ns", 150009, "reference", "mean_ns", 1300000,
                      "std_ns", 1, "min_ns", 1, "max_ns", 1);
        r.speedup.ratio = 10.53;
        r.speedup.lo = r.speedup.hi = NAN;
        kg_record_evidence(&r, "trials",
                           json_pack("{s:i, s:i, s:[b,b,b], s:[f,f,n], s:[f,f,n]}", "planned", 3,
                                     "passed", 1, "close", 1, 0, 0, "max_difference", 0.5, 0.25,
                                     "mean_difference", 0.5, 0.0000004));
        if (wrong) {
            r.verdict = KG_V_WRONG;
            r.reason = "value";
        }
        json_t *j = kg_kb_result_json(&r, &(struct kg_kb_kernel){1, 1, 0}, NULL);
        json_t *want = kb_json("{\"mean\": 0.123, \"std\": 0.00234, \"min\": 0.12, \"max\": 0.15,"
                               "\"num_trials\": 100, \"hardware\": \"a GPU\","
                               "\"device\": \"cuda:0\"}");
        json_t *metadata = json_object_get(j, "metadata"),
               *kgym = json_object_get(metadata, "kgym");
        NEAR(json_number_value(json_object_get(j, "runtime")), wrong ? -1.0 : 0.123, 0);
        if (wrong) {
            assert_int_equal(json_object_size(json_object_get(j, "runtime_stats")), 0);
            assert_null(json_object_get(metadata, "excessive_speedup"));
        } else {
            kb_same(json_object_get(j, "runtime_stats"), want, "runtime_stats");
            NEAR(json_number_value(json_object_get(kgym, "runtime_ns")), 123456, 0);
            NEAR(json_number_value(json_object_get(kgym, "reference_mean_ns")), 1300000, 0);
            assert_true(json_is_true(json_object_get(metadata, "excessive_speedup")));
            r.speedup.ratio = 10; /* ten times is not more than ten times */
            json_t *ten = kg_kb_result_json(&r, &(struct kg_kb_kernel){1, 1, 0}, NULL);
            assert_null(json_object_get(json_object_get(ten, "metadata"), "excessive_speedup"));
            json_decref(ten);
        }
        assert_string_equal(json_string_value(json_object_get(metadata, "correctness_trials")),
                            "(1 / 3)");
        json_t *max = json_object_get(metadata, "max_difference");
        json_t *avg = json_object_get(metadata, "avg_difference");
        assert_int_equal(json_array_size(max), 2); /* of those that failed */
        assert_string_equal(json_string_value(json_array_get(max, 0)), "0.250000");
        assert_string_equal(json_string_value(json_array_get(max, 1)), "nan");
        assert_string_equal(json_string_value(json_array_get(avg, 0)), "0.000000");
        json_decref(want);
        json_decref(j);
        kg_record_deinit(&r);
    }
}

#define ENTRY(sample, compiled, correct, runtime)                                                  \
    "{\"sample_id\": " sample ", \"compiled\": " compiled ", \"correctness\": " correct            \
    ", \"metadata\": {}, \"runtime\": " runtime ", \"runtime_stats\": {}, \"more\": 1}"
#define GOOD ENTRY("0", "true", "true", "1.5")

static void malformed_results_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } table[] = {
        {"[]", "F: an object keyed by problem ids is needed"},
        {"{\"x\": []}", "F: `x`: not a problem's id"},
        {"{\"01\": []}", "F: `01`: not a problem's id"},
        {"{\"1\": {}}", "F: 1: a list of samples is needed"},
        {"{\"1\": [3]}", "F: 1[0]: an object is needed"},
        {"{\"1\": [" GOOD ", {}]}", "F: 1[1].sample_id: a number from 0 is needed"},
        {"{\"1\": [" ENTRY("-1", "true", "true", "1") "]}", "F: 1[0].sample_id"},
        {"{\"1\": [" ENTRY("0.0", "true", "true", "1") "]}", "F: 1[0].sample_id"},
        {"{\"1\": [" ENTRY("0", "1", "true", "1") "]}", "F: 1[0].compiled: true or false"},
        {"{\"1\": [" ENTRY("0", "true", "null", "1") "]}", "F: 1[0].correctness: true or false"},
        {"{\"7\": [" ENTRY("0", "true", "true", "\"1\"") "]}", "F: 7[0].runtime: a number"},
        {"{\"7\": [" ENTRY("0", "true", "true", "1e-320") "]}", "F: 7[0].runtime: a number"},
        {"{\"1\": [" GOOD "," GOOD "]}", "F: 1: two entries of sample_id 0"},
        {"{\"1\": [{\"sample_id\": 0, \"compiled\": true, \"correctness\": true, \"runtime\": 1, "
         "\"runtime_stats\": {}}]}",
         "F: 1[0].metadata: an object is needed"},
        {"{\"1\": [{\"sample_id\": 0, \"compiled\": true, \"correctness\": true, \"runtime\": 1, "
         "\"metadata\": {}}]}",
         "F: 1[0].runtime_stats: an object is needed"},
        {"{\"1\": [{\"sample_id\": 0, \"compiled\": true, \"correctness\": true, \"runtime\": 1, "
         "\"metadata\": {\"kgym\": {\"runtime_ns\": -5}}, \"runtime_stats\": {}}]}",
         "F: 1[0].metadata.kgym.runtime_ns: nanoseconds are needed"},
    };
    for (size_t i = 0; i < N(table); i++) {
        struct kg_kb_results r;
        json_t *j = kb_json(table[i].text);
        FAILS(kg_kb_results_parse(j, "F", &r, &err), KG_E_INPUT, table[i].message);
        json_decref(j);
    }
}

static void malformed_baselines_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } table[] = {
        {"3", "F: an object {level1, ...} is needed"},
        {"{\"level2\": {}}", "F: level1: missing"},
        {"{\"level1\": {}}", "F: level1: an object with at least one problem is needed"},
        {"{\"level1\": [1]}", "F: level1: an object"},
        {"{\"level1\": {\"1_x.py\": null}}", "F: level1: no problem has a time"},
        {"{\"level1\": {\"x.py\": {\"mean\": 1}}}", "F: level1: `x.py` is not a name <id>_<Name>"},
        {"{\"level1\": {\"1_x.py\": 3}}", "F: level1.1_x.py: an object is needed"},
        {"{\"level1\": {\"1_x.py\": {}}}",
         "F: level1.1_x.py.mean: milliseconds are needed, from 1e-09"},
        {"{\"level1\": {\"1_x.py\": {\"mean\": 0}}}", "F: level1.1_x.py.mean"},
        {"{\"level1\": {\"1_x.py\": {\"mean\": 1e300}}}", "F: level1.1_x.py.mean"},
        {"{\"level1\": {\"1_x.py\": {\"mean\": -1.0}}}", "F: level1.1_x.py.mean"},
        {"{\"level1\": {\"1_x.py\": {\"mean\": \"1\"}}}", "F: level1.1_x.py.mean"},
        {"{\"level1\": {\"1_x.py\": {\"mean\": 1}, \"01_y.py\": {\"mean\": 1}}}",
         "have the same id"},
    };
    for (size_t i = 0; i < N(table); i++) {
        struct kg_kb_baseline b;
        json_t *j = kb_json(table[i].text);
        FAILS(kg_kb_baseline_parse(j, "F", 1, &b, &err), KG_E_INPUT, table[i].message);
        json_decref(j);
    }
}

/* KernelBench's own files have null where its timing failed, as on a card without the memory. */
static void problems_without_a_time_are_left_out(void **state)
{
    (void)state;
    struct kg_kb_baseline b;
    json_t *j =
        kb_json("{\"level1\": {\"2_y.py\": null, \"1_x.py\": {\"mean\": 3}, \"3_z.py\": null}}");
    WORKS(kg_kb_baseline_parse(j, "F", 1, &b, &err));
    assert_int_equal(b.n, 1);
    assert_int_equal(b.problem[0].id, 1);
    kg_kb_baseline_deinit(&b);
    json_decref(j);
}

/* Problems: 1 ratio 2 exactly (not above 2), 2 ratio 0.5 exactly, 3 wrong, 4 without a result, 5
 * correct without a time, 6 ratio 8 rounded and 7.5 unrounded, 7 without a baseline, 8 only with a
 * sample 1. */
static const char analysed[] = "{\"1\": [" ENTRY(
    "0", "true", "true",
    "1.0") "],"
           "\"2\": [" ENTRY("0", "true", "true", "4.0") "," ENTRY(
               "1", "true", "true",
               "0.1") "],"
                      "\"3\": [" ENTRY(
                          "0", "true", "false",
                          "-1.0") "],"
                                  "\"5\": [" ENTRY(
                                      "0", "true", "true",
                                      "-1.0") "],"
                                              "\"6\": [{\"sample_id\": 0, \"compiled\": true, "
                                              "\"correctness\": true, \"runtime\": 0.25, "
                                              "\"metadata\": {\"kgym\": {\"runtime_ns\": "
                                              "266666.6666666667}}, \"runtime_stats\": {}}],"
                                              "\"7\": [" GOOD "],"
                                              "\"8\": [" ENTRY("1", "true", "true", "1.0") "]}";

static const char timings[] =
    "{\"level1\": {\"1_a.py\": {\"mean\": 2.0, \"std\": 0.1}, \"2_b.py\": {\"mean\": 2.0},"
    "\"3_c.py\": {\"mean\": 1}, \"4_d.py\": {\"mean\": 1}, \"5_e.py\": {\"mean\": 1},"
    "\"6_f.py\": {\"mean\": 2.0}, \"8_h.py\": {\"mean\": 1}, \"10_i.py\": {\"mean\": 1}}}";

static void open_both(struct kg_kb_results *r, struct kg_kb_baseline *b)
{
    json_t *j = kb_json(analysed);
    WORKS(kg_kb_results_parse(j, "results", r, &err));
    json_decref(j);
    j = kb_json(timings);
    WORKS(kg_kb_baseline_parse(j, "baseline", 1, b, &err));
    json_decref(j);
}

static void metrics_are_those_of_the_formulas(void **state)
{
    (void)state;
    struct kg_kb_results r;
    struct kg_kb_baseline b;
    struct kg_kb_numbers any = {.n = 0}, some;
    struct kg_kb_analysis a;
    open_both(&r, &b);
    WORKS(kg_kb_analyze(&r, &b, &any, &a, &err));
    assert_true(a.n == 8 && a.results == 7 && a.evaluated == 5 && a.compiled == 5);
    assert_true(a.correct == 4 && a.untimed == 1 && a.without_baseline == 1);
    const double fast[] = {3 / 8., 2 / 8., 2 / 8., 2 / 8., 2 / 8., 1 / 8.};
    for (int i = 0; i < KG_KB_NP; i++) {
        NEAR(a.rounded.fast[i], fast[i], 0);
        NEAR(a.exact.fast[i], fast[i], 0);
    }
    NEAR(a.rounded.geo_mean, 2.0, 1e-12); /* cube root of 2 * 0.5 * 8 */
    NEAR(a.exact.geo_mean, cbrt(7.5), 1e-12);
    json_t *pass = json_pack("{s:{s:f}}", "averages", "avg_pass@1", 0.5);
    kb_golden(
        kg_kb_analysis_json(
            &a, &(struct kg_kb_analysis_names){"run", "H100", "baseline_time_torch", 1}, pass),
        "analysis.json");
    json_decref(pass);
    WORKS(kg_kb_numbers_parse("", "3,4", &some, &err));
    WORKS(kg_kb_analyze(&r, &b, &some, &a, &err));
    assert_true(a.n == 2 && a.correct == 0 && isnan(a.rounded.geo_mean));
    WORKS(kg_kb_numbers_parse("", "7", &some, &err));
    FAILS(kg_kb_analyze(&r, &b, &some, &a, &err), KG_E_INPUT, "has a baseline");
    kg_kb_results_deinit(&r);
    kg_kb_baseline_deinit(&b);
}

static void pass_at_k_of_a_run(void **state)
{
    (void)state;
    struct kg_kb_results r;
    struct kg_kb_numbers k;
    json_t *j = kb_json(
        "{\"1\": [" ENTRY("0", "true", "true", "1") "," ENTRY("1", "true", "false", "-1") "," ENTRY(
            "2", "true", "false", "-1") "],"
                                        "\"2\": [" ENTRY("0", "false", "false",
                                                         "-1") "], \"3\": []}");
    WORKS(kg_kb_results_parse(j, "F", &r, &err));
    json_decref(j);
    WORKS(kg_kb_numbers_parse("", "1-2,5", &k, &err));
    kb_golden(kg_kb_pass_json(&r, 4, &k), "pass_at_k_results.json");
    kg_kb_results_deinit(&r);
}

/* Whatever the numbers: shares lie in 0..1, fall with p, and fast_0 is the share of timed ones. */
static void metrics_of_random_runs(void **state)
{
    (void)state;
    struct kg_rng rng;
    kg_rng_init(&rng, (struct kg_key){{2026, 11}}, 0);
    for (int round = 0; round < 200; round++) {
        struct kg_kb_result result[40];
        struct kg_kb_results r = {.result = result};
        struct kg_kb_baseline b;
        struct kg_kb_numbers any = {.n = 0};
        struct kg_kb_analysis a;
        json_t *level = json_object(), *j = json_pack("{s:o}", "level1", level);
        double logs = 0;
        size_t timed = 0;
        for (int id = 1; id <= 40; id++) {
            char name[32];
            double mean = 0.01 + (double)(kg_rng_u64(&rng) % 1000) / 100;
            double ms = kg_rng_u64(&rng) % 4 ? 0.01 + (double)(kg_rng_u64(&rng) % 1000) / 100 : -1;
            bool correct = kg_rng_u64(&rng) % 3 > 0;
            snprintf(name, sizeof name, "%d_x.py", id);
            json_object_set_new(level, name, json_pack("{s:f}", "mean", mean));
            if (kg_rng_u64(&rng) % 5) {
                result[r.n++] = (struct kg_kb_result){id, 0, true, correct, ms, ms * 1e6};
                timed += correct && ms > 0;
                logs += correct && ms > 0 ? log(mean / ms) : 0;
            }
        }
        WORKS(kg_kb_baseline_parse(j, "b", 1, &b, &err));
        WORKS(kg_kb_analyze(&r, &b, &any, &a, &err));
        NEAR(a.rounded.fast[0], (double)timed / 40, 1e-15);
        for (int i = 1; i < KG_KB_NP; i++) {
            assert_true(a.rounded.fast[i] >= 0 && a.rounded.fast[i] <= a.rounded.fast[i - 1]);
        }
        if (timed) {
            NEAR(log(a.rounded.geo_mean), logs / (double)timed, 1e-9);
        }
        kg_kb_baseline_deinit(&b);
        json_decref(j);
    }
    kg_rng_deinit(&rng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_digits_as_python_rounds),
        cmocka_unit_test(times_as_numpy_sums_them_up),
        cmocka_unit_test(pass_at_k_is_the_combinatorial_one),
        cmocka_unit_test(records_become_entries),
        cmocka_unit_test(only_what_was_measured_is_a_time),
        cmocka_unit_test(claims_are_times_there),
        cmocka_unit_test(malformed_results_are_named),
        cmocka_unit_test(malformed_baselines_are_named),
        cmocka_unit_test(problems_without_a_time_are_left_out),
        cmocka_unit_test(metrics_are_those_of_the_formulas),
        cmocka_unit_test(pass_at_k_of_a_run),
        cmocka_unit_test(metrics_of_random_runs),
    };
    return cmocka_run_group_tests(tests, kb_enter, kb_leave);
}
