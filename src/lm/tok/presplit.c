/* PCRE2 with its compiler to machine code; where that is not allowed, its interpreter. */
#include "lm/tok/presplit.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

const char lm_presplit_qwen[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+"
    "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const char lm_presplit_gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
                                "\\s+(?!\\S)|\\s+";

/* White space of Unicode 15; PCRE2's own \s adds U+180E. */
#define SPACES                                                                                     \
    "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}"    \
    "\\x{205F}\\x{3000}"

/* Steps back at one place. Qwen's pattern takes one for each space of a run. */
#define LEAST_LIMIT     1000000
#define JIT_STACK_BYTES (1 << 20)

struct lm_presplit {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

struct rewrite {
    const char *p; /* what is left of the pattern */
    bool in_class, class_begins, after_dash;
    struct kg_buf *out;
};

static const char *refused_escape(struct rewrite *w, char c)
{
    if (c == 's' || c == 'S') {
        if (w->in_class && (c == 'S' || w->after_dash || (w->p[2] == '-' && w->p[3] != ']'))) {
            return "\\S, or a range that ends in \\s, in a class";
        }
        kg_buf_adds(w->out, w->in_class ? SPACES : c == 's' ? "[" SPACES "]" : "[^" SPACES "]");
        w->p += 2;
        return NULL;
    }
    if (c == '\0' || (isalnum((unsigned char)c) && strchr("pPdDrntx", c) == NULL) || c < 0) {
        return "an escape that is read differently elsewhere";
    }
    const char *end = w->p + 2;
    if ((c == 'p' || c == 'P' || c == 'x') && (*end != '{' || (end = strchr(end, '}')) == NULL)) {
        return "\\p, \\P or \\x without braces";
    }
    end += *end == '}' && end > w->p + 2;
    kg_buf_add(w->out, w->p, (size_t)(end - w->p));
    w->p = end;
    return NULL;
}

static const char *refused_in_class(struct rewrite *w)
{
    char c = *w->p;
    if (c == '[' || (c == '&' && w->p[1] == '&')) {
        return "a class within a class";
    }
    if (c == ']' && w->class_begins) {
        return "an empty class";
    }
    w->in_class = c != ']';
    return NULL;
}

/* {2}, {2,}, {2,3}; not {,3} and not {2}+, which are read differently elsewhere. */
static const char *refused_count(const char *p)
{
    size_t n = strspn(p + 1, "0123456789,");
    bool ok = isdigit((unsigned char)p[1]) && p[1 + n] == '}' && p[2 + n] != '+';
    return ok ? NULL : "{ that is not the usual count";
}

static const char *refused_char(struct rewrite *w)
{
    char c = *w->p;
    const char *why = NULL;
    if (w->in_class) {
        why = refused_in_class(w);
    } else if (c == '[') {
        w->in_class = true;
        kg_buf_addc(w->out, *w->p++);
        c = *w->p == '^' ? '^' : '\0';
        w->class_begins = true;
        w->after_dash = false;
        if (c == '\0') {
            return NULL;
        }
        kg_buf_addc(w->out, *w->p++);
        return NULL;
    } else if (c == '^' || c == '$') {
        why = "an anchor";
    } else if (c == '{') {
        why = refused_count(w->p);
    }
    w->after_dash = w->in_class && c == '-' && !w->class_begins;
    w->class_begins = false;
    kg_buf_addc(w->out, *w->p++);
    return why;
}

enum kg_code lm_presplit_rewrite(const char *pattern, const char *source, struct kg_buf *out,
                                 struct kg_err *err)
{
    struct rewrite w = {.p = pattern, .out = out};
    if (strlen(pattern) > LM_PRESPLIT_MAX_PATTERN) {
        return kg_fail(err, KG_E_INPUT, "%s: a pattern of more than %d bytes", source,
                       LM_PRESPLIT_MAX_PATTERN);
    }
    while (*w.p != '\0') {
        size_t at = (size_t)(w.p - pattern);
        const char *why;
        if (*w.p == '\\') {
            why = refused_escape(&w, w.p[1]);
            w.class_begins = w.after_dash = false;
        } else {
            why = refused_char(&w);
        }
        if (why != NULL) {
            return kg_fail(err, KG_E_INPUT, "%s: the pattern has %s at byte %zu: not supported",
                           source, why, at);
        }
    }
    return KG_OK;
}

static enum kg_code compile(struct lm_presplit *p, const char *text, size_t len, const char *source,
                            struct kg_err *err)
{
    int number;
    PCRE2_SIZE at;
    uint32_t empty = 1;
    unsigned char why[128];
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    if (c == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", source);
    }
    pcre2_set_newline(c, PCRE2_NEWLINE_LF);
    p->code = pcre2_compile((PCRE2_SPTR)text, len, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                            &number, &at, c);
    pcre2_compile_context_free(c);
    if (p->code == NULL) {
        pcre2_get_error_message(number, why, sizeof why);
        return kg_fail(err, KG_E_INPUT, "%s: not a pattern: %s", source, (const char *)why);
    }
    pcre2_pattern_info(p->code, PCRE2_INFO_MATCHEMPTY, &empty);
    return empty == 0
               ? KG_OK
               : kg_fail(err, KG_E_INPUT, "%s: the pattern can match the empty text", source);
}

static enum kg_code prepare(struct lm_presplit *p, const char *source, struct kg_err *err)
{
    p->match = pcre2_match_data_create(1, NULL);
    p->context = pcre2_match_context_create(NULL);
    if (p->match == NULL || p->context == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", source);
    }
    if (pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == 0) {
        p->stack = pcre2_jit_stack_create(32768, JIT_STACK_BYTES, NULL);
        pcre2_jit_stack_assign(p->context, NULL, p->stack);
    }
    return KG_OK;
}

enum kg_code lm_presplit_create(const char *pattern, const char *source, struct lm_presplit **out,
                                struct kg_err *err)
{
    struct kg_buf text;
    *out = NULL;
    struct lm_presplit *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "%s: this machine is out of memory", source);
    }
    kg_buf_init(&text, 1 << 20);
    enum kg_code code = lm_presplit_rewrite(pattern, source, &text, err);
    if (code == KG_OK && !kg_buf_ok(&text)) {
        code = kg_fail(err, KG_E_LIMIT, "%s: the pattern is too long", source);
    }
    code = code == KG_OK ? compile(p, text.data, text.len, source, err) : code;
    code = code == KG_OK ? prepare(p, source, err) : code;
    kg_buf_deinit(&text);
    if (code != KG_OK) {
        lm_presplit_destroy(p);
        return code;
    }
    *out = p;
    return KG_OK;
}

void lm_presplit_destroy(struct lm_presplit *p)
{
    if (p == NULL) {
        return;
    }
    pcre2_jit_stack_free(p->stack);
    pcre2_match_context_free(p->context);
    pcre2_match_data_free(p->match);
    pcre2_code_free(p->code);
    free(p);
}

enum kg_code lm_presplit_next(struct lm_presplit *p, const char *text, size_t len, size_t at,
                              size_t *end, struct kg_err *err)
{
    int n =
        pcre2_match(p->code, (PCRE2_SPTR)text, len, at, PCRE2_NO_UTF_CHECK, p->match, p->context);
    if (n == PCRE2_ERROR_NOMATCH) {
        *end = len;
        return KG_OK;
    }
    if (n < 0) {
        unsigned char why[128];
        pcre2_get_error_message(n, why, sizeof why);
        return kg_fail(err, KG_E_LIMIT, "cannot split a text of %zu bytes at byte %zu: %s", len, at,
                       (const char *)why);
    }
    const PCRE2_SIZE *place = pcre2_get_ovector_pointer(p->match);
    /* \K and lookbehind could name a place that is not ahead. */
    *end = place[0] > at ? place[0] : place[1] > at ? place[1] : len;
    return KG_OK;
}
