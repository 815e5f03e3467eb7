/* How many distinct correct Triton candidates per second one GPU judges, the full pipeline, cold:
 * every source is another one (kernels of bench/torch with a number, a block size and a number of
 * warps of their own). Beside it, on some of the same sources, what is done without a gym: a fresh
 * interpreter per evaluation, one comparison, 50 calls timed by events.
 *   build/release/bench/bench_torch_throughput [candidates=256] [jobs=8] [fresh=16] [device=cuda:0]
 *                                              [beside=candidates] [long|short]
 * Prints evaluations per second from start to end of the command and of its second half, where a
 * job's time goes by stage, pairs used, and verdicts other than `ok` by name: with contexts made
 * while nobody is timed, and then, of other sources (`beside` of them, 0: none), beside what is
 * timed. Needs a GPU; python is $KGYM_PYTHON, else that of `make torch`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "bench/common/host.h"

#define OPERATORS 8
#define MOST      4096

/* The long ones take 0.3 to 1.4 ms on an H200; the short ones, which ship with the project, are
 * bound by memory, and nearly all take less than the 0.1 ms below which no reward pays for speed.
 */
static const struct set {
    const char *name, *folder;
    struct {
        const char *template, *problem;
    } operators[OPERATORS];
} sets[] = {
    {"long",
     "bench/torch/problems",
     {{"matmul", "matmul"},
      {"gated_linear", "gated_linear"},
      {"mlp", "mlp"},
      {"avg_pool2d", "avg_pool2d"},
      {"max_pool2d", "max_pool2d"},
      {"depthwise_conv2d", "depthwise_conv2d"},
      {"cumsum", "cumsum"},
      {"reverse_cumsum", "reverse_cumsum"}}},
    {"short",
     "problems/torch",
     {{"relu", "level1/27_relu"},
      {"silu", "level1/24_silu"},
      {"gelu_tanh", "level1/04_gelu_tanh"},
      {"softmax", "level1/01_softmax"},
      {"rms_norm", "level1/03_rms_norm"},
      {"layer_norm", "level1/02_layer_norm"},
      {"row_sum", "level1/05_row_sum"},
      {"residual_rms_norm", "level2/04_residual_rms_norm"}}},
};

static const struct set *set = &sets[0];
static struct kg_err err;

static const char *problem_of(int i)
{
    static char path[640];
    snprintf(path, sizeof path, "%s/%s/%s.py", kg_bench_tree(), set->folder,
             set->operators[i % OPERATORS].problem);
    return path;
}

static void make_source(int i, struct kg_buf *text)
{
    static const int blocks[] = {1024, 2048, 4096}, warps[] = {4, 8};
    char path[640];
    int turn = i / OPERATORS;
    snprintf(path, sizeof path, "%s/bench/torch/%s.py.in", kg_bench_tree(),
             set->operators[i % OPERATORS].template);
    kg_buf_init(text, 1u << 20);
    kg_bench_need_ok(kg_file_read(path, text, &err), &err);
    kg_bench_fill(text, "@number@", i);
    kg_bench_fill(text, "@block@", blocks[turn % 3]);
    kg_bench_fill(text, "@warps@", warps[turn / 3 % 2]);
}

/* Sources from..from+n, and the batch of them. */
static void make_sources(int from, int n)
{
    struct kg_buf lines;
    kg_buf_init(&lines, 256u << 20);
    for (int i = from; i < from + n; i++) {
        struct kg_buf text;
        char name[32];
        make_source(i, &text);
        snprintf(name, sizeof name, "c%d.py", i);
        kg_bench_write(name, text.data, text.len);
        kg_bench_line(&lines, i, problem_of(i), "source", text.data);
        kg_buf_deinit(&text);
    }
    kg_bench_write("all.jsonl", lines.data, lines.len);
    kg_buf_deinit(&lines);
}

/* --- what the records say besides their stages --- */

struct seen {
    double pairs[MOST], ratio[MOST];
    int n, other; /* measured; not `ok` */
};

