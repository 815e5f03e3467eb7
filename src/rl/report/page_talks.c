/* Sections of whole texts: best kernels, conversations with what changed between their turns, and
 * the configuration. */
#include <math.h>
#include <string.h>

#include "rl/report/parts.h"

static void chip(const json_t *turn, struct kg_buf *out)
{
    rl_page_chip(rl_json_text(turn, "verdict"), rl_json_text(turn, "reason"),
                 rl_json_real(turn, "speedup"), out);
}

/* --- conversations --- */

static void fact(const char *name, const json_t *o, const char *key, struct kg_buf *out)
{
    const json_t *v = json_object_get(o, key);
    if (v != NULL && !json_is_null(v)) {
        kg_buf_addf(out, " · %s ", name);
        kg_html_value(out, v, 120);
    }
}

static void turn_facts(const json_t *turn, struct kg_buf *out)
{
    const json_t *extra = json_object_get(turn, "extra");
    kg_buf_addf(out, "<p><b>Turn %ld</b> ", rl_json_int(turn, "turn"));
    chip(turn, out);
    kg_buf_adds(out, "<span class=\"mute\">");
    fact("coverage", turn, "coverage", out);
    fact("terms", extra, "terms", out);
    fact("return", extra, "return", out);
    fact("advantage", extra, "advantage", out);
    if (json_array_size(json_object_get(extra, "why")) > 0) {
        fact("did not train:", extra, "why", out);
    }
    if (json_is_true(json_object_get(turn, "shared"))) {
        kg_buf_adds(out, " · shares the record of an equal reply");
    }
    kg_buf_adds(out, "</span></p>\n");
}

static void turns_of(const json_t *line, struct kg_buf *out)
{
    const json_t *turns = json_object_get(line, "turns"), *turn, *last = NULL;
    size_t i;
    json_array_foreach(turns, i, turn)
    {
        const char *feedback = rl_json_text(last, "feedback");
        if (feedback[0]) {
            kg_buf_adds(out, "<p class=\"mute\">feedback</p>");
            rl_page_text(feedback, out);
        }
        turn_facts(turn, out);
        if (last == NULL) {
            rl_page_text(rl_json_text(turn, "reply"), out);
        } else {
            rl_page_diff(rl_json_text(last, "reply"), rl_json_text(turn, "reply"), out);
        }
        last = turn;
    }
}

static void talk(const json_t *line, struct kg_buf *out)
{
    const json_t *extra = json_object_get(line, "extra"), *turn;
    size_t i;
    kg_buf_adds(out, "<details><summary><b>");
    kg_html_cut(out, rl_json_text(json_object_get(line, "problem"), "name"), 80);
    kg_buf_adds(out, "</b>");
    json_array_foreach(json_object_get(line, "turns"), i, turn)
    {
        chip(turn, out);
    }
    kg_buf_adds(out, "<span class=\"mute\">");
    kg_html_cut(out, rl_json_text(extra, "phase"), 20);
    if (rl_json_int(extra, "step") >= 0) {
        kg_buf_addf(out, ", step %ld", rl_json_int(extra, "step"));
    }
    fact("style", extra, "style", out);
    kg_buf_adds(out, "</span></summary><div class=\"body\"><p class=\"mute\">prompt</p>");
    rl_page_text(rl_json_text(line, "prompt"), out);
    turns_of(line, out);
    kg_buf_adds(out, "</div></details>\n");
}

void rl_page_talks(const struct rl_report *r, struct kg_buf *out)
{
    static const char *const title[RL_KINDS] = {
        "A later turn is faster", "A later turn mends the first", "A later turn breaks the first",
        "The gym refused them as hacks", "Any"};
    bool any = false;
    for (int k = 0; k < RL_KINDS; k++) {
        if (r->talks.n[k] == 0) {
            continue;
        }
        kg_buf_adds(out, any ? ""
                             : "<section id=\"talks\"><h2>Trajectories</h2><p>A few of each kind, "
                               "whole. A later turn is shown as what it changed in the one "
                               "before.</p>\n");
        any = true;
        kg_buf_addf(out, "<h3>%s</h3>\n", title[k]);
        for (int i = 0; i < r->talks.n[k]; i++) {
            talk(r->talks.line[k][i], out);
        }
    }
    kg_buf_adds(out, any ? "</section>\n" : "");
}

