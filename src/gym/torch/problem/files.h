/* Which files of a folder hold PyTorch problems, and the lines of a file of rows: what a list of
 * problems goes through. Files are read, nothing is executed. Not thread safe (rows.h). */
#ifndef KG_GYM_TORCH_PROBLEM_FILES_H
#define KG_GYM_TORCH_PROBLEM_FILES_H

#include "base/err.h"

/* ".py", ".jsonl", NULL. */
extern const char *const kg_tfiles_endings[];

/* A .py file holds one if it is a module of a problem, or its name is that of a KernelBench problem
 * (digits and _), or it can't be read: the reason is told when it is loaded. A .jsonl file does if
 * its first line is a row. */
bool kg_tfiles_holds(const char *path);
/* Lines of a .jsonl file; -1 for any other. KG_E_NOT_FOUND, KG_E_IO: it can't be read. */
enum kg_code kg_tfiles_rows(const char *path, long *out, struct kg_err *err) KG_MUST_USE;
/* False: the line is blank. A line that can't be read is none. */
bool kg_tfiles_has_row(const char *path, long line);

#endif
