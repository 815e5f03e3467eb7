/* Which problems two runs have in common, and what else differs between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "trial/bench/compare_parts.h"

/* --- which problems --- */

static void leave(struct tr_compare *c, enum tr_left kind, const struct tr_bench_problem *p)
{
    json_array_append_new(c->left[kind], kg_json_text(p->name, strlen(p->name)));
}

static bool other_text(const struct tr_bench_problem *a, const struct tr_bench_problem *b)
{
    return *a->hash && *b->hash && strcmp(a->hash, b->hash) != 0;
}

/* taken [problems of B]: set where A has one of that name. */
static void match(struct tr_compare *c, bool *taken, struct tr_pairs *out)
{
    for (size_t i = 0; i < c->a->problems; i++) {
        const struct tr_bench_problem *a = &c->a->problem[i];
        size_t at = tr_bench_find(c->b, a->name, strlen(a->name));
        if (at == c->b->problems) {
            leave(c, TR_ONLY_A, a);
            continue;
        }
        taken[at] = true;
        if (other_text(a, &c->b->problem[at])) {
            leave(c, TR_OTHER_TEXT, a);
        } else if (a->defect || c->b->problem[at].defect) {
            leave(c, TR_DEFECTIVE, a);
        } else {
            out->a[out->n] = i;
            out->b[out->n++] = at;
        }
    }
    for (size_t i = 0; i < c->b->problems; i++) {
        if (!taken[i]) {
            leave(c, TR_ONLY_B, &c->b->problem[i]);
        }
    }
}

enum kg_code tr_compare_pairs(struct tr_compare *c, struct tr_pairs *out, struct kg_err *err)
{
    bool *taken = calloc(c->b->problems, sizeof *taken);
    out->a = calloc(c->a->problems, sizeof *out->a);
    out->b = calloc(c->a->problems, sizeof *out->b);
    if (taken == NULL || out->a == NULL || out->b == NULL) {
        free(taken);
        return kg_fail_memory(err, KG_E_HOST, "no memory to compare two runs");
    }
    match(c, taken, out);
    free(taken);
    return out->n > 0
               ? KG_OK
               : kg_fail(err, KG_E_USAGE,
                         "%s and %s have no problem in common (%zu have one name and other "
                         "texts): runs of different suites are not comparable",
                         c->a->folder, c->b->folder, json_array_size(c->left[TR_OTHER_TEXT]));
}

/* --- what else differs --- */

static void warn(struct tr_compare *c, const char *fmt, ...) KG_PRINTF(2, 3);
static void warn(struct tr_compare *c, const char *fmt, ...)
{
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    json_array_append_new(c->warnings, kg_json_text(text, strlen(text)));
}

static void show(char out[160], const json_t *j)
{
    struct kg_buf text;
    kg_buf_init(&text, 159);
    if (j != NULL) {
        kg_json_dump(j, &text);
    }
    snprintf(out, 160, "%s", j != NULL ? text.data : "(none)");
    kg_buf_deinit(&text);
}

static void warn_member(struct tr_compare *c, const char *name, const json_t *x, const json_t *y)
{
    char a[160], b[160];
    show(a, x);
    show(b, y);
    warn(c, "%s differs: A has %s, B has %s", name, a, b);
}

/* Members of run.json that say how it was judged. */
static void compare_runs(struct tr_compare *c)
{
    static const char *const member[] = {"gym", "rewards", "feedback", "version", "language"};
    for (size_t i = 0; i < sizeof member / sizeof *member; i++) {
        json_t *x = json_object_get(c->a->run, member[i]);
        json_t *y = json_object_get(c->b->run, member[i]);
        if (x != y && !(x != NULL && y != NULL && json_equal(x, y))) {
            warn_member(c, member[i], x, y);
        }
    }
    if (strcmp(c->a->device, c->b->device) != 0) {
        warn(c, "device differs: A was judged on %s, B on %s: speed-ups are not comparable",
             *c->a->device ? c->a->device : "(unknown)",
             *c->b->device ? c->b->device : "(unknown)");
    }
    if (c->a->devices_differ || c->b->devices_differ) {
        warn(c, "%s was judged on several devices",
             c->a->devices_differ && c->b->devices_differ ? "each run"
             : c->a->devices_differ                       ? "A"
                                                          : "B");
    }
    if (c->a->samples != c->b->samples) {
        warn(c, "samples differ: A has %zu, B has %zu; B's intervals and A's differ in width",
             c->a->samples, c->b->samples);
    }
    if (c->a->turns != c->b->turns) {
        warn(c, "turns differ: A has %zu, B has %zu; compared at turn %zu", c->a->turns,
             c->b->turns, c->turn);
    }
}

/* Turns without a verdict, or that may still come, count as failures and so bend a difference. */
static void compare_whole(struct tr_compare *c, const struct tr_bench *b, const char *name,
                          const struct tr_pairs *pairs, const size_t *which)
{
    size_t open = 0;
    for (size_t i = 0; i < pairs->n; i++) {
        for (size_t s = 0; s < b->samples; s++) {
            for (size_t t = 0; t < c->turn; t++) {
                const struct tr_bench_turn *x = tr_bench_turn(b, which[i], s, t);
                bool there = x->replied || x->facts.state != TR_FACT_NONE;
                bool ended = b->ended[which[i] * b->samples + s] != TR_BENCH_OPEN;
                open += there ? x->facts.state != TR_FACT_JUDGED : !ended;
            }
        }
    }
    if (open > 0) {
        warn(c, "%s is partial: %zu turns have no verdict, and count as failures", name, open);
    }
}

static void compare_policies(struct tr_compare *c)
{
    json_t *a = json_object_get(c->a->run, "policy"), *b = json_object_get(c->b->run, "policy");
    const char *key;
    json_t *x;
    json_object_foreach(a, key, x)
    {
        json_t *y = json_object_get(b, key);
        if (y == NULL || !json_equal(x, y)) {
            json_array_append_new(c->policies, json_pack("[s,O,O?]", key, x, y));
        }
    }
    json_object_foreach(b, key, x)
    {
        if (json_object_get(a, key) == NULL) {
            json_array_append_new(c->policies, json_pack("[s,n,O]", key, x));
        }
    }
}

enum kg_code tr_compare_turn(struct tr_compare *c, size_t turn, struct kg_err *err)
{
    size_t least = c->a->turns < c->b->turns ? c->a->turns : c->b->turns;
    if (turn > least) {
        return kg_fail(err, KG_E_USAGE, "--turn %zu: %s has %zu turn%s", turn,
                       c->a->turns == least ? c->a->folder : c->b->folder, least,
                       least == 1 ? "" : "s");
    }
    if (turn == 0 && c->a->turns != c->b->turns) {
        return kg_fail(
            err, KG_E_USAGE,
            "the turns differ, %zu in %s and %zu in %s, so their last turns are different "
            "things: name a turn that both have, as --turn %zu",
            c->a->turns, c->a->folder, c->b->turns, c->b->folder, least);
    }
    c->turn = turn > 0 ? turn : least;
    return KG_OK;
}

void tr_compare_look(struct tr_compare *c, const struct tr_pairs *pairs)
{
    compare_runs(c);
    compare_whole(c, c->a, "A", pairs, pairs->a);
    compare_whole(c, c->b, "B", pairs, pairs->b);
    compare_policies(c);
}
