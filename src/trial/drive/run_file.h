/* Private to drive: run.json, which says what a run was asked for, so that a run which goes on asks
 * for the same. */
#ifndef KG_TRIAL_DRIVE_RUN_FILE_H
#define KG_TRIAL_DRIVE_RUN_FILE_H

#include <jansson.h>

#include "base/err.h"
#include "base/ulid.h"

/* Writes run.json where there is none. Else compares: KG_E_USAGE names the first member that
 * differs, and both values. A number whose top-level name is in may_grow (NULL-terminated, or NULL)
 * may be larger than in the file, which then gets it. `id`, `created` and `version` are not
 * compared; the last two are written where run lacks them. Errors: KG_E_INPUT (no JSON, another
 * schema), KG_E_IO. */
enum kg_code tr_run_file(const char *path, const json_t *run, const char *const *may_grow,
                         struct kg_err *err) KG_MUST_USE;
/* The `id` of this run.json; a new one where there is none. KG_E_HOST. */
enum kg_code tr_run_file_id(const char *path, char out[KG_ULID_LEN],
                            struct kg_err *err) KG_MUST_USE;

#endif
