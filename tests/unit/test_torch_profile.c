/* Launch records as claims, and what follows from them: sums, dead kernels, verdicts. Pure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gym/torch/profile/torch_profile.h"

static struct kg_tprofile sum;

static int fresh(void **state)
{
    (void)state;
    memset(&sum, 0, sizeof sum);
    return 0;
}

/* kernels: rows; the rest of a reply that holds 1000 ns in a span of 2000. */
static json_t *reply(const char *kernels)
{
    json_error_t e;
    json_t *rows = json_loads(kernels, 0, &e);
    assert_non_null(rows);
    return json_pack("{s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "kernels", rows, "memcpy_ns", 60,
                     "memset_ns", 40, "span_ns", 2000, "dropped", 0, "missing", 0, "suppressed", 2,
                     "graphs", 1);
}

static const char usual[] = "[{\"name\": \"mine\", \"class\": \"own\", \"calls\": 2, \"ns\": 500},"
                            " {\"name\": \"gemm\", \"class\": \"library\", \"calls\": 1, \"ns\": "
                            "300}, {\"name\": \"fused\", \"class\": \"compiler\", \"calls\": 1, "
                            "\"ns\": 75}, {\"name\": \"\", \"class\": \"unknown\", \"calls\": 1, "
                            "\"ns\": 25}]";

static const char *add(json_t *r, int64_t window_ns)
{
    const char *why = kg_tprofile_add(&sum, r, window_ns);
    json_decref(r);
    return why;
}

static void calls_add_up(void **state)
{
    (void)state;
    assert_null(add(reply(usual), 5000));
    assert_null(add(reply(usual), 5000));
    assert_int_equal(sum.n, 4);
    kg_tprofile_sort(&sum);
    assert_string_equal(sum.kernel[0].name, "mine");
    assert_int_equal(sum.kernel[0].calls, 4);
    assert_int_equal(sum.kernel[0].ns, 1000);
    assert_int_equal(sum.suppressed, 4);
    assert_int_equal(sum.graphs, 2);
    assert_int_equal(sum.window_ns, 10000);
    struct kg_tshares s = kg_tprofile_shares(&sum);
    assert_int_equal(s.busy_ns, 2000);
    assert_float_equal(s.coverage, 0.5, 1e-9);
    assert_float_equal(s.own, 0.5, 1e-9);
    assert_float_equal(s.delegated, 0.375, 1e-9);
    assert_float_equal(s.compiler, 0.075, 1e-9);
    assert_float_equal(s.memory, 0.1, 1e-9);
    assert_float_equal(kg_tprofile_share(&sum, &sum.kernel[1]), 0.3, 1e-9);
}

static void the_dead_cover_nothing(void **state)
{
    (void)state;
    assert_null(add(reply(usual), 5000));
    sum.kernel[0].dead = true;
    struct kg_tshares s = kg_tprofile_shares(&sum);
    assert_float_equal(s.coverage, 0, 0);
    assert_float_equal(s.own, 0.5, 1e-9);
}

static void nothing_ran(void **state)
{
    (void)state;
    json_t *r = reply("[]");
    json_object_set_new(r, "memcpy_ns", json_integer(0));
    json_object_set_new(r, "memset_ns", json_integer(0));
    assert_null(add(r, 5000));
    struct kg_tshares s = kg_tprofile_shares(&sum);
    assert_true(s.coverage == 0 && s.delegated == 0 && s.busy_ns == 0);
}

/* A name of one owner is not a name of another's. */
static void owners_are_apart(void **state)
{
    (void)state;
    assert_null(add(reply("[{\"name\": \"gemm\", \"class\": \"own\", \"calls\": 1, \"ns\": 10}, "
                          "{\"name\": \"gemm\", \"class\": \"library\", \"calls\": 1, \"ns\": "
                          "890}]"),
                    5000));
    assert_int_equal(sum.n, 2);
    assert_float_equal(kg_tprofile_shares(&sum).coverage, 0.01, 1e-9);
}

static void contradictions(void **state)
{
    (void)state;
    static const char more[] = "the records hold more time than the call took";
    assert_string_equal(add(reply(usual), 999), more);
    fresh(NULL);
    assert_string_equal(add(reply(usual), 1999), more); /* the span */
    fresh(NULL);
    json_t *r = reply(usual);
    json_object_set_new(r, "span_ns", json_integer(999));
    assert_string_equal(add(r, 5000), "the records hold more time than they span");
    fresh(NULL);
    r = reply(usual);
    json_object_set_new(r, "memcpy_ns", json_integer(6000));
    assert_string_equal(add(r, 5000), more);
    fresh(NULL);
    r = reply("[{\"name\": \"a\", \"class\": \"own\", \"calls\": 1, \"ns\": 4000}, {\"name\": "
              "\"b\", \"class\": \"own\", \"calls\": 1, \"ns\": 4000}]");
    assert_string_equal(add(r, 5000), more);
    static const char *const lost[] = {"dropped", "missing"};
    for (size_t i = 0; i < 2; i++) {
        fresh(NULL);
        r = reply(usual);
        json_object_set_new(r, lost[i], json_integer(1));
        assert_string_equal(add(r, 5000), "records are missing");
    }
}

