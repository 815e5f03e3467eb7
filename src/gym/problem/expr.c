/* Parses formulas over dimensions into trees. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "gym/problem/expr_node.h"

/* On failure every parsing function returns NULL and has filled *err. */
struct parser {
    const char *text, *at;
    const char *const *names;
    size_t nnames;
    const char *what;
    struct kg_arena *arena;
    struct kg_err *err;
    enum kg_code code;
    int nodes, depth;
};

struct infix {
    const char *text;
    int level; /* binds tighter the higher it is */
    enum kg_expr_op op;
};

/* Longer spellings first. All comparisons share a level, so that chains can be refused. */
#define COMPARISON_LEVEL 3
static const struct infix OPERATORS[] = {
    {"||", 1, KG_EX_OR}, {"&&", 2, KG_EX_AND}, {"==", 3, KG_EX_EQ}, {"!=", 3, KG_EX_NE},
    {"<=", 3, KG_EX_LE}, {">=", 3, KG_EX_GE},  {"<", 3, KG_EX_LT},  {">", 3, KG_EX_GT},
    {"+", 4, KG_EX_ADD}, {"-", 4, KG_EX_SUB},  {"*", 5, KG_EX_MUL}, {"/", 5, KG_EX_DIV},
    {"%", 5, KG_EX_MOD},
};

