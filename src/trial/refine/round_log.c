/* Keeps the lines that were there, and appends; a round that got its verdict late replaces its
 * line.
 */
#include "trial/refine/round_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "trial/bench/key.h"
#include "trial/drive/lines.h"

struct tr_round_log {
    char *path;
    struct tr_lines *file;
    json_t *line; /* array of all */
};

static enum kg_code no_memory(struct kg_err *err)
{
    return kg_fail_memory(err, KG_E_HOST, "rounds.jsonl: no memory");
}

static void take(void *user, const json_t *line)
{
    json_array_append(((struct tr_round_log *)user)->line, (json_t *)(uintptr_t)line);
}

enum kg_code tr_round_log_open(const char *folder, struct tr_round_log **out, struct kg_err *err)
{
    struct tr_round_log *l = calloc(1, sizeof *l);
    *out = NULL;
    if (l == NULL || asprintf(&l->path, "%s/rounds.jsonl", folder) < 0) {
        free(l);
        return no_memory(err);
    }
    l->line = json_array();
    if (tr_lines_open(l->path, "key", take, l, &l->file, err) != KG_OK) {
        tr_round_log_close(l);
        return err->code;
    }
    *out = l;
    return KG_OK;
}

void tr_round_log_close(struct tr_round_log *l)
{
    if (l != NULL) {
        tr_lines_close(l->file);
        json_decref(l->line);
        free(l->path);
        free(l);
    }
}

/* A further try brings nothing: it has a verdict, and that of judging it again if it was. */
static bool settled(const json_t *line)
{
    const char *state = json_string_value(json_object_get(line, "state"));
    const json_t *again = json_object_get(line, "again");
    return state != NULL && strcmp(state, "judged") == 0 &&
           (!json_is_object(again) || json_is_string(json_object_get(again, "verdict")));
}

/* A round ends without one only where the model was asked in vain, or had no room. */
static bool replied(const json_t *line)
{
    return json_is_string(json_object_get(line, "finish"));
}

int tr_round_log_last(const struct tr_round_log *l)
{
    size_t n = json_array_size(l->line);
    while (n > 0 && !replied(json_array_get(l->line, n - 1))) {
        n--;
    }
    return (int)n;
}

bool tr_round_log_has(const struct tr_round_log *l, int round)
{
    return settled(json_array_get(l->line, (size_t)round - 1));
}

/* --- writing --- */

static enum kg_code append(struct tr_round_log *l, json_t *line, struct kg_err *err)
{
    const char *key = json_string_value(json_object_get(line, "key"));
    enum kg_code code =
        key != NULL ? tr_lines_append_json(l->file, key, line, err) : no_memory(err);
    code = code == KG_OK ? tr_lines_sync(l->file, err) : code;
    return code == KG_OK && json_array_append(l->line, line) != 0 ? no_memory(err) : code;
}

/* Replaces the file as a whole. */
static enum kg_code replace(struct tr_round_log *l, size_t at, json_t *line, struct kg_err *err)
{
    struct kg_buf text;
    struct tr_lines *file = NULL;
    size_t i;
    const json_t *each;
    if (json_array_set(l->line, at, line) != 0) {
        return no_memory(err);
    }
    kg_buf_init(&text, TR_LINE_BYTES);
    json_array_foreach(l->line, i, each)
    {
        kg_json_dump(each, &text);
        kg_buf_addc(&text, '\n');
    }
    enum kg_code code =
        kg_buf_ok(&text) ? kg_file_write_atomic(l->path, text.data, text.len, err) : no_memory(err);
    kg_buf_deinit(&text);
    code = code == KG_OK ? tr_lines_open(l->path, "key", NULL, NULL, &file, err) : code;
    if (code == KG_OK) {
        tr_lines_close(l->file);
        l->file = file;
    }
    return code;
}

enum kg_code tr_round_log_add(struct tr_round_log *l, const char *problem, const struct tr_round *r,
                              struct kg_err *err)
{
    size_t at = (size_t)r->round - 1;
    const json_t *old = json_array_get(l->line, at);
    if (old != NULL && settled(old)) {
        return KG_OK;
    }
    json_t *line = tr_round_json(problem, r);
    enum kg_code code = old == NULL     ? append(l, line, err)
                        : settled(line) ? replace(l, at, line, err)
                                        : KG_OK;
    json_decref(line);
    return code;
}

