/* The SQLite store: how a job's state changes. */
#include <string.h>

#include "svc/lanes.h"
#include "svc/store_sqlite.h"

static struct kg_svc_sqlite *own(struct kg_svc_store *s)
{
    return (struct kg_svc_sqlite *)s;
}

/* A job within the writer's group. */
static enum kg_code look(struct kg_svc_sqlite *s, const char *id, struct kg_svc_job *out,
                         struct kg_err *err)
{
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_JOB, &e, "t", id);
    bool there = st != NULL && kg_svc_sql_row(s, st, &e) && kg_svc_sql_job(st, out, &e) == KG_OK;
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
        return e.code;
    }
    return there ? KG_OK : kg_fail(err, KG_E_NOT_FOUND, "no job %.40s", id);
}

/* --- submit --- */

static enum kg_code lane_of(struct kg_svc_sqlite *s, const struct kg_svc_job *job, int64_t now_ms,
                            int64_t *lane, struct kg_err *err)
{
    char name[KG_SHA256_HEX];
    kg_svc_lane_name(job, name);
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st =
        kg_svc_sql_bind(s, SQL_LANE, &e, "ttii", name, job->device, (int64_t)job->priority, now_ms);
    while (st != NULL && kg_svc_sql_row(s, st, &e)) {
        *lane = sqlite3_column_int64(st, 0);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

static enum kg_code known_key(struct kg_svc_sqlite *s, const struct kg_svc_job *job,
                              char id[KG_ULID_LEN], bool *known, struct kg_err *err)
{
    struct kg_err e = KG_ERR_INIT;
    bool same = true;
    *known = false;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_BY_KEY, &e, "t", job->key);
    while (st != NULL && kg_svc_sql_row(s, st, &e)) {
        *known = true;
        snprintf(id, KG_ULID_LEN, "%s", (const char *)sqlite3_column_text(st, 0));
        same = strcmp((const char *)sqlite3_column_text(st, 1), job->body_hash) == 0;
    }
    if (e.code != KG_OK) {
        *err = e;
        return e.code;
    }
    return same
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "the key belongs to a job that asked for something else");
}

static enum kg_code was_lost(struct kg_svc_sqlite *s, const char *id, bool *yes, struct kg_err *err)
{
    struct kg_svc_job old;
    kg_svc_job_init(&old);
    enum kg_code code = look(s, id, &old, err);
    *yes = code == KG_OK && kg_svc_job_was_lost(&old);
    kg_svc_job_deinit(&old);
    return code;
}

/* owner NULL: of all. */
static enum kg_code fit(struct kg_svc_sqlite *s, const char *owner, int64_t most, int64_t more,
                        struct kg_err *err)
{
    struct kg_err e = KG_ERR_INIT;
    int64_t n = 0;
    sqlite3_stmt *st = owner != NULL ? kg_svc_sql_bind(s, SQL_WAITING_OF, &e, "t", owner)
                                     : kg_svc_sql_bind(s, SQL_WAITING, &e, "");
    while (st != NULL && kg_svc_sql_row(s, st, &e)) {
        n = sqlite3_column_int64(st, 0);
    }
    if (e.code != KG_OK) {
        *err = e;
        return e.code;
    }
    return n + more < most ? KG_OK
                           : kg_fail(err, KG_E_FULL, "%lld jobs%s wait already", (long long)n,
                                     owner != NULL ? " of this token" : "");
}

enum kg_code kg_svc_sqlite_has_room(struct kg_svc_store *store, const char *owner,
                                    const struct kg_svc_room *room, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    enum kg_code code = KG_OK;
    if (room != NULL && room->most > 0) {
        code = fit(s, NULL, room->most, room->more, err);
    }
    if (code == KG_OK && room != NULL && room->most_of_owner > 0 && owner[0] != '\0') {
        code = fit(s, owner, room->most_of_owner, room->more, err);
    }
    return code;
}

enum kg_code kg_svc_sqlite_submit(struct kg_svc_store *store, const struct kg_svc_job *job,
                                  const struct kg_svc_room *room, char id[KG_ULID_LEN], bool *known,
                                  struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    int64_t lane = 0;
    bool renewed = false;
    char old[KG_ULID_LEN];
    if (known_key(s, job, id, known, err) != KG_OK ||
        (*known && job->renews && was_lost(s, id, &renewed, err) != KG_OK) || *known != renewed) {
        return err->code;
    }
    *known = false;
    snprintf(old, sizeof old, "%s", renewed ? id : "");
    snprintf(id, KG_ULID_LEN, "%s", job->id);
    if (kg_svc_sqlite_has_room(store, job->owner, room, err) != KG_OK ||
        lane_of(s, job, job->created_ms, &lane, err) != KG_OK) {
        return err->code;
    }
    if (renewed &&
        kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_KEY_DROP, err, "t", old), NULL, err) != KG_OK) {
        return err->code;
    }
    sqlite3_stmt *st =
        kg_svc_sql_bind(s, SQL_SUBMIT, err, "tttitttiitiit", job->id, job->key, job->body_hash,
                        lane, job->device, job->configuration, job->problem, (int64_t)job->priority,
                        job->deadline_ms, job->batch, job->batch_at, job->created_ms, job->owner);
    if (kg_svc_sql_done(s, st, NULL, err) != KG_OK) {
        return err->code;
    }
    st = kg_svc_sql_bind(s, SQL_TASK_ADD, err, "tt", job->id, job->task);
    return kg_svc_sql_done(s, st, NULL, err) != KG_OK
               ? err->code
               : kg_svc_sql_event(s, job->created_ms, job->id, "submitted", job->problem, err);
}

