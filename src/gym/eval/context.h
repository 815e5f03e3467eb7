/* What a record says about its circumstances: the resolved configuration and the host. */
#ifndef KG_GYM_EVAL_CONTEXT_H
#define KG_GYM_EVAL_CONTEXT_H

#include "base/json.h"
#include "base/version.h"
#include "gym/eval/config.h"

/* {key: value} with the options' own types. New reference. */
json_t *kg_context_config(const struct kg_config *c);
/* The same without options that change no verdict (struct kg_opt, beside). New reference. */
json_t *kg_context_asked(const struct kg_config *c);
/* {kgym, cpu, cores, kernel, compiler, pinned_cpu}. New reference. */
json_t *kg_context_environment(const char *compiler, int cpu);

#endif
