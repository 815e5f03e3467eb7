/* A whole configuration as a list of "key=value" strings: how it travels from process to process.
 * Every key of the option table is there, so nothing of the receiver's environment shows. Pure. */
#ifndef KG_GYM_POOL_SETTINGS_H
#define KG_GYM_POOL_SETTINGS_H

#include "base/json.h"
#include "gym/eval/config.h"

/* An array of strings; the caller's. NULL: no memory. */
json_t *kg_settings_of(const struct kg_config *c);
/* Applies strings to *c, in order. KG_E_USAGE names the key that is wrong. */
enum kg_code kg_settings_apply(const json_t *settings, struct kg_config *c,
                               struct kg_err *err) KG_MUST_USE;

#endif
