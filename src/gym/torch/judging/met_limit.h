/* Names the gym's limit that a compiler or a library met in a candidate's process, by what the
 * operating system told it. What is read is the candidate's claim, so this decides nothing: it is
 * advice for who reads the record. */
#ifndef KG_GYM_TORCH_JUDGING_MET_LIMIT_H
#define KG_GYM_TORCH_JUDGING_MET_LIMIT_H

#include "gym/torch/torch.h"

/* The option whose limit the text speaks of, "limit.file_mb"; NULL: none. Pure. */
const char *kg_tmet_option(const char *text);
/* Adds the entry `met_limit` {option, value, unit} to the record where the text speaks of one. */
void kg_tmet_note(struct kg_evaluation *e, const char *text);

#endif
