/* One JSON value, a chat or a trajectory, becomes messages. */
#include <stdio.h>
#include <string.h>

#include "rl/data/data_parts.h"

#define MAX_TURNS 1024 /* messages of a conversation */
#define SCHEMA    "kgym.trajectory/1"

/* --- members --- */

static enum kg_code text_of(const json_t *object, const char *key, bool may_be_null,
                            const char *where, const json_t **out, struct kg_err *err)
{
    *out = json_object_get(object, key);
    if (json_is_string(*out)) {
        return KG_OK;
    }
    if (json_is_null(*out) && may_be_null) {
        *out = NULL;
        return KG_OK;
    }
    return kg_fail(err, KG_E_INPUT, "%s: `%s` %s", where, key,
                   *out == NULL ? "is missing" : "is no text");
}

/* --- chats --- */

static enum kg_code role_of(const json_t *m, const char *where, enum lm_chat_role *out,
                            struct kg_err *err)
{
    static const char *const names[] = {"system", "user", "assistant"};
    const json_t *role;
    if (text_of(m, "role", false, where, &role, err) != KG_OK) {
        return err->code;
    }
    for (int i = 0; i < 3; i++) {
        if (strcmp(json_string_value(role), names[i]) == 0) {
            *out = (enum lm_chat_role)i;
            return KG_OK;
        }
    }
    return kg_fail(err, KG_E_INPUT, "%s: no role `%.40s`: system, user or assistant is needed",
                   where, json_string_value(role));
}

/* Which role may follow; system stands first only. */
static bool in_order(enum lm_chat_role before, enum lm_chat_role role, bool first)
{
    if (first) {
        return role != LM_CHAT_ASSISTANT;
    }
    return role == (before == LM_CHAT_USER ? LM_CHAT_ASSISTANT : LM_CHAT_USER);
}

/* `weight` 0 makes an assistant's message context. */
static enum kg_code weight_of(const json_t *m, const char *where, bool *trained, struct kg_err *err)
{
    const json_t *w = json_object_get(m, "weight");
    *trained = true;
    if (w == NULL) {
        return KG_OK;
    }
    if (!json_is_integer(w) || json_integer_value(w) < 0 || json_integer_value(w) > 1) {
        return kg_fail(err, KG_E_INPUT, "%s: `weight` is neither 0 nor 1", where);
    }
    *trained = json_integer_value(w) == 1;
    return KG_OK;
}

/* A member that no template here renders must hold nothing: to leave it out without a word would
 * train on another conversation. Null and an empty list are nothing. */
static enum kg_code must_be_nothing(const json_t *object, const char *key, const char *where,
                                    struct kg_err *err)
{
    const json_t *v = json_object_get(object, key);
    bool nothing = v == NULL || json_is_null(v) || (json_is_array(v) && json_array_size(v) == 0);
    return nothing ? KG_OK
                   : kg_fail(err, KG_E_INPUT,
                             "%s: `%s`: tools are not rendered; leave such conversations out",
                             where, key);
}

/* *out: `reasoning_content`; NULL: there is none, or it is empty. */
static enum kg_code thought_of(const json_t *m, enum lm_chat_role role, const char *where,
                               const json_t **out, struct kg_err *err)
{
    const json_t *v = json_object_get(m, "reasoning_content");
    *out = NULL;
    if (v == NULL || json_is_null(v) || (json_is_string(v) && json_string_length(v) == 0)) {
        return KG_OK;
    }
    if (!json_is_string(v) || role != LM_CHAT_ASSISTANT) {
        return kg_fail(err, KG_E_INPUT, "%s: `reasoning_content` %s", where,
                       json_is_string(v) ? "of another role than assistant" : "is no text");
    }
    *out = v;
    return KG_OK;
}

static enum kg_code chat_message(struct rl_data *d, const json_t *m, size_t i, const char *source,
                                 struct kg_err *err)
{
    char where[400];
    const struct rl_conversation *c = &d->conversation[d->n];
    enum lm_chat_role role = LM_CHAT_USER;
    enum lm_chat_role before = i > 0 ? d->message[c->first + i - 1].role : LM_CHAT_USER;
    const json_t *content, *thought;
    bool trained = false;
    snprintf(where, sizeof where, "%.300s: message %zu", source, i + 1);
    if (!json_is_object(m)) {
        return kg_fail(err, KG_E_INPUT, "%s: not an object", where);
    }
    if (role_of(m, where, &role, err) != KG_OK ||
        must_be_nothing(m, "tool_calls", where, err) != KG_OK ||
        must_be_nothing(m, "function_call", where, err) != KG_OK ||
        thought_of(m, role, where, &thought, err) != KG_OK ||
        text_of(m, "content", false, where, &content, err) != KG_OK ||
        weight_of(m, where, &trained, err) != KG_OK) {
        return err->code;
    }
    if (!in_order(before, role, i == 0)) {
        return kg_fail(err, KG_E_INPUT,
                       "%s: out of order: user and assistant take turns, after one system message "
                       "at most",
                       where);
    }
    trained = trained && role == LM_CHAT_ASSISTANT;
    return thought != NULL ? rl_data_add_thought(d, thought, content, trained, where, err)
                           : rl_data_add(d, role, content, trained, err);
}

