/* Does the bound admit every honest order of a sum? All shipped problems that sum, and two that
 * users write (tests/orders/problems), by candidates that sum forward, backward, pairwise, in 8 and
 * 16 lanes and in blocks (tests/orders), at the shapes of a full run and under every law that the
 * problem does not leave out. Nothing is compiled or confined per evaluation: values, references,
 * candidates and the comparison run here, as the judge makes them.
 *   build/release/bench/bench_sum_orders [rounds=200] [problem, or its path; the candidate is that
 * of its entry] Table: the largest error over its bound by problem and order, R<n> where n cases
 * were refused. Ends with status 1 if any was. */
#include <dlfcn.h>
#include <ffi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bench/common/host.h"
#include "gym/problem/variant.h"
#include "gym/values/law.h"
#include "gym/verify/compare.h"

#define ORDERS 6
#define LOAD   "-std=gnu17 -O3 -march=native -fPIC -shared -w"

static const char *const orders[ORDERS] = {"forward", "backward", "pairwise",
                                           "lanes8",  "lanes16",  "blocked"};
static const char *const shipped[] = {"row_stats",      "softmax",         "cross_entropy",
                                      "add_layer_norm", "rms_norm_linear", "attention_head",
                                      "matmul",         "conv2d",          "matmul_bias_gelu",
                                      "cumsum",         "row_sum",         "row_norm"};
#define SHIPPED (sizeof shipped / sizeof *shipped)

typedef void (*entry_fn)(void);

struct subject {
    struct kg_problem *p;
    entry_fn narrow, wide, order[ORDERS];
    ffi_cif cif32, cif64;
    ffi_type *type32[KG_MAX_ARGS], *type64[KG_MAX_ARGS];
};

struct tally {
    double worst[ORDERS];
    enum kg_law law[ORDERS]; /* of the worst */
    uint64_t refused[ORDERS];
    uint64_t cases, left_out;
};

/* --- a problem and its objects --- */

static entry_fn load(const char *name, const char *flags, const char *entry)
{
    char command[4096];
    const char *folder = kg_bench_folder();
    snprintf(command, sizeof command,
             "gcc " LOAD " %s '%s/%s.c' -o '%s/%s.so' -I'%s/kgops' -L'%s/kgops' "
             "-Wl,-rpath,'%s/kgops' -lkgops -lm",
             flags, folder, name, folder, name, kg_bench_build(), kg_bench_build(),
             kg_bench_build());
    kg_bench_need(system(command) == 0, "%s does not build", name);
    snprintf(command, sizeof command, "%s/%s.so", folder, name);
    void *lib = dlopen(command, RTLD_NOW | RTLD_LOCAL);
    kg_bench_need(lib != NULL, "%s does not load", name);
    union {
        void *symbol;
        entry_fn fn;
    } u = {.symbol = dlsym(lib, entry)};
    kg_bench_need(u.symbol != NULL, "%s: no %s", name, entry);
    return u.fn;
}

static void prepare(struct subject *s)
{
    for (int k = 0; k < s->p->nargs; k++) {
        const struct kg_arg *a = &s->p->args[k];
        bool real = a->dtype == KG_F32;
        s->type32[k] = a->rank > 0          ? &ffi_type_pointer
                       : real               ? &ffi_type_float
                       : a->dtype == KG_F64 ? &ffi_type_double
                       : a->dtype == KG_I32 ? &ffi_type_sint32
                                            : &ffi_type_sint64;
        s->type64[k] = real && a->rank == 0 ? &ffi_type_double : s->type32[k];
    }
    unsigned n = (unsigned)s->p->nargs;
    kg_bench_need(
        ffi_prep_cif(&s->cif32, FFI_DEFAULT_ABI, n, &ffi_type_void, s->type32) == FFI_OK &&
            ffi_prep_cif(&s->cif64, FFI_DEFAULT_ABI, n, &ffi_type_void, s->type64) == FFI_OK,
        "libffi");
}

