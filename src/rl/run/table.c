/* Before and after: the table for people, and the same differences as JSON. */
#include <math.h>

#include "base/json.h"
#include "rl/run/loop.h"

#define PARTS 2

struct part {
    const char *name;
    size_t from, to;
};

static void parts_of(const struct rl_run *run, struct part out[PARTS])
{
    out[0] = (struct part){"pairs", 0, (size_t)run->held_pairs};
    out[1] = (struct part){"triples", (size_t)run->held_pairs, (size_t)run->held_n};
}

/* View k: turn k + 1, or behind them the best of turns. One turn has no second view. */
static struct rl_view view_of(size_t turns, size_t k, char name[24])
{
    bool best = k == turns || turns == 1;
    snprintf(name, 24, best && turns > 1 ? "best of turns" : "turn %zu", k + 1);
    return best ? (struct rl_view){RL_OF_BEST, turns} : (struct rl_view){RL_OF_TURN, k + 1};
}

static size_t views(const struct rl_run *run)
{
    return run->after.turns == 1 ? 1 : run->after.turns + 1;
}

struct line {
    double before, after;
    struct rl_interval difference;
};

static struct line compare(const struct rl_run *run, const struct part *p, struct rl_view v,
                           enum rl_score s)
{
    uint64_t seed = (uint64_t)run->config->seed;
    struct rl_results a = rl_evaluation_part(&run->before, p->from, p->to);
    struct rl_results b = rl_evaluation_part(&run->after, p->from, p->to);
    struct line l = {.before = rl_score_of(&a, v, s, seed).value,
                     .after = rl_score_of(&b, v, s, seed).value,
                     .difference = rl_score_difference(&a, &b, v, s, seed)};
    return l;
}

static json_t *line_json(const struct line *l)
{
    json_t *a = json_array();
    const double x[5] = {l->before, l->after, l->difference.value, l->difference.lo,
                         l->difference.hi};
    for (int i = 0; i < 5; i++) {
        json_array_append_new(a, kg_json_real(x[i]));
    }
    return a;
}

static void add_line(enum rl_score s, const struct line *l, struct kg_buf *out)
{
    if (isnan(l->before) && isnan(l->after)) {
        kg_buf_addf(out, "    %-9s not known\n", rl_score_name(s));
        return;
    }
    kg_buf_addf(out, "    %-9s %6.3f -> %6.3f   %+.3f [%+.3f, %+.3f]\n", rl_score_name(s),
                l->before, l->after, l->difference.value, l->difference.lo, l->difference.hi);
}

static json_t *add_view(const struct rl_run *run, const struct part *p, size_t k,
                        struct kg_buf *out)
{
    char name[24];
    json_t *o = json_object();
    struct rl_view v = view_of(run->after.turns, k, name);
    kg_buf_addf(out, "  %s\n", name);
    for (int s = 0; s < RL_SCORES; s++) {
        struct line l = compare(run, p, v, (enum rl_score)s);
        add_line((enum rl_score)s, &l, out);
        json_object_set_new(o, rl_score_name((enum rl_score)s), line_json(&l));
    }
    return o;
}

/* Shares of last turns in each style. */
static void add_styles(const struct rl_run *run, struct kg_buf *out)
{
    int n[2][RL_STYLE_KEYS];
    rl_evaluation_styles(&run->before, n[0]);
    rl_evaluation_styles(&run->after, n[1]);
    double all = (double)(run->after.problems * run->after.samples);
    kg_buf_adds(out, "styles of last turns\n");
    for (int k = 0; k < RL_STYLE_KEYS; k++) {
        char name[48];
        rl_style_key_name(k, name);
        if (n[0][k] + n[1][k] > 0) {
            kg_buf_addf(out, "  %-28s %.3f -> %.3f\n", name, n[0][k] / all, n[1][k] / all);
        }
    }
}

json_t *rl_loop_compare(const struct rl_run *run, struct kg_buf *out)
{
    struct part part[PARTS];
    json_t *all = json_object();
    parts_of(run, part);
    kg_buf_adds(out, "\nbefore RL -> after RL   difference [95 % interval, paired by problem]\n");
    for (int i = 0; i < PARTS; i++) {
        if (part[i].from == part[i].to) {
            continue;
        }
        json_t *mine = json_object();
        kg_buf_addf(out, "%zu held-out %s, %lld samples\n", part[i].to - part[i].from, part[i].name,
                    (long long)run->config->eval_samples);
        for (size_t k = 0; k < views(run); k++) {
            char key[24] = "best";
            if (k < run->after.turns && run->after.turns > 1) {
                snprintf(key, sizeof key, "turn%zu", k + 1);
            }
            json_object_set_new(mine, key, add_view(run, &part[i], k, out));
        }
        json_object_set_new(all, part[i].name, mine);
    }
    add_styles(run, out);
    return all;
}
