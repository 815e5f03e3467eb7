/* The cases that a reference is run on under the sanitizers, and what came of it. */
#include "gym/native/sanitized_reference.h"

#include <stdlib.h>
#include <string.h>

#include "gym/build/sanitized.h"

#define PLACES      3 /* of arrays: sanitized_program.c */
#define TIMEOUT_NS  120000000000ll
#define DRIVER_EXIT 97 /* the program's own complaints: this and the next */

struct one_case {
    struct kg_shape shape;
    enum kg_variant variant;
    enum kg_law law;
    uint64_t place;
};

struct feed {
    const struct kg_problem *p;
    struct kg_rng *rng;
    struct one_case cases[KG_VARIANT_COUNT * PLACES + KG_LAW_COUNT];
    int n, next, arg; /* the case that is being sent, and what comes next of it */
    bool contents;    /* the array of arg, not its size */
    void *values[KG_MAX_ARGS];
    uint64_t word;
    bool no_memory;
};

static void add(struct feed *f, enum kg_variant v, enum kg_law law, uint64_t place)
{
    struct one_case *c = &f->cases[f->n];
    *c = (struct one_case){.variant = v, .law = law, .place = place};
    f->n += kg_variant_shape(f->p, v, f->rng, &c->shape);
}

/* The shapes of a full run, each in every place, and all laws where they are cheapest. */
static void plan(struct feed *f)
{
    for (int v = 0; v < KG_VARIANT_COUNT; v++) {
        for (uint64_t place = 0; place < PLACES; place++) {
            add(f, (enum kg_variant)v, KG_LAW_OWN, place);
        }
    }
    for (int law = KG_LAW_OWN + 1; law < KG_LAW_COUNT; law++) {
        if (!(f->p->laws_off & (1u << law))) {
            add(f, KG_VARIANT_QUARTER, (enum kg_law)law, 0);
        }
    }
}

static uint64_t bytes_of(const struct feed *f, int arg)
{
    const struct kg_problem *p = f->p;
    return (uint64_t)kg_arg_count(p, arg, &f->cases[f->next].shape) *
           kg_dtype_bytes(p->args[arg].dtype);
}

static void forget(struct feed *f)
{
    for (int i = 0; i < KG_MAX_ARGS; i++) {
        free(f->values[i]);
        f->values[i] = NULL;
    }
}

static bool fill(struct feed *f)
{
    struct kg_key key;
    for (int i = 0; i < f->p->nargs; i++) {
        if (f->p->args[i].role == KG_ROLE_IN) {
            f->values[i] = malloc(bytes_of(f, i));
            f->no_memory = f->no_memory || f->values[i] == NULL;
        }
    }
    if (!f->no_memory) {
        kg_rng_bytes(f->rng, &key, sizeof key);
        kg_law_fill(f->p, &f->cases[f->next].shape, f->cases[f->next].law, key, f->values);
    }
    return !f->no_memory;
}

/* The 8 bytes that come before an argument's contents, or are all of it. */
static void take_word(struct feed *f)
{
    const struct kg_arg *a = &f->p->args[f->arg];
    const struct kg_shape *s = &f->cases[f->next].shape;
    double v = 0;
    f->word = 0;
    if (a->rank > 0) {
        f->word = bytes_of(f, f->arg);
    } else if (a->role == KG_ROLE_DIM) {
        memcpy(&f->word, &s->dim[a->dim], 8);
    } else if (kg_expr_real(a->value, s->dim, &v)) {
        float narrow = (float)v;
        int32_t i32 = (int32_t)v;
        int64_t i64 = (int64_t)v;
        const void *from = a->dtype == KG_F32   ? (const void *)&narrow
                           : a->dtype == KG_F64 ? (const void *)&v
                           : a->dtype == KG_I32 ? (const void *)&i32
                                                : (const void *)&i64;
        memcpy(&f->word, from, kg_dtype_bytes(a->dtype));
    }
}

/* For kg_cc_run_sanitized: place, then each argument's word, and an input's contents behind it. */
static bool next_bytes(void *self, const void **bytes, size_t *n)
{
    struct feed *f = self;
    if (f->arg == f->p->nargs) {
        forget(f);
        f->next++;
        f->arg = -1;
    }
    if (f->next >= f->n || (f->arg == -1 && !fill(f))) {
        forget(f);
        return false;
    }
    *bytes = &f->word;
    *n = sizeof f->word;
    if (f->arg == -1) {
        f->word = f->cases[f->next].place;
        f->arg = 0;
    } else if (f->contents) {
        *bytes = f->values[f->arg];
        *n = bytes_of(f, f->arg);
        f->contents = false;
        f->arg++;
    } else {
        take_word(f);
        f->contents = f->p->args[f->arg].role == KG_ROLE_IN;
        f->arg += !f->contents;
    }
    return true;
}

