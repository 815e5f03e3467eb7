/* Reads a run's replies, records and trajectories into turns, in one pass each. A key that occurs
 * again replaces what was known: its turn was judged again. */
#include "trial/report/report_turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trial/bench/key.h"

const char *const tr_stage_name[TR_STAGES] = {"extract", "static", "compile", "tiny",
                                              "full",    "timing", "profile"};

struct ended {
    uint32_t problem, sample;
    int64_t at;
};
struct reading {
    struct tr_report *r;
    json_t *index; /* of keys, to turns */
    struct ended *ended;
    size_t n_ended, cap_ended;
    long odd; /* lines of the file under way that name no turn */
    bool full, no_memory;
};

/* Room for one more of `size` bytes; false: no memory. */
static bool room(void **list, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return true;
    }
    size_t more = *cap == 0 ? 256 : 2 * *cap;
    void *grown = realloc(*list, more * size);
    if (grown == NULL) {
        return false;
    }
    *list = grown;
    *cap = more;
    return true;
}

/* The place of a problem, made where it is new; SIZE_MAX: no memory. */
static size_t problem_of(struct tr_report *r, const char *name)
{
    const json_t *at = json_object_get(r->names, name);
    if (at != NULL) {
        return (size_t)json_integer_value(at);
    }
    char *copy = strdup(name);
    void *list = r->problem;
    bool ok = copy != NULL && room(&list, r->n_problem, &r->cap_problem, sizeof *r->problem);
    r->problem = list;
    if (!ok || json_object_set_new(r->names, name, json_integer((json_int_t)r->n_problem)) != 0) {
        free(copy);
        return SIZE_MAX;
    }
    r->problem[r->n_problem] = (struct tr_seen_problem){.name = copy, .best = SIZE_MAX};
    return r->n_problem++;
}

static struct tr_seen *make(struct reading *g, const char *key, size_t name_len, uint32_t sample,
                            uint32_t turn)
{
    struct tr_report *r = g->r;
    char name[512];
    void *list = r->turn;
    if (r->n == TR_REPORT_MOST_TURNS) {
        g->full = true;
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)name_len, key);
    size_t problem = problem_of(r, name);
    bool ok = problem != SIZE_MAX && room(&list, r->n, &r->cap, sizeof *r->turn) &&
              json_object_set_new(g->index, key, json_integer((json_int_t)r->n)) == 0;
    r->turn = list;
    if (!ok) {
        g->no_memory = true;
        return NULL;
    }
    r->turn[r->n] = (struct tr_seen){
        .problem = (uint32_t)problem,
        .sample = sample,
        .turn = turn,
        .reply_at = -1,
        .record_at = -1,
        .facts = {.speedup = NAN, .speedup_lo = NAN, .speedup_hi = NAN, .coverage = NAN}};
    return &r->turn[r->n++];
}

/* The turn that a key names; NULL: none, or no more room. */
static struct tr_seen *turn_of(struct reading *g, const char *key)
{
    size_t name_len;
    uint32_t sample, turn;
    const json_t *at = json_object_get(g->index, key);
    if (at != NULL) {
        return &g->r->turn[json_integer_value(at)];
    }
    if (!tr_key_read(key, &name_len, &sample, &turn) || name_len >= 512) {
        g->odd++;
        return NULL;
    }
    return make(g, key, name_len, sample, turn);
}

static void take_reply(struct reading *g, const json_t *line, int64_t at)
{
    struct tr_seen *t = turn_of(g, rl_json_text(line, "key"));
    if (t != NULL) {
        long in = rl_json_int(line, "tokens_in"), out = rl_json_int(line, "tokens_out");
        t->reply_at = at;
        t->tokens_in = in > 0 ? in : 0;
        t->tokens_out = out > 0 ? out : 0;
        t->cut = strcmp(rl_json_text(line, "finish"), "length") == 0;
    }
}

static void take_stages(struct tr_seen *t, const json_t *stages)
{
    static const char *const status[] = {"", "pass", "fail", "skip", "off"};
    const json_t *stage;
    size_t i;
    json_array_foreach(stages, i, stage)
    {
        for (int s = 0; s < TR_STAGES; s++) {
            for (uint8_t k = 1; strcmp(rl_json_text(stage, "name"), tr_stage_name[s]) == 0 && k < 5;
                 k++) {
                t->stage[s] =
                    strcmp(rl_json_text(stage, "status"), status[k]) == 0 ? k : t->stage[s];
            }
        }
    }
}

