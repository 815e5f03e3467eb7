/* A list of small numbers as people and that project's scripts write it: `1,3-5`, `[1, 3, 5]`,
 * `(1, 5)`, one number. Empty or `None`: no restriction. Plain data;
 * everything in it is from 0 to KG_KB_MAX_NUMBER. */
#ifndef KG_GYM_KERNELBENCH_NUMBERS_H
#define KG_GYM_KERNELBENCH_NUMBERS_H

#include "base/err.h"

#define KG_KB_MAX_NUMBER 999999
#define KG_KB_MAX_RANGES 256

struct kg_kb_numbers {
    struct {
        int lo, hi; /* inclusive */
    } range[KG_KB_MAX_RANGES];
    int n; /* 0: all numbers */
};

/* what names the list in messages ("--samples"). */
enum kg_code kg_kb_numbers_parse(const char *what, const char *text, struct kg_kb_numbers *out,
                                 struct kg_err *err) KG_MUST_USE;
/* A pair `(first, last)`, both inclusive, either of them None: that project's `subset`. */
enum kg_code kg_kb_numbers_range(const char *what, const char *text, struct kg_kb_numbers *out,
                                 struct kg_err *err) KG_MUST_USE;
bool kg_kb_numbers_has(const struct kg_kb_numbers *set, int v);
/* into becomes what either holds, as that project unites `subset` and `problem_ids`. Ranges beyond
 * KG_KB_MAX_RANGES are KG_E_USAGE. */
enum kg_code kg_kb_numbers_unite(struct kg_kb_numbers *into, const struct kg_kb_numbers *more,
                                 struct kg_err *err) KG_MUST_USE;
/* Digits only, no sign, at most KG_KB_MAX_NUMBER; returns the first byte after them, NULL when
 * there is none. */
const char *kg_kb_number(const char *s, int *out);

#endif
