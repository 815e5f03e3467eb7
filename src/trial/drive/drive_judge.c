/* Turns with a reply on their way through the pool; equal replies share one evaluation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trial/drive/drive_parts.h"

_Static_assert((int)KGYM_E_FULL == (int)KG_E_FULL, "the gym's codes are those of base/err.h");

static enum kg_code fail(struct kg_err *err, const struct kgym_error *why)
{
    return kg_fail(err, (enum kg_code)why->code, "%s", why->message);
}

static enum kg_code no_memory(struct kg_err *err)
{
    return kg_fail_memory(err, KG_E_HOST, "no memory for a turn");
}

/* --- equal replies --- */

void tr_drive_forget(struct tr_drive *d)
{
    for (size_t i = 0; i < d->nequal; i++) {
        free(d->equal[i].key);
    }
    free(d->equal);
    rl_index_deinit(&d->index);
}

static const char *hash_of(const void *owner, size_t i)
{
    const struct tr_drive *d = owner;
    return d->equal[i].hash;
}

static bool grow(struct tr_drive *d)
{
    if (d->nequal == d->cap) {
        size_t cap = d->cap > 0 ? 2 * d->cap : 256;
        struct tr_equal *equal = realloc(d->equal, cap * sizeof *equal);
        if (equal == NULL) {
            return false;
        }
        d->equal = equal;
        d->cap = cap;
    }
    d->index.owner = d;
    d->index.key = hash_of;
    return rl_index_grow(&d->index, d->nequal);
}

/* The entry of a slot's reply, made where there is none. False: memory. */
static bool find_equal(struct tr_drive *d, struct tr_slot *s)
{
    struct tr_equal e = {.judging = -1, .waiter = -1};
    struct kg_sha256 h;
    if (!grow(d)) {
        return false;
    }
    kg_sha256_begin(&h);
    kg_sha256_part(&h, s->turn->problem->name, strlen(s->turn->problem->name));
    kg_sha256_part(&h, s->turn->problem->hash, strlen(s->turn->problem->hash));
    kg_sha256_part(&h, s->turn->reply->text, s->turn->reply->len);
    kg_sha256_end(&h, e.hash);
    size_t *slot = rl_index_slot(&d->index, e.hash);
    if (*slot == 0) {
        d->equal[d->nequal] = e;
        *slot = ++d->nequal;
    }
    s->equal = (int)*slot - 1;
    return true;
}

static bool name_equal(struct tr_equal *e, const char *key)
{
    e->key = e->key != NULL ? e->key : strdup(key);
    return e->key != NULL;
}

enum kg_code tr_drive_share(struct tr_drive *d, int i, struct kg_err *err)
{
    struct tr_slot *s = &d->slot[i];
    if (!find_equal(d, s)) {
        return no_memory(err);
    }
    s->turn->shared = d->equal[s->equal].key != NULL;
    return name_equal(&d->equal[s->equal], s->key) ? KG_OK : no_memory(err);
}

/* Stores a record under the slot's key; the turn has it. */
static enum kg_code store(struct tr_drive *d, struct tr_slot *s, const char *record, size_t len,
                          struct kg_err *err)
{
    size_t own_len = 0;
    char *own = NULL;
    if (tr_folder_put_record(d->o.folder, s->key, record, len, &own, &own_len, err) != KG_OK) {
        return err->code;
    }
    tr_turn_read(s->turn, &d->o, own, own_len);
    return KG_OK;
}

/* An equal reply has a record. */
static enum kg_code take_equal(struct tr_drive *d, int i, const char *key, struct kg_err *err)
{
    char *record = NULL;
    size_t len = 0;
    if (tr_folder_record(d->o.folder, key, &record, &len, err) != KG_OK) {
        return err->code;
    }
    KG_ASSERT(record != NULL);
    d->slot[i].turn->shared = true;
    enum kg_code code = store(d, &d->slot[i], record, len, err);
    free(record);
    tr_drive_done(d, i);
    return code;
}

/* --- to the pool --- */

/* A service gives one tag and text one job: a further try has another tag. */
static enum kg_code send(struct tr_drive *d, int i, struct kg_err *err)
{
    struct tr_slot *s = &d->slot[i];
    char tag[TR_KEY_BYTES];
    struct kgym_error why = {0};
    snprintf(tag, sizeof tag, s->tries > 0 ? "%.180s#%d" : "%.180s", s->key, s->tries + 1);
    const struct kgym_task task = {.size = sizeof task,
                                   .problem = s->turn->problem->problem,
                                   .text = s->turn->reply->text,
                                   .text_len = s->turn->reply->len,
                                   .tag = tag,
                                   .rewards = d->o.rewards};
    enum kgym_code code = kgym_submit(d->o.pool, &task, &s->task, &why);
    if (code == KGYM_E_FULL) {
        s->step = TR_QUEUED;
        return KG_OK;
    }
    if (code != KGYM_OK) {
        return fail(err, &why);
    }
    s->step = TR_JUDGING;
    s->tries++;
    d->counts.sent++;
    return KG_OK;
}

