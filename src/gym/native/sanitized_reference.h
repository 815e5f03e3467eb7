/* Does the reference of a C problem stay inside its arrays, and is it free of undefined behaviour?
 * It is built with both sanitizers and run on the shapes of a full run and under its laws, on
 * arrays of exactly their size: on the heap, where the sanitizer sees what its own code reads and
 * writes, and before and behind pages that nobody may touch, where what the operator library does
 * for it is seen as well. */
#ifndef KG_GYM_NATIVE_SANITIZED_REFERENCE_H
#define KG_GYM_NATIVE_SANITIZED_REFERENCE_H

#include "gym/native/native.h"

enum kg_sanitized_verdict {
    KG_SANITIZED_CLEAN,
    KG_SANITIZED_DEFECT,
    KG_SANITIZED_SKIPPED, /* it could not be asked; the text says why */
};

/* Of the worker's current problem. what: a line for people. */
enum kg_code kg_sanitized_reference(struct kg_worker *w, enum kg_sanitized_verdict *verdict,
                                    char *what, size_t cap, struct kg_err *err) KG_MUST_USE;

/* Parts, for tests. The program: the problem's source, then a main that reads cases from its
 * standard input. */
void kg_sanitized_program(const struct kg_problem *p, struct kg_buf *out);
/* What the sanitizers said, as one line: "line 12 reads 4 bytes, 40 bytes from the start of `x`,
 * which has 40". False: nothing that is known. */
bool kg_sanitized_report(const struct kg_problem *p, const char *text, char *out, size_t cap);

#endif