static void look(const json_t *r, void *ctx)
{
    struct seen *s = ctx;
    const json_t *speedup = json_object_get(r, "speedup"), *e = json_object_get(r, "error");
    const char *verdict = json_string_value(json_object_get(r, "verdict"));
    if (verdict == NULL || strcmp(verdict, "ok") != 0) {
        const json_t *evidence = json_object_get(r, "evidence");
        char *text = json_dumps(json_is_object(e) ? e : evidence, JSON_COMPACT | JSON_ENCODE_ANY);
        const char *reason = json_string_value(json_object_get(r, "reason"));
        printf("  not ok: %s: %s %s: %s\n", json_string_value(json_object_get(r, "batch_id")),
               verdict ? verdict : "error", reason ? reason : "", text ? text : "");
        free(text);
        s->other++;
        return;
    }
    if (json_is_object(speedup) && s->n < MOST) {
        s->pairs[s->n] = json_number_value(json_object_get(speedup, "pairs"));
        s->ratio[s->n++] = json_number_value(json_object_get(speedup, "ratio"));
    }
}

/* --- the peer --- */

static const char *python(void)
{
    static char path[640];
    const char *named = getenv("KGYM_PYTHON");
    snprintf(path, sizeof path, "%s/.venv/bin/python", kg_bench_tree());
    return named != NULL ? named : access(path, X_OK) == 0 ? path : "python3";
}

static void one_fresh(int i)
{
    char script[640], candidate[320], log[320];
    int status;
    snprintf(script, sizeof script, "%s/bench/torch/fresh.py", kg_bench_tree());
    snprintf(candidate, sizeof candidate, "%s/c%d.py", kg_bench_folder(), i);
    snprintf(log, sizeof log, "%s/fresh.log", kg_bench_folder());
    fflush(stdout); /* or the child would print it, too */
    pid_t pid = fork();
    kg_bench_need(pid >= 0, "fork failed");
    if (pid == 0) {
        if (freopen(log, "w", stdout) == NULL || dup2(1, 2) < 0) {
            _exit(127);
        }
        execlp(python(), python(), script, problem_of(i), candidate, (char *)NULL);
        _exit(127);
    }
    kg_bench_need(waitpid(pid, &status, 0) == pid, "waitpid failed");
    if (status != 0) {
        struct kg_buf text;
        kg_buf_init(&text, 1u << 20);
        bool read = kg_file_read(log, &text, &err) == KG_OK;
        kg_bench_need(false, "fresh.py on %s failed: %s", problem_of(i),
                      read ? text.data : err.message);
    }
}

static void triton_cache(const char *name)
{
    char cache[320];
    snprintf(cache, sizeof cache, "%s/%s", kg_bench_folder(), name);
    setenv("TRITON_CACHE_DIR", cache, 1);
}

/* Evaluations per second, one after the other; which ones: spread over all. The compiled kernels
 * that an earlier run has left are not used: Triton's cache is in the bench's own folder. One more
 * goes before them, so that neither they nor what is compared with them reads PyTorch from a cold
 * disk. */
static double fresh_rate(int fresh, int n)
{
    make_sources(0, n);
    triton_cache("first");
    one_fresh(0);
    triton_cache("fresh");
    int64_t t0 = kg_clock_ns();
    for (int k = 0; k < fresh; k++) {
        one_fresh((int)((int64_t)k * n / fresh) / OPERATORS * OPERATORS + k % OPERATORS);
    }
    unsetenv("TRITON_CACHE_DIR");
    return fresh > 0 ? fresh / ((double)(kg_clock_ns() - t0) * 1e-9) : 0;
}

/* --- */

static double median(double *x, int n)
{
    for (int i = 1; i < n; i++) {
        for (int k = i; k > 0 && x[k] < x[k - 1]; k--) {
            double t = x[k];
            x[k] = x[k - 1];
            x[k - 1] = t;
        }
    }
    return n > 0 ? x[n / 2] : 0;
}

