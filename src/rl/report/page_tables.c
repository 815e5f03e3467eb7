/* Sections in tables: components of the method, styles, kernels that were judged again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rl/report/parts.h"

/* Is this component the one that the run names, or one of those? */
static bool is_idle(const json_t *idle, const char *name)
{
    const char *one = json_string_value(idle);
    bool found = one != NULL && strcmp(one, name) == 0;
    for (size_t i = 0; i < json_array_size(idle) && !found; i++) {
        found = is_idle(json_array_get(idle, i), name);
    }
    return found;
}

static void component(const char *name, const json_t *v, const json_t *idle, struct kg_buf *out)
{
    long looked = (long)json_integer_value(json_array_get(v, 0));
    long acted = (long)json_integer_value(json_array_get(v, 1));
    bool failed = looked == 0 && is_idle(idle, name);
    kg_buf_addf(out, "<tr><td class=\"%s\">", failed ? "bad" : looked == 0 ? "mute" : "");
    kg_html_text(out, name);
    kg_buf_addf(out, "</td><td class=\"n\">%ld</td><td class=\"n\">%ld</td><td class=\"n\">",
                looked, acted);
    if (looked > 0) {
        kg_buf_addf(out, "%.1f %%", 100.0 * (double)acted / (double)looked);
    }
    kg_buf_addf(out, "</td><td class=\"%s\">%s</td></tr>\n", failed ? "bad" : "mute",
                failed        ? "on, and looked at nothing: the run failed"
                : looked == 0 ? "0 rows touched"
                              : "");
}

void rl_page_components(const struct rl_report *r, struct kg_buf *out)
{
    json_t *all = json_object_get(r->end, "components"), *v;
    const char *name;
    if (json_object_size(all) == 0) {
        return;
    }
    kg_buf_adds(out, "<section id=\"components\"><h2>Components</h2><p>How many rows, tokens or "
                     "groups each component of the method looked at, and how many of them it "
                     "changed, rejected or dropped. One that is off looks at nothing.</p>"
                     "<table><thead><tr><th>component</th><th class=\"n\">looked at</th>"
                     "<th class=\"n\">acted on</th><th class=\"n\">share</th><th></th></tr></thead>"
                     "<tbody>\n");
    json_object_foreach(all, name, v)
    {
        component(name, v, json_object_get(r->end, "idle"), out);
    }
    kg_buf_adds(out, "</tbody></table></section>\n");
}

/* --- styles --- */

struct styled {
    char name[64];
    size_t n[2]; /* before, after */
};
struct styles {
    struct styled *s;
    size_t n;
    size_t of[2]; /* replies of each evaluation */
};

static int by_after(const void *a, const void *b)
{
    const struct styled *x = a, *y = b;
    if (x->n[1] != y->n[1]) {
        return x->n[1] < y->n[1] ? 1 : -1;
    }
    return x->n[0] != y->n[0] ? (x->n[0] < y->n[0] ? 1 : -1) : strcmp(x->name, y->name);
}

static void count(struct styles *s, const char *name, size_t len, const size_t n[2])
{
    size_t at = 0;
    len = len < sizeof s->s->name ? len : sizeof s->s->name - 1;
    while (at < s->n && (strncmp(s->s[at].name, name, len) != 0 || s->s[at].name[len] != '\0')) {
        at++;
    }
    if (at == s->n) {
        s->s[s->n] = (struct styled){.n = {0, 0}};
        memcpy(s->s[s->n++].name, name, len);
    }
    s->s[at].n[0] += n[0];
    s->s[at].n[1] += n[1];
}

/* Of the evaluations' replies: whole styles, or their forms alone (first words). */
static struct styles styles_of(const struct rl_walks *w, bool forms)
{
    size_t *n[2] = {calloc(w->style.n + 1, sizeof **n), calloc(w->style.n + 1, sizeof **n)};
    struct styles s = {.s = calloc(w->style.n + 1, sizeof *s.s)};
    if (s.s != NULL && n[0] != NULL && n[1] != NULL) {
        s.of[0] = rl_walks_styles(w, RL_WHEN_BEFORE, n[0]);
        s.of[1] = rl_walks_styles(w, RL_WHEN_AFTER, n[1]);
        for (size_t i = 0; i < w->style.n; i++) {
            const char *name = w->style.word[i];
            count(&s, name, forms ? strcspn(name, " ") : strlen(name),
                  (const size_t[2]){n[0][i], n[1][i]});
        }
        qsort(s.s, s.n, sizeof *s.s, by_after);
    }
    free(n[0]);
    free(n[1]);
    return s;
}