/* --- best kernels --- */

/* What the second judging says of a best kernel; NULL: it was not judged again. */
static const json_t *again_of(const struct rl_report *r, const struct rl_kernel *k)
{
    const json_t *item, *found = NULL;
    size_t i;
    json_array_foreach(json_object_get(r->recheck, "items"), i, item)
    {
        if (json_is_true(json_object_get(item, "best")) &&
            strcmp(rl_json_text(item, "problem"), k->problem) == 0) {
            found = item;
        }
    }
    return found;
}

static void kernel(const struct rl_report *r, const struct rl_kernel *k, bool open,
                   struct kg_buf *out)
{
    const json_t *again = again_of(r, k);
    kg_buf_addf(out, "<details%s><summary><b>", open ? " open" : "");
    kg_html_cut(out, k->problem, 80);
    kg_buf_addf(out, "</b><span class=\"chip v-ok\">%.2fx</span> <span class=\"mute\">",
                k->speedup);
    if (k->step >= 0) {
        kg_buf_addf(out, "step %ld, ", k->step);
    } else {
        kg_buf_adds(out, "evaluation after RL, ");
    }
    kg_buf_addf(out, "turn %d</span>", k->turn);
    if (again != NULL) {
        bool held = strcmp(rl_json_text(again, "state"), "held") == 0;
        kg_buf_addf(out, " <span class=\"%s\">again: ", held ? "good" : "bad");
        kg_html_cut(out, rl_json_text(again, "verdict"), 30);
        kg_buf_addf(out, " %.2fx [%.2f, %.2f]</span>", rl_json_real(again, "speedup"),
                    rl_json_real(again, "lo"), rl_json_real(again, "hi"));
    }
    kg_buf_adds(out, "</summary><div class=\"body\">");
    rl_page_text(k->reply, out);
    kg_buf_adds(out, "</div></details>\n");
}

void rl_page_kernels(const struct rl_report *r, struct kg_buf *out)
{
    if (r->kernels.n_best == 0) {
        return;
    }
    kg_buf_adds(out, "<section id=\"kernels\"><h2>Best kernels</h2><p>The fastest correct reply of "
                     "each problem, during RL and after it. A first time is chosen for being good, "
                     "so it flatters: the second judging is what counts.");
    kg_buf_adds(out, r->recheck == NULL
                         ? " These were not judged again: kgym report RUN --recheck 20.</p>\n"
                         : "</p>\n");
    for (int i = 0; i < r->kernels.n_best; i++) {
        kernel(r, &r->kernels.best[i], i == 0, out);
    }
    kg_buf_adds(out, "</section>\n");
}

/* --- configuration and host --- */

void rl_page_run(const struct rl_report *r, struct kg_buf *out)
{
    kg_buf_adds(out, "<section id=\"run\"><h2>Run</h2>\n");
    if (r->config.len > 0) {
        kg_buf_adds(out, "<details><summary>config.yaml</summary>");
        rl_page_text(r->config.data, out);
        kg_buf_adds(out, "</details>\n");
    }
    if (r->host != NULL) {
        struct kg_buf text;
        kg_buf_init(&text, 20000);
        kg_json_dump_pretty(r->host, &text);
        kg_buf_adds(out, "<details><summary>host.json</summary>");
        rl_page_text(text.data, out);
        kg_buf_adds(out, "</details>\n");
        kg_buf_deinit(&text);
    }
    kg_buf_adds(out, "</section>\n");
}
