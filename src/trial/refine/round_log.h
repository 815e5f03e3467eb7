/* rounds.jsonl in the folder of a refinement: a line for each round, in their order, synced. Lines
 * of an earlier process stay: what a best gave when it was judged again is read from there, and so
 * is the window that a model's refusals had shown. The file is one of trial/drive/lines.h.
 * docs/refine.md has the members. Not thread safe. */
#ifndef KG_TRIAL_REFINE_ROUND_LOG_H
#define KG_TRIAL_REFINE_ROUND_LOG_H

#include <jansson.h>

#include "trial/refine/rounds.h"

struct tr_round_log;

/* Opens folder/rounds.jsonl, or makes it. Errors: those of tr_lines_open. */
enum kg_code tr_round_log_open(const char *folder, struct tr_round_log **out,
                               struct kg_err *err) KG_MUST_USE;
void tr_round_log_close(struct tr_round_log *l); /* NULL is nothing */
/* Appends the round of a problem, unless the file has it. A line without a verdict, such as of a
 * reply that never came, is replaced once there is one. Errors: those of tr_lines_append. */
enum kg_code tr_round_log_add(struct tr_round_log *l, const char *problem, const struct tr_round *r,
                              struct kg_err *err) KG_MUST_USE;
/* The last round of the file that has a reply; 0: none. */
int tr_round_log_last(const struct tr_round_log *l);
/* Brings what a line says of the best so far up to date. A verdict that came late may make an
 * earlier round the best, and a line that was settled before does not know it. Nothing for a line
 * that agrees, or that the file lacks. Errors: those of tr_lines_open, KG_E_IO. */
enum kg_code tr_round_log_follow(struct tr_round_log *l, const char *problem,
                                 const struct tr_round *r, struct kg_err *err) KG_MUST_USE;
/* The last round that was a new best, as the file has it; 0: none. */
int tr_round_log_last_best(const struct tr_round_log *l);
/* Does the file have this round, with its verdict and that of judging it again? */
bool tr_round_log_has(const struct tr_round_log *l, int round);
/* The verdict of judging this turn again, but for the record. False: the file has none. */
bool tr_round_log_again(const struct tr_round_log *l, uint32_t sample, uint32_t turn,
                        struct tr_again *out);
/* The smallest window that the file's rounds were chosen for; 0: none was known. */
int64_t tr_round_log_window(const struct tr_round_log *l);
/* The window that this round, which has a reply, was chosen for; 0: none was known; -1: the file
 * has no such round. One without a reply is asked anew, for the window that is known by now. */
int64_t tr_round_log_window_of(const struct tr_round_log *l, int round);

/* The round as a line, the caller's. */
json_t *tr_round_json(const char *problem, const struct tr_round *r);
/* Why a turn is not ok, at most cap - 1 bytes; it may quote a candidate, and end within a
 * character. "": it is. */
void tr_round_why(const struct tr_round *r, char *out, size_t cap);

#endif
