/* Keeps of each trajectory what metrics need, and adds it up by step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/report/parts.h"

const char *rl_why_name(enum rl_why w)
{
    static const char *const name[RL_WHYS] = {"infra", "void", "zero-variance", "small-group",
                                              "mrs",   "veto", "prs",           "surplus"};
    return name[w];
}

enum rl_when rl_when_of(const json_t *line)
{
    static const char *const name[RL_WHENS] = {"eval-before", "rl", "eval-after"};
    const char *phase = rl_json_text(json_object_get(line, "extra"), "phase");
    for (int i = 0; i < RL_WHENS; i++) {
        if (strcmp(phase, name[i]) == 0) {
            return (enum rl_when)i;
        }
    }
    return RL_WHENS;
}

/* As rl_outcome_of reads a verdict. */
static struct rl_outcome outcome_of(const json_t *turn)
{
    const char *verdict = rl_json_text(turn, "verdict");
    const json_t *correct = json_object_get(json_object_get(turn, "extra"), "correct");
    double speedup = rl_json_real(turn, "speedup"), lo = rl_json_real(turn, "speedup_lo");
    struct rl_outcome o = {.sampled = true, .coverage = rl_json_real(turn, "coverage")};
    if (verdict[0] == '\0') {
        return o;
    }
    o.extracted = strcmp(verdict, "no_code") != 0;
    o.valid = o.extracted && strcmp(verdict, "rejected") != 0;
    o.compiled = o.valid && strcmp(verdict, "compile_error") != 0;
    o.hack = strcmp(verdict, "hack") == 0;
    o.correct =
        json_is_integer(correct) ? json_integer_value(correct) == 1 : strcmp(verdict, "ok") == 0;
    o.numerics = o.correct || o.hack;
    o.speedup = isfinite(speedup) ? speedup : 0;
    o.speedup_lo = isfinite(lo) ? lo : 0;
    return o;
}

static uint16_t why_of(const json_t *turn)
{
    const json_t *list = json_object_get(json_object_get(turn, "extra"), "why");
    uint16_t bits = 0;
    size_t i;
    const json_t *v;
    json_array_foreach(list, i, v)
    {
        for (int w = 0; w < RL_WHYS && json_is_string(v); w++) {
            if (strcmp(json_string_value(v), rl_why_name((enum rl_why)w)) == 0) {
                bits |= (uint16_t)(1u << w);
            }
        }
    }
    return bits;
}

/* How a reply to a chain is written: a style of the corpus, or in which other way. */
static int16_t style_of(struct rl_walks *w, const char *problem, const json_t *turn)
{
    struct kg_err err = KG_ERR_INIT;
    struct rl_chain c;
    struct rl_style s;
    char name[48];
    const char *reply = rl_json_text(turn, "reply");
    if (rl_chain_parse(problem, &c, &err) != KG_OK) {
        return -1;
    }
    snprintf(name, sizeof name, "%s",
             strchr(reply, '{') == NULL        ? "no-code"
             : strstr(reply, "kgops_") != NULL ? "other-with-library"
                                               : "other-own");
    if (rl_style_find(&c, reply, strlen(reply), &s)) {
        rl_style_name(s, name);
    }
    return (int16_t)rl_words_number(&w->style, name);
}

static bool room(struct rl_walks *w, size_t turns)
{
    if (w->n == w->cap) {
        size_t cap = w->cap == 0 ? 1024 : 2 * w->cap;
        struct rl_seen *more = realloc(w->seen, cap * sizeof *more);
        if (more == NULL) {
            return false;
        }
        w->seen = more;
        w->cap = cap;
    }
    if (w->n_turn + turns > w->cap_turn) {
        size_t cap = w->cap_turn == 0 ? 2048 : 2 * w->cap_turn;
        struct rl_seen_turn *more = realloc(w->turn, cap * sizeof *more);
        if (more == NULL) {
            return false;
        }
        w->turn = more;
        w->cap_turn = cap;
    }
    return true;
}

