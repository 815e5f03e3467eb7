/* OpenEnv's messages. */
#include "svc/openenv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"

enum { TURNS_MOST = 64, IDLE_MOST_S = 7 * 86400 };

/* --- members --- */

/* Only members among known (NULL-terminated)? */
static bool knows_all(const json_t *data, const char *const *known, struct kg_svc_refusal *no)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)data, name, value)
    {
        size_t n = 0;
        bool is = false;
        for (; known[n] != NULL; n++) {
            is = is || strcmp(known[n], name) == 0;
        }
        if (!is) {
            const char *near = kg_nearest(name, known, n);
            return kg_svc_refuse(no, 400, "VALIDATION_ERROR", "",
                                 near != NULL ? "unknown member; did you mean `%s`?"
                                              : "unknown member; `%s` is one of the known ones",
                                 near != NULL ? near : known[0]);
        }
    }
    return true;
}

static bool take_text(const json_t *data, const char *name, size_t most, const char **out,
                      struct kg_svc_refusal *no)
{
    const json_t *value = json_object_get(data, name);
    if (value == NULL || json_is_null(value)) {
        return true;
    }
    *out = json_string_value(value);
    size_t n = json_string_length(value);
    if (*out == NULL || n == 0 || n > most || strlen(*out) != n) {
        return kg_svc_refuse(no, 400, "VALIDATION_ERROR", name,
                             "`%s` must be a text of 1 to %zu bytes", name, most);
    }
    return true;
}

static bool take_integer(const json_t *data, const char *name, int64_t least, int64_t most,
                         int64_t *out, bool *there, struct kg_svc_refusal *no)
{
    const json_t *value = json_object_get(data, name);
    *there = value != NULL && !json_is_null(value);
    if (!*there) {
        return true;
    }
    *out = json_integer_value(value);
    if (!json_is_integer(value) || *out < least || *out > most) {
        return kg_svc_refuse(no, 400, "VALIDATION_ERROR", name,
                             "`%s` must be an integer from %lld to %lld", name, (long long)least,
                             (long long)most);
    }
    return true;
}

static bool take_idle(const json_t *data, double *out, struct kg_svc_refusal *no)
{
    const json_t *value = json_object_get(data, "idle_s");
    if (value == NULL || json_is_null(value)) {
        return true;
    }
    *out = json_number_value(value);
    if (!json_is_number(value) || !(*out > 0) || *out > IDLE_MOST_S) {
        return kg_svc_refuse(no, 400, "VALIDATION_ERROR", "idle_s",
                             "`idle_s` must be seconds, more than 0 and at most %d", IDLE_MOST_S);
    }
    return true;
}

/* --- kinds of messages --- */

static bool read_reset(struct kg_openenv_message *m, const json_t *data, struct kg_svc_refusal *no)
{
    static const char *const known[] = {"problem", "episode_id", "seed",     "preset",
                                        "set",     "rewards",    "language", "max_turns",
                                        "idle_s",  "group",      NULL};
    int64_t turns = 0;
    bool there;
    if (!knows_all(data, known, no) ||
        !take_text(data, "episode_id", KG_OPENENV_ID_MAX, &m->episode_id, no) ||
        !take_text(data, "problem", 200, &m->problem, no) ||
        !take_text(data, "preset", 100, &m->preset, no) ||
        !take_text(data, "rewards", 1000, &m->rewards, no) ||
        !take_text(data, "language", 100, &m->language, no) ||
        !take_text(data, "group", KG_OPENENV_ID_MAX, &m->group, no) ||
        !take_integer(data, "seed", 0, INT64_MAX, &m->seed, &m->has_seed, no) ||
        !take_integer(data, "max_turns", 1, TURNS_MOST, &turns, &there, no) ||
        !take_idle(data, &m->idle_s, no)) {
        return false;
    }
    m->max_turns = (int)turns;
    m->set = json_object_get(data, "set");
    m->set = json_is_null(m->set) ? NULL : m->set;
    if (m->set != NULL && !json_is_object(m->set)) {
        return kg_svc_refuse(no, 400, "VALIDATION_ERROR", "set", "`set` must be an object");
    }
    return true;
}

/* A typed action of openenv-core has `metadata` beside its own fields. */
static bool read_step(struct kg_openenv_message *m, const json_t *data, struct kg_svc_refusal *no)
{
    static const char *const known[] = {"reply", "metadata", NULL};
    m->reply = json_object_get(data, "reply");
    if (!knows_all(data, known, no)) {
        return false;
    }
    return json_is_string(m->reply) ||
           kg_svc_refuse(no, 400, "VALIDATION_ERROR", "reply", "`reply` must be a text");
}

static bool read_kind(struct kg_openenv_message *m, struct kg_svc_refusal *no)
{
    static const char *const kinds[] = {"reset", "step", "state", "close"};
    static const char *const known[] = {"type", "data", NULL};
    const char *type = json_string_value(json_object_get(m->body, "type"));
    const json_t *data = json_object_get(m->body, "data");
    size_t kind = 0;
    while (kind < 4 && (type == NULL || strcmp(type, kinds[kind]) != 0)) {
        kind++;
    }
    if (kind == 4) {
        kg_svc_refuse(no, 400, "VALIDATION_ERROR", "type",
                      "`type` must be reset, step, state or close");
        no->code = "UNKNOWN_TYPE";
        return false;
    }
    m->kind = (enum kg_openenv_kind)kind;
    if (!knows_all(m->body, known, no)) {
        return false;
    }
    data = json_is_null(data) ? NULL : data;
    if (data != NULL && !json_is_object(data)) {
        return kg_svc_refuse(no, 400, "VALIDATION_ERROR", "data", "`data` must be an object");
    }
    return m->kind == KG_OPENENV_RESET  ? read_reset(m, data, no)
           : m->kind == KG_OPENENV_STEP ? read_step(m, data, no)
                                        : true;
}

