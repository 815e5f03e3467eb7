/* Does the bound admit every style of a generated chain? Random chains, all their styles, at the
 * shapes of a full run and under every law that the problem does not leave out. Nothing is confined
 * per evaluation: values, references, candidates and the comparison run here, as the judge makes
 * them. One build and one set of answers serve all styles, so this is far cheaper than the gym.
 *   build/release/bench/bench_chain_margins [chains=60] [seed=7] [all: laws left out too] [NAME]
 * Table: by law the cases, those to which it does not apply, refusals and the largest error over
 * its bound (of an element, or the rms of all), with chain and style. Ends with status 1 if a style
 * was refused. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bench/common/host.h"
#include "gym/problem/variant.h"
#include "gym/values/law.h"
#include "gym/verify/compare.h"
#include "rl/chains/chains.h"

#define MOST  4000
#define FLAGS "-std=gnu17 -O3 -march=native -fPIC -shared -w"
#define ARGS  7 /* arrays of a chain: x b g z c d y at most */

typedef void (*call_fn)(void);

struct subject {
    struct rl_chain chain;
    char name[RL_CHAIN_NAME];
    struct kg_problem *p;
    struct rl_style style[RL_STYLES];
    call_fn narrow, wide, code[RL_STYLES];
    int n, arrays;
    void *lib[3];
};

static struct {
    uint64_t cases, left_out, refused;
    double worst;
    char who[120];
} by_law[KG_LAW_COUNT];
static uint64_t pairs_refused; /* (chain, style) that some case refuses */

/* --- a chain and its objects --- */

static void *load(const char *name, const char *flags)
{
    char command[4096];
    const char *folder = kg_bench_folder(), *build = kg_bench_build();
    snprintf(command, sizeof command,
             "gcc " FLAGS " %s '%s/%s.c' -o '%s/%s.so' -I'%s/kgops' -L'%s/kgops' "
             "-Wl,-rpath,'%s/kgops' -lkgops -lm",
             flags, folder, name, folder, name, build, build, build);
    kg_bench_need(system(command) == 0, "%s does not build", name);
    snprintf(command, sizeof command, "%s/%s.so", folder, name);
    void *lib = dlopen(command, RTLD_NOW | RTLD_LOCAL);
    kg_bench_need(lib != NULL, "%s does not load", name);
    return lib;
}

static call_fn symbol(void *lib, const char *name)
{
    union {
        void *symbol;
        call_fn fn;
    } u = {.symbol = dlsym(lib, name)};
    kg_bench_need(u.symbol != NULL, "no %s", name);
    return u.fn;
}

/* All styles in one file; names of one style get its number. */
static void write_styles(const struct subject *s, struct kg_buf *out)
{
    kg_buf_adds(out, "#include \"kgops.h\"\n#include <math.h>\n#include <stdint.h>\n"
                     "#include <stdlib.h>\n");
    for (int i = 0; i < s->n; i++) {
        kg_buf_addf(out, "#define k k%d\n#define ex ex%d\n", i, i);
        rl_chain_code(&s->chain, s->style[i], out);
        kg_buf_adds(out, "\n#undef k\n#undef ex\n#undef SUM\n#undef MAX\n");
    }
}

static void subject_open(struct subject *s)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    char path[1024];
    kg_buf_init(&text, RL_CHAIN_BYTES * (RL_STYLES + 1));
    rl_chain_name(&s->chain, s->name);
    rl_chain_problem(&s->chain, &text);
    kg_bench_write("problem.c", text.data, text.len);
    snprintf(path, sizeof path, "%s/problem.c", kg_bench_folder());
    kg_bench_need_ok(kg_problem_load(path, &s->p, &err), &err);
    s->lib[0] = load("problem", "-Dreal=float");
    s->narrow = symbol(s->lib[0], "k");
    kg_bench_write("double.c", text.data, text.len);
    s->lib[1] = load("double", "-Dreal=double -DKGOPS_DOUBLE");
    s->wide = symbol(s->lib[1], "k");
    s->n = rl_styles_list(&s->chain, s->style);
    kg_buf_reset(&text);
    write_styles(s, &text);
    kg_bench_write("styles.c", text.data, text.len);
    s->lib[2] = load("styles", "");
    for (int i = 0; i < s->n; i++) {
        snprintf(path, sizeof path, "k%d", i);
        s->code[i] = symbol(s->lib[2], path);
    }
    s->arrays = s->p->nargs - 2; /* n and m */
    KG_ASSERT(s->arrays <= ARGS);
    kg_buf_deinit(&text);
}

