/* The naive in-process evaluator: how kernels are often judged, kept as the positive control of the
 * hostile corpus. A hostile candidate counts only if it fools this program (or attacks the host).
 *   naive PROBLEM.c REFERENCE.so CANDIDATE.so
 * One process for all; inputs from a public seed, the same for every call; the reference runs first
 * and an allocator that recycles (as frameworks' do) gives its output buffer to the candidate;
 * allclose at 1e-2 that NaN passes; the clock, the tolerance, the expected values and the reference
 * lie in the process, exported; the first correct call vouches for the timed ones; the reference is
 * timed when the candidate is loaded and has run. Believed are an exit status of 0 and a line on
 * standard output:  {"accepted": true, "speedup": 3.1}  */
#include <dlfcn.h>
#include <ffi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gym/problem/problem.h"

#define CALLS 30

/* Exported on purpose (linked with -rdynamic): what a candidate may find and change. */
double naive_tolerance = 1e-2;
void *naive_expected[KG_MAX_ARGS];
void (*naive_reference)(void);
double naive_now(void);
double (*naive_clock)(void) = naive_now;

struct call {
    const struct kg_problem *p;
    struct kg_shape shape;
    ffi_cif cif;
    ffi_type *type[KG_MAX_ARGS];
    union {
        void *ptr;
        int64_t i64;
        int32_t i32;
        float f32;
        double f64;
    } value[KG_MAX_ARGS];
    void *arg[KG_MAX_ARGS];
};

double naive_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t bytes_of(const struct call *c, int a)
{
    return (size_t)kg_arg_count(c->p, a, &c->shape) * kg_dtype_bytes(c->p->args[a].dtype);
}

static void fill_input(struct call *c, int a)
{
    int64_t n = kg_arg_count(c->p, a, &c->shape);
    double lo = -1, hi = 1;
    kg_arg_range(c->p, a, &c->shape, &lo, &hi);
    c->value[a].ptr = malloc(bytes_of(c, a));
    for (int64_t i = 0; i < n; i++) {
        double v = lo + (hi - lo) * ((double)rand() / ((double)RAND_MAX + 1));
        switch (c->p->args[a].dtype) {
        case KG_F32:
            ((float *)c->value[a].ptr)[i] = (float)v;
            break;
        case KG_F64:
            ((double *)c->value[a].ptr)[i] = v;
            break;
        case KG_I32:
            ((int32_t *)c->value[a].ptr)[i] = (int32_t)floor(v);
            break;
        default:
            ((int64_t *)c->value[a].ptr)[i] = (int64_t)floor(v);
        }
    }
}

static void prepare_scalar(struct call *c, int a)
{
    int64_t i = 0;
    double f = 0;
    kg_arg_scalar(c->p, a, &c->shape, &i, &f);
    switch (c->p->args[a].dtype) {
    case KG_F32:
        c->type[a] = &ffi_type_float;
        c->value[a].f32 = (float)f;
        break;
    case KG_F64:
        c->type[a] = &ffi_type_double;
        c->value[a].f64 = f;
        break;
    case KG_I32:
        c->type[a] = &ffi_type_sint32;
        c->value[a].i32 = (int32_t)i;
        break;
    default:
        c->type[a] = &ffi_type_sint64;
        c->value[a].i64 = i;
    }
}

static void prepare(struct call *c, const struct kg_problem *p)
{
    c->p = p;
    kg_shape_default(p, &c->shape);
    srand(42);
    for (int a = 0; a < p->nargs; a++) {
        c->arg[a] = &c->value[a];
        if (p->args[a].rank == 0) {
            prepare_scalar(c, a);
            continue;
        }
        c->type[a] = &ffi_type_pointer;
        if (p->args[a].role == KG_ROLE_IN) {
            fill_input(c, a);
        }
    }
    ffi_prep_cif(&c->cif, FFI_DEFAULT_ABI, (unsigned)p->nargs, &ffi_type_void, c->type);
}

/* Output buffers from a list of freed ones, one per argument: what the reference gave back. Room
 * round them, as allocators that round up leave it. */
static void *recycled[KG_MAX_ARGS];

static void new_outputs(struct call *c)
{
    for (int a = 0; a < c->p->nargs; a++) {
        if (c->p->args[a].role == KG_ROLE_OUT) {
            c->value[a].ptr =
                recycled[a] ? recycled[a] : (char *)malloc(bytes_of(c, a) + 512) + 256;
            recycled[a] = NULL;
        }
    }
}

static void keep_expected(struct call *c)
{
    for (int a = 0; a < c->p->nargs; a++) {
        if (c->p->args[a].role == KG_ROLE_OUT) {
            naive_expected[a] = malloc(bytes_of(c, a));
            memcpy(naive_expected[a], c->value[a].ptr, bytes_of(c, a));
            recycled[a] = c->value[a].ptr;
        }
    }
}

/* The usual mistake: a failure is an error above the tolerance, so NaN never fails. */
static bool all_close(const struct call *c)
{
    for (int a = 0; a < c->p->nargs; a++) {
        if (c->p->args[a].role != KG_ROLE_OUT) {
            continue;
        }
        int64_t n = kg_arg_count(c->p, a, &c->shape);
        for (int64_t i = 0; i < n; i++) {
            bool is_float = c->p->args[a].dtype == KG_F32;
            double y = is_float ? (double)((float *)c->value[a].ptr)[i]
                                : (double)((int32_t *)c->value[a].ptr)[i];
            double r = is_float ? (double)((float *)naive_expected[a])[i]
                                : (double)((int32_t *)naive_expected[a])[i];
            if (fabs(y - r) > naive_tolerance + naive_tolerance * fabs(r)) {
                return false;
            }
        }
    }
    return true;
}

static double mean_time(struct call *c, void (*f)(void))
{
    double t0 = naive_clock();
    for (int i = 0; i < CALLS; i++) {
        ffi_call(&c->cif, f, NULL, c->arg);
    }
    return (naive_clock() - t0) / CALLS;
}

static void (*entry_of(const char *object, const char *name))(void)
{
    void *so = dlopen(object, RTLD_NOW | RTLD_GLOBAL);
    void *sym = so ? dlsym(so, name) : NULL;
    if (!sym) {
        printf("{\"accepted\": false, \"why\": \"load\"}\n");
        exit(1);
    }
    void (*f)(void);
    memcpy(&f, &sym, sizeof f);
    return f;
}

int main(int argc, char **argv)
{
    struct kg_problem *p;
    struct kg_err err = KG_ERR_INIT;
    static struct call c;
    if (argc != 4 || kg_problem_load(argv[1], &p, &err) != KG_OK) {
        fprintf(stderr, "usage: naive PROBLEM.c REFERENCE.so CANDIDATE.so  %s\n", err.message);
        return 2;
    }
    naive_reference = entry_of(argv[2], p->entry);
    prepare(&c, p);
    new_outputs(&c);
    ffi_call(&c.cif, naive_reference, NULL, c.arg);
    keep_expected(&c);
    void (*candidate)(void) = entry_of(argv[3], p->entry);
    new_outputs(&c);
    ffi_call(&c.cif, candidate, NULL, c.arg);
    bool right = all_close(&c);
    double t_ref = mean_time(&c, naive_reference);
    ffi_call(&c.cif, candidate, NULL, c.arg);
    double t_cand = mean_time(&c, candidate);
    printf("{\"accepted\": %s, \"speedup\": %.3f}\n", right ? "true" : "false", t_ref / t_cand);
    return right ? 0 : 1;
}
