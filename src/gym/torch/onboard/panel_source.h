/* Candidates made from a PyTorch problem itself, as Python source, for onboarding: answers that
 * take no work, or that a right one is far from, and the reference with one input, or one
 * parameter, frozen to its first element. Pure. */
#ifndef KG_GYM_TORCH_ONBOARD_PANEL_SOURCE_H
#define KG_GYM_TORCH_ONBOARD_PANEL_SOURCE_H

#include "base/buf.h"
#include "gym/torch/problem/suite.h"

enum kg_tprobe {
    KG_TPROBE_REFERENCE,
    KG_TPROBE_ZEROS,
    KG_TPROBE_ONES,
    KG_TPROBE_MEAN,     /* each tensor of the answer is its own mean throughout; of one element,
                           which is its mean, that of the first call */
    KG_TPROBE_SHUFFLED, /* its elements, each in another's place */
    KG_TPROBE_SCALED,   /* off by 1 % (16-bit floats: 10 %); whole numbers by one */
    KG_TPROBE_EARLIER,  /* that of the call before, which had other inputs, by one element at least
                         */
    KG_TPROBE_COUNT
};
const char *kg_tprobe_name(enum kg_tprobe p); /* "reference", "zeros", ... */

void kg_tprobe_source(const struct kg_tproblem *p, enum kg_tprobe probe, struct kg_buf *out);
/* The answer is an input's values in its shape, again and again, or as many as fit. */
void kg_tprobe_input(const struct kg_tproblem *p, size_t input, struct kg_buf *out);
/* Each tensor of the answer is its mean along this axis, where it has one of several elements. */
void kg_tprobe_axis(const struct kg_tproblem *p, uint32_t axis, struct kg_buf *out);
/* All of the input is its first element, and where it is so already, another value: one more of a
 * number, the other of two. Whole numbers may be indices, so these get what the first call had; one
 * that is the same in every call is not changed by that. input: 0-based, of the tensors among the
 * arguments in order. */
void kg_tprobe_frozen_input(const struct kg_tproblem *p, size_t input, struct kg_buf *out);
/* name: of a parameter, as state_dict has it; it must not hold quotes. */
void kg_tprobe_frozen_parameter(const struct kg_tproblem *p, const char *name, struct kg_buf *out);

#endif
