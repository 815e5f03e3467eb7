/* The SQLite store: trajectories. */
#include <string.h>

#include "svc/store_sqlite.h"

static struct kg_svc_sqlite *own(struct kg_svc_store *s)
{
    return (struct kg_svc_sqlite *)s;
}

static void copy(sqlite3_stmt *st, int column, char *out, size_t cap)
{
    const unsigned char *t = sqlite3_column_text(st, column);
    snprintf(out, cap, "%s", t != NULL ? (const char *)t : "");
}

static void read_place(sqlite3_stmt *st, int first, struct kg_svc_place *out)
{
    copy(st, first, out->segment, sizeof out->segment);
    out->offset = sqlite3_column_int64(st, first + 1);
    out->len = sqlite3_column_int64(st, first + 2);
    copy(st, first + 3, out->sum, sizeof out->sum);
}

static void read_traj(sqlite3_stmt *st, struct kg_svc_traj *t)
{
    memset(t, 0, sizeof *t);
    copy(st, 0, t->id, sizeof t->id);
    copy(st, 1, t->key, sizeof t->key);
    copy(st, 2, t->body_hash, sizeof t->body_hash);
    copy(st, 3, t->problem, sizeof t->problem);
    copy(st, 4, t->group, sizeof t->group);
    t->most_turns = sqlite3_column_int64(st, 5);
    t->idle_ms = sqlite3_column_int64(st, 6);
    t->created_ms = sqlite3_column_int64(st, 7);
    t->due_ms = sqlite3_column_int64(st, 8);
    read_place(st, 9, &t->head);
    t->turns = sqlite3_column_int64(st, 13);
    t->seq = sqlite3_column_int64(st, 14);
    t->ended_ms = sqlite3_column_int64(st, 15);
    copy(st, 16, t->end, sizeof t->end);
}

static void read_turn(sqlite3_stmt *st, struct kg_svc_turn *t)
{
    memset(t, 0, sizeof *t);
    copy(st, 0, t->trajectory, sizeof t->trajectory);
    t->n = sqlite3_column_int64(st, 1);
    copy(st, 2, t->hash, sizeof t->hash);
    copy(st, 3, t->job, sizeof t->job);
    t->jobs = sqlite3_column_int64(st, 4);
    t->taken_ms = sqlite3_column_int64(st, 5);
    read_place(st, 6, &t->content);
}

/* The first row of a statement, into traj or turn, of which the other is NULL; *there: was there
 * one? */
static enum kg_code first(struct kg_svc_sqlite *s, sqlite3_stmt *st, struct kg_svc_traj *traj,
                          struct kg_svc_turn *turn, bool *there, struct kg_err *err)
{
    struct kg_err e = KG_ERR_INIT;
    *there = false;
    if (st == NULL) {
        return err->code;
    }
    if (kg_svc_sql_row(s, st, &e)) {
        *there = true;
        if (traj != NULL) {
            read_traj(st, traj);
        }
        if (turn != NULL) {
            read_turn(st, turn);
        }
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

static enum kg_code find(struct kg_svc_sqlite *s, enum sql which, const char *id,
                         struct kg_svc_traj *out, struct kg_err *err)
{
    bool there;
    enum kg_code code = first(s, kg_svc_sql_bind(s, which, err, "t", id), out, NULL, &there, err);
    return code != KG_OK || there ? code : kg_fail(err, KG_E_NOT_FOUND, "no trajectory %.40s", id);
}

/* --- changes --- */

static enum kg_code open_traj(struct kg_svc_store *store, const struct kg_svc_traj *t,
                              char id[KG_ULID_LEN], bool *known, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_err e = KG_ERR_INIT;
    bool same = true;
    *known = false;
    snprintf(id, KG_ULID_LEN, "%s", t->id);
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_TRAJ_KEY, &e, "t", t->key);
    while (st != NULL && kg_svc_sql_row(s, st, &e)) {
        *known = true;
        copy(st, 0, id, KG_ULID_LEN);
        same = strcmp((const char *)sqlite3_column_text(st, 1), t->body_hash) == 0;
    }
    if (e.code != KG_OK) {
        *err = e;
        return e.code;
    }
    if (*known) {
        return same
                   ? KG_OK
                   : kg_fail(err, KG_E_USAGE,
                             "the key belongs to a trajectory that was opened with something else");
    }
    const struct kg_svc_place *p = &t->head;
    st = kg_svc_sql_bind(s, SQL_TRAJ_OPEN, err, "tttttiiiitiit", t->id, t->key, t->body_hash,
                         t->problem, t->group, t->most_turns, t->idle_ms, t->created_ms, t->due_ms,
                         p->segment, p->offset, p->len, p->sum);
    return kg_svc_sql_done(s, st, NULL, err);
}

/* May turn t be taken, or taken again with another job? *known: it is there. */
static enum kg_code may_take(struct kg_svc_sqlite *s, const struct kg_svc_turn *t, const char *lost,
                             struct kg_svc_turn *old, bool *known, struct kg_err *err)
{
    struct kg_svc_traj traj = {.seq = 0};
    if (find(s, SQL_TRAJ, t->trajectory, &traj, err) != KG_OK ||
        first(s, kg_svc_sql_bind(s, SQL_TURN, err, "ti", t->trajectory, t->n), NULL, old, known,
              err) != KG_OK) {
        return err->code;
    }
    if (*known && strcmp(old->hash, t->hash) != 0) {
        return kg_fail(err, KG_E_USAGE, "turn %lld was sent with other content", (long long)t->n);
    }
    if (*known && strcmp(old->job, lost) != 0) {
        return KG_OK;
    }
    if (traj.seq > 0) {
        return kg_fail(err, KG_E_USAGE, "the trajectory has ended");
    }
    if (*known && old->jobs >= KG_SVC_TURN_JOBS) {
        return kg_fail(err, KG_E_USAGE, "turn %lld was lost %d times", (long long)t->n,
                       KG_SVC_TURN_JOBS);
    }
    if (!*known && (t->n != traj.turns + 1 || t->n > traj.most_turns)) {
        return kg_fail(err, KG_E_USAGE, "turn %lld is not the next one: there are %lld of %lld",
                       (long long)t->n, (long long)traj.turns, (long long)traj.most_turns);
    }
    return KG_OK;
}

static enum kg_code take(struct kg_svc_store *store, const struct kg_svc_turn *t, int64_t due_ms,
                         const char *lost, const struct kg_svc_job *job,
                         const struct kg_svc_room *room, char job_id[KG_ULID_LEN], bool *known,
                         struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_svc_turn old;
    bool same_job;
    if (may_take(s, t, lost, &old, known, err) != KG_OK) {
        return err->code;
    }
    bool again = *known;
    if (again && strcmp(old.job, lost) != 0) {
        snprintf(job_id, KG_ULID_LEN, "%s", old.job);
        return KG_OK;
    }
    *known = false;
    if (kg_svc_sqlite_submit(store, job, room, job_id, &same_job, err) != KG_OK) {
        return err->code;
    }
    const struct kg_svc_place *p = &t->content;
    sqlite3_stmt *st =
        again ? kg_svc_sql_bind(s, SQL_TURN_AGAIN, err, "tit", t->trajectory, t->n, job_id)
              : kg_svc_sql_bind(s, SQL_TURN_ADD, err, "tittitiit", t->trajectory, t->n, t->hash,
                                job_id, t->taken_ms, p->segment, p->offset, p->len, p->sum);
    if (kg_svc_sql_done(s, st, NULL, err) != KG_OK) {
        return err->code;
    }
    st = kg_svc_sql_bind(s, SQL_TRAJ_TAKEN, err, "tii", t->trajectory, t->n, due_ms);
    return kg_svc_sql_done(s, st, NULL, err);
}

static enum kg_code put_off(struct kg_svc_store *store, const char *id, int64_t turns,
                            int64_t due_ms, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_TRAJ_PUT_OFF, err, "tii", id, turns, due_ms);
    return kg_svc_sql_done(s, st, NULL, err);
}

