/* Chooses among the code blocks of a reply the one that is the candidate. */
#include <string.h>

#include "gym/reply/extract_private.h"
#include "gym/reply/lex_private.h"

/* Lines of a unified diff. Only asked about text that seems to define the entry. */
bool kg_reply_is_diff(struct kg_slice code)
{
    struct kg_slice line;
    size_t lines = 0, marked = 0, other = 0;
    bool old_file = false;
    for (size_t at = 0; kg_slice_line(code, &at, &line);) {
        bool hunk = kg_slice_starts(line, "@@ -") && memmem(line.at + 4, line.len - 4, "@@", 2);
        if (hunk || kg_slice_starts(line, "diff --git ") ||
            (old_file && kg_slice_starts(line, "+++ "))) {
            return true;
        }
        old_file = kg_slice_starts(line, "--- ");
        if (line.len > 0) {
            lines++;
            marked += line.at[0] == '+' || line.at[0] == '-';
            other += line.at[0] != '+' && line.at[0] != '-' && line.at[0] != ' ';
        }
    }
    return lines > 1 && other == 0 && marked * 3 >= lines;
}

static enum kg_rank rank_c(struct kg_reply *r, struct kg_slice code)
{
    struct kg_survey s;
    bool clean = !r->lenient && r->cut; /* nothing else is asked about dirty text then */
    if (clean) {
        kg_survey_c_clean(code.at, code.len, r->entry, &s);
    } else {
        kg_survey_c(code.at, code.len, r->entry, &s);
    }
    r->cut |= s.kind == KG_DEF_PARTIAL;
    if (s.dirty && !r->lenient) {
        r->dirty = true;
        return KG_RANK_NONE;
    }
    switch (s.kind) {
    case KG_DEF_WHOLE:
        return KG_RANK_FULL;
    case KG_DEF_UNSURE:
        return s.visible ? KG_RANK_FULL : KG_RANK_WEAK;
    case KG_DEF_STATIC:
        return KG_RANK_STATIC;
    default:
        return KG_RANK_NONE;
    }
}

static enum kg_rank rank_python(struct kg_reply *r, struct kg_slice code)
{
    struct kg_python_survey s;
    kg_survey_python(code.at, code.len, r->entry, &s);
    r->cut |= s.kind == KG_DEF_PARTIAL;
    if (s.dirty && !r->lenient) {
        r->dirty = true;
        return KG_RANK_NONE;
    }
    return s.kind == KG_DEF_WHOLE    ? KG_RANK_FULL
           : s.kind == KG_DEF_UNSURE ? KG_RANK_WEAK
                                     : KG_RANK_NONE;
}

enum kg_rank kg_reply_rank(struct kg_reply *r, struct kg_slice code)
{
    if (!kg_lex_may_define(code.at, code.len, r->entry)) {
        return KG_RANK_NONE;
    }
    enum kg_rank rank = r->lang == KG_LANG_C ? rank_c(r, code) : rank_python(r, code);
    if (rank != KG_RANK_NONE && kg_reply_is_diff(code)) {
        r->diff = true;
        return KG_RANK_NONE;
    }
    return rank;
}

/* The block's code without `>` marks and without the indentation of a list. */
static struct kg_slice stripped(struct kg_reply *r, const struct kg_block *b)
{
    if (b->quotes == 0 && b->indent == 0) {
        return b->code;
    }
    kg_buf_reset(&r->unquoted);
    struct kg_slice line;
    for (size_t at = 0; kg_slice_line(b->code, &at, &line);) {
        size_t p = 0;
        for (int q = 0; q < b->quotes; q++) {
            size_t mark = p;
            while (mark < line.len && line.at[mark] == ' ') {
                mark++;
            }
            if (mark >= line.len || line.at[mark] != '>') {
                break;
            }
            p = mark + 1;
        }
        p += p > 0 && p < line.len && line.at[p] == ' ';
        while (p < b->indent && p < line.len && (line.at[p] == ' ' || line.at[p] == '\t')) {
            p++;
        }
        kg_buf_add(&r->unquoted, line.at + p, line.len - p);
        kg_buf_addc(&r->unquoted, '\n');
    }
    return kg_slice_buf(&r->unquoted);
}

struct kg_slice kg_reply_block_code(struct kg_reply *r, const struct kg_block *b)
{
    struct kg_slice code = stripped(r, b);
    kg_buf_reset(&r->decoded);
    return b->escaped && kg_repair_entities(code, &r->decoded) ? kg_slice_buf(&r->decoded) : code;
}

static uint32_t flags_of(const struct kg_block *b)
{
    return (b->quotes > 0 || b->indent > 0 ? KG_XF_DEDENT : 0) | (b->escaped ? KG_XF_ENTITIES : 0) |
           (b->magics ? KG_XF_MAGICS : 0) | (b->closed ? 0 : KG_XF_UNCLOSED);
}

