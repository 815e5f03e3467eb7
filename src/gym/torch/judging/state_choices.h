/* State that hangs on discrete choices, as a count of the largest does, tensor by tensor: that one
 * may be otherwise excuses no other (docs/verification.md, "Choices among equals"). Full runs and
 * timed calls use it alike. Refuses tensors whose form differs, and infinities and NaN that the
 * reference lacks. Nothing is owned here; one thread, the worker's. */
#ifndef KG_GYM_TORCH_JUDGING_STATE_CHOICES_H
#define KG_GYM_TORCH_JUDGING_STATE_CHOICES_H

#include "gym/torch/torch.h"

/* What is not right of one part of the state. */
struct kg_toff {
    int id; /* the judge's, of the part */
    size_t n;
    struct kg_toff_tensor {
        int at, before, was; /* of kg_dj_compare_left */
        struct kg_dj_judgement j;
    } tensor[KG_TWIRE_LEAVES];
};

/* Looks at each tensor of a part that the candidate's call has left, whose form is right. id: the
 * judge's, of part 0. set: the parameters that were loaded before the call. c: its case, which lets
 * some off (kg_tcase_lets_off), or NULL. */
enum kg_code kg_toff_find(struct kg_worker *w, struct kg_tinstance *s, const struct kg_tcase *c,
                          int id, size_t part, int set, struct kg_toff *out,
                          struct kg_err *err) KG_MUST_USE;
/* Whether all of them may be those of other choices. False: the reference need not be asked. */
bool kg_toff_may(const struct kg_toff *off);
/* The judge has what a rounding of the reference has left as the candidate's side. Drops those
 * tensors that this rounding leaves about as far off, if the candidate's has also moved about as
 * far as that: what no call has changed is no other choice. */
enum kg_code kg_toff_drop(struct kg_worker *w, struct kg_toff *off, struct kg_err *err) KG_MUST_USE;
/* At the end: *j passes if none is left, else it is that of the first one. */
void kg_toff_judge(const struct kg_toff *off, struct kg_dj_judgement *j);

#endif
