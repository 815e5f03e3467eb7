/* The Redis store: trajectories. What is asked of store_redis_traj.lua, and what is read. */
#include <stdlib.h>
#include <string.h>

#include "svc/store_redis.h"

enum { PAGE = 64 };

static struct kg_svc_redis *own(struct kg_svc_store *s)
{
    return (struct kg_svc_redis *)s;
}

/* --- what is asked --- */

static enum kg_code open_traj(struct kg_svc_store *store, const struct kg_svc_traj *t,
                              char id[KG_ULID_LEN], bool *known, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct kg_svc_redis_op *op = kg_svc_redis_op(s, "traj_open", OP_TRAJ_OPEN, t->id, err);
    if (op == NULL) {
        return err->code;
    }
    const struct kg_svc_place *p = &t->head;
    op->u.submit.id = id;
    op->u.submit.known = known;
    *known = false;
    kg_svc_redis_add(s, "tttttiiiitiit", t->id, t->key, t->body_hash, t->problem, t->group,
                     t->most_turns, t->idle_ms, t->created_ms, t->due_ms, p->segment, p->offset,
                     p->len, p->sum);
    return KG_OK;
}

static enum kg_code take(struct kg_svc_store *store, const struct kg_svc_turn *t, int64_t due_ms,
                         const char *lost, const struct kg_svc_job *job,
                         const struct kg_svc_room *room, char job_id[KG_ULID_LEN], bool *known,
                         struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct kg_svc_redis_op *op = kg_svc_redis_op(s, "traj_take", OP_TRAJ_TAKE, t->trajectory, err);
    if (op == NULL) {
        return err->code;
    }
    const struct kg_svc_place *p = &t->content;
    op->u.submit.id = job_id;
    op->u.submit.known = known;
    *known = false;
    kg_svc_redis_add(s, "tittiitiitt", t->trajectory, t->n, t->hash, lost, t->taken_ms, due_ms,
                     p->segment, p->offset, p->len, p->sum, job->id);
    kg_svc_redis_add_job(s, job, room);
    return KG_OK;
}

static enum kg_code put_off(struct kg_svc_store *store, const char *id, int64_t turns,
                            int64_t due_ms, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    if (kg_svc_redis_op(s, "traj_put_off", OP_TRAJ_PUT_OFF, id, err) == NULL) {
        return err->code;
    }
    kg_svc_redis_add(s, "tii", id, turns, due_ms);
    return KG_OK;
}

static enum kg_code end(struct kg_svc_store *store, const char *id, int64_t turns, const char *how,
                        int64_t now_ms, bool *changed, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct kg_svc_redis_op *op = kg_svc_redis_op(s, "traj_end", OP_TRAJ_END, id, err);
    if (op == NULL) {
        return err->code;
    }
    op->u.changed = changed;
    *changed = false;
    kg_svc_redis_add(s, "titi", id, turns, how, now_ms);
    return KG_OK;
}

/* --- what it answers --- */

static void refuse(const struct kg_svc_redis_op *op, const redisReply *a, const char *word)
{
    if (strcmp(word, "none") == 0) {
        kg_fail(op->err, KG_E_NOT_FOUND, "no trajectory %s", op->id);
    } else if (strcmp(word, "full") == 0) {
        kg_svc_redis_full(a, op->err);
    } else if (strcmp(word, "taken") == 0) {
        kg_fail(op->err, KG_E_USAGE,
                "the key belongs to a trajectory that was opened with something else");
    } else if (strcmp(word, "over") == 0) {
        kg_fail(op->err, KG_E_USAGE, "the trajectory has ended");
    } else if (strcmp(word, "other") == 0) {
        kg_fail(op->err, KG_E_USAGE, "the turn was sent with other content");
    } else if (strcmp(word, "lost") == 0) {
        kg_fail(op->err, KG_E_USAGE, "the turn was lost %d times", KG_SVC_TURN_JOBS);
    } else if (strcmp(word, "gap") == 0) {
        kg_fail(op->err, KG_E_USAGE, "the turn is not the next one: there are %.20s of %.20s",
                kg_svc_redis_text(a, 1), kg_svc_redis_text(a, 2));
    }
}

