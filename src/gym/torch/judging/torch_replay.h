/* Parameters and cases as a record keeps them, and back. */
#ifndef KG_GYM_TORCH_JUDGING_TORCH_REPLAY_H
#define KG_GYM_TORCH_JUDGING_TORCH_REPLAY_H

#include "gym/torch/torch.h"

/* What a record needs to be replayed, under `private`: keys of the parameters, and cases. */
json_t *kg_treplay_parameters(const struct kg_tinstance *s);
json_t *kg_treplay_case(const struct kg_tinstance *s, const struct kg_tcase *c);
/* From there: the instance's next parameters, and its next case of the law that the entry names. */
enum kg_code kg_treplay_take_parameters(struct kg_worker *w, struct kg_tinstance *s,
                                        const json_t *parameters, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_treplay_take_case(struct kg_tinstance *s, const json_t *entry, enum kg_tlaw *law,
                                  struct kg_err *err) KG_MUST_USE;

#endif
