/* A file of JSON objects, one a line, that is only appended to; lines are found by the text of one
 * member, the last line of a key counts. Where an append fails, nothing of the line stays. What was
 * appended outlives this process, and after tr_lines_sync the machine. A last line without its end
 * is that of a writer that was killed: it is cut off when the file is opened. Texts stay in the
 * file. Memory: about 100 bytes a line. Not thread safe. Messages name the file, and the line where
 * there is one. */
#ifndef KG_TRIAL_DRIVE_LINES_H
#define KG_TRIAL_DRIVE_LINES_H

#include <jansson.h>

#include "base/buf.h"

struct tr_lines;

/* Sees each line once, when the file is opened. */
typedef void tr_lines_seen(void *user, const json_t *line);

/* Opens the file, or makes it. key: the member that names a line, a string; NULL: lines are not
 * looked for and not read. seen: NULL for nothing. Errors, which leave the file as it is: KG_E_IO,
 * KG_E_INPUT (a line that is no object with this member), KG_E_HOST (memory). */
enum kg_code tr_lines_open(const char *path, const char *key, tr_lines_seen *seen, void *user,
                           struct tr_lines **out, struct kg_err *err) KG_MUST_USE;
void tr_lines_close(struct tr_lines *l); /* NULL is nothing */

bool tr_lines_has(const struct tr_lines *l, const char *key);
/* Appends the text of the key's line, without its end; *found false: there is none. Errors: KG_E_IO
 * (somebody changed the file, too), KG_E_HOST. */
enum kg_code tr_lines_read(const struct tr_lines *l, const char *key, struct kg_buf *out,
                           bool *found, struct kg_err *err) KG_MUST_USE;
/* text [len]: one JSON object without a line break, whose key is `key` (NULL in a file without
 * keys). KG_E_IO: the disk is full, too; KG_E_LIMIT: longer than TR_LINE_BYTES; KG_E_HOST. */
enum kg_code tr_lines_append(struct tr_lines *l, const char *key, const char *text, size_t len,
                             struct kg_err *err) KG_MUST_USE;
/* Waits until all lines are on the disk; at once where they are. KG_E_IO. */
enum kg_code tr_lines_sync(struct tr_lines *l, struct kg_err *err) KG_MUST_USE;
/* The same as tr_lines_append of an object, which stays the caller's. */
enum kg_code tr_lines_append_json(struct tr_lines *l, const char *key, const json_t *line,
                                  struct kg_err *err) KG_MUST_USE;

enum { TR_LINE_BYTES = 1 << 29 }; /* no line is longer */

#endif
