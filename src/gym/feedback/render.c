/* The page of a record, and how it is cut to the budget: verdict and request always stay; then
 * come speed, kernels (rows from the top), facts, hint, source, the compiler's text (head and
 * tail). */
#include <string.h>

#include "gym/feedback/feedback_parts.h"

static const char *const style_names[KG_FEEDBACK_STYLES] = {"markdown", "plain", "brief"};

const char *kg_feedback_style_name(enum kg_feedback_style s)
{
    KG_ASSERT(s >= KG_FEEDBACK_MARKDOWN && s < KG_FEEDBACK_STYLES);
    return style_names[s];
}

bool kg_feedback_style_parse(const char *name, enum kg_feedback_style *out)
{
    for (int i = 0; i < KG_FEEDBACK_STYLES; i++) {
        if (strcmp(name, style_names[i]) == 0) {
            *out = (enum kg_feedback_style)i;
            return true;
        }
    }
    return false;
}

int64_t kg_feedback_least(enum kg_feedback_style s)
{
    return s == KG_FEEDBACK_BRIEF_LINE ? 1 : KG_FEEDBACK_MIN_TOKENS;
}

#define TEXT_MAX (1u << 26) /* of one part before it is cut; a record's own maximum is below */

static void page_init(struct kg_fb_page *p)
{
    struct kg_buf *const small[] = {&p->status, &p->facts,   &p->hint,
                                    &p->speed,  &p->kernels, &p->ask};
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
        kg_buf_init(small[i], 1 << 16);
    }
    kg_buf_init(&p->source.text, 1 << 16);
    kg_buf_init(&p->output.text, TEXT_MAX);
    p->source.title = p->output.title = "";
    p->source.tag = "";
    p->output.tag = "text";
    p->output.focus = -1;
}

static void page_deinit(struct kg_fb_page *p)
{
    struct kg_buf *const all[] = {&p->status,  &p->facts, &p->hint,        &p->speed,
                                  &p->kernels, &p->ask,   &p->source.text, &p->output.text};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        kg_buf_deinit(all[i]);
    }
}

static void status(struct kg_fb_page *p, const struct kg_record *r)
{
    if (r->verdict == KG_V_NONE) {
        kg_buf_adds(
            &p->status,
            kg_record_is_candidates(r)
                ? "Not judged, which counts as a failure: it needs a GPU, and there is none.\n"
            : r->has_error ? "Not judged: the evaluation failed, for no fault of yours.\n"
                           : "Not judged: no outputs were compared.\n");
        return;
    }
    kg_buf_addf(&p->status, "Verdict: %s", kg_verdict_name(r->verdict));
    if (r->verdict == KG_V_REJECTED) { /* facts name the rule, if it is one of the table's */
        kg_buf_adds(&p->status, " (static check)");
    } else if (r->reason != NULL) {
        kg_buf_addf(&p->status, " (%s)", r->reason);
    }
    kg_buf_addf(&p->status, ", stage %s.\n", kg_stage_name(r->stage));
}

static void ask(struct kg_fb_page *p, const struct kg_record *r)
{
    const char *entry = kg_fb_identifier(r->problem.entry) ? r->problem.entry : "the entry";
    if (r->verdict == KG_V_OK) {
        kg_buf_addf(&p->ask,
                    "\nNow send a faster version of %s that stays correct, complete, in one code "
                    "block.\n",
                    entry);
    } else {
        kg_buf_addf(&p->ask, "\nSend a %s version of %s in one code block.\n",
                    r->verdict == KG_V_NONE ? "complete" : "corrected, complete", entry);
    }
}

static void fill(struct kg_fb_page *p, const struct kg_record *r)
{
    struct kg_fb_advice advice = kg_fb_advice(r->verdict, r->reason);
    status(p, r);
    ask(p, r);
    if (r->verdict != KG_V_NONE) {
        kg_buf_addf(&p->facts, "%s\n", advice.what);
        kg_fb_diagnosis(p, r);
        kg_fb_speed(p, r);
    }
    const char *hint = kg_fb_record_hint(r) ? kg_fb_record_hint(r) : advice.hint;
    if (hint != NULL) {
        kg_buf_addf(&p->hint, "\nHint: %s\n", hint);
    }
}

/* Append s[0..n) if it costs no more than *room, which becomes less by that. */
static bool take(const struct kg_feedback_spec *spec, const char *s, size_t n, size_t *room,
                 struct kg_buf *out)
{
    size_t cost = kg_fb_count(spec, s, n);
    if (cost > *room) {
        return false;
    }
    *room -= cost;
    kg_buf_add(out, s, n);
    return true;
}

