/* Indices that point into an input: of a maximum, of a sort, of pooling. Where values are equal,
 * several indices are right. So an index is judged by the value that it points at, once the
 * reference's own have shown that they point there. Pure functions over host memory. */
#ifndef KG_GYM_DEVICE_POINTS_H
#define KG_GYM_DEVICE_POINTS_H

#include "gym/tensor/tensor_wire.h"

/* Indices count within dims [first, first + dims) of the tensor they point into, flattened, as
 * torch.gather's do and those of max_pool2d. there: they do. once: no line has one twice. */
struct kg_points {
    bool there, once;
    uint32_t input, first, dims;
};

/* Values [outer, length, inner] and indices [outer, count, inner]. */
struct kg_lines {
    int64_t outer, length, inner, count;
    enum kg_tdtype value, index;
};

/* False: these shapes cannot be so. */
bool kg_points_lines(const struct kg_tleaf *values, const struct kg_tleaf *indices, uint32_t first,
                     uint32_t dims, struct kg_lines *out);
/* Whether indices r do point into x: gathering gives v, of x's dtype (NULL: there is none); or each
 * place of a line has the value of one rank in each line, as the first of a sort has. Shown where
 * chance would give that once in 10^9. *once: no line has an index twice. */
bool kg_points_shown(const struct kg_lines *l, const void *x, const void *r, const void *v,
                     bool *once);
/* How many of y point at another value than r, or outside. Where o, the oracle's, is not NULL, only
 * places where r and o agree are asked. once: neither does a line of y have an index twice, if no
 * line of r does. *first: the first of them. */
uint64_t kg_points_unlike(const struct kg_lines *l, const void *x, const void *y, const void *r,
                          const void *o, bool once, uint64_t *first);
/* Whether no line of indices has one twice. *where: the first that does. */
bool kg_points_once(const struct kg_lines *l, const void *indices, uint64_t *where);

#endif