static void subject_close(struct subject *s)
{
    for (int i = 0; i < 3; i++) {
        dlclose(s->lib[i]);
    }
    kg_problem_destroy(s->p);
}

/* --- one case --- */

struct arrays {
    void *v[ARGS];
};

/* The inputs, or the last array, which is the output. */
static void alloc(const struct subject *s, const struct kg_shape *shape, size_t size, bool output,
                  struct arrays *out)
{
    memset(out, 0, sizeof *out);
    for (int k = output ? s->arrays - 1 : 0; k < s->arrays - !output; k++) {
        out->v[k] = malloc((size_t)kg_arg_count(s->p, k, shape) * size);
        KG_ASSERT(out->v[k]);
    }
}

static void release(struct arrays *a)
{
    for (int k = 0; k < ARGS; k++) {
        free(a->v[k]);
    }
}

static void call(const struct subject *s, call_fn fn, const struct kg_shape *shape,
                 const struct arrays *in, const struct arrays *out)
{
    union {
        call_fn fn;
        void (*a2)(void *, void *, int64_t, int64_t);
        void (*a3)(void *, void *, void *, int64_t, int64_t);
        void (*a4)(void *, void *, void *, void *, int64_t, int64_t);
        void (*a5)(void *, void *, void *, void *, void *, int64_t, int64_t);
        void (*a6)(void *, void *, void *, void *, void *, void *, int64_t, int64_t);
        void (*a7)(void *, void *, void *, void *, void *, void *, void *, int64_t, int64_t);
    } f = {.fn = fn};
    int64_t n = shape->dim[0], m = shape->dim[1];
    void *const *a = in->v, *y = out->v[s->arrays - 1];
    switch (s->arrays) {
    case 2:
        f.a2(a[0], y, n, m);
        break;
    case 3:
        f.a3(a[0], a[1], y, n, m);
        break;
    case 4:
        f.a4(a[0], a[1], a[2], y, n, m);
        break;
    case 5:
        f.a5(a[0], a[1], a[2], a[3], y, n, m);
        break;
    case 6:
        f.a6(a[0], a[1], a[2], a[3], a[4], y, n, m);
        break;
    default:
        f.a7(a[0], a[1], a[2], a[3], a[4], a[5], y, n, m);
    }
}

/* The bound; false: the law does not apply here, as the judge decides it. */
static bool bound_of(const struct subject *s, const struct kg_shape *shape, enum kg_law law,
                     const float *r, const double *o, uint64_t n, struct kg_bound *bound)
{
    struct kg_compare self;
    int64_t k = kg_problem_reduce(s->p, shape);
    kg_bound_of(KG_F32, r, o, n, kg_law_terms(law, k), bound);
    bound->alike = kg_law_alike(law) ? k : 0;
    struct kg_bound own = *bound;
    own.max_ref = 0;
    kg_compare_run(KG_F32, KG_COMPARE_ORACLE, r, r, o, n, &own, &self);
    return self.pass && own.disagree * 100 <= n;
}

/* The rms of the errors over what it may be (docs/verification.md). */
static double rms_share(const float *y, const double *o, uint64_t n, const struct kg_bound *b)
{
    double sum = 0, u = 0x1p-24;
    for (uint64_t i = 0; i < n; i++) {
        double e = y[i] - o[i];
        sum += isfinite(e) ? e * e : 0;
    }
    double most = 3 * fmax(b->rms_ref, u * sqrt((double)b->k) / 2 * b->rms);
    return sum > 0 ? sqrt(sum / (double)n) / fmax(most, 2e-5 * b->rms) : 0;
}

