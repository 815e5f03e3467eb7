/* One entry of a record's evidence as sentences that a person reads: for cards and reports. Values
 * and positions are in them, so they are for the gym's owner and must not be sent to a model.
 * Thread safe. */
#ifndef KG_GYM_CARD_SENTENCE_H
#define KG_GYM_CARD_SENTENCE_H

#include "base/json.h"

/* Appends the sentences. False, and nothing appended: a check that has none; show its fields. A
 * field that is missing reads "?". Text of the entry is not escaped. */
bool kg_card_sentence(const json_t *entry, struct kg_buf *out);
/* How much of an output is wrong, of a mismatch: "exactly half". */
const char *kg_card_share(const json_t *entry);
/* A value as a person reads it: yes and no, numbers with six digits, "not finite" for null, "a 3, b
 * 4" for an object, "1, 2" for a list. */
void kg_card_value(const json_t *v, struct kg_buf *out);

#endif
