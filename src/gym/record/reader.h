/* Typed reading of a JSON object's keys into a record: private to gym/record. Failures are sticky:
 * after the first one the readers do nothing and return null values, so that callers check once. A
 * message names the key in full (`timing.cv`). Strings returned without being kept belong to the
 * JSON; kept ones lie in the record's arena. */
#ifndef KG_GYM_RECORD_READER_H
#define KG_GYM_RECORD_READER_H

#include "gym/record/record.h"

struct kg_reader {
    struct kg_record *r;
    struct kg_err *err;
    const json_t *at; /* the object whose keys are being read */
    char where[64];   /* its name and a dot; "" at the top */
    bool failed;
};

void kg_reader_fault(struct kg_reader *rd, const char *key, const char *what);
/* The value under key, which must be there; NULL after a failure. */
const json_t *kg_reader_member(struct kg_reader *rd, const char *key);
const char *kg_reader_text(struct kg_reader *rd, const char *key); /* NULL: null */
char *kg_reader_keep(struct kg_reader *rd, const char *s, size_t n);
char *kg_reader_string(struct kg_reader *rd, const char *key); /* kept */
/* An identifier of exactly width - 1 characters of alphabet, or null: *out is left as it is. */
void kg_reader_id(struct kg_reader *rd, const char *key, const char *alphabet, char *out,
                  size_t width);
int64_t kg_reader_count(struct kg_reader *rd, const char *key);          /* -1: null */
double kg_reader_real(struct kg_reader *rd, const char *key, double lo); /* NaN: null */
double kg_reader_share(struct kg_reader *rd, const char *key);           /* 0..1, NaN: null */
int kg_reader_flag(struct kg_reader *rd, const char *key);               /* 1, 0, -1: null */
/* Replace *out by a deep copy of the list or object under key, or by NULL for null. */
void kg_reader_copy(struct kg_reader *rd, const char *key, bool list, bool may_be_null,
                    json_t **out);
/* The same for a list of objects that each hold a string under `name`. */
void kg_reader_copy_named(struct kg_reader *rd, const char *key, const char *name, json_t **out);
/* A reader of the object under key; false where that is null, or no object (then failed). */
bool kg_reader_enter(struct kg_reader *rd, const char *key, bool may_be_null, struct kg_reader *in);
void kg_reader_leave(struct kg_reader *rd, const struct kg_reader *in); /* passes failure on */

#endif
