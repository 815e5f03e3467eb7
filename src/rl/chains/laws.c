/* Which value laws a chain leaves out: those under which an honest candidate, or the reference
 * itself, loses its precision. They follow from what each operator does to rounding errors.
 * docs/chains.md, "Laws and K", has the argument. */
#include <string.h>

#include "rl/chains/write.h"

enum {
    EQUAL = 1 << 0,
    HEAVY = 1 << 1,
    LARGE = 1 << 2,
    MIXED = 1 << 3,
    NORMAL = 1 << 4,
    OFFSET = 1 << 5,
    OUTLIER = 1 << 6,
    PIECEWISE = 1 << 7,
    PRECISION = 1 << 8,
    SMALL = 1 << 9,
    SMALLINT = 1 << 10,
    SORTED = 1 << 11,
    SPARSE = 1 << 12,
    SPIKE = 1 << 13,
    UNIFORM = 1 << 14,
    WIDEINT = 1 << 15,
};
static const char *const names[] = {
    "equal",     "heavy", "large",    "mixed",  "normal", "offset", "outlier", "piecewise",
    "precision", "small", "smallint", "sorted", "sparse", "spike",  "uniform", "wideint"};

#define ALIKE (EQUAL | OUTLIER | PIECEWISE) /* whole rows of one number */
#define TAILS (HEAVY | MIXED | SPIKE)       /* some values far above their rms */
#define FAR   (TAILS | LARGE | OFFSET | OUTLIER | PIECEWISE | WIDEINT) /* values far above 1 */
#define SUMS  (ALIKE | OFFSET | SMALLINT | SORTED | SPARSE | WIDEINT)  /* as add_layer_norm */

/* How far two honest styles are apart, beside what the bound allows for each element. */
enum apart {
    SAME,     /* they are equal: every step so far is one rounding of the same numbers */
    RELATIVE, /* some units in the last place of each element */
    ABSOLUTE, /* that of the largest terms, so a small element may have few right digits */
};

struct errors {
    enum apart apart;
    unsigned state; /* of RL_NEG ... */
    bool product;   /* the last step is a product: `fma` may take it up */
    bool around;    /* values lie around a number that may be far above their differences */
    bool shifted;   /* a number was added to all of a row: it may be far above their differences */
    bool near;      /* elements of a row have a small part of their size between them, or nothing,
                     * under the precision probe: x is in +-[1, 2), and z one number */
    bool levelled;  /* what the elements of a row have in common was taken away */
    bool summed;    /* and by a sum, whose error all elements of the row share */
    bool powers;    /* an element is a product of inputs, so most are small beside the largest */
    bool distance;  /* from the largest of a row, computed with its logarithm */
};

/* Laws that this operator cannot stand after what is there. */
static unsigned refused(const struct rl_op *o, const struct errors *e)
{
    unsigned off = o->sums ? SUMS : 0, what = o->error;
    bool level = what & RL_LEVEL, most = o->kind == RL_REDUCE && o->pass[0].fold == 'M';
    off |= (what & RL_STEEP) && (e->apart == ABSOLUTE || (e->state & RL_NEG)) ? FAR : 0;
    off |= (what & RL_STEEP) && e->levelled ? ALIKE : 0;
    off |= (what & RL_EXPS) && e->apart != SAME ? FAR : 0;
    off |= (what & RL_EXPS) && e->powers ? NORMAL : 0;
    off |= o->sums && ((what & RL_POWERS) || e->powers) ? TAILS : 0;
    off |= most && e->distance ? FAR : 0;
    off |= level && e->around ? FAR | SMALL : 0;
    off |= level && e->apart != SAME ? ALIKE | OFFSET : 0;
    off |= level && o->sums && e->shifted ? FAR : 0;
    off |= o->kind == RL_REDUCE && o->sums && e->summed ? UNIFORM : 0;
    off |= level && e->near ? PRECISION : 0;
    off |= (what & RL_FREE) && (e->summed || (level && o->sums)) ? TAILS : 0;
    return off;
}

static void follow(const struct rl_op *o, struct errors *e)
{
    unsigned what = o->error;
    bool adds = what & RL_ADDS, level = what & RL_LEVEL;
    if (adds && (e->apart == RELATIVE || (e->product && o->kind == RL_MAP) || o->sums)) {
        e->apart = ABSOLUTE;
    } else if ((what & RL_ROUNDS) && e->apart == SAME) {
        e->apart = RELATIVE;
    }
    e->product = (what & RL_TIMES) || (e->product && !adds);
    e->powers = e->powers || (what & RL_FREE);
    e->around = e->around || (what & RL_AROUND);
    e->shifted = e->shifted || (o->add & RL_SHIFT);
    e->near = e->near || (what & (RL_NEAR | RL_PICKS));
    e->levelled = e->levelled || level;
    e->summed = e->summed || (level && o->sums);
    e->distance = e->distance || (adds && (what & RL_EXPS));
    e->state = (e->state & o->keep) | o->add;
}

bool rl_chain_runs(const struct rl_chain *c)
{
    bool zeros = false, numbers = false, runs = false; /* half of a row is 0, or one other number */
    for (int i = 0; i < c->n; i++) {
        const struct rl_op *o = &rl_op_table[c->op[i]];
        bool shift = o->add & RL_SHIFT, away = (o->error & RL_EXPS) || (o->error & RL_LEVEL);
        bool ends = (o->error & RL_PICKS) || ((o->error & RL_ADDS) && !shift);
        runs = runs || (o->sums && (numbers || (zeros && away)));
        numbers = !ends && (numbers || (zeros && (shift || (o->error & RL_AROUND))));
        zeros = (zeros && !ends) || (o->error & RL_ZEROS);
    }
    return runs;
}

void rl_write_laws(const struct rl_chain *c, struct kg_buf *out)
{
    struct errors e = {.apart = SAME};
    unsigned off = 0;
    const char *between = "laws: [";
    for (int i = 0; i < c->n; i++) {
        off |= refused(&rl_op_table[c->op[i]], &e);
        follow(&rl_op_table[c->op[i]], &e);
    }
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (off & (1u << k)) {
            kg_buf_addf(out, "%s-%s", between, names[k]);
            between = ", ";
        }
    }
    kg_buf_adds(out, off ? "]\n" : "");
}
