/* GET /ws: OpenEnv's sessions (docs/trainers.md). An episode is a trajectory, so it outlives its
 * socket and this process; a session only remembers which one it plays.
 *
 * Each message of the client makes a chain of calls of trajectories.h, and the last one answers.
 * Meanwhile the socket hands over no other message. A session whose socket is gone is released when
 * its call has been answered. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_openenv.h"
#include "svc/ws_frame.h"

#define REWARDS "dr-kernel" /* where reset names none */
#define KEY     "openenv/"  /* before the id of an episode that its client chose */

static void destroy(struct kg_svc_session *s)
{
    struct kg_svc_session **at = &s->api->sessions;
    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    kg_openenv_deinit(&s->message);
    free(s);
}

/* --- answers of the trajectories --- */

/* The answer as JSON (NULL: it is none). False: the socket is gone, and the session with it, or the
 * service stops. */
static bool take_answer(struct kg_svc_session *s, const char *bytes, size_t len, json_t **out)
{
    struct kg_err err = KG_ERR_INIT;
    *out = NULL;
    s->asked = false;
    if (s->ws == NULL) {
        destroy(s);
        return false;
    }
    if (s->api->stopping) {
        kg_ws_close(s->ws, KG_WS_AWAY, "the service stops");
        return false;
    }
    if (kg_json_parse(bytes, len, "answer", out, &err) != KG_OK) {
        *out = NULL;
    }
    return true;
}

/* A turn that was taken, or that an episode goes on with. */
static void on_turn(void *ctx, int status, const char *bytes, size_t len)
{
    struct kg_svc_session *s = ctx;
    json_t *body;
    if (!take_answer(s, bytes, len, &body)) {
        return;
    }
    if (status == 200 || status == 202) {
        kg_svc_session_show(s);
    } else {
        kg_svc_session_refuse(s, status, body);
    }
    json_decref(body);
}

void kg_svc_session_look(struct kg_svc_session *s, int64_t n)
{
    s->asked = true;
    kg_svc_traj_look(s->api, s->id, (int)n, KG_SVC_SESSION_WAIT_S, on_turn, s);
}

static void on_open(void *ctx, int status, const char *bytes, size_t len)
{
    struct kg_svc_session *s = ctx;
    json_t *body;
    if (!take_answer(s, bytes, len, &body)) {
        return;
    }
    const char *id = json_string_value(json_object_get(body, "id"));
    if (status == 200 && id != NULL) {
        snprintf(s->id, sizeof s->id, "%s", id);
        kg_svc_session_show(s);
    } else {
        kg_svc_session_refuse(s, status, body);
    }
    json_decref(body);
}

static void on_end(void *ctx, int status, const char *bytes, size_t len)
{
    (void)ctx;
    (void)status;
    (void)bytes;
    (void)len;
}

/* --- messages --- */

/* The first of list [n], from this place on and round, that a device can judge, since the job of
 * another would wait for ever; where there is none, the first. A row of a file has no name that an
 * episode may begin with. */
static json_t *first_served(struct kg_svc_api *a, const json_t *list, size_t at)
{
    const struct kg_svc_gym *g = a->o->gym;
    size_t n = json_array_size(list);
    json_t *first = NULL;
    char device[KG_SVC_DEVICE_MAX], none[KG_SVC_DEVICE_MAX] = ""; /* none: nobody offers that */
    for (size_t i = 0; i < n; i++) {
        struct kg_err err = KG_ERR_INIT;
        json_t *name = json_object_get(json_array_get(list, (at + i) % n), "problem");
        const char *word = json_string_value(name);
        if (kg_svc_is_path(word) || g->problem(g->ctx, word, device, &err) != KG_OK) {
            continue;
        }
        first = first != NULL ? first : name;
        if (strcmp(device, none) != 0 && kg_svc_is_served(a, device)) {
            return name;
        }
        snprintf(none, sizeof none, "%s", device);
    }
    return first;
}

/* A name of the suites' problems: the same one for the same word, as long as the same devices are
 * there. The caller frees it; NULL: the suites can't be read. */
static json_t *draw_problem(struct kg_svc_api *a, const char *word)
{
    struct kg_err err = KG_ERR_INIT;
    char sum[KG_SHA256_HEX], first[16];
    json_t *list = json_array(), *name = NULL;
    if (a->o->gym->problems(a->o->gym->ctx, list, &err) == KG_OK && json_array_size(list) > 0) {
        kg_sha256_hex(word, strlen(word), sum);
        snprintf(first, sizeof first, "%.15s", sum);
        size_t at = strtoull(first, NULL, 16) % json_array_size(list);
        name = json_incref(first_served(a, list, at));
    }
    json_decref(list);
    return name;
}

