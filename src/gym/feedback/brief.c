/* The style brief: one line, for models with little room. It is made of parts, the most important
 * first, and those that fit are taken. Each part is a template with typed fields, as in the other
 * styles. */
#include <math.h>
#include <string.h>

#include "gym/build/diag.h"
#include "gym/feedback/feedback_parts.h"
#include "gym/reply/check.h"

#define PARTS 5
#define WORDS 48 /* bytes of a compiler's words */

struct brief {
    struct kg_buf text;
    size_t end[PARTS]; /* of each part */
    int n;
};

/* Ends the part that was added to b->text, if there is one. */
static void close_part(struct brief *b)
{
    size_t before = b->n > 0 ? b->end[b->n - 1] : 0;
    if (b->text.len > before && b->n < PARTS) {
        b->end[b->n++] = b->text.len;
    }
}

static void add_line(struct brief *b, const struct kg_record *r, const json_t *entry)
{
    int line = kg_fb_line(r, entry, "line");
    if (line > 0) {
        kg_buf_addf(&b->text, " line %d", line);
    }
    close_part(b);
}

static void ok(struct brief *b, const struct kg_record *r)
{
    if (!r->league.eligible) {
        kg_buf_adds(&b->text, ", not in this league");
        close_part(b);
    }
    if (r->has_speedup && r->timing.status == KG_T_MEASURED && isfinite(r->speedup.ratio)) {
        kg_buf_addf(&b->text, " %.1fx", r->speedup.ratio);
    } else {
        kg_buf_adds(&b->text, " untimed");
    }
    close_part(b);
    if (isfinite(r->coverage)) {
        kg_buf_addf(&b->text, ", %.0f %% own", 100 * fmin(1, fmax(0, r->coverage)));
        close_part(b);
    }
}

static void wrong(struct brief *b, const struct kg_record *r)
{
    static const char *const words[] = {[KG_FB_SHARE_1] = " under 1 %",
                                        [KG_FB_SHARE_10] = " under 10 %",
                                        [KG_FB_SHARE_50] = " under 50 %",
                                        [KG_FB_MORE] = " over 50 %"};
    enum kg_fb_share share = kg_fb_share(r);
    const char *shape = kg_fb_shape(r);
    if (share != KG_FB_SHARE_NONE) {
        kg_buf_adds(&b->text, words[share]);
        close_part(b);
    }
    if (shape != NULL) {
        kg_buf_addf(&b->text, ", %s", shape);
        close_part(b);
    }
}

/* The first error, up to its remark in parentheses. */
static void compile_error(struct brief *b, const struct kg_record *r)
{
    const json_t *e = kg_record_find(r, "check", "compiler");
    const char *said = json_string_value(json_object_get(e, "text"));
    struct kg_buf clean;
    char first[KG_FB_LINE];
    int ignored;
    add_line(b, r, e != NULL ? e : kg_record_find(r, "check", "syntax"));
    if (said == NULL) {
        return;
    }
    kg_buf_init(&clean, 1u << 26);
    kg_fb_compiler(r, said, &clean);
    kg_diag_first(clean.data, "candidate.c", &ignored, first, sizeof first);
    kg_buf_deinit(&clean);
    char *remark = strstr(first, " (");
    if (remark != NULL) {
        *remark = '\0';
    }
    if (first[0] != '\0') {
        kg_buf_adds(&b->text, ": ");
        kg_fb_inline(first, WORDS, &b->text);
        close_part(b);
    }
}

/* The first finding that rejects. */
static const json_t *finding(const struct kg_record *r)
{
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        const char *check = json_string_value(json_object_get(e, "check"));
        const char *severity = json_string_value(json_object_get(e, "severity"));
        if (check != NULL && severity != NULL && strcmp(check, "static") == 0 &&
            strcmp(severity, "reject") == 0) {
            return e;
        }
    }
    return NULL;
}

static void rejected(struct brief *b, const struct kg_record *r)
{
    const struct kg_check_rule *rules;
    size_t n = kg_check_rules(&rules);
    const json_t *e = finding(r);
    const char *rule = json_string_value(json_object_get(e, "rule"));
    for (size_t i = 0; rule != NULL && i < n; i++) {
        if (strcmp(rules[i].id, rule) == 0) {
            kg_buf_addf(&b->text, " %s", rules[i].id);
            close_part(b);
        }
    }
    add_line(b, r, e);
}

static void limit(struct brief *b, const struct kg_record *r)
{
    double value;
    const char *unit;
    if (kg_fb_limit(r, &value, &unit)) {
        kg_buf_addf(&b->text, ", limit %.6g %s", value, unit);
        close_part(b);
    }
}

static void details(struct brief *b, const struct kg_record *r)
{
    switch (r->verdict) {
    case KG_V_OK:
        ok(b, r);
        break;
    case KG_V_WRONG:
        wrong(b, r);
        break;
    case KG_V_COMPILE_ERROR:
        compile_error(b, r);
        break;
    case KG_V_REJECTED:
        rejected(b, r);
        break;
    case KG_V_CRASH:
        if (r->reason != NULL && strcmp(r->reason, "signal") == 0) {
            kg_buf_addf(&b->text, ": %s", kg_fb_signal(r));
            close_part(b);
        }
        break;
    case KG_V_TIMEOUT:
    case KG_V_OUT_OF_MEMORY:
        limit(b, r);
        break;
    default:
        break;
    }
}

static void parts(struct brief *b, const struct kg_record *r)
{
    if (r->verdict == KG_V_NONE) {
        kg_buf_adds(&b->text, "not judged");
        close_part(b);
        return;
    }
    kg_buf_adds(&b->text, kg_verdict_name(r->verdict));
    close_part(b);
    if (r->verdict != KG_V_OK && r->verdict != KG_V_REJECTED && r->reason != NULL) {
        kg_buf_addf(&b->text, " %s", r->reason);
        close_part(b);
    }
    details(b, r);
}

enum kg_code kg_fb_brief(const struct kg_record *r, const struct kg_feedback_spec *spec,
                         size_t tokens, struct kg_buf *out, struct kg_err *err)
{
    struct brief b = {.n = 0};
    struct kg_buf line;
    bool there = false;
    kg_buf_init(&b.text, 1u << 16);
    kg_buf_init(&line, 1u << 16);
    parts(&b, r);
    for (int k = b.n; k > 0 && !there; k--) { /* a tokenizer need not be additive */
        kg_buf_reset(&line);
        kg_buf_add(&line, b.text.data, b.end[k - 1]);
        kg_buf_addc(&line, '\n');
        there = kg_fb_count(spec, line.data, line.len) <= tokens;
    }
    enum kg_code code = KG_OK;
    if (!there) {
        code = kg_fail(err, KG_E_LIMIT, "feedback: not even the verdict fits %zu tokens", tokens);
    } else if (out->max - out->len < line.len) {
        code = kg_fail(err, KG_E_LIMIT, "feedback: the buffer is full");
    } else {
        kg_buf_add(out, line.data, line.len);
    }
    kg_buf_deinit(&b.text);
    kg_buf_deinit(&line);
    return code;
}
