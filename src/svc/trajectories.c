/* Trajectories in the api process: opening and reading one, and answers. */
#include "svc/trajectories.h"

#include <stdlib.h>
#include <string.h>

#include "svc/traj_private.h"

enum { TURNS = 3, IDLE_S = 3600, IDLE_MAX_S = 30 * 86400 };

/* --- answers --- */

void kg_svc_traj_refuse(const struct kg_svc_traj_asker *who, int status, const char *code,
                        const char *field, const char *fmt, ...)
{
    char message[480];
    struct kg_buf text;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    json_t *j =
        json_pack("{s:s, s:o, s:s?}", "code", code, "message",
                  kg_json_text(message, strlen(message)), "field", field[0] != '\0' ? field : NULL);
    kg_buf_init(&text, 1u << 16);
    kg_json_dump(j, &text);
    json_decref(j);
    kg_svc_traj_give(who, status, &text);
}

void kg_svc_traj_fail(const struct kg_svc_traj_asker *who, const struct kg_err *err)
{
    switch (err->code) {
    case KG_E_NOT_FOUND:
        kg_svc_traj_refuse(who, 404, "not_found", "", "%s", err->message);
        break;
    case KG_E_USAGE:
        kg_svc_traj_refuse(who, 409, "conflict", "", "%s", err->message);
        break;
    case KG_E_FULL:
        kg_svc_traj_refuse(who, 429, "queue_full", "", "%s: ask again later", err->message);
        break;
    default: /* the store's own message names paths of the host */
        kg_svc_traj_refuse(who, 503, "store", "", "the store can't do that now: ask again");
    }
}

void kg_svc_traj_give(const struct kg_svc_traj_asker *who, int status, struct kg_buf *text)
{
    if (kg_buf_ok(text)) {
        who->answer(who->ctx, status, text->data, text->len);
        kg_buf_deinit(text);
    } else {
        kg_buf_deinit(text);
        kg_svc_traj_refuse(who, 413, "too_large", "", "the answer is too large");
    }
}

void kg_svc_traj_give_told(const struct kg_svc_traj_asker *who, const char *id,
                           void (*write)(const struct kg_svc_told *t, struct kg_buf *out))
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_told *t = malloc(sizeof *t);
    KG_ASSERT(t != NULL);
    struct kg_buf text;
    kg_buf_init(&text, KG_SVC_TRAJ_TEXT_MAX);
    enum kg_code code =
        kg_svc_tell(who->api, id, KG_SVC_TELL_RECORDS | KG_SVC_TELL_CONTENTS, t, &err);
    if (code == KG_OK) {
        write(t, &text);
    }
    kg_svc_told_deinit(t);
    free(t);
    if (code == KG_OK) {
        kg_svc_traj_give(who, 200, &text);
    } else {
        kg_buf_deinit(&text);
        kg_svc_traj_fail(who, &err);
    }
}

void kg_svc_traj_write_line(const struct kg_svc_told *t, struct kg_buf *out)
{
    kg_svc_told_line(t, true, out);
}

void kg_svc_traj_get(struct kg_svc_api *a, const char *id, kg_svc_traj_answer *answer, void *ctx)
{
    kg_svc_traj_give_told(&(struct kg_svc_traj_asker){a, answer, ctx}, id, kg_svc_traj_write_line);
}

/* --- opening --- */

static const char *text_in(const json_t *o, const char *name)
{
    return json_string_value(json_object_get(o, name));
}

bool kg_svc_traj_job(struct kg_svc_api *a, const json_t *opened, json_t *reply,
                     struct kg_svc_job *job, struct kg_svc_refusal *no)
{
    const json_t *set = json_object_get(opened, "set");
    struct kg_svc_ask_for ask = {.problem = text_in(opened, "problem"),
                                 .text = reply,
                                 .preset = text_in(opened, "preset"),
                                 .rewards = text_in(opened, "rewards"),
                                 .priority = KG_SVC_NORMAL,
                                 .set = json_is_object(set) ? set : NULL};
    const char *priority = text_in(opened, "priority");
    if (priority != NULL && !kg_svc_priority_parse(priority, &ask.priority)) {
        return kg_svc_refuse(no, 400, "bad_priority", "priority",
                             "`priority` must be high, normal or low");
    }
    return kg_svc_try_job(a, &ask, -1, job, no);
}

