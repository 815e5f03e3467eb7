/* What a run of many evaluations came to: a self-contained HTML page (inline style, SVG and a few
 * lines of script; no other host, a content security policy that allows just that), and tables for
 * a terminal. Text of models, problems and compilers is only ever inserted escaped. Secrets (the
 * key `private`) are not shown. Records are read by kg_record_parse, so a report takes what any
 * kgym.record/1 writer wrote. Thread safe. */
#ifndef KG_GYM_REPORT_REPORT_H
#define KG_GYM_REPORT_REPORT_H

#include "base/json.h"

/* records: a JSON array of records. Appends to *out. Errors: KG_E_INPUT (names the record by its
 * position), KG_E_LIMIT when out->max is too small (about 40 KB a record and 1 MB are plenty). */
enum kg_code kg_report_html(const json_t *records, const char *title, struct kg_buf *out,
                            struct kg_err *err) KG_MUST_USE;

/* Funnel and verdicts, in ASCII unless the locale is UTF-8. */
enum kg_code kg_report_tables(const json_t *records, bool colour, int width, struct kg_buf *out,
                              struct kg_err *err) KG_MUST_USE;

#endif