static enum kg_code end(struct kg_svc_store *store, const char *id, int64_t turns, const char *how,
                        int64_t now_ms, bool *changed, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_svc_traj traj;
    int64_t rows = 0;
    *changed = false;
    if (find(s, SQL_TRAJ, id, &traj, err) != KG_OK) {
        return err->code;
    }
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_TRAJ_END, err, "titi", id, turns, how, now_ms);
    enum kg_code code = kg_svc_sql_done(s, st, &rows, err);
    *changed = rows > 0;
    return code;
}

/* --- reads --- */

static enum kg_code get(struct kg_svc_store *store, const char *id, struct kg_svc_traj *out,
                        struct kg_err *err)
{
    return find(own(store), SQL_TRAJ_GET, id, out, err);
}

static enum kg_code turns(struct kg_svc_store *store, const char *id, int64_t n, size_t limit,
                          kg_svc_on_turn *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_TURNS, &e, "tii", id, n, (int64_t)limit);
    bool more = st != NULL;
    while (more && kg_svc_sql_row(s, st, &e)) {
        struct kg_svc_turn turn;
        read_turn(st, &turn);
        more = each(ctx, &turn);
    }
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

static const char *or_any(const char *text)
{
    return text != NULL ? text : "";
}

static enum kg_code list(struct kg_svc_store *store, const struct kg_svc_traj_filter *f,
                         kg_svc_on_traj *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_sqlite *s = own(store);
    struct kg_err e = KG_ERR_INIT;
    enum sql newest = f->group != NULL && f->group[0] != '\0' ? SQL_TRAJ_LIST_GROUP
                      : f->problem != NULL                    ? SQL_TRAJ_LIST_PROBLEM
                                                              : SQL_TRAJ_LIST;
    sqlite3_stmt *st =
        f->by == KG_SVC_TRAJ_NEWEST
            ? kg_svc_sql_bind(s, newest, &e, "ttti", or_any(f->problem), or_any(f->group),
                              or_any(f->after), (int64_t)f->limit)
            : kg_svc_sql_bind(s, f->by == KG_SVC_TRAJ_ENDED ? SQL_TRAJ_ENDED : SQL_TRAJ_DUE, &e,
                              "ii", f->above, (int64_t)f->limit);
    bool more = st != NULL;
    while (more && kg_svc_sql_row(s, st, &e)) {
        struct kg_svc_traj t;
        read_traj(st, &t);
        more = each(ctx, &t);
    }
    if (st != NULL) {
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

const struct kg_svc_traj_rows kg_svc_sqlite_traj = {
    .open = open_traj,
    .take = take,
    .put_off = put_off,
    .end = end,
    .get = get,
    .turns = turns,
    .list = list,
};
