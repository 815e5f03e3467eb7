/* Trajectories in the api process: how one ends, by its client or by itself. */
#include <stdlib.h>
#include <string.h>

#include "svc/traj_private.h"

enum { DUE_MOST = 100, AGAIN_MS = 2000 };

struct end_op {
    struct kg_svc_op op;
    struct kg_svc_traj_asker who; /* answer NULL: nobody waits */
    char id[KG_ULID_LEN], how[KG_SVC_TRAJ_END];
    int64_t turns, due_ms; /* due_ms: instead of the end; 0: the end */
    bool changed;
};

static enum kg_code run_end(struct kg_svc_op *op, struct kg_svc_store *store,
                            struct kg_svc_segments *segments, struct kg_err *err)
{
    struct end_op *o = (struct end_op *)op;
    const struct kg_svc_traj_rows *rows = store->kind->trajectories;
    (void)segments;
    return o->due_ms > 0
               ? rows->put_off(store, o->id, o->turns, o->due_ms, err)
               : rows->end(store, o->id, o->turns, o->how, kg_svc_now_ms(), &o->changed, err);
}

static void end_done(struct kg_svc_op *op)
{
    struct end_op *o = (struct end_op *)op;
    if (o->who.answer != NULL && op->err.code != KG_OK) {
        kg_svc_traj_fail(&o->who, &op->err);
    } else if (o->who.answer != NULL && !o->changed) {
        kg_svc_traj_refuse(&o->who, 409, "conflict", "", "a turn came meanwhile");
    } else if (o->who.answer != NULL) {
        kg_svc_traj_give_told(&o->who, o->id, kg_svc_traj_write_line);
    }
    free(o);
}

static void post_end(const struct kg_svc_traj_asker *who, const char *id, int64_t turns,
                     const char *how, int64_t due_ms)
{
    struct end_op *o = calloc(1, sizeof *o);
    KG_ASSERT(o != NULL);
    o->op = (struct kg_svc_op){.run = run_end, .done = end_done};
    o->who = *who;
    o->turns = turns;
    o->due_ms = due_ms;
    snprintf(o->id, sizeof o->id, "%s", id);
    snprintf(o->how, sizeof o->how, "%s", how);
    kg_svc_writer_post(who->api->writer, &o->op);
}

void kg_svc_traj_end_soon(struct kg_svc_api *a, const char *id, int64_t turns, const char *how)
{
    post_end(&(struct kg_svc_traj_asker){.api = a}, id, turns, how, 0);
}

void kg_svc_traj_close(struct kg_svc_api *a, const char *id, const char *how,
                       kg_svc_traj_answer *answer, void *ctx)
{
    const struct kg_svc_traj_asker who = {a, answer, ctx};
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_told *t = malloc(sizeof *t);
    KG_ASSERT(t != NULL);
    enum kg_code code = kg_svc_tell(a, id, KG_SVC_TELL_STATES, t, &err);
    int64_t turns = (int64_t)t->n;
    bool ended = t->row.seq > 0;
    bool runs = turns > 0 && !kg_svc_turn_has_ended(t->turn[turns - 1].state);
    const char *end = how != NULL ? how : kg_svc_told_end(t);
    kg_svc_told_deinit(t);
    free(t);
    if (code != KG_OK) {
        kg_svc_traj_fail(&who, &err);
    } else if (ended) {
        kg_svc_traj_give_told(&who, id, kg_svc_traj_write_line);
    } else if (runs) {
        kg_svc_traj_refuse(&who, 409, "not_judged", "",
                           "turn %lld is being judged: wait for it, or cancel its evaluation",
                           (long long)turns);
    } else {
        post_end(&who, id, turns, end, 0);
    }
}

/* --- those that are due --- */

struct due {
    struct kg_svc_traj row[DUE_MOST];
    size_t n;
};

static bool add_due(void *ctx, const struct kg_svc_traj *t)
{
    struct due *d = ctx;
    d->row[d->n++] = *t;
    return d->n < DUE_MOST;
}

/* Time without a turn is counted from the last verdict, and only while somebody serves. */
static void look_at(struct kg_svc_api *a, const struct kg_svc_told *t, int64_t now)
{
    const struct kg_svc_traj_asker nobody = {.api = a};
    const struct kg_svc_told_turn *last = t->n > 0 ? &t->turn[t->n - 1] : NULL;
    int64_t turns = (int64_t)t->n, since = last != NULL ? last->finished_ms : t->row.created_ms;
    since = since > a->begun_ms ? since : a->begun_ms;
    if (last != NULL && !kg_svc_turn_has_ended(last->state)) {
        int64_t age = now - last->row.taken_ms;
        post_end(&nobody, t->row.id, turns, "", now + AGAIN_MS + (age > 0 ? age / 4 : 0));
    } else if (kg_svc_told_is_done(t)) {
        post_end(&nobody, t->row.id, turns, kg_svc_told_end(t), 0);
    } else if (now < since + t->row.idle_ms) {
        post_end(&nobody, t->row.id, turns, "", since + t->row.idle_ms);
    } else {
        bool lost = last != NULL && last->state == KG_SVC_TURN_LOST;
        post_end(&nobody, t->row.id, turns, lost ? "infra" : "idle", 0);
    }
}

void kg_svc_traj_tick(struct kg_svc_api *a)
{
    struct kg_err err = KG_ERR_INIT;
    int64_t now = kg_svc_now_ms();
    const struct kg_svc_traj_filter f = {.by = KG_SVC_TRAJ_DUE, .above = now, .limit = DUE_MOST};
    struct due *d = calloc(1, sizeof *d);
    struct kg_svc_told *t = malloc(sizeof *t);
    KG_ASSERT(d != NULL && t != NULL);
    /* What can't be read now is due the next time as well. */
    if (a->store->kind->trajectories->list(a->store, &f, add_due, d, &err) != KG_OK) {
        d->n = 0;
    }
    for (size_t i = 0; i < d->n; i++) {
        err = (struct kg_err)KG_ERR_INIT;
        if (kg_svc_tell(a, d->row[i].id, KG_SVC_TELL_STATES, t, &err) == KG_OK) {
            look_at(a, t, now);
        }
        kg_svc_told_deinit(t);
    }
    free(t);
    free(d);
}
