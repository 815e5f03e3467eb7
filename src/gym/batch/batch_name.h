/* Private to the batch: the name of a run whose lines a service judges, kept beside the output in
 * OUT.run from the first line to the last. Jobs have keys made of it, so that a run which was
 * killed finds its jobs again. It is gone once every line is written: the same command then judges
 * anew what has an error. */
#ifndef KG_GYM_BATCH_BATCH_NAME_H
#define KG_GYM_BATCH_BATCH_NAME_H

#include "base/err.h"
#include "base/ulid.h"

struct kg_batch_name {
    char path[4096]; /* "": the output is no file, so nothing is kept */
    char name[KG_ULID_LEN];
};

/* The name that is kept there; a new one where none is, or where `anew`: there was no output, so
 * this is another run. Errors: LIMIT (the path), IO, INPUT (the file is none of a batch's), HOST.
 */
enum kg_code kg_batch_name_take(struct kg_batch_name *n, const char *output, bool anew,
                                struct kg_err *err) KG_MUST_USE;
void kg_batch_name_drop(const struct kg_batch_name *n);

#endif
