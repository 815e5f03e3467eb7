/* The rules in order. docs/extraction.md lists them for readers; a rule is tried only when all
 * before it found nothing. */
#include <string.h>

#include "base/json.h"
#include "gym/reply/extract_private.h"
#include "gym/reply/lex_private.h"

#define MEMBERS_MAX   64
#define MEMBERS_DEPTH 4 /* objects and lists in one another */

/* Something that repairs may be tried on. */
struct candidate {
    struct kg_slice code;
    const struct kg_block *block; /* NULL for a region or the whole text */
    const char *rule;
    uint32_t flags;
    bool strict;   /* its limits are no fence: it must read as a file of the language */
    bool *changes; /* out: one of the repairs alone has something to do */
};

static bool take(struct kg_reply *r, const struct candidate *c, struct kg_slice code,
                 uint32_t flags)
{
    if (kg_reply_rank(r, code) == KG_RANK_NONE ||
        (c->strict && !kg_lex_plausible(r->lang, code.at, code.len))) {
        return false;
    }
    return c->block != NULL ? kg_reply_take_block(r, c->block, code, flags)
                            : kg_reply_take(r, code, c->rule, flags | c->flags);
}

static bool regions(struct kg_reply *r, struct kg_slice text)
{
    struct kg_region list[KG_REGIONS_MAX];
    int n = kg_regions_find(text, list);
    for (int i = 0; i < n; i++) {
        struct candidate c = {
            .rule = list[i].rule, .flags = list[i].closed ? 0 : KG_XF_UNCLOSED, .strict = true};
        bool html =
            strcmp(list[i].rule, "answer-tag") != 0 || kg_repair_is_escaped(r->lang, list[i].code);
        kg_buf_reset(&r->work[0]);
        bool decoded = html && kg_repair_entities(list[i].code, &r->work[0]);
        struct kg_slice code = decoded ? kg_slice_buf(&r->work[0]) : list[i].code;
        if (take(r, &c, code, decoded ? KG_XF_ENTITIES : 0)) {
            return true;
        }
    }
    return false;
}

static bool names_entry(const struct kg_reply *r, struct kg_slice s)
{
    return kg_lex_find(s.at, s.len, r->entry) != NULL;
}

/* Each repair alone, in order. */
static bool repair_once(struct kg_reply *r, const struct candidate *c, int which)
{
    struct kg_buf *out = &r->work[0];
    kg_buf_reset(out);
    if (!kg_reply_repairs[which].apply(c->code, out)) {
        return false;
    }
    *c->changes = true;
    return take(r, c, kg_slice_buf(out), kg_reply_repairs[which].flag);
}

/* All repairs one after the other, until the entry is defined. Where none changes the text alone,
 * none does behind another. */
static bool repair_all(struct kg_reply *r, const struct candidate *c)
{
    if (!*c->changes) {
        return false;
    }
    struct kg_slice code = c->code;
    uint32_t flags = 0;
    int into = 0;
    for (int i = 0; i < KG_REPAIRS; i++) {
        struct kg_buf *out = &r->work[into];
        kg_buf_reset(out);
        if (kg_reply_repairs[i].apply(code, out)) {
            code = kg_slice_buf(out);
            into = !into;
            flags |= kg_reply_repairs[i].flag;
            if ((flags & (flags - 1)) != 0 && take(r, c, code, flags)) {
                return true;
            }
        }
    }
    return false;
}

/* The text as a JSON object or list, NULL if it is none. */
static json_t *object_of(struct kg_slice text)
{
    struct kg_slice s = kg_slice_trim(text);
    struct kg_err err;
    json_t *object = NULL;
    char first = s.len >= 2 ? s.at[0] : '\0', last = s.len >= 2 ? s.at[s.len - 1] : '\0';
    bool braces = (first == '{' && last == '}') || (first == '[' && last == ']');
    return braces && kg_json_parse(s.at, s.len, "reply", &object, &err) == KG_OK ? object : NULL;
}

/* Members are read one by one, so escapes in the text as a whole mean nothing. */
static bool is_object(struct kg_slice text)
{
    json_t *object = object_of(text);
    bool is = object != NULL;
    json_decref(object);
    return is;
}

/* Does the string lead to the entry? It is read as a reply. */
static bool member(struct kg_reply *r, struct kg_slice s, struct kg_blocks blocks[2])
{
    kg_buf_reset(&r->inner);
    kg_reply_normalise(s.at, s.len, &r->inner, &r->flags);
    return kg_reply_ladder(r, kg_slice_buf(&r->inner), 1, blocks);
}

/* Of several members that lead to the entry the one whose name says that it is the answer: others
 * may hold drafts. */
static const char *const member_names[] = {"code", "answer", "solution", "source"};
enum { MEMBER_NAMES = sizeof member_names / sizeof *member_names };

struct members {
    int tried, hits;
    int name, depth, same; /* the best of the hits: its name, how deep, and how many are like it */
    struct kg_slice value; /* the first of these */
};

/* A string that leads to the entry. The first of the names is the best, and then the least depth.
 */
static void hit(struct members *m, const char *key, struct kg_slice value, int depth)
{
    int which = 0;
    while (which < MEMBER_NAMES && strcmp(member_names[which], key) != 0) {
        which++;
    }
    bool like = m->hits > 0 && which == m->name && depth == m->depth;
    bool better = m->hits == 0 || which < m->name || (which == m->name && depth < m->depth);
    m->hits++;
    m->same = better ? 1 : m->same + like;
    if (better) {
        m->name = which;
        m->depth = depth;
        m->value = value;
    }
}