bool kg_reply_take(struct kg_reply *r, struct kg_slice code, const char *rule, uint32_t flags)
{
    kg_buf_reset(&r->code);
    kg_buf_add(&r->code, code.at, code.len);
    r->rule = rule;
    r->flags |= flags;
    return true;
}

bool kg_reply_take_block(struct kg_reply *r, const struct kg_block *b, struct kg_slice code,
                         uint32_t flags)
{
    const char *rule = b->opened ? "fence-opened" : b->closed ? "fence-closed" : "fence-unclosed";
    return kg_reply_take(r, code, rule, flags | flags_of(b));
}

/* Python has no closing brace: a block that the token limit cut may lack its last methods. */
static bool may_be_cut(const struct kg_reply *r, const struct kg_block *b)
{
    return b->to_end && r->lang == KG_LANG_PYTHON && r->finish != NULL &&
           strcmp(r->finish, "length") == 0;
}

/* The last block of the best rank among those that are closed, or not. */
static bool choose(struct kg_reply *r, const struct kg_blocks *blocks, bool closed)
{
    enum kg_rank best = KG_RANK_NONE;
    int at = -1;
    for (int i = blocks->n - 1; i >= 0 && best != KG_RANK_FULL; i--) {
        const struct kg_block *b = &blocks->list[i];
        if (b->closed != closed || !kg_tag_accepts(r->lang, b->tag) || may_be_cut(r, b)) {
            continue;
        }
        enum kg_rank rank = kg_reply_rank(r, kg_reply_block_code(r, b));
        if (rank > best) {
            best = rank;
            at = i;
        }
    }
    return at >= 0 &&
           kg_reply_take_block(r, &blocks->list[at], kg_reply_block_code(r, &blocks->list[at]), 0);
}

/* least WEAK: an alias of a class has no body, and one under a condition has several. */
static bool defines_once(struct kg_reply *r, struct kg_slice code, enum kg_rank least)
{
    enum kg_rank rank = kg_reply_rank(r, code);
    if (rank != KG_RANK_FULL) {
        return rank == KG_RANK_WEAK && least == KG_RANK_WEAK;
    }
    if (r->lang == KG_LANG_C) {
        struct kg_survey s;
        kg_survey_c(code.at, code.len, r->entry, &s);
        return s.bodies == 1;
    }
    struct kg_python_survey s;
    kg_survey_python(code.at, code.len, r->entry, &s);
    return s.bodies == 1;
}

/* A block of the language that holds something and is whole. */
static bool joins(struct kg_reply *r, const struct kg_block *b)
{
    return kg_tag_accepts(r->lang, b->tag) && kg_slice_trim(kg_reply_block_code(r, b)).len > 0 &&
           !may_be_cut(r, b);
}

/* Writes blocks->list[at[0..n)] one after the other to r->work[0]; returns their flags. */
static uint32_t join_text(struct kg_reply *r, const struct kg_blocks *blocks, const int *at, int n)
{
    struct kg_buf *all = &r->work[0];
    uint32_t flags = KG_XF_CONCAT;
    kg_buf_reset(all);
    for (int i = 0; i < n; i++) {
        const struct kg_block *b = &blocks->list[at[i]];
        struct kg_slice code = kg_reply_block_code(r, b);
        kg_buf_add(all, code.at, code.len);
        if (code.at[code.len - 1] != '\n') {
            kg_buf_addc(all, '\n');
        }
        flags |= flags_of(b);
    }
    return flags;
}

/* They must define the entry exactly once. */
static bool take_joined(struct kg_reply *r, uint32_t flags, enum kg_rank least)
{
    struct kg_slice all = kg_slice_buf(&r->work[0]);
    return defines_once(r, all, least) && kg_reply_take(r, all, "fences-joined", flags);
}

bool kg_reply_join(struct kg_reply *r, const struct kg_blocks *blocks)
{
    int at[KG_BLOCKS_MAX], n = 0;
    for (int i = 0; i < blocks->n && !blocks->dropped; i++) {
        if (joins(r, &blocks->list[i])) {
            at[n++] = i;
        }
    }
    return n > 1 && take_joined(r, join_text(r, blocks, at, n), KG_RANK_FULL);
}

/* --- which block stands alone --- */

/* Blocks of the language that hold something, in order: r->names of each. */
struct compared {
    int at[KG_COMPARED]; /* in blocks->list */
    enum kg_rank rank[KG_COMPARED];
    enum kg_rank best;
    bool entry[KG_COMPARED];             /* it defines the entry */
    bool need[KG_COMPARED][KG_COMPARED]; /* the first needs the second */
    int n;
};

/* A body counts, and an alias in Python; a macro of C only where nothing has a body. */
static bool is_entry(const struct kg_reply *r, const struct compared *c, int i)
{
    bool weak = r->lang == KG_LANG_PYTHON || c->best == KG_RANK_WEAK;
    return c->rank[i] == KG_RANK_FULL || (c->rank[i] == KG_RANK_WEAK && weak);
}

