/* Routes of trajectories: bodies and queries in, answers of trajectories.h out. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_private.h"
#include "svc/traj_text.h"
#include "svc/trajectories.h"

static void answer(void *ctx, int status, const char *text, size_t len)
{
    struct kg_svc_exchange *x = ctx;
    if (status == 429 || status == 503) {
        kg_svc_header(x, "Retry-After", "5");
    }
    kg_svc_reply(x, status, "application/json", text, len);
}

/* --- answers that may wait --- */

/* Who waits for a turn. The answer comes in any case, also after its exchange has ended. */
struct waiter {
    struct kg_svc_exchange *x; /* NULL: its client has gone */
};

static void on_gone(struct kg_svc_exchange *x, void *arg)
{
    (void)x;
    ((struct waiter *)arg)->x = NULL;
}

static struct waiter *new_waiter(struct kg_svc_exchange *x)
{
    struct waiter *w = calloc(1, sizeof *w);
    KG_ASSERT(w != NULL);
    w->x = x;
    kg_svc_on_gone(x, on_gone, w);
    return w;
}

static void answer_waiter(void *ctx, int status, const char *text, size_t len)
{
    struct waiter *w = ctx;
    if (w->x != NULL) {
        kg_svc_on_gone(w->x, NULL, NULL);
        answer(w->x, status, text, len);
    }
    free(w);
}

/* The id of the path; NULL: 404 was answered. */
static const char *path_id(struct kg_svc_exchange *x)
{
    const char *id = kg_svc_request(x)->arg[0];
    if (strlen(id) != KG_ULID_LEN - 1) {
        kg_svc_reply_error(x, 404, "not_found", "", "no trajectory %.40s", id);
        return NULL;
    }
    return id;
}

static bool only_query(struct kg_svc_exchange *x, const char *const *known, const char *names)
{
    if (kg_svc_query_unknown(x, known) == NULL) {
        return true;
    }
    kg_svc_reply_error(x, 400, "bad_query", "", "the query may have %s only", names);
    return false;
}

/* --- bodies --- */

/* The body, with the values of these members [n] cut out of it. NULL: 400 was answered. */
static json_t *cut_body(struct kg_svc_exchange *x, const char *const *members,
                        const char *const *names, size_t n, struct kg_svc_slice *out)
{
    const struct kg_svc_request *r = kg_svc_request(x);
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf rest;
    json_t *body = NULL;
    kg_buf_init(&rest, r->len + 64);
    if (kg_svc_traj_cut(r->body, r->len, names, n, out, &rest, &err) == KG_OK) {
        body = kg_svc_body_of(x, rest.data, rest.len, members);
    } else {
        kg_svc_reply_error(x, 400, "bad_json", "", "the body is no JSON object");
    }
    kg_buf_deinit(&rest);
    for (size_t i = 0; i < n; i++) {
        if (out[i].at != NULL && out[i].len == 4 && memcmp(out[i].at, "null", 4) == 0) {
            out[i].at = NULL; /* as if it were absent */
            out[i].len = 0;
        }
    }
    return body;
}

/* A whole number; 0 where it is absent, -1 where it is none. */
static int whole(const json_t *body, const char *name)
{
    const json_t *v = json_object_get(body, name);
    if (v == NULL || json_is_null(v)) {
        return 0;
    }
    json_int_t n = json_integer_value(v);
    return json_is_integer(v) && n >= 1 && n <= INT32_MAX ? (int)n : -1;
}

static double seconds(const json_t *body, const char *name)
{
    const json_t *v = json_object_get(body, name);
    if (v == NULL || json_is_null(v)) {
        return 0;
    }
    return json_is_number(v) && json_number_value(v) > 0 ? json_number_value(v) : -1;
}

void kg_svc_open_trajectory(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"problem",  "preset", "set",   "rewards", "priority",
                                          "language", "system", "group", "meta",    "max_turns",
                                          "idle_s",   "key",    NULL};
    static const char *const raw[] = {"meta"}, *const query[] = {NULL};
    struct kg_svc_slice meta;
    if (!only_query(x, query, "nothing")) {
        return;
    }
    json_t *body = cut_body(x, members, raw, 1, &meta);
    if (body == NULL) {
        return;
    }
    struct kg_svc_traj_wish w = {.meta = meta.at,
                                 .meta_len = meta.len,
                                 .most_turns = whole(body, "max_turns"),
                                 .idle_s = seconds(body, "idle_s")};
    const struct {
        const char *name, **out;
    } texts[] = {{"problem", &w.problem},   {"preset", &w.preset}, {"rewards", &w.rewards},
                 {"priority", &w.priority}, {"system", &w.system}, {"language", &w.language},
                 {"group", &w.group},       {"key", &w.key}};
    bool ok = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts && ok; i++) {
        *texts[i].out = kg_svc_body_text(x, body, texts[i].name, &ok);
    }
    const json_t *set = json_object_get(body, "set");
    if (ok && set != NULL && !json_is_null(set) && !json_is_object(set)) {
        ok = false;
        kg_svc_reply_error(x, 400, "bad_set", "set", "`set` must be an object of options");
    }
    if (ok) {
        w.set = json_is_object(set) ? set : NULL;
        kg_svc_traj_open(ctx, &w, answer, x);
    }
    json_decref(body);
}

