/* GET /v1/trajectories/export: those that have ended, in the order of their ends, as JSON lines. An
 * end has a number that grows, and what has ended never changes. So a line is written once, whole,
 * and an export that stopped goes on after the last one, whatever came meanwhile.
 *
 * It begins once all that was posted to the store before is written, so that it holds what its
 * client has just seen the end of. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "svc/traj_told.h"

enum { AHEAD = 4 << 20, PIECE = 16, PAUSE_US = 5000, LINE_MAX = 1 << 30 };

enum form { WHOLE, CHAT, TURNS };

struct export
{
    struct kg_svc_op op;
    struct kg_svc_api *api;
    struct kg_svc_exchange *x;
    enum form form;
    char problem[KG_SVC_KEY_MAX + 1], verdict[64], preset[64]; /* "": any, or the first */
    bool floor, extra;                                         /* floor: least is asked for */
    double least;
    int64_t at; /* seq of the last one that was looked at */
    struct event *timer;
    struct kg_svc_told told;
};

static void destroy(struct export *e)
{
    if (e->timer != NULL) {
        event_free(e->timer);
    }
    free(e);
}

static void on_gone(struct kg_svc_exchange *x, void *arg)
{
    (void)x;
    destroy(arg);
}

static const char *preset_of(const struct export *e)
{
    return e->preset[0] != '\0' ? e->preset : NULL;
}

/* Is turn i wanted? */
static bool wants(const struct export *e, int i)
{
    double reward;
    const struct kg_svc_told_turn *turn = i >= 0 ? &e->told.turn[i] : NULL;
    const char *verdict =
        turn != NULL ? json_string_value(json_object_get(turn->parsed, "verdict")) : NULL;
    if (e->verdict[0] != '\0' && (verdict == NULL || strcmp(verdict, e->verdict) != 0)) {
        return false;
    }
    return !e->floor ||
           (turn != NULL && kg_svc_told_reward(turn, preset_of(e), &reward) && reward >= e->least);
}

static void add_rows(const struct export *e, struct kg_buf *out)
{
    for (size_t i = 0; i < e->told.n; i++) {
        if (e->told.turn[i].state == KG_SVC_TURN_JUDGED && wants(e, (int)i)) {
            kg_svc_told_row(&e->told, i, preset_of(e), e->extra, out);
            kg_buf_addc(out, '\n');
        }
    }
}

/* The lines of one trajectory. */
static enum kg_code add_lines(struct export *e, const char *id, struct kg_buf *out,
                              struct kg_err *err)
{
    enum kg_code code =
        kg_svc_tell(e->api, id, KG_SVC_TELL_RECORDS | KG_SVC_TELL_CONTENTS, &e->told, err);
    if (code != KG_OK) {
        kg_svc_told_deinit(&e->told);
        return code;
    }
    bool wanted = wants(e, kg_svc_told_best(&e->told, preset_of(e)));
    if (e->form == TURNS) {
        add_rows(e, out);
    } else if (wanted && e->told.n > 0 && e->form == WHOLE) { /* readers need a turn */
        kg_svc_told_line(&e->told, e->extra, out);
        kg_buf_addc(out, '\n');
    } else if (wanted && e->told.n > 0 && e->told.turn[0].state == KG_SVC_TURN_JUDGED) {
        kg_svc_told_chat(&e->told, preset_of(e), out);
        kg_buf_addc(out, '\n');
    }
    kg_svc_told_deinit(&e->told);
    return kg_buf_ok(out) ? KG_OK : kg_fail(err, KG_E_LIMIT, "trajectory %s is too large", id);
}

struct page {
    struct kg_svc_traj row[PIECE];
    size_t n;
};

static bool add_row(void *ctx, const struct kg_svc_traj *t)
{
    struct page *p = ctx;
    p->row[p->n++] = *t;
    return p->n < PIECE;
}

/* The next lines, as far as the client reads. *ends: there are no more. */
static enum kg_code send_page(struct export *e, bool *ends, struct kg_err *err)
{
    const struct kg_svc_traj_filter f = {.by = KG_SVC_TRAJ_ENDED, .above = e->at, .limit = PIECE};
    struct page p = {.n = 0};
    if (e->api->store->kind->trajectories->list(e->api->store, &f, add_row, &p, err) != KG_OK) {
        return err->code;
    }
    *ends = p.n == 0;
    for (size_t i = 0; i < p.n; i++) {
        struct kg_buf line;
        if (kg_svc_stream_add(e->x, "", 0) > AHEAD) {
            return KG_OK;
        }
        kg_buf_init(&line, LINE_MAX);
        bool wanted = e->problem[0] == '\0' || strcmp(e->problem, p.row[i].problem) == 0;
        enum kg_code code = wanted ? add_lines(e, p.row[i].id, &line, err) : KG_OK;
        if (code == KG_OK) {
            kg_svc_stream_add(e->x, line.data, line.len);
            e->at = p.row[i].seq;
        }
        kg_buf_deinit(&line);
        if (code != KG_OK) {
            return code;
        }
    }
    return KG_OK;
}

