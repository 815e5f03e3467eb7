/* The floor of a timed candidate: the time that reading its data takes. Who is faster is accused of
 * not having done its work, but for what its answer does not need to read. */
#ifndef KG_GYM_TORCH_TIMING_TORCH_FLOOR_H
#define KG_GYM_TORCH_TIMING_TORCH_FLOOR_H

#include "gym/torch/timing/torch_pairs.h"

/* The floor of one call: bytes that must be read, and answers beyond the second cache, at the
 * bandwidth of the judge's own copy; 0: none is known.
 *   share  of the inputs' bytes that must be read */
int64_t kg_tfloor_ns(const struct kg_task_desc *d, double share, const struct kg_dj_facts *f);
/* Of the inputs' bytes the answer needs this share at least, as edits have shown; 1 where it was
 * not asked. Cautious: an honest kernel is above a floor by it, but for one in 1,000. */
double kg_tfloor_share(const struct kg_tinstance *s);
/* Is this measurement below? Of the reference's own time no floor is above: then its operator need
 * not read everything. Nor is anybody accused by a clock that wanders as much (others use the
 * device): K between its tenths, the reference against itself. */
bool kg_tfloor_below(const struct kg_evaluation *e, const struct kg_tpairs_result *res);
/* The bandwidth once more, on a device that nobody else uses: one that was taken while others did
 * would make a floor that is too high. */
enum kg_code kg_tfloor_retake(struct kg_evaluation *e, const struct kg_tpairs_options *opt,
                              struct kg_err *err) KG_MUST_USE;
/* Asks the reference which of 64 random elements its answer needs, once for an instance. It takes
 * up to half a minute, so it is for who would be accused. What the reference cannot tell leaves
 * the floor as it is. Without a candidate's process, and without the device's lease. Errors: HOST,
 * GYM, CANCELLED. */
enum kg_code kg_tfloor_learn(struct kg_evaluation *e, struct kg_err *err) KG_MUST_USE;
/* The verdict, and evidence. */
void kg_tfloor_accuse(struct kg_evaluation *e, const struct kg_tpairs_result *res, int processes);

#endif
