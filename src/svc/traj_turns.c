/* Trajectories in the api process: taking a turn, and waiting for its verdict. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_group.h"
#include "svc/traj_private.h"

enum { LOOK_MS = 1000 }; /* the last turn's end is looked for from then on */

/* --- looking --- */

struct look {
    struct kg_svc_traj_asker who;
    char id[KG_ULID_LEN], job[KG_ULID_LEN];
    size_t i;   /* of the turn, from 0 */
    bool taken; /* by the request that asks: one that is lost is no answer */
};

static void refuse_lost(const struct look *l, const struct kg_svc_told_turn *turn)
{
    const char *message = json_string_value(json_object_get(turn->error, "message"));
    kg_svc_traj_refuse(&l->who, 503, "not_judged", "",
                       "the gym could not judge the turn: %.300s: send it again",
                       message != NULL ? message : "no reason is known");
}

/* Answers with turn l->i of t. */
static void give_turn(const struct look *l, const struct kg_svc_told *t)
{
    const struct kg_svc_told_turn *turn = &t->turn[l->i];
    struct kg_buf text;
    if (turn->state == KG_SVC_TURN_LOST && l->taken) {
        refuse_lost(l, turn);
        return;
    }
    if (l->i + 1 == t->n && t->row.seq == 0 && kg_svc_told_is_done(t)) {
        kg_svc_traj_end_soon(l->who.api, t->row.id, (int64_t)t->n, kg_svc_told_end(t));
    }
    kg_buf_init(&text, KG_SVC_TRAJ_TEXT_MAX);
    kg_svc_told_turn(t, l->i, !l->taken, &text);
    kg_svc_traj_give(&l->who, kg_svc_turn_has_ended(turn->state) ? 200 : 202, &text);
}

/* Its job has ended, as far as that can be read. */
static bool has_ended(const struct look *l)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    enum kg_code code = l->who.api->store->kind->get(l->who.api->store, l->job, false, &job, &err);
    bool runs = code == KG_OK && (job.state == KG_SVC_WAITING || job.state == KG_SVC_RUNNING);
    kg_svc_job_deinit(&job);
    return !runs;
}

/* True: answered. */
static bool answer(void *ctx, bool now)
{
    struct look *l = ctx;
    struct kg_err err = KG_ERR_INIT;
    if (!now && !has_ended(l)) {
        return false;
    }
    unsigned what = KG_SVC_TELL_RECORDS | (l->taken ? 0u : (unsigned)KG_SVC_TELL_CONTENTS);
    struct kg_svc_told *t = malloc(sizeof *t);
    KG_ASSERT(t != NULL);
    enum kg_code code = kg_svc_tell(l->who.api, l->id, what, t, &err);
    bool there = code == KG_OK && l->i < t->n;
    bool answers = !there || now || kg_svc_turn_has_ended(t->turn[l->i].state);
    if (code != KG_OK) {
        kg_svc_traj_fail(&l->who, &err);
    } else if (!there) {
        kg_svc_traj_refuse(&l->who, 404, "not_found", "", "no turn %zu", l->i + 1);
    } else if (answers) {
        give_turn(l, t);
    }
    kg_svc_told_deinit(t);
    free(t);
    return answers;
}

static void wait_for(const struct kg_svc_traj_asker *who, const char *id, int64_t n,
                     const char *job, double wait_s, bool taken)
{
    char ids[1][KG_ULID_LEN];
    struct look *l = calloc(1, sizeof *l);
    KG_ASSERT(l != NULL);
    *l = (struct look){.who = *who, .i = (size_t)n - 1, .taken = taken};
    snprintf(l->id, sizeof l->id, "%s", id);
    snprintf(ids[0], sizeof ids[0], "%s", job);
    snprintf(l->job, sizeof l->job, "%s", job);
    kg_svc_group_wait(who->api, NULL, ids, 1, wait_s, answer, free, l);
}

static bool keep_turn(void *ctx, const struct kg_svc_turn *turn)
{
    *(struct kg_svc_turn *)ctx = *turn;
    return false;
}

void kg_svc_traj_look(struct kg_svc_api *a, const char *id, int n, double wait_s,
                      kg_svc_traj_answer *answer_to, void *ctx)
{
    const struct kg_svc_traj_asker who = {a, answer_to, ctx};
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_turn turn = {.n = 0};
    const struct kg_svc_traj_rows *rows = a->store->kind->trajectories;
    if (n < 1 || n > KG_SVC_TURNS_MAX) {
        kg_svc_traj_refuse(&who, 404, "not_found", "", "no turn %d", n);
    } else if (rows->turns(a->store, id, n, 1, keep_turn, &turn, &err) != KG_OK) {
        kg_svc_traj_fail(&who, &err);
    } else if (turn.n != n) {
        kg_svc_traj_refuse(&who, 404, "not_found", "", "no turn %d of trajectory %.40s", n, id);
    } else {
        wait_for(&who, id, n, turn.job, wait_s, false);
    }
}