static const struct function {
    const char *name;
    enum kg_expr_op op;
    int arity;
} FUNCTIONS[] = {
    {"min", KG_EX_MIN, 2},   {"max", KG_EX_MAX, 2},   {"ceil_div", KG_EX_CEIL_DIV, 2},
    {"sqrt", KG_EX_SQRT, 1}, {"log2", KG_EX_LOG2, 1},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *kg_expr_show(const char *text, size_t len, char out[KG_EXPR_SHOW])
{
    size_t n = 0;
    for (; n < len && n < KG_EXPR_SHOW - 4; n++) {
        unsigned char c = (unsigned char)text[n];
        out[n] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    memcpy(out + n, "...", 3);
    out[n < len ? n + 3 : n] = '\0';
    return out;
}

static const struct kg_expr *refuse(struct parser *p, const char *at, const char *why)
{
    char shown[KG_EXPR_SHOW];
    p->code = kg_fail(p->err, KG_E_PROBLEM, "%s: %s at column %d of '%s'", p->what, why,
                      (int)(at - p->text) + 1, kg_expr_show(p->text, strlen(p->text), shown));
    return NULL;
}

static void skip_space(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') {
        p->at++;
    }
}

static struct kg_expr *new_node(struct parser *p, enum kg_expr_op op)
{
    if (++p->nodes > KG_EXPR_MAX_NODES) {
        refuse(p, p->at, "more than 64 terms (simplify it, or name parts as dims)");
        return NULL;
    }
    struct kg_expr *e = kg_arena_alloc(p->arena, sizeof *e, p->err);
    if (e == NULL) {
        p->code = p->err->code;
        return NULL;
    }
    e->op = op;
    return e;
}

static bool result_is_real(enum kg_expr_op op, bool operand_real)
{
    switch (op) {
    case KG_EX_SQRT:
    case KG_EX_LOG2:
        return true;
    case KG_EX_ADD:
    case KG_EX_SUB:
    case KG_EX_MUL:
    case KG_EX_DIV:
    case KG_EX_NEGATE:
    case KG_EX_MIN:
    case KG_EX_MAX:
        return operand_real;
    default:
        return false;
    }
}

/* at: where the operator or function stands, for messages. */
static const struct kg_expr *apply(struct parser *p, enum kg_expr_op op, const struct kg_expr *a,
                                   const struct kg_expr *b, const char *at)
{
    bool real = a->real || (b != NULL && b->real);
    if (real && (op == KG_EX_MOD || op == KG_EX_CEIL_DIV)) {
        return refuse(p, at, "'%' and ceil_div need integers");
    }
    struct kg_expr *e = new_node(p, op);
    if (e == NULL) {
        return NULL;
    }
    e->a = a;
    e->b = b;
    e->real = result_is_real(op, real);
    e->uses = a->uses | (b != NULL ? b->uses : 0);
    return e;
}

static const struct kg_expr *parse_level(struct parser *p, int level);

/* Digits, then perhaps a fraction and an exponent; anything that strtod would take beyond that
 * (hex, inf, nan) is refused. */
static const struct kg_expr *parse_number(struct parser *p)
{
    const char *start = p->at;
    bool real = false;
    p->at += strspn(p->at, "0123456789");
    if (*p->at == '.') {
        real = true;
        p->at++;
        p->at += strspn(p->at, "0123456789");
    }
    size_t length = (size_t)(p->at - start);
    if (length == 1 && real) {
        return refuse(p, start, "expected digits around '.'");
    }
    if (*p->at == 'e' || *p->at == 'E') {
        real = true;
        p->at++;
        p->at += *p->at == '+' || *p->at == '-';
        size_t digits = strspn(p->at, "0123456789");
        if (digits == 0) {
            return refuse(p, start, "an exponent without digits");
        }
        p->at += digits;
    }
    if (isalpha((unsigned char)*p->at) || *p->at == '_' || *p->at == '.') {
        return refuse(p, start, "a malformed number (multiply with '*')");
    }
    struct kg_expr *e = new_node(p, KG_EX_NUMBER);
    if (e == NULL) {
        return NULL;
    }
    e->real = e->number.real = real;
    errno = 0;
    if (real) {
        e->number.d = strtod(start, NULL);
    } else {
        e->number.i = strtoll(start, NULL, 10);
    }
    if ((errno == ERANGE && !real) || (real && !isfinite(e->number.d))) {
        return refuse(p, start, "a number out of range");
    }
    return e;
}

static const struct kg_expr *parse_call(struct parser *p, const char *start, size_t len)
{
    const struct function *f = NULL;
    for (size_t k = 0; k < COUNT(FUNCTIONS); k++) {
        if (strlen(FUNCTIONS[k].name) == len && strncmp(FUNCTIONS[k].name, start, len) == 0) {
            f = &FUNCTIONS[k];
        }
    }
    if (f == NULL) {
        return refuse(p, start, "unknown function (there are min, max, ceil_div, sqrt, log2)");
    }
    p->at++;
    const struct kg_expr *arg[2] = {NULL, NULL};
    for (int k = 0; k < f->arity; k++) {
        arg[k] = parse_level(p, 1);
        if (arg[k] == NULL) {
            return NULL;
        }
        skip_space(p);
        if (*p->at != (k + 1 < f->arity ? ',' : ')')) {
            return refuse(p, p->at,
                          f->arity == 2 ? "expected two arguments in parentheses"
                                        : "expected one argument in parentheses");
        }
        p->at++;
    }
    return apply(p, f->op, arg[0], arg[1], start);
}

static const struct kg_expr *unknown_name(struct parser *p, const char *start, size_t len)
{
    char shown[KG_EXPR_SHOW];
    kg_expr_show(start, len, shown);
    const char *near = kg_nearest(shown, p->names, p->nnames);
    p->code = near != NULL
                  ? kg_fail(p->err, KG_E_PROBLEM, "%s: unknown name '%s' (did you mean '%s'?)",
                            p->what, shown, near)
                  : kg_fail(p->err, KG_E_PROBLEM,
                            "%s: unknown name '%s' (only dims may be named here)", p->what, shown);
    return NULL;
}

static const struct kg_expr *parse_name(struct parser *p)
{
    const char *start = p->at;
    while (isalnum((unsigned char)*p->at) || *p->at == '_') {
        p->at++;
    }
    size_t len = (size_t)(p->at - start);
    skip_space(p);
    if (*p->at == '(') {
        return parse_call(p, start, len);
    }
    for (size_t k = 0; k < p->nnames; k++) {
        if (strlen(p->names[k]) == len && strncmp(p->names[k], start, len) == 0) {
            struct kg_expr *e = new_node(p, KG_EX_NAME);
            if (e != NULL) {
                e->name = (int)k;
                e->uses = (uint64_t)1 << k;
            }
            return e;
        }
    }
    return unknown_name(p, start, len);
}

static const struct kg_expr *parse_primary(struct parser *p)
{
    unsigned char c = (unsigned char)*p->at;
    if (isdigit(c) || c == '.') {
        return parse_number(p);
    }
    if (isalpha(c) || c == '_') {
        return parse_name(p);
    }
    if (c != '(') {
        return refuse(p, p->at, "expected a number, a name or '('");
    }
    p->at++;
    const struct kg_expr *e = parse_level(p, 1);
    if (e == NULL) {
        return NULL;
    }
    skip_space(p);
    if (*p->at != ')') {
        return refuse(p, p->at, "expected ')'");
    }
    p->at++;
    return e;
}

static const struct kg_expr *parse_unary(struct parser *p)
{
    skip_space(p);
    const char *at = p->at;
    if (++p->depth > KG_EXPR_MAX_DEPTH) {
        return refuse(p, at, "nested too deeply");
    }
    const struct kg_expr *e;
    if (*at == '-' || (*at == '!' && at[1] != '=')) {
        p->at++;
        const struct kg_expr *a = parse_unary(p);
        e = a == NULL ? NULL : apply(p, *at == '-' ? KG_EX_NEGATE : KG_EX_NOT, a, NULL, at);
    } else {
        e = parse_primary(p);
    }
    p->depth--;
    return e;
}

static const struct infix *next_operator(struct parser *p)
{
    skip_space(p);
    for (size_t k = 0; k < COUNT(OPERATORS); k++) {
        if (strncmp(p->at, OPERATORS[k].text, strlen(OPERATORS[k].text)) == 0) {
            return &OPERATORS[k];
        }
    }
    return NULL;
}

/* Precedence climbing: operators of this level and tighter ones. */
static const struct kg_expr *parse_level(struct parser *p, int level)
{
    const struct kg_expr *left = parse_unary(p);
    bool compared = false;
    const struct infix *op;
    while (left != NULL && (op = next_operator(p)) != NULL && op->level >= level) {
        const char *at = p->at;
        /* C would read 1 <= x <= 5 as (1 <= x) <= 5, which is always true. */
        if (op->level == COMPARISON_LEVEL && compared) {
            return refuse(p, at, "a chained comparison (join two with &&)");
        }
        compared = op->level == COMPARISON_LEVEL;
        p->at += strlen(op->text);
        const struct kg_expr *right = parse_level(p, op->level + 1);
        left = right == NULL ? NULL : apply(p, op->op, left, right, at);
    }
    return left;
}

enum kg_code kg_expr_parse(const char *text, const char *const *names, size_t nnames,
                           const char *what, struct kg_arena *arena, const struct kg_expr **out,
                           struct kg_err *err)
{
    KG_ASSERT(nnames <= 64);
    struct parser p = {.text = text,
                       .at = text,
                       .names = names,
                       .nnames = nnames,
                       .what = what,
                       .arena = arena,
                       .err = err};
    *out = NULL;
    const struct kg_expr *e = parse_level(&p, 1);
    if (e == NULL) {
        return p.code;
    }
    skip_space(&p);
    if (*p.at != '\0') {
        refuse(&p, p.at, "expected an operator or the end");
        return p.code;
    }
    *out = e;
    return KG_OK;
}
