/* How long extraction and the static check take, on replies of several kinds and sizes, in CPU time
 * of the thread, which other load on the host does not change. Hostile kinds are those that could
 * make a careless scanner quadratic.
 *   build/release/bench/bench_extract [repetitions=200] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "bench/common/host.h"
#include "gym/reply/check.h"
#include "gym/reply/extract.h"

static const char kernel[] =
    "#include <stdint.h>\n\n/* y = max(x, 0), %d */\nstatic inline float pick%d(float v)\n{\n"
    "    return v > 0.0f ? v : 0.0f;\n}\n\nstatic void rows%d(const float *x, float *y, int64_t "
    "n)\n"
    "{\n    for (int64_t i = 0; i + 8 <= n; i += 8) {\n        for (int j = 0; j < 8; j++) {\n"
    "            y[i + j] = pick%d(x[i + j]) * 1.0e0f; // no \"tail\" here\n        }\n    }\n}\n";
static const char entry[] = "void relu(const float *x, float *y, int64_t n)\n{\n"
                            "    rows0(x, y, n);\n}\n";

/* Functions up to about bytes, then the entry. */
static void add_code(struct kg_buf *b, size_t bytes, bool with_entry)
{
    size_t start = b->len;
    for (int i = 0; b->len - start + sizeof kernel + sizeof entry < bytes; i++) {
        kg_buf_addf(b, kernel, i, i, i, i);
    }
    kg_buf_adds(b, with_entry ? entry : "");
}

static void repeat(struct kg_buf *b, size_t bytes, const char *unit)
{
    while (b->len + strlen(unit) < bytes) {
        kg_buf_adds(b, unit);
    }
}

static void make_reply(struct kg_buf *b, const char *kind, size_t bytes)
{
    kg_buf_reset(b);
    if (strcmp(kind, "one block") == 0) {
        kg_buf_adds(b, "Here is a faster kernel.\n```c\n");
        add_code(b, bytes - 64, true);
        kg_buf_adds(b, "```\nIt reads each value once.\n");
    } else if (strcmp(kind, "prose, then a block") == 0) {
        repeat(b, bytes - 2000, "The operator is bound by memory; `relu` reads x and writes y.\n");
        kg_buf_adds(b, "```c\n");
        add_code(b, 1900, true);
        kg_buf_adds(b, "```\n");
    } else if (strcmp(kind, "thinking, then a block") == 0) {
        kg_buf_adds(b, "<think>\n");
        repeat(b, bytes / 2, "Perhaps ```c\nvoid relu(int a) { }\n```\nor not.\n");
        kg_buf_adds(b, "</think>\n```c\n");
        add_code(b, bytes / 2 - 64, true);
        kg_buf_adds(b, "```\n");
    } else if (strcmp(kind, "bare code") == 0) {
        add_code(b, bytes, true);
    } else if (strcmp(kind, "no entry, many blocks") == 0) {
        while (b->len + 900 < bytes) {
            kg_buf_adds(b, "```c\n/* relu */\n");
            add_code(b, 800, false);
            kg_buf_adds(b, "```\n");
        }
    } else if (strcmp(kind, "fences only") == 0) {
        repeat(b, bytes, "```\n");
    } else if (strcmp(kind, "open comments") == 0) {
        repeat(b, bytes, "```c\nvoid relu(int a) { /*\n```\n");
    } else if (strcmp(kind, "open docstrings") == 0) {
        repeat(b, bytes, "```python\n\"\"\" relu\n```\n");
    } else if (strcmp(kind, "broken definitions") == 0) {
        repeat(b, bytes, "```c\nvoid relu(int a) { if (a &lt; 1) {\n```\n");
    } else {
        repeat(b, bytes, "{([relu \"'/*<code>&amp;\\n");
    }
}

static int64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct figures {
    double median_us, p99_us;
};

static struct figures summarise(double *us, int n)
{
    qsort(us, (size_t)n, sizeof *us, by_value);
    return (struct figures){us[n / 2], us[(int)(0.99 * (n - 1))]};
}

static struct figures time_extract(const struct kg_buf *b, double *us, int n, bool *found)
{
    for (int i = 0; i < n; i++) {
        struct kg_arena arena;
        struct kg_extract x;
        struct kg_err err;
        kg_arena_init(&arena, "bench", 8u << 20);
        int64_t t0 = cpu_ns();
        if (kg_extract_reply(b->data, b->len, NULL, KG_LANG_C, "relu", &arena, &x, &err) != KG_OK) {
            fprintf(stderr, "bench: %s\n", err.message);
            exit(2);
        }
        us[i] = (double)(cpu_ns() - t0) / 1000;
        *found = x.found;
        kg_arena_deinit(&arena);
    }
    return summarise(us, n);
}

static struct figures time_check(const struct kg_buf *b, double *us, int n)
{
    for (int i = 0; i < n; i++) {
        struct kg_finding f[64];
        int64_t t0 = cpu_ns();
        kg_check_c(b->data, b->len, "relu", f, 64);
        us[i] = (double)(cpu_ns() - t0) / 1000;
    }
    return summarise(us, n);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {
        "one block",     "prose, then a block", "thinking, then a block",
        "bare code",     "fences only",         "no entry, many blocks",
        "open comments", "open docstrings",     "broken definitions",
        "noise"};
    static const size_t sizes[] = {20000, 200000};
    int n = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200;
    n = n < 3 ? 3 : n;
    double *us = calloc((size_t)n, sizeof *us);
    json_t *rows = json_array();
    struct kg_buf b;
    kg_buf_init(&b, 1u << 20);
    printf("%-24s %8s %6s %22s %22s\n", "microseconds, C", "bytes", "code", "extract median, p99",
           "check median, p99");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes && us != NULL; s++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            bool found = false;
            make_reply(&b, kinds[k], sizes[s]);
            struct figures e = time_extract(&b, us, n, &found), c = time_check(&b, us, n);
            printf("%-24s %8zu %6s %11.1f %10.1f %11.1f %10.1f\n", kinds[k], b.len,
                   found ? "yes" : "no", e.median_us, e.p99_us, c.median_us, c.p99_us);
            json_array_append_new(rows, json_pack("{s:s, s:i, s:b, s:f, s:f, s:f, s:f}", "kind",
                                                  kinds[k], "bytes", (int)b.len, "found", found,
                                                  "extract_median_us", e.median_us,
                                                  "extract_p99_us", e.p99_us, "check_median_us",
                                                  c.median_us, "check_p99_us", c.p99_us));
        }
    }
    kg_bench_json("extract", json_pack("{s:i, s:o}", "repetitions", n, "rows", rows));
    kg_buf_deinit(&b);
    free(us);
    return 0;
}
