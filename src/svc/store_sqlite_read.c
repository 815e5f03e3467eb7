/* The SQLite store: what is read. */
#include <string.h>

#include "svc/store_sqlite.h"

static const char *text_of(sqlite3_stmt *st, int column)
{
    const unsigned char *t = sqlite3_column_text(st, column);
    return t != NULL ? (const char *)t : "";
}

static void copy(sqlite3_stmt *st, int column, char *out, size_t cap)
{
    snprintf(out, cap, "%s", text_of(st, column));
}

enum kg_code kg_svc_sql_job(sqlite3_stmt *st, struct kg_svc_job *j, struct kg_err *err)
{
    const struct {
        const char **field;
        int column;
    } kept[] = {{&j->key, 1},    {&j->device, 3},  {&j->configuration, 4}, {&j->problem, 5},
                {&j->batch, 8},  {&j->worker, 14}, {&j->verdict, 23},      {&j->reason, 24},
                {&j->error, 25}, {&j->blame, 26},  {&j->message, 27}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *t = text_of(st, kept[i].column);
        if (kg_svc_job_keep(j, kept[i].field, t, strlen(t), err) != KG_OK) {
            return err->code;
        }
    }
    copy(st, 0, j->id, sizeof j->id);
    copy(st, 2, j->body_hash, sizeof j->body_hash);
    j->priority = (enum kg_svc_priority)sqlite3_column_int(st, 6);
    j->deadline_ms = sqlite3_column_int64(st, 7);
    j->batch_at = sqlite3_column_int64(st, 9);
    j->state = (enum kg_svc_state)sqlite3_column_int(st, 10);
    j->attempts = sqlite3_column_int(st, 11);
    j->fence = sqlite3_column_int64(st, 12);
    copy(st, 13, j->claim, sizeof j->claim);
    j->claim_until_ms = sqlite3_column_int64(st, 15);
    j->created_ms = sqlite3_column_int64(st, 16);
    j->started_ms = sqlite3_column_int64(st, 17);
    j->finished_ms = sqlite3_column_int64(st, 18);
    copy(st, 19, j->record.segment, sizeof j->record.segment);
    j->record.offset = sqlite3_column_int64(st, 20);
    j->record.len = sqlite3_column_int64(st, 21);
    copy(st, 22, j->record.sum, sizeof j->record.sum);
    return KG_OK;
}

enum kg_code kg_svc_sqlite_get(struct kg_svc_store *store, const char *id, bool with_task,
                               struct kg_svc_job *out, struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_GET, &e, "t", id);
    bool there = st != NULL && kg_svc_sql_row(s, st, &e);
    if (there && kg_svc_sql_job(st, out, &e) == KG_OK && with_task) {
        sqlite3_stmt *task = kg_svc_sql_bind(s, SQL_GET_TASK, &e, "t", id);
        if (task != NULL && kg_svc_sql_row(s, task, &e)) {
            (void)!kg_svc_job_keep(out, &out->task, text_of(task, 0),
                                   (size_t)sqlite3_column_bytes(task, 0), &e);
            sqlite3_reset(task);
        }
    }
    if (there) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
        return e.code;
    }
    return there ? KG_OK : kg_fail(err, KG_E_NOT_FOUND, "no job %.40s", id);
}

static const char *or_any(const char *text)
{
    return text != NULL ? text : "";
}

/* The statement whose index leaves least to filter: a batch has 10,000 lines at most, and only a
 * job that is done has a verdict. */
static enum sql list_by(const struct kg_svc_filter *f)
{
    bool problem = f->problem != NULL && f->problem[0] != '\0';
    if (f->batch != NULL && f->batch[0] != '\0') {
        return SQL_LIST_OF_BATCH;
    }
    if (f->verdict != NULL && f->verdict[0] != '\0') {
        return problem ? SQL_LIST_PROBLEM_VERDICT : SQL_LIST_VERDICT;
    }
    if (problem) {
        return f->state >= 0 ? SQL_LIST_PROBLEM_STATE : SQL_LIST_PROBLEM;
    }
    return f->state >= 0 ? SQL_LIST_STATE : SQL_LIST;
}