static void write_candidate(const char *name, const char *order)
{
    struct kg_buf text, part;
    struct kg_err err = KG_ERR_INIT;
    char path[1024], file[128];
    kg_buf_init(&text, 1u << 20);
    kg_buf_init(&part, 1u << 20);
    kg_buf_addf(&text, "#define SUM_");
    for (const char *c = order; *c; c++) {
        kg_buf_addc(&text, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
    }
    kg_buf_addc(&text, '\n');
    const char *const parts[] = {"sum.inc", name};
    for (int i = 0; i < 2; i++) {
        kg_buf_reset(&part);
        snprintf(path, sizeof path, "%s/tests/orders/%s%s", kg_bench_tree(), parts[i],
                 i ? ".c" : "");
        kg_bench_need_ok(kg_file_read(path, &part, &err), &err);
        kg_buf_add(&text, part.data, part.len);
    }
    snprintf(file, sizeof file, "%s-%s.c", name, order);
    kg_bench_write(file, text.data, text.len);
    kg_buf_deinit(&part);
    kg_buf_deinit(&text);
}

static void subject_open(struct subject *s, const char *name)
{
    struct kg_err err = KG_ERR_INIT;
    char path[1024], file[128];
    snprintf(path, sizeof path, "%s/problems/native/%s.c", kg_bench_tree(), name);
    if (strchr(name, '/')) {
        snprintf(path, sizeof path, "%s", name);
    } else if (!kg_file_exists(path)) {
        snprintf(path, sizeof path, "%s/tests/orders/problems/%s.c", kg_bench_tree(), name);
    }
    kg_bench_need_ok(kg_problem_load(path, &s->p, &err), &err);
    name = s->p->entry;
    for (int wide = 0; wide < 2; wide++) {
        snprintf(file, sizeof file, "%s-%s.c", name, wide ? "double" : "float");
        kg_bench_write(file, s->p->source, s->p->source_len);
        file[strlen(file) - 2] = 0;
        entry_fn f =
            load(file, wide ? "-Dreal=double -DKGOPS_DOUBLE" : "-Dreal=float", s->p->entry);
        *(wide ? &s->wide : &s->narrow) = f;
    }
    for (int i = 0; i < ORDERS; i++) {
        write_candidate(name, orders[i]);
        snprintf(file, sizeof file, "%s-%s", name, orders[i]);
        s->order[i] = load(file, "", s->p->entry);
    }
    prepare(s);
}

/* --- one case --- */

struct arrays {
    void *v[KG_MAX_ARGS];
};

static size_t bytes_of(const struct kg_problem *p, int k, const struct kg_shape *s, bool wide)
{
    enum kg_dtype t = p->args[k].dtype;
    return (size_t)kg_arg_count(p, k, s) * (wide && t == KG_F32 ? 8 : kg_dtype_bytes(t));
}

static void alloc(const struct kg_problem *p, const struct kg_shape *s, bool wide,
                  enum kg_role role, struct arrays *out)
{
    memset(out, 0, sizeof *out);
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == role) {
            out->v[k] = malloc(bytes_of(p, k, s, wide));
            KG_ASSERT(out->v[k]);
        }
    }
}

static void release(struct arrays *a)
{
    for (int k = 0; k < KG_MAX_ARGS; k++) {
        free(a->v[k]);
    }
}

static void widen(const struct kg_problem *p, const struct kg_shape *s, const struct arrays *narrow,
                  struct arrays *wide)
{
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role != KG_ROLE_IN) {
            continue;
        }
        if (p->args[k].dtype != KG_F32) {
            memcpy(wide->v[k], narrow->v[k], bytes_of(p, k, s, true));
            continue;
        }
        for (int64_t i = 0, n = kg_arg_count(p, k, s); i < n; i++) {
            ((double *)wide->v[k])[i] = ((const float *)narrow->v[k])[i];
        }
    }
}

static void call(const struct subject *s, entry_fn fn, bool wide, const struct kg_shape *shape,
                 const struct arrays *in, const struct arrays *out)
{
    union {
        void *ptr;
        int64_t i;
        float f;
        double d;
    } word[KG_MAX_ARGS];
    void *value[KG_MAX_ARGS];
    for (int k = 0; k < s->p->nargs; k++) {
        const struct kg_arg *a = &s->p->args[k];
        double v;
        value[k] = &word[k];
        if (a->rank > 0) {
            word[k].ptr = a->role == KG_ROLE_IN ? in->v[k] : out->v[k];
        } else if (a->role == KG_ROLE_DIM) {
            word[k].i = shape->dim[a->dim];
        } else {
            KG_ASSERT(kg_expr_real(a->value, shape->dim, &v));
            if (a->dtype == KG_F32 && !wide) {
                word[k].f = (float)v;
            } else {
                word[k].d = a->dtype == KG_F32 ? (double)(float)v : v;
            }
        }
    }
    ffi_call((ffi_cif *)(uintptr_t)(wide ? &s->cif64 : &s->cif32), fn, NULL, value);
}

