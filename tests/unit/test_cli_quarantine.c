/* A problem that `kgym problems check` has put aside is refused, until it is another one or the
 * caller wants it judged all the same. */
#include "kgym_rig.h"

#include "gym/eval/context.h"
#include "gym/eval/findings.h"

#define NO_TIMING "--no-stage-timing"
#define HEAD                                                                                       \
    "/*---kgym\nname: p\nlevel: 1\nentry: p\ndims: {n: 4000}\nargs:\n"                             \
    "  - {name: x, type: \"f32[n]\", role: in}\n  - {name: y, type: \"f32[n]\", role: out}\n"      \
    "  - {name: n, type: i64, role: dim}\n---*/\n#include \"kgops.h\"\n"                           \
    "void p(const real *x, real *y, int64_t n)\n{\n"
#define ZEROS HEAD "    for (int64_t i = 0; i < n; i++) y[i] = 0 * x[i];\n}\n"
#define TWICE HEAD "    for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];\n}\n"
#define SLOW                                                                                       \
    HEAD "    for (volatile int k = 0; k < 20000000; k++) {}\n"                                    \
         "    for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];\n}\n"
#define FILLS(what)                                                                                \
    "#include <stdint.h>\nvoid p(const float *x, float *y, int64_t n)\n{\n"                        \
    "    for (int64_t i = 0; i < n; i++) y[i] = " what ";\n}\n"

static void files(const char *problem)
{
    rig_text("p.c", problem);
    rig_text("zeros.c", FILLS("0"));
    rig_text("twice.c", FILLS("x[i] + x[i]"));
    rig_expect(0, "rm -rf cache out.jsonl");
    setenv("KGYM_CACHE", "cache", 1);
}

static void test_a_quarantined_problem_is_refused(void **state)
{
    (void)state;
    files(ZEROS);
    rig_expect(0, "$K eval ./p.c zeros.c " NO_TIMING); /* nobody has looked yet */
    rig_expect(1, "$K problems check ./p.c");
    rig_expect(2, "$K eval ./p.c zeros.c --json " NO_TIMING);
    json_t *j = rig_json(), *error = json_object_get(j, "error");
    assert_string_equal(rig_get(error, "code"), "problem");
    assert_string_equal(rig_get(error, "blame"), "problem");
    assert_string_equal(rig_get(error, "message"),
                        "p: put aside by `kgym problems check`: zeros, frozen x (`--quarantine "
                        "ignore` judges it all the same)");
    assert_true(json_is_null(json_object_get(j, "verdict")));
    assert_int_equal(json_object_size(json_object_get(j, "rewards")), 0);
    assert_string_equal(rig_get(json_object_get(j, "problem"), "name"), "p");
    json_decref(j);
    rig_expect(0, "$K eval ./p.c zeros.c --quarantine ignore " NO_TIMING);
    rig_expect(0, "$K eval ./p.c zeros.c --cache none " NO_TIMING); /* nothing is known there */
    rig_expect(1, "$K problems check ./p.c");                       /* and it can be looked at */
    rig_text("p.c", TWICE);                                         /* another problem */
    rig_expect(0, "$K eval ./p.c twice.c " NO_TIMING);
    rig_expect(0, "$K problems check ./p.c && $K eval ./p.c twice.c " NO_TIMING);
}

static void test_in_a_batch(void **state)
{
    (void)state;
    files(ZEROS);
    rig_text("in.jsonl", "{\"id\": \"1\", \"problem\": \"./p.c\", \"source_file\": \"zeros.c\"}\n"
                         "{\"id\": \"2\", \"problem\": \"silu\", \"source\": \"int x;\"}\n");
#define BATCH "$K eval --batch in.jsonl --out out.jsonl --jobs 1 " NO_TIMING
    rig_expect(0, BATCH);
    rig_expect(0, BATCH);
    rig_says("2 kept from an earlier run");
    rig_expect(1, "$K problems check ./p.c");
    rig_expect(2, BATCH); /* what was judged before is none either */
    rig_says("  in.jsonl:1: 1: p: put aside by");
    rig_says("1 with an error; 1 kept from an earlier run");
    rig_expect(0, BATCH " --set quarantine=ignore");
    rig_says("1 kept from an earlier run");
    rig_expect(0, BATCH " --set quarantine=ignore");
    rig_says("2 kept from an earlier run");
}

