/* The Redis store: what is asked of the script, and what it answers. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "svc/store_redis.h"

static struct kg_svc_redis *own(struct kg_svc_store *s)
{
    return (struct kg_svc_redis *)s;
}

/* --- what is asked --- */

enum kg_code kg_svc_redis_submit(struct kg_svc_store *store, const struct kg_svc_job *job,
                                 const struct kg_svc_room *room, char id[KG_ULID_LEN], bool *known,
                                 struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct kg_svc_redis_op *op = kg_svc_redis_op(s, "submit", OP_SUBMIT, job->id, err);
    if (op == NULL) {
        return err->code;
    }
    op->u.submit.id = id;
    op->u.submit.known = known;
    *known = false;
    snprintf(id, KG_ULID_LEN, "%s", job->id);
    kg_svc_redis_add_job(s, job, room);
    return KG_OK;
}

void kg_svc_redis_add_job(struct kg_svc_redis *s, const struct kg_svc_job *job,
                          const struct kg_svc_room *room)
{
    static const struct kg_svc_room any;
    char name[KG_SHA256_HEX];
    room = room != NULL ? room : &any;
    kg_svc_lane_name(job, name);
    kg_svc_redis_add(s, "ttttttiitiittiiitt", job->id, job->key, job->body_hash, job->device,
                     job->configuration, job->problem, (int64_t)job->priority, job->deadline_ms,
                     job->batch, job->batch_at, job->created_ms, job->task, name, room->most,
                     room->most_of_owner, room->more, job->owner, job->renews ? "1" : "0");
}

/* A field of a hash as a number, on the writer's link. */
static enum kg_code number(struct kg_svc_redis *s, const char *key, const char *field, int64_t *out,
                           struct kg_err *err)
{
    const char *const get[] = {"HGET", key, field};
    redisReply *r = kg_svc_link_ask(s, &s->write, err, 3, get);
    if (r == NULL) {
        return err->code;
    }
    *out = r->str != NULL ? strtoll(r->str, NULL, 10) : 0;
    freeReplyObject(r);
    return KG_OK;
}

enum kg_code kg_svc_redis_has_room(struct kg_svc_store *store, const char *owner,
                                   const struct kg_svc_room *room, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    int64_t all = 0, of_owner = 0;
    if (number(s, "kgym:counts", "state0", &all, err) != KG_OK ||
        (owner[0] != '\0' && number(s, "kgym:owners", owner, &of_owner, err) != KG_OK)) {
        return err->code;
    }
    if (room->most > 0 && all + room->more >= room->most) {
        return kg_fail(err, KG_E_FULL, "%lld jobs wait already", (long long)all);
    }
    return owner[0] == '\0' || room->most_of_owner == 0 ||
                   of_owner + room->more < room->most_of_owner
               ? KG_OK
               : kg_fail(err, KG_E_FULL, "%lld jobs of this token wait already",
                         (long long)of_owner);
}

/* Number of words, words, memory, isolation; -1: that of the slot before. */
static void add_offer(struct kg_svc_redis *s, const struct kg_svc_ask *ask, size_t i)
{
    const struct kg_svc_offer all = {.words = ask->devices, .nwords = ask->ndevices};
    if (i > 0 && ask->slots[i].offer == ask->slots[i - 1].offer) {
        kg_svc_redis_add(s, "i", (int64_t)-1);
        return;
    }
    const struct kg_svc_offer *o = ask->slots[i].offer != NULL ? ask->slots[i].offer : &all;
    kg_svc_redis_add(s, "i", (int64_t)o->nwords);
    for (size_t k = 0; k < o->nwords; k++) {
        kg_svc_redis_add(s, "t", o->words[k]);
    }
    kg_svc_redis_add(s, "ii", o->memory_mb, (int64_t)o->isolation);
}

enum kg_code kg_svc_redis_claim(struct kg_svc_store *store, const struct kg_svc_ask *ask,
                                struct kg_svc_job *out, size_t *of, size_t *n, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct kg_svc_redis_op *op = kg_svc_redis_op(s, "claim", OP_CLAIM, "", err);
    if (op == NULL) {
        return err->code;
    }
    op->u.claim.out = out;
    op->u.claim.of = of;
    op->u.claim.n = n;
    op->u.claim.nslots = ask->nslots;
    *n = 0;
    kg_svc_redis_add(s, "tii", ask->worker, ask->now_ms + ask->term_ms, ask->now_ms);
    kg_svc_redis_add(s, "i", (int64_t)ask->nslots);
    for (size_t i = 0; i < ask->nslots; i++) {
        struct kg_key secret;
        char claim[KG_SVC_CLAIM_LEN];
        if (kg_rng_secret(&secret, err) != KG_OK) {
            return err->code;
        }
        kg_key_hex(secret, claim);
        kg_svc_redis_add(s, "tit", ask->slots[i].lane, ask->slots[i].held_ms, claim);
        add_offer(s, ask, i);
    }
    return KG_OK;
}

