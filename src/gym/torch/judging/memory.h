/* Memory of a device, planned before it is taken.
 *
 * What an evaluation needs follows from the description of its task: the judge's masters and
 * answers, the regions of its runners, what reference and candidate allocate in a call, and the
 * driver's context of each process. A worker takes all of that from the device's ledger
 * (timing/ledger.h) at once. Where it has to wait, it first gives back all that it has on the
 * device. The plan is a ladder: each rung needs less than the one before (docs/gpu.md). Without a
 * GPU the ledger is used only where the option device.memory_mb is set. */
#ifndef KG_GYM_TORCH_JUDGING_MEMORY_H
#define KG_GYM_TORCH_JUDGING_MEMORY_H

#include "gym/torch/torch.h"

/* For a problem that nobody has described yet, whose inputs take so many bytes; 0: unknown, and
 * few are assumed. The judge is up afterwards. *room: bytes of inputs that there is room for. */
enum kg_code kg_tmemory_describe(struct kg_worker *w, uint64_t inputs, uint64_t *room,
                                 struct kg_err *err) KG_MUST_USE;
/* For judging candidates of this instance, which is described. The judge is up afterwards, and
 * knows how much it may hold. KG_E_LIMIT: the problem does not fit the device; the message has the
 * bytes that it needs, and those that there are. */
enum kg_code kg_tmemory_plan(struct kg_worker *w, struct kg_tinstance *s,
                             struct kg_err *err) KG_MUST_USE;
/* Is less left for a candidate than what the reference uses, and inputs, answers and state once
 * more? Then it is no candidate's fault that there is no memory. Known before any of its code runs.
 */
bool kg_tmemory_is_tight(const struct kg_worker *w);
/* The error that stands for a candidate's lack of memory there. said: what it says, "". */
enum kg_code kg_tmemory_excuse(const struct kg_worker *w, const char *said, struct kg_err *err);
/* Do both sides of a timed pair fit the device, each with what its calls allocate? False: why has
 * the bytes that they need, and those that there are. */
bool kg_tmemory_may_time(const struct kg_worker *w, char *why, size_t cap);
/* Before case c is made: forgets others, those that were used least recently first, until there is
 * room for it. Never c itself; `but` (NULL: none) last. */
void kg_tmemory_room(struct kg_worker *w, const struct kg_tcase *c, const struct kg_tcase *but);
/* The same for the case that is timed. */
void kg_tmemory_room_to_time(struct kg_worker *w);
/* Ends everything that this worker has on the device, and gives its memory back. What is known of
 * the problem stays. */
void kg_tmemory_drop(struct kg_worker *w);
/* The same where another process waits for memory that is held, and this worker has no work, or the
 * other has waited for long. Between evaluations, and again and again while there is none. */
void kg_tmemory_yield(struct kg_worker *w);
/* The problem is another one from now on, so there is nothing worth keeping from who waits. */
void kg_tmemory_left(struct kg_worker *w);
/* An evaluation has ended: this worker has work. */
void kg_tmemory_used(struct kg_worker *w);
/* {rung, reserved_mb, device_mb} for the record; NULL: nothing was planned. */
json_t *kg_tmemory_json(const struct kg_worker *w);

#endif
