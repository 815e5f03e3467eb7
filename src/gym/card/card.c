/* The verdict card: one record as text for a terminal. */
#include "gym/card/card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gym/card/parts.h"
#include "gym/card/units.h"
#include "gym/reward/reward.h"

void kg_card_label(struct kg_pen *p, const char *label)
{
    kg_pen_to(p, KG_CARD_INDENT);
    kg_pen_put(p, KG_DIM, label);
    kg_pen_to(p, KG_CARD_LABEL);
}

static enum kg_style style_of(enum kg_verdict v)
{
    switch (v) {
    case KG_V_OK:
        return KG_GREEN;
    case KG_V_NONE:
        return KG_DIM;
    case KG_V_WRONG:
    case KG_V_TIMEOUT:
    case KG_V_OUT_OF_MEMORY:
        return KG_YELLOW;
    case KG_V_NO_CODE:
    case KG_V_REJECTED:
    case KG_V_COMPILE_ERROR:
        return KG_CYAN;
    default:
        return KG_RED;
    }
}

static void add_fact(char *line, size_t cap, const char *separator, const char *fact)
{
    size_t used = strlen(line);
    snprintf(line + used, cap - used, "%s%s", used > 0 ? separator : "", fact);
}

static void card_head(struct kg_pen *p, const struct kg_record *r)
{
    char facts[256] = "", level[16], bytes[KG_UNITS_LEN];
    const char *dot = kg_pen_pick(p, " · ", ", ");
    if (r->problem.level >= 0) {
        snprintf(level, sizeof level, "level %d", r->problem.level);
        add_fact(facts, sizeof facts, dot, level);
    }
    if (r->candidate.language != NULL || r->problem.language != NULL) {
        add_fact(facts, sizeof facts, dot,
                 r->candidate.language != NULL ? r->candidate.language : r->problem.language);
    }
    if (r->candidate.rule != NULL) {
        add_fact(facts, sizeof facts, dot, r->candidate.rule);
    }
    if (r->candidate.bytes >= 0) {
        add_fact(facts, sizeof facts, dot, kg_units_bytes(r->candidate.bytes, bytes));
    }
    kg_pen_to(p, 1);
    kg_pen_put(p, KG_BOLD, r->problem.name != NULL ? r->problem.name : "(no problem)");
    if (r->batch_id != NULL) {
        kg_pen_putf(p, KG_DIM, "  %s", r->batch_id);
    }
    int columns = (int)kg_term_columns(facts);
    if (p->column + 2 + columns > p->width) {
        kg_pen_line(p);
    }
    kg_pen_to(p, p->width - columns - 1 > 1 ? p->width - columns - 1 : 1);
    kg_pen_put(p, KG_DIM, facts);
    kg_pen_line(p);
    kg_pen_to(p, 1);
    for (int i = 0; i < p->width - 2; i++) {
        kg_pen_put(p, KG_DIM, kg_pen_pick(p, "─", "-"));
    }
    kg_pen_line(p);
}

static void card_verdict(struct kg_pen *p, const struct kg_record *r)
{
    char name[64];
    enum kg_style style = style_of(r->verdict);
    const char *text = r->message;
    if (r->has_error) {
        snprintf(name, sizeof name, "%s ERROR", kg_pen_pick(p, "✘", "x"));
        style = KG_RED;
        text = r->error.message;
    } else if (r->verdict == KG_V_NONE) {
        snprintf(name, sizeof name, "%s NOT JUDGED", kg_pen_pick(p, "○", "o"));
        text = "no outputs were compared";
    } else {
        bool ok = r->verdict == KG_V_OK;
        snprintf(name, sizeof name, "%s %s",
                 ok ? kg_pen_pick(p, "✔", "+") : kg_pen_pick(p, "✘", "x"),
                 kg_verdict_name(r->verdict));
        for (char *c = name; *c != '\0'; c++) {
            *c = *c == '_' ? ' ' : *c >= 'a' && *c <= 'z' && c > name + 1 ? (char)(*c - 32) : *c;
        }
    }
    kg_pen_to(p, 1);
    kg_pen_put(p, style, name);
    const char *detail = r->has_error ? kg_code_name(r->error.code) : r->reason;
    if (detail != NULL) {
        kg_pen_putf(p, style, " %s %s", kg_pen_pick(p, "·", "/"), detail);
    }
    if (r->has_error) {
        kg_pen_putf(p, KG_DIM, " (blame: %s)", kg_blame_name(r->error.blame));
    }
    if (text != NULL) {
        kg_pen_to(p, p->column + 1);
        kg_pen_wrap(p, KG_PLAIN, 3, text);
    }
    kg_pen_line(p);
    kg_pen_line(p);
}