static uint64_t first_user(const struct rl_data *d)
{
    const struct rl_conversation *c = &d->conversation[d->n];
    const struct rl_message *m = &d->message[c->first];
    m += m->role == LM_CHAT_SYSTEM && c->n > 1;
    return rl_data_key_of(d->text.data + m->at, m->len);
}

/* The key of `problem`: an object with `hash`. *key stays where there is none. */
static enum kg_code problem_of(const json_t *j, bool needed, const char *source, uint64_t *key,
                               struct kg_err *err)
{
    const json_t *problem = json_object_get(j, "problem"), *hash;
    char where[400];
    if (problem == NULL && !needed) {
        return KG_OK;
    }
    if (!json_is_object(problem)) {
        return kg_fail(err, KG_E_INPUT, "%s: `problem` %s", source,
                       problem == NULL ? "is missing" : "is no object");
    }
    snprintf(where, sizeof where, "%.300s: problem", source);
    if (text_of(problem, "hash", false, where, &hash, err) != KG_OK) {
        return err->code;
    }
    return rl_data_key(json_string_value(hash), key)
               ? KG_OK
               : kg_fail(err, KG_E_INPUT, "%s: `hash` is not 64 hexadecimal digits", where);
}

static enum kg_code chat(struct rl_data *d, const json_t *j, const char *source, struct kg_err *err)
{
    const json_t *messages = json_object_get(j, "messages"), *m;
    struct rl_conversation *c = &d->conversation[d->n];
    size_t i;
    enum kg_code code = must_be_nothing(j, "tools", source, err);
    if (code != KG_OK) {
        return code;
    }
    if (!json_is_array(messages) || json_array_size(messages) > MAX_TURNS) {
        return kg_fail(err, KG_E_INPUT, "%s: `messages` is no array of at most %d", source,
                       MAX_TURNS);
    }
    json_array_foreach(messages, i, m)
    {
        code = code == KG_OK ? chat_message(d, m, i, source, err) : code;
    }
    if (code != KG_OK) {
        return code;
    }
    c->problem = c->n > 0 ? first_user(d) : 0;
    code = problem_of(j, false, source, &c->problem, err);
    d->counts.chats += code == KG_OK;
    if (code == KG_OK && !rl_data_keep(d)) {
        code = kg_fail(err, KG_E_INPUT, "%s: no message of an assistant to train on", source);
        d->counts.chats--;
    }
    return code;
}

/* --- trajectories --- */

struct turn {
    const json_t *reply, *feedback;
    bool judged, correct, whole;
    double speedup;
};

static enum kg_code read_turn(const json_t *j, const char *where, struct turn *t,
                              struct kg_err *err)
{
    const json_t *finish, *verdict;
    if (!json_is_object(j)) {
        return kg_fail(err, KG_E_INPUT, "%s: not an object", where);
    }
    if (text_of(j, "reply", false, where, &t->reply, err) != KG_OK ||
        text_of(j, "finish", false, where, &finish, err) != KG_OK ||
        text_of(j, "verdict", false, where, &verdict, err) != KG_OK ||
        text_of(j, "feedback", true, where, &t->feedback, err) != KG_OK) {
        return err->code;
    }
    const json_t *correct = json_object_get(json_object_get(j, "extra"), "correct");
    const json_t *speedup = json_object_get(j, "speedup");
    if (speedup != NULL && !json_is_number(speedup) && !json_is_null(speedup)) {
        return kg_fail(err, KG_E_INPUT, "%s: `speedup` is neither a number nor null", where);
    }
    t->judged = json_string_length(verdict) > 0;
    t->correct = json_is_integer(correct) ? json_integer_value(correct) == 1
                                          : strcmp(json_string_value(verdict), "ok") == 0;
    t->whole = strcmp(json_string_value(finish), "stop") == 0;
    t->speedup = t->correct && json_is_number(speedup) ? json_number_value(speedup) : 0;
    return KG_OK;
}