static json_t *pairs_used(const struct seen *s)
{
    json_t *count = json_object();
    printf("pairs used:");
    for (int i = 0; i < s->n; i++) {
        char key[16];
        snprintf(key, sizeof key, "%.0f", s->pairs[i]);
        json_object_set_new(count, key,
                            json_integer(1 + json_integer_value(json_object_get(count, key))));
    }
    const char *key;
    json_t *v;
    json_object_foreach(count, key, v)
    {
        printf(" %s (%lld)", key, (long long)json_integer_value(v));
    }
    printf("\n");
    return count;
}

/* One batch of sources that no other has; apart: contexts while nobody is timed. */
static json_t *measure(const char *device, bool apart, int n, int jobs, double *per_s)
{
    static struct seen seen;
    char lane[64], contexts[64];
    struct kg_bench_tally tally;
    memset(&seen, 0, sizeof seen);
    make_sources(apart ? 0 : MOST / 2, n);
    snprintf(lane, sizeof lane, "device=%s", device);
    snprintf(contexts, sizeof contexts, "torch.contexts_apart=%s", apart ? "true" : "false");
    const char *const options[] = {lane, contexts, NULL};
    const char *out = apart ? "apart.jsonl" : "beside.jsonl";
    const struct kg_bench_batch batch = {"all.jsonl", out, jobs, options};
    double seconds = kg_bench_batch_run(&batch);
    kg_bench_tally(out, &tally);
    kg_bench_records(out, look, &seen);
    printf("contexts %s: %d candidates over %d operators, %d jobs: %.2f evaluations/s, steady "
           "%.2f; %d ok, %d timed\n",
           apart ? "apart" : "beside what is timed", n, OPERATORS, jobs, n / seconds,
           tally.steady_per_s, tally.verdict[KG_V_OK], seen.n);
    double rest = 1e3 * jobs / tally.steady_per_s;
    for (int s = 0; s < KG_ST_COUNT; s++) {
        rest -= tally.stage_ms[s];
    }
    rest = rest > 0 ? rest : 0;
    const char *head = "per candidate";
    kg_bench_print_stages(&head, &tally, &rest, 1);
    json_t *used = pairs_used(&seen);
    fflush(stdout);
    *per_s = n / seconds;
    return json_pack("{s:f, s:f, s:i, s:i, s:o, s:f, s:o, s:f}", "per_s", n / seconds,
                     "steady_per_s", tally.steady_per_s, "ok", tally.verdict[KG_V_OK], "timed",
                     seen.n, "stage_ms", kg_bench_stages(&tally), "rest_ms", rest, "pairs", used,
                     "median_ratio", median(seen.ratio, seen.n));
}

static void choose_set(const char *name)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (strcmp(name, sets[i].name) == 0) {
            set = &sets[i];
            return;
        }
    }
    kg_bench_need(false, "no problems are called %s: long, short", name);
}

int main(int argc, char **argv)
{
    int n = kg_bench_count(argc, argv, 1, OPERATORS, MOST / 2, 256);
    int jobs = kg_bench_count(argc, argv, 2, 1, 64, 8);
    int fresh = kg_bench_count(argc, argv, 3, 0, 256, 16);
    const char *device = argc > 4 ? argv[4] : "cuda:0";
    int others = kg_bench_count(argc, argv, 5, 0, MOST / 2, n);
    double per_s[2] = {0, 0};
    choose_set(argc > 6 ? argv[6] : set->name);
    const char *gpu = kg_bench_need_gpu(device);
    double peer = fresh_rate(fresh, n);
    json_t *result = measure(device, true, n, jobs, &per_s[0]);
    json_t *beside = others > 0 ? measure(device, false, others, jobs, &per_s[1]) : json_null();
    printf("a fresh interpreter per evaluation, %d of them: %.2f evaluations/s", fresh, peer);
    if (peer > 0) {
        printf(" (%.1f and %.1f times fewer)", per_s[0] / peer, per_s[1] / peer);
    }
    printf("\n");
    json_t *about = json_pack("{s:s, s:s, s:i, s:i, s:i, s:f, s:o}", "device", gpu, "problems",
                              set->name, "candidates", n, "jobs", jobs, "fresh", fresh,
                              "fresh_per_s", peer, "beside", beside);
    json_object_update(result, about);
    json_decref(about);
    kg_bench_json("torch_throughput", result);
    return 0;
}
