/* A pool with a configuration that is resolved already: for the commands and batches of kgym, which
 * read their flags themselves. */
#ifndef KG_GYM_POOL_CONFIGURED_H
#define KG_GYM_POOL_CONFIGURED_H

#include "gym/eval/config.h"
#include "gym/kgym.h"

/* *options: the other options; preset, config_file and settings are filled here. */
enum kg_code kg_pool_open(const struct kg_config *c, const struct kgym_options *options,
                          struct kgym_pool **out, struct kg_err *err) KG_MUST_USE;
/* A public error as an internal one; returns its code. */
enum kg_code kg_pool_error(const struct kgym_error *e, struct kg_err *err);

#endif
