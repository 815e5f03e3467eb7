/* Does the comparison tell honest reordering from reduced precision? Dot products of length K by
 * methods that an honest kernel may use and by methods that it may not, judged as the gym judges
 * them, under several value laws and the precision probe.
 *   build/release/bench/bench_separation [rows=512] [seed=1]
 * Columns: rms error in units of u rms(o), u = 2^-24; largest error over its bound; verdict. Then
 * long sums with a reference of many accumulators, as libraries have it, judged with K known and
 * unknown. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/host.h"
#include "gym/values/law.h"
#include "gym/verify/compare.h"

#define MOST_K    8192
#define LONG_K    131072
#define LONG_ROWS 256

static const char source[] = "/*---kgym\n"
                             "name: dot\nlevel: 1\nentry: dot\n"
                             "dims: {rows: 512, k: 64}\n"
                             "args:\n"
                             "  - {name: a, type: \"f32[rows,k]\", role: in}\n"
                             "  - {name: b, type: \"f32[rows,k]\", role: in}\n"
                             "  - {name: y, type: \"f32[rows]\", role: out}\n"
                             "---*/\n"
                             "void dot(const real *a) { (void)a; }\n";

typedef float (*dot_fn)(const float *a, const float *b, int64_t k);

/* To `bits` significant bits, to nearest even. */
static float rounded(float x, int bits)
{
    uint32_t u, drop = 24 - (uint32_t)bits;
    memcpy(&u, &x, sizeof u);
    u = (u + (1u << (drop - 1)) - 1 + (u >> drop & 1)) & ~((1u << drop) - 1);
    memcpy(&x, &u, sizeof x);
    return x;
}

static float sequential(const float *a, const float *b, int64_t k)
{
    float s = 0;
    for (int64_t i = 0; i < k; i++) {
        s += a[i] * b[i];
    }
    return s;
}

static float fused(const float *a, const float *b, int64_t k)
{
    float s = 0;
    for (int64_t i = 0; i < k; i++) {
        s = fmaf(a[i], b[i], s);
    }
    return s;
}

static float lanes(const float *a, const float *b, int64_t k, int n)
{
    float lane[64] = {0}, s = 0;
    for (int64_t i = 0; i < k; i++) {
        lane[i % n] += a[i] * b[i];
    }
    for (int j = 0; j < n; j++) {
        s += lane[j];
    }
    return s;
}

static float lanes_8(const float *a, const float *b, int64_t k)
{
    return lanes(a, b, k, 8);
}

static float lanes_64(const float *a, const float *b, int64_t k)
{
    return lanes(a, b, k, 64);
}

static float tree(const float *a, const float *b, int64_t k)
{
    return k == 1 ? a[0] * b[0] : tree(a, b, k / 2) + tree(a + k / 2, b + k / 2, k - k / 2);
}

static float narrow_operands(const float *a, const float *b, int64_t k, int bits)
{
    float lane[64] = {0}, s = 0;
    for (int64_t i = 0; i < k; i++) {
        lane[i % 64] += rounded(a[i], bits) * rounded(b[i], bits);
    }
    for (int j = 0; j < 64; j++) {
        s += lane[j];
    }
    return s;
}

static float bf16_operands(const float *a, const float *b, int64_t k)
{
    return narrow_operands(a, b, k, 8);
}

static float tf32_operands(const float *a, const float *b, int64_t k)
{
    return narrow_operands(a, b, k, 11);
}

/* Significand of fp16; its range is left out, so this flatters it. */
static float fp16_accumulator(const float *a, const float *b, int64_t k)
{
    float s = 0;
    for (int64_t i = 0; i < k; i++) {
        s = rounded(s + rounded(a[i] * b[i], 11), 11);
    }
    return s;
}

static const struct method {
    const char *name;
    dot_fn dot;
    bool honest;
} methods[] = {
    {"fp32, one accumulator", sequential, true},   {"fp32, fused", fused, true},
    {"fp32, 64 accumulators", lanes_64, true},     {"fp32, tree", tree, true},
    {"11-bit operands", tf32_operands, false},     {"bf16 operands", bf16_operands, false},
    {"fp16 accumulator", fp16_accumulator, false},
};
#define METHODS ((int)(sizeof methods / sizeof *methods))

static const int64_t lengths[] = {64, 256, 1024, MOST_K};
#define LENGTHS ((int)(sizeof lengths / sizeof *lengths))

static const enum kg_law laws[] = {KG_LAW_OWN, KG_LAW_NORMAL, KG_LAW_UNIFORM, KG_LAW_PRECISION};
#define LAWS ((int)(sizeof laws / sizeof *laws))

struct cell {
    double rms, worst;
    bool pass;
};

static struct cell cells[LAWS][METHODS][LENGTHS];
static struct cell long_cells[LAWS][METHODS][2]; /* K unknown, known */
static double e_ref[LAWS][LENGTHS];

struct sum {
    enum kg_law law;
    int64_t rows, k;
    dot_fn reference;
    bool known; /* K, to the judge */
};

