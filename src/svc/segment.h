/* Records of finished jobs, as zstd frames one behind the other in files of the run directory, so
 * that the store itself stays small. A process appends to files of its own only: a name is a ulid,
 * made when the file is. Order of a write: append, sync, then the store keeps the place. Bytes that
 * no place names (of a process that was killed in between) are ignored for ever.
 *
 * A record is read back only where the checksum of its bytes is that of the place.
 *
 * Threads. append and sync by one thread; read by any. */
#ifndef KG_SVC_SEGMENT_H
#define KG_SVC_SEGMENT_H

#include "base/buf.h"
#include "svc/job.h"

struct kg_svc_segments;

/* A file there: the folder is that of a store that processes share (store.h, share()). */
#define KG_SVC_SHARED_BY "shared-by"

enum { KG_SVC_RECORD_MAX = 64 << 20 }; /* bytes of one record */

/* folder: is made. most_bytes: of a file, then another one is begun. Errors: IO, HOST (memory). */
enum kg_code kg_svc_segments_open(const char *folder, int64_t most_bytes,
                                  struct kg_svc_segments **out, struct kg_err *err) KG_MUST_USE;
void kg_svc_segments_close(struct kg_svc_segments *s); /* NULL is nothing */
/* A new store may not begin beside records of another one, which was lost: segments of the folder.
 * Errors: USAGE (there are some). */
enum kg_code kg_svc_segments_need_none(const char *folder, struct kg_err *err) KG_MUST_USE;
/* Not durable before the next sync. Errors: IO (a full disk: nothing is kept), LIMIT. */
enum kg_code kg_svc_segments_append(struct kg_svc_segments *s, const char *record, size_t len,
                                    struct kg_svc_place *out, struct kg_err *err) KG_MUST_USE;
/* All that was appended is durable. Cheap where nothing was. Errors: IO. */
enum kg_code kg_svc_segments_sync(struct kg_svc_segments *s, struct kg_err *err) KG_MUST_USE;
/* Adds the record to out. Errors: IO (no such file; damaged), LIMIT. */
enum kg_code kg_svc_segments_read(const struct kg_svc_segments *s, const struct kg_svc_place *place,
                                  struct kg_buf *out, struct kg_err *err) KG_MUST_USE;

#endif
