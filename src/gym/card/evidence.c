/* What the checks saw, in sentences or as name and value, then findings and the candidate's last
 * output. */
#include <stdio.h>
#include <string.h>

#include "gym/card/parts.h"
#include "gym/card/sentence.h"

#define MAX_ENTRIES 8
#define MAX_OUTPUT  5 /* lines */

static const char *text_of(const json_t *entry, const char *key)
{
    const char *s = json_string_value(json_object_get(entry, key));
    return s != NULL ? s : "?";
}

static void value_text(const json_t *v, char *out, size_t cap)
{
    struct kg_buf b;
    kg_buf_init(&b, 4000);
    if (v == NULL || json_is_null(v)) {
        kg_buf_addc(&b, '-');
    } else {
        kg_card_value(v, &b);
    }
    snprintf(out, cap, "%s", b.data);
    kg_buf_deinit(&b);
}

static void dims_text(const json_t *dims, char *out, size_t cap)
{
    const char *key;
    json_t *v;
    out[0] = '\0';
    json_object_foreach((json_t *)(uintptr_t)dims, key, v)
    {
        size_t used = strlen(out);
        snprintf(out + used, cap - used, "%s%s %lld", used > 0 ? ", " : " (", key,
                 (long long)json_integer_value(v));
    }
    size_t used = strlen(out);
    snprintf(out + used, cap - used, "%s", used > 0 ? ")" : "");
}

static void mismatch(struct kg_pen *p, const json_t *e)
{
    char dims[200], first[32], got[32], want[32], worst[32], failed[32], elements[32];
    const int at = KG_CARD_LABEL;
    dims_text(json_object_get(e, "dims"), dims, sizeof dims);
    value_text(json_object_get(e, "first"), first, sizeof first);
    value_text(json_object_get(e, "failed"), failed, sizeof failed);
    value_text(json_object_get(e, "elements"), elements, sizeof elements);
    value_text(json_object_get(e, "got"), got, sizeof got);
    value_text(json_object_get(e, "want"), want, sizeof want);
    value_text(json_object_get(e, "worst_over_bound"), worst, sizeof worst);
    kg_pen_wrapf(p, KG_BOLD, at, "%s", text_of(e, "output"));
    kg_pen_wrapf(p, KG_PLAIN, at, "is wrong in %s of its elements (%s of %s)", kg_card_share(e),
                 failed, elements);
    kg_pen_line(p);
    kg_pen_to(p, at);
    kg_pen_wrapf(p, KG_PLAIN, at, "input: shape %s%s, values %s", text_of(e, "variant"), dims,
                 text_of(e, "law"));
    kg_pen_line(p);
    kg_pen_to(p, at);
    kg_pen_wrapf(p, KG_PLAIN, at, "element %s: got", first);
    kg_pen_wrapf(p, KG_RED, at, "%s,", strcmp(got, "-") == 0 ? "(not finite)" : got);
    kg_pen_wrap(p, KG_PLAIN, at, "expected");
    kg_pen_wrap(p, KG_GREEN, at, strcmp(want, "-") == 0 ? "(not finite)" : want);
    if (strcmp(worst, "-") != 0 && strcmp(worst, "?") != 0) {
        kg_pen_line(p);
        kg_pen_to(p, at);
        kg_pen_wrapf(p, KG_DIM, at, "worst error: %s times the bound", worst);
    }
}

/* Sentences; of a check that has none, its fields. */
static void fields(struct kg_pen *p, const json_t *e)
{
    const char *key;
    json_t *v;
    bool first = true;
    struct kg_buf words;
    kg_buf_init(&words, 8192);
    if (kg_card_sentence(e, &words)) {
        kg_pen_wrap(p, KG_PLAIN, KG_CARD_LABEL, words.data);
        kg_buf_deinit(&words);
        return;
    }
    json_object_foreach((json_t *)(uintptr_t)e, key, v)
    {
        char value[200];
        if (strcmp(key, "check") == 0) {
            continue;
        }
        value_text(v, value, sizeof value);
        kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, "%s%s", first ? "" : kg_pen_pick(p, "· ", "/ "),
                     key);
        kg_pen_wrap(p, KG_PLAIN, KG_CARD_LABEL, value);
        first = false;
    }
    kg_buf_deinit(&words);
}

