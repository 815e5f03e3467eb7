/* Private to cases.c, case_inputs.c, cases_kept.c, left_by_calls.c, memory.c and precision.c: what
 * the reference is asked for a case, and how it is forgotten. */
#ifndef KG_GYM_TORCH_JUDGING_CASES_PRIVATE_H
#define KG_GYM_TORCH_JUDGING_CASES_PRIVATE_H

#include "gym/torch/torch.h"

/* A command for the reference with a deadline of its own. */
struct kg_dj_call kg_tcase_command(const struct kg_worker *w, const struct kg_tinstance *s, int id,
                                   enum kg_tcommand command, uint64_t seed);
/* case_inputs.c: the masters of the case, by its law, seed and key. */
enum kg_code kg_tcase_fill(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                           struct kg_err *err) KG_MUST_USE;
struct kg_dj_call kg_tcase_call(const struct kg_worker *w, const struct kg_tinstance *s,
                                const struct kg_tcase *c, enum kg_dj_side keep, uint32_t flags);
/* Inputs and answers of a case, and what its call has left, take hundreds of megabytes of a GPU. */
void kg_tcase_forget(struct kg_worker *w, const struct kg_tinstance *s, const struct kg_tcase *c);
/* The same inputs bound again, and the state loaded, where calls change what the next one answers.
 */
enum kg_code kg_tcase_afresh(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                             struct kg_err *err) KG_MUST_USE;
/* What the last call has left in parameters and buffers. first: of the sides that are kept. */
enum kg_code kg_tcase_keep_state(struct kg_worker *w, struct kg_tinstance *s,
                                 const struct kg_tcase *c, enum kg_dj_side side, bool first,
                                 struct kg_err *err) KG_MUST_USE;
/* The bounds of what keep_state has kept of both sides, as kg_dj_self. c->after: they all apply. */
enum kg_code kg_tcase_bound_state(struct kg_worker *w, const struct kg_tinstance *s,
                                  struct kg_tcase *c, int64_t k, struct kg_err *err) KG_MUST_USE;
/* A law of the judge's: what a call of moved inputs has left is there as FLOAT; what one of the
 * inputs themselves leaves is its oracle. c->after: nothing but rounding is between them. */
enum kg_code kg_tcase_near_state(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                 struct kg_err *err) KG_MUST_USE;

/* The inputs that the reference writes to: as its call has left them, or (not written) as they
 * came. Right after the call. */
enum kg_code kg_tcase_keep_inputs(struct kg_worker *w, struct kg_tinstance *s,
                                  const struct kg_tcase *c, bool written,
                                  struct kg_err *err) KG_MUST_USE;

/* The league tf32: bounds by what the least exact of its products do to the answer and to the state
 * after it. c->applies: another way to compute them stays within. */
enum kg_code kg_tprecision_allow(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                 struct kg_err *err) KG_MUST_USE;

#endif
