/* Private to api*.c: the state of an api process, and what its files share. */
#ifndef KG_SVC_API_PRIVATE_H
#define KG_SVC_API_PRIVATE_H

#include "svc/api.h"
#include "svc/auth.h"
#include "svc/http.h"
#include "svc/refusal.h"
#include "svc/writer.h"

enum { KG_SVC_WAIT_MAX_S = 300, KG_SVC_BATCH_MAX = 10000 };

struct kg_svc_api {
    const struct kg_svc_api_options *o;
    struct event_base *base;
    struct kg_svc_store *store;
    struct kg_svc_segments *segments;
    struct kg_svc_writer *writer;
    struct kg_svc_http *http;
    struct kg_svc_auth *auth;
    struct kg_svc_wait *waits;     /* answers that wait for a job to end */
    struct kg_svc_group *groups;   /* the same for several jobs */
    struct kg_svc_poll *polls;     /* workers that wait for a job, or for news */
    struct kg_svc_stream *streams; /* of events and of batches */
    struct kg_svc_meters *meters;  /* api_metrics.c */
    bool fresh;                    /* since the last group a job has begun to wait */
    size_t held;                   /* refusals that wait (api_reward.c) */
    bool unread;                   /* a wait could not be looked at: the next tick does */
    bool stopping;
    bool allocating;          /* a node of KernelGYM: one at a time */
    int64_t seen;             /* the last event that all waits were looked at for */
    json_t *workers, *asides; /* notices of the store, by name, as they were at notices_ms */
    int64_t notices_ms;
    int64_t begun_ms;
    int64_t waiting, waiting_ms;     /* jobs that waited, and when they were counted */
    int64_t ended_before;            /* jobs that had ended by then */
    struct kg_svc_session *sessions; /* of OpenEnv's clients */
};

/* --- one job as an answer --- */

/* {"id", "state", ...}, without the record. */
json_t *kg_svc_job_json(const struct kg_svc_job *job);
/* Answers with the job, and its record where it has one. */
void kg_svc_answer_job(struct kg_svc_api *a, struct kg_svc_exchange *x, int status,
                       const struct kg_svc_job *job);
/* The record, or {"state", "error", ...} of a job that has none, as one line. */
enum kg_code kg_svc_record_line(struct kg_svc_api *a, const struct kg_svc_job *job,
                                struct kg_buf *out, struct kg_err *err) KG_MUST_USE;
/* Answers an error of the store: 404, 409, 429 or 503. */
void kg_svc_answer_error(struct kg_svc_exchange *x, const struct kg_err *err, const char *field);
/* The id in the path. NULL: it can be none of a job, and 404 was answered. */
const char *kg_svc_path_id(struct kg_svc_exchange *x);
/* ?NAME=S, seconds from 0 to most; 0 where it is absent. False: 400 was answered. */
bool kg_svc_query_number(struct kg_svc_exchange *x, const char *name, double most, double *out);
/* The same of a whole number. */
bool kg_svc_query_whole(struct kg_svc_exchange *x, const char *name, int64_t most, int64_t *out);
/* ?after=ID, where the last page of a list ended; NULL where it is absent. False: 400 was answered,
 * since what is no id would begin the list anew. */
bool kg_svc_query_cursor(struct kg_svc_exchange *x, const char **out);

/* --- what waits --- */

/* Answers with job `id` once it has ended, or after seconds with 202. */
void kg_svc_wait_for(struct kg_svc_api *a, struct kg_svc_exchange *x, const char *id,
                     double seconds);
/* A job has ended: its waits are answered. id NULL: look at all. */
void kg_svc_ended(struct kg_svc_api *a, const char *id);
/* The same of groups (api_group.h); kg_svc_ended() calls it. */
void kg_svc_groups_ended(struct kg_svc_api *a, const char *id);
/* A job that ran was cancelled: its worker is told which claim has ended. */
void kg_svc_tell_worker(struct kg_svc_api *a, const struct kg_svc_job *job);
/* The same of all that was cancelled after this event, by whichever process. */
void kg_svc_tell_cancelled(struct kg_svc_api *a, int64_t after);
/* The service stops: all that waits is answered with what there is. */
void kg_svc_waits_stop(struct kg_svc_api *a);
void kg_svc_groups_stop(struct kg_svc_api *a);
/* After each group, and each second. */
void kg_svc_polls_look(struct kg_svc_api *a);
void kg_svc_polls_tick(struct kg_svc_api *a);
/* This worker's requests that wait are answered now: its claims, or its news as well. */
void kg_svc_polls_end(struct kg_svc_api *a, const char *worker, bool claims_only);
void kg_svc_streams_pump(struct kg_svc_api *a);
/* Sockets of OpenEnv's clients begin to close; what is left of their sessions is released. */
void kg_svc_sessions_stop(struct kg_svc_api *a);
void kg_svc_sessions_end(struct kg_svc_api *a);

/* --- workers and devices (api_devices.c) --- */

/* Reads the notices of the store; tick: where they are older than a second. */
void kg_svc_notices_read(struct kg_svc_api *a);
void kg_svc_notices_tick(struct kg_svc_api *a);
void kg_svc_notices_close(struct kg_svc_api *a);
bool kg_svc_is_aside(const struct kg_svc_api *a, const char *device);
/* Is this a device of the worker that claimed job `id` last? */
bool kg_svc_has_device(struct kg_svc_api *a, const char *id, const char *device);
/* Within a group. Errors: of the store. */
enum kg_code kg_svc_put_aside(struct kg_svc_store *store, const char *device, const char *reason,
                              struct kg_err *err) KG_MUST_USE;
