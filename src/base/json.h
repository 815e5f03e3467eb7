/* jansson with kgym's rules: bounded input, errors that name source, line and column, unique keys,
 * strings always valid UTF-8. The caller owns every json_t it gets (json_decref). */
#ifndef KG_BASE_JSON_H
#define KG_BASE_JSON_H

#include <jansson.h>

#include "base/buf.h"

/* source names the origin in messages: "record.json:1:7: ...". Any JSON value; more than 64
 * levels and duplicate keys are errors. A string may hold NUL (\u0000): read it with
 * json_string_length. */
enum kg_code kg_json_parse(const char *text, size_t len, const char *source, json_t **out,
                           struct kg_err *err) KG_MUST_USE;
/* The same of one line of a file. source names file and line, so messages add the column alone:
 * "batch.jsonl:12" gives "batch.jsonl:12:7: ...". */
enum kg_code kg_json_parse_line(const char *text, size_t len, const char *source, json_t **out,
                                struct kg_err *err) KG_MUST_USE;
/* As other JSON readers take it: of duplicate keys the last one counts, and a lone surrogate
 * (\ud800) becomes U+FFFD. For bodies of foreign protocols; no file of the gym's is read so. */
enum kg_code kg_json_parse_loose(const char *text, size_t len, const char *source, json_t **out,
                                 struct kg_err *err) KG_MUST_USE;
/* A JSON string from bytes that may hold anything: invalid UTF-8 becomes U+FFFD, NUL is dropped. */
json_t *kg_json_text(const char *bytes, size_t len);
/* A number; null where it is not finite, for which JSON has none. */
json_t *kg_json_real(double x);
/* One line, no trailing newline, keys in insertion order, reals with 17 digits trimmed. */
void kg_json_dump(const json_t *j, struct kg_buf *out);
void kg_json_dump_pretty(const json_t *j, struct kg_buf *out);

#endif