enum kg_code kg_svc_redis_renew(struct kg_svc_store *store, const char *id, const char *claim,
                                int64_t fence, int64_t until_ms, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    if (kg_svc_redis_op(s, "renew", OP_CHANGE, id, err) == NULL) {
        return err->code;
    }
    kg_svc_redis_add(s, "ttii", id, claim, fence, until_ms);
    return KG_OK;
}

/* Does the group that is open end this attempt already? A late answer to an earlier attempt, which
 * the script refuses, does not. */
static bool ends(const struct kg_svc_redis *s, const char *id, int64_t fence)
{
    for (size_t i = 0; i < s->nops; i++) {
        const struct kg_svc_redis_op *op = &s->op[i];
        if (op->type == OP_END && op->u.fence == fence && strcmp(op->id, id) == 0) {
            return true;
        }
    }
    return false;
}

/* A read on the writer's link: nothing of the group has been sent. A claim that has ended never
 * comes back, so this is right until the script looks again. */
enum kg_code kg_svc_redis_holds(struct kg_svc_store *store, const char *id, const char *claim,
                                int64_t fence, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    char key[64], number[24];
    snprintf(key, sizeof key, "kgym:job:%.40s", id);
    snprintf(number, sizeof number, "%lld", (long long)fence);
    const char *const get[] = {"HMGET", key, "state", "claim", "fence"};
    redisReply *r = kg_svc_link_ask(s, &s->write, err, 5, get);
    if (r == NULL) {
        return err->code;
    }
    bool there = kg_svc_redis_text(r, 0)[0] != '\0';
    bool held = strcmp(kg_svc_redis_text(r, 0), "1") == 0 &&
                strcmp(kg_svc_redis_text(r, 1), claim) == 0 &&
                strcmp(kg_svc_redis_text(r, 2), number) == 0 && !ends(s, id, fence);
    freeReplyObject(r);
    if (held) {
        return KG_OK;
    }
    if (there) {
        const struct kg_svc_count one = {.name = "refused", .n = 1};
        if (kg_svc_redis_add_counts(store, &one, 1, err) != KG_OK) {
            return err->code;
        }
    }
    return there ? kg_fail(err, KG_E_NOT_FOUND, "the claim on job %.40s has ended", id)
                 : kg_fail(err, KG_E_NOT_FOUND, "no job %.40s", id);
}

static enum kg_code end_attempt(struct kg_svc_store *store, const char *name,
                                const struct kg_svc_end *e, struct kg_err *err)
{
    static const struct kg_svc_place nowhere;
    struct kg_svc_redis *s = own(store);
    char speedup[32];
    const struct kg_svc_place *p = e->record != NULL ? e->record : &nowhere;
    struct kg_svc_redis_op *op = kg_svc_redis_op(s, name, OP_END, e->id, err);
    if (op == NULL) {
        return err->code;
    }
    op->u.fence = e->fence;
    snprintf(speedup, sizeof speedup, "%.9g", e->speedup);
    kg_svc_redis_add(s, "ttiitiitttttttttt", e->id, e->claim, e->fence, e->now_ms, p->segment,
                     p->offset, p->len, p->sum, e->verdict, e->reason, e->error, e->blame,
                     e->message, e->stage, speedup, e->replay ? "1" : "0", e->last ? "1" : "0");
    return KG_OK;
}

enum kg_code kg_svc_redis_finish(struct kg_svc_store *store, const struct kg_svc_end *e,
                                 struct kg_err *err)
{
    return end_attempt(store, "finish", e, err);
}

enum kg_code kg_svc_redis_failed(struct kg_svc_store *store, const struct kg_svc_end *e,
                                 struct kg_err *err)
{
    return end_attempt(store, "fail", e, err);
}

enum kg_code kg_svc_redis_give_back(struct kg_svc_store *store, const struct kg_svc_end *e,
                                    struct kg_err *err)
{
    return end_attempt(store, "give_back", e, err);
}

enum kg_code kg_svc_redis_cancel(struct kg_svc_store *store, const char *id, int64_t now_ms,
                                 bool *changed, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct kg_svc_redis_op *op = kg_svc_redis_op(s, "cancel", OP_CANCEL, id, err);
    if (op == NULL) {
        return err->code;
    }
    op->u.changed = changed;
    *changed = false;
    kg_svc_redis_add(s, "ti", id, now_ms);
    return KG_OK;
}

enum kg_code kg_svc_redis_requeue(struct kg_svc_store *store, const char *id, int64_t now_ms,
                                  struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    if (kg_svc_redis_op(s, "requeue", OP_CHANGE, id, err) == NULL) {
        return err->code;
    }
    kg_svc_redis_add(s, "ti", id, now_ms);
    return KG_OK;
}

enum kg_code kg_svc_redis_expire(struct kg_svc_store *store, int64_t now_ms, int64_t *n,
                                 struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    struct kg_svc_redis_op *op = kg_svc_redis_op(s, "expire", OP_EXPIRE, "", err);
    if (op == NULL) {
        return err->code;
    }
    op->u.count = n;
    *n = 0;
    kg_svc_redis_add(s, "i", now_ms);
    return KG_OK;
}

