/* Problem files of chains, and the first message for a tiny model. */
#include <string.h>

#include "rl/chains/write.h"

#define COLS     1024
#define ROWS_MIN 128
#define ROWS_MAX 8192
#define LONG_PS  390000000 /* 0.39 ms: 3 T where T is 126 us, and 3 % */

void rl_write_args(const struct rl_chain *c, char out[8])
{
    static const char order[] = "bgzcd";
    size_t n = 0;
    out[n++] = 'x';
    for (const char *a = order; *a; a++) {
        bool used = false;
        for (int i = 0; i < c->n; i++) {
            used = used || strchr(rl_op_table[c->op[i]].args, *a);
        }
        if (used) {
            out[n++] = *a;
        }
    }
    out[n++] = 'y';
    out[n] = 0;
}

static bool reduces(const struct rl_chain *c)
{
    return rl_op_table[c->op[c->n - 1]].kind == RL_REDUCE;
}

const char *rl_write_extents(const struct rl_chain *c, char arg)
{
    if (arg == 'b' || arg == 'g') {
        return "m";
    }
    return arg == 'c' || arg == 'd' || (arg == 'y' && reduces(c)) ? "n" : "n,m";
}

void rl_chain_shape(const struct rl_chain *c, int64_t *rows, int64_t *cols)
{
    int64_t cost = 0;
    for (int i = 0; i < c->n; i++) {
        cost += rl_op_table[c->op[i]].cost;
    }
    KG_ASSERT(cost > 0);
    int64_t need = LONG_PS / (cost > 0 ? cost : 1) / COLS / 8 * 8 + 8;
    *rows = need < ROWS_MIN ? ROWS_MIN : need > ROWS_MAX ? ROWS_MAX : need;
    *cols = COLS;
}

static void add_desc(const struct rl_chain *c, struct kg_buf *out)
{
    kg_buf_adds(out, "desc: \"of x: ");
    for (int i = 0; i < c->n; i++) {
        kg_buf_addf(out, "%s%s", i > 0 ? ", then " : "", rl_op_table[c->op[i]].desc);
    }
    kg_buf_adds(out, "\"\n");
}

static void add_block(const struct rl_chain *c, struct kg_buf *out)
{
    char name[RL_CHAIN_NAME], args[8];
    int64_t rows, cols;
    int flops = 0;
    bool sums = false;
    rl_chain_name(c, name);
    rl_chain_shape(c, &rows, &cols);
    rl_write_args(c, args);
    kg_buf_addf(out, "/*---kgym\nname: %s\nlevel: %d\nentry: k\n", name, c->n == 1 ? 1 : 2);
    add_desc(c, out);
    kg_buf_addf(out, "dims: {n: %lld, m: %lld}\nargs:\n", (long long)rows, (long long)cols);
    for (const char *a = args; *a; a++) {
        kg_buf_addf(out, "  - {name: %c, type: \"f32[%s]\", role: %s}\n", *a,
                    rl_write_extents(c, *a), *a == 'y' ? "out" : "in");
    }
    kg_buf_adds(out, "  - {name: n, type: i64, role: dim}\n  - {name: m, type: i64, role: dim}\n");
    for (int i = 0; i < c->n; i++) {
        flops += rl_op_table[c->op[i]].flops;
        sums = sums || rl_op_table[c->op[i]].sums;
    }
    if (sums) {
        kg_buf_addf(out,
                    "# A plain sequential sum of one sign errs up to 4 times as much as the "
                    "square-root law says.\nreduce: 16 * m%s\n",
                    rl_chain_runs(c) ? " + m * m" : "");
    }
    rl_write_laws(c, out);
    kg_buf_addf(out, "cost: {flops: \"%d * n * m\"}\n---*/\n", flops);
}

void rl_chain_problem(const struct rl_chain *c, struct kg_buf *out)
{
    add_block(c, out);
    kg_buf_adds(out, "#include \"kgops.h\"\n\n#include <stdlib.h>\n\n");
    rl_write_head(c, "real", true, 0, out);
    rl_write_calls(c, "real", false, true, out);
}

void rl_chain_prompt(const struct rl_chain *c, struct kg_buf *out)
{
    for (int i = 0; i < c->n; i++) {
        kg_buf_addf(out, "%s%s", i > 0 ? " " : "", rl_op_table[c->op[i]].name);
    }
}