static void open_episode(struct kg_svc_session *s)
{
    const struct kg_openenv_message *m = &s->message;
    struct kg_err err = KG_ERR_INIT;
    char word[KG_OPENENV_ID_MAX + 32], key[KG_OPENENV_ID_MAX + sizeof KEY], id[KG_ULID_LEN];
    json_t *drawn = NULL;
    if (m->problem == NULL) {
        if (kg_ulid_new(id, &err) != KG_OK) {
            id[0] = '\0';
        }
        if (m->has_seed) {
            snprintf(word, sizeof word, "seed %lld", (long long)m->seed);
        } else {
            snprintf(word, sizeof word, "%s", m->episode_id != NULL ? m->episode_id : id);
        }
        drawn = draw_problem(s->api, word);
    }
    const struct kg_svc_traj_wish w = {.problem = m->problem != NULL ? m->problem
                                                                     : json_string_value(drawn),
                                       .drawn_by = m->problem == NULL ? word : NULL,
                                       .preset = m->preset,
                                       .rewards = m->rewards != NULL ? m->rewards : REWARDS,
                                       .language = m->language,
                                       .group = m->group,
                                       .set = m->set,
                                       .most_turns = m->max_turns,
                                       .idle_s = m->idle_s,
                                       .key = s->name[0] != '\0' ? key : NULL};
    snprintf(key, sizeof key, "%s%s", KEY, s->name);
    if (w.problem == NULL) {
        kg_svc_session_error(s, "EXECUTION_ERROR", "problem", "the suites can't be read");
    } else if (kg_svc_is_path(w.problem)) {
        kg_svc_session_error(s, "VALIDATION_ERROR", "problem",
                             "`problem` must be a name of the suites, not a path");
    } else {
        s->asked = true;
        kg_svc_traj_open(s->api, &w, on_open, s);
    }
    json_decref(drawn);
}

/* An episode ends where its session begins another, or says that it closes. */
static void end_episode(struct kg_svc_session *s)
{
    if (s->id[0] != '\0' && !s->done) {
        kg_svc_traj_close(s->api, s->id, "done", on_end, NULL);
    }
    s->id[0] = s->name[0] = '\0';
    s->turn = s->max_turns = 0;
    s->done = false;
}

static void reset(struct kg_svc_session *s)
{
    const char *id = s->message.episode_id;
    if (id != NULL && s->id[0] != '\0' && strcmp(id, kg_svc_session_view(s).episode_id) == 0) {
        kg_svc_session_show(s); /* it plays that one */
        return;
    }
    end_episode(s);
    if (id != NULL && kg_ulid_is(id)) {
        snprintf(s->id, sizeof s->id, "%s", id);
        kg_svc_session_show(s);
        return;
    }
    snprintf(s->name, sizeof s->name, "%s", id != NULL ? id : "");
    open_episode(s);
}

static void step(struct kg_svc_session *s)
{
    if (s->id[0] == '\0') {
        kg_svc_session_error(s, "EXECUTION_ERROR", "", "there is no episode: reset first");
    } else if (s->done) {
        kg_svc_session_error(s, "EXECUTION_ERROR", "", "the episode has ended: reset first");
    } else {
        const struct kg_svc_turn_wish w = {
            .n = (int)s->turn + 1, .owner = s->owner, .reply = s->message.reply};
        s->asked = true;
        kg_svc_traj_take(s->api, s->id, &w, KG_SVC_SESSION_WAIT_S, on_turn, s);
    }
}

static void on_message(void *arg, const char *bytes, size_t n)
{
    struct kg_svc_session *s = arg;
    struct kg_svc_refusal no;
    if (!kg_openenv_read(bytes, n, &s->message, &no)) {
        kg_svc_session_error(s, no.code, no.field, no.message);
        return;
    }
    struct kg_openenv_view v = kg_svc_session_view(s);
    switch (s->message.kind) {
    case KG_OPENENV_RESET:
        reset(s);
        break;
    case KG_OPENENV_STEP:
        step(s);
        break;
    case KG_OPENENV_STATE:
        kg_svc_session_answer(s, kg_openenv_state(&v));
        break;
    case KG_OPENENV_CLOSE:
        end_episode(s);
        kg_ws_close(s->ws, KG_WS_NORMAL, "");
        break;
    }
}

static void on_gone(void *arg)
{
    struct kg_svc_session *s = arg;
    s->ws = NULL;
    if (!s->asked) {
        destroy(s);
    }
}

/* --- routes --- */

void kg_svc_get_ws(struct kg_svc_exchange *x, void *ctx)
{
    static const struct kg_ws_calls calls = {.message = on_message, .gone = on_gone};
    struct kg_svc_api *a = ctx;
    struct kg_svc_session *s = calloc(1, sizeof *s);
    KG_ASSERT(s != NULL);
    s->api = a;
    memcpy(s->owner, kg_svc_request(x)->owner, sizeof s->owner);
    s->ws = kg_ws_accept(x, a->base, (size_t)a->o->body_bytes, &calls, s);
    if (s->ws == NULL) {
        free(s);
        return;
    }
    s->next = a->sessions;
    a->sessions = s;
}

void kg_svc_sessions_stop(struct kg_svc_api *a)
{
    for (struct kg_svc_session *s = a->sessions; s != NULL; s = s->next) {
        if (s->ws != NULL) {
            kg_ws_close(s->ws, KG_WS_AWAY, "the service stops");
        }
    }
}

void kg_svc_sessions_end(struct kg_svc_api *a)
{
    for (struct kg_svc_session *s = a->sessions, *next; s != NULL; s = next) {
        next = s->next;
        kg_openenv_deinit(&s->message);
        free(s);
    }
    a->sessions = NULL;
}

void kg_svc_get_schema(struct kg_svc_exchange *x, void *ctx)
{
    const char *schema = kg_openenv_schema();
    (void)ctx;
    kg_svc_reply(x, 200, "application/json", schema, strlen(schema));
}

void kg_svc_get_metadata(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply_json(x, 200,
                      json_pack("{s:s, s:s, s:s}", "name", "kgym", "description",
                                "Judges replies that hold a kernel: is it right, how fast is it, "
                                "does it cheat? An episode is one problem and several turns.",
                                "documentation_url", "docs/trainers.md"));
}
