/* How many distinct small candidates per second go through the whole funnel, against the bound that
 * the compiler alone sets on the same sources at the same parallelism, in the same run.
 *   build/release/bench/bench_throughput [candidates=120] [jobs=2]
 * Rows: gcc alone; kgym with timing off; kgym with timing on; and where the time goes by stage. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "bench/common/host.h"
#include "gym/record/record.h"

static char dir[256];

/* Small honest candidates, each with its own constants so that no cache can help. */
static const char *const bodies[] = {
    "    for (int64_t i = 0; i < n; i++) {\n        z[i] = alpha * x[i] + beta * y[i] + 0.0f * "
    "%d.0f;\n    }\n",
    "    int64_t i = 0;\n    for (; i + 16 <= n; i += 16) {\n        for (int j = 0; j < 16; j++) "
    "{\n"
    "            z[i + j] = alpha * x[i + j] + beta * y[i + j] + 0.0f * %d.0f;\n        }\n    }\n"
    "    for (; i < n; i++) {\n        z[i] = alpha * x[i] + beta * y[i];\n    }\n",
};

static void write_file(const char *path, const char *text)
{
    struct kg_err err = KG_ERR_INIT;
    if (kg_file_write_atomic(path, text, strlen(text), &err) != KG_OK) {
        fprintf(stderr, "bench: %s\n", err.message);
        exit(2);
    }
}

static void make_sources(int n)
{
    struct kg_buf lines;
    kg_buf_init(&lines, 64u << 20);
    for (int i = 0; i < n; i++) {
        char path[320], text[1200], body[900];
        const char *form = bodies[i % 2];
        const char *at = strstr(form, "%d");
        snprintf(body, sizeof body, "%.*s%d%s", (int)(at - form), form, i + 1, at + 2);
        snprintf(
            text, sizeof text,
            "#include <stdint.h>\nvoid axpby(const float *restrict x, const float *restrict y, "
            "float *restrict z, float alpha, float beta, int64_t n)\n{\n%s}\n",
            body);
        snprintf(path, sizeof path, "%s/c%d.c", dir, i);
        write_file(path, text);
        kg_buf_addf(&lines,
                    "{\"id\": \"c%d\", \"problem\": \"axpby\", \"source_file\": \"c%d.c\"}\n", i,
                    i);
    }
    char path[320];
    snprintf(path, sizeof path, "%s/in.jsonl", dir);
    write_file(path, lines.data);
    kg_buf_deinit(&lines);
}

static pid_t compile(int i)
{
    pid_t pid = fork();
    if (pid == 0) {
        char src[320], out[320];
        snprintf(src, sizeof src, "%s/c%d.c", dir, i);
        snprintf(out, sizeof out, "%s/c%d.so", dir, i);
        execlp("gcc", "gcc", "-std=gnu17", "-O3", "-march=native", "-fPIC", "-shared",
               "-Wl,-z,defs", src, "-o", out, "-lm", "-lpthread", (char *)NULL);
        _exit(127);
    }
    return pid;
}

static double compile_all(int n, int jobs)
{
    int started = 0, ended = 0, status;
    int64_t t0 = kg_clock_ns();
    while (ended < n) {
        while (started < n && started - ended < jobs) {
            compile(started++);
        }
        if (wait(&status) > 0) {
            ended++;
            if (status != 0) {
                fprintf(stderr, "bench: the compiler failed\n");
                exit(2);
            }
        }
    }
    return (double)(kg_clock_ns() - t0) * 1e-9;
}

static double judge_all(int jobs, bool timing, const char *out)
{
    char in[320], njobs[16];
    snprintf(in, sizeof in, "%s/in.jsonl", dir);
    snprintf(njobs, sizeof njobs, "%d", jobs);
    unlink(out);
    int64_t t0 = kg_clock_ns();
    pid_t pid = fork();
    if (pid == 0) {
        const char *kgym = getenv("KGYM_BUILD");
        char prog[320];
        snprintf(prog, sizeof prog, "%s/kgym", kgym ? kgym : "build/release");
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 2);
        execl(prog, prog, "eval", "--batch", in, "--out", out, "--jobs", njobs, "--set",
              "cache=none", "--set", timing ? "stage.timing=true" : "stage.timing=false",
              (char *)NULL);
        _exit(127);
    }
    int status;
    waitpid(pid, &status, 0);
    if (status != 0) {
        fprintf(stderr, "bench: kgym eval failed with status %d; see %s\n", status, out);
        exit(2);
    }
    return (double)(kg_clock_ns() - t0) * 1e-9;
}

/* Mean milliseconds per stage over the records. */
static json_t *stage_table(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    double sum[KG_ST_COUNT] = {0};
    int n = 0;
    kg_buf_init(&b, 1u << 30);
    if (kg_file_read(path, &b, &err) != KG_OK) {
        fprintf(stderr, "bench: %s\n", err.message);
        exit(2);
    }
    char *rest = NULL;
    for (char *line = strtok_r(b.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest), n++) {
        json_t *j = json_loads(line, 0, NULL);
        json_t *stages = json_object_get(j, "stages");
        for (size_t s = 0; s < KG_ST_COUNT; s++) {
            sum[s] +=
                (double)json_integer_value(json_object_get(json_array_get(stages, s), "ns")) * 1e-6;
        }
        json_decref(j);
    }
    kg_buf_deinit(&b);
    json_t *out = json_object();
    for (int s = 0; s < KG_ST_COUNT; s++) {
        double ms = n ? sum[s] / n : 0;
        printf("    %-8s %8.2f ms\n", kg_stage_name((enum kg_stage)s), ms);
        json_object_set_new(out, kg_stage_name((enum kg_stage)s), json_real(ms));
    }
    return out;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 120;
    int jobs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 2;
    struct kg_err err = KG_ERR_INIT;
    char off[320], on[320];
    snprintf(dir, sizeof dir, "/tmp/kgym-bench-%d", (int)getpid());
    if (kg_file_mkdirs(dir, 0755, &err) != KG_OK) {
        fprintf(stderr, "bench: %s\n", err.message);
        return 2;
    }
    snprintf(off, sizeof off, "%s/off.jsonl", dir);
    snprintf(on, sizeof on, "%s/on.jsonl", dir);
    make_sources(n);
    double alone = n / compile_all(n, jobs), again;
    double without = n / judge_all(jobs, false, off);
    double with = n / judge_all(jobs, true, on);
    again = n / compile_all(n, jobs);
    alone = (alone + again) / 2;
    printf("%d distinct candidates of `axpby`, %d jobs, no cache\n", n, jobs);
    printf("  %-34s %8.2f /s\n", "gcc alone (mean of before, after)", alone);
    printf("  %-34s %8.2f /s   %5.1f %% of the bound\n", "full funnel, timing off", without,
           100 * without / alone);
    printf("  %-34s %8.2f /s   %5.1f %%\n", "full funnel, timing on", with, 100 * with / alone);
    printf("  where the time goes, timing off (mean per evaluation):\n");
    json_t *stages_off = stage_table(off);
    printf("  with timing on:\n");
    json_t *stages_on = stage_table(on);
    kg_bench_json("throughput",
                  json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:o, s:o}", "candidates", n, "jobs",
                            jobs, "gcc_per_s", alone, "timing_off_per_s", without,
                            "timing_on_per_s", with, "ratio_off", without / alone, "stage_ms_off",
                            stages_off, "stage_ms_on", stages_on));
    return kg_file_remove_tree(dir, &err) == KG_OK ? 0 : 2;
}
