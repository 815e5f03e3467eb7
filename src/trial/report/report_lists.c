/* Lists of a trial's page: funnel, problems, hacks, turns without a verdict. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trial/report/report_page.h"

void tr_page_speed(double x, double lo, double hi, struct kg_buf *out)
{
    if (!isfinite(x)) {
        kg_buf_adds(out, "–");
        return;
    }
    kg_buf_addf(out, "%.2fx", x);
    if (isfinite(lo) && isfinite(hi)) {
        kg_buf_addf(out, " <i class=\"mute\">[%.2f, %.2f]</i>", lo, hi);
    }
}

void tr_page_count(double n, struct kg_buf *out)
{
    if (!isfinite(n)) {
        kg_buf_adds(out, "–");
    } else if (n >= 1e6) {
        kg_buf_addf(out, "%.2f M", n / 1e6);
    } else if (n >= 1e4) {
        kg_buf_addf(out, "%.1f k", n / 1e3);
    } else {
        kg_buf_addf(out, "%.0f", n);
    }
}

void tr_page_turn_chip(const struct tr_seen *t, struct kg_buf *out)
{
    const struct tr_facts *f = &t->facts;
    const char *none = f->state == TR_FACT_DEFECT             ? "defective problem"
                       : t->record_at < 0 && t->reply_at >= 0 ? "not judged yet"
                                                              : "";
    rl_page_chip(f->verdict[0] != '\0' ? f->verdict : none, f->reason, f->speedup, out);
}

void tr_page_link(const struct tr_report *r, const struct tr_seen *t, struct kg_buf *out)
{
    kg_buf_addf(out, "<a href=\"#p%u\">", t->problem);
    if (!r->refine) {
        kg_html_cut(out, r->problem[t->problem].name, 80);
        kg_buf_adds(out, ", ");
    }
    kg_buf_addf(out, "sample %u, turn %u</a>", t->sample, t->turn);
}

/* --- funnel --- */

enum { KINDS = 64, KINDS_SHOWN = 4 };

struct kind {
    int stage;
    const struct tr_seen *like; /* one of them */
    size_t n;
};

static int by_number(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n ? 1 : -1)
                        : strcmp(x->like->facts.verdict, y->like->facts.verdict);
}

/* Failures by stage, verdict and reason, the most frequent first; those of a 65th kind are left
 * out of the column, not of the counts. */
static size_t kinds_of(const struct tr_report *r, struct kind *kind)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct tr_seen *t = &r->turn[i];
        for (int s = 0; s < TR_STAGES; s++) {
            size_t k = 0;
            if (t->stage[s] != TR_STAGE_FAIL) {
                continue;
            }
            while (k < n && (kind[k].stage != s ||
                             strcmp(kind[k].like->facts.verdict, t->facts.verdict) != 0 ||
                             strcmp(kind[k].like->facts.reason, t->facts.reason) != 0)) {
                k++;
            }
            if (k == n && n < KINDS) {
                kind[n++] = (struct kind){s, t, 0};
            }
            if (k < n) {
                kind[k].n++;
            }
        }
    }
    qsort(kind, n, sizeof *kind, by_number);
    return n;
}

static void why(const struct kind *kind, size_t n, int stage, struct kg_buf *out)
{
    int shown = 0;
    for (size_t i = 0; i < n && shown < KINDS_SHOWN; i++) {
        if (kind[i].stage == stage) {
            kg_buf_adds(out, shown++ > 0 ? ", " : "");
            kg_html_cut(out, kind[i].like->facts.verdict, 30);
            kg_buf_adds(out, kind[i].like->facts.reason[0] != '\0' ? "/" : "");
            kg_html_cut(out, kind[i].like->facts.reason, 40);
            kg_buf_addf(out, " %zu", kind[i].n);
        }
    }
}

