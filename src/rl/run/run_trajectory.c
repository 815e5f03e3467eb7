/* Puts together what rollouts, judge and step know of a trajectory. */
#include "rl/run/run_trajectory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"

#define REPLY_BYTES (1u << 20)

static void put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

/* With the digits that a float needs. */
static json_t *real_float(float x)
{
    char text[32];
    snprintf(text, sizeof text, "%.9g", (double)x);
    return kg_json_real(strtod(text, NULL));
}

static json_t *text_or_null(const char *s)
{
    return s != NULL && s[0] != '\0' ? kg_json_text(s, strlen(s)) : json_null();
}

static json_t *ids(const int32_t *id, int n)
{
    json_t *a = json_array();
    for (int i = 0; i < n; i++) {
        json_array_append_new(a, json_integer(id[i]));
    }
    return a;
}

static const char *end_name(enum rl_walk_end end)
{
    static const char *const name[] = {"done", "done", "full", "infra", "defect"};
    return name[end];
}

/* --- what the step decided --- */

struct fate {
    bool learned;             /* a step took it */
    const struct rl_row *row; /* NULL: it could not train */
    enum rl_drop drop;
    bool infra;
};

/* The rows of the step have the order of the trajectories. Those of dropped groups, and rollouts
 * that were not chosen, are not among them. */
static struct fate find_fate(const struct rl_trajectory_options *o, const struct rl_walk *w, int t,
                             size_t *place)
{
    struct fate f = {.learned = o->learned != NULL};
    if (!f.learned) {
        return f;
    }
    const struct rl_rows *rows = rl_step_rows(o->learned);
    const struct rl_row *r = *place < rows->n ? &rows->row[*place] : NULL;
    if (r != NULL && r->group == w->group && r->rollout == w->rollout &&
        r->turn == (uint32_t)t + 1) {
        f.row = r;
        ++*place;
    }
    f.drop = rl_step_drop(o->learned, w->group);
    f.infra = w->end == RL_WALK_INFRA || w->end == RL_WALK_DEFECT;
    return f;
}

static json_t *reasons(const struct fate *f)
{
    static const struct {
        enum rl_why why;
        const char *name;
    } masks[] = {{RL_WHY_NO_LOGP, "no-logp"},
                 {RL_WHY_MRS, "mrs"},
                 {RL_WHY_VETO, "veto"},
                 {RL_WHY_PRS, "prs"}};
    json_t *a = json_array();
    if (f->learned && f->infra) {
        json_array_append_new(a, json_string("infra"));
    }
    if (f->learned && f->row == NULL) {
        json_array_append_new(a, json_string(f->drop == RL_DROP_NO     ? "surplus"
                                             : f->drop == RL_DROP_ZERO ? "zero-variance"
                                             : f->drop == RL_DROP_FEW  ? "small-group"
                                                                       : rl_drop_name(f->drop)));
    }
    if (f->row == NULL) {
        return a;
    }
    if (f->row->flags & RL_VOID) {
        json_array_append_new(a, json_string("void"));
    }
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        if (f->row->why & masks[i].why) {
            json_array_append_new(a, json_string(masks[i].name));
        }
    }
    return a;
}

static void add_fate(json_t *o, const struct fate *f, const struct rl_trajectory_options *how)
{
    const struct rl_row *r = f->row;
    put(o, "return", r != NULL ? kg_json_real(r->ret) : json_null());
    put(o, "advantage", r != NULL ? kg_json_real(r->adv) : json_null());
    put(o, "live", json_boolean(r != NULL ? rl_row_live(r) : f->learned && !f->infra));
    put(o, "kept", json_boolean(r != NULL && rl_row_kept(r)));
    put(o, "why", reasons(f));
    put(o, "diff", r != NULL ? kg_json_real(rl_step_difference(how->learned, r)) : json_null());
}

/* --- a turn --- */

static json_t *turn_extra(const struct rl_walk *w, int t, const struct rl_trajectory_options *o,
                          const struct fate *f)
{
    const struct rl_turn *turn = &w->turn[t];
    const struct rl_verdict *v = turn->verdict;
    int from = t == 0 ? 0 : w->turn[t - 1].first + w->turn[t - 1].length;
    json_t *x = json_object(), *terms = json_object(), *logp = json_array();
    for (int k = 0; k < turn->length; k++) {
        json_array_append_new(logp, real_float(w->mu[turn->first + k]));
    }
    for (int i = 0; v != NULL && i < v->nterms; i++) {
        put(terms, v->term[i].name, kg_json_real(v->term[i].value));
    }
    put(x, "row", json_integer(turn->index));
    put(x, "context", ids(w->ids + from, turn->first - from));
    put(x, "ids", ids(w->ids + turn->first, turn->length));
    put(x, "logp", logp);
    put(x, "version", json_integer((json_int_t)o->version));
    put(x, "correct", json_integer(v != NULL && v->correct));
    put(x, "terms", terms);
    add_fate(x, f, o);
    return x;
}

