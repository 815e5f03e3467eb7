/* Conversations of two turns: a first candidate with a flaw, and a better second one. */
#include <math.h>
#include <string.h>

#include "rl/chains/write.h"

static const char *const flaw_names[RL_FLAWS] = {"none",     "slow",     "syntax",
                                                 "operator", "argument", "bound"};
static const char *const verdicts[RL_FLAWS] = {
    "ok", "ok", "compile_error", "wrong", "compile_error", "wrong"};

const struct rl_talk_mix rl_talk_mix_default = {
    .styles = {.form = {.25, .10, .25, .15, .25}, .poly = .35, .lanes = .35, .order = .25},
    .flaw = {.15, .40, .10, .15, .10, .10}};

/* First turns that are right and slow; second turns that are seldom slower than these. */
static const struct rl_mix slow = {.form = {.5, 0, .5, 0, 0}};
static const struct rl_mix fast = {.form = {0, 0, 0, .2, .8}, .poly = 1, .lanes = 1, .order = .25};

const char *rl_flaw_name(enum rl_flaw flaw)
{
    return flaw_names[flaw];
}

const char *rl_flaw_verdict(enum rl_flaw flaw)
{
    return verdicts[flaw];
}

/* Puts another operator of the same kind in one place, of those that need no other parameter.
 * False: there is none that is valid there and not held out. */
static bool replace(const struct rl_chain *c, const struct rl_split *split, struct kg_rng *r,
                    struct rl_chain *out)
{
    char args[8];
    int found = 0;
    rl_write_args(c, args);
    for (int i = 0; i < c->n; i++) {
        for (int op = 0; op < rl_op_count; op++) {
            struct rl_chain other = *c;
            const struct rl_op *o = &rl_op_table[op];
            other.op[i] = (uint8_t)op;
            bool same = op == c->op[i] || o->kind != rl_op_table[c->op[i]].kind;
            if (same || strspn(o->args, args) < strlen(o->args) || !rl_chain_valid(&other) ||
                (split && rl_split_holds_out(split, &other))) {
                continue;
            }
            if (kg_rng_below(r, (uint64_t)++found) == 0) { /* each with the same chance */
                *out = other;
            }
        }
    }
    return found > 0;
}

static enum rl_flaw draw_flaw(const double *weight, struct kg_rng *r)
{
    double total = 0, at;
    int flaw = 0;
    for (int i = 0; i < RL_FLAWS; i++) {
        total += weight[i];
    }
    KG_ASSERT(total > 0);
    at = kg_rng_unit(r) * total;
    while (flaw < RL_FLAWS - 1 && at >= weight[flaw]) {
        at -= weight[flaw++];
    }
    return (enum rl_flaw)flaw;
}

void rl_talk_draw(const struct rl_chain *c, const struct rl_talk_mix *mix,
                  const struct rl_split *split, struct kg_rng *r, struct rl_talk *out)
{
    *out = (struct rl_talk){.chain = *c, .body = *c, .flaw = draw_flaw(mix->flaw, r)};
    bool is_slow = out->flaw == RL_FLAW_SLOW;
    out->style[0] = rl_style_draw(c, is_slow ? &slow : &mix->styles, r);
    out->style[1] = rl_style_draw(c, is_slow ? &fast : &mix->styles, r);
    out->at = (uint32_t)kg_rng_u64(r);
    if (out->flaw == RL_FLAW_OPERATOR && !replace(c, split, r, &out->body)) {
        out->flaw = RL_FLAW_NONE;
    }
}

/* Where the function's body begins; helpers before it stay whole. */
static size_t body_of(const struct kg_buf *b, size_t from)
{
    const char *head = strstr(b->data + from, "void k(");
    KG_ASSERT(head != NULL);
    return (size_t)(strchr(head, '{') + 1 - b->data);
}

static void cut(struct kg_buf *b, size_t at, size_t n)
{
    memmove(b->data + at, b->data + at + n, b->len + 1 - at - n);
    b->len -= n;
}

/* Leaves out one bracket or semicolon. Without a `}` the function would not end, and the static
 * check would reject the text before the compiler sees it. */
static void break_syntax(struct kg_buf *b, size_t from, uint32_t at)
{
    size_t places = 0, i;
    for (i = from; i < b->len; i++) {
        places += strchr(")];", b->data[i]) != NULL;
    }
    KG_ASSERT(places > 0);
    size_t left = places > 0 ? at % places : 0;
    for (i = from; left > 0 || !strchr(")];", b->data[i]); i++) {
        left -= strchr(")];", b->data[i]) != NULL;
    }
    cut(b, i, 1);
}

/* Lets one loop, or one call of the library, end early. */
static void break_bound(struct kg_buf *b, size_t from, uint32_t at)
{
    static const struct {
        const char *text;
        size_t cut; /* "-1" stands behind so many of its bytes */
    } ends[] = {{"j<m;", 3}, {"i<n;", 3}, {",n*m);", 4}, {",n,m);", 2}};
    size_t place[64] = {0}, places = 0;
    for (size_t i = from; i < b->len; i++) {
        for (size_t k = 0; k < sizeof ends / sizeof *ends && places < 64; k++) {
            if (strncmp(b->data + i, ends[k].text, strlen(ends[k].text)) == 0) {
                place[places++] = i + ends[k].cut;
            }
        }
    }
    KG_ASSERT(places > 0);
    size_t i = place[at % places], tail = b->len - i;
    kg_buf_adds(b, "-1");
    memmove(b->data + i + 2, b->data + i, tail);
    memcpy(b->data + i, "-1", 2);
}

void rl_talk_code(const struct rl_talk *t, int turn, struct kg_buf *out)
{
    enum rl_flaw flaw = turn == 0 ? t->flaw : RL_FLAW_NONE;
    char args[8], without = 0;
    size_t from = out->len;
    if (flaw == RL_FLAW_ARGUMENT) {
        rl_write_args(&t->chain, args);
        size_t extra = strlen(args) - 2; /* without x and y */
        without = extra > 0 ? args[1 + t->at % extra] : 'n';
    }
    rl_write_candidate(&t->chain, turn == 0 ? &t->body : &t->chain, t->style[turn], without, out);
    if (flaw == RL_FLAW_SYNTAX) {
        break_syntax(out, body_of(out, from), t->at);
    } else if (flaw == RL_FLAW_BOUND) {
        break_bound(out, body_of(out, from), t->at);
    }
}

bool rl_talk_holds(const struct rl_talk *t, const char *const verdict[2], const double speedup[2])
{
    if (!verdict[0] || !verdict[1] || strcmp(verdict[0], verdicts[t->flaw]) != 0 ||
        strcmp(verdict[1], "ok") != 0) {
        return false;
    }
    return t->flaw != RL_FLAW_SLOW ||
           (isfinite(speedup[0]) && isfinite(speedup[1]) && speedup[1] >= 1.2 * speedup[0]);
}