/* *e: of the reference. */
static void measure(const struct kg_problem *p, const struct sum *u, uint64_t seed, float *a,
                    float *b, struct cell out[METHODS], double *e)
{
    struct kg_shape s = {.dim = {u->rows, u->k}};
    void *buf[KG_MAX_ARGS] = {a, b};
    int64_t k = u->k, rows = u->rows;
    float *r = malloc((size_t)rows * sizeof *r), *y = malloc((size_t)rows * sizeof *y);
    double *o = malloc((size_t)rows * sizeof *o);
    struct kg_bound bound;
    KG_ASSERT(r && y && o);
    kg_law_fill(p, &s, u->law, (struct kg_key){{seed, (uint64_t)k}}, buf);
    for (int64_t i = 0; i < rows; i++) {
        r[i] = u->reference(a + i * k, b + i * k, k);
        o[i] = 0;
        for (int64_t j = 0; j < k; j++) {
            o[i] += (double)a[i * k + j] * b[i * k + j];
        }
    }
    kg_bound_of(KG_F32, r, o, (uint64_t)rows, u->known ? k : 0, &bound);
    *e = bound.e_ref;
    for (int m = 0; m < METHODS; m++) {
        struct kg_compare c;
        double sum = 0;
        for (int64_t i = 0; i < rows; i++) {
            y[i] = methods[m].dot(a + i * k, b + i * k, k);
            sum += (y[i] - o[i]) * (y[i] - o[i]);
        }
        bool probe = u->law == KG_LAW_PRECISION;
        kg_compare_run(KG_F32, probe ? KG_COMPARE_PRECISION : KG_COMPARE_ORACLE, y, r, o,
                       (uint64_t)rows, &bound, &c);
        out[m] = (struct cell){sqrt(sum / (double)rows) / bound.rms * 0x1p24, c.worst, c.pass};
    }
    free(r);
    free(y);
    free(o);
}

/* Every cell of one law. */
static void measure_law(const struct kg_problem *p, int l, int64_t rows, uint64_t seed, float *a,
                        float *b)
{
    struct cell column[METHODS];
    double e;
    for (int k = 0; k < LENGTHS; k++) {
        struct sum u = {laws[l], rows, lengths[k], lanes_8, true};
        measure(p, &u, seed, a, b, column, &e_ref[l][k]);
        for (int m = 0; m < METHODS; m++) {
            cells[l][m][k] = column[m];
        }
    }
    for (int known = 0; known < 2; known++) {
        struct sum u = {laws[l], LONG_ROWS, LONG_K, lanes_64, known == 1};
        measure(p, &u, seed, a, b, column, &e);
        for (int m = 0; m < METHODS; m++) {
            long_cells[l][m][known] = column[m];
        }
    }
}

static void print_long(void)
{
    printf("\nK = %d, reference with 64 accumulators\n%-24s", LONG_K, "");
    for (int l = 0; l < LAWS; l++) {
        printf(" %-9s: rms, worst if K unknown, known  ", kg_law_name(laws[l]));
    }
    for (int m = 0; m < METHODS; m++) {
        printf("\n%-24s", methods[m].name);
        for (int l = 0; l < LAWS; l++) {
            const struct cell *c = long_cells[l][m];
            printf("%9.3g %9.3g %-7s %9.3g %-7s", c[0].rms, c[0].worst,
                   c[0].pass ? "pass" : "refused", c[1].worst, c[1].pass ? "pass" : "refused");
        }
    }
    printf("\n");
}

static void print_table(void)
{
    for (int l = 0; l < LAWS; l++) {
        printf("\nlaw %s%s\n%-24s", kg_law_name(laws[l]),
               laws[l] == KG_LAW_PRECISION ? " (precision probe)" : "", "");
        for (int k = 0; k < LENGTHS; k++) {
            printf("            K = %-5lld     ", (long long)lengths[k]);
        }
        for (int m = 0; m < METHODS; m++) {
            printf("\n%-24s", methods[m].name);
            for (int k = 0; k < LENGTHS; k++) {
                const struct cell *c = &cells[l][m][k];
                printf("%9.3g %9.3g %-8s", c->rms, c->worst, c->pass ? "pass" : "refused");
            }
        }
        printf("\n");
    }
}

static void print_json(int64_t rows)
{
    int honest_refused = 0, reduced_passed = 0, probe_passed = 0;
    json_t *list = json_array();
    for (int l = 0; l < LAWS; l++) {
        for (int m = 0; m < METHODS; m++) {
            for (int k = 0; k < LENGTHS; k++) {
                const struct cell *c = &cells[l][m][k];
                json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:f, s:f, s:f, s:b}", "law",
                                                      kg_law_name(laws[l]), "method",
                                                      methods[m].name, "k", (json_int_t)lengths[k],
                                                      "rms_u", c->rms, "worst", c->worst, "e_ref",
                                                      e_ref[l][k], "pass", c->pass));
                honest_refused += methods[m].honest && !c->pass;
                reduced_passed += !methods[m].honest && c->pass;
                probe_passed += !methods[m].honest && c->pass && laws[l] == KG_LAW_PRECISION;
            }
        }
    }
    kg_bench_json("separation",
                  json_pack("{s:I, s:i, s:i, s:i, s:o}", "rows", (json_int_t)rows, "honest_refused",
                            honest_refused, "reduced_passed", reduced_passed,
                            "reduced_passed_probe", probe_passed, "cells", list));
}

int main(int argc, char **argv)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_problem *p = NULL;
    int64_t rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 512;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (rows < 1 || rows > 65536) {
        fprintf(stderr, "bench_separation: rows must be 1 to 65536\n");
        return 2;
    }
    if (kg_problem_parse(source, sizeof source - 1, "dot.c", &p, &err) != KG_OK) {
        fprintf(stderr, "bench_separation: %s\n", err.message);
        return 2;
    }
    size_t most = (size_t)rows * MOST_K, far = (size_t)LONG_ROWS * LONG_K;
    float *a = malloc((most > far ? most : far) * sizeof *a);
    float *b = malloc((most > far ? most : far) * sizeof *b);
    KG_ASSERT(a && b);
    for (int l = 0; l < LAWS; l++) {
        measure_law(p, l, rows, seed, a, b);
    }
    print_table();
    print_long();
    print_json(rows);
    free(a);
    free(b);
    kg_problem_destroy(p);
    return 0;
}
