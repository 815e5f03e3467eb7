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
#include "bench/common/torch_set.h"
#include "gym/timing/stats.h"

#define MOST 4096

static const struct kg_bench_set *set;
static struct kg_err err;

/* Sources from..from+n, and the batch of them. */
static void make_sources(int from, int n)
{
    struct kg_buf lines;
    kg_buf_init(&lines, 256u << 20);
    for (int i = from; i < from + n; i++) {
        struct kg_buf text;
        char name[32];
        kg_bench_set_source(set, i, &text);
        snprintf(name, sizeof name, "c%d.py", i);
        kg_bench_write(name, text.data, text.len);
        kg_bench_line(&lines, i, kg_bench_set_problem(set, i), "source", text.data);
        kg_buf_deinit(&text);
    }
    kg_bench_write("all.jsonl", lines.data, lines.len);
    kg_buf_deinit(&lines);
}

/* --- what the records say besides their stages --- */

/* Of the candidates that are timed: times by the judge's clock, in microseconds. */
struct operator_seen {
    double pairs[MOST], reference[MOST], candidate[MOST], ratio[MOST];
    size_t n;
};

struct seen {
    struct operator_seen of[KG_BENCH_OPERATORS], all;
    int other; /* not `ok` */
};

static double number(const json_t *record, const char *part, const char *key)
{
    return json_number_value(json_object_get(json_object_get(record, part), key));
}

static void add(struct operator_seen *o, const json_t *r)
{
    if (o->n < MOST) {
        o->pairs[o->n] = number(r, "speedup", "pairs");
        o->ratio[o->n] = number(r, "speedup", "ratio");
        o->reference[o->n] = number(r, "timing", "reference_ns") * 1e-3;
        o->candidate[o->n++] = number(r, "timing", "candidate_ns") * 1e-3;
    }
}

static void tell_other(const json_t *r, const char *id)
{
    const json_t *e = json_object_get(r, "error"), *evidence = json_object_get(r, "evidence");
    const char *verdict = json_string_value(json_object_get(r, "verdict"));
    const char *reason = json_string_value(json_object_get(r, "reason"));
    char *text = json_dumps(json_is_object(e) ? e : evidence, JSON_COMPACT | JSON_ENCODE_ANY);
    printf("  not ok: %s: %s %s: %s\n", id, verdict ? verdict : "error", reason ? reason : "",
           text ? text : "");
    free(text);
}

