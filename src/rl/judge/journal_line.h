/* Private to journal*.c: a verdict as a line of JSON. */
#ifndef KG_RL_JUDGE_JOURNAL_LINE_H
#define KG_RL_JUDGE_JOURNAL_LINE_H

#include <jansson.h>

#include "base/hash.h"
#include "rl/judge/verdict.h"

json_t *rl_journal_line(const char *key, const struct rl_verdict *v);
/* KG_E_INPUT names source and member. */
enum kg_code rl_journal_parse(const char *source, const json_t *line, char key[KG_SHA256_HEX],
                              struct rl_verdict *v, struct kg_err *err) KG_MUST_USE;

#endif
