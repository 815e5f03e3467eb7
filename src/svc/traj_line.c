/* The texts of a trajectory that has been read (traj_told.h). */
#include <math.h>
#include <string.h>

#include "svc/traj_told.h"

static void put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static json_t *or_null(const json_t *value)
{
    return value != NULL ? json_incref((json_t *)(uintptr_t)value) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? kg_json_text(text, strlen(text)) : json_null();
}

static json_t *time_or_null(int64_t ms)
{
    return ms > 0 ? json_real((double)ms / 1000) : json_null();
}

static const char *state_of(const struct kg_svc_told *t)
{
    return t->row.seq > 0 ? "ended" : "open";
}

/* Adds o without its last brace; the caller goes on. */
static void begin(struct kg_buf *out, json_t *o)
{
    kg_json_dump(o, out);
    json_decref(o);
}

static json_t *name_and_level(const struct kg_svc_told *t)
{
    const json_t *about = NULL;
    for (size_t i = 0; i < t->n && about == NULL; i++) {
        about = json_object_get(t->turn[i].parsed, "problem");
    }
    const json_t *hash = json_object_get(about, "sha256");
    return json_pack("{s:s, s:o, s:o}", "name", t->row.problem, "hash",
                     hash != NULL ? or_null(hash) : json_string(""), "level",
                     or_null(json_object_get(about, "level")));
}

/* SHA-256 of the resolved configuration, as the records have it. */
static void configuration(const struct kg_svc_told *t, char out[KG_SHA256_HEX])
{
    struct kg_buf text;
    const json_t *config = NULL;
    for (size_t i = 0; i < t->n && config == NULL; i++) {
        config = json_object_get(t->turn[i].parsed, "config");
    }
    out[0] = '\0';
    if (config != NULL) {
        kg_buf_init(&text, 1u << 20);
        kg_json_dump(config, &text);
        kg_sha256_hex(text.data, text.len, out);
        kg_buf_deinit(&text);
    }
}

/* {preset: value}; {} where there is no verdict of the candidate's. */
static json_t *rewards_of(const struct kg_svc_told_turn *t)
{
    json_t *out = json_object(), *reward;
    const char *preset;
    if (t->state == KG_SVC_TURN_JUDGED) {
        json_object_foreach(json_object_get(t->parsed, "rewards"), preset, reward)
        {
            put(out, preset, or_null(json_object_get(reward, "value")));
        }
    }
    return out;
}

static json_t *text_of(const json_t *record, const char *name)
{
    const json_t *v = json_object_get(record, name);
    return json_is_string(v) ? or_null(v) : json_string("");
}

/* What a record says of a turn, in the words of docs/trajectory.md. */
static void put_judged(json_t *o, const struct kg_svc_told_turn *t)
{
    const json_t *speedup = json_object_get(t->parsed, "speedup");
    char sum[KG_SHA256_HEX];
    bool verdict = json_is_string(json_object_get(t->parsed, "verdict"));
    kg_sha256_hex(t->record.data, t->record.len, sum);
    put(o, "record", verdict ? json_string(sum) : json_null());
    put(o, "verdict", text_of(t->parsed, "verdict"));
    put(o, "reason", text_of(t->parsed, "reason"));
    put(o, "speedup", or_null(json_object_get(speedup, "ratio")));
    put(o, "speedup_lo", or_null(json_object_get(speedup, "lo")));
    put(o, "coverage", or_null(json_object_get(t->parsed, "coverage")));
    put(o, "rewards", rewards_of(t));
}

static void put_state(json_t *o, const struct kg_svc_told_turn *t)
{
    put(o, "state", json_string(kg_svc_turn_state_name(t->state)));
    put(o, "evaluation", json_string(t->row.job));
    put(o, "error", or_null(t->error));
}

static json_t *best_of(const struct kg_svc_told *t, const char *preset)
{
    int best = kg_svc_told_best(t, preset);
    return best >= 0 ? json_integer(best + 1) : json_null();
}

/* --- messages --- */

static void say(json_t *messages, const char *role, const json_t *content)
{
    json_array_append_new(messages,
                          json_pack("{s:s, s:o}", "role", role, "content", or_null(content)));
}

