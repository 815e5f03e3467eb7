/* The first message for a C problem: the candidate's signature and its arguments in words, printed
 * from the problem. */
#ifndef KG_GYM_NATIVE_NATIVE_PROMPT_H
#define KG_GYM_NATIVE_NATIVE_PROMPT_H

#include "gym/problem/problem.h"
#include "gym/prompt/prompt.h"

/* "void softmax(const float *x, float *y, int64_t rows, int64_t cols);", in lines of at most 100
 * columns. No newline at the end. */
void kg_native_signature(const struct kg_problem *p, struct kg_buf *out);
/* Append a line for each argument: type, shape, role, range or value; then what holds between
 * sizes. Nothing of how answers are checked. */
void kg_native_arguments(const struct kg_problem *p, struct kg_buf *out);
/* "one core of NAME, with avx2, fma; compiled with -O3 -march=native", of this host. */
void kg_native_hardware(struct kg_buf *out);

/* The executor's. */
enum kg_code kg_native_prompt(const char *path, const struct kg_prompt_spec *spec,
                              struct kg_prompt_about *about, struct kg_buf *out,
                              struct kg_err *err) KG_MUST_USE;

#endif
