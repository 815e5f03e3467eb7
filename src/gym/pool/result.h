/* What comes of a task, as the head and the body of a RESULT frame: the body is the record, the
 * head what programs decide by, so that nobody has to search the record's text. */
#ifndef KG_GYM_POOL_RESULT_H
#define KG_GYM_POOL_RESULT_H

#include "gym/record/record.h"

/* Most bytes of a record, which the supervisor parses. Those of the suites have some 10 kB. */
#define KG_POOL_RECORD_MAX (16u << 20)
/* Most of the characters `,`, `:`, `[` and `{` outside strings: they bound the values of a record,
 * so its tree in memory. Records of the suites have some hundred. */
#define KG_POOL_MARKS_MAX (64u << 10)

/* {id, kind, verdict, reason, error, message, correct, speedup, rewards} of an evaluation's record;
 * the caller's. */
json_t *kg_result_of_record(int64_t id, const struct kg_record *r);
/* The same of a check: json is what `kgym problems check --json` prints. */
json_t *kg_result_of_check(int64_t id, const json_t *json);
/* What a worker says became of its task. It runs beside hostile code, so each member is checked: a
 * new head, the caller's, with what is known and nothing else. NULL: id or kind are not the task's,
 * a member is of another type or too long, an error has a verdict, or there is no memory. */
json_t *kg_result_of_claim(const json_t *task, const json_t *claim);
/* May this be a record: a JSON object in one line of UTF-8, at most KG_POOL_RECORD_MAX bytes
 * and KG_POOL_MARKS_MAX marks? */
bool kg_result_is_record(const char *body, size_t len);
/* A task that ends with an error before or instead of a record of its own. task: the head of its
 * frame. *body gets the record, or of a check its JSON, whose error has {lacks: true} where the
 * head of the task says so: this host can check no problem of that kind. The head is the caller's.
 */
json_t *kg_result_of_error(const json_t *task, const struct kg_err *e, bool public_only,
                           struct kg_buf *body);
/* A worker's result as it is where the supervisor will take its record. One that is too large, or
 * was cut for lack of memory, would count as a lie: it becomes a LIMIT error. task: the head of its
 * frame. Takes head; the one that is returned is the caller's. */
json_t *kg_result_within(const json_t *task, json_t *head, bool public_only, struct kg_buf *body);

#endif
