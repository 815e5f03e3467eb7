/* Chooses the conversations and kernels that a report shows whole: a bounded number of each kind.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/report/parts.h"

enum { OF_KIND = RL_REPORT_TALKS / RL_KINDS, SHOWN_BYTES = 64 << 10 };

static bool is(const json_t *turn, const char *verdict)
{
    return strcmp(rl_json_text(turn, "verdict"), verdict) == 0;
}

/* Speed-up of a correct turn, else 0. */
static double speed(const json_t *turn)
{
    double s = rl_json_real(turn, "speedup");
    return is(turn, "ok") && isfinite(s) ? s : 0;
}

/* How well a conversation shows its kind; below 0: it is none of it. */
static double score_of(enum rl_kind kind, const json_t *turns, uint64_t number)
{
    const json_t *a = json_array_get(turns, 0);
    const json_t *b = json_array_get(turns, json_array_size(turns) - 1);
    bool two = json_array_size(turns) > 1;
    switch (kind) {
    case RL_KIND_FASTER:
        return two && is(a, "ok") && is(b, "ok") && speed(b) > 1.05 * speed(a) ? speed(b) - speed(a)
                                                                               : -1;
    case RL_KIND_MENDED:
        return two && !is(a, "ok") && is(b, "ok") ? speed(b) : -1;
    case RL_KIND_BROKEN:
        return two && is(a, "ok") && !is(b, "ok") ? speed(a) : -1;
    case RL_KIND_HACK:
        return is(a, "hack") || is(b, "hack") ? (double)(number % 1024) : -1;
    default: /* spread over the file, the same ones each time */
        return (double)(number * 2654435761u % 4294967296u);
    }
}

/* Without what nobody reads, and not where it is very long. */
static json_t *shown(const json_t *line)
{
    size_t bytes = 0, i;
    json_t *copy = json_deep_copy(line), *turn;
    json_array_foreach(json_object_get(copy, "turns"), i, turn)
    {
        json_t *extra = json_object_get(turn, "extra");
        json_object_del(extra, "ids");
        json_object_del(extra, "logp");
        bytes += json_string_length(json_object_get(turn, "reply"));
    }
    if (bytes > SHOWN_BYTES) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static void offer(struct rl_talks *t, int kind, double score, const json_t *line)
{
    int at = t->n[kind];
    while (at > 0 && t->score[kind][at - 1] < score) {
        at--;
    }
    if (at >= OF_KIND) {
        return;
    }
    json_t *copy = shown(line);
    if (copy == NULL) {
        return;
    }
    if (t->n[kind] == OF_KIND) {
        json_decref(t->line[kind][OF_KIND - 1]);
    } else {
        t->n[kind]++;
    }
    for (int i = t->n[kind] - 1; i > at; i--) {
        t->line[kind][i] = t->line[kind][i - 1];
        t->score[kind][i] = t->score[kind][i - 1];
    }
    t->line[kind][at] = copy;
    t->score[kind][at] = score;
}

void rl_talks_offer(struct rl_talks *t, const json_t *line, uint64_t number)
{
    const json_t *turns = json_object_get(line, "turns");
    for (int k = 0; k < RL_KINDS; k++) {
        double s = score_of((enum rl_kind)k, turns, number);
        if (s >= 0) {
            offer(t, k, s, line);
        }
    }
}

void rl_talks_deinit(struct rl_talks *t)
{
    for (int k = 0; k < RL_KINDS; k++) {
        for (int i = 0; i < t->n[k]; i++) {
            json_decref(t->line[k][i]);
        }
    }
    *t = (struct rl_talks){0};
}

void rl_kernels_init(struct rl_kernels *k)
{
    const struct kg_key key = {{0x7265706f7274, 1}}; /* "report" */
    *k = (struct rl_kernels){0};
    kg_rng_init(&k->rng, key, 0);
}

static bool fill(struct rl_kernel *k, const json_t *line, const json_t *turn)
{
    const char *name = rl_json_text(json_object_get(line, "problem"), "name");
    const char *reply = rl_json_text(turn, "reply");
    struct rl_kernel new = {.speedup = rl_json_real(turn, "speedup"),
                            .lo = rl_json_real(turn, "speedup_lo"),
                            .step = rl_json_int(json_object_get(line, "extra"), "step"),
                            .turn = (int)rl_json_int(turn, "turn"),
                            .reply = strdup(reply)};
    if (new.reply == NULL || strlen(name) >= sizeof new.problem || strlen(reply) > SHOWN_BYTES) {
        free(new.reply);
        return false;
    }
    memcpy(new.problem, name, strlen(name) + 1);
    free(k->reply);
    *k = new;
    return true;
}

static void offer_best(struct rl_kernels *k, const json_t *line, const json_t *turn)
{
    const char *name = rl_json_text(json_object_get(line, "problem"), "name");
    double s = speed(turn);
    int at = 0, last = k->n_best < RL_REPORT_BEST ? k->n_best : RL_REPORT_BEST - 1;
    for (int i = 0; i < k->n_best; i++) {
        if (strcmp(k->best[i].problem, name) == 0) {
            last = i; /* one of a problem */
        }
    }
    while (at < k->n_best && k->best[at].speedup >= s) {
        at++;
    }
    struct rl_kernel new = {0};
    if (s <= 0 || at > last || at == RL_REPORT_BEST || !fill(&new, line, turn)) {
        return;
    }
    free(k->best[last].reply);
    memmove(&k->best[at + 1], &k->best[at], (size_t)(last - at) * sizeof new);
    k->n_best += last == k->n_best;
    k->best[at] = new;
}

/* Every correct turn has the same chance (reservoir). */
static void offer_some(struct rl_kernels *k, const json_t *line, const json_t *turn)
{
    uint64_t at = kg_rng_below(&k->rng, ++k->offered);
    if (k->n_some < RL_RECHECK_MOST) {
        struct rl_kernel new = {0};
        if (fill(&new, line, turn)) {
            at = kg_rng_below(&k->rng, (uint64_t)k->n_some + 1);
            k->some[k->n_some++] = k->some[at]; /* so that the first ones are random as well */
            k->some[at] = new;
        }
    } else if (at < RL_RECHECK_MOST) {
        fill(&k->some[at], line, turn);
    }
}

void rl_kernels_offer(struct rl_kernels *k, const json_t *line)
{
    size_t i;
    const json_t *turn;
    enum rl_when when = rl_when_of(line);
    json_array_foreach(json_object_get(line, "turns"), i, turn)
    {
        if (is(turn, "ok") && when != RL_WHEN_BEFORE) {
            offer_best(k, line, turn);
        }
        if (is(turn, "ok") && when == RL_WHEN_AFTER) {
            offer_some(k, line, turn);
        }
    }
}

void rl_kernels_deinit(struct rl_kernels *k)
{
    for (int i = 0; i < RL_REPORT_BEST; i++) {
        free(k->best[i].reply);
    }
    for (int i = 0; i < RL_RECHECK_MOST; i++) {
        free(k->some[i].reply);
    }
    kg_rng_deinit(&k->rng);
}