/* Members that say how a round stands to those before it. */
static const char *const standing[] = {"new_best", "best_round", "best_speedup"};
enum { STANDING = sizeof standing / sizeof *standing };

static bool stands(const json_t *old, const json_t *now)
{
    bool same = true;
    for (int i = 0; i < STANDING; i++) {
        same = same &&
               json_equal(json_object_get(old, standing[i]), json_object_get(now, standing[i]));
    }
    return same;
}

static void copy_member(json_t *to, const json_t *from, const char *key)
{
    json_object_set(to, key, json_object_get(from, key));
}

enum kg_code tr_round_log_follow(struct tr_round_log *l, const char *problem,
                                 const struct tr_round *r, struct kg_err *err)
{
    size_t at = (size_t)r->round - 1;
    const json_t *old = json_array_get(l->line, at);
    if (old == NULL || !settled(old)) {
        return KG_OK;
    }
    json_t *now = tr_round_json(problem, r), *line = json_copy((json_t *)(uintptr_t)old);
    enum kg_code code = now != NULL && line != NULL ? KG_OK : no_memory(err);
    if (code == KG_OK && !stands(old, now)) {
        for (int i = 0; i < STANDING; i++) {
            copy_member(line, now, standing[i]);
        }
        if (r->tried) { /* else a second verdict of an earlier command stays */
            copy_member(line, now, "again");
            copy_member(line, now, "message");
        }
        code = replace(l, at, line, err);
    }
    json_decref(now);
    json_decref(line);
    return code;
}

/* --- reading --- */

int tr_round_log_last_best(const struct tr_round_log *l)
{
    size_t n = json_array_size(l->line);
    while (n > 0 && !json_is_true(json_object_get(json_array_get(l->line, n - 1), "new_best"))) {
        n--;
    }
    return (int)n;
}

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static void text(const json_t *o, const char *key, char *out, size_t cap)
{
    const char *s = json_string_value(json_object_get(o, key));
    snprintf(out, cap, "%s", s != NULL ? s : "");
}

bool tr_round_log_again(const struct tr_round_log *l, uint32_t sample, uint32_t turn,
                        struct tr_again *out)
{
    size_t i;
    const json_t *line;
    *out = (struct tr_again){.judged = false};
    json_array_foreach(l->line, i, line)
    {
        const json_t *a = json_object_get(line, "again");
        bool same = json_integer_value(json_object_get(line, "sample")) == sample &&
                    json_integer_value(json_object_get(line, "turn")) == turn;
        if (!same || !json_is_string(json_object_get(a, "verdict"))) {
            continue;
        }
        out->judged = true;
        out->correct = json_is_true(json_object_get(a, "correct"));
        out->speedup = number(a, "speedup");
        out->speedup_lo = number(a, "speedup_lo");
        out->speedup_hi = number(a, "speedup_hi");
        text(a, "verdict", out->verdict, sizeof out->verdict);
        text(a, "record", out->record_hash, sizeof out->record_hash);
        text(a, "message", out->message, sizeof out->message);
        return true;
    }
    return false;
}

int64_t tr_round_log_window(const struct tr_round_log *l)
{
    int64_t least = 0;
    size_t i;
    const json_t *line;
    json_array_foreach(l->line, i, line)
    {
        int64_t w = json_integer_value(json_object_get(line, "window"));
        least = w > 0 && (least == 0 || w < least) ? w : least;
    }
    return least;
}

int64_t tr_round_log_window_of(const struct tr_round_log *l, int round)
{
    const json_t *line = json_array_get(l->line, (size_t)round - 1);
    const json_t *w = json_object_get(line, "window");
    return replied(line) && json_is_integer(w) ? json_integer_value(w) : -1;
}

/* --- a line --- */

static void put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value != NULL ? value : json_null());
}

static json_t *words(const char *s)
{
    return kg_json_text(s, strlen(s));
}