static bool fits_none(const struct kg_svc_filter *f)
{
    return !f->by_line && f->verdict != NULL && f->verdict[0] != '\0' && f->state >= 0 &&
           f->state != KG_SVC_DONE;
}

enum kg_code kg_svc_sqlite_list(struct kg_svc_store *store, const struct kg_svc_filter *f,
                                kg_svc_on_job *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct kg_err e = KG_ERR_INIT;
    size_t left = f->limit;
    if (f->next != NULL) {
        f->next[0] = '\0';
    }
    if (fits_none(f)) {
        return KG_OK;
    }
    sqlite3_stmt *st = f->by_line
                           ? kg_svc_sql_bind(s, SQL_LIST_BATCH, &e, "tii", or_any(f->batch),
                                             f->from, (int64_t)f->limit)
                           : kg_svc_sql_bind(s, list_by(f), &e, "itttti", (int64_t)f->state,
                                             or_any(f->problem), or_any(f->verdict),
                                             or_any(f->batch), or_any(f->after), (int64_t)f->limit);
    bool more = st != NULL;
    while (more && kg_svc_sql_row(s, st, &e)) {
        struct kg_svc_job job;
        kg_svc_job_init(&job);
        more = kg_svc_sql_job(st, &job, &e) == KG_OK && each(ctx, &job);
        if (--left == 0 && f->next != NULL) {
            snprintf(f->next, KG_ULID_LEN, "%s", job.id);
        }
        kg_svc_job_deinit(&job);
    }
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

enum kg_code kg_svc_sqlite_events(struct kg_svc_store *store, int64_t after, const char *id,
                                  size_t limit, kg_svc_on_event *each, void *ctx,
                                  struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = id != NULL
                           ? kg_svc_sql_bind(s, SQL_EVENTS_OF, &e, "iit", after, (int64_t)limit, id)
                           : kg_svc_sql_bind(s, SQL_EVENTS, &e, "ii", after, (int64_t)limit);
    bool more = st != NULL;
    while (more && kg_svc_sql_row(s, st, &e)) {
        const struct kg_svc_event event = {.seq = sqlite3_column_int64(st, 0),
                                           .ms = sqlite3_column_int64(st, 1),
                                           .id = text_of(st, 2),
                                           .type = text_of(st, 3),
                                           .detail = text_of(st, 4)};
        more = each(ctx, &event);
    }
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

enum kg_code kg_svc_sqlite_stats(struct kg_svc_store *store, struct kg_svc_stats *out,
                                 struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct kg_err e = KG_ERR_INIT;
    memset(out, 0, sizeof *out);
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_COUNTS, &e, "");
    while (st != NULL && kg_svc_sql_row(s, st, &e)) {
        int state = sqlite3_column_int(st, 0);
        if (state >= 0 && state < KG_SVC_STATES) {
            out->jobs[state] = sqlite3_column_int64(st, 1);
        }
    }
    st = e.code == KG_OK ? kg_svc_sql_bind(s, SQL_COUNTERS, &e, "") : NULL;
    if (st != NULL && kg_svc_sql_row(s, st, &e)) {
        out->expired = sqlite3_column_int64(st, 0);
        out->refused = sqlite3_column_int64(st, 1);
        out->lanes = sqlite3_column_int64(st, 2);
        out->last_event = sqlite3_column_int64(st, 3);
        sqlite3_reset(st);
    }
    st = e.code == KG_OK ? kg_svc_sql_bind(s, SQL_OLDEST, &e, "") : NULL;
    if (st != NULL && kg_svc_sql_row(s, st, &e)) {
        out->oldest_ms = sqlite3_column_int64(st, 0);
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}