struct open_op {
    struct kg_svc_op op;
    struct kg_svc_traj_asker who;
    struct kg_svc_traj row;
    struct kg_buf head;
    char id[KG_ULID_LEN];
    bool known;
};

static enum kg_code run_open(struct kg_svc_op *op, struct kg_svc_store *store,
                             struct kg_svc_segments *segments, struct kg_err *err)
{
    struct open_op *o = (struct open_op *)op;
    if (kg_svc_segments_append(segments, o->head.data, o->head.len, &o->row.head, err) != KG_OK) {
        return err->code;
    }
    return store->kind->trajectories->open(store, &o->row, o->id, &o->known, err);
}

static void end_open(struct open_op *o)
{
    kg_buf_deinit(&o->head);
    free(o);
}

static void open_done(struct kg_svc_op *op)
{
    struct open_op *o = (struct open_op *)op;
    if (op->err.code == KG_E_USAGE) {
        kg_svc_traj_refuse(&o->who, 409, "conflict", "key", "%s", op->err.message);
    } else if (op->err.code != KG_OK) {
        kg_svc_traj_fail(&o->who, &op->err);
    } else {
        kg_svc_traj_give_told(&o->who, o->id, kg_svc_told_opened);
    }
    end_open(o);
}

static bool fits(const char *text, size_t least, size_t most)
{
    return text == NULL || (strlen(text) >= least && strlen(text) <= most);
}

/* Sizes and numbers. False: refused. */
static bool check_wish(const struct kg_svc_traj_asker *who, const struct kg_svc_traj_wish *w)
{
    const struct {
        const char *name;
        bool ok;
    } limits[] = {
        {"problem", w->problem != NULL && w->problem[0] != '\0'},
        {"key", fits(w->key, 1, KG_SVC_KEY_MAX)},
        {"group", fits(w->group, 1, KG_SVC_KEY_MAX)},
        {"system", fits(w->system, 1, KG_SVC_META_MAX)},
        {"max_turns", w->most_turns >= 0 && w->most_turns <= KG_SVC_TURNS_MAX},
        {"idle_s", w->idle_s >= 0 && w->idle_s <= IDLE_MAX_S},
        {"meta", w->meta == NULL || (w->meta_len <= KG_SVC_META_MAX && w->meta[0] == '{')}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (!limits[i].ok) {
            kg_svc_traj_refuse(who, 400, "bad_value", limits[i].name,
                               "`%s` is missing, of another type, or out of bounds",
                               limits[i].name);
            return false;
        }
    }
    return true;
}

static json_t *head_json(const struct kg_svc_traj_wish *w, const struct kg_buf *prompt)
{
    json_t *head = json_pack("{s:s?, s:s?, s:O?, s:s?, s:s?, s:s?, s:s?}", "problem", w->problem,
                             "preset", w->preset, "set", w->set, "rewards", w->rewards, "priority",
                             w->priority, "language", w->language, "system", w->system);
    json_object_set_new(head, "prompt", kg_json_text(prompt->data, prompt->len));
    return head;
}

/* The first message. False: refused. */
static bool ask_prompt(const struct kg_svc_traj_asker *who, const struct kg_svc_traj_wish *w,
                       struct kg_buf *out)
{
    struct kg_err err = KG_ERR_INIT;
    const struct kg_svc_gym *g = who->api->o->gym;
    enum kg_code code = g->prompt(g->ctx, w->problem, w->language, out, &err);
    if (code != KG_OK) {
        bool language = code == KG_E_USAGE;
        kg_svc_traj_refuse(who,
                           language                 ? 400
                           : code == KG_E_NOT_FOUND ? 404
                                                    : 503,
                           language ? "bad_value" : "no_problem", language ? "language" : "problem",
                           "%s", err.message);
    }
    return code == KG_OK;
}