static json_t *again_json(const struct tr_round *r)
{
    const struct tr_again *a = &r->again;
    json_t *o = json_object();
    if (!r->tried) {
        json_decref(o);
        return json_null();
    }
    put(o, "verdict", a->judged ? words(a->verdict) : json_null());
    put(o, "correct", json_boolean(a->judged && a->correct));
    put(o, "speedup", a->judged ? kg_json_real(a->speedup) : NULL);
    put(o, "speedup_lo", a->judged ? kg_json_real(a->speedup_lo) : NULL);
    put(o, "speedup_hi", a->judged ? kg_json_real(a->speedup_hi) : NULL);
    put(o, "record", a->record_hash[0] != '\0' ? words(a->record_hash) : json_null());
    put(o, "message", words(a->message));
    return o;
}

static void put_turn(json_t *o, const struct tr_turn *t)
{
    static const char *const state[] = {"judged", "no_verdict", "defect", "no_reply"};
    const struct tr_reply *y = t != NULL ? t->reply : NULL;
    bool judged = t != NULL && t->state == TR_JUDGED;
    put(o, "state", json_string(t != NULL ? state[t->state] : "no_room"));
    put(o, "tokens_in", y ? json_integer(y->usage.tokens_in) : NULL);
    put(o, "tokens_out", y ? json_integer(y->usage.tokens_out) : NULL);
    put(o, "finish", y ? json_string(tr_finish_name(y->finish)) : NULL);
    put(o, "verdict", words(judged ? t->verdict : ""));
    put(o, "reason", words(judged ? t->reason : ""));
    put(o, "correct", json_boolean(judged && t->correct));
    put(o, "speedup", judged ? kg_json_real(t->speedup) : NULL);
    put(o, "speedup_lo", judged ? kg_json_real(t->speedup_lo) : NULL);
    put(o, "speedup_hi", judged ? kg_json_real(t->speedup_hi) : NULL);
    put(o, "coverage", judged ? kg_json_real(t->coverage) : NULL);
    put(o, "reward", judged ? kg_json_real(t->reward) : NULL);
    put(o, "record", judged ? words(t->record_hash) : NULL);
}

json_t *tr_round_json(const char *problem, const struct tr_round *r)
{
    json_t *o = json_object(), *shown = json_array();
    char why[240], key[TR_KEY_BYTES];
    put(o, "round", json_integer(r->round));
    put(o, "sample", json_integer(r->sample));
    put(o, "turn", json_integer(r->turn));
    tr_key_write(problem, r->sample, r->turn, key);
    put(o, "key", words(key));
    for (int i = 0; i < r->nshown; i++) {
        json_array_append_new(shown, json_integer(r->shown[i]));
    }
    put(o, "context", shown);
    put(o, "shrunk", json_boolean(r->shrunk));
    put(o, "tokens_context", json_integer(r->tokens));
    put(o, "window", json_integer(r->context));
    put_turn(o, r->result);
    put(o, "again", again_json(r));
    put(o, "new_best", json_boolean(r->new_best));
    put(o, "best_round", r->best > 0 ? json_integer(r->best) : NULL);
    put(o, "best_speedup", r->best > 0 && r->best_speedup > 0 ? json_real(r->best_speedup) : NULL);
    tr_round_why(r, why, sizeof why);
    put(o, "message", words(why));
    return o;
}

void tr_round_why(const struct tr_round *r, char *out, size_t cap)
{
    const struct tr_turn *t = r->result;
    struct kg_err unused = KG_ERR_INIT;
    json_t *record = NULL;
    out[0] = '\0';
    if (t == NULL) {
        snprintf(out, cap, "the conversation has no room for a further turn");
    } else if (t->state != TR_JUDGED) {
        snprintf(out, cap, "%s", t->err.message);
    } else if (!t->correct && t->record != NULL &&
               kg_json_parse(t->record, t->record_len, "record", &record, &unused) == KG_OK) {
        const char *s = json_string_value(json_object_get(record, "message"));
        snprintf(out, cap, "%s", s != NULL ? s : t->verdict);
    } else if (r->tried && !r->new_best) {
        snprintf(out, cap, "judged again: %s",
                 !r->again.judged    ? "no verdict"
                 : !r->again.correct ? r->again.verdict
                                     : "not faster than the best");
    }
    json_decref(record);
}
