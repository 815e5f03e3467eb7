/* Writes chains as calls of kgops: the reference, and candidates that call the library. */
#include <string.h>

#include "rl/chains/write.h"

struct place { /* of one operator in its chain */
    const char *from, *to;
    bool rows;
};

/* What stands for a placeholder of the table. */
static void add_placeholder(char p, const struct place *at, bool spaced, struct kg_buf *out)
{
    bool rows = at->rows;
    switch (p) {
    case 'X':
        kg_buf_adds(out, at->from);
        break;
    case 'Y':
        kg_buf_adds(out, at->to);
        break;
    case 'Z':
        kg_buf_adds(out, rows ? "z+i*m" : "z");
        break;
    case 'C':
        kg_buf_adds(out, rows ? "c+i" : "c");
        break;
    case 'D':
        kg_buf_adds(out, rows ? "d+i" : "d");
        break;
    case 'N':
        kg_buf_adds(out, rows ? "m" : spaced ? "n * m" : "n*m");
        break;
    default:
        kg_buf_adds(out, rows ? "1" : "n");
    }
}

static void add_calls(const char *calls, const struct place *at, bool spaced, struct kg_buf *out)
{
    for (const char *p = calls; *p; p++) {
        if (strchr("XYZCDNR", *p)) {
            add_placeholder(*p, at, spaced, out);
        } else {
            kg_buf_addc(out, *p);
        }
        if (spaced && *p == ',') {
            kg_buf_addc(out, ' ');
        } else if (spaced && *p == ';') {
            kg_buf_adds(out, "\n    ");
        }
    }
}

/* The names of temporaries that the chain needs: t and u for results, w and s of the calls. */
static void temporaries(const struct rl_chain *c, char out[5])
{
    size_t n = 0;
    bool w = false, s = false;
    for (int i = 0; i < c->n; i++) {
        const char *calls = rl_op_table[c->op[i]].calls;
        w = w || strstr(calls, ",w") || strstr(calls, "(w");
        s = s || strstr(calls, ",s") || strstr(calls, "(s");
    }
    for (int i = 0; i < c->n - 1; i++) {
        out[n++] = "tu"[i];
    }
    if (w) {
        out[n++] = 'w';
    }
    if (s) {
        out[n++] = 's';
    }
    out[n] = 0;
}

void rl_write_calls(const struct rl_chain *c, const char *type, bool rows, bool spaced,
                    struct kg_buf *out)
{
    char temp[5];
    const char *end = spaced ? "\n    " : "";
    bool reduced = rl_op_table[c->op[c->n - 1]].kind == RL_REDUCE;
    struct place at = {.from = rows ? "x+i*m" : "x", .rows = rows};
    temporaries(c, temp);
    for (const char *t = temp; *t; t++) {
        const char *one = rows ? "1" : "n", *all = rows ? "m" : spaced ? "n * m" : "n*m";
        kg_buf_addf(out, "%s%s*%c%s=%skgops_temp(%s);%s", type, spaced ? " " : "", *t,
                    spaced ? " " : "", spaced ? " " : "", *t == 's' ? one : all, end);
    }
    kg_buf_adds(out, rows ? "for(long i=0;i<n;i++){" : "");
    for (int i = 0; i < c->n; i++) {
        const char *last = !rows ? "y" : reduced ? "y+i" : "y+i*m";
        at.to = i == c->n - 1 ? last : i % 2 ? "u" : "t";
        add_calls(rl_op_table[c->op[i]].calls, &at, spaced, out);
        at.from = at.to;
    }
    kg_buf_adds(out, rows ? "}" : "");
    for (const char *t = temp; *t; t++) {
        kg_buf_addf(out, "free(%c);%s", *t, end);
    }
    if (spaced) {
        out->len -= 4; /* the indent of the line that the bracket is on */
        out->data[out->len] = 0;
    }
    kg_buf_adds(out, "}\n");
}
