/* Private to opt*.c: how a key of the table is looked up and spelled, and how one value is read and
 * printed. The spellings of a key are made here alone, so that parser, help and docs agree. */
#ifndef KG_BASE_OPT_TABLE_H
#define KG_BASE_OPT_TABLE_H

#include "base/opt.h"

const struct kg_opt *kg_opt_find(const struct kg_opts *o, const char *key);
/* Read value into the field of config; the field is unchanged after an error. */
enum kg_code kg_opt_store(const struct kg_opt *opt, void *config, const char *value,
                          const char *source, struct kg_err *err) KG_MUST_USE;
/* The field as text that kg_opt_store reads back. */
void kg_opt_show(const struct kg_opt *opt, const void *config, struct kg_buf *out);
/* Gives value number i of a key that is not in the table to o->other. KG_E_USAGE: unknown option,
 * with the nearest key. */
enum kg_code kg_opt_pass_on(const struct kg_opts *o, void *config, const char *key, size_t i,
                            const char *value, const char *source, struct kg_err *err) KG_MUST_USE;

#endif
