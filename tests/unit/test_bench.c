/* Every bench runs with tiny counts and ends with a line that a reader can keep; the page of
 * measurements is printed from such lines. Numbers are not looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "sanitized.h"

static const char *skipped; /* why, for all tests */
static char folder[64], tree[512], build[512];
static char peer[128] = "/nowhere"; /* the interpreter that bench_lm compares with */
static struct kg_buf kept;          /* last lines of the benches that ran */

/* Exit status; what it printed on stdout, in *out (initialised here). */
static int run(const char *command, struct kg_buf *out)
{
    char chunk[4096];
    kg_buf_init(out, 16u << 20);
    FILE *p = popen(command, "r");
    if (p == NULL) {
        return -1;
    }
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, p)) > 0;) {
        kg_buf_add(out, chunk, n);
    }
    int status = pclose(p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_quietly(const char *command)
{
    struct kg_buf out;
    int status = run(command, &out);
    kg_buf_deinit(&out);
    return status;
}

static void need(void)
{
    if (skipped != NULL) {
        printf("skip: %s\n", skipped);
        skip();
    }
}

static void need_jq(void)
{
    need();
    if (run_quietly("command -v jq >/dev/null") != 0) {
        printf("skip: jq is missing, which prints the page of measurements\n");
        skip();
    }
}

static const char *build_benches(void)
{
    const char *b = getenv("KGYM_BUILD"), *t = getenv("KGYM_TREE");
    char command[2048];
    if (b == NULL || t == NULL) {
        return "benches: KGYM_BUILD and KGYM_TREE are not set; run tests/run.sh";
    }
    snprintf(build, sizeof build, "%s", b);
    snprintf(tree, sizeof tree, "%s", t);
    const char *variant = strrchr(b, '/');
    if (variant == NULL || is_sanitized(b)) {
        return "benches: they measure, sanitized builds do not";
    }
    snprintf(command, sizeof command, "%s/build%s", tree, variant);
    if (strcmp(command, build) != 0) {
        return "benches: the build folder is not one of this tree";
    }
    snprintf(command, sizeof command,
             "cd '%s' && env -u MAKEFLAGS -u MAKELEVEL make -s --no-print-directory VARIANT='%s' "
             "$(ls bench/bench_*.c | sed 's,^\\(.*\\)\\.c$,build%s/\\1,') 2>&1",
             tree, variant + 1, variant);
    struct kg_buf out;
    bool made = run(command, &out) == 0;
    if (!made) {
        printf("%s\n", out.data);
    }
    kg_buf_deinit(&out);
    return made ? NULL : "benches: make cannot build them";
}

static int set_up(void **state)
{
    (void)state;
    kg_buf_init(&kept, 16u << 20);
    snprintf(folder, sizeof folder, "/tmp/kgym-test-bench-XXXXXX");
    skipped = build_benches();
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_deinit(&kept);
    return kg_file_remove_tree(folder, &err) == KG_OK ? 0 : -1;
}

static void bench(const char *name, const char *args)
{
    char command[2048];
    struct kg_buf out;
    need();
    snprintf(command, sizeof command,
             "cd '%s' && KGYM_BUILD='%s' KGYM_PEER_PYTHON='%s' timeout 60 '%s/bench/bench_%s' %s",
             folder, build, peer, build, name, args);
    assert_int_equal(run(command, &out), 0);
    assert_true(out.len > 2 && out.data[out.len - 1] == '\n');
    out.data[--out.len] = 0;
    const char *line = strrchr(out.data, '\n');
    assert_non_null(line); /* a table comes before it */
    json_t *j;
    struct kg_err err = KG_ERR_INIT;
    if (kg_json_parse(line + 1, strlen(line + 1), name, &j, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(json_string_value(json_object_get(j, "bench")), name);
    assert_true(json_is_string(json_object_get(json_object_get(j, "host"), "date")));
    assert_true(json_is_string(json_object_get(json_object_get(j, "host"), "cpu")));
    assert_true(json_object_size(json_object_get(j, "result")) > 0);
    json_decref(j);
    kg_buf_addf(&kept, "{\"command\":\"bench_%s %s\",\"mode\":\"test\",%s\n", name, args, line + 2);
    kg_buf_deinit(&out);
}

static void extract_runs(void **state)
{
    (void)state;
    bench("extract", "3");
}

static void separation_runs(void **state)
{
    (void)state;
    bench("separation", "16");
}

/* Status 0 says that no honest order of a sum was refused. */
static void sum_orders_runs(void **state)
{
    (void)state;
    bench("sum_orders", "2 row_stats");
}

static void lm_runs(void **state)
{
    (void)state;
    bench("lm", "1");
}

/* What it is compared with answers each word by a line; one that it cannot do is left out. */
static void lm_runs_beside_a_peer(void **state)
{
    (void)state;
    static const char script[] = "#!/bin/sh\necho torch of a test\nwhile read -r word; do\n"
                                 "  [ \"$word\" = sample ] && echo none || echo 2000\ndone\n";
    struct kg_err err = KG_ERR_INIT;
    need();
    snprintf(peer, sizeof peer, "%s/peer", folder);
    assert_int_equal(kg_file_write_atomic(peer, script, sizeof script - 1, &err), KG_OK);
    assert_int_equal(chmod(peer, 0755), 0);
    bench("lm", "2");
    snprintf(peer, sizeof peer, "/nowhere");
    const char *line = strstr(kept.data, "torch of a test");
    assert_non_null(line);
    assert_non_null(strstr(line, "\"train_torch\":{\"best\":2000.0,"));
    assert_null(strstr(line, "sample_transformers"));
}

static void sandbox_runs(void **state)
{
    (void)state;
    bench("sandbox", "3 3 4");
}

static void throughput_runs(void **state)
{
    (void)state;
    bench("throughput", "2 2 0");
}

static void staged_runs(void **state)
{
    (void)state;
    bench("staged", "20 2");
}

static void memory_runs(void **state)
{
    (void)state;
    bench("memory", "40 5");
}

/* Status 0 says that every candidate was right. */
static void chains_runs(void **state)
{
    (void)state;
    bench("chains", "1 0");
}

/* The styles of two chains are admitted; a law that a chain leaves out refuses some. */
static void chain_margins_tell(void **state)
{
    (void)state;
    char command[1024];
    bench("chain_margins", "2");
    snprintf(command, sizeof command,
             "KGYM_BUILD='%s' '%s/bench/bench_chain_margins' 1 7 all abs_logsm_rmax >/dev/null",
             build, build);
    assert_int_equal(run_quietly(command), 1);
}

/* Status 0 says that every candidate was right. */
static void train_eval_runs(void **state)
{
    (void)state;
    bench("train_eval", "1 1 2");
}

static void refine_runs(void **state)
{
    (void)state;
    bench("refine", "2 1 2");
}

static void train_share_runs(void **state)
{
    (void)state;
    bench("train_share", "1 1 corpus.documents=500 rl.groups=2 rl.rollouts=2");
}

static void train_memory_runs(void **state)
{
    (void)state;
    bench("train_memory", "12 3");
}

static void timing_runs(void **state)
{
    (void)state;
    bench("timing", "2 '5 us'");
}

/* Records of four measurements with 8 pairs each, and one that has too few. */
static void torch_ratio_runs(void **state)
{
    (void)state;
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    char path[128];
    kg_buf_init(&text, 1u << 20);
    for (int m = 0; m < 5; m++) {
        kg_buf_adds(&text, "{\"problem\":{\"sha256\":\"ab\"},\"timing\":{\"samples\":[");
        for (int block = 0; block < (m < 4 ? 2 : 1); block++) {
            kg_buf_addf(&text,
                        "%s{\"reference_ns\":[%d,2010000,2000000,2020000],"
                        "\"candidate_ns\":[1000000,1010000,%d,1000000],"
                        "\"candidate_first\":[true,false,false,true]}",
                        block > 0 ? "," : "", 2000000 + 1000 * m, 1000000 + 3000 * block);
        }
        kg_buf_adds(&text, "]}}\n");
    }
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    assert_int_equal(kg_file_write_atomic(path, text.data, text.len, &err), KG_OK);
    kg_buf_deinit(&text);
    bench("torch_ratio", "records.jsonl 100");
    assert_non_null(strstr(kept.data, "\"measurements\":4,\"draws\":100,"));
}

static void wrong_arguments_and_a_missing_kgym_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *environment, *bench, *args, *says;
    } calls[] = {
        {"", "throughput", "no", ""},
        {"", "throughput", "1", ""},
        {"", "staged", "19", ""},
        {"", "sandbox", "2", ""},
        {"", "memory", "20x", ""},
        {"KGYM_BUILD=/nowhere", "memory", "20", ""},
        {"", "train_memory", "9", ""},
        {"KGYM_BUILD=/nowhere", "train_share", "1 1", "kgym train failed"},
        {"", "train_share", "1 1 rl.grups=2", ""},
        {"", "torch_ratio", "", "usage: "},
        {"", "torch_ratio", "/nowhere", ""},
        {"", "torch_ratio", "/dev/null", "/dev/null: no record with 8 pairs"},
        {"", "torch_throughput", "8 1 0 cuda:0 0 medium", "no problems are called medium: "},
    };
    need();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char command[2048];
        snprintf(command, sizeof command, "%s '%s/bench/bench_%s' %s 2>'%s/message'",
                 calls[i].environment, build, calls[i].bench, calls[i].args, folder);
        assert_int_equal(run_quietly(command), 2);
        snprintf(command, sizeof command, "grep -q '^bench: %s' '%s/message'", calls[i].says,
                 folder);
        assert_int_equal(run_quietly(command), 0);
    }
}

