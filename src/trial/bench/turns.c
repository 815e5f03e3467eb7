/* Reads a run of `kgym bench`: what run.json says, then the files of lines. */
#include "trial/bench/turns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "trial/bench/turns_parts.h"

#define MOST_RUN ((size_t)64 << 20)

void tr_bench_deinit(struct tr_bench *b)
{
    for (size_t i = 0; i < b->problems && b->problem != NULL; i++) {
        free(b->problem[i].name);
    }
    for (int i = 0; i < TR_BENCH_NOTES; i++) {
        free(b->note[i]);
    }
    free(b->problem);
    free(b->turn);
    free(b->ended);
    free(b->by_name);
    free(b->folder);
    json_decref(b->run);
    *b = (struct tr_bench){.problems = 0};
}

static enum kg_code load_run(struct tr_bench *b, char *path, size_t cap, struct kg_err *err)
{
    struct kg_buf text;
    if ((size_t)snprintf(path, cap, "%s/run.json", b->folder) >= cap) {
        return kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", b->folder);
    }
    if (!kg_file_exists(path)) {
        return kg_fail(err, KG_E_NOT_FOUND, "%s: not there: not the folder of a run", path);
    }
    kg_buf_init(&text, MOST_RUN);
    enum kg_code code = kg_file_read(path, &text, err);
    code = code == KG_OK ? kg_json_parse(text.data, text.len, path, &b->run, err) : code;
    kg_buf_deinit(&text);
    const char *kind = json_string_value(json_object_get(b->run, "kind"));
    if (code == KG_OK && (kind == NULL || strcmp(kind, "bench") != 0)) {
        code =
            kg_fail(err, KG_E_USAGE, "%s: `kind` is not \"bench\": no run of `kgym bench`", path);
    }
    return code;
}

/* A number of run.json from 1, within what fits into memory. */
static size_t count(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    json_int_t n = json_integer_value(v);
    return json_is_integer(v) && n > 0 && n <= TR_BENCH_MOST_TURNS ? (size_t)n : 0;
}

static double price(const json_t *run, const char *key)
{
    double x = json_number_value(json_object_get(json_object_get(run, "prices"), key));
    return isfinite(x) && x > 0 ? x : 0;
}

static enum kg_code read_problem(const char *path, const json_t *j, size_t at,
                                 struct tr_bench_problem *p, struct kg_err *err)
{
    const char *name = json_string_value(json_object_get(j, "name"));
    const char *hash = json_string_value(json_object_get(j, "hash"));
    json_int_t level = json_integer_value(json_object_get(j, "level"));
    if (name == NULL || *name == '\0') {
        return kg_fail(err, KG_E_INPUT, "%s: suite.problems[%zu].name: a string is needed", path,
                       at);
    }
    p->name = strdup(name);
    p->place = at;
    p->level = level > 0 && level < 1000 ? (int)level : 0;
    p->id = (int)json_integer_value(json_object_get(j, "id"));
    snprintf(p->hash, sizeof p->hash, "%s", hash != NULL ? hash : "");
    return p->name != NULL ? KG_OK : kg_fail_memory(err, KG_E_HOST, "%s: no memory", path);
}

/* By level; those of one level stay in their order. */
static int by_level(const void *x, const void *y)
{
    const struct tr_bench_problem *a = x, *b = y;
    return a->level != b->level ? (a->level > b->level) - (a->level < b->level)
                                : (a->place > b->place) - (a->place < b->place);
}

static enum kg_code read_suite(struct tr_bench *b, const char *path, struct kg_err *err)
{
    const json_t *suite = json_object_get(b->run, "suite");
    const json_t *problems = json_object_get(suite, "problems");
    b->suite = json_string_value(json_object_get(suite, "name"));
    b->subset = json_string_value(json_object_get(suite, "subset"));
    b->subset = b->subset != NULL ? b->subset : "";
    b->aside = json_object_get(suite, "aside");
    size_t n = json_array_size(problems);
    b->samples = count(b->run, "samples");
    b->turns = count(b->run, "turns");
    b->of = count(suite, "of");
    b->of = b->of > n ? b->of : n;
    b->price_in = price(b->run, "in");
    b->price_out = price(b->run, "out");
    if (b->suite == NULL || n == 0 || b->samples == 0 || b->turns == 0) {
        return kg_fail(err, KG_E_INPUT, "%s: it lacks suite.%s, as runs of `kgym bench` have it",
                       path,
                       b->suite == NULL ? "name"
                       : n == 0         ? "problems"
                                        : "samples or turns");
    }
    if (b->samples > TR_BENCH_MOST_TURNS / b->turns ||
        n > TR_BENCH_MOST_TURNS / (b->samples * b->turns)) {
        return kg_fail(err, KG_E_LIMIT, "%s: more than %d turns in all", path, TR_BENCH_MOST_TURNS);
    }
    b->problem = calloc(n, sizeof *b->problem);
    b->turn = calloc(n * b->samples * b->turns, sizeof *b->turn);
    b->ended = calloc(n * b->samples, sizeof *b->ended);
    if (b->problem == NULL || b->turn == NULL || b->ended == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: no memory for its turns", path);
    }
    b->problems = n;
    enum kg_code code = KG_OK;
    for (size_t i = 0; i < n && code == KG_OK; i++) {
        code = read_problem(path, json_array_get(problems, i), i, &b->problem[i], err);
    }
    if (code == KG_OK) {
        qsort(b->problem, n, sizeof *b->problem, by_level);
    }
    return code;
}

