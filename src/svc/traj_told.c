/* Reading a trajectory: its row, what it was opened with, its turns, their jobs and records. */
#include "svc/traj_told.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gym/kgym.h"

const char *kg_svc_turn_state_name(enum kg_svc_turn_state s)
{
    static const char *const names[] = {"waiting", "running", "judged", "lost", "defect"};
    return names[s];
}

bool kg_svc_turn_has_ended(enum kg_svc_turn_state s)
{
    return s != KG_SVC_TURN_WAITING && s != KG_SVC_TURN_RUNNING;
}

/* --- reading --- */

static enum kg_svc_turn_state state_of(const struct kg_svc_job *job)
{
    if (job->state == KG_SVC_WAITING) {
        return KG_SVC_TURN_WAITING;
    }
    if (job->state == KG_SVC_RUNNING) {
        return KG_SVC_TURN_RUNNING;
    }
    return kg_svc_job_was_lost(job)             ? KG_SVC_TURN_LOST
           : strcmp(job->blame, "problem") == 0 ? KG_SVC_TURN_DEFECT
                                                : KG_SVC_TURN_JUDGED;
}

static enum kg_code read_record(struct kg_svc_api *a, const struct kg_svc_job *job,
                                struct kg_svc_told_turn *t, struct kg_err *err)
{
    const struct kgym_text_options options = {.size = sizeof options};
    struct kgym_error e;
    if (job->record.segment[0] == '\0') {
        return KG_OK;
    }
    if (kg_svc_segments_read(a->segments, &job->record, &t->record, err) != KG_OK ||
        kg_json_parse(t->record.data, t->record.len, "record", &t->parsed, err) != KG_OK) {
        return err->code;
    }
    if (t->state == KG_SVC_TURN_JUDGED &&
        kgym_feedback(t->record.data, t->record.len, &options, &t->feedback, &e) != KGYM_OK) {
        t->feedback = NULL; /* a worker forged the record: it must not end exports of others */
    }
    return KG_OK;
}

static enum kg_code read_content(struct kg_svc_api *a, struct kg_svc_told_turn *t,
                                 struct kg_err *err)
{
    static const char *const names[] = {"usage", "extra"};
    struct kg_svc_slice cut[2];
    struct kg_buf rest;
    kg_buf_init(&rest, KG_SVC_RECORD_MAX);
    bool ok =
        kg_svc_segments_read(a->segments, &t->row.content, &t->content, err) == KG_OK &&
        kg_svc_traj_cut(t->content.data, t->content.len, names, 2, cut, &rest, err) == KG_OK &&
        kg_json_parse(rest.data, rest.len, "turn", &t->sent, err) == KG_OK;
    kg_buf_deinit(&rest);
    if (!ok) {
        return err->code;
    }
    t->usage = cut[0];
    t->extra = cut[1];
    return KG_OK;
}

/* Its job was begun anew by hand after a trajectory had ended for want of a verdict: that
 * trajectory stays as it was told. Only there are times compared, since services that share a store
 * may have clocks that differ. */
static bool came_too_late(const struct kg_svc_traj *row, const struct kg_svc_job *job)
{
    return row->seq > 0 && (job->state == KG_SVC_WAITING || job->state == KG_SVC_RUNNING ||
                            (strcmp(row->end, "infra") == 0 && job->finished_ms > row->ended_ms));
}

static enum kg_code read_turn(struct kg_svc_api *a, const struct kg_svc_traj *row, unsigned what,
                              struct kg_svc_told_turn *t, struct kg_err *err)
{
    struct kg_svc_job job;
    kg_svc_job_init(&job);
    enum kg_code code = a->store->kind->get(a->store, t->row.job, false, &job, err);
    if (code == KG_OK && came_too_late(row, &job)) {
        t->state = KG_SVC_TURN_LOST;
        t->finished_ms = row->ended_ms;
    } else if (code == KG_OK) {
        t->state = state_of(&job);
        t->finished_ms = kg_svc_turn_has_ended(t->state) ? job.finished_ms : 0;
        if (job.error[0] != '\0') {
            t->error = json_pack("{s:s, s:s, s:o}", "code", job.error, "blame", job.blame,
                                 "message", kg_json_text(job.message, strlen(job.message)));
        }
        code = what & KG_SVC_TELL_RECORDS ? read_record(a, &job, t, err) : KG_OK;
    }
    kg_svc_job_deinit(&job);
    return code == KG_OK && what & KG_SVC_TELL_CONTENTS ? read_content(a, t, err) : code;
}

