/* An instance of a problem and its reference: opened, described, asked. */
#ifndef KG_GYM_TORCH_JUDGING_INSTANCE_H
#define KG_GYM_TORCH_JUDGING_INSTANCE_H

#include "gym/torch/torch.h"

/* Modules are constructed under it on both sides, so that tensors that are no state are equal. */
#define KG_TINSTANCE_SEED 20260

const char *kg_instance_name(enum kg_instance_kind kind); /* "published", "tiny", "shape" */

/* Described, built, parameters loaded. Errors are the problem's, the host's or the gym's. */
enum kg_code kg_tinstance_open(struct kg_worker *w, struct kg_tinstance *s,
                               struct kg_err *err) KG_MUST_USE;
/* Only the description, with these constants, in the instance's reference runner. KG_E_PROBLEM: its
 * code does not take them. */
enum kg_code kg_tinstance_describe(struct kg_worker *w, struct kg_tinstance *s,
                                   const json_t *consts, bool run, struct kg_task_desc *out,
                                   struct kg_err *err) KG_MUST_USE;
/* {init, kwargs, inputs}: how a candidate is constructed and called. New reference. */
json_t *kg_tinstance_build_request(const struct kg_task_desc *d);
void kg_tinstance_close(struct kg_worker *w, struct kg_tinstance *s);
/* The judge's id of a set of parameters, made when first asked for. */
enum kg_code kg_tinstance_state(struct kg_worker *w, struct kg_tinstance *s, int set, int *id,
                                struct kg_err *err) KG_MUST_USE;
/* A fresh module in the instance's reference, which is up, and in *reply the `seeds` of so many
 * trials (KernelBench's procedure). The caller owns *reply. */
enum kg_code kg_tinstance_rebuild(struct kg_worker *w, struct kg_tinstance *s, int64_t trials,
                                  json_t **reply, struct kg_err *err) KG_MUST_USE;
/* A command without data to the instance's reference, which is up. what: for messages. request is
 * taken over; *reply is the caller's, and may not be wanted (NULL). Errors are the problem's, the
 * host's or the gym's. */
enum kg_code kg_tinstance_tell(struct kg_worker *w, struct kg_tinstance *s,
                               enum kg_tcommand command, const char *what, json_t *request,
                               json_t **reply, struct kg_err *err) KG_MUST_USE;
/* Can such a task be judged at all? KG_E_PROBLEM: not, for what it is. */
enum kg_code kg_tinstance_fits(struct kg_worker *w, const struct kg_task_desc *d,
                               struct kg_err *err) KG_MUST_USE;
/* Bytes of IN and OUT that every command of the instance fits into. wide: of the reference, which
 * joins its slices (s->slices) in OUT. */
void kg_tinstance_regions(const struct kg_worker *w, const struct kg_tinstance *s, bool wide,
                          uint64_t *in, uint64_t *out);
/* Bytes of OUT that an answer in double fits into. */
uint64_t kg_tinstance_joined(const struct kg_tinstance *s);
/* Those of a null runner, of whose OUT as much is looked at as an answer has. */
void kg_tinstance_null_regions(const struct kg_tinstance *s, uint64_t *in, uint64_t *out);

#endif
