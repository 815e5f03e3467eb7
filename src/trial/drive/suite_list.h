/* Private to drive: what `kgym problems list --json` says. */
#ifndef KG_TRIAL_DRIVE_SUITE_LIST_H
#define KG_TRIAL_DRIVE_SUITE_LIST_H

#include "base/buf.h"
#include "trial/drive/suite.h"

/* Appends the list's lines to *out, and to *errors a line for each problem that it could not list.
 * word: as the command takes it; NULL: all suites. Errors: KG_E_NOT_FOUND (nothing is listed: the
 * command's own message), KG_E_HOST (the program cannot be executed, or was ended), KG_E_IO,
 * KG_E_LIMIT (more than out holds). */
enum kg_code tr_suite_list(const char *word, struct kg_buf *out, struct kg_buf *errors,
                           struct kg_err *err) KG_MUST_USE;
/* A whole number from 1 that text begins with: what follows it; NULL: there is none. */
const char *tr_suite_number(const char *text, int *out);

/* One more name that is put aside, with the reason. KG_E_HOST: memory. */
enum kg_code tr_suite_put_aside(struct tr_suite *s, const char *name, const char *why,
                                struct kg_err *err) KG_MUST_USE;

#endif
