/* The tables for a terminal, the object for scripts, and whether the effect was shown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "rl/report/parts.h"

#define FALL       0.1 /* correct may fall by this much */
#define HELD_SHARE 0.9 /* of the kernels that were judged again */

bool rl_report_failed(const struct rl_report *r)
{
    struct kg_buf idle;
    kg_buf_init(&idle, 1024);
    rl_report_idle(r, &idle);
    bool failed = idle.len > 0;
    kg_buf_deinit(&idle);
    return failed;
}

void rl_report_idle(const struct rl_report *r, struct kg_buf *out)
{
    const json_t *idle = json_object_get(r->end, "idle"), *v;
    size_t i;
    if (json_is_string(idle)) {
        kg_term_add_line(out, json_string_value(idle));
    }
    json_array_foreach(idle, i, v)
    {
        kg_buf_adds(out, i > 0 ? ", " : "");
        kg_term_add_line(out, json_is_string(v) ? json_string_value(v) : "?");
    }
}

bool rl_report_held(const struct rl_report *r, long *held, long *n)
{
    *held = rl_json_int(r->recheck, "held");
    *n = rl_json_int(r->recheck, "n");
    return *n > 0 && *held >= 0;
}

static void word(struct rl_effect *e, bool shown, const char *why)
{
    e->known = true;
    e->shown = shown;
    snprintf(e->text, sizeof e->text, "effect shown: %s (%s)", shown ? "yes" : "no", why);
}

struct rl_effect rl_report_effect(const struct rl_report *r)
{
    const struct rl_score_table *t = &r->table[RL_PART_PAIRS];
    struct rl_effect e = {.text = "effect shown: not known (no held-out pairs before and after)"};
    char why[160];
    long held, n;
    if (t->problems == 0 || r->walks.of[RL_WHEN_BEFORE] == 0 || r->walks.of[RL_WHEN_AFTER] == 0) {
        return e;
    }
    const struct rl_score_row *row = t->row[t->views - 1];
    struct rl_interval d = row[RL_ROW_FAST_12].difference;
    double fall = row[RL_ROW_CORRECT].before - row[RL_ROW_CORRECT].after;
    snprintf(why, sizeof why, "fast_1.2 on pairs %+.3f [%+.3f, %+.3f], correct %+.3f", d.value,
             d.lo, d.hi, -fall);
    bool shown = d.lo > 0 && fall <= FALL;
    if (rl_report_held(r, &held, &n)) {
        size_t len = strlen(why);
        snprintf(why + len, sizeof why - len, ", %ld of %ld held", held, n);
        shown = shown && (double)held >= HELD_SHARE * (double)n;
    }
    word(&e, shown, why);
    return e;
}

/* --- terminal --- */

static void cell(double x, bool sign, struct kg_buf *out)
{
    if (isfinite(x)) {
        kg_buf_addf(out, sign ? "%+.3f" : "%.3f", x);
    } else {
        kg_buf_adds(out, sign ? "     -" : "    -");
    }
}

static void add_row(const struct rl_score_row *s, enum rl_row row, struct kg_buf *out)
{
    kg_buf_addf(out, "    %-9s ", rl_row_name(row));
    cell(s->before, false, out);
    kg_buf_adds(out, " -> ");
    cell(s->after, false, out);
    if (isfinite(s->difference.value)) {
        kg_buf_adds(out, "   ");
        cell(s->difference.value, true, out);
        kg_buf_adds(out, " [");
        cell(s->difference.lo, true, out);
        kg_buf_adds(out, ", ");
        cell(s->difference.hi, true, out);
        kg_buf_addc(out, ']');
    }
    kg_buf_addc(out, '\n');
}

static void add_table(const struct rl_score_table *t, enum rl_part part, struct kg_buf *out)
{
    char name[24];
    for (int v = 0; v < t->views && t->problems > 0; v++) {
        rl_view_name(t, v, name);
        kg_buf_addf(out, "%zu held-out %s, %zu samples, %s\n", t->problems, rl_part_name(part),
                    t->samples, name);
        for (int r = 0; r < RL_ROWS; r++) {
            add_row(&t->row[v][r], (enum rl_row)r, out);
        }
    }
}

/* Of a run without trajectories: what its own lines say. */
static void add_lines(const struct rl_report *r, struct kg_buf *out)
{
    for (int i = 0; i < RL_WHENS; i++) {
        const char *key;
        json_t *v;
        if (r->line[i] == NULL) {
            continue;
        }
        kg_buf_addf(out, "%s:", rl_json_text(r->line[i], "phase"));
        json_object_foreach(r->line[i], key, v)
        {
            if (json_is_array(v) && json_array_size(v) == 3) {
                kg_buf_addc(out, ' ');
                kg_term_add_line(out, key);
                kg_buf_addf(out, " %.3f [%.3f, %.3f]", json_number_value(json_array_get(v, 0)),
                            json_number_value(json_array_get(v, 1)),
                            json_number_value(json_array_get(v, 2)));
            }
        }
        kg_buf_addc(out, '\n');
    }
}

