#include "bench/common/host.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/device/device_judge.h"
#include "gym/eval/context.h"

static char folder[128], build[512];
static double load_at_start = NAN;

/* Before main: what the bench itself adds to the load is not the host's. */
__attribute__((constructor)) static void note_load(void)
{
    if (getloadavg(&load_at_start, 1) != 1) {
        load_at_start = NAN;
    }
}

json_t *kg_bench_host(void)
{
    char date[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(date, sizeof date, "%Y-%m-%d", &tm);
    json_t *host = kg_context_environment("gcc " __VERSION__, -1);
    json_object_set_new(host, "date", json_string(date));
    json_object_set_new(host, "load_1_min",
                        isnan(load_at_start) ? json_null() : json_real(load_at_start));
    return host;
}

void kg_bench_json(const char *name, json_t *result)
{
    struct kg_buf b;
    json_t *line =
        json_pack("{s:s, s:o, s:o}", "bench", name, "host", kg_bench_host(), "result", result);
    kg_bench_need(line != NULL, "%s: the result has a value that is not JSON", name);
    kg_buf_init(&b, 16u << 20);
    kg_json_dump(line, &b);
    puts(b.data);
    fflush(stdout);
    kg_buf_deinit(&b);
    json_decref(line);
}

void kg_bench_need(bool ok, const char *fmt, ...)
{
    if (ok) {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    fputs("bench: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(2);
}

void kg_bench_need_ok(enum kg_code code, const struct kg_err *err)
{
    kg_bench_need(code == KG_OK, "%s", err->message);
}

int kg_bench_count(int argc, char **argv, int i, int least, int most, int usual)
{
    if (i >= argc) {
        return usual;
    }
    char *end;
    long v = strtol(argv[i], &end, 10);
    kg_bench_need(*end == 0 && end != argv[i] && v >= least && v <= most,
                  "argument %d is `%s`: a number from %d to %d is needed", i, argv[i], least, most);
    return (int)v;
}

static void remove_folder(void)
{
    struct kg_err err = KG_ERR_INIT;
    if (kg_file_remove_tree(folder, &err) != KG_OK) {
        fprintf(stderr, "bench: %s\n", err.message);
    }
}

const char *kg_bench_folder(void)
{
    if (folder[0] == 0) {
        struct kg_err err = KG_ERR_INIT;
        snprintf(folder, sizeof folder, "/tmp/kgym-bench-%d", (int)getpid());
        kg_bench_need_ok(kg_file_mkdirs(folder, 0755, &err), &err);
        atexit(remove_folder);
    }
    return folder;
}

const char *kg_bench_build(void)
{
    const char *named = getenv("KGYM_BUILD");
    if (build[0] == 0 && named != NULL && *named != 0) {
        snprintf(build, sizeof build, "%s", named);
    } else if (build[0] == 0) {
        struct kg_err err = KG_ERR_INIT;
        kg_bench_need_ok(kg_file_self_dir(build, sizeof build, &err), &err);
        char *slash = strrchr(build, '/'); /* build/release/bench */
        kg_bench_need(slash != NULL, "%s: where is the build folder?", build);
        *slash = 0;
    }
    return build;
}

const char *kg_bench_tree(void)
{
    static char tree[560];
    const char *named = getenv("KGYM_TREE");
    if (tree[0] == 0 && named != NULL && *named != 0) {
        snprintf(tree, sizeof tree, "%s", named);
    } else if (tree[0] == 0) {
        snprintf(tree, sizeof tree, "%s/../..", kg_bench_build());
    }
    return tree;
}

void kg_bench_write(const char *name, const char *text, size_t n)
{
    char path[320];
    struct kg_err err = KG_ERR_INIT;
    snprintf(path, sizeof path, "%s/%s", kg_bench_folder(), name);
    kg_bench_need_ok(kg_file_write_atomic(path, text, n, &err), &err);
}

pid_t kg_bench_gcc_start(const char *name)
{
    char src[320], out[320];
    snprintf(src, sizeof src, "%s/%s.c", kg_bench_folder(), name);
    snprintf(out, sizeof out, "%s/%s.so", kg_bench_folder(), name);
    pid_t pid = fork();
    kg_bench_need(pid >= 0, "fork failed");
    if (pid == 0) {
        execlp("gcc", "gcc", "-std=gnu17", "-O3", "-march=native", "-fPIC", "-shared",
               "-Wl,-z,defs", src, "-o", out, "-lm", "-lpthread", (char *)NULL);
        _exit(127);
    }
    return pid;
}

const char *kg_bench_need_gpu(const char *device)
{
    static char name[sizeof((struct kg_dj_facts *)0)->name];
    struct kg_err err = KG_ERR_INIT;
    struct kg_dj judge;
    struct kg_dj_spec spec = {.device = device, .cpu = -1};
    kg_bench_need(strncmp(device, "cuda", 4) == 0, "%s is no GPU: cuda:N is needed", device);
    kg_bench_need_ok(kg_dj_start(&spec, &judge, &err), &err);
    kg_bench_need(judge.facts.clock, "%s has no clock that counts", device);
    printf("%s, %s: copies at %.2f TB/s\n", judge.facts.name, judge.facts.driver,
           judge.facts.bandwidth * 1e-12);
    snprintf(name, sizeof name, "%s", judge.facts.name);
    kg_dj_stop(&judge);
    return name;
}

void kg_bench_fill(struct kg_buf *text, const char *word, int value)
{
    struct kg_buf out;
    const char *at = text->data, *hit = strstr(at, word);
    kg_bench_need(hit != NULL, "a template lacks %s", word);
    kg_buf_init(&out, 1u << 20);
    for (; hit != NULL; at = hit + strlen(word), hit = strstr(at, word)) {
        kg_buf_addf(&out, "%.*s%d", (int)(hit - at), at, value);
    }
    kg_buf_adds(&out, at);
    kg_buf_deinit(text);
    *text = out;
}

void kg_bench_line(struct kg_buf *lines, int number, const char *problem, const char *kind,
                   const char *text)
{
    char id[32];
    struct kg_buf one;
    snprintf(id, sizeof id, "c%d", number);
    json_t *line = json_pack("{s:s, s:s, s:s}", "id", id, "problem", problem, kind, text);
    kg_bench_need(line != NULL, "line %d is not JSON", number);
    kg_buf_init(&one, 1u << 20);
    kg_json_dump(line, &one);
    kg_buf_addf(lines, "%s\n", one.data);
    kg_bench_need(kg_buf_ok(&one) && kg_buf_ok(lines), "line %d does not fit", number);
    kg_buf_deinit(&one);
    json_decref(line);
}

pid_t kg_bench_batch_start(const struct kg_bench_batch *b)
{
    char prog[600], in[320], out[320], trace[400], jobs[16];
    const char *argv[40] = {prog, "eval",   "--batch", in,      "--out",
                            out,  "--jobs", jobs,      "--set", "cache=none"};
    size_t n = 10;
    snprintf(prog, sizeof prog, "%s/kgym", kg_bench_build());
    snprintf(in, sizeof in, "%s/%s", kg_bench_folder(), b->in);
    snprintf(out, sizeof out, "%s/%s", kg_bench_folder(), b->out);
    snprintf(jobs, sizeof jobs, "%d", b->jobs);
    for (const char *const *s = b->set; s != NULL && *s != NULL && n + 4 < 40; s++) {
        argv[n++] = "--set";
        argv[n++] = *s;
    }
    if (getenv("KGYM_BENCH_TRACE") != NULL) {
        snprintf(trace, sizeof trace, "%s/%s.trace", getenv("KGYM_BENCH_TRACE"), b->out);
        argv[n++] = "--trace";
        argv[n++] = trace;
    }
    unlink(out);
    fflush(NULL);
    pid_t pid = fork();
    kg_bench_need(pid >= 0, "fork failed");
    if (pid == 0) {
        char log[320];
        snprintf(log, sizeof log, "%s/kgym.log", kg_bench_folder());
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        dup2(fd, 2);
        execv(prog, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

static void keep_records(const char *out)
{
    char path[400];
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    if (getenv("KGYM_BENCH_TRACE") == NULL) {
        return;
    }
    kg_buf_init(&text, 1u << 30);
    snprintf(path, sizeof path, "%s/%s", kg_bench_folder(), out);
    kg_bench_need_ok(kg_file_read(path, &text, &err), &err);
    snprintf(path, sizeof path, "%s/%s", getenv("KGYM_BENCH_TRACE"), out);
    kg_bench_need_ok(kg_file_write_atomic(path, text.data, text.len, &err), &err);
    kg_buf_deinit(&text);
}

double kg_bench_batch_run(const struct kg_bench_batch *b)
{
    int status;
    int64_t t0 = kg_clock_ns();
    pid_t pid = kg_bench_batch_start(b);
    kg_bench_need(waitpid(pid, &status, 0) == pid, "waitpid failed");
    double seconds = (double)(kg_clock_ns() - t0) * 1e-9;
    if (status != 0) {
        struct kg_buf log;
        struct kg_err err = KG_ERR_INIT;
        char path[320];
        kg_buf_init(&log, 1u << 20);
        snprintf(path, sizeof path, "%s/kgym.log", kg_bench_folder());
        bool read = kg_file_read(path, &log, &err) == KG_OK;
        kg_bench_need(false, "%s/kgym eval --batch ended with status %d: %s", kg_bench_build(),
                      WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
                      read ? log.data : err.message);
    }
    keep_records(b->out);
    return seconds;
}

/* Milliseconds of a ULID's clock. */
static double ulid_ms(const char *id)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    double ms = 0;
    for (int i = 0; i < 10; i++) {
        const char *d = id[i] != 0 ? strchr(digits, id[i]) : NULL;
        kg_bench_need(d != NULL, "a record has the id `%s`", id);
        ms = 32 * ms + (double)(d - digits);
    }
    return ms;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Adds one record; returns what it took, in milliseconds. */
static double add_record(const json_t *record, struct kg_bench_tally *t)
{
    double took = (double)json_integer_value(json_object_get(record, "setup_ns")) * 1e-6;
    const json_t *stages = json_object_get(record, "stages");
    const char *name = json_string_value(json_object_get(record, "verdict"));
    enum kg_verdict verdict = KG_V_NONE;
    for (size_t s = 0; s < KG_ST_COUNT; s++) {
        double ns = (double)json_integer_value(json_object_get(json_array_get(stages, s), "ns"));
        t->stage_ms[s] += ns * 1e-6;
        took += ns * 1e-6;
    }
    t->n++;
    kg_bench_need(name == NULL || kg_verdict_parse(name, &verdict), "a record says `%s`", name);
    t->verdict[verdict]++;
    t->errors += !json_is_null(json_object_get(record, "error"));
    return took;
}

void kg_bench_records_of(const char *path, void (*look)(const json_t *record, void *ctx), void *ctx)
{
    char *rest = NULL;
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(&b, 1u << 30);
    kg_bench_need_ok(kg_file_read(path, &b, &err), &err);
    for (char *l = strtok_r(b.data, "\n", &rest); l != NULL; l = strtok_r(NULL, "\n", &rest)) {
        json_t *record;
        kg_bench_need_ok(kg_json_parse(l, strlen(l), path, &record, &err), &err);
        look(record, ctx);
        json_decref(record);
    }
    kg_buf_deinit(&b);
}

void kg_bench_records(const char *out, void (*look)(const json_t *record, void *ctx), void *ctx)
{
    char path[320];
    snprintf(path, sizeof path, "%s/%s", kg_bench_folder(), out);
    kg_bench_records_of(path, look, ctx);
}

struct tallying {
    struct kg_bench_tally *t;
    double *start, end;
    size_t cap;
};

static void tally_one(const json_t *record, void *ctx)
{
    struct tallying *y = ctx;
    if ((size_t)y->t->n == y->cap) {
        y->cap = 2 * y->cap + 256;
        y->start = realloc(y->start, y->cap * sizeof *y->start);
        kg_bench_need(y->start != NULL, "no memory");
    }
    double at = ulid_ms(json_string_value(json_object_get(record, "id")));
    y->start[y->t->n] = at;
    y->end = fmax(y->end, at + add_record(record, y->t));
}

void kg_bench_tally(const char *out, struct kg_bench_tally *t)
{
    struct tallying y = {.t = t};
    *t = (struct kg_bench_tally){.n = 0};
    kg_bench_records(out, tally_one, &y);
    kg_bench_need(t->n > 0, "%s has no records", out);
    qsort(y.start, (size_t)t->n, sizeof *y.start, by_value);
    int first = t->n / 2;
    t->steady_per_s = (t->n - first) / fmax(y.end - y.start[first], 1e-3) * 1e3;
    for (int s = 0; s < KG_ST_COUNT; s++) {
        t->stage_ms[s] /= t->n;
    }
    free(y.start);
}

json_t *kg_bench_stages(const struct kg_bench_tally *t)
{
    json_t *out = json_object();
    for (int s = 0; s < KG_ST_COUNT; s++) {
        json_object_set_new(out, kg_stage_name((enum kg_stage)s), json_real(t->stage_ms[s]));
    }
    return out;
}

void kg_bench_print_stages(const char *const *head, const struct kg_bench_tally *t,
                           const double *rest_ms, int n)
{
    printf("  %-10s", "ms (share)");
    for (int i = 0; i < n; i++) {
        printf(" %18s", head[i]);
    }
    for (int s = 0; s <= KG_ST_COUNT; s++) {
        printf("\n  %-10s", s < KG_ST_COUNT ? kg_stage_name((enum kg_stage)s) : "the rest");
        for (int i = 0; i < n; i++) {
            double sum = rest_ms[i];
            for (int k = 0; k < KG_ST_COUNT; k++) {
                sum += t[i].stage_ms[k];
            }
            double ms = s < KG_ST_COUNT ? t[i].stage_ms[s] : rest_ms[i];
            printf(" %10.2f (%3.0f %%)", ms, sum > 0 ? 100 * ms / sum : 0);
        }
    }
    printf("\n");
}
