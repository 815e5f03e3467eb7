/* Tasks and their jobs: what is asked for next, and what the client is told. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gym/kgym.h"
#include "gym/pool/result.h"
#include "remote/remote_private.h"

#define SILENCE_NS INT64_C(20000000000) /* then a job is asked for without an event */

enum { LOST_MAX = 100, UNREADABLE_MAX = 10, GRACE_S = 5 };

/* --- the client's side --- */

/* The job of a task that cancelled it has ended: those that are held may ask for their own. */
static void release(struct kg_remote *r)
{
    struct kg_remote_task *t;
    r->ncancels--;
    for (t = TAILQ_FIRST(&r->all); t != NULL; t = TAILQ_NEXT(t, all)) {
        t->held = false;
    }
}

void kg_remote_drop(struct kg_remote *r, struct kg_remote_task *t)
{
    if (t->want != KG_REMOTE_NOTHING && !t->asking) {
        TAILQ_REMOVE(&r->todo, t, todo);
    }
    TAILQ_REMOVE(&r->all, t, all);
    if (t->cancels) {
        release(r);
    }
    r->nthere -= t->there;
    r->nall--;
    json_decref(t->head);
    free(t->body);
    free(t);
}

static void tell_result(struct kg_remote *r, struct kg_remote_task *t, json_t *head,
                        struct kg_buf *record)
{
    head = kg_result_within(t->head, head, r->public_only, record);
    kg_remote_tell(r, KG_FRAME_RESULT, head, record->data, record->len);
    t->answered = true;
}

static void tell_error(struct kg_remote *r, struct kg_remote_task *t, const struct kg_err *e)
{
    struct kg_buf record;
    kg_buf_init(&record, KG_POOL_RECORD_MAX);
    json_t *head = kg_result_of_error(t->head, e, r->public_only, &record);
    tell_result(r, t, head, &record);
    kg_buf_deinit(&record);
}

void kg_remote_fail(struct kg_remote *r, struct kg_remote_task *t, const struct kg_err *e)
{
    if (!t->answered) {
        tell_error(r, t, e);
    }
    kg_remote_drop(r, t);
}

void kg_remote_add(struct kg_remote *r, struct kg_frame *f)
{
    double deadline_s = json_number_value(json_object_get(f->head, "deadline_s"));
    struct kg_remote_task *t = calloc(1, sizeof *t);
    KG_ASSERT(t != NULL); /* ends this process; the client starts another */
    t->id = (uint64_t)kg_frame_int(f->head, "id");
    t->deadline_ns = deadline_s > 0 ? kg_clock_ns() + (int64_t)(deadline_s * 1e9) : 0;
    t->head = f->head;
    t->body = f->body;
    t->len = f->len;
    f->head = NULL;
    f->body = NULL;
    t->there = kg_frame_int(t->head, "deaths") > 0; /* an earlier process may have sent it */
    TAILQ_INSERT_TAIL(&r->all, t, all);
    r->nall++;
    r->nthere += t->there;
    kg_remote_want(r, t, KG_REMOTE_POST);
}

static bool same_job(const struct kg_remote_task *t, const struct kg_remote_task *u)
{
    return u != t && u->lost == t->lost && strcmp(u->key, t->key) == 0;
}

bool kg_remote_is_shared(const struct kg_remote *r, const struct kg_remote_task *t)
{
    bool named = t->key[0] != '\0', shared = false;
    const struct kg_remote_task *u;
    for (u = TAILQ_FIRST(&r->all); named && !shared && u != NULL; u = TAILQ_NEXT(u, all)) {
        shared = !u->answered && same_job(t, u);
    }
    return shared;
}

bool kg_remote_is_cancelled(const struct kg_remote *r, const struct kg_remote_task *t)
{
    bool cancelled = false;
    const struct kg_remote_task *u;
    for (u = TAILQ_FIRST(&r->all); r->ncancels > 0 && !cancelled && u != NULL;
         u = TAILQ_NEXT(u, all)) {
        cancelled = u->cancels && same_job(t, u);
    }
    return cancelled;
}

/* Nobody waits for it any more: what the service has of it is cancelled there. */
static void give_up(struct kg_remote *r, struct kg_remote_task *t)
{
    if (!t->there) {
        kg_remote_drop(r, t);
    } else if (!t->asking && t->job[0] != '\0') {
        kg_remote_want(r, t, KG_REMOTE_DELETE);
    } /* else the answer that comes goes on from there */
}

static void end_by(struct kg_remote *r, struct kg_remote_task *t, const struct kg_err *e)
{
    tell_error(r, t, e);
    give_up(r, t);
}

void kg_remote_cancel(struct kg_remote *r, uint64_t id)
{
    struct kg_err e = KG_ERR_INIT;
    struct kg_remote_task *t;
    for (t = TAILQ_FIRST(&r->all); t != NULL; t = TAILQ_NEXT(t, all)) {
        if (t->id == id && !t->answered) {
            kg_fail(&e, KG_E_CANCELLED, "cancelled by the caller");
            end_by(r, t, &e);
            return;
        }
    }
}

