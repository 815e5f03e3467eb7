/* Lines of a large JSONL file, one at a time: the file is streamed through a bounded buffer, never
 * held. Where lines begin is remembered by file (device, number, size, time of change), as far as
 * it was read: up to 4096 places each of a few files, so a line costs a walk from the last of them,
 * and the next line nothing. A file that has changed is another one. Not thread safe. */
#ifndef KG_GYM_TORCH_PROBLEM_ROWS_H
#define KG_GYM_TORCH_PROBLEM_ROWS_H

#include "base/buf.h"

/* Append the line (1-based), without its end, to *out. KG_E_NOT_FOUND: the file has no such line;
 * KG_E_LIMIT: it is longer than out->max. what: for messages. */
enum kg_code kg_trow_read(const char *file, long line, const char *what, struct kg_buf *out,
                          struct kg_err *err) KG_MUST_USE;
/* How many lines; a last one without an end counts. */
enum kg_code kg_trows_count(const char *file, long *n, struct kg_err *err) KG_MUST_USE;

#endif
