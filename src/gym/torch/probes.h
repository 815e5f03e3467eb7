/* Candidates made from a PyTorch problem itself, as Python source, for onboarding: trivial answers,
 * and the reference with one input, or one parameter, frozen to its first element. Pure. */
#ifndef KG_GYM_TORCH_PROBES_H
#define KG_GYM_TORCH_PROBES_H

#include "base/buf.h"
#include "gym/torch/suite.h"

enum kg_tprobe {
    KG_TPROBE_REFERENCE,
    KG_TPROBE_ZEROS,
    KG_TPROBE_ONES,
    KG_TPROBE_MEAN,        /* each tensor of the answer is its own mean throughout; of one element,
                              which is its mean, that of the first call */
    KG_TPROBE_FIRST_INPUT, /* the first input's values in the answer's shape */
    KG_TPROBE_COUNT
};
const char *kg_tprobe_name(enum kg_tprobe p); /* "reference", "zeros", ... */

void kg_tprobe_source(const struct kg_tproblem *p, enum kg_tprobe probe, struct kg_buf *out);
/* All of the input is its first element, and where it is so already, another value: one more of a
 * number, the other of two. Whole numbers may be indices, so these get what the first call had; one
 * that is the same in every call is not changed by that. input: 0-based, of the tensors among the
 * arguments in order. */
void kg_tprobe_frozen_input(const struct kg_tproblem *p, size_t input, struct kg_buf *out);
/* name: of a parameter, as state_dict has it; it must not hold quotes. */
void kg_tprobe_frozen_parameter(const struct kg_tproblem *p, const char *name, struct kg_buf *out);

#endif