void kg_remote_look(struct kg_remote *r)
{
    struct kg_err e = KG_ERR_INIT;
    struct kg_remote_task *t, *next;
    int64_t now = kg_clock_ns();
    for (t = TAILQ_FIRST(&r->all); t != NULL; t = next) {
        next = TAILQ_NEXT(t, all);
        if (t->deadline_ns > 0 && now >= t->deadline_ns && !t->answered) {
            kg_fail(&e, KG_E_CANCELLED, "not finished by its deadline of %g s",
                    json_number_value(json_object_get(t->head, "deadline_s")));
            end_by(r, t, &e);
        } else if (t->want == KG_REMOTE_NOTHING && !t->asking && now - t->seen_ns > SILENCE_NS) {
            kg_remote_want(r, t, KG_REMOTE_GET);
        }
    }
}

void kg_remote_end(struct kg_remote *r, bool all)
{
    struct kg_remote_task *t, *next;
    r->ending = true;
    r->end_ns = kg_clock_ns() + (int64_t)GRACE_S * 1000000000;
    for (t = TAILQ_FIRST(&r->all); t != NULL; t = next) {
        next = TAILQ_NEXT(t, all);
        if (t->answered) {
            continue;
        }
        if (all || !t->there) {
            t->answered = true;
            give_up(r, t);
        } else if (t->asking) {
            t->left = true; /* its connection still points at it */
        } else {
            kg_remote_drop(r, t);
        }
    }
}

/* --- the service's side --- */

void kg_remote_want(struct kg_remote *r, struct kg_remote_task *t, enum kg_remote_want want)
{
    KG_ASSERT(!t->asking);
    if (t->want == KG_REMOTE_NOTHING) {
        TAILQ_INSERT_TAIL(&r->todo, t, todo);
    }
    t->want = want;
}

void kg_remote_ask_all(struct kg_remote *r)
{
    struct kg_remote_task *t;
    for (t = TAILQ_FIRST(&r->all); t != NULL; t = TAILQ_NEXT(t, all)) {
        if (t->asking) {
            t->moved = true;
        } else if (t->want == KG_REMOTE_NOTHING) {
            kg_remote_want(r, t, KG_REMOTE_GET);
        }
    }
}

static bool is_end(const char *type)
{
    return strcmp(type, "finished") == 0 || strcmp(type, "dead") == 0 ||
           strcmp(type, "cancelled") == 0;
}

static void hear_event(struct kg_remote *r, struct kg_remote_task *t, const char *type)
{
    t->running = strcmp(type, "claimed") == 0;
    t->told = t->asking;
    if (is_end(type) && t->asking) {
        t->moved = true;
    } else if (is_end(type) && t->want == KG_REMOTE_NOTHING) {
        kg_remote_want(r, t, KG_REMOTE_GET);
    }
}

/* Equal tasks of a run have one job, and some of them may not know its id yet. */
void kg_remote_event(struct kg_remote *r, const json_t *event)
{
    const char *id = kg_frame_text(event, "id"), *type = kg_frame_text(event, "type");
    struct kg_remote_task *t;
    if (id == NULL || type == NULL || strlen(id) >= KG_ULID_LEN) {
        return;
    }
    for (t = TAILQ_FIRST(&r->all); t != NULL; t = TAILQ_NEXT(t, all)) {
        if (strcmp(t->job, id) == 0) {
            hear_event(r, t, type);
        }
    }
    if (strcmp(type, "submitted") != 0) {
        snprintf(r->early[r->nearly++ % (sizeof r->early / sizeof *r->early)], KG_ULID_LEN, "%s",
                 id);
    }
}

/* An event came for a job whose id was not known yet. */
static bool moved_early(const struct kg_remote *r, const char *job)
{
    size_t n = sizeof r->early / sizeof *r->early;
    n = r->nearly < n ? r->nearly : n;
    while (n > 0 && strcmp(r->early[n - 1], job) != 0) {
        n--;
    }
    return n > 0;
}

/* --- the end of a job --- */

/* The job, or its record, as an error. */
static void read_error(const json_t *error, const char *state, struct kg_err *e)
{
    const char *blame = kg_frame_text(error, "blame"), *message = kg_frame_text(error, "message");
    kg_fail(e, strcmp(state, "cancelled") == 0 ? KG_E_CANCELLED : KG_E_GYM, "%s",
            message != NULL ? message : "the service ended the job without a verdict");
    for (int b = KG_BLAME_HOST; blame != NULL && b <= KG_BLAME_CANDIDATE; b++) {
        if (strcmp(blame, kg_blame_name((enum kg_blame)b)) == 0) {
            e->blame = (enum kg_blame)b;
        }
    }
}

/* Another job may have the verdict that this one lacks. What a candidate or a problem brought about
 * is an answer. */
