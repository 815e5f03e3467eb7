/* Is memory flat over thousands of evaluations? One worker judges cheap candidates (good, wrong,
 * crashing and broken ones, three small problems in turn, timing off, objects from the cache); the
 * three processes that live long are watched: supervisor, worker (the broker) and judge.
 *   build/release/bench/bench_memory [evaluations=3000] [between samples=100]
 * Columns: resident memory and its peak so far (VmRSS, VmHWM) in KB. The slope is that of the peak
 * over the last two thirds, least squares; the first third fills pools and allocators. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "bench/common/host.h"

#define MOST_SAMPLES 1000
enum role { SUPERVISOR, WORKER, JUDGE, ROLES };
static const char *const role_name[ROLES] = {"supervisor", "worker", "judge"};

struct sample {
    long evaluations, rss_kb[ROLES], peak_kb[ROLES];
    pid_t pid[ROLES];
};

static struct sample samples[MOST_SAMPLES];
static int nsamples;

static const int sizes[] = {64, 257, 1000};

static const struct {
    const char *body, *verdict;
} candidates[] = {
    {"for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i] + 1;", "ok"},
    {"for (int64_t i = 0; i < n; i++) y[i] = 1 + x[i] * 2;", "ok"},
    {"for (int64_t i = 0; i < n; i++) { float t = x[i]; y[i] = t + t + 1; }", "ok"},
    {"for (int64_t i = 0; i < n; i++) y[i] = 2 * x[i];", "wrong"},
    {"y[n] = 0; *(volatile int *)8 = 1;", "crash"},
};
#define CANDIDATES ((int)(sizeof candidates / sizeof *candidates))
#define BROKEN_IN  50 /* one in so many does not compile: those are not cached and cost the most */

static void make_suite(void)
{
    char name[64], path[320];
    snprintf(path, sizeof path, "%s/suite", kg_bench_folder());
    kg_bench_need(mkdir(path, 0755) == 0, "%s: cannot be made", path);
    for (int k = 0; k < 3; k++) {
        char text[1024];
        int n = snprintf(text, sizeof text,
                         "/*---kgym\nname: line%d\nlevel: 1\nentry: line%d\ndims: {n: %d}\nargs:\n"
                         "  - {name: x, type: \"f32[n]\", role: in}\n"
                         "  - {name: y, type: \"f32[n]\", role: out}\n"
                         "  - {name: n, type: i64, role: dim}\n---*/\n#include <stdint.h>\n"
                         "void line%d(const real *x, real *y, int64_t n)\n{\n"
                         "    for (int64_t i = 0; i < n; i++) {\n        y[i] = 2 * x[i] + 1;\n"
                         "    }\n}\n",
                         k, k, sizes[k], k);
        snprintf(name, sizeof name, "suite/line%d.c", k);
        kg_bench_write(name, text, (size_t)n);
    }
}

static void make_lines(int n)
{
    struct kg_buf lines;
    kg_buf_init(&lines, 256u << 20);
    for (int i = 0; i < n; i++) {
        char problem[16], text[512];
        int k = i / 16 % 3; /* samples of one prompt */
        bool broken = i % BROKEN_IN == BROKEN_IN - 1;
        snprintf(problem, sizeof problem, "line%d", k);
        snprintf(text, sizeof text,
                 "#include <stdint.h>\nvoid line%d(const float *x, float *y, int64_t n)\n{\n"
                 "    %s\n}\n",
                 k, broken ? "y[0] = undeclared + n + x[0];" : candidates[i % CANDIDATES].body);
        kg_bench_line(&lines, i, problem, "source", text);
    }
    kg_bench_write("in.jsonl", lines.data, lines.len);
    kg_buf_deinit(&lines);
}

static bool read_text(const char *path, struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    kg_buf_reset(out);
    return kg_file_read(path, out, &err) == KG_OK;
}

/* The long-lived child of pid; 0: none. The worker's other children are runners and compilers. */
static pid_t child_of(pid_t pid, const char *comm)
{
    char path[128], name[64];
    struct kg_buf b, c;
    pid_t found = 0;
    kg_buf_init(&b, 1u << 16);
    kg_buf_init(&c, 1u << 12);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    if (read_text(path, &b)) {
        char *rest = NULL;
        for (char *t = strtok_r(b.data, " ", &rest); t && !found; t = strtok_r(NULL, " ", &rest)) {
            long child = strtol(t, NULL, 10);
            snprintf(path, sizeof path, "/proc/%ld/comm", child);
            snprintf(name, sizeof name, "%s\n", comm);
            found = read_text(path, &c) && strcmp(c.data, name) == 0 ? (pid_t)child : 0;
        }
    }
    kg_buf_deinit(&b);
    kg_buf_deinit(&c);
    return found;
}

static long status_kb(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at != NULL ? strtol(at + strlen(key), NULL, 10) : 0;
}

static void take_sample(pid_t batch, long evaluations)
{
    struct sample *s = &samples[nsamples];
    struct kg_buf b;
    kg_buf_init(&b, 1u << 16);
    s->evaluations = evaluations;
    s->pid[SUPERVISOR] = child_of(batch, "kgym-pool");
    s->pid[WORKER] = s->pid[SUPERVISOR] > 0 ? child_of(s->pid[SUPERVISOR], "kgym-worker") : 0;
    s->pid[JUDGE] = s->pid[WORKER] > 0 ? child_of(s->pid[WORKER], "kgym-judge") : 0;
    bool all = true;
    for (int k = 0; k < ROLES; k++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/status", (int)s->pid[k]);
        all = all && s->pid[k] > 0 && read_text(path, &b);
        s->rss_kb[k] = all ? status_kb(b.data, "VmRSS:") : 0;
        s->peak_kb[k] = all ? status_kb(b.data, "VmHWM:") : 0;
        all = all && s->peak_kb[k] > 0;
    }
    nsamples += all; /* a process that is just ending is no sample */
    kg_buf_deinit(&b);
}