enum kg_code kg_svc_redis_give_traj(const struct kg_svc_redis_op *op, const redisReply *a,
                                    struct kg_err *err)
{
    static const char *const words[] = {"none", "full", "taken", "over",  "other",
                                        "lost", "gap",  "ok",    "known", "skipped"};
    const char *word = a->type == REDIS_REPLY_ARRAY ? kg_svc_redis_text(a, 0) : "";
    bool there = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        there = there || strcmp(words[i], word) == 0;
    }
    if (!there) {
        return kg_fail(err, KG_E_IO, "the script answered `%.40s`", word);
    }
    bool takes = op->type == OP_TRAJ_OPEN || op->type == OP_TRAJ_TAKE;
    if (takes && kg_svc_redis_text(a, 1)[0] != '\0') {
        *op->u.submit.known = strcmp(word, "ok") != 0;
        snprintf(op->u.submit.id, KG_ULID_LEN, "%.26s", kg_svc_redis_text(a, 1));
    } else if (op->type == OP_TRAJ_END) {
        *op->u.changed = kg_svc_redis_text(a, 1)[0] == '1';
    }
    refuse(op, a, word);
    return KG_OK;
}

/* --- what is read --- */

static const struct kg_svc_redis_member fields[] = {
#define FIELD(name, type, member) KG_SVC_REDIS_MEMBER(kg_svc_traj, name, type, member)
    FIELD("id", REDIS_CHARS, id),
    FIELD("key", REDIS_CHARS, key),
    FIELD("body_hash", REDIS_CHARS, body_hash),
    FIELD("problem", REDIS_CHARS, problem),
    FIELD("group", REDIS_CHARS, group),
    FIELD("most", REDIS_INT64, most_turns),
    FIELD("idle", REDIS_INT64, idle_ms),
    FIELD("created", REDIS_INT64, created_ms),
    FIELD("due", REDIS_INT64, due_ms),
    FIELD("segment", REDIS_CHARS, head.segment),
    FIELD("offset", REDIS_INT64, head.offset),
    FIELD("len", REDIS_INT64, head.len),
    FIELD("sum", REDIS_CHARS, head.sum),
    FIELD("turns", REDIS_INT64, turns),
    FIELD("seq", REDIS_INT64, seq),
    FIELD("ended", REDIS_INT64, ended_ms),
    FIELD("how", REDIS_CHARS, end),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

static enum kg_code get(struct kg_svc_store *store, const char *id, struct kg_svc_traj *out,
                        struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    char key[64];
    const char *argv[FIELDS + 2];
    snprintf(key, sizeof key, "kgym:traj:%.40s", id);
    int argc = kg_svc_redis_hmget(fields, FIELDS, key, argv);
    redisReply *r = kg_svc_link_ask(s, &s->read, err, argc, argv);
    if (r == NULL) {
        return err->code;
    }
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < FIELDS && i < r->elements; i++) {
        kg_svc_redis_set(&fields[i], out, r->element[i]);
    }
    freeReplyObject(r);
    return out->id[0] != '\0' ? KG_OK : kg_fail(err, KG_E_NOT_FOUND, "no trajectory %.40s", id);
}

/* "hash job jobs taken segment offset len sum" */
static bool read_turn(const char *line, struct kg_svc_turn *t)
{
    long long jobs, taken, offset, len;
    struct kg_svc_place *p = &t->content;
    bool ok = sscanf(line, "%64s %26s %lld %lld %26s %lld %lld %64s", t->hash, t->job, &jobs,
                     &taken, p->segment, &offset, &len, p->sum) == 8;
    if (ok) {
        t->jobs = jobs;
        t->taken_ms = taken;
        p->offset = offset;
        p->len = len;
    }
    return ok;
}