/* Hosts differ if a reader would name them differently. */
static void take_host(struct tr_report *r, const json_t *record)
{
    static const char *const keys[] = {"kgym", "cpu", "device_name", "torch", "triton"};
    json_t *e = json_object_get(record, "environment");
    if (json_object_size(e) == 0 || r->n_host == TR_HOSTS) {
        return;
    }
    for (int i = 0; i < r->n_host; i++) {
        bool same = true;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            const json_t *a = json_object_get(e, keys[k]);
            const json_t *b = json_object_get(r->host[i], keys[k]);
            same = same && (a == b || json_equal(a, b));
        }
        if (same) {
            return;
        }
    }
    r->host[r->n_host++] = json_incref(e);
}

static void take_record(struct reading *g, const json_t *line, int64_t at)
{
    struct tr_facts facts;
    if (!tr_facts_read(line, &facts)) {
        g->odd++;
        return;
    }
    struct tr_seen *t = turn_of(g, rl_json_text(line, "batch_id"));
    if (t != NULL) {
        t->record_at = at;
        t->facts = facts;
        memset(t->stage, 0, sizeof t->stage);
        take_stages(t, json_object_get(line, "stages"));
        take_host(g->r, line);
    }
}

static void take_line(struct reading *g, const json_t *line, int64_t at)
{
    size_t name_len;
    uint32_t sample;
    char name[512];
    void *list = g->ended;
    const char *id = rl_json_text(line, "id");
    if (!tr_key_read(id, &name_len, &sample, NULL) || name_len >= sizeof name) {
        g->odd++;
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)name_len, id);
    size_t problem = problem_of(g->r, name);
    bool ok = problem != SIZE_MAX && room(&list, g->n_ended, &g->cap_ended, sizeof *g->ended);
    g->ended = list;
    if (!ok) {
        g->no_memory = true;
        return;
    }
    g->ended[g->n_ended++] = (struct ended){(uint32_t)problem, sample, at};
}

/* Reads a file to its end; it stays open for reading again. */
static void read_file(struct reading *g, struct rl_lines *l, const char *name,
                      void (*take)(struct reading *, const json_t *, int64_t))
{
    json_t *line;
    g->odd = 0;
    if (!rl_lines_open(l, g->r->folder, name, &g->r->notes)) {
        return;
    }
    while (!g->full && !g->no_memory && (line = rl_lines_next(l)) != NULL) {
        take(g, line, l->at);
        json_decref(line);
    }
    if (g->odd > 0) {
        rl_note(&g->r->notes, "%s: %ld lines name no turn of the run", name, g->odd);
    }
}

static int order(const void *a, const void *b)
{
    const struct tr_seen *x = a, *y = b;
    if (x->problem != y->problem) {
        return x->problem < y->problem ? -1 : 1;
    }
    if (x->sample != y->sample) {
        return x->sample < y->sample ? -1 : 1;
    }
    return (x->turn > y->turn) - (x->turn < y->turn);
}

static int order_ended(const void *a, const void *b)
{
    const struct ended *x = a, *y = b;
    if (x->problem != y->problem) {
        return x->problem < y->problem ? -1 : 1;
    }
    if (x->sample != y->sample) {
        return x->sample < y->sample ? -1 : 1;
    }
    return (x->at > y->at) - (x->at < y->at);
}

static void count(struct tr_report *r)
{
    for (size_t i = r->n; i-- > 0;) {
        const struct tr_seen *t = &r->turn[i];
        struct tr_seen_problem *p = &r->problem[t->problem];
        p->first = i;
        p->n++;
        p->judged += t->facts.state == TR_FACT_JUDGED;
        p->right += t->facts.correct;
        double best = p->best == SIZE_MAX ? (double)NAN : r->turn[p->best].facts.speedup;
        if (t->facts.correct && (!isfinite(best) || t->facts.speedup >= best)) {
            p->best = i; /* of equal ones the earliest, since i falls; one without a time is last */
        }
    }
}

