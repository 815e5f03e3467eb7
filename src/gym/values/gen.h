/* Private to values/: the state of one argument while a law fills it. Values are made as doubles,
 * in chunks, and stored in the argument's type, so f32 and f64 share every law. OWN and UNIFORM of
 * f32 have a faster path (law_fast.c), because every timed call uses them. One thread per
 * generator; no errors. */
#ifndef KG_GYM_VALUES_GEN_H
#define KG_GYM_VALUES_GEN_H

#include "gym/values/law.h"

#define KG_GEN_CHUNK  2048
#define KG_GEN_PIECES 8

struct kg_gen {
    struct kg_rng rng;   /* draws the values */
    struct kg_rng shape; /* draws what a law draws once: indices, constants, scales of rows */
    enum kg_law law;
    enum kg_dtype dtype;
    bool ranged;
    double lo, span;   /* OWN: lo + u * span, u in [0, 1) */
    double floor, top; /* least and greatest value of dtype within a declared range */
    size_t n, at;      /* number of elements, and index of the next */
    size_t row;        /* under MIXED: elements that share a scale */
    bool first;        /* the first float input; under PRECISION it has full significands */
    bool wide;         /* under WIDEINT: this input has the wide integers */

    double constant; /* OUTLIER, EQUAL, PRECISION: the value of (nearly) all elements */
    double outlier;
    size_t outlier_at;
    bool descending;  /* SORTED */
    double row_scale; /* MIXED: scale of the row that holds `at` */
    size_t pieces;    /* PIECEWISE */
    size_t piece_end[KG_GEN_PIECES];
    enum kg_law piece_law[KG_GEN_PIECES];
};

/* Prepares argument arg of p at shape s. deinit wipes the random state. */
void kg_gen_init(struct kg_gen *g, const struct kg_problem *p, const struct kg_shape *s, int arg,
                 enum kg_law law, struct kg_key key);
void kg_gen_deinit(struct kg_gen *g);
/* The next n values (n <= KG_GEN_CHUNK), before they are rounded to the dtype. */
void kg_gen_chunk(struct kg_gen *g, double *v, size_t n);
/* The value of OWN for u in [0, 1). */
double kg_gen_own(const struct kg_gen *g, double u);
/* Draws the law's constants from g->shape; kg_gen_init calls it. */
void kg_gen_constants(struct kg_gen *g);
/* Rounds n values to the dtype, within the range, and stores them from element `at` of dst. */
void kg_gen_store(const struct kg_gen *g, void *dst, size_t at, const double *v, size_t n);

/* The quantile of the standard normal for 64 random bits. */
double kg_gen_normal(uint64_t bits);

/* Laws of f32 that need at most 24 bits per element: fills the whole argument at once. */
bool kg_gen_is_fast(const struct kg_gen *g);
void kg_gen_fast_f32(struct kg_gen *g, float *dst);
/* Sets the elements that STRAYS changes; the inputs hold OWN. */
void kg_law_strays(const struct kg_problem *p, const struct kg_shape *s, struct kg_key key,
                   void *const buf[]);
/* Fills a whole i32 or i64 argument under any law. */
void kg_gen_integers(struct kg_gen *g, void *dst);

#endif