/* What it is opened with, into o. False: refused. */
static bool prepare(struct open_op *o, const struct kg_svc_traj_wish *w)
{
    struct kg_svc_refusal no;
    struct kg_svc_job job;
    struct kg_buf prompt;
    json_t *reply = json_string(""), *head = NULL;
    kg_svc_job_init(&job);
    kg_buf_init(&prompt, 4u << 20);
    bool ok = check_wish(&o->who, w);
    if (ok) {
        head = head_json(w, &prompt);
        ok = kg_svc_traj_job(o->who.api, head, reply, &job, &no); /* a turn will be like it */
        if (!ok) {
            kg_svc_traj_refuse(&o->who, no.status, no.code, no.field, "%s", no.message);
        }
    }
    ok = ok && ask_prompt(&o->who, w, &prompt);
    if (ok) {
        json_object_set_new(head, "prompt", kg_json_text(prompt.data, prompt.len));
        kg_json_dump(head, &o->head);
        kg_svc_traj_splice(&o->head, "meta", (struct kg_svc_slice){w->meta, w->meta_len}, "null");
    }
    json_decref(head);
    json_decref(reply);
    kg_svc_job_deinit(&job);
    kg_buf_deinit(&prompt);
    return ok;
}

/* The prompt is left out of the hash: a gym that is newer may tell another one. So is a problem
 * that was drawn. */
static void hash_wish(const struct kg_svc_traj *row, const struct kg_svc_traj_wish *w,
                      char out[KG_SHA256_HEX])
{
    struct kg_sha256 h;
    struct kg_buf none, text;
    struct kg_svc_traj_wish named = *w;
    named.problem = w->drawn_by == NULL ? w->problem : NULL;
    kg_buf_init(&none, 16);
    kg_buf_init(&text, 1u << 20);
    json_t *head = head_json(&named, &none);
    kg_json_dump(head, &text);
    json_decref(head);
    kg_sha256_begin(&h);
    kg_sha256_part(&h, text.data, text.len);
    if (w->drawn_by != NULL) {
        kg_sha256_part(&h, w->drawn_by, strlen(w->drawn_by));
    }
    kg_sha256_part(&h, row->group, strlen(row->group));
    kg_sha256_part(&h, w->meta != NULL ? w->meta : "", w->meta_len);
    kg_sha256_part(&h, &row->most_turns, sizeof row->most_turns);
    kg_sha256_part(&h, &row->idle_ms, sizeof row->idle_ms);
    kg_sha256_end(&h, out);
    kg_buf_deinit(&none);
    kg_buf_deinit(&text);
}

void kg_svc_traj_open(struct kg_svc_api *a, const struct kg_svc_traj_wish *w,
                      kg_svc_traj_answer *answer, void *ctx)
{
    struct kg_err err = KG_ERR_INIT;
    struct open_op *o = calloc(1, sizeof *o);
    KG_ASSERT(o != NULL);
    o->op = (struct kg_svc_op){.run = run_open, .done = open_done};
    o->who = (struct kg_svc_traj_asker){a, answer, ctx};
    kg_buf_init(&o->head, KG_SVC_RECORD_MAX);
    if (!prepare(o, w)) {
        end_open(o);
        return;
    }
    struct kg_svc_traj *row = &o->row;
    if (kg_ulid_new(row->id, &err) != KG_OK) {
        kg_svc_traj_fail(&o->who, &err);
        end_open(o);
        return;
    }
    snprintf(row->key, sizeof row->key, "%s", w->key != NULL ? w->key : "");
    snprintf(row->problem, sizeof row->problem, "%s", w->problem);
    snprintf(row->group, sizeof row->group, "%s", w->group != NULL ? w->group : "");
    row->most_turns = w->most_turns > 0 ? w->most_turns : TURNS;
    row->idle_ms = (int64_t)((w->idle_s > 0 ? w->idle_s : IDLE_S) * 1000);
    row->created_ms = kg_svc_now_ms();
    row->due_ms = row->created_ms + row->idle_ms;
    hash_wish(row, w, row->body_hash);
    kg_svc_writer_post(a->writer, &o->op);
}