/* In a copy of the tree's corner that the script looks at. */
static int page(const char *results, struct kg_buf *out)
{
    char command[2048], path[128];
    struct kg_err err = KG_ERR_INIT;
    snprintf(command, sizeof command,
             "cd '%s' && rm -rf bench tools && mkdir -p bench/results tools && "
             "cp '%s'/tools/benchmarks.sh '%s'/tools/benchmarks.jq tools/",
             folder, tree, tree);
    assert_int_equal(run_quietly(command), 0);
    snprintf(path, sizeof path, "%s/all", folder);
    assert_int_equal(kg_file_write_atomic(path, results, strlen(results), &err), KG_OK);
    snprintf(command, sizeof command,
             "cd '%s' && while IFS= read -r l; do n=${l#*\\\"bench\\\":\\\"}; "
             "printf '%%s\\n' \"$l\" >bench/results/${n%%%%\\\"*}.jsonl; done <all && "
             "tools/benchmarks.sh 2>/dev/null",
             folder);
    return run(command, out);
}

static void the_page_has_a_section_for_every_bench_that_ran(void **state)
{
    (void)state;
    static const char *const titles[] = {
        "## Throughput", "## What staged", "## What the sandbox", "## Memory",
        "## Timing",     "## Extraction",  "## Reordering",       "`bench_staged 20 2`",
        "| axpby |",     "| judge | ",     "| runner: all steps", "| paired | ",
        "## The engine", "| train |",      "| outside |",         "## Memory of a training run"};
    need_jq();
    struct kg_buf out;
    assert_int_equal(page(kept.data, &out), 0);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        if (strstr(out.data, titles[i]) == NULL) {
            fail_msg("no `%s` in:\n%s", titles[i], out.data);
        }
    }
    assert_null(strstr(out.data, "null"));
    kg_buf_deinit(&out);
    assert_int_equal(page("", &out), 0);
    assert_non_null(strstr(out.data, "no kept results yet"));
    kg_buf_deinit(&out);
    assert_int_not_equal(page("{\"bench\":\"memory\",\"result\":{}}\n", &out), 0);
    kg_buf_deinit(&out);
}

