/* Answers that hang on a discrete choice (docs/verification.md, "Choices among equals"): rounding
 * alone decides nothing. The reference is asked again, rounding otherwise. */
#ifndef KG_GYM_TORCH_JUDGING_CASE_CHOICES_H
#define KG_GYM_TORCH_JUDGING_CASE_CHOICES_H

#include "gym/torch/torch.h"

#define KG_TCHOICES       36 /* roundings at most */
#define KG_TCHOICES_FIRST 4  /* that tell how far off the reference itself is */

/* Which outputs are indices into inputs: shown by the problem's own inputs, told to other cases. */
enum kg_code kg_tchoices_point(struct kg_worker *w, struct kg_tinstance *s,
                               const struct kg_tcase *c, struct kg_err *err) KG_MUST_USE;
/* chose: what a call of the reference that was off has told. A law of the judge's does not apply
 * where too many integers, or rows, of the answer hang on rounding. */
enum kg_code kg_tchoices_screen(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                bool chose, struct kg_err *err) KG_MUST_USE;
/* Where the reference in float and in double chose otherwise, and the case does not apply: it does
 * if the float one reaches the choices of double by rounding otherwise. */
enum kg_code kg_tchoices_settle(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                                struct kg_err *err) KG_MUST_USE;
/* A candidate's answer that is not right in a few elements, j: right after all if the reference
 * gives each of them, too, in one of 36 roundings. *j is renewed then. Changes the judge's copy of
 * the answer. Asks the reference up to 36 times; once for a problem whose reference chooses
 * nothing. */
enum kg_code kg_tchoices_seen(struct kg_worker *w, struct kg_tinstance *s, struct kg_tcase *c,
                              struct kg_dj_judgement *j, struct kg_err *err) KG_MUST_USE;

/* Parts, which timed calls use too. */
/* Whether an answer that is not right may be one of other choices: it is so in few elements. */
bool kg_tchoices_may(const struct kg_tinstance *s, const struct kg_dj_judgement *j);
/* After rounding n: there are choices, and enough of the candidate's were seen to go on. first: of
 * which kg_tchoices_may says so. */
bool kg_tchoices_hope(struct kg_tinstance *s, int n, const struct kg_dj_judgement *first,
                      const struct kg_dj_judgement *now);
/* Whether the reference, in its last call, which was off, made a choice. */
bool kg_tchoices_chose(struct kg_tinstance *s);
/* Of tensors of the same form: the candidate is off in about as many elements as the reference's
 * own rounding is, and by about as much. */
bool kg_tchoices_as_far(const struct kg_dj_judgement *candidate, const struct kg_dj_judgement *own);
/* Of state: a call of the candidate has changed it about as much, or more. */
bool kg_tchoices_moved(const struct kg_dj_judgement *candidate, const struct kg_dj_judgement *own);
/* Whether state that is not right may be one of other choices: only its numbers are wrong. */
bool kg_tchoices_state_may(const struct kg_dj_judgement *j);
/* KG_OK: it lives, and refuses to round so, or lacks the memory for it. */
enum kg_code kg_tchoices_unanswered(const struct kg_tinstance *s, const struct kg_dj_report *rep,
                                    const struct kg_err *err) KG_MUST_USE;

#endif
