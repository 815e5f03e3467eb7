/* What a failed candidate is told besides its verdict, by verdict. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/build/diag.h"
#include "gym/feedback/feedback_parts.h"
#include "gym/reply/check.h"

#define FINDINGS 3
#define FRAMES   6
#define RANK     8 /* dimensions of a tensor, at most */

static const char *text_of(const json_t *entry, const char *key)
{
    const char *s = json_string_value(json_object_get(entry, key));
    return s != NULL ? s : "";
}

static void no_code(struct kg_fb_page *p, const struct kg_record *r)
{
    if (kg_fb_identifier(r->problem.entry)) {
        kg_buf_addf(&p->facts, "Expected: one closed code block with the whole source of %s.\n",
                    r->problem.entry);
    }
}

/* The rule's own words: a finding's message is not read. */
static void finding(struct kg_fb_page *p, const struct kg_record *r, const json_t *e)
{
    const struct kg_check_rule *rules;
    size_t n = kg_check_rules(&rules);
    int line = kg_fb_line(r, e, "line");
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rules[i].id, text_of(e, "rule")) == 0) {
            if (line > 0) {
                kg_buf_addf(&p->facts, "Line %d: ", line);
            }
            kg_buf_addf(&p->facts, "rule %s: %s.\n", rules[i].id, rules[i].message);
        }
    }
}

static void rejected(struct kg_fb_page *p, const struct kg_record *r)
{
    size_t i, shown = 0;
    json_t *e;
    int first = 0;
    json_array_foreach(r->evidence, i, e)
    {
        bool rejects = strcmp(text_of(e, "check"), "static") == 0 &&
                       strcmp(text_of(e, "severity"), "reject") == 0;
        if (rejects && shown++ < FINDINGS) {
            finding(p, r, e);
            first = first > 0 ? first : kg_fb_line(r, e, "line");
        }
    }
    kg_fb_source(p, r, first);
}

/* The line of "line 12, in f", which is how a frame of the candidate's own file is told. */
static int line_in(const struct kg_record *r, const char *where)
{
    json_t *one = json_pack("{s:I}", "line", (json_int_t)0);
    char *end = NULL;
    if (strncmp(where, "line ", 5) == 0) {
        json_object_set_new(one, "line", json_integer(strtol(where + 5, &end, 10)));
    }
    int line = kg_fb_line(r, one, "line");
    json_decref(one);
    return line;
}

/* Lines of the candidate's own file that were active, the innermost last: `lines`, else `line`,
 * else `where`. Returns the innermost, 0 if none is known. */
static int frames(struct kg_fb_page *p, const struct kg_record *r, const json_t *e)
{
    const json_t *list = json_object_get(e, "lines");
    size_t n = json_array_size(list), shown = 0;
    int innermost = kg_fb_line(r, e, "line");
    struct kg_buf text;
    kg_buf_init(&text, 256);
    innermost = innermost > 0 ? innermost : line_in(r, text_of(e, "where"));
    for (size_t i = n > FRAMES ? n - FRAMES : 0; i < n; i++) {
        json_t *one = json_pack("{s:O}", "line", json_array_get(list, i));
        int line = kg_fb_line(r, one, "line");
        json_decref(one);
        if (line > 0) {
            kg_buf_addf(&text, "%s%d", shown++ > 0 ? ", " : "", line);
            innermost = line;
        }
    }
    if (shown > 1) {
        kg_buf_addf(&p->facts, "Called through lines %s.\n", text.data);
    }
    kg_buf_deinit(&text);
    return innermost;
}

/* Words that are no listing, without numbers: of an exception, a parser or a loader. */
static void words_of(const struct kg_record *r, const json_t *e, const char *key,
                     struct kg_buf *out)
{
    kg_buf_init(out, 4096);
    kg_fb_exception_text(text_of(e, key), r->candidate.code, out);
}

/* From the entry `exception` {type, message, where or line, lines[]}. */
static void exception(struct kg_fb_page *p, const struct kg_record *r)
{
    const json_t *e = kg_record_find(r, "check", "exception");
    int line = frames(p, r, e);
    struct kg_buf words;
    words_of(r, e, "message", &words);
    if (e != NULL) {
        kg_buf_addf(&p->facts, "%s%s%s\n", kg_fb_exception_type(text_of(e, "type")),
                    words.len > 0 ? ": " : "", words.data);
    }
    kg_buf_deinit(&words);
    kg_fb_source(p, r, line);
}

