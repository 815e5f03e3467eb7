/* The reference of an instance, asked: errors blame the problem, the host or the gym. */
#ifndef KG_GYM_TORCH_JUDGING_REFERENCE_H
#define KG_GYM_TORCH_JUDGING_REFERENCE_H

#include "gym/torch/torch.h"

/* Why it could not do what it was told: its process ended, or was late. It is stopped. */
enum kg_code kg_treference_lost(struct kg_worker *w, struct kg_trunner *ref, const char *what,
                                bool late, struct kg_err *err);
/* What it said instead of doing it. */
enum kg_code kg_treference_complaint(struct kg_worker *w, const char *what, enum kg_tstatus said,
                                     const json_t *reply, struct kg_err *err);
/* What became of a command to a reference that should have been answered well. KG_OK, or an error
 * that blames the problem, the host or the gym. */
enum kg_code kg_treference_check(struct kg_worker *w, struct kg_trunner *ref, const char *what,
                                 const struct kg_dj_report *rep, struct kg_err *err) KG_MUST_USE;
/* One command with data to the instance's reference, which must do it; what: for the message. */
enum kg_code kg_treference_ask(struct kg_worker *w, struct kg_tinstance *s, struct kg_dj_call call,
                               const char *what, struct kg_dj_report *rep,
                               struct kg_err *err) KG_MUST_USE;
/* After an error of one of its commands: it lives, and may answer the next one. After an error of
 * the device's its process can do no more, and is stopped: who opens the instance gets a fresh one.
 */
bool kg_treference_outlives(struct kg_worker *w, struct kg_trunner *ref);
/* Did its last command, a call in double, leave out casts to narrow types? */
bool kg_treference_narrowed(const struct kg_tinstance *s);
/* What that means for the bound: of kg_dj_self's ways. */
uint32_t kg_treference_how(const struct kg_tinstance *s);

#endif
