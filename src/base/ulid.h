/* ULID: 26 characters of Crockford base 32, 48 bits of wall-clock milliseconds then 80 random
 * bits; sorts by time. Within a process ids strictly increase even when the wall clock goes
 * backwards. Source: github.com/ulid/spec. */
#ifndef KG_BASE_ULID_H
#define KG_BASE_ULID_H

#include <stdbool.h>

#include "base/err.h"

#define KG_ULID_LEN 27 /* 26 characters and NUL */
enum kg_code kg_ulid_new(char out[KG_ULID_LEN], struct kg_err *err) KG_MUST_USE;
/* Has it the form of one? False for NULL. */
bool kg_ulid_is(const char *text);

#endif
