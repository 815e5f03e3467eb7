/* The predicates that look at one place of the code. */
#include <string.h>

#include "gym/reply/check_private.h"

static bool prev_is(const struct kg_check *c, const char *s)
{
    return c->prev.len > 0 && kg_tok_is(c->lx, c->prev, s);
}

/* The first byte behind the token that is no blank; line splices and comments are not looked
 * through. */
static char next_char(const struct kg_check *c)
{
    size_t p = c->tok.at + c->tok.len;
    while (p < c->lx->len && memchr(" \t\r\n", c->lx->text[p], 4) != NULL) {
        p++;
    }
    return p < c->lx->len ? c->lx->text[p] : '\0';
}

static bool contains(const struct kg_check *c, const char *s)
{
    return memmem(c->lx->text + c->tok.at, c->tok.len, s, strlen(s)) != NULL;
}

bool kg_when_always(struct kg_check *c)
{
    (void)c;
    return true;
}

bool kg_when_use(struct kg_check *c)
{
    return !prev_is(c, ".") && !prev_is(c, "->") && c->attribute_level == 0;
}

/* A call, not a member, a declaration (`int kill(...)`) or a variable of that name. */
bool kg_when_call(struct kg_check *c)
{
    static const char *const before[] = {"return", "else", "do", "case", "volatile", NULL};
    bool declares = c->prev.kind == KG_TOK_NAME && !kg_tok_in(c->lx, c->prev, before);
    return kg_when_use(c) && next_char(c) == '(' && (!declares || c->in_macro);
}

bool kg_when_attribute(struct kg_check *c)
{
    return c->attribute_level > 0;
}

/* A definition that other code of the process may come to call. */
bool kg_when_external(struct kg_check *c)
{
    return !c->decl.is_static;
}

bool kg_when_asm_syscall(struct kg_check *c)
{
    return c->asm_level > 0 && (contains(c, "syscall") || contains(c, "sysenter") ||
                                contains(c, "int $0x80") || contains(c, "int 0x80"));
}

bool kg_when_asm_incbin(struct kg_check *c)
{
    return c->asm_level > 0 && (contains(c, ".incbin") || contains(c, ".include"));
}

bool kg_when_init_section(struct kg_check *c)
{
    return (c->asm_level > 0 || c->attribute_level > 0) &&
           (contains(c, "init_array") || contains(c, "fini_array") || contains(c, ".ctors") ||
            contains(c, ".dtors"));
}

bool kg_when_system_path(struct kg_check *c)
{
    static const char *const roots[] = {"/proc", "/sys/", "/dev/", "/etc/", "/tmp",
                                        "/home", "/root", "/var/", NULL};
    for (const char *const *r = roots; *r != NULL; r++) {
        size_t n = strlen(*r);
        if (c->tok.len > n && memcmp(c->lx->text + c->tok.at + 1, *r, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool says_fast_math(const struct kg_check *c)
{
    return contains(c, "fast") || contains(c, "unsafe-math") || contains(c, "associative-math") ||
           contains(c, "finite-math");
}

bool kg_when_fast_math(struct kg_check *c)
{
    return c->attribute_level > 0 && says_fast_math(c);
}

static bool is_directive(const struct kg_check *c, const char *word, const char *second)
{
    struct kg_directive d;
    kg_directive_open(&d, c->lx->text, c->tok);
    if (!kg_directive_is(&d, word)) {
        return false;
    }
    return second == NULL || kg_tok_is(&d.lx, kg_lex_next(&d.lx), second);
}

static bool is_optimize(const struct kg_check *c)
{
    struct kg_directive d;
    kg_directive_open(&d, c->lx->text, c->tok);
    return kg_directive_is(&d, "pragma") && kg_tok_is(&d.lx, kg_lex_next(&d.lx), "GCC") &&
           kg_tok_is(&d.lx, kg_lex_next(&d.lx), "optimize");
}

bool kg_when_fast_math_pragma(struct kg_check *c)
{
    return is_optimize(c) && says_fast_math(c);
}

bool kg_when_optimize_pragma(struct kg_check *c)
{
    return is_optimize(c) && !says_fast_math(c);
}

bool kg_when_openmp(struct kg_check *c)
{
    return is_directive(c, "pragma", "omp") && contains(c, "parallel");
}

bool kg_when_include_path(struct kg_check *c)
{
    if (!is_directive(c, "include", NULL) && !is_directive(c, "include_next", NULL)) {
        return false;
    }
    return contains(c, "\"/") || contains(c, "</") || contains(c, "..");
}

bool kg_when_token_paste(struct kg_check *c)
{
    struct kg_directive d;
    kg_directive_open(&d, c->lx->text, c->tok);
    if (!kg_directive_is(&d, "define")) {
        return false;
    }
    struct kg_tok t;
    while ((t = kg_lex_next(&d.lx)).kind != KG_TOK_END) {
        if (t.kind == KG_TOK_PUNCT && kg_tok_is(&d.lx, t, "##")) {
            return true;
        }
    }
    return false;
}

/* `real` as a type in a declaration at file scope, where it cannot be an operand. */
bool kg_when_real_type(struct kg_check *c)
{
    static const char *const before[] = {"const", "static", "restrict", "volatile", "extern", NULL};
    char p = c->prev.len == 1 ? c->lx->text[c->prev.at] : '\0';
    bool starts = c->prev.len == 0 || p == '(' || p == ',' || p == ';' || p == '}' ||
                  kg_tok_in(c->lx, c->prev, before);
    char next = next_char(c);
    return !c->in_macro && !c->real_is_defined && c->w.brace == 0 && starts &&
           (next == '*' || kg_lex_name_start((unsigned char)next));
}

/* `x == last_x`, where either is a static pointer: comparing with NULL is lazy set-up. */
bool kg_when_pointer_memo(struct kg_check *c)
{
    const struct kg_tok left = c->w.prev2;
    if (left.kind != KG_TOK_NAME || kg_tok_is(c->lx, left, "NULL") ||
        kg_tok_is(c->lx, c->tok, "NULL")) {
        return false;
    }
    return kg_check_is_state(c, c->tok, true) || kg_check_is_state(c, left, true);
}

bool kg_when_call_counter(struct kg_check *c)
{
    return kg_check_is_state(c, c->tok, false);
}
