/* Numbers by step and name, and names by number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/report/parts.h"

static bool grow(struct rl_columns *c)
{
    size_t cap = c->cap == 0 ? 256 : 2 * c->cap;
    long *step = realloc(c->step, cap * sizeof *step);
    if (step == NULL) {
        return false;
    }
    c->step = step;
    for (size_t i = 0; i < c->n; i++) {
        double *v = realloc(c->v[i], cap * sizeof *v);
        if (v == NULL) {
            return false;
        }
        c->v[i] = v;
    }
    c->cap = cap;
    return true;
}

size_t rl_columns_step(struct rl_columns *c, long step)
{
    size_t at = c->steps;
    while (at > 0 && c->step[at - 1] > step) {
        at--;
    }
    if (at > 0 && c->step[at - 1] == step) {
        return at - 1; /* a resumed run repeats a step: what was written last holds */
    }
    if (c->steps == c->cap && !grow(c)) {
        return SIZE_MAX;
    }
    size_t after = c->steps - at;
    memmove(c->step + at + 1, c->step + at, after * sizeof *c->step);
    c->step[at] = step;
    for (size_t i = 0; i < c->n; i++) {
        memmove(c->v[i] + at + 1, c->v[i] + at, after * sizeof *c->v[i]);
        c->v[i][at] = (double)NAN;
    }
    c->steps++;
    return at;
}

static long number_of(const struct rl_columns *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->name[i], name) == 0) {
            return (long)i;
        }
    }
    return -1;
}

double *rl_columns_make(struct rl_columns *c, const char *name)
{
    long at = number_of(c, name);
    if (at >= 0) {
        return c->v[at];
    }
    if (c->n == RL_COLUMNS || strlen(name) >= RL_COLUMN_NAME) {
        return NULL;
    }
    double *v = malloc((c->cap > 0 ? c->cap : 1) * sizeof *v);
    if (v == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < c->steps; i++) {
        v[i] = (double)NAN;
    }
    memcpy(c->name[c->n], name, strlen(name) + 1);
    c->v[c->n++] = v;
    return v;
}

const double *rl_columns_find(const struct rl_columns *c, const char *name)
{
    long at = number_of(c, name);
    return at >= 0 ? c->v[at] : NULL;
}

/* What a second of the step brought: of a counter that only rises, or of a count by step. Such a
 * counter also has what came before the first step, so it says nothing of that step. */
static void rate(struct rl_columns *c, const char *name, const char *counter, bool rises)
{
    double *v = rl_columns_make(c, name);
    const double *n = rl_columns_find(c, counter), *s = rl_columns_find(c, "seconds");
    for (size_t i = 0; i < c->steps && v != NULL && n != NULL && s != NULL; i++) {
        double seconds = i + 1 < c->steps ? s[i + 1] - s[i] : (double)NAN;
        double earlier = !rises ? 0 : i > 0 ? n[i - 1] : (double)NAN;
        double count = n[i] - earlier;
        v[i] = seconds > 0 && count >= 0 ? count / seconds : (double)NAN;
    }
}

void rl_columns_rates(struct rl_columns *c)
{
    rate(c, "rate.evaluations", "evaluations", true);
    rate(c, "rate.sampled", "sampled", false);
}

void rl_columns_deinit(struct rl_columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->v[i]);
    }
    free(c->step);
    *c = (struct rl_columns){0};
}

long rl_words_number(struct rl_words *w, const char *word)
{
    if (w->index == NULL) {
        w->index = json_object();
    }
    json_t *known = json_object_get(w->index, word);
    if (known != NULL) {
        return (long)json_integer_value(known);
    }
    if (w->n == w->cap) {
        size_t cap = w->cap == 0 ? 64 : 2 * w->cap;
        const char **more = realloc(w->word, cap * sizeof *more);
        if (more == NULL) {
            return -1;
        }
        w->word = more;
        w->cap = cap;
    }
    if (json_object_set_new(w->index, word, json_integer((json_int_t)w->n)) != 0) {
        return -1;
    }
    w->word[w->n] = json_object_iter_key(json_object_iter_at(w->index, word));
    return (long)w->n++;
}

void rl_words_deinit(struct rl_words *w)
{
    json_decref(w->index);
    free(w->word);
    *w = (struct rl_words){0};
}
