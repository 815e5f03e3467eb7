/* kgym kernelbench as its users meet it. What needs PyTorch is skipped without it, with the reason.
 */
#include "kgym_rig.h"

static char skip_reason[512];

static int setup(void **state)
{
    char venv[600];
    struct stat st;
    if (rig_setup(state) != 0) {
        return -1;
    }
    snprintf(venv, sizeof venv, "%s/.venv/bin/python", getenv("T"));
    if (!getenv("KGYM_PYTHON") && stat(venv, &st) == 0) {
        setenv("KGYM_PYTHON", venv, 1);
    }
    rig_run("${KGYM_PYTHON:-python3} -c 'import torch' 2>&1 | tail -1");
    snprintf(skip_reason, sizeof skip_reason, "%.400s", rig.out.data);
    return 0;
}

#define NEEDS_TORCH()                                                                              \
    do {                                                                                           \
        if (skip_reason[0]) {                                                                      \
            print_message("skip: no torch: %s\n", skip_reason);                                    \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

#define MODEL                                                                                      \
    "import torch\nimport torch.nn as nn\n\nn = 64\n\n\nclass Model(nn.Module):\n"                 \
    "    def forward(self, x):\n        return x * 2 + 1\n\n\n"                                    \
    "def get_inputs():\n    return [torch.randn(n, n)]\n\n\n"                                      \
    "def get_init_inputs():\n    return []\n"
#define ANSWER(expr)                                                                               \
    "import torch\nimport torch.nn as nn\n\n\nclass ModelNew(nn.Module):\n"                        \
    "    def forward(self, x):\n        return " expr "\n"
#define KERNEL(p, s) "runs/demo/level_1_problem_" p "_sample_" s "_kernel.py"
#define EVAL         "$K kernelbench eval --run runs/demo --problems KernelBench --device cpu "

static void lay_out(void)
{
    rig_expect(0, "rm -rf runs KernelBench && mkdir -p runs/demo KernelBench/level1");
    rig_text("KernelBench/level1/1_twice.py", MODEL);
    rig_text("KernelBench/level1/2_again.py", MODEL);
    rig_text("KernelBench/level1/3_unasked.py", MODEL);
    rig_text(KERNEL("1", "0"), ANSWER("x + x + 1"));
    rig_text(KERNEL("1", "1"), ANSWER("x + x"));
    rig_text(KERNEL("2", "0"), "class ModelNew(\n");
}

static json_t *file(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    kg_buf_init(&b, 16u << 20);
    if (kg_file_read(path, &b, &err) != KG_OK ||
        kg_json_parse(b.data, b.len, path, &j, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    kg_buf_deinit(&b);
    return j;
}

/* "ok", "wrong" ...: the i-th entry of a problem in eval_results.json. */
static const char *verdict(const json_t *all, const char *problem, size_t i)
{
    const json_t *e = json_array_get(json_object_get(all, problem), i);
    return rig_get(json_object_get(json_object_get(e, "metadata"), "kgym"), "verdict");
}

static void test_a_run_becomes_results(void **state)
{
    (void)state;
    NEEDS_TORCH();
    lay_out();
    rig_expect(0, EVAL "--jobs 1 --pass-at-k 1,2");
    rig_shows("level 1: 3 problems, 3 kernels judged, 0 of them earlier\n");
    rig_shows("results   3: compiled 2, correct 1, timed 0\n");
    rig_shows("verdicts  ok 1, compile_error 1, wrong 1\n");
    json_t *all = file("runs/demo/eval_results.json");
    assert_string_equal(verdict(all, "1", 0), "ok");
    assert_string_equal(verdict(all, "1", 1), "wrong");
    assert_string_equal(verdict(all, "2", 0), "compile_error");
    json_decref(all);
    json_t *pass = file("runs/demo/pass_at_k_results.json");
    json_t *averages = json_object_get(pass, "averages");
    assert_true(json_real_value(json_object_get(averages, "avg_pass@1")) == 0.25);
    assert_true(json_real_value(json_object_get(averages, "avg_pass@2")) == 1.0);
    json_decref(pass);

    rig_text(KERNEL("1", "1"), ANSWER("x + x + 1.0")); /* what changed is judged, no more */
    rig_expect(0, EVAL "--jobs 1");
    rig_shows("3 kernels judged, 2 of them earlier\n");
    rig_shows("verdicts  ok 2, compile_error 1\n");

    rig_text(KERNEL("1", "0"), ANSWER("x"));
    rig_expect(0, "$K kernelbench eval run_name=demo dataset_src=local level=1 'subset=(1, 1)' "
                  "num_samples_per_problem=1 num_gpu_devices=1 eval_mode=local backend=triton "
                  "--device cpu");
    rig_shows("level 1: 1 problem, 1 kernel judged, 0 of them earlier\n");
    rig_shows("verdicts  ok 1, compile_error 1, wrong 1\n"); /* the others are still there */
    all = file("runs/demo/eval_results.json");
    assert_string_equal(verdict(all, "1", 0), "wrong");
    assert_int_equal(json_array_size(json_object_get(all, "1")), 2);
    json_decref(all);
    rig_nothing_left();
}

/* That project's own procedure: its trials, its tolerance, its words. */
static void test_by_their_own_procedure(void **state)
{
    (void)state;
    NEEDS_TORCH();
    lay_out();
    rig_text(KERNEL("1", "0"), ANSWER("(x + x + 1) * 1.00005"));
    rig_text(KERNEL("1", "1"), ANSWER("x + x"));
    rig_expect(0, EVAL "--jobs 1 --preset kernelbench num_correct_trials=3 num_perf_trials=10 "
                       "timing_method=cuda_event measure_performance=True");
    rig_shows("results   3: compiled 2, correct 1, timed 0\n");
    rig_shows("verdicts  ok 1, compile_error 1, wrong 1\n");
    json_t *all = file("runs/demo/eval_results.json");
    const json_t *right = json_array_get(json_object_get(all, "1"), 0);
    const json_t *wrong = json_array_get(json_object_get(all, "1"), 1);
    const json_t *metadata = json_object_get(wrong, "metadata");
    assert_string_equal(rig_get(json_object_get(right, "metadata"), "correctness_trials"),
                        "(3 / 3)");
    assert_null(json_object_get(json_object_get(right, "metadata"), "max_difference"));
    assert_string_equal(rig_get(metadata, "correctness_trials"), "(0 / 3)");
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(
            json_string_value(json_array_get(json_object_get(metadata, "max_difference"), i)),
            "1.000000");
    }
    assert_int_equal(json_array_size(json_object_get(metadata, "avg_difference")), 3);
    assert_null(
        json_object_get(json_object_get(json_array_get(json_object_get(all, "2"), 0), "metadata"),
                        "correctness_trials"));
    json_decref(all);
    rig_expect(0, "grep -c '\"rewards\": *{}' runs/demo/kgym_records.jsonl");
    rig_shows("3\n");
    rig_nothing_left();
}

/* A batch of replies becomes a run whose results the other verbs read. */
static void test_a_batch_becomes_a_run(void **state)
{
    (void)state;
    NEEDS_TORCH();
    lay_out();
    rig_text("reply.md", "Here it is.\n```python\n" ANSWER("x + x + 1") "```\n");
    rig_text("wrong.md", "```python\n" ANSWER("x") "```\n");
    rig_expect(0,
               "P=$PWD/$(ls KernelBench/level1/1_*.py | head -1); for r in reply wrong; do "
               "printf '{\"id\": \"%%s\", \"problem\": \"%%s\", \"reply_file\": \"%%s.md\"}\\n' "
               "$r $P $r; done > in.jsonl; $K eval --batch in.jsonl --out out.jsonl --device cpu "
               "--no-stage-timing");
    rig_expect(0, "$K kernelbench write --records out.jsonl --out made --problems KernelBench "
                  "--pass-at-k 1,2");
    rig_shows("level 1: 2 kernels, 0 records of other problems or levels left out\n"
              "results   2: compiled 2, correct 1, timed 0\n");
    json_t *all = file("made/eval_results.json");
    assert_string_equal(verdict(all, "1", 0), "ok");
    assert_string_equal(verdict(all, "1", 1), "wrong");
    json_decref(all);
    rig_expect(0, "grep -q 'x + x + 1' made/level_1_problem_1_sample_0_kernel.py && "
                  "jq -c .averages made/pass_at_k_results.json");
    rig_shows("{\"avg_pass@1\":0.5,\"avg_pass@2\":1");
    rig_expect(0, "$K kernelbench eval --run made --problems KernelBench --device cpu "
                  "--no-stage-timing --jobs 1");
    rig_shows(
        "2 kernels judged, 0 of them earlier"); /* byte for byte now, and as right as before */
    rig_shows("verdicts  ok 1, wrong 1\n");
    rig_expect(2, "$K kernelbench write --records out.jsonl --out made --level 2");
    rig_says("out.jsonl: none of its records is of level 2");
    rig_expect(0, "jq -e '.\"1\" | length == 2' made/eval_results.json"); /* as it was */
    rig_expect(2, "$K kernelbench write --records out.jsonl --out runs/demo");
    rig_says("kgym kernelbench: ");
    rig_expect(2, "$K kernelbench write --out made");
    rig_says("--records FILE and --out DIR are needed");
    rig_expect(2, "$K kernelbench write level=1");
}

/* What the host could not do is no result, and the exit status says so. */
static void test_errors_are_no_results(void **state)
{
    (void)state;
    lay_out();
    rig_text("no-torch", "#!/bin/sh\nexit 1\n");
    rig_expect(0, "chmod +x no-torch");
    rig_expect(2, EVAL "--jobs 1 --problem-ids 2 --set python=$PWD/no-torch --out results");
    rig_shows("results   0: compiled 0, correct 0, timed 0\nverdicts  none\n");
    rig_shows("left out  1 with an error, 0 not judged to the end\n");
    rig_says("  level_1_problem_2_sample_0: torch: ");
    json_t *all = file("results/eval_results.json");
    assert_int_equal(json_object_size(all), 0);
    json_decref(all);
}

#define RESULT(compiled, correct, ms)                                                              \
    "[{\"sample_id\": 0, \"compiled\": " compiled ", \"correctness\": " correct                    \
    ", \"metadata\": {}, \"runtime\": " ms ", \"runtime_stats\": {}}]"

static void test_metrics_of_anybodys_results(void **state)
{
    (void)state;
    rig_expect(0, "rm -rf runs && mkdir -p runs/theirs results/timing/H100_X");
    rig_text("runs/theirs/eval_results.json",
             "{\"1\": " RESULT("true", "true", "1.0") ", \"2\": " RESULT(
                 "true", "true", "4.0") ", \"3\": " RESULT("true", "false", "-1.0") "}");
    rig_text("results/timing/H100_X/torch.json",
             "{\"level1\": {\"1_a.py\": {\"mean\": 2.0}, \"2_b.py\": {\"mean\": 8.0}, "
             "\"3_c.py\": {\"mean\": 1.0}, \"4_d.py\": {\"mean\": 1.0}}}");
    rig_expect(0, "$K kernelbench analyze --run runs/theirs/ --level 1 --baseline "
                  "results/timing/H100_X/torch.json");
    rig_shows("run theirs, level 1, against torch on H100_X\n");
    rig_shows("4 problems with a baseline: 3 have a sample 0, 3 compiled (75.0 %), 2 correct "
              "(50.0 %)\n");
    rig_shows("3 digits                 0.500   0.500   0.500   0.500   0.500   0.000   2.000\n");
    rig_expect(0, "$K kernelbench analyze run_name=theirs level=1 hardware=H100_X baseline=torch "
                  "output_file=a.json --json >b.json && cmp a.json b.json");
    json_t *j = file("a.json");
    assert_string_equal(rig_get(j, "hardware"), "H100_X");
    assert_true(json_real_value(json_object_get(j, "geo_mean_speedup")) > 1.999999);
    assert_true(json_real_value(json_object_get(j, "compilation_rate")) == 0.75);
    json_decref(j);
    rig_expect(0, "$K kernelbench analyze run_name=theirs level=1 hardware=H100_X baseline=torch "
                  "--problem-ids 3-4");
    rig_shows("2 problems with a baseline");
    static const char *const inputs[] = {"runs/theirs/eval_results.json",
                                         "runs/theirs/pass_at_k_results.json",
                                         "results/timing/H100_X/torch.json"};
    rig_text(inputs[1], "{\"averages\": {}}");
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        rig_expect(0, "cp %s was", inputs[i]);
        rig_expect(2,
                   "$K kernelbench analyze run_name=theirs level=1 hardware=H100_X baseline=torch "
                   "output_file=./%s",
                   inputs[i]);
        rig_says("this is the same file as the input ");
        rig_expect(0, "cmp %s was", inputs[i]);
    }
    rig_expect(2, "$K kernelbench eval --run runs/theirs --problems $T/problems/torch");
    rig_says("no kernel there");
    rig_text("runs/theirs/level_1_problem_1_sample_0_kernel.py", "");
    rig_expect(2, "$K kernelbench eval --run runs/theirs --problems $T/problems/torch");
    rig_says("runs/theirs/eval_results.json: kgym did not write this file");
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *command, *message;
    } table[] = {
        {"", "`eval`, `analyze` or `write` is needed"},
        {"evla", "unknown word `evla`; did you mean `eval`?"},
        {"eval", "--run DIR (or run_name=) is needed"},
        {"eval --run r", "--problems DIR (or dataset_src=local) is needed"},
        {"eval --run r --problems", "--problems: a value is needed"},
        {"eval --run nowhere --problems p", "nowhere: cannot open"},
        {"eval --run . --problems . --level 0", "level `0`: a number from 1 to 99 is needed"},
        {"eval --run . --problems . --level=x", "level `x`: a number"},
        {"eval --run . --problem p", "unknown option `--problem`; did you mean `--problems`?"},
        {"eval --run . --samples 1-", "--samples `1-`: numbers from 0"},
        {"eval --run . --problems p --pass-at-k 0", "k is a number from 1 to 1000"},
        {"eval --run . --baseline b", "unknown option `--baseline`"},
        {"eval --run . extra", "unknown word `extra`"},
        {"eval --preset strict", "preset `strict` is not built yet"},
        {"eval run_nam=x", "unknown word `run_nam=`; did you mean `run_name=`?"},
        {"eval dataset_src=huggingface",
         "dataset_src=huggingface: problems are read from a folder"},
        {"eval eval_mode=modal", "eval_mode=modal: there is `local`"},
        {"eval backend=tilelang", "backend=tilelang: there are `cuda` and `triton`"},
        {"eval num_perf_trials=100", "num_perf_trials=: it belongs to the evaluation preset "
                                     "`kernelbench` (--preset kernelbench); kgym's own protocol "
                                     "decides"},
        {"eval num_correct_trials=5", "num_correct_trials=: it belongs to the evaluation preset"},
        {"eval timing_method=cuda_event", "timing_method=: it belongs to the evaluation preset"},
        {"eval --preset kernelbench timing_method=do_bench",
         "timing_method=do_bench: there is `cuda_event`"},
        {"eval --preset kernelbench num_correct_trials=0", "kernelbench.trials"},
        {"eval --preset kernelbench num_perf_trials=9999",
         "timing.trials: the protocol `kernelbench` wants it 5000 at most"},
        {"eval gpu_arch=Hopper", "gpu_arch=: not taken here"},
        {"eval build_cache=True", "build_cache=: not taken here"},
        {"eval hardware=H100", "hardware=: a word of `kgym kernelbench analyze`"},
        {"eval measure_performance=1", "measure_performance=1: True or False is needed"},
        {"eval num_samples_per_problem=0", "num_samples_per_problem=0: a number from 1"},
        {"eval 'subset=1,2,3'", "subset `1,2,3`: a pair is needed"},
        {"eval timeout=soon", "torch.deadline_eval"},
        {"eval precision=fp16", "precision: `fp16` belongs to the preset `kernelbench`"},
        {"eval precision=fp8", "precision: `fp8` is not built yet"},
        {"analyze run_name=x", "--baseline FILE (or hardware= and baseline=) is needed"},
        {"analyze --run . --baseline b --jobs 2", "unknown option `--jobs`"},
        {"analyze --run . --baseline b", "--level L is needed: "},
        {"analyze --run . --baseline b --level 1", "./eval_results.json"},
        {"analyze timeout=3", "timeout=: a word of `kgym kernelbench eval`"},
    };
    rig_expect(0, "rm -f eval_results.json");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig_expect(2, "$K kernelbench %s", table[i].command);
        rig_says("kgym kernelbench: ");
        rig_says(table[i].message);
        assert_int_equal(rig.out.len, 0);
    }
    rig_expect(0,
               "mkdir -p bad && echo '{\"1\": [{}]}' >bad/eval_results.json && echo '{}' >b.json");
    rig_expect(2, "$K kernelbench analyze --run bad --level 1 --baseline b.json");
    rig_says("bad/eval_results.json: 1[0].sample_id: a number from 0 is needed");
    rig_expect(0, "echo '{}' >bad/eval_results.json");
    rig_expect(2, "$K kernelbench analyze --run bad --level 1 --baseline b.json");
    rig_says("b.json: level1: missing");
    rig_expect(0, "echo '{\"level1\": {\"1_a.py\": {\"mean\": NaN}}}' >b.json");
    rig_expect(2, "$K kernelbench analyze --run bad --level 1 --baseline b.json");
    rig_says("b.json:1:");
    rig_expect(0, "echo '{\"level1\": {\"1_a.py\": {\"mean\": 1}}}' >b.json");
    rig_expect(0, "echo '[]' >bad/pass_at_k_results.json");
    rig_expect(2, "$K kernelbench analyze --run bad --level 1 --baseline b.json");
    rig_says("bad/pass_at_k_results.json: averages: an object is needed");
}

