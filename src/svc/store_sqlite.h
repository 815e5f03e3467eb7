/* Private to store_sqlite*.c: the store in a SQLite database of one folder, which one process has
 * at a time. Writes go through one connection, reads through another (WAL). Statements are prepared
 * once, on first use. */
#ifndef KG_SVC_STORE_SQLITE_H
#define KG_SVC_STORE_SQLITE_H

#include <sqlite3.h>

#include "svc/store.h"

enum sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_BY_KEY,
    SQL_KEY_DROP,
    SQL_WAITING,
    SQL_WAITING_OF,
    SQL_LANE,
    SQL_SUBMIT,
    SQL_TASK_ADD,
    SQL_TASK_DROP,
    SQL_EVENT,
    SQL_LANES_NEXT,
    SQL_LANES_DUE,
    SQL_LANES_FREE,
    SQL_LANES_HELD,
    SQL_LANES_NAMED,
    SQL_FIRST,
    SQL_CLAIM,
    SQL_SERVED,
    SQL_JOB, /* of the writer, within its group */
    SQL_TASK,
    SQL_RENEW,
    SQL_END,
    SQL_AGAIN,
    SQL_REQUEUE,
    SQL_EXPIRED,
    SQL_LATE,
    SQL_OLD_EVENTS,
    SQL_EVENT_DROP,
    SQL_EXTEND,
    SQL_COUNT_UP,
    SQL_TRAJ_KEY,
    SQL_TRAJ_OPEN,
    SQL_TRAJ, /* of the writer, within its group */
    SQL_TURN,
    SQL_TURN_ADD,
    SQL_TURN_AGAIN,
    SQL_TRAJ_TAKEN,
    SQL_TRAJ_PUT_OFF,
    SQL_TRAJ_END,
    SQL_TALLY_UP,
    SQL_TALLY_NEW,
    SQL_BEST,
    SQL_MINUTE,
    SQL_NOTICE,
    SQL_NOTICE_DROP,
    SQL_NOTICES_OLD,
    SQL_COUNTER_ADD,
    SQL_WRITES, /* those above are the writer's; those below the reader's */
    SQL_GET,
    SQL_GET_TASK,
    SQL_LIST,
    SQL_LIST_STATE,
    SQL_LIST_PROBLEM,
    SQL_LIST_PROBLEM_STATE,
    SQL_LIST_VERDICT,
    SQL_LIST_PROBLEM_VERDICT,
    SQL_LIST_OF_BATCH,
    SQL_LIST_BATCH,
    SQL_EVENTS,
    SQL_EVENTS_OF,
    SQL_COUNTS,
    SQL_COUNTERS,
    SQL_OLDEST,
    SQL_TRAJ_GET,
    SQL_TURNS,
    SQL_TRAJ_LIST,
    SQL_TRAJ_LIST_PROBLEM,
    SQL_TRAJ_LIST_GROUP,
    SQL_TRAJ_ENDED,
    SQL_TRAJ_DUE,
    SQL_TALLIES,
    SQL_BESTS,
    SQL_MINUTES,
    SQL_NOTICES,
    SQL_COUNTER_LIST,
    SQL_N
};
extern const char *const kg_svc_sql[SQL_N];
enum { KG_SVC_SCHEMA = 7 };
/* Step i leads from schema i to i + 1. A step is never changed once it was published. */
extern const char *const kg_svc_sql_steps[KG_SVC_SCHEMA];
/* Brings a database to schema n by the steps that it lacks, each in a transaction of its own.
 * Errors: USAGE (a newer schema), IO: the database is as the last whole step left it. */
enum kg_code kg_svc_sql_migrate(sqlite3 *db, const char *path, const char *const *steps, int n,
                                struct kg_err *err) KG_MUST_USE;
/* The schema of a database. Errors: IO. */
enum kg_code kg_svc_sql_version(sqlite3 *db, const char *path, int *version,
                                struct kg_err *err) KG_MUST_USE;
/* Selects id, segment, offset, len, sum, job (1: of a job) of all rows that may name a piece of a
 * segment. A store of schema 1 has no trajectories. */
const char *kg_svc_sql_places(int schema);
enum { KG_SVC_EVENTS_KEEP_MS = 7 * 86400 * 1000 };

struct kg_svc_sqlite {
    struct kg_svc_store base;
    sqlite3 *write, *read;
    sqlite3_stmt *stmt[SQL_N];
    int lock;
    char path[4096];
    int64_t looked; /* seq of the event that trim() looked at last; 0: it begins anew */
};

/* The statement, with its values bound: one letter each in types. t: const char *; i: int64_t. They
 * must live until it is done. NULL and *err: IO. */
sqlite3_stmt *kg_svc_sql_bind(struct kg_svc_sqlite *s, enum sql which, struct kg_err *err,
                              const char *types, ...);
/* One row is there: true. *err is set (code not OK) where the step failed. Ends the statement when
 * there is none. */
bool kg_svc_sql_row(struct kg_svc_sqlite *s, sqlite3_stmt *st, struct kg_err *err);
/* Steps a statement without rows to its end. *changed: rows that it changed; or NULL. */
enum kg_code kg_svc_sql_done(struct kg_svc_sqlite *s, sqlite3_stmt *st, int64_t *changed,
                             struct kg_err *err) KG_MUST_USE;