static void style_rows(const struct styles *s, struct kg_buf *out)
{
    kg_buf_adds(out, "<table><thead><tr><th>style</th><th class=\"n\">before</th>"
                     "<th class=\"n\">after</th><th></th></tr></thead><tbody>\n");
    for (size_t i = 0; i < s->n && i < 60; i++) {
        double share[2];
        for (int e = 0; e < 2; e++) {
            share[e] = s->of[e] > 0 ? (double)s->s[i].n[e] / (double)s->of[e] : 0;
        }
        kg_buf_adds(out, "<tr><td>");
        kg_html_text(out, s->s[i].name);
        kg_buf_addf(out,
                    "</td><td class=\"n\">%.3f</td><td class=\"n\">%.3f</td><td class=\"pair\">"
                    "<div class=\"bar s7\"><i style=\"width:%.1f%%\"></i></div>"
                    "<div class=\"bar s0\"><i style=\"width:%.1f%%\"></i></div></td></tr>\n",
                    share[0], share[1], 100 * share[0], 100 * share[1]);
    }
    kg_buf_adds(out, "</tbody></table>\n");
}

void rl_page_styles(const struct rl_report *r, struct kg_buf *out)
{
    const struct rl_walks *w = &r->walks;
    if (w->style.n == 0) {
        return;
    }
    struct styles form = styles_of(w, true), whole = styles_of(w, false);
    kg_buf_adds(out,
                "<section id=\"styles\"><h2>Styles</h2><p>How the replies of held-out "
                "problems are written, before RL (grey) and after: by form, and below by whole "
                "style. `other` is code in no style of the corpus: the model wrote it in "
                "its own way, or it is broken.</p>\n");
    style_rows(&form, out);
    kg_buf_addf(out, "<details><summary>%zu whole styles</summary>\n", whole.n);
    style_rows(&whole, out);
    kg_buf_adds(out, "</details></section>\n");
    free(form.s);
    free(whole.s);
}

/* --- judged again --- */

static void again_row(const json_t *item, struct kg_buf *out)
{
    const char *state = rl_json_text(item, "state");
    bool held = strcmp(state, "held") == 0;
    kg_buf_adds(out, "<tr><td>");
    kg_html_cut(out, rl_json_text(item, "problem"), 80);
    kg_buf_addf(out, "</td><td>%s</td><td class=\"n\">",
                json_is_true(json_object_get(item, "best")) ? "best" : "random");
    rl_page_number(rl_json_real(item, "first"), 2, false, out);
    kg_buf_adds(out, "</td><td class=\"n\">");
    rl_page_number(rl_json_real(item, "speedup"), 2, false, out);
    kg_buf_adds(out, " <i class=\"mute\">[");
    rl_page_number(rl_json_real(item, "lo"), 2, false, out);
    kg_buf_adds(out, ", ");
    rl_page_number(rl_json_real(item, "hi"), 2, false, out);
    kg_buf_addf(out, "]</i></td><td class=\"%s\">", held ? "good" : "bad");
    kg_html_cut(out, state, 40);
    kg_buf_adds(out, "</td><td>");
    kg_html_cut(out, rl_json_text(item, "verdict"), 40);
    kg_buf_adds(out, "</td></tr>\n");
}

void rl_page_recheck(const struct rl_report *r, struct kg_buf *out)
{
    const json_t *items = json_object_get(r->recheck, "items"), *item;
    size_t i;
    long held, n;
    if (r->recheck == NULL) {
        return;
    }
    kg_buf_adds(out, "<section id=\"again\"><h2>Judged again</h2><p>");
    if (rl_report_held(r, &held, &n)) {
        kg_buf_addf(out,
                    "%ld of %ld random correct kernels of the evaluation after RL held when "
                    "judged again by preset ",
                    held, n);
        kg_html_cut(out, rl_json_text(r->recheck, "preset"), 60);
        kg_buf_adds(out, ": correct again, and above 1.2x again where they were. The best ones are "
                         "not counted, because they were chosen by their first time.");
    }
    kg_buf_adds(out, "</p>\n");
    if (json_array_size(items) > 0) {
        kg_buf_adds(out, "<table><thead><tr><th>problem</th><th></th><th class=\"n\">first</th>"
                         "<th class=\"n\">again [95 %]</th><th></th><th>verdict</th></tr></thead>"
                         "<tbody>\n");
        json_array_foreach(items, i, item)
        {
            again_row(item, out);
        }
        kg_buf_adds(out, "</tbody></table>\n");
    }
    kg_buf_adds(out, "</section>\n");
}