/* From the entry `syntax` {line, message}. */
static void syntax(struct kg_fb_page *p, const struct kg_record *r, const json_t *e)
{
    int line = kg_fb_line(r, e, "line");
    struct kg_buf words;
    words_of(r, e, "message", &words);
    if (words.len > 0) {
        kg_buf_addf(&p->facts, line > 0 ? "Line %d: " : "It said: ", line);
        kg_buf_addf(&p->facts, "%s\n", words.data);
    }
    kg_buf_deinit(&words);
    kg_fb_source(p, r, line);
}

/* What kept it from being built or loaded, where no compiler said so. */
static void not_loaded(struct kg_fb_page *p, const struct kg_record *r)
{
    const json_t *parser = kg_record_find(r, "check", "syntax"),
                 *loader = kg_record_find(r, "check", "load");
    struct kg_buf words;
    words_of(r, loader, "text", &words);
    if (parser != NULL) {
        syntax(p, r, parser);
    } else if (words.len > 0) {
        kg_buf_addf(&p->facts, "It said: %s\n", words.data);
    } else if (strcmp(r->reason, "missing_entry") == 0 && kg_fb_identifier(r->problem.entry)) {
        kg_buf_addf(&p->facts, "The entry is %s.\n", r->problem.entry);
    } else {
        exception(p, r);
    }
    kg_buf_deinit(&words);
}

static void compile_error(struct kg_fb_page *p, const struct kg_record *r)
{
    const json_t *e = kg_record_find(r, "check", "compiler");
    int line = kg_fb_line(r, e, "line"), ignored;
    if (e == NULL) {
        not_loaded(p, r);
        return;
    }
    kg_fb_compiler(r, text_of(e, "text"), &p->output.text);
    char first[KG_FB_LINE];
    kg_diag_first(p->output.text.data, "candidate.c", &ignored, first, sizeof first);
    if (first[0] != '\0') {
        kg_buf_adds(&p->facts, "First error");
        if (line > 0) {
            kg_buf_addf(&p->facts, ", line %d", line);
        }
        kg_buf_adds(&p->facts, ": ");
        kg_fb_inline(first, sizeof first, &p->facts);
        kg_buf_addc(&p->facts, '\n');
    }
    p->output.title = "What the compiler said:";
    kg_fb_source(p, r, line);
}

static void crash(struct kg_fb_page *p, const struct kg_record *r)
{
    if (strcmp(r->reason, "signal") == 0) {
        kg_buf_addf(&p->facts, "The cause: %s.\n", kg_fb_signal(r));
    } else if (strcmp(r->reason, "exception") == 0 || strcmp(r->reason, "device") == 0) {
        exception(p, r);
    }
}

static void limit(struct kg_fb_page *p, const struct kg_record *r)
{
    double v;
    const char *unit;
    if (kg_fb_limit(r, &v, &unit)) {
        kg_buf_addf(&p->facts, "The limit is %.6g %s.\n", v, unit);
    }
}

static void share(struct kg_fb_page *p, const struct kg_record *r)
{
    static const char *const words[] = {
        [KG_FB_SHARE_1] = "under 1 %",
        [KG_FB_SHARE_10] = "under 10 %",
        [KG_FB_SHARE_50] = "under 50 %",
        [KG_FB_MORE] = "more than 50 %",
    };
    static const char *const valued[] = {"value", "precision", "nonfinite", "variant",
                                         "nondeterministic"};
    bool told = false;
    for (size_t i = 0; i < sizeof valued / sizeof valued[0]; i++) {
        told |= strcmp(r->reason, valued[i]) == 0;
    }
    enum kg_fb_share s = kg_fb_share(r);
    char output[40];
    if (told && s != KG_FB_SHARE_NONE) {
        kg_buf_adds(&p->facts, "Wrong elements: ");
        kg_buf_adds(&p->facts, words[s]);
        if (kg_fb_output(r, output)) {
            kg_buf_addf(&p->facts, " of %s", output);
        }
        kg_buf_adds(&p->facts, ".\n");
    } else if (kg_fb_output(r, output)) {
        kg_buf_addf(&p->facts, "Output: %s.\n", output);
    }
}