/* A check mark says that something was done, so a timing stage that measured nothing has none. */
static enum kg_stage_status shown_status(const struct kg_record *r, int stage)
{
    return stage == KG_ST_TIMING && kg_record_untimed(r) ? KG_SS_OFF : r->stages[stage].status;
}

static const char *below_mark(const struct kg_record *r, int stage, char time[KG_UNITS_LEN])
{
    enum kg_stage_status s = r->stages[stage].status;
    if (stage == KG_ST_TIMING && kg_record_untimed(r)) {
        return r->timing.status == KG_T_NOT_TRUSTED ? "untrusted" : "not timed";
    }
    if (s == KG_SS_PASS && r->stages[stage].cached) {
        return "cached";
    }
    return s == KG_SS_PASS || s == KG_SS_FAIL ? kg_units_time(r->stages[stage].ns, time)
                                              : kg_stage_status_name(s);
}

static void funnel_mark(struct kg_pen *p, const struct kg_record *r, int stage)
{
    static const char *const marks[][2] = {[KG_SS_SKIP] = {"–", "-"},
                                           [KG_SS_PASS] = {"✔", "+"},
                                           [KG_SS_FAIL] = {"✘", "x"},
                                           [KG_SS_OFF] = {"○", "o"}};
    static const enum kg_style styles[] = {[KG_SS_SKIP] = KG_DIM,
                                           [KG_SS_PASS] = KG_GREEN,
                                           [KG_SS_FAIL] = KG_RED,
                                           [KG_SS_OFF] = KG_DIM};
    enum kg_stage_status s = shown_status(r, stage);
    kg_pen_putf(p, styles[s], "%s ", kg_pen_pick(p, marks[s][0], marks[s][1]));
    kg_pen_put(p,
               s == KG_SS_FAIL   ? KG_BOLD
               : s == KG_SS_PASS ? KG_PLAIN
                                 : KG_DIM,
               kg_stage_name((enum kg_stage)stage));
}

/* Marks above, times below, as many stages in a row as fit. */
static void card_funnel(struct kg_pen *p, const struct kg_record *r)
{
    const int cell = 11;
    int fit = (p->width - KG_CARD_INDENT) / cell;
    fit = fit < 1 ? 1 : fit;
    for (int first = 0; first < KG_ST_COUNT; first += fit) {
        int last = first + fit < KG_ST_COUNT ? first + fit : KG_ST_COUNT;
        for (int i = first; i < last; i++) {
            kg_pen_to(p, KG_CARD_INDENT + cell * (i - first));
            funnel_mark(p, r, i);
        }
        kg_pen_line(p);
        for (int i = first; i < last; i++) {
            char time[KG_UNITS_LEN];
            kg_pen_to(p, KG_CARD_INDENT + 2 + cell * (i - first));
            kg_pen_put(p, KG_DIM, below_mark(r, i, time));
        }
        kg_pen_line(p);
    }
    kg_pen_line(p);
}

static void isolation(struct kg_pen *p, const struct kg_isolation *iso)
{
    if (iso->level < 0) {
        return;
    }
    char lacks[256] = "";
    for (int i = 0; i < KG_STEP_COUNT; i++) {
        if ((iso->lacks >> i & 1) != 0) {
            add_fact(lacks, sizeof lacks, ", ", kg_step_name(1 << i));
        }
    }
    kg_card_label(p, "isolation");
    static const char *const words[] = {"not confined", "basic confinement", "confined",
                                        "confined"};
    kg_pen_putf(p, iso->level == 0 ? KG_RED : KG_PLAIN, "L%d", iso->level);
    kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, "%s%s", words[iso->level > 3 ? 3 : iso->level],
                 lacks[0] != '\0' ? "," : "");
    if (lacks[0] != '\0') {
        kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, "lacks %s", lacks);
    }
    kg_pen_line(p);
}