/* --- taking --- */

struct take_op {
    struct kg_svc_op op;
    struct kg_svc_traj_asker who;
    struct kg_svc_turn turn;
    struct kg_buf content;
    struct kg_svc_job job;
    char lost[KG_ULID_LEN]; /* job that the new one takes the place of */
    int64_t due_ms;
    double wait_s;
    char job_id[KG_ULID_LEN];
    bool known;
};

static enum kg_code run_take(struct kg_svc_op *op, struct kg_svc_store *store,
                             struct kg_svc_segments *segments, struct kg_err *err)
{
    struct take_op *o = (struct take_op *)op;
    const struct kg_svc_room room = kg_svc_room_for(o->who.api, 0);
    /* First, since else a client could fill the disk with what is refused afterwards. */
    if (store->kind->has_room(store, o->job.owner, &room, err) != KG_OK ||
        kg_svc_segments_append(segments, o->content.data, o->content.len, &o->turn.content, err) !=
            KG_OK) {
        return err->code;
    }
    return store->kind->trajectories->take(store, &o->turn, o->due_ms, o->lost, &o->job, &room,
                                           o->job_id, &o->known, err);
}

static void end_take(struct take_op *o)
{
    kg_buf_deinit(&o->content);
    kg_svc_job_deinit(&o->job);
    free(o);
}

static void take_done(struct kg_svc_op *op)
{
    struct take_op *o = (struct take_op *)op;
    if (op->err.code != KG_OK) {
        kg_svc_traj_fail(&o->who, &op->err);
    } else {
        o->who.api->fresh = o->who.api->fresh || !o->known;
        wait_for(&o->who, o->turn.trajectory, o->turn.n, o->job_id, o->wait_s, true);
    }
    end_take(o);
}

static bool check_wish(const struct kg_svc_traj_asker *who, const struct kg_svc_turn_wish *w)
{
    const char *finish = w->finish;
    if (w->n < 1 || w->n > KG_SVC_TURNS_MAX) {
        kg_svc_traj_refuse(who, 400, "bad_value", "n", "`n` must be a whole number from 1 to %d",
                           KG_SVC_TURNS_MAX);
    } else if (!json_is_string(w->reply)) {
        kg_svc_traj_refuse(who, 400, "bad_value", "reply", "`reply` must be a string");
    } else if (finish != NULL && strcmp(finish, "stop") != 0 && strcmp(finish, "length") != 0) {
        kg_svc_traj_refuse(who, 400, "bad_value", "finish", "`finish` must be stop or length");
    } else if (w->extra != NULL && w->extra[0] != '{') {
        kg_svc_traj_refuse(who, 400, "bad_value", "extra", "`extra` must be an object");
    } else if (w->extra_len > KG_SVC_EXTRA_MAX) {
        kg_svc_traj_refuse(who, 413, "too_large", "extra", "`extra` has at most %d bytes",
                           KG_SVC_EXTRA_MAX);
    } else if (json_string_length(w->reply) > KG_SVC_EXTRA_MAX) {
        kg_svc_traj_refuse(who, 413, "too_large", "reply", "`reply` has at most %d bytes",
                           KG_SVC_EXTRA_MAX);
    } else if (w->usage_len > KG_SVC_META_MAX) {
        kg_svc_traj_refuse(who, 413, "too_large", "usage", "`usage` has at most %d bytes",
                           KG_SVC_META_MAX);
    } else {
        return true;
    }
    return false;
}

static void write_content(const struct kg_svc_turn_wish *w, struct take_op *o)
{
    const char *finish = w->finish != NULL ? w->finish : "stop";
    json_t *j = json_pack("{s:O, s:s}", "reply", w->reply, "finish", finish);
    kg_json_dump(j, &o->content);
    json_decref(j);
    kg_svc_traj_splice(&o->content, "usage", (struct kg_svc_slice){w->usage, w->usage_len}, "null");
    kg_svc_traj_splice(&o->content, "extra", (struct kg_svc_slice){w->extra, w->extra_len}, "{}");
    kg_sha256_hex(o->content.data, o->content.len, o->turn.hash);
}

/* May turn n follow? The store asks for its number and content; here it is the turn before that
 * must have been judged. False: refused. */