static void add_seconds(const struct rl_report *r, struct kg_buf *out)
{
    static const char *const phase[] = {"corpus", "sft", "eval-before", "rl", "eval-after"};
    double sum = 0;
    if (r->end == NULL) {
        return;
    }
    kg_buf_adds(out, "seconds:");
    for (size_t i = 0; i < sizeof phase / sizeof *phase; i++) {
        double s = rl_json_real(r->end, phase[i]);
        if (isfinite(s)) {
            kg_buf_addf(out, " %s %.0f,", phase[i], s);
            sum += s;
        }
    }
    kg_buf_addf(out, " in all %.0f\n", sum);
}

void rl_report_text(const struct rl_report *r, struct kg_buf *out)
{
    struct kg_buf idle;
    long held, n;
    bool tables = false;
    kg_buf_init(&idle, 1024);
    kg_buf_adds(out, "before RL -> after RL   difference [paired 95 % interval by problem]\n");
    for (int p = 0; p < RL_PARTS_SHOWN; p++) {
        tables = tables || r->table[p].problems > 0;
        add_table(&r->table[p], (enum rl_part)p, out);
    }
    if (!tables) {
        add_lines(r, out);
    }
    add_seconds(r, out);
    if (rl_report_held(r, &held, &n)) {
        kg_buf_addf(out, "judged again by ");
        kg_term_add_line(out, rl_json_text(r->recheck, "preset"));
        kg_buf_addf(out, ": %ld of %ld correct kernels held\n", held, n);
    }
    rl_report_idle(r, &idle);
    if (idle.len > 0) {
        kg_buf_addf(out, "FAILED: `%s` was on and looked at nothing\n", idle.data);
    }
    for (int i = 0; i < r->notes.n; i++) {
        kg_buf_adds(out, "note: ");
        kg_term_add_line(out, r->notes.text[i]);
        kg_buf_addc(out, '\n');
    }
    kg_buf_addf(out, "%s\n", rl_report_effect(r).text);
    kg_buf_deinit(&idle);
}

/* --- for scripts --- */

static json_t *table_json(const struct rl_score_table *t)
{
    json_t *o = json_object(), *views = json_object();
    json_object_set_new(o, "problems", json_integer((json_int_t)t->problems));
    json_object_set_new(o, "samples", json_integer((json_int_t)t->samples));
    for (int v = 0; v < t->views; v++) {
        char name[24];
        json_t *rows = json_object();
        for (int r = 0; r < RL_ROWS; r++) {
            const struct rl_score_row *s = &t->row[v][r];
            json_t *row = json_object(), *d = json_array();
            json_object_set_new(row, "before", kg_json_real(s->before));
            json_object_set_new(row, "after", kg_json_real(s->after));
            json_array_append_new(d, kg_json_real(s->difference.value));
            json_array_append_new(d, kg_json_real(s->difference.lo));
            json_array_append_new(d, kg_json_real(s->difference.hi));
            json_object_set_new(row, "difference", d);
            json_object_set_new(rows, rl_row_name((enum rl_row)r), row);
        }
        snprintf(name, sizeof name, v + 1 == t->views ? "best" : "turn %d", v + 1);
        json_object_set_new(views, name, rows);
    }
    json_object_set_new(o, "views", views);
    return o;
}

/* Replies of an evaluation by style. */
static json_t *styles_json(const struct rl_walks *w, enum rl_when when)
{
    json_t *o = json_object();
    size_t *n = calloc(w->style.n + 1, sizeof *n);
    if (n != NULL && rl_walks_styles(w, when, n) > 0) {
        for (size_t i = 0; i < w->style.n; i++) {
            json_object_set_new(o, w->style.word[i], json_integer((json_int_t)n[i]));
        }
    }
    free(n);
    return o;
}

json_t *rl_report_json(const struct rl_report *r)
{
    struct rl_effect e = rl_report_effect(r);
    json_t *o = json_object(), *parts = json_object(), *styles = json_object();
    for (int p = 0; p < RL_PARTS_SHOWN; p++) {
        if (r->table[p].problems > 0) {
            json_object_set_new(parts, rl_part_name((enum rl_part)p), table_json(&r->table[p]));
        }
    }
    json_object_set_new(styles, "before", styles_json(&r->walks, RL_WHEN_BEFORE));
    json_object_set_new(styles, "after", styles_json(&r->walks, RL_WHEN_AFTER));
    json_object_set_new(o, "parts", parts);
    json_object_set_new(o, "styles", styles);
    json_object_set_new(o, "steps", json_integer((json_int_t)r->columns.steps));
    json_object_set(o, "end", r->end != NULL ? r->end : json_null());
    json_object_set(o, "recheck", r->recheck != NULL ? r->recheck : json_null());
    json_object_set_new(o, "effect", e.known ? json_boolean(e.shown) : json_null());
    json_object_set_new(o, "effect_text", json_string(e.text));
    json_object_set_new(o, "failed", json_boolean(rl_report_failed(r)));
    json_t *notes = json_array();
    for (int i = 0; i < r->notes.n; i++) {
        json_array_append_new(notes, kg_json_text(r->notes.text[i], strlen(r->notes.text[i])));
    }
    json_object_set_new(o, "notes", notes);
    return o;
}