/* "at shape `odd` (n 7), law `own`" of the case that the program named last. */
static void name_case(const struct feed *f, const char *text, char *out, size_t cap)
{
    int number = -1;
    out[0] = '\0';
    for (const char *p = text; (p = strstr(p, "kgym: case ")) != NULL; p++) {
        number = atoi(p + 11);
    }
    if (number < 0 || number >= f->n) {
        return;
    }
    const struct one_case *c = &f->cases[number];
    size_t n = (size_t)snprintf(out, cap, ", at shape `%s` (", kg_variant_name(c->variant));
    for (int d = 0; d < f->p->ndims && n < cap; d++) {
        n += (size_t)snprintf(out + n, cap - n, "%s%s %lld", d > 0 ? ", " : "", f->p->dims[d].name,
                              (long long)c->shape.dim[d]);
    }
    if (n < cap) {
        snprintf(out + n, cap - n, "), law `%s`", kg_law_name(c->law));
    }
}

static enum kg_sanitized_verdict skip(char *what, size_t cap, const char *why)
{
    snprintf(what, cap, "not checked: %s", why);
    return KG_SANITIZED_SKIPPED;
}

/* What the end of the program says about the reference. */
static enum kg_sanitized_verdict judge(const struct feed *f, const struct kg_sanitized *r,
                                       char *what, size_t cap)
{
    char where[300];
    const struct kg_exit *e = &r->exit;
    if (r->status == KG_SANITIZED_NO_RUNTIME) {
        return skip(
            what, cap,
            "the compiler has no sanitizers here (Debian: libasan and libubsan come with gcc)");
    }
    if (r->status == KG_SANITIZED_LATE) {
        return skip(what, cap, "under the sanitizers it takes longer than two minutes");
    }
    if (e->kind == KG_EXIT_OOM || f->no_memory) {
        return skip(what, cap,
                    "under the sanitizers it needs more memory than limit.compile_memory_mb");
    }
    if (r->status == KG_SANITIZED_NO_BUILD) {
        snprintf(what, cap, "not checked: it does not build with sanitizers: %.300s", r->text.data);
        return KG_SANITIZED_SKIPPED;
    }
    if (e->kind == KG_EXIT_CODE && e->code == 0) {
        snprintf(what, cap, "inside its arrays, no undefined behaviour, in %d calls", f->n);
        return KG_SANITIZED_CLEAN;
    }
    name_case(f, r->text.data, where, sizeof where);
    if (kg_sanitized_report(f->p, r->text.data, what, cap)) {
        strncat(what, where, cap - strlen(what) - 1);
        return KG_SANITIZED_DEFECT;
    }
    if (e->kind == KG_EXIT_CODE && e->code >= DRIVER_EXIT && e->code <= DRIVER_EXIT + 1) {
        return skip(what, cap, "under the sanitizers there was no memory for its arrays");
    }
    if (e->kind == KG_EXIT_SIGNAL) {
        snprintf(what, cap, "under the sanitizers it is killed by signal %d (%s)%s", e->code,
                 strsignal(e->code), where);
    } else {
        snprintf(what, cap,
                 "under the sanitizers it ends its process with status %d instead of returning%s",
                 e->code, where);
    }
    return KG_SANITIZED_DEFECT;
}

enum kg_code kg_sanitized_reference(struct kg_worker *w, enum kg_sanitized_verdict *verdict,
                                    char *what, size_t cap, struct kg_err *err)
{
    struct kg_sanitized result;
    struct kg_buf program;
    char folder[320];
    struct feed *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return kg_fail(err, KG_E_LIMIT, "no memory for the cases of a check");
    }
    f->p = kg_native_of(w)->problem;
    f->rng = &w->rng;
    f->arg = -1;
    plan(f);
    kg_buf_init(&program, 1u << 20);
    kg_sanitized_program(f->p, &program);
    snprintf(folder, sizeof folder, "%s/sanitized", w->scratch.path);
    struct kg_sanitized_spec spec = {.source = program.data,
                                     .len = program.len,
                                     .folder = folder,
                                     .timeout_ns = TIMEOUT_NS,
                                     .feed = next_bytes,
                                     .self = f};
    enum kg_code code = kg_cc_run_sanitized(w->cc, &spec, &result, err);
    if (code == KG_OK) {
        *verdict = judge(f, &result, what, cap);
        kg_buf_deinit(&result.text);
    }
    forget(f);
    kg_buf_deinit(&program);
    free(f);
    return code;
}
