/* The stage profile of C: the formula on made-up times, the three builds of kgops, and the record
 * of candidates that use the library in honest and other ways (tests/fixtures/coverage). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>

#include "base/file.h"
#include "gym/eval/evaluate.h"
#include "gym/native/native_coverage.h"
#include "gym/run/wire.h"

#define PROBLEM  "add_layer_norm"
#define ATTEMPTS 6 /* where other work on the machine disturbs the times */

static struct kg_worker *worker;
static struct kg_config config;

static int open_worker(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    int cpu = -1;
    char home[512];
    snprintf(home, sizeof home, "%s", getenv("KGYM_BUILD"));
    setenv("KGYM_HOME", home, 1);
    kg_opts_defaults(kg_config_options(), &config);
    assert_int_equal(kg_config_preset(&config, "train", &err), KG_OK);
    snprintf(config.cache, sizeof config.cache, "%s/test-cache", home);
    snprintf(config.rewards, sizeof config.rewards, "dr-kernel");
    config.stage_timing = false; /* the stage stands alone */
    kg_worker_cores(&cpu, 1);
    if (kg_worker_open(&config, cpu, NULL, &worker, &err) != KG_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    return 0;
}

static int close_worker(void **state)
{
    (void)state;
    kg_worker_close(worker);
    return 0;
}

/* --- the formula --- */

static struct kg_coverage_times times_of(size_t n, double us)
{
    struct kg_coverage_times t = {.n = n};
    for (size_t i = 0; i < n; i++) {
        t.ns[i] = us * 1e3;
    }
    return t;
}

/* n equal calls of each kind, in us without K. */
static struct kg_coverage_calls calls_of(size_t n, double ref, double cand, double without,
                                         double claimed)
{
    return (struct kg_coverage_calls){.reference = times_of(n, ref + 2),
                                      .candidate = times_of(n, cand + 2),
                                      .without = times_of(n, without + 2),
                                      .library = times_of(n, claimed),
                                      .k_ns = 2000,
                                      .operators = n,
                                      .wrong_without = true};
}

static double formula(double ref, double cand, double without, double claimed)
{
    struct kg_coverage_calls c = calls_of(9, ref, cand, without, claimed);
    struct kg_coverage o;
    kg_coverage_of(&c, &o);
    assert_false(o.decoy);
    return o.coverage;
}

static void the_larger_time_of_the_library_counts(void **state)
{
    (void)state;
    assert_float_equal(formula(100, 100, 60, 40), 0.6, 1e-9);
    assert_float_equal(formula(100, 100, 60, 30), 0.6, 1e-9); /* a claim does not lower it */
    assert_float_equal(formula(100, 100, 80, 40), 0.6, 1e-9); /* but raises it */
    assert_float_equal(formula(100, 50, 40, 10), 0.8, 1e-9);  /* of the faster of the two */
    assert_float_equal(formula(100, 300, 200, 100), 0, 1e-9); /* useless own work adds nothing */
    assert_float_equal(formula(100, 100, 0, 130), 0, 1e-9);   /* within 0 .. */
    assert_float_equal(formula(100, 100, 108, 0), 1, 1e-9);   /* .. and 1: noise is no credit */
}

static void a_claim_that_the_broker_contradicts_counts_for_nothing(void **state)
{
    (void)state;
    assert_float_equal(formula(100, 100, 60, 0), 0, 0);
    assert_float_equal(formula(100, 100, 60, 4), 0, 0);
    assert_float_equal(formula(100, 100, 90, 0), 0.9, 1e-9); /* so little may be noise */
    struct kg_coverage_calls c = calls_of(9, 100, 100, 60, 0);
    struct kg_coverage o;
    c.operators = 0; /* it calls nothing, it says, and is wrong without the library */
    kg_coverage_of(&c, &o);
    assert_float_equal(o.coverage, 0, 0);
    assert_non_null(strstr(o.why, "claims no call"));
    c = calls_of(9, 100, 100, 60, 40);
    c.miscounted = true;
    kg_coverage_of(&c, &o);
    assert_float_equal(o.coverage, 0, 0);
}

static void a_right_answer_without_the_library(void **state)
{
    (void)state;
    struct kg_coverage_calls c = calls_of(9, 100, 100, 60, 40);
    struct kg_coverage o;
    c.wrong_without = false;
    c.right_without = KG_COVERAGE_LEAST - 1; /* that may be luck */
    kg_coverage_of(&c, &o);
    assert_false(o.decoy);
    c.right_without = KG_COVERAGE_LEAST;
    kg_coverage_of(&c, &o);
    assert_true(o.decoy);
    assert_float_equal(o.coverage, 0, 0);
    c.operators = 0; /* operators for other shapes: noise of its times is not charged */
    kg_coverage_of(&c, &o);
    assert_false(o.decoy);
    assert_float_equal(o.coverage, 1, 0);
    c.operators = 9;
    c.end = KG_COVERAGE_ENDED; /* few answers were seen: nobody is accused */
    kg_coverage_of(&c, &o);
    assert_false(o.decoy);
    assert_float_equal(o.coverage, 0, 0);
}

static void nothing_is_charged_on_a_disturbed_host(void **state)
{
    (void)state;
    struct kg_coverage o;
    struct kg_coverage_calls c = calls_of(KG_COVERAGE_LEAST - 1, 100, 100, 60, 40);
    kg_coverage_of(&c, &o);
    assert_true(isnan(o.coverage));
    c = calls_of(9, 100, 100, 60, 40);
    for (size_t i = 0; i < 4; i++) { /* a median stands 2 outliers, and so does the spread */
        c.candidate.ns[i] += i < 2 ? 1e6 : 0;
    }
    kg_coverage_of(&c, &o);
    assert_float_equal(o.coverage, 0.6, 1e-9);
    for (size_t i = 0; i < 4; i++) {
        c.candidate.ns[i] += 1e6;
    }
    kg_coverage_of(&c, &o);
    assert_true(isnan(o.coverage));
    assert_non_null(strstr(o.why, "disturbed"));
    c = calls_of(9, 3, 3, 1, 2); /* 1.5 K */
    kg_coverage_of(&c, &o);
    assert_true(isnan(o.coverage));
    c = calls_of(9, 100, 100, 60, 40);
    c.end = KG_COVERAGE_KILLED;
    kg_coverage_of(&c, &o);
    assert_true(isnan(o.coverage));
}

/* --- the builds --- */

static void names_of(const char *build, char *out, size_t cap)
{
    char command[700];
    snprintf(command, sizeof command,
             "nm -D --defined-only '%s/%s/libkgops.so' | awk '{print $3}' | sort",
             getenv("KGYM_BUILD"), build);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(out, 1, cap - 1, f);
    out[n] = '\0';
    assert_int_equal(pclose(f), 0);
}

static void every_build_has_every_operator(void **state)
{
    (void)state;
    static char plain[8192], other[8192];
    names_of("kgops", plain, sizeof plain);
    assert_non_null(strstr(plain, "kgops_layer_norm_f32\n"));
    names_of("kgops-counted", other, sizeof other);
    assert_string_equal(plain, other);
    names_of("kgops-stub", other, sizeof other);
    assert_string_equal(plain, other);
}

/* --- candidates --- */

static void judge(const char *name, struct kg_record *r)
{
    char path[600], offset[24];
    struct kg_buf text, source;
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/tests/fixtures/coverage/%s.c", getenv("KGYM_TREE"), name);
    kg_buf_init(&text, 1 << 20);
    kg_buf_init(&source, 1 << 20);
    assert_int_equal(kg_file_read(path, &text, &err), KG_OK);
    const char *mark = strstr(text.data, "0x100000000000ull + @OFFSET@");
    snprintf(offset, sizeof offset, "%zu", offsetof(struct kg_wire, library_ticks));
    size_t before = mark ? (size_t)(mark - text.data) + strlen("0x100000000000ull + ") : text.len;
    kg_buf_add(&source, text.data, before);
    if (mark) {
        kg_buf_addf(&source, "%s", offset);
        kg_buf_add(&source, text.data + before + strlen("@OFFSET@"),
                   text.len - before - strlen("@OFFSET@"));
    }
    struct kg_task t = {.problem = PROBLEM,
                        .text = source.data,
                        .len = source.len,
                        .source = true,
                        .stop_after = KG_ST_PROFILE};
    kg_record_init(r);
    kg_eval(worker, &t, r);
    assert_false(r->has_error);
    kg_buf_deinit(&text);
    kg_buf_deinit(&source);
}

static const char *why_of(const struct kg_record *r)
{
    for (size_t i = 0; i < json_array_size(r->evidence); i++) {
        const json_t *e = json_array_get(r->evidence, i);
        const char *check = json_string_value(json_object_get(e, "check"));
        if (check && strcmp(check, "coverage") == 0) {
            const char *why = json_string_value(json_object_get(e, "why"));
            return why ? why : "";
        }
    }
    return "no evidence";
}

/* Its coverage lies between the two, and its verdict is ok. */
static void covers(const char *name, double lowest, double highest)
{
    struct kg_record r;
    for (int i = 0; i < ATTEMPTS; i++) {
        judge(name, &r);
        assert_int_equal(r.verdict, KG_V_OK);
        bool within = r.coverage >= lowest && r.coverage <= highest;
        bool last = i == ATTEMPTS - 1;
        if (!within) {
            print_message("%s: coverage %g, %s\n", name, r.coverage, why_of(&r));
        }
        if (!within && last) {
            fail_msg("%s: coverage %g is not in %g..%g", name, r.coverage, lowest, highest);
        }
        kg_record_deinit(&r);
        if (within) {
            return;
        }
    }
}

static void honest_candidates(void **state)
{
    (void)state;
    covers("copy", 0, 0.15);
    covers("rows", 0, 0.2);
    covers("half", 0.25, 0.75);
    covers("fused", 1, 1);
    covers("unused", 1, 1);
}

static void own_work_that_nobody_needs_adds_nothing(void **state)
{
    (void)state;
    covers("padded", 0, 0.15);
}

static void a_counter_that_is_set_back_gains_nothing(void **state)
{
    (void)state;
    covers("reset", 0, 0.15);
    covers("silent", 0, 0);
}

static void library_calls_that_nobody_needs_are_a_decoy(void **state)
{
    (void)state;
    struct kg_record r;
    judge("decoy", &r);
    assert_int_equal(r.verdict, KG_V_HACK);
    assert_string_equal(r.reason, "decoy");
    kg_record_deinit(&r);
}

static void who_dies_without_the_library_has_no_verdict_for_it(void **state)
{
    (void)state;
    static const char *const names[] = {"crashes", "hangs"};
    for (size_t i = 0; i < 2; i++) {
        struct kg_record r;
        judge(names[i], &r);
        assert_int_equal(r.verdict, KG_V_OK);
        assert_float_equal(r.coverage, 0, 0);
        assert_non_null(strstr(why_of(&r), "does not outlive"));
        kg_record_deinit(&r);
    }
}

/* An object that imports neither operators nor the loader never sees the library: one that finds it
 * in its process gets poison. */
static void who_finds_the_library_unseen_is_wrong(void **state)
{
    (void)state;
    struct kg_record r;
    judge("searches", &r);
    assert_int_equal(r.verdict, KG_V_WRONG);
    assert_true(isnan(r.coverage));
    kg_record_deinit(&r);
}

/* Half of the answers are NaN. Once it has had the same inputs again and again, as the stage warms
 * up, the candidate writes the others only. */
static void an_answer_that_lacks_its_nans_is_wrong(void **state)
{
    (void)state;
    static const char problem[] = "/*---kgym\n"
                                  "name: rsqrts\nlevel: 1\nentry: rsqrts\n"
                                  "dims: {n: 30000}\n"
                                  "args:\n"
                                  "  - {name: x, type: \"f32[n]\", role: in}\n"
                                  "  - {name: y, type: \"f32[n]\", role: out}\n"
                                  "  - {name: n, type: i64, role: dim}\n"
                                  "---*/\n"
                                  "#include \"kgops.h\"\n"
                                  "void rsqrts(const real *x, real *y, int64_t n)\n{\n"
                                  "    kgops_rsqrt(x, 0, y, n);\n}\n";
    static const char candidate[] =
        "#include \"kgops.h\"\n#include <string.h>\n"
        "void rsqrts(const float *x, float *y, int64_t n)\n{\n"
        "    static float last[16];\n    static int same, lazy;\n"
        "    int64_t m = n < 16 ? n : 16;\n"
        "    same = memcmp(last, x, 4 * m) ? 0 : same + 1;\n"
        "    memcpy(last, x, 4 * m);\n"
        "    lazy = lazy || same >= 2;\n"
        "    if (!lazy) {\n        kgops_rsqrt(x, 0, y, n);\n    }\n"
        "    for (int64_t i = 0; lazy && i < n; i++) {\n"
        "        if (x[i] >= 0) {\n            kgops_rsqrt(x + i, 0, y + i, 1);\n        }\n"
        "    }\n}\n";
    char path[64];
    struct kg_record r;
    snprintf(path, sizeof path, "/tmp/kgym-rsqrts-%d.c", (int)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(problem, f) >= 0 && fclose(f) == 0);
    struct kg_task t = {.problem = path,
                        .text = candidate,
                        .len = sizeof candidate - 1,
                        .source = true,
                        .stop_after = KG_ST_PROFILE};
    kg_record_init(&r);
    kg_eval(worker, &t, &r);
    unlink(path);
    assert_false(r.has_error);
    assert_int_equal(r.stages[KG_ST_FULL].status, KG_SS_PASS);
    assert_int_equal(r.verdict, KG_V_WRONG);
    assert_string_equal(r.reason, "unwritten");
    kg_record_deinit(&r);
}

static size_t delegations(const struct kg_record *r)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(r->evidence); i++) {
        const char *rule =
            json_string_value(json_object_get(json_array_get(r->evidence, i), "rule"));
        n += rule != NULL && strcmp(rule, "delegation") == 0;
    }
    return n;
}