bool kg_openenv_read(const char *text, size_t n, struct kg_openenv_message *out,
                     struct kg_svc_refusal *no)
{
    struct kg_err err = KG_ERR_INIT;
    memset(out, 0, sizeof *out);
    if (kg_json_parse_loose(text, n, "message", &out->body, &err) != KG_OK) {
        kg_svc_refuse(no, 400, "VALIDATION_ERROR", "", "the message is no JSON");
        no->code = "INVALID_JSON";
        return false;
    }
    bool good = json_is_object(out->body) ? read_kind(out, no)
                                          : kg_svc_refuse(no, 400, "VALIDATION_ERROR", "",
                                                          "the message must be an object");
    if (!good) {
        kg_openenv_deinit(out);
    }
    return good;
}

void kg_openenv_deinit(struct kg_openenv_message *m)
{
    json_decref(m->body);
    memset(m, 0, sizeof *m);
}

/* --- answers --- */

static json_t *text_or_null(const char *s)
{
    return s != NULL ? kg_json_text(s, strlen(s)) : json_null();
}

/* The last one's text, for clients that keep the conversation themselves. */
static json_t *last_message(const json_t *messages)
{
    size_t n = json_array_size(messages);
    json_t *content = n > 0 ? json_object_get(json_array_get(messages, n - 1), "content") : NULL;
    return content != NULL ? json_incref(content) : json_null();
}

json_t *kg_openenv_observation(const struct kg_openenv_view *v)
{
    json_t *rewards = v->rewards != NULL ? json_deep_copy(v->rewards) : json_object();
    json_t *first = json_object_iter_value(json_object_iter(rewards));
    json_t *messages = v->messages != NULL ? json_deep_copy(v->messages) : json_array();
    json_t *seen = json_pack("{s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                             "episode_id", text_or_null(v->episode_id), "problem",
                             text_or_null(v->problem), "turn", (json_int_t)v->turn, "max_turns",
                             (json_int_t)v->max_turns, "message", last_message(messages),
                             "messages", messages, "feedback", text_or_null(v->feedback), "verdict",
                             text_or_null(v->verdict), "reason", text_or_null(v->reason),
                             "evaluation", text_or_null(v->evaluation), "rewards", rewards);
    return json_pack("{s:s, s:{s:o, s:O?, s:b}}", "type", "observation", "data", "observation",
                     seen, "reward", json_is_number(first) ? first : json_null(), "done", v->done);
}

json_t *kg_openenv_state(const struct kg_openenv_view *v)
{
    return json_pack("{s:s, s:{s:o, s:I, s:o, s:I, s:b}}", "type", "state", "data", "episode_id",
                     text_or_null(v->episode_id), "step_count", (json_int_t)v->turn, "problem",
                     text_or_null(v->problem), "max_turns", (json_int_t)v->max_turns, "done",
                     v->done);
}

json_t *kg_openenv_error(const char *code, const char *field, const char *message)
{
    return json_pack("{s:s, s:{s:o, s:s, s:s*}}", "type", "error", "data", "message",
                     kg_json_text(message, strlen(message)), "code", code, "field",
                     field[0] != '\0' ? field : NULL);
}

/* --- the schema --- */

const char *kg_openenv_schema(void)
{
    return "{\"action\": {\"title\": \"KgymAction\", \"type\": \"object\","
           " \"additionalProperties\": false, \"required\": [\"reply\"], \"properties\": {"
           "\"reply\": {\"type\": \"string\", \"description\": \"the model's whole reply\"},"
           " \"metadata\": {\"type\": \"object\", \"description\": \"ignored\"}}},\n"
           " \"observation\": {\"title\": \"KgymObservation\", \"type\": \"object\","
           " \"properties\": {"
           "\"episode_id\": {\"type\": \"string\"}, \"problem\": {\"type\": \"string\"},"
           " \"turn\": {\"type\": \"integer\", \"description\": \"turns judged so far\"},"
           " \"max_turns\": {\"type\": \"integer\"},"
           " \"message\": {\"type\": [\"string\", \"null\"],"
           " \"description\": \"what the model is told next\"},"
           " \"messages\": {\"type\": \"array\", \"items\": {\"type\": \"object\"}},"
           " \"feedback\": {\"type\": [\"string\", \"null\"]},"
           " \"verdict\": {\"type\": [\"string\", \"null\"]},"
           " \"reason\": {\"type\": [\"string\", \"null\"]},"
           " \"evaluation\": {\"type\": [\"string\", \"null\"],"
           " \"description\": \"id of the evaluation, whose record has everything\"},"
           " \"rewards\": {\"type\": \"object\","
           " \"additionalProperties\": {\"type\": \"number\"}}}},\n"
           " \"state\": {\"title\": \"KgymState\", \"type\": \"object\", \"properties\": {"
           "\"episode_id\": {\"type\": [\"string\", \"null\"]},"
           " \"step_count\": {\"type\": \"integer\"},"
           " \"problem\": {\"type\": [\"string\", \"null\"]},"
           " \"max_turns\": {\"type\": \"integer\"}, \"done\": {\"type\": \"boolean\"}}}}\n";
}
