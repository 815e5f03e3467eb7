/* Private to eval/: an evaluation that ended in what neither its candidate nor its problem
 * explains. Once is an accident, and it is tried again. The second time of the same kind a canary
 * decides, the problem's own reference judged as a candidate is, on the same worker: where that
 * passes, the failure is the candidate's, else it is an error (docs/record.md). */
#ifndef KG_GYM_EVAL_ACCIDENTS_H
#define KG_GYM_EVAL_ACCIDENTS_H

#include "gym/eval/worker.h"

/* How often what has happened in the attempts so far; zeroed: there was none. */
struct kg_accidents {
    int tries;
    int gym;      /* a judge or a reference lost */
    int judges;   /* of these, judges beside code of the candidate */
    int strained; /* a judge or a reference that could not do its part beside it */
    int lost;     /* its process was killed, and not by the gym */
    bool alone;   /* the next attempt has the device to itself */
};

/* Notes how an attempt has ended. True: it is to be made again, with judge and references afresh.
 */
bool kg_accidents_again(const struct kg_evaluation *e, enum kg_code code, const struct kg_err *err,
                        struct kg_accidents *seen);
/* After the last attempt, which ended with code: KG_OK where the record stands or has a verdict
 * now, else the error. May judge a canary, whose stages are those that the candidate entered. */
enum kg_code kg_accidents_settle(struct kg_evaluation *e, enum kg_code code,
                                 const struct kg_accidents *seen, struct kg_err *err) KG_MUST_USE;

#endif
