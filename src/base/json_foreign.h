/* JSON in files that other tools write. Python and JavaScript write integers of any size there, as
 * transformers does for "model_max_length". */
#ifndef KG_BASE_JSON_FOREIGN_H
#define KG_BASE_JSON_FOREIGN_H

#include "base/json.h"

/* As kg_json_parse(), or kg_json_parse_line() for one_line; but an integer of more than 64 bits is
 * a real number. All others stay whole, so json_is_integer() still checks what must be whole. */
enum kg_code kg_json_parse_foreign(const char *text, size_t len, const char *source, bool one_line,
                                   json_t **out, struct kg_err *err) KG_MUST_USE;

#endif