static int by_name(const void *x, const void *y, void *problems)
{
    const struct tr_bench_problem *p = problems;
    return strcmp(p[*(const size_t *)x].name, p[*(const size_t *)y].name);
}

size_t tr_bench_find(const struct tr_bench *b, const char *name, size_t len)
{
    size_t lo = 0, hi = b->problems;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const char *have = b->problem[b->by_name[mid]].name;
        int c = strncmp(have, name, len);
        c = c != 0 ? c : have[len] != '\0';
        if (c == 0) {
            return b->by_name[mid];
        }
        lo = c < 0 ? mid + 1 : lo;
        hi = c < 0 ? hi : mid;
    }
    return b->problems;
}

static enum kg_code read_lines(struct tr_bench *b, struct kg_err *err)
{
    static const struct {
        const char *file;
        tr_turns_take *take;
    } part[] = {{"replies.jsonl", tr_turns_reply},
                {"records.jsonl", tr_turns_record},
                {"full.jsonl", tr_turns_full}, /* behind the replies, before later ends */
                {"trajectories.jsonl", tr_turns_trajectory}};
    enum kg_code code = KG_OK;
    for (size_t i = 0; i < sizeof part / sizeof *part && code == KG_OK; i++) {
        struct tr_turns_reader r = {.b = b, .file = part[i].file};
        code = tr_turns_lines(&r, part[i].take, err);
    }
    return code;
}

static void find_defects(struct tr_bench *b)
{
    size_t each = b->samples * b->turns;
    for (size_t i = 0; i < b->problems * each; i++) {
        struct tr_bench_problem *p = &b->problem[i / each];
        p->defect = p->defect || b->turn[i].facts.state == TR_FACT_DEFECT ||
                    b->ended[i / b->turns] == TR_BENCH_DEFECT;
    }
}

static enum kg_code read_turns(struct tr_bench *b, const char *path, struct kg_err *err)
{
    size_t *order = b->by_name = calloc(b->problems, sizeof *order);
    if (order == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: no memory", path);
    }
    for (size_t i = 0; i < b->problems; i++) {
        order[i] = i;
    }
    qsort_r(order, b->problems, sizeof *order, by_name, b->problem);
    for (size_t i = 1; i < b->problems; i++) {
        if (by_name(&order[i - 1], &order[i], b->problem) == 0) {
            return kg_fail(err, KG_E_INPUT, "%s: suite.problems: two have the name %.100s", path,
                           b->problem[order[i]].name);
        }
    }
    enum kg_code code = read_lines(b, err);
    find_defects(b);
    return code;
}

enum kg_code tr_bench_read(const char *folder, struct tr_bench *out, struct kg_err *err)
{
    char path[4096];
    *out = (struct tr_bench){.folder = strdup(folder)};
    if (out->folder == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%.200s: no memory", folder);
    }
    enum kg_code code = load_run(out, path, sizeof path, err);
    code = code == KG_OK ? read_suite(out, path, err) : code;
    code = code == KG_OK ? read_turns(out, path, err) : code;
    if (code != KG_OK) {
        tr_bench_deinit(out);
    }
    return code;
}

/* --- records once more --- */

struct last_records {
    size_t turn;
    size_t *line; /* [problems][samples] of the last record of that turn; 0: none */
    bool give;    /* the second time: they are given out */
    tr_bench_take *take;
    void *user;
    enum kg_code code;
    struct kg_err *err;
};

static bool last_record(struct tr_turns_reader *r, json_t *record)
{
    struct last_records *x = r->user;
    const struct tr_bench *b = r->b;
    struct tr_facts facts;
    size_t problem;
    if (x->code != KG_OK || !tr_facts_read(record, &facts)) {
        return false;
    }
    const struct tr_bench_turn *t = tr_turns_place(r, record, "batch_id", true, &problem);
    size_t at = t != NULL ? (size_t)(t - b->turn) : 0;
    if (t == NULL || at % b->turns + 1 != x->turn) {
        return false;
    }
    if (!x->give) {
        x->line[at / b->turns] = r->line;
    } else if (x->line[at / b->turns] == r->line) {
        x->code = x->take(x->user, problem, at / b->turns % b->samples, record, x->err);
    }
    return true;
}

enum kg_code tr_bench_records(struct tr_bench *b, size_t turn, tr_bench_take *take, void *user,
                              struct kg_err *err)
{
    struct last_records x = {.turn = turn, .take = take, .user = user, .err = err};
    struct tr_turns_reader r = {.b = b, .file = "records.jsonl", .quiet = true, .user = &x};
    x.line = calloc(b->problems * b->samples, sizeof *x.line);
    if (x.line == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: no memory", b->folder);
    }
    enum kg_code code = tr_turns_lines(&r, last_record, err);
    x.give = true;
    code = code == KG_OK ? tr_turns_lines(&r, last_record, err) : code;
    free(x.line);
    return code == KG_OK ? x.code : code;
}