static enum kg_code turns(struct kg_svc_store *store, const char *id, int64_t n, size_t limit,
                          kg_svc_on_turn *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    char key[64], number[KG_SVC_TURNS_MAX][24];
    const char *argv[KG_SVC_TURNS_MAX + 2] = {"HMGET", key};
    int argc = 2;
    snprintf(key, sizeof key, "kgym:turns:%.40s", id);
    for (size_t i = 0; i < limit && n + (int64_t)i <= KG_SVC_TURNS_MAX; i++) {
        snprintf(number[i], sizeof number[i], "%lld", (long long)n + (long long)i);
        argv[argc++] = number[i];
    }
    if (argc == 2) {
        return KG_OK;
    }
    redisReply *r = kg_svc_link_ask(s, &s->read, err, argc, argv);
    if (r == NULL) {
        return err->code;
    }
    enum kg_code code = KG_OK;
    bool more = true;
    for (size_t i = 0; i < r->elements && more && r->element[i]->str != NULL; i++) {
        struct kg_svc_turn t = {.n = n + (int64_t)i};
        snprintf(t.trajectory, sizeof t.trajectory, "%.26s", id);
        if (!read_turn(r->element[i]->str, &t)) {
            code = kg_fail(err, KG_E_IO, "%s: turn %lld of %.26s can't be read", s->place.shown,
                           (long long)t.n, id);
            break;
        }
        more = each(ctx, &t);
    }
    freeReplyObject(r);
    return code;
}

/* Ids of the next page of a list. last: of the page before; "": none. */
static redisReply *next_ids(struct kg_svc_redis *s, const struct kg_svc_traj_filter *f,
                            const char *last, size_t skip, struct kg_err *err)
{
    char key[KG_SVC_KEY_MAX + 64], from[40], offset[24], count[16];
    snprintf(count, sizeof count, "%d", PAGE);
    snprintf(offset, sizeof offset, "%zu", skip);
    if (f->by == KG_SVC_TRAJ_NEWEST) {
        snprintf(key, sizeof key, "kgym:trajs%s%.200s", f->problem != NULL ? ":problem:" : "",
                 f->problem != NULL ? f->problem : "");
        snprintf(from, sizeof from, "%s%.26s", last[0] != '\0' ? "(" : "+", last);
        const char *const newest[] = {"ZRANGE", key,     from, "-",  "BYLEX",
                                      "REV",    "LIMIT", "0",  count};
        return kg_svc_link_ask(s, &s->read, err, 9, newest);
    }
    bool ended = f->by == KG_SVC_TRAJ_ENDED;
    snprintf(from, sizeof from, "%s%lld", ended ? "(" : "", (long long)f->above);
    const char *const range[] = {"ZRANGE",
                                 ended ? "kgym:trajs:ended" : "kgym:trajs:due",
                                 ended ? from : "-inf",
                                 ended ? "+inf" : from,
                                 "BYSCORE",
                                 "LIMIT",
                                 offset,
                                 count};
    return kg_svc_link_ask(s, &s->read, err, 8, range);
}

static enum kg_code list(struct kg_svc_store *store, const struct kg_svc_traj_filter *f,
                         kg_svc_on_traj *each, void *ctx, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    char last[KG_ULID_LEN] = "";
    size_t left = f->limit;
    bool more = true;
    snprintf(last, sizeof last, "%.26s", f->after != NULL ? f->after : "");
    for (size_t skip = 0; more && left > 0; skip += PAGE) {
        redisReply *ids = next_ids(s, f, last, skip, err);
        if (ids == NULL) {
            return err->code;
        }
        more = ids->elements == PAGE;
        bool goes_on = true;
        for (size_t i = 0; i < ids->elements && goes_on && left > 0; i++) {
            struct kg_svc_traj t;
            snprintf(last, sizeof last, "%.26s", kg_svc_redis_text(ids, i));
            if (get(store, last, &t, err) != KG_OK) {
                freeReplyObject(ids);
                return err->code;
            }
            if (f->by != KG_SVC_TRAJ_NEWEST || f->group == NULL || strcmp(f->group, t.group) == 0) {
                left--;
                goes_on = each(ctx, &t);
            }
        }
        more = more && goes_on;
        freeReplyObject(ids);
    }
    return KG_OK;
}

const struct kg_svc_traj_rows kg_svc_redis_traj = {
    .open = open_traj,
    .take = take,
    .put_off = put_off,
    .end = end,
    .get = get,
    .turns = turns,
    .list = list,
};
