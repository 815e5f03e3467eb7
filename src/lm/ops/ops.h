/* The operations of the engine, in one table. The table has up to three forms (plain C, AVX2,
 * AVX-512) with the same source (kernels.inc) and the same bits; lm_ops_best() is the fastest that
 * this processor has.
 *
 * The rule of all of them: the value of a row depends on that row's inputs alone, never on how many
 * rows there are or who works on them.
 *  - gemm: each output is one chain of fused multiply-adds over k ascending.
 *  - sums in a row: 16 partial sums by index mod 16, then i+8, i+4, i+2, i+1.
 *  - attention: scores by chains over the head dimension, values by chains over keys ascending.
 * No allocation, no state, no error; thread safe. All arrays are row-major f32 in host memory. */
#ifndef KG_LM_OPS_OPS_H
#define KG_LM_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lm/ops/real.h"

#define LM_PAGE  64 /* tokens of one page of keys and values */
#define LM_PANEL 32 /* columns of one panel of packed weights */
#define LM_QROWS 48 /* most (query row, head) pairs that attention takes at once */

/* C[m,n] = (chain ? C[m,n] : 0) + sum over k ascending of A[m,k] B[k,n], one fma each.
 * A[m,k] = a[m*ars + k*acs]; B[k,n] = b[n/32*panel + k*ldb + n%32]: panel = 32 for row-major B;
 * C[m,n] = c[m*ldc + n]. C overlaps neither A nor B. */
struct lm_gemm {
    int m, n, k;
    const lm_real *a;
    ptrdiff_t ars, acs;
    const lm_real *b;
    ptrdiff_t ldb, panel;
    lm_real *c;
    ptrdiff_t ldc;
    bool chain;
};

/* One key and value head of one sequence. Pages hold keys as [d][64], values as [64][d]; keys of
 * page p begin at pool + pages[p]*page_stride + key_at, values at ... + value_at. */
struct lm_attn {
    int d, group;   /* head dimension; query heads that share this key and value head */
    int pos0, rows; /* first query row's position; keys 0..pos0+i belong to row i */
    const lm_real *pool;
    const int32_t *pages;
    ptrdiff_t page_stride, key_at, value_at;
    const lm_real *q; /* [rows][group][d], row stride ldq */
    ptrdiff_t ldq;
    lm_real *o; /* as q; read by the backward, written by the forward */
    ptrdiff_t ldo;
    lm_real *scratch; /* lm_attn_scratch() numbers */
    /* backward only (pos0 = 0): */
    const lm_real *d_o; /* as o */
    lm_real *dq;        /* [rows][group][d], row stride ldd */
    lm_real *dk, *dv;   /* [rows][d], row stride ldd */
    ptrdiff_t ldd;
};

/* Loss of one logits row: for target y, c*(-log p_y) - eta*H has the gradient that head_back makes.
 */
struct lm_head {
    int n;             /* vocabulary */
    lm_real inv_temp;  /* logits are multiplied by this first */
    int target;        /* y */
    lm_real c, eta;    /* backward only */
    lm_real logp, ent; /* out: log p_y, entropy in nats */
    lm_real max, lse;  /* out: highest scaled logit; log of the sum of exp(z - max) */
};

/* log p_y from what head() wrote: scoring and sampling use the same expression. */
static inline lm_real lm_head_logp(const lm_real *z, const struct lm_head *h, int y)
{
    return (z[y] * h->inv_temp - h->max) - h->lse;
}

struct lm_adam {
    lm_real rate, beta1, beta2, eps, decay; /* decay is decoupled: w -= rate*decay*w */
    lm_real fix1, fix2;                     /* 1/(1-beta1^t), 1/(1-beta2^t) */
    lm_real scale;                          /* of the gradient: clipping */
};

struct lm_ops {
    const char *name;
    void (*gemm)(const struct lm_gemm *g);
    /* y = w * (x / sqrt(mean(x^2) + eps)), n numbers; y may be x */
    void (*norm)(const lm_real *x, const lm_real *w, int n, lm_real eps, lm_real *y);
    /* dx += gradient of x; dy becomes dy * x / rms, whose column sum is the gradient of w */
    void (*norm_back)(const lm_real *x, const lm_real *w, int n, lm_real eps, lm_real *dy,
                      lm_real *dx);
    /* out[j] += sum over rows ascending of x[row*ld + j], j < n */
    void (*column_sum)(const lm_real *x, ptrdiff_t ld, int rows, int n, lm_real *out);
    /* halves layout, in place: (a,b) = (x[i], x[i+d/2]) -> (a c - b s, b c + a s); back: -s */
    void (*rope)(lm_real *x, const lm_real *cs, const lm_real *sn, int d, bool back);
    void (*add)(lm_real *y, const lm_real *x, int n);                   /* y += x */
    void (*sum)(const lm_real *a, const lm_real *b, int n, lm_real *y); /* y = a + b */
    void (*scale)(lm_real *y, const lm_real *x, lm_real f, int n);      /* y = f * x */
    /* gu [2n]: gate, then up; y = gate * sigmoid(gate) * up */
    void (*swiglu)(const lm_real *gu, int n, lm_real *y);
    void (*swiglu_back)(const lm_real *gu, const lm_real *dy, int n, lm_real *dgu);
    void (*attn)(const struct lm_attn *a);
    void (*attn_back)(const struct lm_attn *a);
    void (*head)(const lm_real *z, struct lm_head *h);
    /* z becomes inv_temp * (c (p - 1[y]) + eta p (log p + H)); reads what head() wrote */
    void (*head_back)(lm_real *z, const struct lm_head *h);
    /* g[j] = -log(-log u_j), u_j from the high 24 bits of bits[j], below 1; n is a multiple of
     * 16 */
    void (*gumbel)(const uint32_t *bits, int n, lm_real *g);
    void (*adam)(const struct lm_adam *a, lm_real *w, lm_real *m, lm_real *v, const lm_real *g,
                 size_t n);
    lm_real (*sum_squares)(const lm_real *x, size_t n);
};

/* Scratch of attention over at most keys keys, in numbers. */
size_t lm_attn_scratch(int d, int keys);
size_t lm_attn_back_scratch(int d, int keys);

/* "plain", "avx2", "avx512"; NULL if this processor lacks it. */
const struct lm_ops *lm_ops_named(const char *name);
const struct lm_ops *lm_ops_best(void);

extern const struct lm_ops lm_ops_plain;
#if defined(__x86_64__) && !defined(LM_F64)
extern const struct lm_ops lm_ops_avx2, lm_ops_avx512;
#endif

#endif
