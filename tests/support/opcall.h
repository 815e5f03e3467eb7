/* One call of a kgops operator in both widths. Arguments are appended in order; run() calls the f32
 * and the f64 function through libffi on the same numbers (inputs are exact in float) and expect()
 * compares an element of an output of both with a value computed in double. Everything is freed by
 * the next begin(). For tests of one thread; a failure fails the test at once. */
#ifndef KG_TESTS_OPCALL_H
#define KG_TESTS_OPCALL_H

#include <stddef.h>
#include <stdint.h>

/* Loads $KGYM_BUILD/kgops/libkgops.so; 0 or -1 with the reason on stderr. */
int opcall_open(void);
void opcall_begin(const char *op);
/* n random values in [-2, 2). Valid until the next begin. */
const double *opcall_in(int64_t n);
/* The first input's buffer again as output: only for operators that allow it. */
void opcall_in_place(void);
const int32_t *opcall_index(int64_t n, int32_t below);
void opcall_out(int64_t n);
void opcall_out_index(int64_t n);
void opcall_scalar(double v);
void opcall_dim(int64_t v);
/* Also checks that nothing beyond the outputs was written. */
void opcall_run(void);
/* Extents of planes: 1, odd ones, and on both sides of a vector. */
#define OPCALL_PLANES 7
extern const int64_t opcall_plane[OPCALL_PLANES][2];
/* The dims rows and cols, then run. */
void opcall_run_plane(int64_t rows, int64_t cols);
/* A whole call of an operator from one plane to n outputs. Returns the plane. */
const double *opcall_map_plane(const char *op, int64_t rows, int64_t cols, int64_t n);
/* Element i of the only output. scale: magnitude of what was summed up for it. */
void opcall_expect(int64_t i, double want, double scale);
void opcall_expect_index(int64_t i, int32_t want);
/* Addresses of the two functions, for what does not fit this form. */
void *opcall_symbol(const char *op, const char *suffix);

#endif