/* *best: of the correct turns so far; below 0: there is none. */
static bool trains(enum rl_data_turns turns, const struct turn *t, double *best)
{
    bool better = t->correct && t->speedup > *best;
    *best = better ? t->speedup : *best;
    return t->judged && t->whole && (turns == RL_DATA_ALL || better);
}

static enum kg_code add_turns(struct rl_data *d, const json_t *turns, const char *source,
                              bool *solved, struct kg_err *err)
{
    size_t n = json_array_size(turns);
    double best = -1;
    for (size_t i = 0; i < n; i++) {
        char where[400];
        struct turn t = {0};
        snprintf(where, sizeof where, "%.300s: turn %zu", source, i + 1);
        if (read_turn(json_array_get(turns, i), where, &t, err) != KG_OK) {
            return err->code;
        }
        if (i + 1 < n && t.feedback == NULL) {
            return kg_fail(err, KG_E_INPUT, "%s: `feedback` is null, and a turn follows", where);
        }
        *solved |= t.correct;
        if (rl_data_add(d, LM_CHAT_ASSISTANT, t.reply, trains(d->turns, &t, &best), err) != KG_OK ||
            (i + 1 < n && rl_data_add(d, LM_CHAT_USER, t.feedback, false, err) != KG_OK)) {
            return err->code;
        }
    }
    return KG_OK;
}

/* The gym lost all of its turns. Then no record says which problem it was about: `hash` is "". */
static bool all_lost(const json_t *turns)
{
    size_t i, lost = 0;
    const json_t *t;
    json_array_foreach((json_t *)(uintptr_t)turns, i, t)
    {
        const char *verdict = json_string_value(json_object_get(t, "verdict"));
        lost += verdict != NULL && verdict[0] == '\0';
    }
    return lost > 0 && lost == json_array_size(turns);
}

/* Keeps the trajectory that was read, or counts why not. */
static void count(struct rl_data *d, const char *end, bool solved)
{
    bool defect = strcmp(end, "defect") == 0;
    d->counts.trajectories++;
    d->counts.defective += defect;
    d->counts.unsolved += !defect && (!solved || !rl_data_keep(d));
}

static enum kg_code trajectory(struct rl_data *d, const json_t *j, const char *source,
                               struct kg_err *err)
{
    const json_t *system, *prompt, *end, *turns = json_object_get(j, "turns");
    struct rl_conversation *c = &d->conversation[d->n];
    bool solved = false;
    if (all_lost(turns)) { /* nothing to learn from, and no mistake of the file's */
        end = json_object_get(j, "end");
        count(d, json_is_string(end) ? json_string_value(end) : "", false);
        return KG_OK;
    }
    if (problem_of(j, true, source, &c->problem, err) != KG_OK ||
        text_of(j, "system", true, source, &system, err) != KG_OK ||
        text_of(j, "prompt", false, source, &prompt, err) != KG_OK ||
        text_of(j, "end", false, source, &end, err) != KG_OK) {
        return err->code;
    }
    if (!json_is_array(turns) || json_array_size(turns) < 1 || json_array_size(turns) > MAX_TURNS) {
        return kg_fail(err, KG_E_INPUT, "%s: `turns` is no array of 1 to %d", source, MAX_TURNS);
    }
    if ((system != NULL && rl_data_add(d, LM_CHAT_SYSTEM, system, false, err) != KG_OK) ||
        rl_data_add(d, LM_CHAT_USER, prompt, false, err) != KG_OK ||
        add_turns(d, turns, source, &solved, err) != KG_OK) {
        return err->code;
    }
    count(d, json_string_value(end), solved);
    return KG_OK;
}

enum kg_code rl_data_read(struct rl_data *d, const json_t *j, const char *source,
                          struct kg_err *err)
{
    const char *schema = json_string_value(json_object_get(j, "schema"));
    if (schema != NULL && strcmp(schema, SCHEMA) == 0) {
        return trajectory(d, j, source, err);
    }
    if (schema == NULL && json_object_get(j, "messages") != NULL) {
        return chat(d, j, source, err);
    }
    return schema != NULL
               ? kg_fail(err, KG_E_INPUT, "%s: `schema` is %.60s, not " SCHEMA, source, schema)
               : kg_fail(err, KG_E_INPUT,
                         "%s: neither a trajectory (\"schema\": \"" SCHEMA
                         "\") nor a chat (\"messages\")",
                         source);
}