/* {"code", "message", "devices", "waiting", "lacks"}: why a waiting job waits. */
json_t *kg_svc_waits_for(struct kg_svc_api *a, const struct kg_svc_job *job);
/* Is there a device that offers these needs (offer.h) and is not put aside? True as well where no
 * device is known: one may still join. */
bool kg_svc_is_served(struct kg_svc_api *a, const char *needs);

/* --- monitoring (api_metrics.c) --- */

void kg_svc_meters_open(struct kg_svc_api *a);
void kg_svc_meters_close(struct kg_svc_api *a);
/* A job has ended with this record: its durations are gathered. */
void kg_svc_meters_record(struct kg_svc_api *a, const json_t *record);
/* What was gathered goes into the store. */
void kg_svc_meters_flush(struct kg_svc_api *a);
/* `answered` of struct kg_svc_http_options. */
void kg_svc_meters_answered(void *ctx, const struct kg_svc_route *route, int status, size_t in,
                            size_t out);

/* --- a submission --- */

struct kg_svc_ask_for { /* what a body, or the query of a batch, asks for */
    const char *problem, *problem_source, *tag;
    const char *problem_file;        /* of problem_source: NAME.c or NAME.py; NULL: by its text */
    const char *stop_after, *replay; /* as in struct kgym_task; NULL: none */
    json_t *text;                    /* a string: reply or source; borrowed */
    bool source;
    const char *preset, *rewards, *key;
    enum kg_svc_priority priority;
    double deadline_s;
    const json_t *set;   /* object; NULL: none */
    const json_t *needs; /* list of words (offer.h); NULL: none */
};

/* Has the disk of the folder the space that the options ask for? (api_ready.c) Else a job is
 * refused with 503 and these words. */
bool kg_svc_has_space(const struct kg_svc_api *a);
#define KG_SVC_DISK_FULL "the service's disk is full: ask again later"
/* The room that a job needs where `more` follow it, by the options. */
struct kg_svc_room kg_svc_room_for(const struct kg_svc_api *a, size_t more);
/* A job of it; 400 or 404 was answered where false. line: of a batch, for messages; -1: none. */
bool kg_svc_make_job(struct kg_svc_api *a, struct kg_svc_exchange *x,
                     const struct kg_svc_ask_for *ask, int line, struct kg_svc_job *job);
/* The same, without a request: *no says why where false. The job has no owner yet. */
bool kg_svc_try_job(struct kg_svc_api *a, const struct kg_svc_ask_for *ask, int line,
                    struct kg_svc_job *job, struct kg_svc_refusal *no);
/* Is this word a path, rather than a name of the suites (NAME, or NAME.jsonl#LINE)? */
bool kg_svc_is_path(const char *problem);
/* Is this the name of a problem's file, without a folder: it ends in .c or .py? */
bool kg_svc_is_file_name(const char *name);
bool kg_svc_is_stage(const char *name); /* of an evaluation */
/* One of reply and source (NULL: absent), as text and source of *ask. False: 400 was answered. */
bool kg_svc_take_text(struct kg_svc_exchange *x, json_t *reply, json_t *source, int line,
                      struct kg_svc_ask_for *ask);
/* NULL: normal. False: 400 was answered. */
bool kg_svc_read_priority(struct kg_svc_exchange *x, const char *text, enum kg_svc_priority *out);

/* --- routes --- */

/* The table, for tests that hold it to openapi.json. */
const struct kg_svc_route *kg_svc_api_routes(size_t *n);
/* OpenAPI 3.1, a JSON text. Each route has its place there; those of other methods and scopes too.
 */
extern const char kg_svc_openapi[];

kg_svc_handler kg_svc_post_evaluation, kg_svc_get_evaluation, kg_svc_list_evaluations,
    kg_svc_delete_evaluation, kg_svc_requeue_evaluation, kg_svc_post_batch, kg_svc_get_batch,
    kg_svc_batch_records, kg_svc_get_events, kg_svc_get_problems, kg_svc_get_prompt,
    kg_svc_get_stats, kg_svc_get_live, kg_svc_get_ready, kg_svc_post_claim, kg_svc_post_renew,
    kg_svc_post_finish, kg_svc_post_leave, kg_svc_post_hello, kg_svc_get_devices,
    kg_svc_post_enable;
kg_svc_handler kg_svc_post_reward, kg_svc_get_feedback, kg_svc_get_metrics, kg_svc_get_openapi;
kg_svc_handler kg_svc_open_trajectory, kg_svc_list_trajectories, kg_svc_export_trajectories,
    kg_svc_get_trajectory, kg_svc_close_trajectory, kg_svc_post_turn, kg_svc_get_turn;
kg_svc_handler kg_svc_get_ws, kg_svc_get_schema, kg_svc_get_metadata;
kg_svc_handler kg_svc_get_overview, kg_svc_get_bests, kg_svc_get_ui, kg_svc_get_root;
kg_svc_handler kg_svc_kernelgym_evaluate, kg_svc_kernelgym_workflow, kg_svc_kernelgym_batch,
    kg_svc_kernelgym_validate, kg_svc_kernelgym_get_status, kg_svc_kernelgym_get_results,
    kg_svc_kernelgym_get_workflow, kg_svc_kernelgym_cancel, kg_svc_kernelgym_get_health,
    kg_svc_kernelgym_get_queue, kg_svc_kernelgym_get_root, kg_svc_kernelgym_get_metrics,
    kg_svc_kernelgym_register, kg_svc_kernelgym_heartbeat, kg_svc_kernelgym_unregister,
    kg_svc_kernelgym_evict, kg_svc_kernelgym_allocate, kg_svc_kernelgym_get_workers,
    kg_svc_kernelgym_worker_health, kg_svc_kernelgym_problematic, kg_svc_kernelgym_retry_queue,
    kg_svc_kernelgym_clear_errors;

#endif