static json_t *turn_json(const struct rl_walk *w, int t, const struct rl_trajectory_options *o,
                         const struct kg_buf *reply, size_t *place)
{
    const struct rl_turn *turn = &w->turn[t];
    const struct rl_verdict none = {.coverage = (double)NAN};
    const struct rl_verdict *v = turn->verdict != NULL ? turn->verdict : &none;
    bool judged = turn->verdict != NULL && v->state == RL_JUDGED;
    struct fate f = find_fate(o, w, t, place);
    json_t *x = json_object(), *rewards = json_object();
    if (judged) {
        put(rewards, o->reward, kg_json_real(v->reward));
    }
    put(x, "turn", json_integer(t + 1));
    put(x, "reply", kg_json_text(reply->data, reply->len));
    put(x, "finish", json_string(turn->finish == LM_STOP ? "stop" : "length"));
    put(x, "record", judged ? text_or_null(v->record) : json_null());
    put(x, "verdict", json_string(judged ? v->name : ""));
    put(x, "reason", json_string(v->reason));
    put(x, "speedup", v->speedup > 0 ? kg_json_real(v->speedup) : json_null());
    put(x, "speedup_lo", v->speedup_lo > 0 ? kg_json_real(v->speedup_lo) : json_null());
    put(x, "coverage", kg_json_real(v->coverage));
    put(x, "rewards", rewards);
    put(x, "feedback",
        t + 1 < w->turns ? kg_json_text(v->feedback, strlen(v->feedback)) : json_null());
    put(x, "shared", json_boolean(turn->shared));
    put(x, "extra", turn_extra(w, t, o, &f));
    return x;
}

/* --- the conversation --- */

static json_t *problem_json(const struct rl_chain *c)
{
    char name[RL_CHAIN_NAME], hash[KG_SHA256_HEX];
    struct kg_buf text;
    kg_buf_init(&text, RL_CHAIN_BYTES);
    rl_chain_problem(c, &text);
    rl_chain_name(c, name);
    kg_sha256_hex(text.data, text.len, hash);
    kg_buf_deinit(&text);
    return json_pack("{s:s,s:s,s:i}", "name", name, "hash", hash, "level", c->n > 1 ? 2 : 1);
}

static json_t *style_json(const struct rl_walk *w, const struct kg_buf *reply)
{
    char name[48];
    struct rl_style style;
    const struct rl_verdict *v = w->turn[w->turns - 1].verdict;
    if (v == NULL || !v->correct || !rl_style_find(&w->chain, reply->data, reply->len, &style)) {
        return json_null();
    }
    rl_style_name(style, name);
    return json_string(name);
}

json_t *rl_trajectory_line(const struct rl_walk *w, const struct rl_trajectory_options *o,
                           size_t *place)
{
    struct kg_buf text;
    char group[80], id[100];
    json_t *x = json_object(), *turns = json_array(), *style = json_null();
    kg_buf_init(&text, REPLY_BYTES);
    for (int t = 0; t < w->turns; t++) {
        kg_buf_reset(&text);
        rl_talker_text(o->talker, w->ids + w->turn[t].first, (size_t)w->turn[t].length, &text);
        json_array_append_new(turns, turn_json(w, t, o, &text, place));
    }
    if (w->turns > 0) {
        style = style_json(w, &text);
    }
    int n = snprintf(group, sizeof group, "%.32s", o->phase);
    n += o->step < 0 ? 0 : snprintf(group + n, sizeof group - (size_t)n, "-%d", o->step);
    snprintf(group + n, sizeof group - (size_t)n, "-g%u", w->group);
    snprintf(id, sizeof id, "%s-r%u", group, w->rollout);
    kg_buf_reset(&text);
    kg_buf_addc(&text, ' '); /* as rl_talker_prompt() gives it to the model */
    rl_chain_prompt(&w->chain, &text);
    put(x, "schema", json_string("kgym.trajectory/1"));
    put(x, "id", json_string(id));
    put(x, "group", json_string(group));
    put(x, "problem", problem_json(&w->chain));
    put(x, "configuration", json_string(o->configuration));
    put(x, "source", json_string("train"));
    put(x, "system", json_null());
    put(x, "prompt", kg_json_text(text.data, text.len));
    put(x, "turns", turns);
    put(x, "end", json_string(end_name(w->end)));
    put(x, "extra",
        json_pack("{s:s,s:i,s:i,s:o}", "phase", o->phase, "step", o->step, "turns", o->turns,
                  "style", style));
    kg_buf_deinit(&text);
    return x;
}
