/* UTF-8, one character at a time, from bytes that may hold anything. Overlong forms, surrogates and
 * values beyond U+10FFFF are invalid. No allocation; thread safe.
 * Source: Unicode 15, table 3-7 (well-formed byte sequences). */
#ifndef KG_BASE_UTF8_H
#define KG_BASE_UTF8_H

#include "base/err.h"

#define KG_UTF8_REPLACEMENT 0xFFFDu

/* Decode at s[0..n), n > 0. Returns the bytes taken, at least 1. Where they are not well formed,
 * *cp is U+FFFD, *ok is false, and the bytes taken are the longest beginning of a character (so
 * that each broken character becomes one replacement). */
size_t kg_utf8_next(const char *s, size_t n, uint32_t *cp, bool *ok);

/* May stand in one line of text: no control character, no line or paragraph separator, no byte
 * order mark or other non-character. */
bool kg_utf8_in_line(uint32_t cp);

#endif