/* The conversations of the turns, each with its last line. */
static bool talks(struct reading *g)
{
    struct tr_report *r = g->r;
    size_t e = 0;
    r->talk = calloc(r->n + 1, sizeof *r->talk);
    for (size_t i = 0; r->talk != NULL && i < r->n; i++) {
        const struct tr_seen *t = &r->turn[i], *before = i > 0 ? t - 1 : NULL;
        if (before != NULL && before->problem == t->problem && before->sample == t->sample) {
            r->talk[r->n_talk - 1].n++;
            continue;
        }
        struct ended here = {t->problem, t->sample, INT64_MAX};
        struct tr_talk *talk = &r->talk[r->n_talk++];
        *talk = (struct tr_talk){.first = i, .n = 1, .line_at = -1};
        for (; e < g->n_ended && order_ended(&g->ended[e], &here) < 0; e++) {
            bool mine = g->ended[e].problem == t->problem && g->ended[e].sample == t->sample;
            talk->line_at = mine ? g->ended[e].at : talk->line_at;
        }
    }
    return r->talk != NULL;
}

/* Problems that the run names come first, in its order, also those without a turn. */
static bool plan(struct tr_report *r)
{
    const json_t *all = json_object_get(json_object_get(r->run, "suite"), "problems"), *p;
    size_t i;
    json_array_foreach(all, i, p)
    {
        const char *name = json_is_string(p) ? json_string_value(p) : rl_json_text(p, "name");
        size_t at = name[0] != '\0' ? problem_of(r, name) : SIZE_MAX - 1;
        if (at == SIZE_MAX) {
            return false;
        }
        if (at < r->n_problem) {
            long level = rl_json_int(p, "level"), id = rl_json_int(p, "id");
            r->problem[at].level = level > 0 && level < 1000 ? (int)level : 0;
            r->problem[at].id = id > 0 && id < 100000000 ? (int)id : 0;
        }
    }
    return true;
}

enum kg_code tr_report_turns(struct tr_report *r, struct kg_err *err)
{
    struct reading g = {.r = r, .index = json_object()};
    r->names = json_object();
    bool ok = g.index != NULL && r->names != NULL && plan(r);
    if (ok) {
        read_file(&g, &r->replies, "replies.jsonl", take_reply);
        read_file(&g, &r->records, "records.jsonl", take_record);
        read_file(&g, &r->talks, "trajectories.jsonl", take_line);
        if (r->n > 0) {
            qsort(r->turn, r->n, sizeof *r->turn, order);
        }
        if (g.n_ended > 0) {
            qsort(g.ended, g.n_ended, sizeof *g.ended, order_ended);
        }
        count(r);
        ok = talks(&g) && !g.no_memory;
    }
    json_decref(g.index);
    free(g.ended);
    if (g.full) {
        return kg_fail(err, KG_E_LIMIT, "%.300s: more than %d turns", r->folder,
                       (int)TR_REPORT_MOST_TURNS);
    }
    return ok ? KG_OK : kg_fail(err, KG_E_HOST, "report: no memory");
}

void tr_report_turns_free(struct tr_report *r)
{
    for (size_t i = 0; i < r->n_problem; i++) {
        free(r->problem[i].name);
    }
    for (int i = 0; i < r->n_host; i++) {
        json_decref(r->host[i]);
    }
    rl_lines_close(&r->replies);
    rl_lines_close(&r->records);
    rl_lines_close(&r->talks);
    json_decref(r->names);
    free(r->problem);
    free(r->turn);
    free(r->talk);
}

const struct tr_seen *tr_report_turn(const struct tr_report *r, const char *key)
{
    size_t name_len;
    struct tr_seen want = {.problem = 0};
    char name[512];
    if (r->n == 0 || !tr_key_read(key, &name_len, &want.sample, &want.turn) ||
        name_len >= sizeof name) {
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)name_len, key);
    const json_t *at = json_object_get(r->names, name);
    if (at == NULL) {
        return NULL;
    }
    want.problem = (uint32_t)json_integer_value(at);
    return bsearch(&want, r->turn, r->n, sizeof want, order);
}

static json_t *again(struct rl_lines *l, int64_t at)
{
    return at >= 0 ? rl_lines_again(l, at) : NULL;
}

json_t *tr_report_reply(struct tr_report *r, const struct tr_seen *t)
{
    return again(&r->replies, t->reply_at);
}

json_t *tr_report_record(struct tr_report *r, const struct tr_seen *t)
{
    return again(&r->records, t->record_at);
}

json_t *tr_report_line(struct tr_report *r, const struct tr_talk *t)
{
    return again(&r->talks, t->line_at);
}

const char *tr_report_code(const json_t *record)
{
    return rl_json_text(json_object_get(record, "candidate"), "code");
}

const char *tr_report_why(const json_t *record)
{
    const char *own = rl_json_text(record, "message");
    return own[0] != '\0' ? own : rl_json_text(json_object_get(record, "error"), "message");
}
