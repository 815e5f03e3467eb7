#include "opcall.h"

#include <dlfcn.h>
#include <ffi.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_ARGS 16
#define GUARD    4 /* elements behind every array, checked after the call */

enum kind { IN, OUT, INDEX, OUT_INDEX, SCALAR, DIM, IN_PLACE };

struct arg {
    enum kind kind;
    int64_t n;
    double *f64;
    float *f32;
    int32_t *i32;
    double scalar;
};

static void *lib;
static const char *op_name;
static struct arg args[MAX_ARGS];
static int nargs;
static uint64_t seed = 20240229;

int opcall_open(void)
{
    const char *build = getenv("KGYM_BUILD");
    char path[4096];
    snprintf(path, sizeof path, "%s/kgops/libkgops.so", build ? build : "build/release");
    lib = dlopen(path, RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    printf("seed %llu\n", (unsigned long long)seed);
    return 0;
}

void *opcall_symbol(const char *op, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "kgops_%s_%s", op, suffix);
    void *p = dlsym(lib, name);
    if (!p) {
        fail_msg("libkgops.so lacks %s", name);
    }
    return p;
}

static uint32_t draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

static struct arg *append(enum kind kind, int64_t n)
{
    assert_true(nargs < MAX_ARGS);
    args[nargs] = (struct arg){.kind = kind, .n = n};
    return &args[nargs++];
}

static void *array(int64_t n, size_t size)
{
    void *p = malloc((size_t)(n + GUARD) * size);
    assert_non_null(p);
    memset(p, 0xa5, (size_t)(n + GUARD) * size);
    return p;
}

void opcall_begin(const char *op)
{
    for (int k = 0; k < nargs; k++) {
        free(args[k].f64);
        free(args[k].f32);
        free(args[k].i32);
    }
    nargs = 0;
    op_name = op;
}

const double *opcall_in(int64_t n)
{
    struct arg *a = append(IN, n);
    a->f64 = array(n, sizeof(double));
    a->f32 = array(n, sizeof(float));
    for (int64_t i = 0; i < n; i++) {
        a->f32[i] = (float)((double)draw() * 0x1p-30 - 2.0);
        a->f64[i] = a->f32[i];
    }
    return a->f64;
}

void opcall_in_place(void)
{
    append(IN_PLACE, args[0].n);
}

const int32_t *opcall_index(int64_t n, int32_t below)
{
    struct arg *a = append(INDEX, n);
    a->i32 = array(n, sizeof(int32_t));
    for (int64_t i = 0; i < n; i++) {
        a->i32[i] = (int32_t)(draw() % (uint32_t)below);
    }
    return a->i32;
}

void opcall_out(int64_t n)
{
    struct arg *a = append(OUT, n);
    a->f64 = array(n, sizeof(double));
    a->f32 = array(n, sizeof(float));
}

void opcall_out_index(int64_t n)
{
    struct arg *a = append(OUT_INDEX, n);
    a->i32 = array(n, sizeof(int32_t));
    a->f32 = array(n, sizeof(int32_t)); /* the answer of the f32 function */
}

void opcall_scalar(double v)
{
    append(SCALAR, 0)->scalar = v;
}

void opcall_dim(int64_t v)
{
    append(DIM, v);
}

static void *address(const struct arg *a, bool wide)
{
    switch (a->kind) {
    case IN_PLACE:
        return address(&args[0], wide);
    case INDEX:
        return a->i32;
    case OUT_INDEX:
        return wide ? (void *)a->i32 : (void *)a->f32;
    default:
        return wide ? (void *)a->f64 : (void *)a->f32;
    }
}

static void call(bool wide)
{
    ffi_type *types[MAX_ARGS];
    void *values[MAX_ARGS], *pointers[MAX_ARGS];
    float narrow[MAX_ARGS];
    for (int k = 0; k < nargs; k++) {
        struct arg *a = &args[k];
        if (a->kind == DIM) {
            types[k] = &ffi_type_sint64;
            values[k] = &a->n;
        } else if (a->kind == SCALAR) {
            narrow[k] = (float)a->scalar;
            types[k] = wide ? &ffi_type_double : &ffi_type_float;
            values[k] = wide ? (void *)&a->scalar : (void *)&narrow[k];
        } else {
            pointers[k] = address(a, wide);
            types[k] = &ffi_type_pointer;
            values[k] = &pointers[k];
        }
    }
    ffi_cif cif;
    assert_int_equal(ffi_prep_cif(&cif, FFI_DEFAULT_ABI, (unsigned)nargs, &ffi_type_void, types),
                     FFI_OK);
    ffi_call(&cif, FFI_FN(opcall_symbol(op_name, wide ? "f64" : "f32")), NULL, values);
}

static void check_guard(const void *p, int64_t n, size_t size)
{
    const unsigned char *end = (const unsigned char *)p + (size_t)n * size;
    for (size_t i = 0; p && i < GUARD * size; i++) {
        if (end[i] != 0xa5) {
            fail_msg("kgops_%s wrote beyond an array of %lld elements", op_name, (long long)n);
        }
    }
}

void opcall_run(void)
{
    call(false);
    call(true);
    for (int k = 0; k < nargs; k++) {
        check_guard(args[k].f64, args[k].n, sizeof(double));
        check_guard(args[k].f32, args[k].n, sizeof(float));
        check_guard(args[k].i32, args[k].n, sizeof(int32_t));
    }
}

const int64_t opcall_plane[OPCALL_PLANES][2] = {{1, 1},   {1, 19},  {5, 1},  {3, 16},
                                                {17, 33}, {31, 15}, {4, 129}};

void opcall_run_plane(int64_t rows, int64_t cols)
{
    opcall_dim(rows);
    opcall_dim(cols);
    opcall_run();
}

const double *opcall_map_plane(const char *op, int64_t rows, int64_t cols, int64_t n)
{
    opcall_begin(op);
    const double *x = opcall_in(rows * cols);
    opcall_out(n);
    opcall_run_plane(rows, cols);
    return x;
}

static const struct arg *output(void)
{
    for (int k = 0; k < nargs; k++) {
        if (args[k].kind == OUT || args[k].kind == OUT_INDEX) {
            return &args[k];
        }
        if (args[k].kind == IN_PLACE) {
            return &args[0];
        }
    }
    fail_msg("kgops_%s has no output", op_name);
    return NULL;
}

static void near(const char *suffix, int64_t i, double got, double want, double bound)
{
    bool same = isfinite(want) ? fabs(got - want) <= bound : got == want;
    if (!same) {
        fail_msg("kgops_%s_%s: element %lld is %.17g, not %.17g (bound %.3g)", op_name, suffix,
                 (long long)i, got, want, bound);
    }
}

void opcall_expect(int64_t i, double want, double scale)
{
    const struct arg *a = output();
    near("f32", i, a->f32[i], want, 2e-6 * (fabs(want) + scale));
    near("f64", i, a->f64[i], want, 1e-14 * (fabs(want) + scale));
}

void opcall_expect_index(int64_t i, int32_t want)
{
    const struct arg *a = output();
    int32_t narrow;
    memcpy(&narrow, (const char *)a->f32 + (size_t)i * sizeof narrow, sizeof narrow);
    assert_int_equal(narrow, want);
    assert_int_equal(a->i32[i], want);
}