/* A line of the null test, with a row of each median and what it ends in. */
#define NULL_ROW(median, end)                                                                      \
    "{\"kernel\":\"1 ms\",\"load\":\"alone\",\"median_us\":" median                                \
    ",\"k_us_median_p10_p90\":[4,3,5],\"within_pct_0.5_1_2_5\":[80,90,95,100],\"pairs\":9," end    \
    "}"
#define NULL_LINE(rows)                                                                            \
    "{\"commit\":\"abc\",\"command\":\"x\",\"mode\":\"usual\",\"bench\":\"torch_null\","           \
    "\"host\":{\"kgym\":\"0\",\"cpu\":\"c\",\"cores\":1,\"kernel\":\"k\",\"compiler\":\"g\","      \
    "\"date\":\"d\",\"load_1_min\":0},\"result\":{\"repetitions\":2,\"device\":\"D\",\"rows\":"    \
    "[" rows "]}}\n"

/* A kernel's rows at its last commit, all of them. */
static void the_page_hides_no_row_of_a_commit(void **state)
{
    (void)state;
#define RATIOS "\"log_ratios\":[0.1,0.2]"
    static const char line[] = NULL_LINE(NULL_ROW("801.5", RATIOS) "," NULL_ROW("802.5", RATIOS));
    struct kg_buf out;
    need_jq();
    assert_int_equal(page(line, &out), 0);
    assert_non_null(strstr(out.data, "801.5"));
    assert_non_null(strstr(out.data, "802.5"));
    kg_buf_deinit(&out);
}