/* Bounds of every output; false: the law does not apply here, as the judge decides it. */
static bool bounds(const struct kg_problem *p, const struct kg_shape *shape, enum kg_law law,
                   const struct arrays *r, const struct arrays *o, struct kg_bound *bound)
{
    bool applies = true;
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role != KG_ROLE_OUT) {
            continue;
        }
        uint64_t n = (uint64_t)kg_arg_count(p, k, shape);
        struct kg_compare self;
        kg_bound_of(p->args[k].dtype, r->v[k], o->v[k], n,
                    kg_law_terms(law, kg_problem_reduce(p, shape)), &bound[k]);
        bound[k].alike = kg_law_alike(law) ? kg_problem_reduce(p, shape) : 0;
        struct kg_bound own = bound[k];
        own.max_ref = 0;
        kg_compare_run(p->args[k].dtype, KG_COMPARE_ORACLE, r->v[k], r->v[k], o->v[k], n, &own,
                       &self);
        applies = applies && self.pass && own.disagree * 100 <= n;
    }
    return applies;
}

/* One output in one mode; false: refused. */
static bool compare(const struct subject *s, const struct kg_shape *shape, int k,
                    enum kg_compare_mode mode, const struct arrays *y, const struct arrays *r,
                    const struct arrays *o, const struct kg_bound *raw, struct kg_compare *out)
{
    enum kg_dtype t = s->p->args[k].dtype;
    uint64_t n = (uint64_t)kg_arg_count(s->p, k, shape);
    struct kg_bound b = *raw;
    if (mode == KG_COMPARE_ORACLE) {
        kg_bound_any_order(&b);
    } else if (mode == KG_COMPARE_FLOAT) {
        b.rms = kg_compare_rms(t, r->v[k], n);
    }
    kg_compare_run(t, mode, y->v[k], r->v[k], mode == KG_COMPARE_FLOAT ? NULL : o->v[k], n, &b,
                   out);
    return out->pass;
}

static void judge(const struct subject *s, const struct kg_shape *shape, enum kg_law law, int order,
                  const struct arrays *in, const struct arrays *y, const struct arrays *r,
                  const struct arrays *o, const struct kg_bound *bound, struct tally *t)
{
    const struct kg_problem *p = s->p;
    bool refused = false, timed = law == KG_LAW_OWN; /* the law of timed calls, without an oracle */
    enum kg_compare_mode modes[] = {
        law == KG_LAW_PRECISION ? KG_COMPARE_PRECISION : KG_COMPARE_ORACLE, KG_COMPARE_FLOAT};
    call(s, s->order[order], false, shape, in, y);
    for (int k = 0; k < p->nargs; k++) {
        for (int m = 0; m < (timed ? 2 : 1) && p->args[k].role == KG_ROLE_OUT; m++) {
            struct kg_compare c;
            refused = !compare(s, shape, k, modes[m], y, r, o, &bound[k], &c) || refused;
            if (c.worst > t->worst[order]) {
                t->worst[order] = c.worst;
                t->law[order] = law;
            }
        }
    }
    t->refused[order] += refused;
}

static void one_case(const struct subject *s, enum kg_variant v, enum kg_law law,
                     struct kg_rng *rng, struct tally *t)
{
    struct kg_shape shape;
    struct kg_key key;
    struct arrays in, in64, r, o, y;
    struct kg_bound bound[KG_MAX_ARGS];
    if ((s->p->laws_off & (1u << law)) || !kg_variant_shape(s->p, v, rng, &shape)) {
        return;
    }
    alloc(s->p, &shape, false, KG_ROLE_IN, &in);
    alloc(s->p, &shape, true, KG_ROLE_IN, &in64);
    alloc(s->p, &shape, false, KG_ROLE_OUT, &r);
    alloc(s->p, &shape, false, KG_ROLE_OUT, &y);
    alloc(s->p, &shape, true, KG_ROLE_OUT, &o);
    kg_rng_bytes(rng, &key, sizeof key);
    kg_law_fill(s->p, &shape, law, key, in.v);
    widen(s->p, &shape, &in, &in64);
    call(s, s->narrow, false, &shape, &in, &r);
    call(s, s->wide, true, &shape, &in64, &o);
    bool applies = bounds(s->p, &shape, law, &r, &o, bound);
    t->cases += applies;
    t->left_out += !applies;
    for (int i = 0; i < ORDERS && applies; i++) {
        judge(s, &shape, law, i, &in, &y, &r, &o, bound, t);
    }
    release(&in);
    release(&in64);
    release(&r);
    release(&o);
    release(&y);
}