static bool judge(const struct subject *s, enum kg_law law, enum kg_variant v, int i,
                  const float *y, const float *r, const double *o, uint64_t n,
                  const struct kg_bound *raw)
{
    struct kg_compare c[2];
    struct kg_bound b = *raw;
    kg_bound_any_order(&b);
    kg_compare_run(KG_F32, law == KG_LAW_PRECISION ? KG_COMPARE_PRECISION : KG_COMPARE_ORACLE, y, r,
                   o, n, law == KG_LAW_PRECISION ? raw : &b, &c[0]);
    double rms = law == KG_LAW_PRECISION ? 0 : rms_share(y, o, n, &b);
    b = *raw;
    b.rms = kg_compare_rms(KG_F32, r, n);
    kg_compare_run(KG_F32, KG_COMPARE_FLOAT, y, r, NULL, n, &b, &c[1]);
    bool timed = v == KG_VARIANT_DEFAULT && law != KG_LAW_PRECISION;
    bool pass = c[0].pass && (!timed || c[1].pass);
    double worst = timed ? fmax(c[0].worst, c[1].worst) : c[0].worst;
    char name[48];
    worst = fmax(worst, rms);
    rl_style_name(s->style[i], name);
    if (worst > by_law[law].worst) {
        by_law[law].worst = worst;
        snprintf(by_law[law].who, sizeof by_law[0].who, "%s, %s, %s", s->name, name,
                 kg_variant_name(v));
    }
    if (!pass) {
        printf("refused: %-9s %-8s %s, %s: %.3g%s%s\n", kg_law_name(law), kg_variant_name(v),
               s->name, name, worst, c[0].rms_failed ? " rms" : "", c[0].pass ? " timed" : "");
        by_law[law].refused++;
    }
    return pass;
}

static void one_case(const struct subject *s, enum kg_variant v, enum kg_law law,
                     struct kg_rng *rng, bool refused[RL_STYLES])
{
    struct kg_shape shape;
    struct kg_key key;
    struct arrays in, in64, r, o, y;
    struct kg_bound bound;
    int out = s->arrays - 1;
    if (!kg_variant_shape(s->p, v, rng, &shape)) {
        return;
    }
    alloc(s, &shape, 4, false, &in);
    alloc(s, &shape, 8, false, &in64);
    alloc(s, &shape, 4, true, &r);
    alloc(s, &shape, 4, true, &y);
    alloc(s, &shape, 8, true, &o);
    kg_rng_bytes(rng, &key, sizeof key);
    kg_law_fill(s->p, &shape, law, key, in.v);
    for (int k = 0; k < out; k++) {
        for (int64_t i = 0, n = kg_arg_count(s->p, k, &shape); i < n; i++) {
            ((double *)in64.v[k])[i] = ((const float *)in.v[k])[i];
        }
    }
    call(s, s->narrow, &shape, &in, &r);
    call(s, s->wide, &shape, &in64, &o);
    uint64_t n = (uint64_t)kg_arg_count(s->p, out, &shape);
    bool applies = bound_of(s, &shape, law, r.v[out], o.v[out], n, &bound);
    by_law[law].left_out += !applies;
    for (int i = 0; i < s->n && applies; i++) {
        call(s, s->code[i], &shape, &in, &y);
        by_law[law].cases++;
        refused[i] = !judge(s, law, v, i, y.v[out], r.v[out], o.v[out], n, &bound) || refused[i];
    }
    release(&in);
    release(&in64);
    release(&r);
    release(&o);
    release(&y);
}

