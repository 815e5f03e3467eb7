/* The static check of C sources: walks over the tokens and collects findings. */
#include "gym/reply/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/reply/check_private.h"

static void add(struct kg_check *c, const struct kg_check_rule *rule, size_t which)
{
    if (c->n == KG_CHECK_FINDINGS || c->fired[which] == KG_CHECK_PER_RULE) {
        return;
    }
    c->fired[which]++;
    struct kg_finding *f = &c->list[c->n++];
    *f = (struct kg_finding){.rule = rule->id, .severity = rule->severity, .line = c->line};
    bool named = rule->at == KG_AT_NAME || rule->at == KG_AT_DEFINED || rule->at == KG_AT_STATE ||
                 rule->at == KG_AT_COMPARE || rule->at == KG_AT_STEP;
    if (!named) {
        snprintf(f->message, sizeof f->message, "%s", rule->message);
        return;
    }
    int len = c->tok.len < 40 ? (int)c->tok.len : 40;
    snprintf(f->message, sizeof f->message, "%s: `%.*s`", rule->message, len,
             c->lx->text + c->tok.at);
    for (char *p = f->message; *p != '\0'; p++) {
        *p = (unsigned char)*p < ' ' ? ' ' : *p; /* a spliced name holds a newline */
    }
}

void kg_check_ask(struct kg_check *c, enum kg_check_site at)
{
    const struct kg_check_rule *rules;
    kg_check_rules(&rules);
    int line = c->line;
    for (int k = 0; k < c->nsites[at]; k++) {
        size_t i = c->sites[at][k];
        if (c->fired[i] < KG_CHECK_PER_RULE && rules[i].when(c)) {
            add(c, &rules[i], i);
        }
        c->line = line;
    }
}

void kg_check_ask_word(struct kg_check *c, enum kg_check_site at)
{
    const struct kg_check_rule *rules;
    kg_check_rules(&rules);
    const char *s = c->lx->text + c->tok.at;
    int i = (unsigned char)*s < 128 ? c->first[(unsigned char)*s] : -1;
    bool spliced = i >= 0 && memchr(s, '\\', c->tok.len) != NULL;
    for (; i >= 0; i = c->words[i].next) {
        const struct kg_check_word *w = &c->words[i];
        const struct kg_check_rule *r = &rules[w->rule];
        bool same = w->prefix ? c->tok.len > w->len && memcmp(s, w->word, w->len) == 0
                    : spliced ? kg_tok_is(c->lx, c->tok, w->word)
                              : c->tok.len == w->len && memcmp(s, w->word, w->len) == 0;
        if (r->at == at && same && c->fired[w->rule] < KG_CHECK_PER_RULE && r->when(c)) {
            add(c, r, w->rule);
        }
    }
}

static void index_rules(struct kg_check *c)
{
    const struct kg_check_rule *rules;
    size_t n = kg_check_rules(&rules);
    int16_t used = 0;
    memset(c->first, -1, sizeof c->first);
    memset(c->nsites, 0, sizeof c->nsites);
    for (size_t i = 0; i < n; i++) {
        c->sites[rules[i].at][c->nsites[rules[i].at]++] = (uint8_t)i;
        for (const char *const *w = rules[i].words; w != NULL && *w != NULL; w++) {
            KG_ASSERT(used < KG_CHECK_WORDS);
            size_t len = strlen(*w);
            bool prefix = (*w)[len - 1] == '*';
            c->words[used] = (struct kg_check_word){*w, (uint8_t)(len - prefix), (uint8_t)i, prefix,
                                                    c->first[(unsigned char)**w]};
            c->first[(unsigned char)**w] = used++;
        }
    }
}

/* The words of a macro's body count as if they stood in the code. */
static void directive(struct kg_check *c)
{
    kg_check_ask(c, KG_AT_DIRECTIVE);
    struct kg_directive d;
    kg_directive_open(&d, c->text, c->tok);
    if (!kg_directive_is(&d, "define")) {
        return;
    }
    struct kg_tok name = kg_lex_next(&d.lx), before = name;
    c->real_is_defined |= kg_tok_is(&d.lx, name, "real");
    c->in_macro = true;
    c->lx = &d.lx;
    for (struct kg_tok t = kg_lex_next(&d.lx); t.kind != KG_TOK_END; t = kg_lex_next(&d.lx)) {
        c->tok = t;
        c->prev = before;
        if (t.kind == KG_TOK_NAME) {
            kg_check_ask_word(c, KG_AT_NAME);
        }
        before = t;
    }
    c->in_macro = false;
    c->lx = &c->w.lx;
}