static bool add_turn(void *ctx, const struct kg_svc_turn *row)
{
    struct kg_svc_told *t = ctx;
    struct kg_svc_told_turn *turn = &t->turn[t->n++];
    turn->row = *row;
    kg_buf_init(&turn->record, KG_SVC_RECORD_MAX);
    kg_buf_init(&turn->content, KG_SVC_RECORD_MAX);
    return t->n < KG_SVC_TURNS_MAX;
}

static enum kg_code read_head(struct kg_svc_api *a, struct kg_svc_told *t, struct kg_err *err)
{
    static const char *const names[] = {"meta"};
    struct kg_buf rest;
    kg_buf_init(&rest, KG_SVC_RECORD_MAX);
    bool ok = kg_svc_segments_read(a->segments, &t->row.head, &t->head, err) == KG_OK &&
              kg_svc_traj_cut(t->head.data, t->head.len, names, 1, &t->meta, &rest, err) == KG_OK &&
              kg_json_parse(rest.data, rest.len, "trajectory", &t->opened, err) == KG_OK;
    kg_buf_deinit(&rest);
    return ok ? KG_OK : err->code;
}

enum kg_code kg_svc_tell(struct kg_svc_api *a, const char *id, unsigned what, struct kg_svc_told *t,
                         struct kg_err *err)
{
    const struct kg_svc_traj_rows *rows = a->store->kind->trajectories;
    memset(t, 0, sizeof *t);
    kg_buf_init(&t->head, KG_SVC_RECORD_MAX);
    if (rows->get(a->store, id, &t->row, err) != KG_OK || read_head(a, t, err) != KG_OK ||
        rows->turns(a->store, id, 1, KG_SVC_TURNS_MAX, add_turn, t, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (read_turn(a, &t->row, what, &t->turn[i], err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

void kg_svc_told_deinit(struct kg_svc_told *t)
{
    for (size_t i = 0; i < t->n; i++) {
        struct kg_svc_told_turn *turn = &t->turn[i];
        json_decref(turn->error);
        json_decref(turn->parsed);
        json_decref(turn->sent);
        kg_buf_deinit(&turn->record);
        kg_buf_deinit(&turn->content);
        kgym_free(turn->feedback);
    }
    json_decref(t->opened);
    kg_buf_deinit(&t->head);
}

/* --- what follows from it --- */

bool kg_svc_told_reward(const struct kg_svc_told_turn *t, const char *preset, double *out)
{
    json_t *rewards = json_object_get(t->parsed, "rewards");
    if (t->state != KG_SVC_TURN_JUDGED || !json_is_object(rewards)) {
        return false;
    }
    const json_t *reward = preset != NULL ? json_object_get(rewards, preset)
                                          : json_object_iter_value(json_object_iter(rewards));
    const json_t *v = json_object_get(reward, "value");
    *out = json_number_value(v);
    return json_is_number(v) && isfinite(*out);
}

int kg_svc_told_best(const struct kg_svc_told *t, const char *preset)
{
    int best = -1;
    double most = 0, reward;
    for (size_t i = 0; i < t->n; i++) {
        if (kg_svc_told_reward(&t->turn[i], preset, &reward) && (best < 0 || reward > most)) {
            most = reward;
            best = (int)i;
        }
    }
    return best;
}

bool kg_svc_told_is_done(const struct kg_svc_told *t)
{
    const struct kg_svc_told_turn *last = t->n > 0 ? &t->turn[t->n - 1] : NULL;
    return t->row.seq > 0 ||
           (last != NULL &&
            (last->state == KG_SVC_TURN_DEFECT ||
             (last->state == KG_SVC_TURN_JUDGED && (int64_t)t->n == t->row.most_turns)));
}

const char *kg_svc_told_end(const struct kg_svc_told *t)
{
    enum kg_svc_turn_state last = t->n > 0 ? t->turn[t->n - 1].state : KG_SVC_TURN_JUDGED;
    return last == KG_SVC_TURN_LOST ? "infra" : last == KG_SVC_TURN_DEFECT ? "defect" : "done";
}
