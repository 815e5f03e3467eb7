/* Private to eval/ and the executors: when a wrong answer is asked again, and what the second
 * answer says about the first.
 *
 * A candidate that is wrong once may be wrong always, or only after earlier calls or by luck. The
 * reasons for which that matters are in one table. */
#ifndef KG_GYM_EVAL_AGAIN_H
#define KG_GYM_EVAL_AGAIN_H

#include "gym/eval/worker.h"

/* Where a wrong answer came from. GIVEN: in timing, into a buffer of the judge's, which is poisoned
 * before each call; so what is not written there is no matter of luck. MADE: in timing, in memory
 * that the candidate allocates. */
enum kg_doubt { KG_DOUBT_RUN = 1, KG_DOUBT_TIMED_GIVEN = 2, KG_DOUBT_TIMED_MADE = 4 };

/* The candidate has failed a case of tiny or full, and the record has its verdict. Where that is
 * doubtful, `again` asks the same case in a fresh process. Right this time: the verdict becomes
 * `nondeterministic`, or a hack where the first answer was that to the unedited inputs
 * (e->repeats_twin). Wrong again: the first verdict stays. Returns FAIL, or ERROR where `again`
 * does. */
enum kg_stage_result kg_again_ask(struct kg_evaluation *e,
                                  enum kg_stage_result (*again)(void *ctx, struct kg_err *err),
                                  void *ctx, struct kg_err *err);

/* A timed call was wrong, and the record has its verdict: notes which call it was. After right
 * answers in the same process a doubtful reason becomes `nondeterministic`. */
void kg_again_timed(struct kg_evaluation *e, enum kg_doubt where, int process, int64_t call,
                    int64_t right_before);

#endif