enum kg_code tr_drive_judge(struct tr_drive *d, int i, struct kg_err *err)
{
    struct tr_slot *s = &d->slot[i];
    if (!find_equal(d, s)) {
        return no_memory(err);
    }
    struct tr_equal *e = &d->equal[s->equal];
    if (e->key != NULL) {
        return take_equal(d, i, e->key, err);
    }
    if (e->judging >= 0) {
        s->step = TR_WAITS;
        s->waiter = e->waiter;
        e->waiter = i;
        return KG_OK;
    }
    e->judging = i;
    d->to_judge++;
    return send(d, i, err);
}

/* --- from the pool --- */

/* Those that wait get what their equal got. */
static enum kg_code end_waiters(struct tr_drive *d, struct tr_equal *e, struct tr_turn *first,
                                struct kg_err *err)
{
    enum kg_code code = KG_OK;
    for (int i = e->waiter, next; i >= 0; i = next) {
        struct tr_slot *s = &d->slot[i];
        next = s->waiter;
        s->turn->shared = true;
        s->turn->state = first->state;
        s->turn->err = first->err;
        if (first->record != NULL && code == KG_OK) {
            code = store(d, s, first->record, first->record_len, err);
        }
        tr_drive_done(d, i);
    }
    e->waiter = -1;
    return code;
}

static enum kg_code finish(struct tr_drive *d, int i, const struct kgym_result *r,
                           struct kg_err *err)
{
    struct tr_slot *s = &d->slot[i];
    struct tr_equal *e = &d->equal[s->equal];
    enum kg_code code = KG_OK;
    if (r->record != NULL) {
        code = store(d, s, r->record, r->record_len, err);
    } else {
        s->turn->state = TR_NO_VERDICT;
        kg_fail(&s->turn->err, KG_E_GYM, "%s", r->message ? r->message : "the gym had no record");
    }
    e->judging = -1;
    d->to_judge--;
    if (code == KG_OK && s->turn->state != TR_NO_VERDICT && !name_equal(e, s->key)) {
        code = no_memory(err);
    }
    enum kg_code others = code == KG_OK ? end_waiters(d, e, s->turn, err) : code;
    tr_drive_done(d, i);
    return others;
}

/* Has the gym no verdict, for no fault of the candidate or the problem? */
static bool is_lost(const struct kgym_result *r)
{
    bool failure = r->error != KGYM_OK && r->nrewards > 0;
    return r->verdict == NULL && !failure && r->error != KGYM_E_PROBLEM &&
           r->error != KGYM_E_NEEDS_GPU;
}

static enum kg_code take(struct tr_drive *d, const struct kgym_result *r, struct kg_err *err)
{
    for (int i = 0; i < d->high; i++) {
        struct tr_slot *s = &d->slot[i];
        if (s->step == TR_JUDGING && s->task == r->id) {
            return is_lost(r) && s->tries < TR_TRIES ? send(d, i, err) : finish(d, i, r, err);
        }
    }
    return KG_OK; /* of an earlier drive */
}

enum kg_code tr_drive_pump(struct tr_drive *d, int timeout_ms, struct kg_err *err)
{
    for (int i = 0; i < d->high; i++) {
        if (d->slot[i].step == TR_QUEUED && send(d, i, err) != KG_OK) {
            return err->code;
        }
    }
    while (d->to_judge > 0) {
        struct kgym_error why = {0};
        struct kgym_result *r = NULL;
        if (kgym_next(d->o.pool, timeout_ms, &r, &why) != KGYM_OK) {
            return fail(err, &why);
        }
        if (r == NULL) {
            break;
        }
        enum kg_code code = take(d, r, err);
        kgym_result_free(r);
        if (code != KG_OK) {
            return code;
        }
        timeout_ms = 0;
    }
    return KG_OK;
}

/* --- once more --- */

/* The result of this task; others, of a drive that has ended, are passed over. */
static enum kg_code await(struct kgym_pool *pool, uint64_t id, struct kgym_result **out,
                          struct kg_err *err)
{
    struct kgym_error why = {0};
    for (;;) {
        if (kgym_next(pool, -1, out, &why) != KGYM_OK) {
            return fail(err, &why);
        }
        KG_ASSERT(*out != NULL);
        if ((*out)->id == id) {
            return KG_OK;
        }
        kgym_result_free(*out);
    }
}

enum kg_code tr_drive_again(struct kgym_pool *pool, const struct tr_problem *p, const char *reply,
                            size_t len, char **record, struct kg_err *err)
{
    const struct kgym_task task = {
        .size = sizeof task, .problem = p->problem, .text = reply, .text_len = len};
    *record = NULL;
    for (int tries = 0; tries < TR_TRIES; tries++) {
        struct kgym_error why = {0};
        struct kgym_result *r = NULL;
        uint64_t id = 0;
        if (kgym_submit(pool, &task, &id, &why) != KGYM_OK) {
            return fail(err, &why);
        }
        if (await(pool, id, &r, err) != KG_OK) {
            return err->code;
        }
        bool lost = is_lost(r) || r->record == NULL;
        *record = lost ? NULL : strndup(r->record, r->record_len);
        kg_fail(err, KG_E_GYM, "%s", r->message ? r->message : "the gym had no verdict");
        kgym_result_free(r);
        if (!lost) {
            return *record != NULL ? KG_OK : no_memory(err);
        }
    }
    return err->code;
}