static void malformed(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "[7]",
        "[{}]",
        "[{\"name\": 1, \"class\": \"own\", \"calls\": 1, \"ns\": 1}]",
        "[{\"name\": \"a\", \"class\": \"mine\", \"calls\": 1, \"ns\": 1}]",
        "[{\"name\": \"a\", \"calls\": 1, \"ns\": 1}]",
        "[{\"name\": \"a\", \"class\": \"own\", \"calls\": 0, \"ns\": 1}]",
        "[{\"name\": \"a\", \"class\": \"own\", \"calls\": -1, \"ns\": 1}]",
        "[{\"name\": \"a\", \"class\": \"own\", \"calls\": 1, \"ns\": -1}]",
        "[{\"name\": \"a\", \"class\": \"own\", \"calls\": 1, \"ns\": 0.5}]",
        "[{\"name\": \"a\", \"class\": \"own\", \"calls\": 1, \"ns\": \"1\"}]",
        "[{\"name\": \"a\", \"class\": \"own\", \"calls\": 1}]",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fresh(NULL);
        assert_string_equal(add(reply(rows[i]), 5000), "a record is malformed");
    }
    static const char *const keys[] = {"kernels", "memcpy_ns", "memset_ns", "span_ns",
                                       "dropped", "missing",   "graphs",    "suppressed"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *r = reply(usual);
        json_object_set_new(r, keys[i], json_integer(-1));
        assert_string_equal(add(r, 5000), "a record is malformed");
        r = reply(usual);
        json_object_del(r, keys[i]);
        assert_string_equal(add(r, 5000), "a record is malformed");
    }
    assert_string_equal(kg_tprofile_add(&sum, NULL, 5000), "a record is malformed");
    assert_string_equal(add(json_array(), 5000), "a record is malformed");
}

static void names(void **state)
{
    (void)state;
    char text[600], long_name[300];
    memset(long_name, 'a', sizeof long_name);
    long_name[KG_TPROFILE_NAME] = '\0';
    snprintf(text, sizeof text, "[{\"name\": \"%s\", \"class\": \"own\", \"calls\": 1, \"ns\": 1}]",
             long_name);
    assert_string_equal(add(reply(text), 5000), "a record is malformed");
    assert_null(add(reply("[{\"name\": \"a\\u001b[2Jb\\u00e4\", \"class\": \"own\", \"calls\": 1, "
                          "\"ns\": 1}]"),
                    5000));
    assert_string_equal(sum.kernel[0].name, "a?[2Jb??");
    json_t *rows = json_array();
    for (int i = 0; i <= KG_TPROFILE_ROWS; i++) {
        snprintf(text, sizeof text, "k%d", i);
        json_array_append_new(rows, json_pack("{s:s, s:s, s:i, s:i}", "name", text, "class", "own",
                                              "calls", 1, "ns", 1));
    }
    json_t *r = reply("[]");
    json_object_set(r, "kernels", rows);
    assert_string_equal(add(r, 5000), "a record is malformed");
    json_array_remove(rows, 0);
    r = reply("[]");
    json_object_set_new(r, "kernels", rows);
    assert_string_equal(add(r, 5000), "more kernels than are kept"); /* one is there already */
}

static void plain_names(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"_Z4geluPKfPfl", "gelu"},
        {"_Z4geluIfEvPKT_", "gelu"},
        {"gelu", "gelu"},
        {"_Z99gelu", "_Z99gelu"},
        {"_Z", "_Z"},
        {"_ZN2at6native4geluE", "_ZN2at6native4geluE"},
        {"_Z99999999999999999999gelu", "_Z99999999999999999999gelu"},
        {"", ""}};
    char out[KG_TPROFILE_NAME];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        kg_tprofile_plain_name(pairs[i][0], out, sizeof out);
        assert_string_equal(out, pairs[i][1]);
    }
}

static const char *reason(bool launched, bool without, bool defines, bool forbidden, double share)
{
    struct kg_tprofile_case c = {false, launched, without, defines, forbidden, share, 0.05};
    return kg_tprofile_reason(&c);
}

