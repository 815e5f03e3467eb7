/* Private to native/: the measurement of the stage profile. */
#ifndef KG_GYM_NATIVE_PROFILE_ROUNDS_H
#define KG_GYM_NATIVE_PROFILE_ROUNDS_H

#include "gym/native/native.h"
#include "gym/native/native_coverage.h"

/* Measures the candidate of e, which has passed the stages before. The caller holds the timing
 * lease. PASS: *out is filled. FAIL: as it is, the candidate died or was wrong, and the record has
 * the verdict. ERROR: *err is filled. Cost: two process starts and some 25 calls after timing, on a
 * quiet host; else three and 60 to 100. */
enum kg_stage_result kg_profile_rounds(struct kg_evaluation *e, struct kg_coverage_calls *out,
                                       struct kg_err *err);

#endif