static void look(const json_t *r, void *ctx)
{
    struct seen *s = ctx;
    const char *verdict = json_string_value(json_object_get(r, "verdict"));
    const char *id = json_string_value(json_object_get(r, "batch_id")); /* c and its number */
    kg_bench_need(id != NULL && id[0] == 'c', "a record is of no candidate of this bench");
    if (verdict == NULL || strcmp(verdict, "ok") != 0) {
        tell_other(r, id);
        s->other++;
    } else if (json_is_object(json_object_get(r, "speedup"))) {
        add(&s->of[kg_bench_set_operator(set, atoi(id + 1))], r);
        add(&s->all, r);
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
        execlp(python(), python(), script, kg_bench_set_problem(set, i), candidate, (char *)NULL);
        _exit(127);
    }
    kg_bench_need(waitpid(pid, &status, 0) == pid, "waitpid failed");
    if (status != 0) {
        struct kg_buf text;
        kg_buf_init(&text, 1u << 20);
        bool read = kg_file_read(log, &text, &err) == KG_OK;
        kg_bench_need(false, "fresh.py on %s failed: %s", kg_bench_set_problem(set, i),
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
        int at = (int)((int64_t)k * n / fresh) / set->n * set->n + k % set->n;
        one_fresh(at < n ? at : at - set->n);
    }
    unsetenv("TRITON_CACHE_DIR");
    return fresh > 0 ? fresh / ((double)(kg_clock_ns() - t0) * 1e-9) : 0;
}

/* --- */

static json_t *pairs_used(const struct operator_seen *s)
{
    json_t *count = json_object();
    printf("pairs used:");
    for (size_t i = 0; i < s->n; i++) {
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

/* What the operators are like. */
static json_t *by_operator(const struct seen *s)
{
    json_t *rows = json_array();
    printf("  %-20s %5s %13s %13s %8s %8s %6s\n", "us", "timed", "reference", "candidates", "p10",
           "p90", "pairs");
    for (int k = 0; k < set->n; k++) {
        const struct operator_seen *o = &s->of[k];
        if (o->n == 0) {
            continue;
        }
        double reference = kg_median(o->reference, o->n), middle = kg_median(o->candidate, o->n),
               p10 = kg_quantile(o->candidate, o->n, 0.1),
               p90 = kg_quantile(o->candidate, o->n, 0.9), pairs = kg_mean(o->pairs, o->n);
        printf("  %-20s %5zu %13.0f %13.0f %8.0f %8.0f %6.1f\n", set->operators[k].name, o->n,
               reference, middle, p10, p90, pairs);
        json_array_append_new(
            rows, json_pack("{s:s, s:I, s:f, s:[f,f,f], s:f}", "operator", set->operators[k].name,
                            "timed", (json_int_t)o->n, "reference_us", reference,
                            "candidate_us_median_p10_p90", middle, p10, p90, "pairs", pairs));
    }
    return rows;
}

/* One batch of sources that no other has; apart: contexts while nobody is timed. */
static json_t *measure(const char *device, bool apart, int n, int jobs, double *per_s)
{
    static struct seen seen;
    char lane[64], contexts[64], cache[320];
    struct kg_bench_tally tally;
    memset(&seen, 0, sizeof seen);
    make_sources(apart ? 0 : MOST / 2, n);
    snprintf(lane, sizeof lane, "device=%s", device);
    snprintf(contexts, sizeof contexts, "torch.contexts_apart=%s", apart ? "true" : "false");
    const char *out = apart ? "apart.jsonl" : "beside.jsonl";
    /* empty, and the batch's own: workers tell each other what a problem's task is */
    snprintf(cache, sizeof cache, "cache=%s/%s.cache", kg_bench_folder(), out);
    const char *const options[] = {lane, contexts, cache, NULL};
    const struct kg_bench_batch batch = {"all.jsonl", out, jobs, options};
    double seconds = kg_bench_batch_run(&batch);
    kg_bench_tally(out, &tally);
    kg_bench_records(out, look, &seen);
    printf("contexts %s: %d candidates over %d operators, %d jobs: %.2f evaluations/s, steady "
           "%.2f; %d ok, %zu timed\n",
           apart ? "apart" : "beside what is timed", n, set->n, jobs, n / seconds,
           tally.steady_per_s, tally.verdict[KG_V_OK], seen.all.n);
    double rest = 1e3 * jobs / tally.steady_per_s;
    for (int s = 0; s < KG_ST_COUNT; s++) {
        rest -= tally.stage_ms[s];
    }
    rest = rest > 0 ? rest : 0;
    const char *head = "per candidate";
    kg_bench_print_stages(&head, &tally, &rest, 1);
    json_t *used = pairs_used(&seen.all), *operators = by_operator(&seen);
    fflush(stdout);
    *per_s = n / seconds;
    return json_pack("{s:f, s:f, s:i, s:I, s:o, s:f, s:o, s:f, s:o}", "per_s", n / seconds,
                     "steady_per_s", tally.steady_per_s, "ok", tally.verdict[KG_V_OK], "timed",
                     (json_int_t)seen.all.n, "stage_ms", kg_bench_stages(&tally), "rest_ms", rest,
                     "pairs", used, "median_ratio", kg_median(seen.all.ratio, seen.all.n),
                     "operators", operators);
}

int main(int argc, char **argv)
{
    int n = kg_bench_count(argc, argv, 1, KG_BENCH_OPERATORS, MOST / 2, 256);
    int jobs = kg_bench_count(argc, argv, 2, 1, 64, 8);
    int fresh = kg_bench_count(argc, argv, 3, 0, 256, 16);
    const char *device = argc > 4 ? argv[4] : "cuda:0";
    int others = kg_bench_count(argc, argv, 5, 0, MOST / 2, n);
    double per_s[2] = {0, 0};
    set = kg_bench_set_named(argc > 6 ? argv[6] : "long");
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