static void test_it_helps_and_completes(void **state)
{
    (void)state;
    static const char *const words[] = {"usage: kgym kernelbench eval",
                                        "--problems DIR",
                                        "--baseline FILE",
                                        "examples:",
                                        "exit status: 0",
                                        " run_name=",
                                        " subset=",
                                        " baseline_file="};
    rig_expect(0, "$K kernelbench --help");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        rig_shows(words[i]);
    }
    rig_expect(0, "$K kernelbench eval --help");
    rig_shows("usage: kgym kernelbench eval");
    rig_expect(0, "$K --help");
    rig_shows("\n  kernelbench ");
    rig_expect(0, "$K kernelbench eval --run r --problems p --device cpu --dump-config");
    rig_shows("device: \"cpu\"");
    rig_expect(0,
               "$K completion > c.bash && bash -n c.bash && bash -c '. ./c.bash; "
               "ask() { COMP_WORDS=(kgym \"$@\"); COMP_CWORD=$#; _kgym; echo \"${COMPREPLY[@]}\"; "
               "}; ask kernelbench a; ask kernelbench eval --prob; ask kernelbench eval num_g; "
               "ask kernelbench analyze --b; ask kernelbench analyze base'");
    rig_shows("analyze\n--problems --problem-ids\nnum_gpu_devices=\n--baseline\nbaseline= "
              "baseline_file=\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_becomes_results),
        cmocka_unit_test(test_by_their_own_procedure),
        cmocka_unit_test(test_a_batch_becomes_a_run),
        cmocka_unit_test(test_errors_are_no_results),
        cmocka_unit_test(test_metrics_of_anybodys_results),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_it_helps_and_completes),
    };
    return cmocka_run_group_tests(tests, setup, rig_teardown);
}