static bool was_lost(const json_t *job, const char *state)
{
    const char *blame = kg_frame_text(json_object_get(job, "error"), "blame");
    return strcmp(state, "done") != 0 ||
           (blame != NULL && (strcmp(blame, "gym") == 0 || strcmp(blame, "host") == 0));
}

static void tell_record(struct kg_remote *r, struct kg_remote_task *t, json_t *record)
{
    struct kg_record parsed;
    struct kg_err e = KG_ERR_INIT, cause = KG_ERR_INIT;
    struct kg_buf text;
    if (r->public_only) {
        json_object_del(record, "private");
    }
    kg_buf_init(&text, KG_POOL_RECORD_MAX + 1);
    kg_json_dump(record, &text);
    if (kg_record_parse(record, &parsed, &cause) != KG_OK) {
        kg_fail(&e, KG_E_GYM, "the service's record cannot be read: %s", cause.message);
        tell_error(r, t, &e);
    } else {
        tell_result(r, t, kg_result_of_record((int64_t)t->id, &parsed), &text);
        kg_record_deinit(&parsed);
    }
    kg_buf_deinit(&text);
}

static void finish(struct kg_remote *r, struct kg_remote_task *t, const json_t *job,
                   const char *state)
{
    json_t *record = json_object_get(job, "record");
    struct kg_err e = KG_ERR_INIT;
    if (!t->answered && json_is_object(record)) {
        json_t *own = json_deep_copy(record);
        tell_record(r, t, own);
        json_decref(own);
    } else if (!t->answered) {
        read_error(json_object_get(job, "error"), state, &e);
        tell_error(r, t, &e);
    }
    kg_remote_drop(r, t);
}

/* What the service says of the job. */
static void hear_job(struct kg_remote *r, struct kg_remote_task *t, const json_t *job,
                     bool submitted)
{
    const char *state = kg_frame_text(job, "state"), *id = kg_frame_text(job, "id");
    struct kg_err e = KG_ERR_INIT;
    if (state == NULL || id == NULL || strlen(id) >= KG_ULID_LEN) {
        kg_fail(&e, KG_E_GYM, "%s answers as no kgym service does", r->url);
        kg_remote_fail(r, t, &e);
        return;
    }
    snprintf(t->job, sizeof t->job, "%s", id);
    t->seen_ns = kg_clock_ns();
    bool final = strcmp(state, "waiting") != 0 && strcmp(state, "running") != 0;
    if (!t->told) { /* else the answer may be older than the event */
        t->running = strcmp(state, "running") == 0;
    }
    if (final && submitted && !t->answered && was_lost(job, state) && t->lost < LOST_MAX) {
        t->lost++;
        t->job[0] = '\0';
        kg_remote_want(r, t, KG_REMOTE_POST);
    } else if (final) {
        finish(r, t, job, state);
    } else if (t->answered) {
        kg_remote_want(r, t, KG_REMOTE_DELETE);
    } else if (t->moved || (submitted && moved_early(r, t->job))) {
        kg_remote_want(r, t, KG_REMOTE_GET);
    }
    /* t may be gone */
}

static enum kg_code code_of(int status)
{
    switch (status) {
    case 404:
        return KG_E_NOT_FOUND;
    case 413:
        return KG_E_LIMIT;
    case 400:
        return KG_E_USAGE;
    default:
        return KG_E_GYM;
    }
}

/* The service does not know the job: its store lost its last writes (docs/service.md), so that the
 * same key makes it again; or it is cancelled, and gone. */
static void hear_nothing(struct kg_remote *r, struct kg_remote_task *t)
{
    t->job[0] = '\0';
    if (t->answered) {
        kg_remote_drop(r, t);
    } else {
        kg_remote_want(r, t, KG_REMOTE_POST);
    }
}

void kg_remote_answer(struct kg_remote *r, struct kg_remote_task *t, int status,
                      const json_t *answer)
{
    struct kg_err e = KG_ERR_INIT;
    enum kg_remote_want asked = t->want;
    const char *message = kg_frame_text(answer, "message"), *code = kg_frame_text(answer, "code");
    t->want = KG_REMOTE_NOTHING;
    if (status == 200 || status == 202) {
        hear_job(r, t, answer, asked == KG_REMOTE_POST);
    } else if (status == 404 && asked != KG_REMOTE_POST) {
        hear_nothing(r, t);
    } else if (status == 401 || status == 403) {
        kg_fail(&e, KG_E_USAGE, "%s: %s", r->url,
                message != NULL ? message : "the service refuses this client");
        kg_remote_break(r, &e);
        kg_remote_fail(r, t, &e);
    } else if (status >= 500 && t->unreadable < UNREADABLE_MAX) {
        t->unreadable += code != NULL && strcmp(code, "record_lost") == 0;
        kg_remote_want(r, t, asked);
    } else {
        kg_fail(&e, code_of(status), "%s",
                message != NULL ? message : "the service refuses the task and does not say why");
        kg_remote_fail(r, t, &e);
    }
    if (r->nall == 0) {
        r->nearly = 0;
    }
}