static void groups(struct kg_check *c)
{
    static const char *const asms[] = {"asm", "__asm", "__asm__", NULL};
    static const char *const attributes[] = {"__attribute__", "__attribute", "_Alignas", NULL};
    const struct kg_tok t = c->tok;
    char p = t.kind == KG_TOK_PUNCT && t.len == 1 ? c->text[t.at] : '\0';
    if (t.kind == KG_TOK_NAME) {
        c->asm_next |= kg_tok_in(c->lx, t, asms);
        c->attribute_next |= kg_tok_in(c->lx, t, attributes);
    } else if (p == '(') {
        c->paren++;
        c->asm_level = c->asm_next && c->asm_level == 0 ? c->paren : c->asm_level;
        c->attribute_level =
            c->attribute_next && c->attribute_level == 0 ? c->paren : c->attribute_level;
        c->asm_next = c->attribute_next = false;
    } else if (p == ')' && c->paren > 0) {
        c->asm_level = c->asm_level == c->paren ? 0 : c->asm_level;
        c->attribute_level = c->attribute_level == c->paren ? 0 : c->attribute_level;
        c->paren--;
    } else if (p == ';' && c->w.brace == 0) {
        c->paren = c->asm_level = c->attribute_level = 0;
        c->asm_next = c->attribute_next = false;
    }
}

/* Numbers in a row, with nothing but signs, commas and brackets between them. */
static void count_numbers(struct kg_check *c)
{
    static const char *const between[] = {",", "{", "}", "-", "+", NULL};
    if (c->tok.kind == KG_TOK_NUMBER || c->tok.kind == KG_TOK_CHAR) {
        c->numbers_line = c->numbers == 0 ? c->tok.line : c->numbers_line;
        if (++c->numbers > c->most_numbers) {
            c->most_numbers = c->numbers;
            c->most_numbers_line = c->numbers_line;
        }
    } else if (!kg_tok_in(c->lx, c->tok, between)) {
        c->numbers = 0;
    }
}

static void token(struct kg_check *c)
{
    kg_tok_copy(&c->tok, &c->w.tok);
    kg_tok_copy(&c->prev, &c->w.prev);
    c->line = c->tok.line;
    if (c->tok.kind == KG_TOK_DIRECTIVE) {
        directive(c);
        return;
    }
    groups(c);
    count_numbers(c);
    if (c->tok.kind == KG_TOK_NAME) {
        bool typedefs =
            kg_tok_is(c->lx, c->tok, "real") && c->w.prev.kind == KG_TOK_NAME && c->decl.skip;
        c->real_is_defined |= typedefs;
        kg_check_ask_word(c, KG_AT_NAME);
    } else if (c->tok.kind == KG_TOK_STRING) {
        kg_check_ask(c, KG_AT_STRING);
    }
    kg_check_declaration(c);
}

static int by_severity_and_line(const void *a, const void *b)
{
    const struct kg_finding *x = a, *y = b;
    bool rx = x->severity == KG_SEV_REJECT, ry = y->severity == KG_SEV_REJECT;
    if (rx != ry) {
        return rx ? -1 : 1;
    }
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                              : strcmp(x->rule, y->rule);
}

size_t kg_check_c(const char *code, size_t len, const char *entry, struct kg_finding *out,
                  size_t cap)
{
    struct kg_check c;
    memset(&c, 0, offsetof(struct kg_check, list));
    memset(c.fired, 0, sizeof c.fired);
    c.n = 0;
    c.text = code;
    c.len = len;
    c.entry = entry;
    c.lx = &c.w.lx;
    index_rules(&c);
    kg_survey_c(code, len, entry, &c.survey);
    kg_cwalk_init(&c.w, code, len);
    while (kg_cwalk_next(&c.w)) {
        token(&c);
    }
    c.tok = (struct kg_tok){.kind = KG_TOK_END};
    c.line = 0;
    kg_check_ask(&c, KG_AT_FILE);
    qsort(c.list, (size_t)c.n, sizeof *c.list, by_severity_and_line);
    size_t n = (size_t)c.n < cap ? (size_t)c.n : cap;
    memcpy(out, c.list, n * sizeof *out);
    return n;
}