static void rule(struct kg_pen *p, const json_t *e)
{
    json_int_t line = json_integer_value(json_object_get(e, "line"));
    kg_pen_wrapf(p, KG_CYAN, KG_CARD_LABEL, "%s", text_of(e, "rule"));
    if (line > 0) {
        kg_pen_wrapf(p, KG_DIM, KG_CARD_LABEL, "line %lld:", (long long)line);
    }
    kg_pen_wrap(p, KG_PLAIN, KG_CARD_LABEL, text_of(e, "message"));
}

/* Shown in context, told by the message already, or warnings of something that compiled. */
static bool is_shown_elsewhere(const char *check)
{
    static const char *const names[] = {"compiler", "syntax", "unrewarded",
                                        "signal",   "limit",  "load"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(check, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The rule that rejected: the message has said it. */
static bool is_the_verdict(const struct kg_record *r, const json_t *e)
{
    return r->verdict == KG_V_REJECTED && strcmp(text_of(e, "check"), "static") == 0 &&
           strcmp(text_of(e, "rule"), r->reason) == 0;
}

static bool entries(struct kg_pen *p, const struct kg_record *r)
{
    size_t i, shown = 0;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        const char *check = text_of(e, "check");
        if (is_shown_elsewhere(check) || is_the_verdict(r, e)) {
            continue;
        }
        if (i > 0 && json_equal(e, json_array_get(r->evidence, i - 1))) {
            continue; /* asked again, with the same answer */
        }
        if (++shown > MAX_ENTRIES) {
            continue;
        }
        kg_card_label(p, strcmp(check, "static") == 0 ? "finding" : check);
        if (p->column > KG_CARD_LABEL) { /* a name longer than the label's column */
            kg_pen_line(p);
            kg_pen_to(p, KG_CARD_LABEL);
        }
        if (strcmp(check, "mismatch") == 0) {
            mismatch(p, e);
        } else if (strcmp(check, "static") == 0) {
            rule(p, e);
        } else {
            fields(p, e);
        }
        kg_pen_line(p);
    }
    if (shown > MAX_ENTRIES) {
        kg_card_label(p, "");
        kg_pen_putf(p, KG_DIM, "and %zu more", shown - MAX_ENTRIES);
        kg_pen_line(p);
    }
    return shown > 0;
}

static bool findings(struct kg_pen *p, const struct kg_record *r)
{
    size_t i;
    json_t *f;
    json_array_foreach(r->league.findings, i, f)
    {
        const json_t *share = json_object_get(f, "share");
        kg_card_label(p, i == 0 ? "league" : "");
        kg_pen_wrap(p, KG_CYAN, KG_CARD_LABEL, text_of(f, "rule"));
        if (json_is_number(share)) {
            kg_pen_wrapf(p, KG_PLAIN, KG_CARD_LABEL, "%.3g %%", 100 * json_number_value(share));
        }
        kg_pen_line(p);
    }
    if (!r->league.eligible) {
        kg_card_label(p, "league");
        kg_pen_put(p, KG_RED, "not eligible");
        kg_pen_line(p);
    }
    return json_array_size(r->league.findings) > 0 || !r->league.eligible;
}

/* Where the last `lines` lines of text begin. */
static const char *tail_of(const char *text, int lines)
{
    const char *at = text + strlen(text);
    while (at > text && at[-1] == '\n') {
        at--;
    }
    while (at > text && lines > 0) {
        at--;
        lines -= *at == '\n';
    }
    return *at == '\n' ? at + 1 : at;
}

static bool output(struct kg_pen *p, const struct kg_record *r)
{
    const char *text = r->output.stderr_text;
    bool ran =
        r->verdict == KG_V_CRASH || r->verdict == KG_V_OUT_OF_MEMORY || r->verdict == KG_V_TIMEOUT;
    if (!ran || text == NULL || text[0] == '\0') {
        return false;
    }
    const char *line = tail_of(text, MAX_OUTPUT);
    for (int i = 0; *line != '\0' && i < MAX_OUTPUT; i++) {
        size_t n = strcspn(line, "\n");
        char one[400];
        snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one - 1), line);
        kg_card_label(p, i == 0 ? "stderr" : "");
        kg_pen_put(p, KG_PLAIN, one);
        kg_pen_line(p);
        line += n + (line[n] == '\n');
    }
    return true;
}

void kg_card_evidence(struct kg_pen *p, const struct kg_record *r)
{
    bool any = entries(p, r);
    any = findings(p, r) || any;
    any = output(p, r) || any;
    if (any) {
        kg_pen_line(p);
    }
}