static void rewards(struct kg_pen *p, const struct kg_record *r)
{
    const char *absent = r->verdict != KG_V_NONE ? kg_reward_absent(r) : NULL;
    if (absent != NULL) {
        kg_card_label(p, "rewards");
        kg_pen_wrapf(p, KG_YELLOW, KG_CARD_LABEL, "none: %s", absent);
        kg_pen_line(p);
    }
    for (int i = 0; i < r->nrewards; i++) {
        const struct kg_reward *w = &r->rewards[i];
        kg_card_label(p, i == 0 ? "rewards" : "");
        kg_pen_wrapf(p, KG_PLAIN, KG_CARD_LABEL, "%s", w->name);
        kg_pen_wrapf(p, KG_BOLD, KG_CARD_LABEL, "%.4g", w->value);
        char terms[256] = "", one[80];
        for (int k = 0; k < w->nterms; k++) {
            snprintf(one, sizeof one, "%s %.4g", w->term[k].name, w->term[k].value);
            add_fact(terms, sizeof terms, " + ", one);
        }
        if (w->nterms > 1) {
            kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, "= %s", terms);
        }
        const char *why = r->timing.why != NULL ? kg_reward_why_besides(r, w) : w->why;
        if (why[0] != '\0') {
            kg_pen_wrapf(p, KG_YELLOW, KG_CARD_LABEL, "(%s)", why);
        }
        kg_pen_line(p);
    }
}

static void card_foot(struct kg_pen *p, const struct kg_record *r)
{
    char line[160] = "", text[KG_UNITS_LEN + 16], unit[KG_UNITS_LEN];
    double total = r->setup_ns > 0 ? (double)r->setup_ns : 0;
    for (int i = 0; i < KG_ST_COUNT; i++) {
        total += r->stages[i].ns > 0 ? (double)r->stages[i].ns : 0;
    }
    if (r->replay[0] != '\0') {
        kg_card_label(p, "replay");
        kg_pen_wrapf(p, KG_YELLOW, KG_CARD_LABEL, "only the recorded cases of %s were asked",
                     r->replay);
        kg_pen_line(p);
    }
    rewards(p, r);
    isolation(p, &r->isolation);
    kg_card_label(p, "record");
    if (r->id[0] != '\0') {
        add_fact(line, sizeof line, ", ", r->id);
    }
    add_fact(line, sizeof line, ", ", kg_units_time_real(total, unit));
    if (r->peak_bytes >= 0) {
        snprintf(text, sizeof text, "peak memory %s", kg_units_bytes(r->peak_bytes, unit));
        add_fact(line, sizeof line, ", ", text);
    }
    kg_pen_wrap(p, KG_DIM, KG_CARD_LABEL, line);
    kg_pen_line(p);
}

void kg_card_render_style(const struct kg_record *r, const struct kg_card_style *style,
                          struct kg_buf *out)
{
    int width = style->width < 40 ? 40 : style->width > 200 ? 200 : style->width;
    struct kg_pen p = {.out = out, .colour = style->colour, .ascii = style->ascii, .width = width};
    card_head(&p, r);
    card_verdict(&p, r);
    card_funnel(&p, r);
    kg_card_source(&p, r);
    kg_card_speed(&p, r);
    kg_card_evidence(&p, r);
    card_foot(&p, r);
}

bool kg_card_unicode(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0') {
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
        }
    }
    return false;
}

void kg_card_render(const struct kg_record *r, bool colour, int width, struct kg_buf *out)
{
    struct kg_card_style style = {.colour = colour, .ascii = !kg_card_unicode(), .width = width};
    kg_card_render_style(r, &style, out);
}