json_t *kg_svc_told_messages(const struct kg_svc_told *t, size_t turns)
{
    json_t *messages = json_array();
    const json_t *system = json_object_get(t->opened, "system");
    if (json_is_string(system)) {
        say(messages, "system", system);
    }
    say(messages, "user", json_object_get(t->opened, "prompt"));
    for (size_t i = 0; i < turns && i < t->n; i++) {
        const struct kg_svc_told_turn *turn = &t->turn[i];
        say(messages, "assistant", json_object_get(turn->sent, "reply"));
        if (turn->feedback != NULL && (int64_t)i + 1 < t->row.most_turns) {
            json_t *told = kg_json_text(turn->feedback, strlen(turn->feedback));
            say(messages, "user", told);
            json_decref(told);
        }
    }
    return messages;
}

void kg_svc_told_opened(const struct kg_svc_told *t, struct kg_buf *out)
{
    begin(out, json_pack("{s:s, s:s, s:o, s:s, s:o, s:I, s:I, s:b, s:o, s:o}", "id", t->row.id,
                         "problem", t->row.problem, "group", text_or_null(t->row.group), "state",
                         state_of(t), "end", text_or_null(t->row.end), "max_turns",
                         (json_int_t)t->row.most_turns, "turns", (json_int_t)t->n, "done",
                         kg_svc_told_is_done(t), "best", best_of(t, NULL), "messages",
                         kg_svc_told_messages(t, t->n)));
    kg_svc_traj_splice(out, "meta", t->meta, "null");
}

/* --- one turn --- */

void kg_svc_told_turn(const struct kg_svc_told *t, size_t i, bool content, struct kg_buf *out)
{
    const struct kg_svc_told_turn *turn = &t->turn[i];
    const struct kg_svc_slice record = {turn->record.len > 0 ? turn->record.data : NULL,
                                        turn->record.len};
    double reward;
    json_t *o = json_pack("{s:s, s:I}", "trajectory", t->row.id, "n", (json_int_t)i + 1);
    put_state(o, turn);
    put(o, "verdict", or_null(json_object_get(turn->parsed, "verdict")));
    put(o, "reason", or_null(json_object_get(turn->parsed, "reason")));
    put(o, "rewards", rewards_of(turn));
    put(o, "reward", kg_svc_told_reward(turn, NULL, &reward) ? json_real(reward) : json_null());
    put(o, "feedback", text_or_null(turn->feedback));
    put(o, "done", json_boolean(kg_svc_told_is_done(t)));
    put(o, "best", best_of(t, NULL));
    if (content) {
        put(o, "reply", or_null(json_object_get(turn->sent, "reply")));
        put(o, "finish", or_null(json_object_get(turn->sent, "finish")));
    }
    begin(out, o);
    if (content) {
        kg_svc_traj_splice(out, "usage", turn->usage, "null");
        kg_svc_traj_splice(out, "extra", turn->extra, "null");
    }
    kg_svc_traj_splice(out, "record", record, "null");
}

/* Members of a turn in a file of trajectories. last: nothing was said after it. */
static void put_turn(json_t *o, const struct kg_svc_told_turn *turn, size_t i, bool last)
{
    put(o, "turn", json_integer((json_int_t)i + 1));
    put(o, "reply", or_null(json_object_get(turn->sent, "reply")));
    put(o, "finish", or_null(json_object_get(turn->sent, "finish")));
    put_judged(o, turn);
    put(o, "feedback", last ? json_null() : text_or_null(turn->feedback));
    put(o, "shared", json_false());
    put_state(o, turn);
}

static void end_turn(struct kg_buf *out, const struct kg_svc_told_turn *turn, bool extra)
{
    static const struct kg_svc_slice none = {NULL, 0};
    kg_svc_traj_splice(out, "usage", turn->usage, "null");
    kg_svc_traj_splice(out, "extra", extra ? turn->extra : none, "{}");
}

/* --- whole --- */

