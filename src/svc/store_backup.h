/* A copy of a SQLite store, its records and the service's tokens, while a service may use it, and
 * the check of one.
 *
 * Order. The database is copied first, as one snapshot; then the segments that it names. A record
 * is in its segment, synced, before the database names it, and segments only grow (but for
 * store_trim.h: a copy ends with an error then). So whatever the snapshot names is there when the
 * segments are copied. The other way round a record that was written in between would be named and
 * missing. */
#ifndef KG_SVC_STORE_BACKUP_H
#define KG_SVC_STORE_BACKUP_H

#include <stdint.h>

#include "base/err.h"

struct kg_svc_inventory {
    int schema;
    int64_t jobs, records;  /* records: of these, and parts of trajectories */
    int64_t bytes;          /* of these, compressed */
    int64_t damaged;        /* whose bytes are not those of the checksum, or are gone */
    char first_damaged[32]; /* id of the job, or of the trajectory; "": none */
};

/* Copies the store of folder `from` to `to`, a folder that is not there or is empty, and checks
 * each record of the copy. `to` appears whole or not at all. Errors: USAGE (no store, a newer
 * schema, `to` has files), IO (also: a record is damaged). */
enum kg_code kg_svc_store_copy(const char *from, const char *to, struct kg_svc_inventory *out,
                               struct kg_err *err) KG_MUST_USE;
/* Reads all of a store. Errors: USAGE (no store, a newer schema), IO (the database is damaged). */
enum kg_code kg_svc_store_check(const char *folder, struct kg_svc_inventory *out,
                                struct kg_err *err) KG_MUST_USE;

#endif
