/* Private to api_kernelgym*.c: tasks of KernelGYM's clients as jobs (docs/trainers.md).
 *
 * The jobs of one task id are a batch of the store, whose lines are the id's generations: another
 * content under the same id is the next line, and the one before is cancelled. What the answer must
 * repeat of the request is the job's tag, which the record brings back. So nothing is kept beside
 * the store, and any api process answers for any id. */
#ifndef KG_SVC_API_KERNELGYM_H
#define KG_SVC_API_KERNELGYM_H

#include "svc/api_private.h"
#include "svc/kernelgym_host.h"
#include "svc/kernelgym_reply.h"
#include "svc/kernelgym_request.h"

/* Fills job, an initialised one, for this generation. Errors: LIMIT, HOST. */
enum kg_code kg_svc_kernelgym_job(const struct kg_kernelgym_request *r, int64_t generation,
                                  struct kg_svc_job *job, struct kg_err *err) KG_MUST_USE;
/* The last job of a task id. Errors: NOT_FOUND, those of the store. */
enum kg_code kg_svc_kernelgym_last(struct kg_svc_api *a, const char *task_id,
                                   struct kg_svc_job *job, struct kg_err *err) KG_MUST_USE;
/* The result of a job, as an object of 14 members, and the status object where status is not NULL.
 * NULL, and no status: there is a record, and it can't be read now. */
json_t *kg_svc_kernelgym_view(struct kg_svc_api *a, const char *task_id,
                              const struct kg_svc_job *job, json_t **status);

/* Answers {"detail": ...}, the second form of KernelGYM's errors; id may be a client's text. */
void kg_svc_kernelgym_detail(struct kg_svc_exchange *x, int status, const char *before,
                             const char *id, const char *after);
/* The first form, with status 400. */
void kg_svc_kernelgym_bad(struct kg_svc_exchange *x, const char *message);

/* Notices by a content's hash: since when its crashes count, in ms. */
#define KG_SVC_KERNELGYM_CLEARED "kernelgym-cleared"
/* {name: value} of the notices of that kind. NULL: the store can't be read. */
json_t *kg_svc_kernelgym_notices(struct kg_svc_api *a, const char *kind);

/* Devices of the service's own workers (api_kernelgym_devices.c). */
enum { KG_SVC_KERNELGYM_MODEL = 200 };
struct kg_svc_kernelgym_devices {
    struct kg_kernelgym_device *gpu; /* names are borrowed from the notices */
    struct kg_kernelgym_worker *worker;
    char (*model)[KG_SVC_KERNELGYM_MODEL];
    size_t ngpus, nworkers;
};
/* Those of workers that are there, until the notices are read again; then close it. */
void kg_svc_kernelgym_devices_open(struct kg_svc_api *a, struct kg_svc_kernelgym_devices *out);
void kg_svc_kernelgym_devices_close(struct kg_svc_kernelgym_devices *d);
/* A new object: all devices that GET /v1/devices lists, as members of /workers/status. */
json_t *kg_svc_kernelgym_own_workers(struct kg_svc_api *a);

/* The result of a request with a failure_code, without a job. at_us: when it came. */
json_t *kg_svc_kernelgym_unjudged(const struct kg_kernelgym_request *r, int64_t at_us);

#endif