/* What fails in one run for its time says nothing of the next run. */
static void test_a_limit_puts_nothing_aside(void **state)
{
    (void)state;
    files(SLOW);
    rig_expect(1, "$K problems check ./p.c --set deadline.eval=0.1");
    rig_shows("reference: the reference itself is judged timeout/");
    rig_shows("took longer than 0.1 s (deadline.eval)");
    rig_expect(0, "$K eval ./p.c twice.c " NO_TIMING);
}

static void configure(struct kg_config *c, const char *cache)
{
    kg_opts_defaults(kg_config_options(), c);
    snprintf(c->cache, sizeof c->cache, "%s", cache);
}

static json_t *check(const char *failing)
{
    return json_pack("{s:[{s:s, s:b}, {s:s, s:b}]}", "checks", "check", "parses", "pass", 1,
                     "check", failing, "pass", 0);
}

static void keep(const struct kg_config *c, const char *sha256, const char *device,
                 const char *failing)
{
    json_t *j = check(failing);
    kg_findings_keep(c, sha256, device, j);
    json_decref(j);
}

static bool admits(const struct kg_config *c, const char *sha256, const char *device)
{
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = kg_findings_admit(c, "p", sha256, device, &err);
    assert_true(code == KG_OK || code == KG_E_PROBLEM);
    return code == KG_OK;
}

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* What only one kind of device has shown does not count on another. */
static void test_by_device(void **state)
{
    (void)state;
    struct kg_config c;
    configure(&c, "kept");
    keep(&c, A, "cpu", "oracle");
    assert_false(admits(&c, A, "cpu"));
    assert_true(admits(&c, A, "cuda:1"));
    assert_true(admits(&c, B, "cpu"));
    keep(&c, A, "cuda:0", "oracle");
    assert_false(admits(&c, A, "cuda:1"));
    assert_true(admits(&c, A, "cpu"));
    keep(&c, A, "cpu", "mean");
    assert_false(admits(&c, A, "cuda:0"));
    c.quarantine = KG_QUARANTINE_IGNORE;
    assert_true(admits(&c, A, "cuda:0"));
    configure(&c, "none");
    keep(&c, A, "cpu", "mean");
    assert_true(admits(&c, A, "cpu"));
}

/* Torn, edited, renamed, of another version: such cards are none. */
static void test_cards_that_are_none(void **state)
{
    (void)state;
    struct kg_config c;
    configure(&c, "kept");
    assert_true(admits(&c, "", "cpu"));
    rig_expect(0, "mkdir -p kept/cards; echo > victim");
    assert_true(
        admits(&c, "/../../../victim////////////////////////////////////////////////", "cpu"));
    rig_expect(0, "test -s victim");
    keep(&c, A, "cpu", "mean");
    rig_expect(0, "mkdir -p kept/cards/bb; cp kept/cards/aa/" A ".card kept/cards/bb/" B ".card");
    assert_true(admits(&c, B, "cpu"));
    rig_expect(0, "truncate -s -1 kept/cards/aa/" A ".card");
    assert_true(admits(&c, A, "cpu"));
    keep(&c, A, "cpu", "mean");
    json_t *card = kg_findings_find(&c, A);
    assert_string_equal(rig_get(card, "kgym"), KG_VERSION);
    assert_int_equal(json_integer_value(json_object_get(card, "edition")), KG_FINDINGS_EDITION);
    json_decref(card);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_quarantined_problem_is_refused),
        cmocka_unit_test(test_a_limit_puts_nothing_aside),
        cmocka_unit_test(test_in_a_batch),
        cmocka_unit_test(test_by_device),
        cmocka_unit_test(test_cards_that_are_none),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
