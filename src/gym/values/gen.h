/* Private to values/: the state of one argument while one law fills it. Values are made as doubles
 * in chunks and stored in the argument's type, so f32 and f64 share every law; OWN and UNIFORM of
 * f32, which every timed call uses, have a path of their own (law_fast.c). */
#ifndef KG_GYM_VALUES_GEN_H
#define KG_GYM_VALUES_GEN_H

#include "gym/values/law.h"

#define KG_GEN_CHUNK  2048
#define KG_GEN_PIECES 8

struct kg_gen {
    struct kg_rng rng;   /* the values */
    struct kg_rng shape; /* what a law draws once: indices, constants, scales of rows */
    enum kg_law law;
    enum kg_dtype dtype;
    bool ranged;
    double lo, span;   /* own law: lo + u * span, u in [0, 1) */
    double floor, top; /* least and greatest value of dtype inside a declared range */
    size_t n, at;      /* elements; index of the next one */
    size_t row;        /* elements that share a scale under MIXED */
    bool first;        /* first float input: carries the significands of PRECISION */
    bool wide;         /* carries the wide integers of WIDEINT */

    double constant; /* OUTLIER, EQUAL, PRECISION: the value that (nearly) all elements have */
    double outlier;
    size_t outlier_at;
    bool descending;  /* SORTED */
    double row_scale; /* MIXED: of the row that holds `at` */
    size_t pieces;    /* PIECEWISE */
    size_t piece_end[KG_GEN_PIECES];
    enum kg_law piece_law[KG_GEN_PIECES];
};

void kg_gen_init(struct kg_gen *g, const struct kg_problem *p, const struct kg_shape *s, int arg,
                 enum kg_law law, struct kg_key key);
void kg_gen_deinit(struct kg_gen *g);
/* The next n values (n <= KG_GEN_CHUNK), before rounding to the dtype. */
void kg_gen_chunk(struct kg_gen *g, double *v, size_t n);
/* One value of OWN from u in [0, 1). */
double kg_gen_own(const struct kg_gen *g, double u);
/* Constants of the law, drawn from g->shape: called by kg_gen_init. */
void kg_gen_constants(struct kg_gen *g);
/* Round to the dtype, inside the range, and store n values from element `at` of dst. */
void kg_gen_store(const struct kg_gen *g, void *dst, size_t at, const double *v, size_t n);

/* Quantile of the standard normal at the 64-bit draw `bits`. */
double kg_gen_normal(uint64_t bits);

/* Laws of f32 that need no more than 24 bits an element: the whole argument at once. */
bool kg_gen_is_fast(const struct kg_gen *g);
void kg_gen_fast_f32(struct kg_gen *g, float *dst);
/* i32 and i64: the whole argument under any law. */
void kg_gen_integers(struct kg_gen *g, void *dst);

#endif