/* Tries each string of the value, which has the name key. */
static void try_members(struct kg_reply *r, const char *key, json_t *value, int depth,
                        struct kg_blocks blocks[2], struct members *m)
{
    const char *name;
    size_t i;
    json_t *inner;
    if (json_is_object(value) && depth < MEMBERS_DEPTH) {
        json_object_foreach(value, name, inner)
        {
            try_members(r, name, inner, depth + 1, blocks, m);
        }
    } else if (json_is_array(value) && depth < MEMBERS_DEPTH) {
        json_array_foreach(value, i, inner)
        {
            try_members(r, key, inner, depth + 1, blocks, m);
        }
    } else if (json_is_string(value)) {
        struct kg_slice s = {json_string_value(value), json_string_length(value)};
        if (names_entry(r, s) && m->tried++ < MEMBERS_MAX && member(r, s, blocks)) {
            hit(m, key, s, depth);
        }
    }
}

/* A JSON object or list of which one string leads to the entry. */
static bool json_member(struct kg_reply *r, struct kg_slice text, struct kg_blocks blocks[2])
{
    json_t *object = object_of(text);
    if (object == NULL) {
        return false;
    }
    struct members m = {0};
    uint32_t before = r->flags;
    try_members(r, "", object, 0, blocks, &m);
    r->flags = before;
    bool one = m.hits == 1 || (m.name < MEMBER_NAMES && m.same == 1);
    bool found = one && member(r, m.value, blocks);
    json_decref(object);
    r->flags = found ? r->flags | KG_XF_JSON : before;
    r->rule = "json";
    return found;
}

static bool escaped(struct kg_reply *r, struct kg_slice text, struct kg_blocks blocks[2])
{
    struct kg_buf *out = &r->work[0];
    kg_buf_reset(out);
    if (is_object(text) || !kg_repair_escaped(text, out)) {
        return false;
    }
    uint32_t before = r->flags;
    kg_buf_reset(&r->inner);
    kg_reply_normalise(out->data, out->len, &r->inner, &r->flags);
    if (!kg_reply_ladder(r, kg_slice_buf(&r->inner), 1, blocks)) {
        r->flags = before;
        return false;
    }
    r->flags |= KG_XF_ESCAPED;
    return true;
}

enum pass { PASS_REPAIRS, PASS_JSON = KG_REPAIRS, PASS_ESCAPED, PASS_ALL, PASSES };

static bool attempt(struct kg_reply *r, const struct candidate *c, int pass, int level,
                    struct kg_blocks blocks[2])
{
    if (!names_entry(r, c->code)) {
        return false;
    }
    if (pass < PASS_JSON) {
        return repair_once(r, c, pass);
    }
    if (pass == PASS_ALL) {
        return repair_all(r, c);
    }
    if (level > 0) {
        return false;
    }
    return pass == PASS_JSON ? json_member(r, c->code, blocks) : escaped(r, c->code, blocks);
}

static bool repairs(struct kg_reply *r, struct kg_slice text, int level, struct kg_blocks blocks[2])
{
    const struct kg_blocks *own = &blocks[level];
    struct kg_region list[KG_REGIONS_MAX];
    int n = kg_regions_find(text, list);
    bool changes[KG_BLOCKS_MAX + KG_REGIONS_MAX + 1];
    memset(changes, 0, (size_t)(own->n + n + 1) * sizeof *changes);
    for (int pass = 0; pass < PASSES; pass++) {
        if (pass == PASS_ESCAPED && is_object(text)) {
            continue;
        }
        for (int i = own->n - 1; i >= 0; i--) {
            const struct kg_block *b = &own->list[i];
            struct candidate c = {.block = b, .changes = &changes[i]};
            bool json = b->tag == KG_TAG_JSON && pass == PASS_JSON;
            if (!json && !kg_tag_accepts(r->lang, b->tag)) {
                continue;
            }
            c.code = kg_reply_block_code(r, b);
            if (attempt(r, &c, pass, level, blocks)) {
                return true;
            }
        }
        for (int i = 0; i <= n; i++) {
            struct candidate c = {
                .code = text, .rule = "bare", .strict = true, .changes = &changes[own->n + i]};
            if (i < n) {
                c.code = list[i].code;
                c.rule = list[i].rule;
                c.flags = list[i].closed ? 0 : KG_XF_UNCLOSED;
            }
            if (attempt(r, &c, pass, level, blocks)) {
                return true;
            }
        }
    }
    return false;
}

bool kg_reply_ladder(struct kg_reply *r, struct kg_slice text, int level,
                     struct kg_blocks blocks[2])
{
    struct kg_blocks *own = &blocks[level];
    kg_blocks_parse(text, r->lang, own);
    kg_blocks_opened(text, r->lang, own);
    text = own->seen;
    struct candidate whole = {.rule = "bare", .strict = true};
    if (kg_reply_choose(r, own) || kg_reply_join(r, own) || regions(r, text) ||
        repairs(r, text, level, blocks) || take(r, &whole, text, 0)) {
        return true;
    }
    r->lenient = level == 0 && r->dirty;
    bool found = r->lenient && kg_reply_choose(r, own);
    r->lenient = false;
    return found;
}