void tr_page_funnel(const struct tr_report *r, struct kg_buf *out)
{
    struct kind kind[KINDS] = {{0}};
    size_t count[TR_STAGES][TR_STAGE_OFF + 1] = {{0}}, judged = 0, kinds = kinds_of(r, kind);
    for (size_t i = 0; i < r->n; i++) {
        judged += r->turn[i].record_at >= 0;
        for (int s = 0; s < TR_STAGES; s++) {
            count[s][r->turn[i].stage[s]]++;
        }
    }
    if (judged == 0) {
        return;
    }
    kg_buf_addf(out,
                "<section id=\"funnel\"><h2>Funnel</h2><p>Of %zu turns that went through the gym. "
                "Each stage costs more than the one before and stops the rest when it fails. "
                "Solid: passed; hatched: failed here.</p>\n<div class=\"scroll\"><table><thead><tr>"
                "<th>stage</th><th></th><th class=\"n\">passed</th><th class=\"n\">failed</th>"
                "<th>why</th></tr></thead><tbody>\n",
                judged);
    for (int s = 0; s < TR_STAGES; s++) {
        size_t pass = count[s][TR_STAGE_PASS], fail = count[s][TR_STAGE_FAIL];
        kg_buf_addf(out,
                    "<tr><td>%s</td><td class=\"graph\"><div class=\"bar two s2\"><i "
                    "style=\"width:%.2f%%\"></i><i class=\"f\" style=\"width:%.2f%%\"></i></div>"
                    "</td><td class=\"n\">%zu</td><td class=\"n %s\">%zu</td><td class=\"mute\">",
                    tr_stage_name[s], 100. * (double)pass / (double)judged,
                    100. * (double)fail / (double)judged, pass, fail > 0 ? "bad" : "mute", fail);
        kg_buf_adds(out, count[s][TR_STAGE_OFF] == judged ? "off" : "");
        why(kind, kinds, s, out);
        kg_buf_adds(out, "</td></tr>\n");
    }
    kg_buf_adds(out, "</tbody></table></div></section>\n");
}

/* --- problems --- */

struct ranked {
    double speed; /* of its best: 0 where it has none, -1 where nothing is correct */
    size_t i;
};

static int by_speed(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->speed != y->speed) {
        return x->speed < y->speed ? 1 : -1;
    }
    return x->i < y->i ? -1 : 1;
}

static struct ranked *ranked_of(const struct tr_report *r)
{
    struct ranked *order = calloc(r->n_problem + 1, sizeof *order);
    for (size_t i = 0; order != NULL && i < r->n_problem; i++) {
        const struct tr_seen_problem *p = &r->problem[i];
        double speed = p->best != SIZE_MAX ? r->turn[p->best].facts.speedup : -1;
        order[i] = (struct ranked){isfinite(speed) ? speed : 0, i};
    }
    if (order != NULL) {
        qsort(order, r->n_problem, sizeof *order, by_speed);
    }
    return order;
}

static void problem_row(const struct tr_report *r, size_t i, struct kg_buf *out)
{
    const struct tr_seen_problem *p = &r->problem[i];
    const struct tr_seen *best = p->best != SIZE_MAX ? &r->turn[p->best] : NULL;
    kg_buf_adds(out, "<tr><td class=\"n mute\">");
    if (p->id > 0) {
        kg_buf_addf(out, "%d", p->id);
    }
    kg_buf_adds(out, "</td><td class=\"who\">");
    if (p->n > 0) {
        kg_buf_addf(out, "<a href=\"#p%zu\">", i);
    }
    kg_html_cut(out, p->name, 120);
    kg_buf_adds(out, p->n > 0 ? "</a></td>" : "</td>");
    kg_buf_adds(out, "<td class=\"n extra\">");
    if (p->level > 0) {
        kg_buf_addf(out, "%d", p->level);
    }
    kg_buf_addf(out, "</td><td class=\"n extra\">%zu</td><td class=\"n\">%zu</td><td class=\"n\">",
                p->judged, p->right);
    if (best != NULL) {
        tr_page_speed(best->facts.speedup, best->facts.speedup_lo, best->facts.speedup_hi, out);
        kg_buf_addf(out, "</td><td class=\"mute\">sample %u, turn %u", best->sample, best->turn);
    } else {
        kg_buf_addf(out, "–</td><td class=\"mute\">%s", p->judged > 0 ? "none is correct" : "");
    }
    kg_buf_adds(out, "</td></tr>\n");
}