/* By a table, by the loader, or by a plain call: all are noted, and counted in the same way. */
static void delegation_counts_however_the_library_is_reached(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool noted;
    } cases[] = {{"copy", true},  {"table", true},       {"loads", true}, {"loads_on_demand", true},
                 {"fused", true}, {"loads_math", false}, {"unused", true}};
    covers("table", 0, 0.15);
    covers("loads", 0, 0.15);
    covers("loads_math", 1, 1);
    for (int profile = 0; profile < 2; profile++) {
        struct kg_worker *usual = worker;
        config.stage_profile = profile == 1;
        struct kg_err err = KG_ERR_INIT;
        assert_int_equal(kg_worker_open(&config, -1, NULL, &worker, &err), KG_OK);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct kg_record r;
            judge(cases[i].name, &r);
            bool decoy = profile == 1 && strcmp(cases[i].name, "loads_on_demand") == 0;
            assert_int_equal(r.verdict, decoy ? KG_V_HACK : KG_V_OK);
            assert_int_equal(delegations(&r) > 0, cases[i].noted);
            kg_record_deinit(&r);
        }
        kg_worker_close(worker);
        worker = usual;
    }
}

static void the_reward_has_the_term(void **state)
{
    (void)state;
    struct kg_record r;
    judge("fused", &r);
    assert_int_equal(r.stages[KG_ST_PROFILE].status, KG_SS_PASS);
    assert_int_equal(r.nrewards, 1);
    assert_float_equal(r.rewards[0].value, 2, 1e-9); /* correct 1 and coverage 1 */
    kg_record_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_larger_time_of_the_library_counts),
        cmocka_unit_test(a_claim_that_the_broker_contradicts_counts_for_nothing),
        cmocka_unit_test(a_right_answer_without_the_library),
        cmocka_unit_test(nothing_is_charged_on_a_disturbed_host),
        cmocka_unit_test(every_build_has_every_operator),
        cmocka_unit_test(honest_candidates),
        cmocka_unit_test(own_work_that_nobody_needs_adds_nothing),
        cmocka_unit_test(a_counter_that_is_set_back_gains_nothing),
        cmocka_unit_test(library_calls_that_nobody_needs_are_a_decoy),
        cmocka_unit_test(who_dies_without_the_library_has_no_verdict_for_it),
        cmocka_unit_test(who_finds_the_library_unseen_is_wrong),
        cmocka_unit_test(an_answer_that_lacks_its_nans_is_wrong),
        cmocka_unit_test(delegation_counts_however_the_library_is_reached),
        cmocka_unit_test(the_reward_has_the_term),
    };
    return cmocka_run_group_tests(tests, open_worker, close_worker);
}