/* One page, so that others are served in between. An export that can't go on ends short, without
 * the last chunk: its client asks again after the last line that it has. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval pause = {.tv_usec = PAUSE_US};
    struct export *e = arg;
    struct kg_err err = KG_ERR_INIT;
    bool ends = false;
    (void)fd;
    (void)what;
    if (e->api->stopping || send_page(e, &ends, &err) != KG_OK) {
        kg_svc_on_gone(e->x, NULL, NULL);
        kg_svc_stream_cut(e->x);
        destroy(e);
    } else if (ends) {
        kg_svc_on_gone(e->x, NULL, NULL);
        kg_svc_stream_end(e->x);
        destroy(e);
    } else {
        evtimer_add(e->timer, &pause);
    }
}

static void done(struct kg_svc_op *op)
{
    static const struct timeval now = {.tv_usec = 0};
    struct export *e = (struct export *)op;
    e->timer = evtimer_new(e->api->base, on_timer, e);
    if (op->err.code != KG_OK || e->timer == NULL || e->api->stopping) {
        kg_svc_reply_error(e->x, 503, "store", "", "the store can't do that now: ask again");
        destroy(e);
        return;
    }
    kg_svc_on_gone(e->x, on_gone, e);
    kg_svc_stream_begin(e->x, 200, "application/x-ndjson");
    evtimer_add(e->timer, &now);
}

/* --- the query --- */

static bool keep(struct export *e, const char *name, char *out, size_t cap)
{
    const char *text = kg_svc_query(e->x, name);
    if (text != NULL && strlen(text) >= cap) {
        kg_svc_reply_error(e->x, 400, "bad_query", name, "`%s` is too long", name);
        return false;
    }
    snprintf(out, cap, "%s", text != NULL ? text : "");
    return true;
}

static bool read_least(struct export *e)
{
    const char *text = kg_svc_query(e->x, "least");
    char *end = NULL;
    e->floor = text != NULL;
    e->least = text != NULL ? strtod(text, &end) : 0;
    if (text != NULL && (end == text || *end != '\0' || e->least != e->least)) {
        kg_svc_reply_error(e->x, 400, "bad_query", "least", "`least` must be a number");
        return false;
    }
    return true;
}

static bool read_after(struct export *e)
{
    const char *id = kg_svc_query(e->x, "after");
    struct kg_svc_traj t = {.seq = 0};
    struct kg_err err = KG_ERR_INIT;
    if (id == NULL) {
        return true;
    }
    enum kg_code code = e->api->store->kind->trajectories->get(e->api->store, id, &t, &err);
    if (code != KG_OK && code != KG_E_NOT_FOUND) {
        kg_svc_answer_error(e->x, &err, "after");
        return false;
    }
    e->at = t.seq;
    if (code != KG_OK || t.seq == 0) {
        kg_svc_reply_error(e->x, 400, "bad_query", "after",
                           "`after` must be the id of a trajectory that has ended");
        return false;
    }
    return true;
}

static bool read_words(struct export *e)
{
    static const char *const forms[] = {"whole", "chat", "turns"};
    const char *form = kg_svc_query(e->x, "form"), *extra = kg_svc_query(e->x, "extra");
    bool known = form == NULL;
    for (int i = 0; form != NULL && i < 3; i++) {
        if (strcmp(form, forms[i]) == 0) {
            e->form = (enum form)i;
            known = true;
        }
    }
    if (!known) {
        kg_svc_reply_error(e->x, 400, "bad_query", "form", "`form` must be whole, chat or turns");
        return false;
    }
    e->extra = extra == NULL || strcmp(extra, "yes") == 0;
    if (!e->extra && strcmp(extra, "no") != 0) {
        kg_svc_reply_error(e->x, 400, "bad_query", "extra", "`extra` must be yes or no");
        return false;
    }
    return true;
}

static bool read_query(struct export *e)
{
    static const char *const known[] = {"form",   "problem", "verdict", "least",
                                        "reward", "after",   "extra",   NULL};
    if (kg_svc_query_unknown(e->x, known) != NULL) {
        kg_svc_reply_error(
            e->x, 400, "bad_query", "",
            "the query may have form, problem, verdict, least, reward, after, extra");
        return false;
    }
    return keep(e, "problem", e->problem, sizeof e->problem) &&
           keep(e, "verdict", e->verdict, sizeof e->verdict) &&
           keep(e, "reward", e->preset, sizeof e->preset) && read_words(e) && read_least(e) &&
           read_after(e);
}

void kg_svc_export_trajectories(struct kg_svc_exchange *x, void *ctx)
{
    struct export *e = calloc(1, sizeof *e);
    KG_ASSERT(e != NULL);
    e->op = (struct kg_svc_op){.done = done};
    e->api = ctx;
    e->x = x;
    if (read_query(e)) {
        kg_svc_writer_post(e->api->writer, &e->op);
    } else {
        destroy(e);
    }
}
