/* Writes chains as own loops. Own code is a sequence of loops over a row. Each reads the row at
 * `from`, applies what is pending to v, and stores the row, folds it, or both. */
#include <string.h>

#include "rl/chains/write.h"

struct pen {
    const struct rl_chain *c;
    struct rl_style s;
    struct kg_buf body;    /* of the loop over rows that is being written */
    struct kg_buf pending; /* statements on v that no loop has applied yet */
    char from;             /* where the row is: p the input, q the output or a temporary */
    bool stored;           /* the body writes to q */
};

static void add_text(struct pen *p, const char *text, struct kg_buf *out)
{
    for (; *text; text++) {
        if (*text == 'E') {
            kg_buf_adds(out, p->s.exp == RL_EXP_LIBM ? "expf" : "ex");
        } else if (*text == 'Z') {
            kg_buf_adds(out, "z[i*m+j]");
        } else if (*text == '@') {
            kg_buf_addf(out, "%c[j]", p->from);
        } else {
            kg_buf_addc(out, *text);
        }
    }
}

/* One loop that applies what is pending. */
static void flush(struct pen *p)
{
    kg_buf_adds(&p->body, "for(long j=0;j<m;j++){float v=");
    kg_buf_addf(&p->body, "%c[j];%sq[j]=v;}", p->from, p->pending.data);
    kg_buf_reset(&p->pending);
    p->from = 'q';
    p->stored = true;
}

/* The first fold of a norm stores what was pending, since later loops read the row again. */
static void fold(struct pen *p, const struct rl_pass *f, bool keep)
{
    kg_buf_addf(&p->body, "%s(%c,", f->fold == 'S' ? "SUM" : "MAX", f->var);
    if (f->load) {
        add_text(p, f->load, &p->body);
        bool stores = strstr(f->load, "q[j]=") != NULL;
        p->from = stores ? 'q' : p->from;
        p->stored = p->stored || stores;
    } else {
        bool store = keep && p->pending.len > 0;
        kg_buf_addf(&p->body, "float v=%c[j];%s", p->from, p->pending.data);
        kg_buf_adds(&p->body, store ? "q[j]=v" : "");
        p->body.len -= !store; /* the macro adds the last semicolon */
        kg_buf_reset(&p->pending);
        p->from = store ? 'q' : p->from;
        p->stored = p->stored || store;
    }
    kg_buf_addf(&p->body, ",%s)%s", f->term, f->after[p->s.order]);
}

static void add_op(struct pen *p, const struct rl_op *o, bool last)
{
    for (int i = 0; i < 2 && o->pass[i].fold; i++) {
        fold(p, &o->pass[i], o->kind == RL_NORM);
    }
    if (o->kind == RL_REDUCE) {
        return;
    }
    add_text(p, o->code[p->s.order], &p->pending);
    if (last || p->s.form != RL_OWN_FUSED) {
        flush(p);
    }
}

/* Puts the loop over rows around the body. t: the chain ends in numbers, so rows are kept in t. */
static void close_rows(struct pen *p, bool first, bool reduces, struct kg_buf *out)
{
    bool whole = p->s.form == RL_OWN;
    kg_buf_adds(out, "for(long i=0;i<n;i++){");
    kg_buf_adds(out, first ? "const float*p=x+i*m;" : "");
    if (p->stored || !first) {
        kg_buf_adds(out, !reduces ? "float*q=y+i*m;" : whole ? "float*q=t+i*m;" : "float*q=t;");
    }
    kg_buf_addf(out, "%s}", p->body.data);
    kg_buf_reset(&p->body);
}

void rl_write_loops(const struct rl_chain *c, struct rl_style s, struct kg_buf *out)
{
    struct pen p = {.c = c, .s = s, .from = 'p'};
    struct kg_buf rows;
    bool reduces = rl_op_table[c->op[c->n - 1]].kind == RL_REDUCE, whole = s.form == RL_OWN;
    kg_buf_init(&p.body, RL_CHAIN_BYTES);
    kg_buf_init(&p.pending, RL_CHAIN_BYTES);
    kg_buf_init(&rows, RL_CHAIN_BYTES);
    for (int i = 0; i < c->n; i++) {
        add_op(&p, &rl_op_table[c->op[i]], i == c->n - 1);
        if (whole || i == c->n - 1) {
            close_rows(&p, i == 0 || !whole, reduces, &rows);
        }
    }
    bool temp = reduces && p.stored;
    kg_buf_adds(out, !temp ? "" : whole ? "float*t=malloc(n*m*4);" : "float t[m];");
    kg_buf_addf(out, "%s%s}\n", rows.data, temp && whole ? "free(t);" : "");
    kg_buf_deinit(&rows);
    kg_buf_deinit(&p.pending);
    kg_buf_deinit(&p.body);
}
