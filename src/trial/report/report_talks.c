/* Conversations: what was said in each turn, and what a turn changed in the code of the one before.
 * A run may have thousands: of each problem the fastest conversation and one that the gym refused
 * or that failed are shown whole, as long as the page has room. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trial/report/report_page.h"

enum { WHOLE_PROBLEM = 2, WHOLE_MOST = 600, WHOLE_BYTES = 24 << 20, LONG_LINE = 80 };

/* --- a turn --- */

void tr_page_change(const char *before, const char *after, struct kg_buf *out)
{
    size_t lines = 1;
    for (const char *at = after; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    if (strlen(after) / lines > LONG_LINE) {
        rl_page_diff(before, after, out);
    } else {
        rl_page_diff_lines(before, after, out);
    }
}

static void folded(const char *title, const char *text, struct kg_buf *out)
{
    if (text[0] != '\0') {
        kg_buf_addf(out, "<details><summary class=\"mute\">%s</summary>", title);
        rl_page_text(text, out);
        kg_buf_adds(out, "</details>\n");
    }
}

static void turn_head(const struct tr_report *r, const struct tr_seen *t, struct kg_buf *out)
{
    const struct tr_facts *f = &t->facts;
    kg_buf_addf(out, "<p id=\"r%zu\"><b>", (size_t)(t - r->turn));
    if (r->refine && t->sample > 1) {
        kg_buf_addf(out, "Start %u, ", t->sample);
    }
    kg_buf_addf(out, "Turn %u</b> ", t->turn);
    tr_page_turn_chip(t, out);
    kg_buf_adds(out, "<span class=\"mute\">");
    if (isfinite(f->speedup_lo) && isfinite(f->speedup_hi)) {
        kg_buf_addf(out, "[%.2f, %.2f] · ", f->speedup_lo, f->speedup_hi);
    }
    if (isfinite(f->coverage)) {
        kg_buf_addf(out, "coverage %.2f · ", f->coverage);
    }
    tr_page_count((double)t->tokens_in, out);
    kg_buf_adds(out, " tokens read, ");
    tr_page_count((double)t->tokens_out, out);
    kg_buf_addf(out, " written%s</span></p>\n", t->cut ? " · cut at its limit" : "");
}

/* before: the record of the turn before, whose code this one may have changed; or NULL. Returns its
 * own record, the caller's, or NULL. */
static json_t *turn(struct tr_report *r, const struct tr_seen *t, const json_t *before,
                    const char *feedback, struct kg_buf *out)
{
    json_t *reply = tr_report_reply(r, t), *record = tr_report_record(r, t);
    const char *code = tr_report_code(record), *old = tr_report_code(before);
    const char *text = rl_json_text(reply, "text");
    folded("feedback that it was shown", feedback, out);
    turn_head(r, t, out);
    if (!t->facts.correct && tr_report_why(record)[0] != '\0') {
        kg_buf_adds(out, "<p class=\"said\">");
        kg_html_cut(out, tr_report_why(record), 600);
        kg_buf_adds(out, "</p>\n");
    }
    folded("reasoning", rl_json_text(reply, "reasoning"), out);
    if (code[0] != '\0' && old[0] != '\0' && strcmp(code, old) == 0) {
        kg_buf_adds(out, "<p class=\"mute\">the same code as before</p>\n");
    } else if (code[0] != '\0' && old[0] != '\0') {
        tr_page_change(old, code, out);
    } else {
        rl_page_text(code[0] != '\0' ? code : text, out);
    }
    if (code[0] != '\0') {
        folded("the whole reply", text, out);
    }
    json_decref(reply);
    return record;
}

/* --- a conversation --- */

/* The feedback of the turn before number `turn`, as the conversation's line has it; "". */
static const char *feedback_before(const json_t *line, uint32_t turn)
{
    const json_t *t;
    size_t i;
    json_array_foreach(json_object_get(line, "turns"), i, t)
    {
        if (rl_json_int(t, "turn") == (long)turn - 1) {
            return rl_json_text(t, "feedback");
        }
    }
    return "";
}

static void whole(struct tr_report *r, const struct tr_talk *talk, struct kg_buf *out)
{
    json_t *line = tr_report_line(r, talk), *before = NULL;
    folded("prompt", rl_json_text(line, "prompt"), out);
    for (size_t i = 0; i < talk->n; i++) {
        const struct tr_seen *t = &r->turn[talk->first + i];
        json_t *record = turn(r, t, before, feedback_before(line, t->turn), out);
        /* one without code is passed over: the next is compared with the last that had some */
        bool has_code = tr_report_code(record)[0] != '\0';
        json_decref(has_code ? before : record);
        before = has_code ? record : before;
    }
    json_decref(before);
    json_decref(line);
}

static void chips(const struct tr_report *r, const struct tr_talk *talk, struct kg_buf *out)
{
    kg_buf_addf(out, "<b>sample %u</b>", r->turn[talk->first].sample);
    for (size_t i = 0; i < talk->n && i < 40; i++) {
        tr_page_turn_chip(&r->turn[talk->first + i], out);
    }
}

/* How much there is to see in a conversation: the fastest first, then refused ones, then those that
 * came furthest. */
static double interest(const struct tr_report *r, const struct tr_talk *talk)
{
    double best = 0;
    for (size_t i = 0; i < talk->n; i++) {
        const struct tr_facts *f = &r->turn[talk->first + i].facts;
        double here = f->correct    ? 1000 + (isfinite(f->speedup) ? f->speedup : 0)
                      : f->hack     ? 100
                      : f->compiled ? 3
                      : f->valid    ? 2
                                    : 1;
        best = fmax(best, here);
    }
    return best;
}

/* The room of the page. */
struct left {
    size_t shown, not_shown; /* conversations */
    size_t from;             /* bytes of the page before the section */
};

/* The most interesting of n conversations but one; the first of equal ones. SIZE_MAX: none. */
static size_t most(const struct tr_report *r, const struct tr_talk *talk, size_t n, size_t but)
{
    size_t at = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        if (i != but && (at == SIZE_MAX || interest(r, &talk[i]) > interest(r, &talk[at]))) {
            at = i;
        }
    }
    return at;
}