enum kg_code kg_svc_redis_extend(struct kg_svc_store *store, int64_t until_ms, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    if (kg_svc_redis_op(s, "extend", OP_CHANGE, "", err) == NULL) {
        return err->code;
    }
    kg_svc_redis_add(s, "i", until_ms);
    return KG_OK;
}

enum kg_code kg_svc_redis_notice(struct kg_svc_store *store, const struct kg_svc_notice *notice,
                                 int64_t now_ms, struct kg_err *err)
{
    struct kg_svc_redis *s = own(store);
    if (kg_svc_redis_op(s, "notice", OP_CHANGE, notice->name, err) == NULL) {
        return err->code;
    }
    kg_svc_redis_add(s, "tttii", notice->kind, notice->name, notice->text, notice->until_ms,
                     now_ms);
    return KG_OK;
}

/* --- what it answers --- */

static enum kg_code give_job(const redisReply *fields, struct kg_svc_job *job, struct kg_err *err)
{
    for (size_t i = 0; i + 1 < fields->elements; i += 2) {
        if (kg_svc_redis_field(job, kg_svc_redis_text(fields, i), fields->element[i + 1], err) !=
            KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

/* slot, job, slot, job. A job whose claim has ended since, which only a group that was sent twice
 * can find, has no fields and is left out. */
static enum kg_code give_claims(const struct kg_svc_redis_op *op, const redisReply *a,
                                struct kg_err *err)
{
    *op->u.claim.n = 0;
    for (size_t i = 1; i + 1 < a->elements && *op->u.claim.n < op->u.claim.nslots; i += 2) {
        struct kg_svc_job *job = &op->u.claim.out[*op->u.claim.n];
        if (give_job(a->element[i + 1], job, err) != KG_OK) {
            return err->code;
        }
        if (job->state == KG_SVC_RUNNING) {
            op->u.claim.of[(*op->u.claim.n)++] = strtoul(kg_svc_redis_text(a, i), NULL, 10);
        } else {
            kg_svc_job_deinit(job);
            kg_svc_job_init(job);
        }
    }
    return KG_OK;
}

void kg_svc_redis_full(const redisReply *a, struct kg_err *err)
{
    kg_fail(err, KG_E_FULL, "%.20s jobs%s wait already", kg_svc_redis_text(a, 1),
            kg_svc_redis_text(a, 2)[0] != '\0' ? " of this token" : "");
}

enum kg_code kg_svc_redis_give(const struct kg_svc_redis_op *op, const redisReply *a,
                               struct kg_err *err)
{
    const char *word = a->type == REDIS_REPLY_ARRAY ? kg_svc_redis_text(a, 0) : "";
    bool ok = strcmp(word, "ok") == 0, known = strcmp(word, "known") == 0;
    if (strcmp(word, "claimed") == 0 && op->type == OP_CLAIM) {
        return give_claims(op, a, err);
    }
    if (op->type >= OP_TRAJ_OPEN) {
        return kg_svc_redis_give_traj(op, a, err);
    }
    if ((known || strcmp(word, "taken") == 0) && op->type == OP_SUBMIT) {
        *op->u.submit.known = true;
        snprintf(op->u.submit.id, KG_ULID_LEN, "%.26s", kg_svc_redis_text(a, 1));
    }
    if (ok && op->type == OP_CANCEL) {
        *op->u.changed = kg_svc_redis_text(a, 1)[0] == '1';
    } else if (ok && op->type == OP_EXPIRE) {
        *op->u.count = strtoll(kg_svc_redis_text(a, 1), NULL, 10);
    }
    if (strcmp(word, "taken") == 0) {
        kg_fail(op->err, KG_E_USAGE, "the key belongs to a job that asked for something else");
    } else if (strcmp(word, "full") == 0) {
        kg_svc_redis_full(a, op->err);
    } else if (strcmp(word, "none") == 0) {
        kg_fail(op->err, KG_E_NOT_FOUND, "no job %s", op->id);
    } else if (strcmp(word, "unknown") == 0) {
        kg_fail(op->err, KG_E_NOT_FOUND, "no such notice");
    } else if (strcmp(word, "gone") == 0) {
        kg_fail(op->err, KG_E_NOT_FOUND, "the claim on job %s has ended", op->id);
    } else if (strcmp(word, "alive") == 0) {
        int state = kg_svc_redis_text(a, 1)[0] - '0';
        kg_fail(op->err, KG_E_USAGE, "job %s is not dead but %s", op->id,
                state >= 0 && state < KG_SVC_STATES ? kg_svc_state_name(state) : "lost");
    } else if (!ok && !known && strcmp(word, "skipped") != 0) {
        return kg_fail(err, KG_E_IO, "the script answered `%.40s`", word);
    }
    return KG_OK;
}
