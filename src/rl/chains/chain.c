/* Chains of operators: which are valid, their names, and the list of all. */
#include "rl/chains/chains.h"

#include <string.h>

#include "rl/chains/ops.h"

int rl_ops_count(void)
{
    return rl_op_count;
}

const char *rl_op_name(int op)
{
    return rl_op_table[op].name;
}

const char *rl_op_desc(int op)
{
    return rl_op_table[op].desc;
}

int rl_op_find(const char *name, size_t len)
{
    for (int i = 0; i < rl_op_count; i++) {
        if (strlen(rl_op_table[i].name) == len && memcmp(rl_op_table[i].name, name, len) == 0) {
            return i;
        }
    }
    return -1;
}

bool rl_chain_valid(const struct rl_chain *c)
{
    unsigned state = 0;
    if (c->n < 1 || c->n > RL_CHAIN_MAX) {
        return false;
    }
    for (int i = 0; i < c->n; i++) {
        const struct rl_op *o = &rl_op_table[c->op[i]];
        bool last = i == c->n - 1, again = i > 0 && c->op[i] == c->op[i - 1];
        if (again || (state & o->refuse) || (o->kind == RL_REDUCE && !last)) {
            return false;
        }
        state = (state & (o->keep | RL_LASTING)) | o->add;
    }
    return true;
}

size_t rl_chains_list(int n, struct rl_chain *out, size_t cap)
{
    size_t found = 0;
    struct rl_chain c = {.n = (uint8_t)n};
    for (bool more = n >= 1 && n <= RL_CHAIN_MAX; more;) {
        if (rl_chain_valid(&c)) {
            if (found < cap) {
                out[found] = c;
            }
            found++;
        }
        int i = n - 1; /* the next one: the last operator changes first */
        while (i >= 0 && ++c.op[i] == rl_op_count) {
            c.op[i--] = 0;
        }
        more = i >= 0;
    }
    return found;
}

void rl_chain_name(const struct rl_chain *c, char out[RL_CHAIN_NAME])
{
    size_t at = 0;
    for (int i = 0; i < c->n; i++) {
        const char *name = rl_op_table[c->op[i]].name;
        size_t len = strlen(name);
        KG_ASSERT(at + len + 2 <= RL_CHAIN_NAME);
        if (i > 0) {
            out[at++] = '_';
        }
        memcpy(out + at, name, len);
        at += len;
    }
    out[at] = 0;
}

enum kg_code rl_chain_parse(const char *name, struct rl_chain *out, struct kg_err *err)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    size_t len = strlen(base);
    const char *end = base + (len > 2 && strcmp(base + len - 2, ".c") == 0 ? len - 2 : len);
    *out = (struct rl_chain){.n = 0};
    for (const char *at = base; at <= end;) {
        const char *bar = memchr(at, '_', (size_t)(end - at)), *to = bar ? bar : end;
        int op = rl_op_find(at, (size_t)(to - at));
        if (op < 0) {
            return kg_fail(err, KG_E_INPUT, "%.100s: '%.*s' is no operator of a chain", name,
                           (int)(to - at < 40 ? to - at : 40), at);
        }
        if (out->n == RL_CHAIN_MAX) {
            return kg_fail(err, KG_E_INPUT, "%.100s: a chain has at most %d operators", name,
                           RL_CHAIN_MAX);
        }
        out->op[out->n++] = (uint8_t)op;
        at = to + 1;
    }
    if (!rl_chain_valid(out)) {
        return kg_fail(err, KG_E_INPUT,
                       "%.100s: in this order an operator or an input has no effect", name);
    }
    return KG_OK;
}

bool rl_chain_equal(const struct rl_chain *a, const struct rl_chain *b)
{
    return a->n == b->n && memcmp(a->op, b->op, a->n) == 0;
}