static void verdicts(void **state)
{
    (void)state;
    /* in any league: only what is right without all of its own */
    assert_null(reason(true, false, true, false, 0.9));
    assert_null(reason(false, false, true, false, 1));
    assert_null(reason(false, false, false, false, 1));
    assert_string_equal(reason(true, true, true, false, 0), "decoy");
    assert_null(reason(false, true, true, false, 1)); /* it has launched none */
    /* where the library is forbidden */
    assert_string_equal(reason(true, true, true, true, 1), "decoy");
    assert_null(reason(true, false, true, true, 0.05));
    assert_string_equal(reason(true, false, true, true, 0.051), "delegation");
    assert_string_equal(reason(false, false, true, true, 1), "fallback");
    assert_string_equal(reason(false, false, false, true, 1), "delegation");
    assert_null(reason(false, false, true, true, 0)); /* nothing to do: empty inputs */
    /* own kernels in the first calls only: before all else, in any league */
    struct kg_tprofile_case left = {true, false, false, true, true, 1, 0.05};
    assert_string_equal(kg_tprofile_reason(&left), "phase");
    left = (struct kg_tprofile_case){.left = true};
    assert_string_equal(kg_tprofile_reason(&left), "phase");
}

static void sources_with_kernels(void **state)
{
    (void)state;
    static const char *const with[] = {"import triton\n", "from triton import jit\n",
                                       "s = '''__global__ void k()'''\n",
                                       "from torch.utils.cpp_extension import load_inline\n"};
    static const char without[] = "import torch\n# a fused kernel\n";
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        assert_true(kg_tprofile_defines(with[i], strlen(with[i])));
    }
    assert_false(kg_tprofile_defines(without, strlen(without)));
}

/* --- the search --- */

static struct {
    bool live[64], idle[64];
    int asked, largest, end_at; /* end_at: number of the question that has no answer */
} world;

static enum kg_tshown ask(void *user, struct kg_tkernel *const *group, size_t n)
{
    struct kg_tkernel *first = user;
    world.asked++;
    world.largest = (int)n > world.largest ? (int)n : world.largest;
    if (world.asked == world.end_at) {
        return KG_TSHOWN_NONE;
    }
    bool idle = true;
    for (size_t i = 0; i < n; i++) {
        if (world.live[group[i] - first]) {
            return KG_TSHOWN_LIVE;
        }
        idle = idle && world.idle[group[i] - first];
    }
    return idle ? KG_TSHOWN_IDLE : KG_TSHOWN_DEAD;
}

static bool find(size_t n)
{
    static struct kg_tkernel kernel[64];
    struct kg_tkernel *own[64];
    memset(kernel, 0, sizeof kernel);
    world.asked = world.largest = 0;
    for (size_t i = 0; i < n; i++) {
        own[i] = &kernel[i];
    }
    bool done = kg_tprofile_dead(own, n, ask, kernel);
    for (size_t i = 0; done && i < n; i++) {
        assert_int_equal(kernel[i].dead || kernel[i].idle, !world.live[i]);
        assert_true(n > KG_TPROFILE_SINGLY || kernel[i].idle == world.idle[i]);
    }
    return done;
}

static void dead_are_found(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
    assert_true(find(0));
    assert_int_equal(world.asked, 0);
    world.live[0] = world.live[5] = true;
    assert_true(find(KG_TPROFILE_SINGLY)); /* one by one */
    assert_int_equal(world.asked, KG_TPROFILE_SINGLY);
    assert_int_equal(world.largest, 1);
    world.idle[1] = world.idle[7] = true;
    assert_true(find(KG_TPROFILE_SINGLY));
    memset(world.idle, 0, sizeof world.idle);
    assert_true(find(64)); /* by halves */
    assert_true(world.asked < 30);
    assert_int_equal(world.largest, 64);
    memset(world.live, 0, sizeof world.live);
    assert_true(find(64));
    assert_int_equal(world.asked, 1);
    world.end_at = 1;
    assert_false(find(3));
}

/* Of its own, and of one of these names. */
static void what_ran(void **state)
{
    (void)state;
    json_t *reply = json_pack("{s:[{s:s, s:s}, {s:s, s:s}]}", "kernels", "name", "relu", "class",
                              "own", "name", "gemm", "class", "library");
    static const struct {
        const char *names;
        bool ran;
    } cases[] = {{"[\"relu\"]", true}, {"[\"gemm\"]", false}, {"[\"other\"]", false},
                 {"[\"*\"]", true},    {"[]", false},         {"[\"a\", \"relu\"]", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *names = json_loads(cases[i].names, 0, NULL);
        assert_int_equal(kg_tprofile_ran(reply, names), cases[i].ran);
        assert_false(kg_tprofile_ran(NULL, names));
        json_decref(names);
    }
    json_decref(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(calls_add_up, fresh),
        cmocka_unit_test_setup(the_dead_cover_nothing, fresh),
        cmocka_unit_test_setup(nothing_ran, fresh),
        cmocka_unit_test_setup(owners_are_apart, fresh),
        cmocka_unit_test_setup(contradictions, fresh),
        cmocka_unit_test_setup(malformed, fresh),
        cmocka_unit_test_setup(names, fresh),
        cmocka_unit_test(plain_names),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(sources_with_kernels),
        cmocka_unit_test(dead_are_found),
        cmocka_unit_test(what_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
