/* A C kernel that only some kinds of values find wrong is never right by chance: each evaluation
 * asks all of them, and a process that is timed meets them, too. Its honest twin always is right.
 * Each evaluation is a program of its own, so none has what another one asked. */
#include "kgym_rig.h"

#define TURNS 3

/* Mean and variance of rows in two passes, or in one where `careless` holds: its squares lose their
 * digits where the mean is large. */
static void put(const char *file, const char *careless)
{
    char text[1600];
    snprintf(text, sizeof text,
             "#include <stdint.h>\n"
             "void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)\n"
             "{\n    for (int64_t i = 0; i < rows; i++) {\n"
             "        const float *r = x + i * cols;\n"
             "        if (%s) {\n"
             "            float s[16] = {0}, q[16] = {0}, a = 0, b = 0;\n"
             "            for (int64_t j = 0; j < cols; j++) {\n"
             "                s[j %% 16] += r[j];\n                q[j %% 16] += r[j] * r[j];\n"
             "            }\n"
             "            for (int k = 0; k < 16; k++) { a += s[k]; b += q[k]; }\n"
             "            mean[i] = a / cols;\n"
             "            var[i] = b / cols - mean[i] * mean[i];\n"
             "            continue;\n        }\n"
             "        double m = 0, v = 0;\n"
             "        for (int64_t j = 0; j < cols; j++) { m += r[j]; }\n        m /= cols;\n"
             "        for (int64_t j = 0; j < cols; j++) { v += (r[j] - m) * (r[j] - m); }\n"
             "        mean[i] = (float)m;\n        var[i] = (float)(v / cols);\n    }\n}\n",
             careless);
    rig_text(file, text);
}

static void each_time(const char *file, const char *options, const char *verdict)
{
    for (int i = 0; i < TURNS; i++) {
        rig_expect(0, "$K eval row_stats %s %s --json | jq -r .verdict", file, options);
        assert_string_equal(rig.out.data, verdict);
    }
}

static void a_law_is_no_lottery(void **state)
{
    (void)state;
    put("careless.c", "cols > 1");
    put("careful.c", "0");
    each_time("careless.c", "--no-stage-timing", "wrong\n");
    each_time("careless.c", "--no-stage-timing --preset train", "wrong\n");
    each_time("careful.c", "--no-stage-timing", "ok\n");
    each_time("careful.c", "--preset train", "ok\n");
}

static void nor_at_the_published_shape(void **state)
{
    (void)state;
    put("there.c", "rows == 768 && cols == 768");
    put("careful.c", "0");
    each_time("there.c", "--set timing.min_processes=5", "wrong\n");
    each_time("careful.c", "", "ok\n");
}

/* `train` times few calls, and asks a law at the published shape at once where a sibling was asked
 * there: of many candidates of one problem few are lucky. By chance alone it would be a quarter. */
static void nor_among_siblings(void **state)
{
    (void)state;
    put("there.c", "rows == 768 && cols == 768");
    rig_expect(0, "jq -nc --rawfile s there.c 'range(128) | {id: tostring, problem: \"row_stats\", "
                  "source: ($s + \"/* \\(.) */\")}' >in.jsonl && "
                  "$K eval --batch in.jsonl --out out.jsonl --preset train --jobs 1 "
                  "--no-stage-timing 2>/dev/null >/dev/null; "
                  "jq -r .verdict out.jsonl | grep -c '^wrong$'");
    long n = strtol(rig.out.data, NULL, 10);
    if (n < 128 - 14) {
        fail_msg("only %ld of 128 are wrong", n);
    }
}

/* Training asks what no law of values shows, too: narrow operands, and answers that were kept. */
static void training_asks_the_probe_and_an_edit(void **state)
{
    (void)state;
    put("careful.c", "0");
    rig_expect(0, "$K eval row_stats careful.c --preset train --no-stage-timing --json | jq -r "
                  "'.private.full | map(select(.law == \"precision\" or .edited).variant) | "
                  "join(\" \")'");
    assert_true(strcmp(rig.out.data, "default default\n") == 0 ||
                strcmp(rig.out.data, "default quarter\n") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_law_is_no_lottery),
        cmocka_unit_test(nor_at_the_published_shape),
        cmocka_unit_test(nor_among_siblings),
        cmocka_unit_test(training_asks_the_probe_and_an_edit),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