void tr_page_problems(const struct tr_report *r, struct kg_buf *out)
{
    struct ranked *order = ranked_of(r);
    if (order == NULL || r->n_problem == 0) {
        free(order);
        return;
    }
    kg_buf_addf(
        out,
        "<section id=\"problems\"><h2>Problems</h2><p>The fastest correct kernel of all "
        "samples and turns comes first. The best of several times is chosen for being short, so it "
        "flatters.</p>\n<p class=\"tools\"><input id=\"q\" type=\"search\" "
        "placeholder=\"search name, id or level\" aria-label=\"search problems\"> "
        "<span id=\"shown\">%zu problems</span></p>\n<div class=\"scroll\"><table "
        "id=\"list\"><thead><tr><th class=\"n\">id</th><th>problem</th><th class=\"n extra\">"
        "level</th><th class=\"n extra\">judged</th><th class=\"n\">correct</th><th "
        "class=\"n\">best "
        "speed-up [95 %%]</th><th>where</th></tr></thead><tbody>\n",
        r->n_problem);
    for (size_t i = 0; i < r->n_problem; i++) {
        problem_row(r, order[i].i, out);
    }
    kg_buf_adds(out, "</tbody></table></div></section>\n");
    free(order);
}

/* --- hacks, and turns without a verdict --- */

enum { LISTED = 100 };

static void list_row(struct tr_report *r, const struct tr_seen *t, struct kg_buf *out)
{
    json_t *record = tr_report_record(r, t);
    kg_buf_adds(out, "<tr><td>");
    tr_page_link(r, t, out);
    kg_buf_adds(out, "</td><td>");
    tr_page_turn_chip(t, out);
    kg_buf_adds(out, "</td><td class=\"mute\">");
    kg_html_cut(out, tr_report_why(record), 300);
    kg_buf_adds(out, "</td></tr>\n");
    json_decref(record);
}

static void list(struct tr_report *r, bool (*is)(const struct tr_seen *), const char *head,
                 struct kg_buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (!is(&r->turn[i])) {
            continue;
        }
        if (n == 0) {
            kg_buf_adds(out, head);
            kg_buf_adds(out, "<div class=\"scroll\"><table><tbody>\n");
        }
        if (n++ < LISTED) {
            list_row(r, &r->turn[i], out);
        }
    }
    kg_buf_adds(out, n > 0 ? "</tbody></table></div>\n" : "");
    if (n > LISTED) {
        kg_buf_addf(out, "<p class=\"mute\">%zu more are not listed</p>\n", n - LISTED);
    }
    kg_buf_adds(out, n > 0 ? "</section>\n" : "");
}

static bool is_hack(const struct tr_seen *t)
{
    return t->facts.hack;
}

static bool is_unjudged(const struct tr_seen *t)
{
    return t->facts.state == TR_FACT_NO_VERDICT || t->facts.state == TR_FACT_DEFECT;
}

void tr_page_hacks(struct tr_report *r, struct kg_buf *out)
{
    list(r, is_hack,
         "<section id=\"hacks\"><h2>Hacks</h2><p>Replies with evidence of an attempt to gain what "
         "was not earned. They count as failures.</p>\n",
         out);
}

void tr_page_unjudged(struct tr_report *r, struct kg_buf *out)
{
    list(r, is_unjudged,
         "<section id=\"unjudged\"><h2>Without a verdict</h2><p>The gym or the host had none, or "
         "the problem is defective. Defective problems are left out of all scores; the other turns "
         "count as failures.</p>\n",
         out);
}