/* The second one is refused where there is such a one, else it failed. */
static size_t other(const struct tr_report *r, const struct tr_talk *talk, size_t n, size_t first)
{
    size_t at = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        double x = interest(r, &talk[i]);
        if (i != first && x < 1000 && (at == SIZE_MAX || x > interest(r, &talk[at]))) {
            at = i;
        }
    }
    return at != SIZE_MAX ? at : most(r, talk, n, first);
}

static void problem(struct tr_report *r, uint32_t p, const struct tr_talk *talk, size_t n,
                    struct left *left, struct kg_buf *out)
{
    const struct tr_seen_problem *q = &r->problem[p];
    size_t shown[WHOLE_PROBLEM] = {most(r, talk, n, SIZE_MAX), SIZE_MAX};
    shown[1] = other(r, talk, n, shown[0]);
    kg_buf_addf(out, "<details%s><summary><b>", r->refine ? " open" : "");
    kg_html_cut(out, q->name, 120);
    kg_buf_adds(out, "</b>");
    if (q->best != SIZE_MAX) {
        tr_page_turn_chip(&r->turn[q->best], out);
    }
    kg_buf_addf(out,
                "<span class=\"mute\">%zu of %zu turns correct</span></summary>"
                "<div class=\"body\" id=\"p%u\">\n",
                q->right, q->n, p);
    for (size_t i = 0; i < n; i++) {
        bool room = left->shown < WHOLE_MOST && out->len - left->from < WHOLE_BYTES;
        if (room && (r->refine || i == shown[0] || i == shown[1])) {
            left->shown++;
            kg_buf_addf(out, "<details%s><summary>", i == shown[0] ? " open" : "");
            chips(r, &talk[i], out);
            kg_buf_adds(out, "</summary><div class=\"body\">\n");
            whole(r, &talk[i], out);
            kg_buf_adds(out, "</div></details>\n");
        } else {
            left->not_shown++;
            kg_buf_adds(out, "<p class=\"line\">");
            chips(r, &talk[i], out);
            kg_buf_adds(out, "</p>\n");
        }
    }
    kg_buf_adds(out, "</div></details>\n");
}

void tr_page_talks(struct tr_report *r, struct kg_buf *out)
{
    struct left left = {.from = out->len};
    if (r->n_talk == 0) {
        return;
    }
    kg_buf_addf(out,
                "<section id=\"talks\"><h2>Trajectories</h2><p>%s A later turn is shown as what it "
                "changed in the code before.</p>\n",
                r->refine ? "All that was said."
                          : "Of each problem the fastest conversation, and one that the gym "
                            "refused or that failed.");
    for (size_t i = 0; i < r->n_talk;) {
        uint32_t p = r->turn[r->talk[i].first].problem;
        size_t n = 1;
        while (i + n < r->n_talk && r->turn[r->talk[i + n].first].problem == p) {
            n++;
        }
        problem(r, p, &r->talk[i], n, &left, out);
        i += n;
    }
    if (left.not_shown > 0) {
        kg_buf_addf(out,
                    "<p class=\"mute\">%zu of %zu conversations are not shown whole: their texts "
                    "are in replies.jsonl and records.jsonl.</p>\n",
                    left.not_shown, r->n_talk);
    }
    kg_buf_adds(out, "</section>\n");
}
