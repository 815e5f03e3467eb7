/* The journal of verdicts: one JSON object a line, appended as each evaluation ends, so that a run
 * that was broken off does not ask again and a replay asks nothing.
 *
 *   {"journal":"kgym.verdicts/1", ...}   first line: what the verdicts depend on, from the caller
 *   {"key":"SHA-256 of problem and code", "verdict":"ok", ...}
 *
 * A last line without its end is that of a writer that was killed: it is left out. Verdicts have
 * the same bits after they were read. An entry is asked once a run has used it; a run that goes on
 * after a break has entries that it has not asked for yet.
 *
 * Verdicts stay in the file and are read from there. Memory: about 120 bytes an entry. Not thread
 * safe. Messages name file and line. */
#ifndef KG_RL_JUDGE_JOURNAL_H
#define KG_RL_JUDGE_JOURNAL_H

#include <jansson.h>

#include "base/hash.h"
#include "rl/judge/verdict.h"

struct rl_journal;

/* Reads a journal. Errors: KG_E_NOT_FOUND, KG_E_IO, KG_E_INPUT (a malformed line; a first line
 * that differs from `head`, by the name of the member), KG_E_HOST. */
enum kg_code rl_journal_read(const char *path, const json_t *head, struct rl_journal **out,
                             struct kg_err *err) KG_MUST_USE;
/* The same, and entries can be appended. A file that is not there is made; a torn last line is cut
 * off. */
enum kg_code rl_journal_open(const char *path, const json_t *head, struct rl_journal **out,
                             struct kg_err *err) KG_MUST_USE;
void rl_journal_close(struct rl_journal *j); /* NULL is nothing */

/* Reads the verdict of a key; *found false: there is none, and nothing else is set. *asked, unless
 * NULL: whether it was asked before; it is now. Errors: KG_E_IO, KG_E_INPUT (somebody changed the
 * file), KG_E_HOST. */
enum kg_code rl_journal_ask(struct rl_journal *j, const char *key, bool *found,
                            struct rl_verdict *out, bool *asked, struct kg_err *err) KG_MUST_USE;
/* Appends a verdict, which counts as asked, and gives it to the system. KG_E_IO: disk full too. */
enum kg_code rl_journal_add(struct rl_journal *j, const char *key, const struct rl_verdict *v,
                            struct kg_err *err) KG_MUST_USE;
/* To disk. KG_E_IO. */
enum kg_code rl_journal_sync(struct rl_journal *j, struct kg_err *err) KG_MUST_USE;
size_t rl_journal_count(const struct rl_journal *j);

/* Which entries were asked, for a checkpoint: {"entries": N, "unasked": [...]}. */
json_t *rl_journal_save(const struct rl_journal *j);
/* After open: entries of the save that were asked are so again, all others are not. KG_E_INPUT: a
 * journal with fewer entries. */
enum kg_code rl_journal_restore(struct rl_journal *j, const json_t *saved,
                                struct kg_err *err) KG_MUST_USE;

#endif