static bool shape_text(const json_t *side, struct kg_buf *out)
{
    const json_t *dims = json_object_get(side, "shape");
    size_t rank = json_array_size(dims);
    if (!json_is_array(dims) || rank > RANK) {
        return false;
    }
    kg_buf_addc(out, '[');
    for (size_t i = 0; i < rank; i++) {
        kg_buf_addf(out, "%s%lld", i > 0 ? ", " : "",
                    (long long)json_integer_value(json_array_get(dims, i)));
    }
    kg_buf_addc(out, ']');
    return true;
}

static const char *dtype_of(const json_t *side)
{
    static const char *const names[] = {"float32", "float64", "float16", "bfloat16", "int64",
                                        "int32",   "int16",   "int8",    "uint8",    "bool"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], text_of(side, "dtype")) == 0) {
            return names[i];
        }
    }
    return NULL;
}

/* How the obtained shape differs: the candidate chose its sizes after it had seen inputs, so they
 * are told only as smaller or larger. */
static void compare_shapes(const json_t *want, const json_t *got, struct kg_buf *out)
{
    const json_t *a = json_object_get(want, "shape"), *b = json_object_get(got, "shape");
    size_t rank = json_array_size(b);
    if (!json_is_array(b) || rank > RANK) {
        return;
    }
    if (rank != json_array_size(a)) {
        kg_buf_addf(out, "Yours has %zu dimension%s.\n", rank, rank == 1 ? "" : "s");
        return;
    }
    for (size_t i = 0; i < rank; i++) {
        json_int_t w = json_integer_value(json_array_get(a, i));
        json_int_t g = json_integer_value(json_array_get(b, i));
        if (w != g) {
            kg_buf_addf(out, "Dimension %zu of yours is %s.\n", i, g < w ? "smaller" : "larger");
        }
    }
}

/* The entry `shape` {output, variant, want{shape[], dtype}, got{shape[], dtype}}. */
static void shape(struct kg_fb_page *p, const struct kg_record *r)
{
    const json_t *e = kg_record_find(r, "check", "shape");
    const json_t *want = json_object_get(e, "want"), *got = json_object_get(e, "got");
    const char *a = dtype_of(want), *b = dtype_of(got);
    struct kg_buf text;
    kg_buf_init(&text, 512);
    if (strcmp(r->reason, "shape") == 0 && e != NULL) {
        if (kg_fb_shape_public(e) && shape_text(want, &text)) {
            kg_buf_addf(&p->facts, "Expected shape: %s.\n", text.data);
        }
        compare_shapes(want, got, &p->facts);
    } else if (strcmp(r->reason, "dtype") == 0 && a != NULL && b != NULL) {
        kg_buf_addf(&p->facts, "Expected dtype: %s; yours: %s.\n", a, b);
    }
    kg_buf_deinit(&text);
}

static void wrong(struct kg_fb_page *p, const struct kg_record *r)
{
    const char *where = kg_fb_shape(r);
    share(p, r);
    if (where != NULL) {
        kg_buf_addf(&p->facts, "Seen with %s.\n", where);
    }
    shape(p, r);
}

void kg_fb_diagnosis(struct kg_fb_page *p, const struct kg_record *r)
{
    switch (r->verdict) {
    case KG_V_NO_CODE:
        no_code(p, r);
        break;
    case KG_V_REJECTED:
        rejected(p, r);
        break;
    case KG_V_COMPILE_ERROR:
        compile_error(p, r);
        break;
    case KG_V_CRASH:
        crash(p, r);
        break;
    case KG_V_TIMEOUT:
    case KG_V_OUT_OF_MEMORY:
        limit(p, r);
        break;
    case KG_V_WRONG:
        wrong(p, r);
        break;
    case KG_V_HACK:
        kg_buf_adds(&p->facts, "This turn counts as failed.\n");
        break;
    default:
        break;
    }
}
