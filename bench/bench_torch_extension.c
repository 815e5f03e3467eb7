/* What the cache of builds is worth: time to verdict of candidates that compile, cold (nobody has
 * judged the source before) and warm (the same sources again, in another kgym). Stages as the
 * records have them, so without the start of Python; off: without a cache, where an evaluation that
 * uses several processes builds in each.
 *   build/release/bench/bench_torch_extension [sources=2] [device=auto]
 * On a GPU a CUDA extension and a Triton kernel, timed; on a CPU a C++ extension, which is not.
 * Fails unless all are right, the cold ones found nothing, and the warm ones what the cold ones
 * left. Python is $KGYM_PYTHON, else that of `make torch`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bench/common/host.h"

#define MOST 64

enum { OFF, COLD, WARM, RUNS };
static const char *const names[RUNS] = {"off", "cold", "warm"};

struct kind {
    const char *name, *template;
    bool gpu;
};
static const struct kind kinds[] = {{"C++ extension", "extension_cpp", false},
                                    {"CUDA extension", "extension_cuda", true},
                                    {"Triton", "relu", true}};

static struct kg_err err;

/* The shipped ReLU; where a CPU computes it, on less. */
static void make_problem(bool gpu)
{
    char path[640];
    struct kg_buf text;
    snprintf(path, sizeof path, "%s/problems/torch/level1/27_relu.py", kg_bench_tree());
    kg_buf_init(&text, 1u << 20);
    kg_bench_need_ok(kg_file_read(path, &text, &err), &err);
    kg_bench_fill(&text, "4096", gpu ? 4096 : 256);
    kg_bench_write("relu.py", text.data, text.len);
    kg_buf_deinit(&text);
}

static void make_sources(const struct kind *k, int n)
{
    char path[640], problem[640];
    struct kg_buf lines;
    make_problem(k->gpu);
    snprintf(problem, sizeof problem, "%s/relu.py", kg_bench_folder());
    snprintf(path, sizeof path, "%s/bench/torch/%s.py.in", kg_bench_tree(), k->template);
    kg_buf_init(&lines, 16u << 20);
    for (int i = 0; i < n; i++) {
        struct kg_buf text;
        kg_buf_init(&text, 1u << 20);
        kg_bench_need_ok(kg_file_read(path, &text, &err), &err);
        kg_bench_fill(&text, "@number@", i);
        if (strstr(text.data, "@block@") != NULL) {
            kg_bench_fill(&text, "@block@", 1024);
            kg_bench_fill(&text, "@warps@", 4);
        }
        kg_bench_line(&lines, i, problem, "source", text.data);
        kg_buf_deinit(&text);
    }
    kg_bench_write("all.jsonl", lines.data, lines.len);
    kg_buf_deinit(&lines);
}

static bool restored(const json_t *record)
{
    size_t i;
    const json_t *e;
    json_array_foreach(json_object_get(record, "evidence"), i, e)
    {
        if (json_is_true(json_object_get(e, "restored"))) {
            return true;
        }
    }
    return false;
}

struct seen {
    bool warm;
    int n;
};

/* All right, and built by whom they should be. */
static void check(const json_t *r, void *ctx)
{
    struct seen *seen = ctx;
    const char *verdict = json_string_value(json_object_get(r, "verdict"));
    const json_t *e = json_object_get(r, "error");
    const char *why = json_string_value(json_object_get(json_is_object(e) ? e : r, "message"));
    kg_bench_need(verdict != NULL && strcmp(verdict, "ok") == 0, "a candidate is not ok: %s",
                  why != NULL ? why : "");
    kg_bench_need(restored(r) == seen->warm, "a candidate %s what another evaluation had built",
                  seen->warm ? "did not find" : "found");
    seen->n++;
}

/* Seconds of one evaluation, the mean. */
static double run(int n, int which, const char *device, struct kg_bench_tally *t)
{
    char cache[320], at[64];
    double ms = 0;
    struct seen seen = {.warm = which == WARM};
    snprintf(at, sizeof at, "device=%s", device);
    snprintf(cache, sizeof cache, "cache=%s/cache", kg_bench_folder());
    const char *const options[] = {at, which == OFF ? NULL : cache, NULL};
    const struct kg_bench_batch batch = {"all.jsonl", "out.jsonl", 1, options};
    kg_bench_batch_run(&batch);
    kg_bench_tally("out.jsonl", t);
    kg_bench_records("out.jsonl", check, &seen);
    kg_bench_need(seen.n == n, "%d records of %d candidates", seen.n, n);
    for (int s = 0; s < KG_ST_COUNT; s++) {
        ms += t->stage_ms[s];
    }
    return ms * 1e-3;
}

static json_t *measure(const struct kind *k, int n, const char *device)
{
    struct kg_bench_tally t[RUNS];
    double s[RUNS], rest[RUNS] = {0};
    json_t *seconds = json_object(), *stages = json_object();
    make_sources(k, n);
    for (int i = 0; i < RUNS; i++) {
        s[i] = run(n, i, device, &t[i]);
        json_object_set_new(seconds, names[i], json_real(s[i]));
        json_object_set_new(stages, names[i], kg_bench_stages(&t[i]));
    }
    printf("%s on %s, %d sources: cold %.2f s to the verdict, warm %.2f s: %.1f times faster (no "
           "cache: %.2f s)\n",
           k->name, device, n, s[COLD], s[WARM], s[COLD] / s[WARM], s[OFF]);
    kg_bench_print_stages(names, t, rest, RUNS);
    return json_pack("{s:s, s:o, s:f, s:o}", "kind", k->name, "seconds", seconds, "cold_over_warm",
                     s[COLD] / s[WARM], "stage_ms", stages);
}

int main(int argc, char **argv)
{
    int n = kg_bench_count(argc, argv, 1, 1, MOST, 2);
    const char *device = argc > 2 ? argv[2] : "auto";
    json_t *results = json_array();
    if (strcmp(device, "auto") == 0) {
        device = kg_file_exists("/dev/nvidiactl") ? "cuda:0" : "cpu";
    }
    bool gpu = strcmp(device, "cpu") != 0;
    if (gpu) {
        kg_bench_need_gpu(device);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].gpu == gpu) {
            json_array_append_new(results, measure(&kinds[i], n, device));
        }
    }
    kg_bench_json("torch_extension",
                  json_pack("{s:i, s:s, s:o}", "sources", n, "device", device, "kinds", results));
    return 0;
}