/* False: there are too few or too many, or none defines the entry. */
static bool compare(struct kg_reply *r, const struct kg_blocks *blocks, struct compared *c)
{
    c->best = KG_RANK_NONE;
    c->n = 0;
    for (int i = 0; i < blocks->n; i++) {
        if (!joins(r, &blocks->list[i])) {
            continue;
        }
        if (c->n == KG_COMPARED) {
            return false;
        }
        c->at[c->n] = i;
        c->rank[c->n] = kg_reply_rank(r, kg_reply_block_code(r, &blocks->list[i]));
        c->best = c->rank[c->n] > c->best ? c->rank[c->n] : c->best;
        c->n++;
    }
    if (c->best < KG_RANK_WEAK || c->n < 2 || blocks->dropped) {
        return false;
    }
    for (int i = 0; i < c->n; i++) {
        c->entry[i] = is_entry(r, c, i);
        struct kg_slice code = kg_reply_block_code(r, &blocks->list[c->at[i]]);
        kg_names_read(r->lang, code, &r->names[i]);
        r->excerpt[i] = c->entry[i] && kg_reply_is_excerpt(r->lang, code, r->entry);
    }
    for (int i = 0; i < c->n; i++) {
        for (int k = 0; k < c->n; k++) {
            bool excerpt = c->entry[i] && c->entry[k] && r->names[i].lacks && r->names[k].includes;
            c->need[i][k] = k != i && (excerpt || kg_names_need(&r->names[i], &r->names[k]));
        }
    }
    return true;
}

/* The block, and before and after it those that it needs, and that these need, of from..to. alone:
 * together they must use no name that another block makes. */
static bool join_needed(struct kg_reply *r, const struct kg_blocks *blocks,
                        const struct compared *c, int which, int from, int to, bool alone)
{
    bool in[KG_COMPARED] = {false}, grown = true;
    int at[KG_COMPARED], n = 0;
    in[which] = true;
    while (grown) {
        grown = false;
        for (int i = from; i < to; i++) {
            for (int k = from; k < to && !in[i] && !c->entry[i]; k++) {
                in[i] = in[k] && c->need[k][i];
                grown = grown || in[i];
            }
        }
    }
    for (int i = from; i < to; i++) {
        if (in[i]) {
            at[n++] = c->at[i];
        }
    }
    if (n < 2) {
        return false;
    }
    uint32_t flags = join_text(r, blocks, at, n);
    if (alone) {
        kg_names_read(r->lang, kg_slice_buf(&r->work[0]), &r->joined);
    }
    for (int k = 0; k < c->n && alone; k++) {
        if (!in[k] && kg_names_need(&r->joined, &r->names[k])) {
            return false;
        }
    }
    return take_joined(r, flags, c->rank[which]);
}

static bool needs_another(const struct compared *c, int which)
{
    bool needs = false;
    for (int k = 0; k < c->n; k++) {
        needs = needs || c->need[which][k];
    }
    return needs;
}

/* The block with those that it needs, if they stand between the definitions before and behind it
 * and need no other: an answer in parts. What stands farther away belongs to another answer. */
static bool choose_parts(struct kg_reply *r, const struct kg_blocks *blocks,
                         const struct compared *c, int which)
{
    int from = which, to = which + 1;
    while (from > 0 && !c->entry[from - 1]) {
        from--;
    }
    while (to < c->n && !c->entry[to]) {
        to++;
    }
    return join_needed(r, blocks, c, which, from, to, true);
}

/* Of closed blocks that define the entry the last one that is no excerpt and needs no other, or
 * none but its own parts; else the last one with what it needs, an excerpt only if there is nothing
 * else. */
static bool choose_alone(struct kg_reply *r, const struct kg_blocks *blocks)
{
    struct compared c;
    bool needs[KG_COMPARED];
    if (!compare(r, blocks, &c)) {
        return false;
    }
    for (int i = c.n - 1; i >= 0; i--) {
        const struct kg_block *b = &blocks->list[c.at[i]];
        needs[i] = c.entry[i] && needs_another(&c, i);
        if (!c.entry[i] || r->excerpt[i] || !b->closed) {
            continue;
        }
        if (needs[i] && choose_parts(r, blocks, &c, i)) {
            return true;
        }
        if (!needs[i] && c.rank[i] == c.best) {
            return kg_reply_take_block(r, b, kg_reply_block_code(r, b), 0);
        }
    }
    for (int excerpts = 0; excerpts < 2; excerpts++) {
        for (int i = c.n - 1; i >= 0; i--) {
            if (needs[i] && c.rank[i] == c.best && r->excerpt[i] == excerpts &&
                join_needed(r, blocks, &c, i, 0, c.n, false)) {
                return true;
            }
        }
    }
    return false;
}

bool kg_reply_choose(struct kg_reply *r, const struct kg_blocks *blocks)
{
    return choose_alone(r, blocks) || choose(r, blocks, true) || choose(r, blocks, false);
}