/* --- the end of an attempt --- */

/* The job, if claim and fence are those of its running attempt. */
static enum kg_code held(struct kg_svc_sqlite *s, const struct kg_svc_end *e,
                         struct kg_svc_job *job, struct kg_err *err)
{
    enum kg_code code = look(s, e->id, job, err);
    if (code != KG_OK) {
        return code;
    }
    if (job->state == KG_SVC_RUNNING && job->fence == e->fence &&
        strcmp(job->claim, e->claim) == 0) {
        return KG_OK;
    }
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_COUNT_UP, err, "t", "refused");
    if (kg_svc_sql_done(s, st, NULL, err) != KG_OK) {
        return err->code;
    }
    return kg_fail(err, KG_E_NOT_FOUND, "the claim on job %s has ended", e->id);
}

static enum kg_code end_job(struct kg_svc_sqlite *s, const struct kg_svc_end *e,
                            enum kg_svc_state state, struct kg_err *err)
{
    static const struct kg_svc_place nowhere;
    const struct kg_svc_place *p = e->record != NULL ? e->record : &nowhere;
    const char *const t[] = {e->verdict, e->reason, e->error, e->blame, e->message};
    const char *v[5];
    for (int i = 0; i < 5; i++) {
        v[i] = t[i] != NULL ? t[i] : "";
    }
    sqlite3_stmt *st =
        kg_svc_sql_bind(s, SQL_END, err, "tiitiitttttt", e->id, (int64_t)state, e->now_ms,
                        p->segment, p->offset, p->len, p->sum, v[0], v[1], v[2], v[3], v[4]);
    if (kg_svc_sql_done(s, st, NULL, err) != KG_OK) {
        return err->code;
    }
    if (state == KG_SVC_DEAD) { /* it may be asked for again */
        return KG_OK;
    }
    return kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_TASK_DROP, err, "t", e->id), NULL, err);
}

enum kg_code kg_svc_sqlite_holds(struct kg_svc_store *store, const char *id, const char *claim,
                                 int64_t fence, struct kg_err *err)
{
    const struct kg_svc_end e = {.id = id, .claim = claim, .fence = fence};
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    enum kg_code code = held(own(store), &e, &job, err);
    kg_svc_job_deinit(&job);
    return code;
}

enum kg_code kg_svc_sqlite_finish(struct kg_svc_store *store, const struct kg_svc_end *e,
                                  struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    enum kg_code code = held(s, e, &job, err);
    code = code != KG_OK ? code : end_job(s, e, KG_SVC_DONE, err);
    code = code != KG_OK ? code : kg_svc_sqlite_count(s, &job, e, err);
    const char *detail = e->verdict != NULL ? e->verdict : e->error != NULL ? e->error : "";
    code = code != KG_OK ? code : kg_svc_sql_event(s, e->now_ms, e->id, "finished", detail, err);
    kg_svc_job_deinit(&job);
    return code;
}

/* The job waits again; after its last attempt, or where no other one would help, it is dead. */
static enum kg_code again(struct kg_svc_sqlite *s, const struct kg_svc_job *job,
                          const struct kg_svc_end *e, const char *event, struct kg_err *err)
{
    if (kg_svc_sql_event(s, e->now_ms, job->id, event, job->worker, err) != KG_OK) {
        return err->code;
    }
    if (job->attempts < KG_SVC_ATTEMPTS && !e->last) {
        sqlite3_stmt *st =
            kg_svc_sql_bind(s, SQL_AGAIN, err, "ti", job->id, (int64_t)job->attempts);
        return kg_svc_sql_done(s, st, NULL, err);
    }
    return end_job(s, e, KG_SVC_DEAD, err) != KG_OK
               ? err->code
               : kg_svc_sql_event(s, e->now_ms, job->id, "dead", "", err);
}

enum kg_code kg_svc_sqlite_failed(struct kg_svc_store *store, const struct kg_svc_end *e,
                                  struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    enum kg_code code = held(s, e, &job, err);
    code = code != KG_OK ? code : again(s, &job, e, "failed", err);
    kg_svc_job_deinit(&job);
    return code;
}

enum kg_code kg_svc_sqlite_give_back(struct kg_svc_store *store, const struct kg_svc_end *e,
                                     struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    enum kg_code code = held(s, e, &job, err);
    if (code == KG_OK) {
        sqlite3_stmt *st =
            kg_svc_sql_bind(s, SQL_AGAIN, err, "ti", job.id, (int64_t)job.attempts - 1);
        code = kg_svc_sql_done(s, st, NULL, err);
    }
    code = code != KG_OK ? code
                         : kg_svc_sql_event(s, e->now_ms, job.id, "handed_back", job.worker, err);
    kg_svc_job_deinit(&job);
    return code;
}

