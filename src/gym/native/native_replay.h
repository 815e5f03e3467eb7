/* Private to native/: a case as JSON under the record's key "private", and back, so that a
 * verdict can be repeated on the very inputs that it was given on. */
#ifndef KG_GYM_NATIVE_NATIVE_REPLAY_H
#define KG_GYM_NATIVE_NATIVE_REPLAY_H

#include "base/json.h"
#include "gym/native/case_pool.h"

json_t *kg_replay_case(const struct kg_problem *p,
                       const struct kg_pooled_case *c); /* new reference */
/* The case of an element of private.tiny or private.full; it gets a fresh number of the pool. */
enum kg_code kg_replay_parse(const struct kg_problem *p, const json_t *j, struct kg_case_pool *pool,
                             struct kg_pooled_case *out, struct kg_err *err) KG_MUST_USE;

#endif
