/* One output in four answers: a candidate's, the reference's in float and in double, and in float
 * rounded otherwise. Which elements are choices among equals? Pure functions over host memory;
 * choices.c fills them in and writes them back. A row is the last dim; integers stand alone. */
#ifndef KG_GYM_DEVICE_QUARTET_H
#define KG_GYM_DEVICE_QUARTET_H

#include "gym/device/device_judge.h"
#include "gym/device/points.h"
#include "gym/device/tensor_compare.h"
#include "gym/verify/limits.h"

/* The candidate's answer, FLOAT, ORACLE, OTHER. */
struct kg_quartet {
    enum kg_tdtype dtype, wide; /* wide: of o */
    uint64_t n;
    void *y, *r, *o, *a;
};

/* How far an element has to be from ORACLE's, to have jumped. */
void kg_quartet_far(enum kg_tdtype dtype, const struct kg_tbound *b, struct kg_limits_of *out);
/* Whether n floats need not be looked at, since so few, or so many, are far from ORACLE's: those of
 * OTHER, and where it is to be settled those of FLOAT. Then the function below that is asked would
 * say no, or 0. */
bool kg_quartet_spares(enum kg_dj_choice what, uint64_t n, uint64_t row, uint64_t far);
/* Whether more than 0.1 % of a's integers, or of its rows of floats, jump where r and o agree. x:
 * what integers point into, along l, if they were shown to: then those that point at another value
 * do. NULL: they were not. */
bool kg_quartet_jumps(const struct kg_quartet *q, const struct kg_tbound *b, uint64_t row,
                      const struct kg_lines *l, const void *x);
/* Elements of y that are a's, in a row that jumps, become o's. Returns their number. */
uint64_t kg_quartet_accept(struct kg_quartet *q, const struct kg_tbound *b, uint64_t row);
/* Rows where r chose otherwise than o, and a as o: rounding chooses there, so r's answer is as
 * good, and becomes o's. If more than an eighth of all rows differ, they are no choices. Returns
 * the number of rows. */
uint64_t kg_quartet_settle(struct kg_quartet *q, const struct kg_tbound *b, uint64_t row);
/* Whether y's indices have none twice in a line, if r's have none: along the lines that they point
 * into, else along the last dim, as a top-k's. */
bool kg_quartet_once(const struct kg_quartet *q, const struct kg_tleaf *leaf,
                     const struct kg_lines *shown);

#endif