/* Newlines of the records since the last look; *f is opened once they are there. */
static long new_lines(FILE **f)
{
    char path[320], chunk[65536];
    long n = 0;
    snprintf(path, sizeof path, "%s/out.jsonl", kg_bench_folder());
    if (*f == NULL) {
        *f = fopen(path, "rb");
    }
    size_t got;
    while (*f != NULL && (got = fread(chunk, 1, sizeof chunk, *f)) > 0) {
        for (size_t i = 0; i < got; i++) {
            n += chunk[i] == '\n';
        }
    }
    if (*f != NULL) {
        clearerr(*f);
    }
    return n;
}

static double watch(int between)
{
    char suites[400], cache[400];
    snprintf(suites, sizeof suites, "suites=%s/suite", kg_bench_folder());
    snprintf(cache, sizeof cache, "cache=%s/cache", kg_bench_folder());
    const char *const set[] = {cache, suites, "stage.timing=false", NULL};
    const struct kg_bench_batch batch = {"in.jsonl", "out.jsonl", 1, set};
    FILE *f = NULL;
    long done = 0, next = between;
    int status = 0;
    int64_t t0 = kg_clock_ns();
    pid_t pid = kg_bench_batch_start(&batch);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        done += new_lines(&f);
        if (done >= next && nsamples < MOST_SAMPLES) {
            take_sample(pid, done);
            next = done / between * between + between;
        }
        usleep(5000);
    }
    if (f != NULL) {
        fclose(f);
    }
    kg_bench_need(status == 0, "kgym eval --batch ended with status %d", status);
    return (double)(kg_clock_ns() - t0) * 1e-9;
}

/* KB of peak per 1000 evaluations, over the last two thirds of the samples. */
static double slope(int role)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = nsamples / 3; i < nsamples; i++) {
        double x = (double)samples[i].evaluations / 1000, y = (double)samples[i].peak_kb[role];
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    double d = n * sxx - sx * sx;
    return d > 0 ? (n * sxy - sx * sy) / d : 0;
}

static void check_verdicts(int n)
{
    struct kg_bench_tally t;
    int want[KG_V_COUNT] = {0};
    for (int i = 0; i < n; i++) {
        bool broken = i % BROKEN_IN == BROKEN_IN - 1;
        enum kg_verdict v = KG_V_COMPILE_ERROR;
        if (!broken) {
            kg_bench_need(kg_verdict_parse(candidates[i % CANDIDATES].verdict, &v), "a name");
        }
        want[v]++;
    }
    kg_bench_tally("out.jsonl", &t);
    for (int v = 0; v < KG_V_COUNT; v++) {
        const char *name = kg_verdict_name((enum kg_verdict)v);
        kg_bench_need(t.verdict[v] == want[v], "%d records of `%s`, not %d", t.verdict[v],
                      name ? name : "error", want[v]);
    }
}

static json_t *print_roles(void)
{
    json_t *list = json_array();
    const struct sample *a = &samples[0], *z = &samples[nsamples - 1];
    printf("%-12s %12s %12s %12s %12s %12s %18s\n", "KB", "rss, first", "rss, last", "peak, first",
           "peak, last", "processes", "slope, KB per 1000");
    for (int k = 0; k < ROLES; k++) {
        int processes = 1;
        for (int i = 1; i < nsamples; i++) {
            processes += samples[i].pid[k] != samples[i - 1].pid[k];
        }
        printf("%-12s %12ld %12ld %12ld %12ld %12d %18.1f\n", role_name[k], a->rss_kb[k],
               z->rss_kb[k], a->peak_kb[k], z->peak_kb[k], processes, slope(k));
        json_t *peaks = json_array();
        for (int i = 0; i < nsamples; i++) {
            json_array_append_new(peaks, json_integer(samples[i].peak_kb[k]));
        }
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:I, s:I, s:i, s:f, s:o}", "role", role_name[k],
                            "rss_first_kb", (json_int_t)a->rss_kb[k], "rss_last_kb",
                            (json_int_t)z->rss_kb[k], "peak_first_kb", (json_int_t)a->peak_kb[k],
                            "peak_last_kb", (json_int_t)z->peak_kb[k], "processes", processes,
                            "slope_kb_per_1000", slope(k), "peak_kb", peaks));
    }
    return list;
}

int main(int argc, char **argv)
{
    int n = kg_bench_count(argc, argv, 1, 20, 1000000, 3000);
    int between = kg_bench_count(argc, argv, 2, 1, n, n < 100 ? 5 : 100);
    make_suite();
    make_lines(n);
    double seconds = watch(between);
    check_verdicts(n);
    kg_bench_need(nsamples > 1, "%d samples: too few evaluations, or too fast to watch", nsamples);
    printf("%d evaluations in %.0f s (%.1f /s), one worker, timing off, %d samples from evaluation "
           "%ld to %ld\n",
           n, seconds, n / seconds, nsamples, samples[0].evaluations,
           samples[nsamples - 1].evaluations);
    json_t *roles = print_roles();
    kg_bench_json("memory",
                  json_pack("{s:i, s:f, s:i, s:i, s:o}", "evaluations", n, "seconds", seconds,
                            "between", between, "samples", nsamples, "roles", roles));
    return 0;
}