static bool may_follow(const struct take_op *o, const struct kg_svc_told *t)
{
    int64_t n = o->turn.n;
    if (n < 2 || n != (int64_t)t->n + 1) {
        return true;
    }
    enum kg_svc_turn_state before = t->turn[n - 2].state;
    if (before == KG_SVC_TURN_JUDGED) {
        return true;
    }
    kg_svc_traj_refuse(&o->who, 409, "not_judged", "n", "turn %lld %s", (long long)n - 1,
                       before == KG_SVC_TURN_LOST     ? "could not be judged: send it again"
                       : before == KG_SVC_TURN_DEFECT ? "was the last: the problem is at fault"
                                                      : "is still being judged");
    return false;
}

/* What the store would refuse after the turn's content was kept. False: refused. */
static bool may_be_taken(const struct take_op *o, const struct kg_svc_told *t,
                         const struct kg_svc_told_turn *old)
{
    long long n = (long long)o->turn.n, there = (long long)t->row.turns;
    if (old != NULL && strcmp(old->row.hash, o->turn.hash) != 0) {
        kg_svc_traj_refuse(&o->who, 409, "conflict", "", "turn %lld was sent with other content",
                           n);
    } else if (t->row.seq > 0) {
        kg_svc_traj_refuse(&o->who, 409, "conflict", "", "the trajectory has ended");
    } else if (old != NULL && old->row.jobs >= KG_SVC_TURN_JOBS) {
        kg_svc_traj_refuse(&o->who, 409, "conflict", "", "turn %lld was lost %d times", n,
                           KG_SVC_TURN_JOBS);
    } else if (old == NULL && (n != there + 1 || n > t->row.most_turns)) {
        kg_svc_traj_refuse(&o->who, 409, "conflict", "",
                           "turn %lld is not the next one: there are %lld of %lld", n, there,
                           (long long)t->row.most_turns);
    } else {
        return true;
    }
    return false;
}

/* Fills o from what is known. True: it goes to the store; else it was answered. */
static bool prepare(struct take_op *o, const struct kg_svc_turn_wish *w,
                    const struct kg_svc_told *t)
{
    struct kg_svc_refusal no;
    int64_t n = o->turn.n;
    const struct kg_svc_told_turn *old = n <= (int64_t)t->n ? &t->turn[n - 1] : NULL;
    write_content(w, o);
    if (old != NULL && strcmp(old->row.hash, o->turn.hash) == 0 &&
        old->state != KG_SVC_TURN_LOST) { /* nothing to write */
        wait_for(&o->who, t->row.id, n, old->row.job, o->wait_s, true);
        return false;
    }
    if (!may_follow(o, t) || !may_be_taken(o, t, old)) {
        return false;
    }
    if (old != NULL) {
        snprintf(o->lost, sizeof o->lost, "%s", old->row.job);
    }
    if (!kg_svc_traj_job(o->who.api, t->opened, w->reply, &o->job, &no)) {
        kg_svc_traj_refuse(&o->who, no.status, no.code, no.field, "%s", no.message);
        return false;
    }
    snprintf(o->job.owner, sizeof o->job.owner, "%s", w->owner != NULL ? w->owner : "");
    o->turn.taken_ms = kg_svc_now_ms();
    o->due_ms = o->turn.taken_ms + (n == t->row.most_turns ? (int64_t)LOOK_MS : t->row.idle_ms);
    snprintf(o->turn.trajectory, sizeof o->turn.trajectory, "%s", t->row.id);
    return true;
}

void kg_svc_traj_take(struct kg_svc_api *a, const char *id, const struct kg_svc_turn_wish *w,
                      double wait_s, kg_svc_traj_answer *answer_to, void *ctx)
{
    const struct kg_svc_traj_asker who = {a, answer_to, ctx};
    struct kg_err err = KG_ERR_INIT;
    if (!check_wish(&who, w)) {
        return;
    }
    struct kg_svc_told *t = malloc(sizeof *t);
    struct take_op *o = calloc(1, sizeof *o);
    KG_ASSERT(t != NULL && o != NULL);
    o->op = (struct kg_svc_op){.run = run_take, .done = take_done};
    o->who = who;
    o->turn.n = w->n;
    o->wait_s = wait_s;
    kg_svc_job_init(&o->job);
    kg_buf_init(&o->content, KG_SVC_RECORD_MAX);
    if (kg_svc_tell(a, id, KG_SVC_TELL_STATES, t, &err) != KG_OK) {
        kg_svc_traj_fail(&who, &err);
        end_take(o);
    } else if (prepare(o, w, t)) {
        kg_svc_writer_post(a->writer, &o->op);
    } else {
        end_take(o);
    }
    kg_svc_told_deinit(t);
    free(t);
}