/* More than an evaluation asks: all laws, where that draws some. */
static void one_round(const struct subject *s, int round, struct kg_rng *rng, struct tally *t)
{
    static const enum kg_variant turn[] = {
        KG_VARIANT_QUARTER, KG_VARIANT_NO16,    KG_VARIANT_QUARTER, KG_VARIANT_DEFAULT,
        KG_VARIANT_QUARTER, KG_VARIANT_QUARTER, KG_VARIANT_ODD,     KG_VARIANT_QUARTER};
    static const enum kg_variant own[] = {KG_VARIANT_DEFAULT, KG_VARIANT_TINY, KG_VARIANT_X2,
                                          KG_VARIANT_LARGER, KG_VARIANT_ONE};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        one_case(s, own[i], KG_LAW_OWN, rng, t);
    }
    for (int law = 0; law < KG_LAW_COUNT; law++) {
        one_case(s, law == KG_LAW_LARGE ? KG_VARIANT_DEFAULT : turn[(law + round) % 8],
                 (enum kg_law)law, rng, t);
    }
    one_case(s, KG_VARIANT_DEFAULT, KG_LAW_STRAYS, rng,
             t); /* in every evaluation, and when timed */
    one_case(s, KG_VARIANT_DEFAULT, KG_LAW_STRAYS, rng, t);
}

static uint64_t show(const char *name, const struct tally *t, json_t *result)
{
    uint64_t refused = 0;
    json_t *row = json_object();
    printf("%-18s", name);
    for (int i = 0; i < ORDERS; i++) {
        char cell[64];
        refused += t->refused[i];
        snprintf(cell, sizeof cell, "%.2f %s", t->worst[i], kg_law_name(t->law[i]));
        if (t->refused[i] > 0) {
            snprintf(cell, sizeof cell, "R%llu %.2f %s", (unsigned long long)t->refused[i],
                     t->worst[i], kg_law_name(t->law[i]));
        }
        printf(" %-16s", cell);
        json_object_set_new(
            row, orders[i],
            json_pack("{s:f, s:s, s:I}", "worst", isfinite(t->worst[i]) ? t->worst[i] : 1e9, "law",
                      kg_law_name(t->law[i]), "refused", (json_int_t)t->refused[i]));
    }
    printf(" %llu\n", (unsigned long long)t->cases);
    fflush(stdout);
    json_object_set_new(row, "cases", json_integer((json_int_t)t->cases));
    json_object_set_new(row, "left_out", json_integer((json_int_t)t->left_out));
    json_object_set_new(result, name, row);
    return refused;
}

static uint64_t one_problem(const char *name, int rounds, json_t *result)
{
    struct subject s = {0};
    struct tally t = {0};
    struct kg_rng rng;
    kg_rng_init(&rng, (struct kg_key){{20261126, 25}}, 0);
    subject_open(&s, name);
    for (int r = 0; r < rounds; r++) {
        one_round(&s, r, &rng, &t);
    }
    uint64_t refused = show(name, &t, result);
    kg_rng_deinit(&rng);
    kg_problem_destroy(s.p);
    return refused;
}

int main(int argc, char **argv)
{
    int rounds = kg_bench_count(argc, argv, 1, 1, 100000, 200);
    json_t *result = json_object();
    uint64_t refused = 0;
    printf("%-18s", "error / bound");
    for (int i = 0; i < ORDERS; i++) {
        printf(" %-16s", orders[i]);
    }
    printf(" cases\n");
    for (size_t i = 0; i < (argc > 2 ? 1 : SHIPPED); i++) {
        refused += one_problem(argc > 2 ? argv[2] : shipped[i], rounds, result);
    }
    kg_bench_json("sum_orders", result);
    return refused > 0;
}