void kg_svc_post_turn(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const members[] = {"n", "reply", "finish", "extra", "usage", NULL};
    static const char *const raw[] = {"extra", "usage"}, *const query[] = {"wait", NULL};
    struct kg_svc_slice cut[2];
    double wait = 0;
    bool ok = true;
    const char *id = path_id(x);
    if (id == NULL || !only_query(x, query, "`wait`") ||
        !kg_svc_query_number(x, "wait", KG_SVC_WAIT_MAX_S, &wait)) {
        return;
    }
    json_t *body = cut_body(x, members, raw, 2, cut);
    if (body == NULL) {
        return;
    }
    const struct kg_svc_turn_wish w = {.n = whole(body, "n"),
                                       .owner = kg_svc_request(x)->owner,
                                       .reply = json_object_get(body, "reply"),
                                       .finish = kg_svc_body_text(x, body, "finish", &ok),
                                       .extra = cut[0].at,
                                       .extra_len = cut[0].len,
                                       .usage = cut[1].at,
                                       .usage_len = cut[1].len};
    if (ok) {
        kg_svc_traj_take(ctx, id, &w, wait, answer_waiter, new_waiter(x));
    }
    json_decref(body);
}

/* --- reads and ends --- */

void kg_svc_get_turn(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const query[] = {"wait", NULL};
    double wait = 0;
    const char *id = path_id(x);
    if (id == NULL || !only_query(x, query, "`wait`") ||
        !kg_svc_query_number(x, "wait", KG_SVC_WAIT_MAX_S, &wait)) {
        return;
    }
    const char *text = kg_svc_request(x)->arg[1];
    char *end = NULL;
    long n = strtol(text, &end, 10);
    bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0';
    kg_svc_traj_look(ctx, id, is_number && n <= KG_SVC_TURNS_MAX ? (int)n : 0, wait, answer_waiter,
                     new_waiter(x));
}

void kg_svc_get_trajectory(struct kg_svc_exchange *x, void *ctx)
{
    const char *id = path_id(x);
    if (id != NULL) {
        kg_svc_traj_get(ctx, id, answer, x);
    }
}

/* A token that may not read learns that it has ended, not what is in it. */
static void answer_closed(void *ctx, int status, const char *text, size_t len)
{
    struct kg_svc_exchange *x = ctx;
    const struct kg_svc_request *r = kg_svc_request(x);
    if (status == 200 && (r->scopes & KG_SVC_READ) == 0) {
        kg_svc_reply_json(x, 200, json_pack("{s:s, s:s}", "id", r->arg[0], "state", "ended"));
    } else {
        answer(x, status, text, len);
    }
}

void kg_svc_close_trajectory(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const query[] = {"end", NULL}, *const ends[] = {"done", "full", "infra"};
    const char *id = path_id(x), *how = kg_svc_query(x, "end");
    if (id == NULL || !only_query(x, query, "`end`")) {
        return;
    }
    bool known = how == NULL;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        known = known || strcmp(how, ends[i]) == 0;
    }
    if (!known) {
        kg_svc_reply_error(x, 400, "bad_query", "end", "`end` must be done, full or infra");
        return;
    }
    kg_svc_traj_close(ctx, id, how, answer_closed, x);
}

struct listing {
    json_t *list;
    char last[KG_ULID_LEN];
};

static bool add_listed(void *ctx, const struct kg_svc_traj *t)
{
    struct listing *l = ctx;
    json_array_append_new(
        l->list, json_pack("{s:s, s:s, s:s?, s:s, s:s?, s:I, s:I, s:f}", "id", t->id, "problem",
                           t->problem, "group", t->group[0] != '\0' ? t->group : NULL, "state",
                           t->seq > 0 ? "ended" : "open", "end", t->seq > 0 ? t->end : NULL,
                           "turns", (json_int_t)t->turns, "max_turns", (json_int_t)t->most_turns,
                           "created", (double)t->created_ms / 1000));
    snprintf(l->last, sizeof l->last, "%s", t->id);
    return true;
}

void kg_svc_list_trajectories(struct kg_svc_exchange *x, void *ctx)
{
    static const char *const known[] = {"problem", "group", "after", "limit", NULL};
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    int64_t limit = 0;
    const char *after;
    if (!only_query(x, known, "problem, group, after, limit") ||
        !kg_svc_query_whole(x, "limit", 1000, &limit) || !kg_svc_query_cursor(x, &after)) {
        return;
    }
    struct listing l = {.list = json_array()};
    const struct kg_svc_traj_filter f = {.by = KG_SVC_TRAJ_NEWEST,
                                         .problem = kg_svc_query(x, "problem"),
                                         .group = kg_svc_query(x, "group"),
                                         .after = after,
                                         .limit = limit >= 1 ? (size_t)limit : 100};
    if (a->store->kind->trajectories->list(a->store, &f, add_listed, &l, &err) != KG_OK) {
        json_decref(l.list);
        kg_svc_answer_error(x, &err, "");
        return;
    }
    bool more = json_array_size(l.list) == f.limit;
    kg_svc_reply_json(
        x, 200, json_pack("{s:o, s:s?}", "trajectories", l.list, "next", more ? l.last : NULL));
}