/* More than an evaluation asks: all laws, where that draws some. */
static void one_chain(struct subject *s, int round, bool all, struct kg_rng *rng)
{
    static const enum kg_variant turn[] = {
        KG_VARIANT_QUARTER, KG_VARIANT_NO16,    KG_VARIANT_QUARTER, KG_VARIANT_DEFAULT,
        KG_VARIANT_QUARTER, KG_VARIANT_QUARTER, KG_VARIANT_ODD,     KG_VARIANT_QUARTER};
    static const enum kg_variant own[] = {KG_VARIANT_DEFAULT, KG_VARIANT_TINY,   KG_VARIANT_ODD,
                                          KG_VARIANT_X2,      KG_VARIANT_LARGER, KG_VARIANT_ONE};
    bool refused[RL_STYLES] = {false};
    subject_open(s);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        one_case(s, own[i], KG_LAW_OWN, rng, refused);
    }
    for (int law = 0; law < KG_LAW_COUNT; law++) {
        if (!all && (s->p->laws_off & (1u << law))) {
            continue;
        }
        one_case(s, turn[(law + round) % 8], (enum kg_law)law, rng, refused);
        if (law == KG_LAW_LARGE || law == KG_LAW_SPIKE ||
            law == KG_LAW_STRAYS) { /* in every evaluation */
            one_case(s, KG_VARIANT_DEFAULT, (enum kg_law)law, rng, refused);
        }
        for (int i = 0; law == KG_LAW_PRECISION && i < 4; i++) { /* few values of other inputs */
            one_case(s, KG_VARIANT_QUARTER, KG_LAW_PRECISION, rng, refused);
        }
    }
    for (int i = 0; i < s->n; i++) {
        pairs_refused += refused[i];
    }
    subject_close(s);
}

static json_t *show(void)
{
    json_t *result = json_object();
    printf("%-10s %8s %8s %8s %8s\n", "law", "cases", "left out", "refused", "worst");
    for (int law = 0; law < KG_LAW_COUNT; law++) {
        printf("%-10s %8llu %8llu %8llu %8.3g %s\n", kg_law_name((enum kg_law)law),
               (unsigned long long)by_law[law].cases, (unsigned long long)by_law[law].left_out,
               (unsigned long long)by_law[law].refused, by_law[law].worst, by_law[law].who);
        json_object_set_new(result, kg_law_name((enum kg_law)law),
                            json_pack("{s:I, s:I, s:f}", "cases", (json_int_t)by_law[law].cases,
                                      "refused", (json_int_t)by_law[law].refused, "worst",
                                      isfinite(by_law[law].worst) ? by_law[law].worst : 1e9));
    }
    return result;
}

/* Pairs and triples of both sides of a split, and single operators: a fifth each, where there are
 * so many. */
static size_t draw(uint64_t seed, size_t want, struct rl_chain *out)
{
    struct rl_split s;
    size_t n = 0;
    rl_split_init(&s, seed, 0);
    for (int side = 0; side < 5; side++) {
        size_t most = want / 5 + (want % 5 > (size_t)side);
        int length = side == 4 ? 1 : 2 + side % 2;
        size_t there = rl_split_list(&s, length, side == 2 || side == 3, out + n, most);
        n += there < most ? there : most;
    }
    return n;
}

int main(int argc, char **argv)
{
    static struct rl_chain c[MOST];
    int want = kg_bench_count(argc, argv, 1, 1, MOST, 60);
    int seed = kg_bench_count(argc, argv, 2, 0, 1 << 30, 7);
    bool all = argc > 3 && strcmp(argv[3], "all") == 0;
    struct kg_err err = KG_ERR_INIT;
    struct kg_rng rng;
    uint64_t pairs = 0;
    size_t n = draw((uint64_t)seed, (size_t)want, c);
    if (argc > 4) {
        kg_bench_need_ok(rl_chain_parse(argv[4], &c[0], &err), &err);
        n = 1;
    }
    kg_rng_init(&rng, (struct kg_key){{(uint64_t)seed, 29}}, 0);
    for (size_t i = 0; i < n; i++) {
        struct subject s = {.chain = c[i]};
        one_chain(&s, (int)i, all, &rng);
        pairs += (uint64_t)s.n;
        fflush(stdout);
    }
    kg_rng_deinit(&rng);
    json_t *result = json_pack("{s:o, s:I, s:I, s:I}", "laws", show(), "chains", (json_int_t)n,
                               "styles", (json_int_t)pairs, "refused", (json_int_t)pairs_refused);
    printf("%zu chains, %llu (chain, style), refused: %llu\n", n, (unsigned long long)pairs,
           (unsigned long long)pairs_refused);
    kg_bench_json("chain_margins", result);
    return pairs_refused > 0;
}
