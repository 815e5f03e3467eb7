/* The device of a worker: its name, and when nobody else may be at work there. */
#ifndef KG_GYM_TORCH_RUNNER_TORCH_DEVICE_H
#define KG_GYM_TORCH_RUNNER_TORCH_DEVICE_H

#include "gym/torch/torch.h"

bool kg_torch_on_cpu(const struct kg_worker *w);
/* The device that this configuration means: for `auto` cuda:0 where the driver's control device is
 * there, else cpu. Whether it works is the judge's to find out. */
const char *kg_torch_device(const struct kg_config *c);
/* For times that count: nothing of this worker's boots, and with exclusive the device is its alone.
 * The caller gives it back whether it got it or not. */
enum kg_code kg_torch_take_device(struct kg_worker *w, bool exclusive, struct kg_lease *out,
                                  struct kg_err *err) KG_MUST_USE;
void kg_torch_give_device(struct kg_worker *w, struct kg_lease *l);
/* For a context that is made or ended, which is felt by whoever is timed there (docs/gpu.md: how
 * much). *l may hold nothing after it: what is the worker's already is not asked for twice. */
enum kg_code kg_torch_device_acquire(struct kg_worker *w, struct kg_lease *l,
                                     struct kg_err *err) KG_MUST_USE;
/* For the rest of a start whose context is made: those who waited for that are timed first. The
 * worker holds nothing of the device. */
enum kg_code kg_torch_device_last(struct kg_worker *w, struct kg_lease *l,
                                  struct kg_err *err) KG_MUST_USE;
void kg_torch_device_release(struct kg_worker *w, struct kg_lease *l);

/* A place on the device beside other evaluations of this host, or the device alone (e->alone). */
enum kg_code kg_tdevice_place(struct kg_evaluation *e, struct kg_err *err) KG_MUST_USE;
/* Do evaluations share the device? On a GPU they do. */
bool kg_tdevice_is_shared(const struct kg_worker *w);
/* The same without waiting. False: it has no place yet. Whoever must be alone may have to wait. */
bool kg_tdevice_place_now(struct kg_evaluation *e) KG_MUST_USE;
/* From a place among other evaluations on the device to the device alone, once they have ended;
 * waiting is not the candidate's time. */
enum kg_code kg_tdevice_alone(struct kg_evaluation *e, struct kg_err *err) KG_MUST_USE;

#endif