enum kg_code kg_svc_sqlite_renew(struct kg_svc_store *store, const char *id, const char *claim,
                                 int64_t fence, int64_t until_ms, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    int64_t changed = 0;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_RENEW, err, "ttii", id, claim, fence, until_ms);
    if (kg_svc_sql_done(s, st, &changed, err) != KG_OK) {
        return err->code;
    }
    return changed > 0 ? KG_OK
                       : kg_fail(err, KG_E_NOT_FOUND, "the claim on job %.40s has ended", id);
}

/* --- cancel, requeue, time --- */

enum kg_code kg_svc_sqlite_cancel(struct kg_svc_store *store, const char *id, int64_t now_ms,
                                  bool *changed, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    *changed = false;
    enum kg_code code = look(s, id, &job, err);
    if (code == KG_OK && (job.state == KG_SVC_WAITING || job.state == KG_SVC_RUNNING)) {
        const struct kg_svc_end e = {.id = id,
                                     .now_ms = now_ms,
                                     .error = "cancelled",
                                     .blame = "host",
                                     .message = "the job was cancelled"};
        *changed = true;
        code = end_job(s, &e, KG_SVC_CANCELLED, err) != KG_OK
                   ? err->code
                   : kg_svc_sql_event(s, now_ms, id, "cancelled", "", err);
    }
    kg_svc_job_deinit(&job);
    return code;
}

enum kg_code kg_svc_sqlite_requeue(struct kg_svc_store *store, const char *id, int64_t now_ms,
                                   struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_svc_job job;
    int64_t lane = 0;
    kg_svc_job_init(&job);
    enum kg_code code = look(s, id, &job, err);
    if (code == KG_OK && job.state != KG_SVC_DEAD) {
        code = kg_fail(err, KG_E_USAGE, "job %s is not dead but %s", job.id,
                       kg_svc_state_name(job.state));
    }
    code = code != KG_OK ? code : lane_of(s, &job, now_ms, &lane, err);
    code = code != KG_OK ? code
                         : kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_REQUEUE, err, "ti", id, lane),
                                           NULL, err);
    code = code != KG_OK ? code : kg_svc_sql_event(s, now_ms, id, "requeued", "", err);
    kg_svc_job_deinit(&job);
    return code;
}

/* The first job that this statement names. */
static enum kg_code first(struct kg_svc_sqlite *s, enum sql which, int64_t now_ms,
                          struct kg_svc_job *job, bool *there, struct kg_err *err)
{
    char id[KG_ULID_LEN] = "";
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, which, &e, "i", now_ms);
    while (st != NULL && kg_svc_sql_row(s, st, &e)) {
        snprintf(id, sizeof id, "%s", (const char *)sqlite3_column_text(st, 0));
    }
    if (e.code != KG_OK) {
        *err = e;
        return e.code;
    }
    *there = id[0] != '\0';
    return *there ? look(s, id, job, err) : KG_OK;
}

static enum kg_code take_back(struct kg_svc_sqlite *s, const struct kg_svc_job *job, int64_t now_ms,
                              struct kg_err *err)
{
    const struct kg_svc_end e = {.id = job->id,
                                 .now_ms = now_ms,
                                 .error = "gym",
                                 .blame = "gym",
                                 .message =
                                     "each attempt ended without an answer: its worker was gone"};
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_COUNT_UP, err, "t", "expired");
    return kg_svc_sql_done(s, st, NULL, err) != KG_OK ? err->code
                                                      : again(s, job, &e, "expired", err);
}

static enum kg_code too_late(struct kg_svc_sqlite *s, const struct kg_svc_job *job, int64_t now_ms,
                             struct kg_err *err)
{
    const struct kg_svc_end e = {.id = job->id,
                                 .now_ms = now_ms,
                                 .error = "cancelled",
                                 .blame = "host",
                                 .message = "the deadline passed while the job waited"};
    return end_job(s, &e, KG_SVC_CANCELLED, err) != KG_OK
               ? err->code
               : kg_svc_sql_event(s, now_ms, job->id, "cancelled", "deadline", err);
}

enum kg_code kg_svc_sqlite_expire(struct kg_svc_store *store, int64_t now_ms, int64_t *n,
                                  struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    *n = 0;
    for (int late = 0; late < 2; late++) {
        for (bool there = true; there;) {
            struct kg_svc_job job;
            kg_svc_job_init(&job);
            enum kg_code code = first(s, late ? SQL_LATE : SQL_EXPIRED, now_ms, &job, &there, err);
            if (code == KG_OK && there) {
                *n += 1;
                code = late ? too_late(s, &job, now_ms, err) : take_back(s, &job, now_ms, err);
            }
            kg_svc_job_deinit(&job);
            if (code != KG_OK) {
                return code;
            }
        }
    }
    return kg_svc_sqlite_trim(s, now_ms, err);
}

enum kg_code kg_svc_sqlite_extend(struct kg_svc_store *store, int64_t until_ms, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    return kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_EXTEND, err, "i", until_ms), NULL, err);
}