/* Runs statements without parameters on the writer's connection. Errors: IO. */
enum kg_code kg_svc_sql_text(struct kg_svc_sqlite *s, const char *sql,
                             struct kg_err *err) KG_MUST_USE;
enum kg_code kg_svc_sql_fail(sqlite3 *db, const char *path, struct kg_err *err);
/* Columns of SQL_JOB, SQL_GET, SQL_LIST into a job that is initialised. */
enum kg_code kg_svc_sql_job(sqlite3_stmt *st, struct kg_svc_job *out,
                            struct kg_err *err) KG_MUST_USE;
enum kg_code kg_svc_sql_event(struct kg_svc_sqlite *s, int64_t ms, const char *id, const char *type,
                              const char *detail, struct kg_err *err) KG_MUST_USE;

/* Of the writer's group: events go KG_SVC_EVENTS_KEEP_MS after their job's end, a few at each call.
 * Errors: IO. */
enum kg_code kg_svc_sqlite_trim(struct kg_svc_sqlite *s, int64_t now_ms,
                                struct kg_err *err) KG_MUST_USE;
extern const struct kg_svc_traj_rows kg_svc_sqlite_traj;

/* The functions of the row, by file. */
enum kg_code kg_svc_sqlite_submit(struct kg_svc_store *s, const struct kg_svc_job *job,
                                  const struct kg_svc_room *room, char id[KG_ULID_LEN], bool *known,
                                  struct kg_err *err);
enum kg_code kg_svc_sqlite_has_room(struct kg_svc_store *s, const char *owner,
                                    const struct kg_svc_room *room, struct kg_err *err);
enum kg_code kg_svc_sqlite_claim(struct kg_svc_store *s, const struct kg_svc_ask *ask,
                                 struct kg_svc_job *out, size_t *of, size_t *n, struct kg_err *err);
enum kg_code kg_svc_sqlite_renew(struct kg_svc_store *s, const char *id, const char *claim,
                                 int64_t fence, int64_t until_ms, struct kg_err *err);
enum kg_code kg_svc_sqlite_holds(struct kg_svc_store *s, const char *id, const char *claim,
                                 int64_t fence, struct kg_err *err);
enum kg_code kg_svc_sqlite_finish(struct kg_svc_store *s, const struct kg_svc_end *e,
                                  struct kg_err *err);
enum kg_code kg_svc_sqlite_failed(struct kg_svc_store *s, const struct kg_svc_end *e,
                                  struct kg_err *err);
enum kg_code kg_svc_sqlite_give_back(struct kg_svc_store *s, const struct kg_svc_end *e,
                                     struct kg_err *err);
enum kg_code kg_svc_sqlite_cancel(struct kg_svc_store *s, const char *id, int64_t now_ms,
                                  bool *changed, struct kg_err *err);
enum kg_code kg_svc_sqlite_requeue(struct kg_svc_store *s, const char *id, int64_t now_ms,
                                   struct kg_err *err);
enum kg_code kg_svc_sqlite_expire(struct kg_svc_store *s, int64_t now_ms, int64_t *n,
                                  struct kg_err *err);
enum kg_code kg_svc_sqlite_extend(struct kg_svc_store *s, int64_t until_ms, struct kg_err *err);
enum kg_code kg_svc_sqlite_notice(struct kg_svc_store *s, const struct kg_svc_notice *notice,
                                  int64_t now_ms, struct kg_err *err);
enum kg_code kg_svc_sqlite_notices(struct kg_svc_store *s, const char *kind, int64_t now_ms,
                                   kg_svc_on_notice *each, void *ctx, struct kg_err *err);
enum kg_code kg_svc_sqlite_get(struct kg_svc_store *s, const char *id, bool with_task,
                               struct kg_svc_job *out, struct kg_err *err);
enum kg_code kg_svc_sqlite_list(struct kg_svc_store *s, const struct kg_svc_filter *f,
                                kg_svc_on_job *each, void *ctx, struct kg_err *err);
enum kg_code kg_svc_sqlite_events(struct kg_svc_store *s, int64_t after, const char *id,
                                  size_t limit, kg_svc_on_event *each, void *ctx,
                                  struct kg_err *err);
enum kg_code kg_svc_sqlite_stats(struct kg_svc_store *s, struct kg_svc_stats *out,
                                 struct kg_err *err);
/* A job ended with a record: it is counted. Within a group. */
enum kg_code kg_svc_sqlite_count(struct kg_svc_sqlite *s, const struct kg_svc_job *job,
                                 const struct kg_svc_end *e, struct kg_err *err) KG_MUST_USE;
enum kg_code kg_svc_sqlite_tallies(struct kg_svc_store *s, kg_svc_on_tally *each, void *ctx,
                                   struct kg_err *err);
enum kg_code kg_svc_sqlite_bests(struct kg_svc_store *s, kg_svc_on_best *each, void *ctx,
                                 struct kg_err *err);
enum kg_code kg_svc_sqlite_minutes(struct kg_svc_store *s, int64_t now_ms, int64_t *out,
                                   struct kg_err *err);
enum kg_code kg_svc_sqlite_add_counts(struct kg_svc_store *s, const struct kg_svc_count *list,
                                      size_t n, struct kg_err *err);
enum kg_code kg_svc_sqlite_counts(struct kg_svc_store *s, kg_svc_on_count *each, void *ctx,
                                  struct kg_err *err);

#endif
