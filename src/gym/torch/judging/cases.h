/* Cases of an instance: inputs of one law with their expected answers. */
#ifndef KG_GYM_TORCH_JUDGING_CASES_H
#define KG_GYM_TORCH_JUDGING_CASES_H

#include "gym/torch/torch.h"

/* A case of this law with its expected answers; *out->applies tells whether it may be asked. */
enum kg_code kg_tcase_ready(struct kg_worker *w, struct kg_tinstance *s, enum kg_tlaw law,
                            struct kg_tcase **out, struct kg_err *err) KG_MUST_USE;
/* The next evaluation to ask it gets another one. */
void kg_tcase_spend(struct kg_tinstance *s, enum kg_tlaw law);
/* Is there memory for cases of all laws at once? Where there is not, laws are drawn. */
bool kg_tcases_fit(const struct kg_worker *w, const struct kg_tinstance *s);
/* In which order laws are drawn: those first whose cases are there, then those that the worker has
 * asked least. Of those that are drawn, a case that has served enough is forgotten. */
void kg_tcases_rank(struct kg_worker *w, struct kg_tinstance *s, uint64_t rank[KG_TL_COUNT]);
/* Wrong, but in so few elements, and by so little, as an honest kernel's other order of operations
 * would be at inputs where rounding them moves the answer: nothing is held against the candidate.
 */
bool kg_tcase_lets_off(const struct kg_tcase *c, const struct kg_dj_judgement *j);
/* The seed of both sides' calls: follows from the draw's and tells nothing about it. */
uint64_t kg_tcase_call_seed(const struct kg_tcase *c);

#endif