/* What candidates differ by, and what references do beyond that: none, or nobody knows. */
static void the_page_tells_whose_process_differs(void **state)
{
    (void)state;
    static const struct {
        const char *line, *want;
    } list[] = {
        {NULL_LINE(NULL_ROW("1", "\"references_upto\":[2,4],\"log_ratios\":[0.00,0.02,0.04,0.06]")),
         "| 1.41 % | 2.65 % |"},
        {NULL_LINE(NULL_ROW("1", "\"references_upto\":[2,4],\"log_ratios\":[0.00,0.02,0.02,0.00]")),
         "| 1.41 % | 0.00 % |"},
        {NULL_LINE(NULL_ROW("1", "\"log_ratios\":[0.00,0.02]")), "| 1.41 % | - |"},
        {NULL_LINE(NULL_ROW("1", "\"references_upto\":[1,2],\"log_ratios\":[0.00,0.02]")),
         "| - | - |"},
    };
    need_jq();
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct kg_buf out;
        assert_int_equal(page(list[i].line, &out), 0);
        assert_non_null(strstr(out.data, list[i].want));
        kg_buf_deinit(&out);
    }
}

/* All benches of the service, by their script. */
static void service_benches_run(void **state)
{
    static const char *const names[] = {"svc_batch", "svc_http", "svc_workers", "svc_idle"};
    char command[2048];
    (void)state;
    need();
    snprintf(command, sizeof command,
             "BENCH_OUT='%s/svc' timeout 200 '%s/bench/svc.sh' '%s' quick >/dev/null", folder, tree,
             build);
    assert_int_equal(run_quietly(command), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(command, sizeof command,
                 "grep -q '^{\"bench\":\"%s\",\"host\":.*}$' '%s/svc/svc.jsonl'", names[i], folder);
        assert_int_equal(run_quietly(command), 0);
    }
}

static void endpoint_runs(void **state)
{
    char command[1200];
    (void)state;
    need();
    snprintf(command, sizeof command,
             "timeout 60 '%s/bench/bench_endpoint' 20 8 10 | tail -n 1 | "
             "grep -q '^{\"bench\":\"endpoint\",\"host\":.*\"cpu_share\":.*}$'",
             build);
    assert_int_equal(run_quietly(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoint_runs),
        cmocka_unit_test(extract_runs),
        cmocka_unit_test(separation_runs),
        cmocka_unit_test(sum_orders_runs),
        cmocka_unit_test(lm_runs),
        cmocka_unit_test(lm_runs_beside_a_peer),
        cmocka_unit_test(sandbox_runs),
        cmocka_unit_test(throughput_runs),
        cmocka_unit_test(staged_runs),
        cmocka_unit_test(memory_runs),
        cmocka_unit_test(chains_runs),
        cmocka_unit_test(chain_margins_tell),
        cmocka_unit_test(train_eval_runs),
        cmocka_unit_test(refine_runs),
        cmocka_unit_test(train_share_runs),
        cmocka_unit_test(train_memory_runs),
        cmocka_unit_test(timing_runs),
        cmocka_unit_test(torch_ratio_runs),
        cmocka_unit_test(service_benches_run),
        cmocka_unit_test(wrong_arguments_and_a_missing_kgym_are_errors),
        cmocka_unit_test(the_page_has_a_section_for_every_bench_that_ran),
        cmocka_unit_test(the_page_hides_no_row_of_a_commit),
        cmocka_unit_test(the_page_tells_whose_process_differs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
