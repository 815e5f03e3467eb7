/* Lines of replies.jsonl, records.jsonl, full.jsonl and trajectories.jsonl into turns. */
#include "trial/bench/turns_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "trial/bench/key.h"

#define MOST_TOKENS 1000000000000 /* of one reply; beyond it a count is a mistake */

static void note(struct tr_turns_reader *r, const char *text)
{
    if (!r->quiet) {
        size_t at = r->b->left_out++;
        if (at < TR_BENCH_NOTES) {
            r->b->note[at] = strdup(text);
        }
    }
}

bool tr_turns_leave(struct tr_turns_reader *r, const char *fmt, ...)
{
    char why[400], all[480];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    snprintf(all, sizeof all, "%s:%zu: %s", r->file, r->line, why);
    note(r, all);
    return false;
}

/* --- keys --- */

struct tr_bench_turn *tr_turns_place(struct tr_turns_reader *r, const json_t *line,
                                     const char *member, bool turn, size_t *problem)
{
    const char *key = json_string_value(json_object_get(line, member));
    size_t len;
    uint32_t s, t = 1;
    if (key == NULL || !tr_key_read(key, &len, &s, turn ? &t : NULL)) {
        (void)tr_turns_leave(r, "`%s` names no turn", member);
        return NULL;
    }
    *problem = tr_bench_find(r->b, key, len);
    if (*problem == r->b->problems || s > r->b->samples || t > r->b->turns) {
        (void)tr_turns_leave(r, "`%.100s` is no turn of this run", key);
        return NULL;
    }
    return tr_bench_turn(r->b, *problem, s - 1, t - 1);
}

/* --- one line --- */

static bool tokens(const json_t *line, const char *member, int64_t *out)
{
    const json_t *v = json_object_get(line, member);
    *out = json_integer_value(v);
    return json_is_integer(v) && *out >= 0 && *out <= MOST_TOKENS;
}

bool tr_turns_reply(struct tr_turns_reader *r, json_t *line)
{
    size_t problem;
    int64_t in, out;
    const char *finish = json_string_value(json_object_get(line, "finish"));
    if (finish == NULL || !tokens(line, "tokens_in", &in) || !tokens(line, "tokens_out", &out)) {
        return tr_turns_leave(r, "no `finish`, `tokens_in` or `tokens_out` as a reply has them");
    }
    struct tr_bench_turn *t = tr_turns_place(r, line, "key", true, &problem);
    if (t == NULL) {
        return false;
    }
    t->replied = true;
    t->cut = strcmp(finish, "length") == 0;
    t->tokens_in += in;
    t->tokens_out += out;
    return true;
}

static void look_at_device(struct tr_bench *b, const json_t *record)
{
    const json_t *e = json_object_get(record, "environment");
    const char *name = json_string_value(json_object_get(e, "device_name"));
    name = name != NULL && *name ? name : json_string_value(json_object_get(e, "cpu"));
    char full[sizeof b->device];
    if (name == NULL || *name == '\0') {
        return;
    }
    snprintf(full, sizeof full, "%s", name);
    if (*b->device == '\0') {
        memcpy(b->device, full, sizeof full);
    }
    b->devices_differ = b->devices_differ || strcmp(b->device, full) != 0;
}

bool tr_turns_record(struct tr_turns_reader *r, json_t *line)
{
    struct tr_facts facts;
    size_t problem;
    if (!tr_facts_read(line, &facts)) {
        return tr_turns_leave(r, "not a record (kgym.record/1)");
    }
    struct tr_bench_turn *t = tr_turns_place(r, line, "batch_id", true, &problem);
    if (t == NULL) {
        return false;
    }
    t->facts = facts;
    look_at_device(r->b, line);
    if (facts.state == TR_FACT_DEFECT) {
        const char *why =
            json_string_value(json_object_get(json_object_get(line, "error"), "message"));
        struct tr_bench_problem *p = &r->b->problem[problem];
        snprintf(p->why, sizeof p->why, "%s", why != NULL ? why : "");
    }
    return true;
}