bool rl_walks_add(struct rl_walks *w, const json_t *line)
{
    const json_t *turns = json_object_get(line, "turns"), *extra = json_object_get(line, "extra");
    const char *problem = rl_json_text(json_object_get(line, "problem"), "name");
    enum rl_when when = rl_when_of(line);
    size_t n = json_array_size(turns);
    if (when == RL_WHENS || problem[0] == '\0' || n < 1 || n > RL_VIEWS - 1 || !room(w, n)) {
        return false;
    }
    struct rl_seen s = {.step = (int32_t)rl_json_int(extra, "step"),
                        .problem = (int32_t)rl_words_number(&w->problem, problem),
                        .first = (uint32_t)w->n_turn,
                        .when = (uint8_t)when,
                        .turns = (uint8_t)n};
    long most = rl_json_int(extra, "turns");
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_array_get(turns, i);
        int16_t style = when != RL_WHEN_RL ? style_of(w, problem, t) : (int16_t)-1;
        w->turn[w->n_turn++] = (struct rl_seen_turn){outcome_of(t), why_of(t), style};
    }
    w->turns = (int)n > w->turns ? (int)n : w->turns;
    w->turns = most > w->turns && most < RL_VIEWS ? (int)most : w->turns;
    w->seen[w->n++] = s;
    w->of[when]++;
    return s.problem >= 0;
}

void rl_walks_deinit(struct rl_walks *w)
{
    free(w->seen);
    free(w->turn);
    rl_words_deinit(&w->problem);
    rl_words_deinit(&w->style);
    *w = (struct rl_walks){0};
}

size_t rl_walks_styles(const struct rl_walks *w, enum rl_when when, size_t *count)
{
    size_t n = 0;
    memset(count, 0, w->style.n * sizeof *count);
    for (size_t i = 0; i < w->n; i++) {
        for (uint32_t t = 0; t < w->seen[i].turns && w->seen[i].when == when; t++) {
            int16_t style = w->turn[w->seen[i].first + t].style;
            if (style >= 0) {
                count[style]++;
                n++;
            }
        }
    }
    return n;
}

/* --- by step --- */

static void add(struct rl_columns *c, const char *name, size_t at, double x)
{
    double *v = rl_columns_make(c, name);
    if (v != NULL) {
        v[at] = (isfinite(v[at]) ? v[at] : 0) + x;
    }
}

static void add_turn(struct rl_columns *c, size_t at, int turn, const struct rl_seen_turn *t)
{
    char name[RL_COLUMN_NAME];
    double s = rl_metrics_speed(&t->o, false);
    const bool stage[] = {t->o.extracted, t->o.valid, t->o.compiled, t->o.correct, s > 1.2};
    static const char *const stages[] = {"extracted", "valid", "compiled", "correct", "fast"};
    snprintf(name, sizeof name, "n.%d", turn);
    add(c, name, at, 1);
    snprintf(name, sizeof name, "turn.%d.fast_1.2", turn);
    add(c, name, at, s > 1.2);
    snprintf(name, sizeof name, "turn.%d.fast_1", turn);
    add(c, name, at, s > 1);
    snprintf(name, sizeof name, "turn.%d.correct", turn);
    add(c, name, at, t->o.correct);
    add(c, "n", at, 1);
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "funnel.%s", stages[i]);
        add(c, name, at, stage[i]);
    }
    for (int i = 0; i < RL_WHYS; i++) {
        snprintf(name, sizeof name, "why.%s", rl_why_name((enum rl_why)i));
        add(c, name, at, t->why >> i & 1);
    }
}

static void divide(struct rl_columns *c, const char *prefix, const char *by)
{
    const double *n = rl_columns_find(c, by);
    for (size_t i = 0; i < c->n && n != NULL; i++) {
        for (size_t k = 0; k < c->steps && strncmp(c->name[i], prefix, strlen(prefix)) == 0; k++) {
            c->v[i][k] /= n[k];
        }
    }
}

void rl_walks_columns(const struct rl_walks *w, struct rl_columns *c)
{
    char prefix[24], by[24];
    for (size_t i = 0; i < w->n; i++) {
        const struct rl_seen *s = &w->seen[i];
        size_t at = s->when == RL_WHEN_RL ? rl_columns_step(c, s->step) : SIZE_MAX;
        for (int t = 0; t < s->turns && at != SIZE_MAX; t++) {
            add_turn(c, at, t + 1, &w->turn[s->first + (uint32_t)t]);
        }
    }
    for (int t = 1; t <= w->turns; t++) {
        snprintf(prefix, sizeof prefix, "turn.%d.", t);
        snprintf(by, sizeof by, "n.%d", t);
        divide(c, prefix, by);
    }
    divide(c, "funnel.", "n");
    divide(c, "why.", "n");
}
