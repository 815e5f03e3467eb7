/* What ended long ago is dropped from a SQLite store that nobody serves.
 *
 * What goes: jobs that ended by then, with their events; trajectories that ended by then, with the
 * jobs of their turns; segments that nothing names any more. A batch goes whole, once its last job
 * ended by then. What stays: what a trajectory or a batch that stays has, the fastest job of each
 * problem, and the trajectory that ended last, so that the numbers of ends go on. All counters
 * stay. The key of a job that went is free.
 *
 * Order. The database first, in groups of some thousand jobs, then the segments. A process that is
 * killed in between leaves a whole store, and the next trim does what is left. The database keeps
 * the room for new jobs: its file does not shrink. A copy (store_backup.h) that is being made when
 * a segment goes which it needs ends with an error. */
#ifndef KG_SVC_STORE_TRIM_H
#define KG_SVC_STORE_TRIM_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct kg_svc_trimmed {
    int64_t jobs, trajectories, segments, bytes; /* that are gone; bytes: of segments */
    int64_t left;                                /* jobs */
};

/* before_ms: of the wall clock. progress: where a bar of jobs is shown. Errors: USAGE (no store,
 * one of a newer schema, records of a store in Redis, another process serves it), IO: what out
 * counts is gone. */
enum kg_code kg_svc_store_trim(const char *folder, int64_t before_ms, FILE *progress,
                               struct kg_svc_trimmed *out, struct kg_err *err) KG_MUST_USE;

#endif
