/* The first message for a problem that is named, by whichever executor judges it. */
#ifndef KG_GYM_EVAL_FIRST_MESSAGE_H
#define KG_GYM_EVAL_FIRST_MESSAGE_H

#include "gym/eval/config.h"
#include "gym/eval/paths.h"
#include "gym/prompt/prompt.h"

/* Append the message for a problem of the suites, or of a path, to out. Reads files, runs nothing:
 * under a millisecond, and some ten where a GPU is described. Errors: KG_E_NOT_FOUND with the
 * nearest name, KG_E_PROBLEM (a defect of the problem), KG_E_LIMIT and KG_E_USAGE (prompt.h). */
enum kg_code kg_prompt_for(const struct kg_paths *paths, const char *problem,
                           const struct kg_prompt_spec *spec, struct kg_buf *out,
                           struct kg_err *err) KG_MUST_USE;
/* The same, and which problem it is. about: NULL is fine. */
enum kg_code kg_prompt_for_named(const struct kg_paths *paths, const char *problem,
                                 const struct kg_prompt_spec *spec, struct kg_prompt_about *about,
                                 struct kg_buf *out, struct kg_err *err) KG_MUST_USE;
/* Device and league of a configuration, as its evaluations have them. The strings are the
 * configuration's or static. */
void kg_prompt_spec_of(const struct kg_config *config, struct kg_prompt_spec *spec);

#endif