static json_t *head_of(const struct kg_svc_told *t)
{
    char config[KG_SHA256_HEX];
    json_t *o = json_object(), *about = json_object();
    configuration(t, config);
    put(o, "schema", json_string("kgym.trajectory/1"));
    put(o, "id", json_string(t->row.id));
    put(o, "group", json_string(t->row.group[0] != '\0' ? t->row.group : t->row.id));
    put(o, "problem", name_and_level(t));
    put(o, "configuration", json_string(config));
    put(o, "source", json_string("serve"));
    put(o, "system", or_null(json_object_get(t->opened, "system")));
    put(o, "prompt", or_null(json_object_get(t->opened, "prompt")));
    put(o, "end", json_string(t->row.seq > 0 ? t->row.end : "open"));
    put(o, "best", best_of(t, NULL));
    static const char *const kept[] = {"preset", "set", "rewards", "language", "priority"};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        put(about, kept[i], or_null(json_object_get(t->opened, kept[i])));
    }
    put(about, "turns", json_integer(t->row.most_turns));
    put(about, "idle_s", json_real((double)t->row.idle_ms / 1000));
    put(about, "created", time_or_null(t->row.created_ms));
    put(about, "ended", time_or_null(t->row.ended_ms));
    put(o, "extra", about);
    return o;
}

void kg_svc_told_line(const struct kg_svc_told *t, bool extra, struct kg_buf *out)
{
    size_t from = out->len;
    begin(out, head_of(t));
    kg_svc_traj_splice(out, "meta", t->meta, "null");
    kg_svc_traj_splice(out, "turns", (struct kg_svc_slice){NULL, 0}, "[");
    out->len--; /* the brace after the bracket */
    for (size_t i = 0; i < t->n; i++) {
        json_t *o = json_object();
        put_turn(o, &t->turn[i], i, t->row.seq > 0 && i + 1 == t->n);
        kg_buf_adds(out, i > 0 ? "," : "");
        begin(out, o);
        end_turn(out, &t->turn[i], extra);
    }
    kg_buf_adds(out, "]}");
    kg_svc_traj_one_line(out->data + from, out->len - from);
}

void kg_svc_told_chat(const struct kg_svc_told *t, const char *preset, struct kg_buf *out)
{
    double reward = (double)NAN;
    size_t from = out->len, judged = 0;
    int best = kg_svc_told_best(t, preset);
    while (judged < t->n && t->turn[judged].state == KG_SVC_TURN_JUDGED) {
        judged++;
    }
    json_t *messages = kg_svc_told_messages(t, judged);
    if (json_array_size(messages) > 0 && judged > 0) {
        const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
        if (strcmp(json_string_value(json_object_get(last, "role")), "user") == 0) {
            json_array_remove(messages, json_array_size(messages) - 1); /* nobody answered it */
        }
    }
    bool paid = best >= 0 && kg_svc_told_reward(&t->turn[best], preset, &reward);
    begin(out,
          json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "id", t->row.id, "problem",
                    t->row.problem, "group", text_or_null(t->row.group), "best", best_of(t, preset),
                    "verdict", best >= 0 ? text_of(t->turn[best].parsed, "verdict") : json_null(),
                    "reward", paid ? json_real(reward) : json_null(), "messages", messages));
    kg_svc_traj_splice(out, "meta", t->meta, "null");
    kg_svc_traj_one_line(out->data + from, out->len - from);
}

void kg_svc_told_row(const struct kg_svc_told *t, size_t i, const char *preset, bool extra,
                     struct kg_buf *out)
{
    size_t from = out->len;
    double reward;
    const struct kg_svc_told_turn *turn = &t->turn[i];
    json_t *o =
        json_pack("{s:s, s:s, s:o, s:o}", "trajectory", t->row.id, "problem", t->row.problem,
                  "group", text_or_null(t->row.group), "messages", kg_svc_told_messages(t, i));
    put_turn(o, turn, i, i + 1 == t->n);
    put(o, "reward", kg_svc_told_reward(turn, preset, &reward) ? json_real(reward) : json_null());
    begin(out, o);
    end_turn(out, turn, extra);
    kg_svc_traj_splice(out, "meta", t->meta, "null");
    kg_svc_traj_one_line(out->data + from, out->len - from);
}
