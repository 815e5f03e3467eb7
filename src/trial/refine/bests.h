/* The files that a refinement leaves of its best kernel:
 *
 *   best.c or best.py  the code, byte for byte as it was judged
 *   best.record.json   the record of judging it again
 *   bests.diff         what changed from each best to the next
 *
 * Not thread safe. */
#ifndef KG_TRIAL_REFINE_BESTS_H
#define KG_TRIAL_REFINE_BESTS_H

#include "trial/refine/rounds.h"

struct tr_bests;

enum kg_code tr_bests_create(struct tr_bests **out, struct kg_err *err) KG_MUST_USE;
void tr_bests_destroy(struct tr_bests *b); /* NULL is nothing */
/* A new best. Errors: KG_E_INPUT (its record has no code), KG_E_HOST. */
enum kg_code tr_bests_add(struct tr_bests *b, const struct tr_round *r,
                          struct kg_err *err) KG_MUST_USE;
/* Replaces the files in the folder; nothing where there is no best. The record is written only if
 * the best came with one: of a run that goes on the folder has it. A record of another kernel is
 * removed then. KG_E_IO. */
enum kg_code tr_bests_write(const struct tr_bests *b, struct tr_folder *f,
                            struct kg_err *err) KG_MUST_USE;
/* Of the last one: "best.c" or "best.py"; "" without one. */
const char *tr_bests_file(const struct tr_bests *b);

#endif