/* The same by lines: those that fit, from the top; one that is too long is left out. */
static void take_lines(const struct kg_feedback_spec *spec, const struct kg_buf *text, size_t *room,
                       struct kg_buf *out)
{
    for (size_t i = 0; i < text->len;) {
        size_t n = strcspn(text->data + i, "\n") + 1;
        (void)take(spec, text->data + i, n, room, out);
        i += n;
    }
}

static void take_listing(const struct kg_feedback_spec *spec, const struct kg_fb_listing *l,
                         size_t cap, size_t *room, struct kg_buf *out)
{
    size_t before = out->len;
    kg_fb_listing_put(l, spec, cap < *room ? cap : *room, out);
    size_t cost = kg_fb_count(spec, out->data + before, out->len - before);
    *room -= cost < *room ? cost : *room;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Shares of the budget: speed 90, kernels 140, all of the diagnosis 320 of 600 by a tokenizer's
 * count, 450 by the estimate, which is higher. Source: the learning method, section 1.2, but for 90
 * in place of 60. */
static bool cut(const struct kg_fb_page *p, const struct kg_feedback_spec *spec, size_t budget,
                struct kg_buf *out)
{
    struct kg_buf facts, hint, listings, speed;
    size_t room = budget, need = kg_fb_count(spec, p->ask.data, p->ask.len);
    if (need > room || (room -= need, !take(spec, p->status.data, p->status.len, &room, out))) {
        return false;
    }
    kg_buf_init(&facts, 1 << 16);
    kg_buf_init(&hint, 1 << 12);
    kg_buf_init(&listings, 1 << 20);
    kg_buf_init(&speed, 1 << 16);
    size_t part = least(room, budget * 3 / 20), given = part;
    take_lines(spec, &p->speed, &part, &speed);
    room -= given - part;
    given = part = least(room, budget * 7 / 30);
    take_lines(spec, &p->kernels, &part, &speed);
    room -= given - part;
    part = least(room, spec->count != NULL ? budget * 8 / 15 : budget * 3 / 4);
    take_lines(spec, &p->facts, &part, &facts);
    (void)take(spec, p->hint.data, p->hint.len, &part, &hint);
    take_listing(spec, &p->source, p->output.text.len > 0 ? part * 3 / 5 : part, &part, &listings);
    take_listing(spec, &p->output, part, &part, &listings);
    struct kg_buf *const order[] = {&facts, &speed, &listings, &hint};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        kg_buf_add(out, order[i]->data, order[i]->len);
        kg_buf_deinit(order[i]);
    }
    kg_buf_add(out, p->ask.data, p->ask.len);
    return true;
}

/* What is put together may count more than its parts by a tokenizer that is not additive: then
 * again with less. */
static enum kg_code fit(const struct kg_fb_page *p, const struct kg_feedback_spec *spec,
                        size_t tokens, struct kg_buf *out, struct kg_err *err)
{
    struct kg_buf text;
    enum kg_code code = KG_E_LIMIT;
    kg_buf_init(&text, 1 << 21);
    for (size_t budget = tokens; code != KG_OK; budget -= 1 + budget / 16) {
        kg_buf_reset(&text);
        if (!cut(p, spec, budget, &text)) {
            kg_buf_deinit(&text);
            return kg_fail(err, KG_E_LIMIT, "feedback: not even verdict and request fit %zu tokens",
                           tokens);
        }
        code = kg_fb_count(spec, text.data, text.len) <= tokens ? KG_OK : KG_E_LIMIT;
    }
    if (out->max - out->len < text.len) {
        code = kg_fail(err, KG_E_LIMIT, "feedback: the text has %zu bytes, the buffer is full",
                       text.len);
    } else {
        kg_buf_add(out, text.data, text.len);
    }
    kg_buf_deinit(&text);
    return code;
}

enum kg_code kg_feedback_render(const struct kg_record *r, const struct kg_feedback_spec *spec,
                                struct kg_buf *out, struct kg_err *err)
{
    bool brief = spec->style == KG_FEEDBACK_BRIEF_LINE;
    int64_t usual = brief ? KG_FEEDBACK_BRIEF : KG_FEEDBACK_TOKENS;
    int64_t tokens = spec->tokens == 0 ? usual : spec->tokens;
    int64_t lowest = kg_feedback_least(spec->style);
    if (tokens < lowest || tokens > KG_FEEDBACK_MAX_TOKENS) {
        return kg_fail(err, KG_E_USAGE, "feedback: the budget must be %lld to %d tokens, not %lld",
                       (long long)lowest, KG_FEEDBACK_MAX_TOKENS, (long long)tokens);
    }
    if (brief) {
        return kg_fb_brief(r, spec, (size_t)tokens, out, err);
    }
    struct kg_fb_page page;
    page_init(&page);
    fill(&page, r);
    enum kg_code code = fit(&page, spec, (size_t)tokens, out, err);
    page_deinit(&page);
    return code;
}