/* A conversation whose turn had no room; where that has a reply since, it went on. */
bool tr_turns_full(struct tr_turns_reader *r, json_t *line)
{
    size_t problem;
    json_int_t turn = json_integer_value(json_object_get(line, "turn"));
    const struct tr_bench_turn *t = tr_turns_place(r, line, "id", false, &problem);
    if (t == NULL) {
        return false;
    }
    if (turn < 1 || turn > (json_int_t)r->b->turns) {
        return tr_turns_leave(r, "no `turn` of this run");
    }
    if (!t[turn - 1].replied) {
        r->b->ended[(size_t)(t - r->b->turn) / r->b->turns] = TR_BENCH_DONE;
    }
    return true;
}

/* It had no room for another turn, and that turn has come no more. */
static bool is_full(const struct tr_bench *b, const struct tr_bench_turn *t, const json_t *line)
{
    const char *end = json_string_value(json_object_get(line, "end"));
    const json_t *turns = json_object_get(line, "turns");
    size_t n = json_is_array(turns) ? json_array_size(turns) : b->turns;
    return end != NULL && strcmp(end, "full") == 0 && !(n < b->turns && t[n].replied);
}

bool tr_turns_trajectory(struct tr_turns_reader *r, json_t *line)
{
    size_t problem;
    const char *end = json_string_value(json_object_get(line, "end"));
    const struct tr_bench_turn *t = tr_turns_place(r, line, "id", false, &problem);
    if (t == NULL) {
        return false;
    }
    bool done = end != NULL && (strcmp(end, "done") == 0 || is_full(r->b, t, line));
    bool defect = end != NULL && strcmp(end, "defect") == 0;
    r->b->ended[(size_t)(t - r->b->turn) / r->b->turns] = done     ? TR_BENCH_DONE
                                                          : defect ? TR_BENCH_DEFECT
                                                                   : TR_BENCH_OPEN;
    return true;
}

/* --- all lines --- */

static void take_text(struct tr_turns_reader *r, const struct kg_buf *text, tr_turns_take *take)
{
    struct kg_err err = KG_ERR_INIT;
    char source[100];
    json_t *line = NULL;
    snprintf(source, sizeof source, "%s:%zu", r->file, ++r->line);
    if (!kg_buf_ok(text)) {
        (void)tr_turns_leave(r, "more than %d MB", TR_BENCH_MOST_LINE >> 20);
    } else if (text->len == strspn(text->data, " \t\r")) {
        return;
    } else if (kg_json_parse_line(text->data, text->len, source, &line, &err) != KG_OK) {
        note(r, err.message);
    } else if (json_is_object(line)) {
        (void)take(r, line);
    } else {
        (void)tr_turns_leave(r, "not an object");
    }
    json_decref(line);
}

enum kg_code tr_turns_stream(struct tr_turns_reader *r, FILE *f, tr_turns_take *take,
                             struct kg_err *err)
{
    static const size_t part = 1 << 16;
    struct kg_buf text;
    size_t n;
    char *chunk = malloc(part);
    if (chunk == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: no memory", r->file);
    }
    kg_buf_init(&text, TR_BENCH_MOST_LINE);
    while ((n = fread(chunk, 1, part, f)) > 0) {
        for (const char *at = chunk, *end = chunk + n; at < end;) {
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            kg_buf_add(&text, at, (size_t)((stop != NULL ? stop : end) - at));
            at = stop != NULL ? stop + 1 : end;
            if (stop != NULL) {
                take_text(r, &text, take);
                kg_buf_reset(&text);
            }
        }
    }
    if (text.len > 0) {
        r->line++;
        (void)tr_turns_leave(r, "the last line has no end: its writer was killed, or writes on");
    }
    kg_buf_deinit(&text);
    free(chunk);
    return ferror(f) ? kg_fail(err, KG_E_IO, "%s/%s: cannot read: %s", r->b->folder, r->file,
                               strerror(errno))
                     : KG_OK;
}

enum kg_code tr_turns_lines(struct tr_turns_reader *r, tr_turns_take *take, struct kg_err *err)
{
    char path[4096];
    r->line = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", r->b->folder, r->file) >= sizeof path) {
        return kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", r->b->folder);
    }
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return errno == ENOENT
                   ? KG_OK
                   : kg_fail(err, KG_E_IO, "%s: cannot read: %s", path, strerror(errno));
    }
    enum kg_code code = tr_turns_stream(r, f, take, err);
    fclose(f);
    return code;
}
