/* The cache of expected answers. It survives a change of problem, so that all candidates of a
 * problem share it. Entries are in order of use; those beyond the cap are dropped from the end. */
#include <stdlib.h>
#include <string.h>

#include "gym/judge/state.h"

static struct kg_judge_entry *remove_entry(struct kg_judge_state *s, const char *sha256,
                                           uint64_t number)
{
    for (struct kg_judge_entry **at = &s->cached; *at != NULL; at = &(*at)->next) {
        struct kg_judge_entry *e = *at;
        if (e->number == number && strcmp(e->sha256, sha256) == 0) {
            *at = e->next;
            s->cached_bytes -= e->bytes;
            return e;
        }
    }
    return NULL;
}

/* Aligns the parts of an entry, so that any element may begin there. */
static size_t aligned(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static void add_entry(struct kg_judge_state *s, struct kg_judge_entry *e)
{
    e->next = s->cached;
    s->cached = e;
    s->cached_bytes += e->bytes;
}

/* Frees an entry. Sides that point into it are lost. */
static void destroy_entry(struct kg_judge_state *s, struct kg_judge_entry *e)
{
    for (int side = KG_SIDE_FLOAT; e != NULL && side <= KG_SIDE_ORACLE; side++) {
        if (s->side[side].entry == e) {
            s->side[side].entry = NULL;
            s->side[side].there = false;
        }
    }
    free(e);
}

static void evict(struct kg_judge_state *s, size_t room)
{
    while (s->cached != NULL && s->cached_bytes + room > s->cached_cap) {
        struct kg_judge_entry **at = &s->cached;
        while ((*at)->next != NULL) {
            at = &(*at)->next;
        }
        struct kg_judge_entry *last = *at;
        *at = NULL;
        s->cached_bytes -= last->bytes;
        destroy_entry(s, last);
    }
}

/* Copies the sides at hand into an entry. */
static void copy_sides(struct kg_judge_state *s, struct kg_judge_entry *e)
{
    const struct kg_problem *p = s->problem;
    unsigned char *at = e->data;
    for (int k = 0; k < p->nargs; k++) {
        for (int side = KG_SIDE_FLOAT; side <= KG_SIDE_ORACLE && p->args[k].role == KG_ROLE_OUT;
             side++) {
            size_t bytes = kg_judge_out_bytes(p, k, &e->c.shape, side == KG_SIDE_ORACLE);
            memcpy(at, s->side[side].view[k], bytes);
            at += aligned(bytes);
        }
        e->digest[k] = p->args[k].role == KG_ROLE_OUT ? kg_judge_side_digest(s, k) : 0;
    }
}

/* Makes an entry the sides at hand. Nothing is copied. */
static void use_entry(struct kg_judge_state *s, const struct kg_judge_entry *e,
                      const struct kg_case *c)
{
    const struct kg_problem *p = s->problem;
    const unsigned char *at = e->data;
    for (int side = KG_SIDE_FLOAT; side <= KG_SIDE_ORACLE; side++) {
        s->side[side].c = *c;
        s->side[side].entry = e;
        s->side[side].there = true;
    }
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == KG_ROLE_OUT) {
            s->side[KG_SIDE_FLOAT].view[k] = at;
            at += aligned(kg_judge_out_bytes(p, k, &e->c.shape, false));
            s->side[KG_SIDE_ORACLE].view[k] = at;
            at += aligned(kg_judge_out_bytes(p, k, &e->c.shape, true));
            kg_judge_ring_add(&s->expected, k, c, e->digest[k]);
        }
    }
}

static size_t entry_bytes(const struct kg_problem *p, const struct kg_shape *shape)
{
    size_t n = sizeof(struct kg_judge_entry);
    for (int k = 0; k < p->nargs; k++) {
        if (p->args[k].role == KG_ROLE_OUT) {
            n += aligned(kg_judge_out_bytes(p, k, shape, false)) +
                 aligned(kg_judge_out_bytes(p, k, shape, true));
        }
    }
    return n;
}

enum kg_code kg_judge_do_save(struct kg_judge_state *s, const struct kg_case *c, uint64_t number,
                              struct kg_err *err)
{
    if (kg_judge_bounds(s, c, err) != KG_OK) {
        return err->code;
    }
    size_t bytes = entry_bytes(s->problem, &c->shape);
    struct kg_judge_entry *old = remove_entry(s, s->problem->sha256, number);
    if (old != NULL && old == s->side[KG_SIDE_FLOAT].entry) {
        add_entry(s, old); /* these answers came from this entry */
        return KG_OK;
    }
    destroy_entry(s, old);
    if (bytes > s->cached_cap) {
        return KG_OK; /* a later load misses, and the answers are computed again */
    }
    struct kg_judge_entry *e = malloc(bytes);
    if (e == NULL) {
        return kg_fail(err, KG_E_HOST, "judge: no memory to keep %zu bytes of answers", bytes);
    }
    *e = (struct kg_judge_entry){.number = number, .c = *c, .bytes = bytes};
    memcpy(e->sha256, s->problem->sha256, sizeof e->sha256);
    memcpy(e->bound, s->bound, sizeof e->bound);
    copy_sides(s, e);
    evict(s, bytes);
    add_entry(s, e);
    s->inputs_saved = true;
    return KG_OK;
}

enum kg_code kg_judge_do_load(struct kg_judge_state *s, const struct kg_case *c, uint64_t number,
                              bool *hit, struct kg_err *err)
{
    *hit = false;
    if (s->problem == NULL) {
        return kg_fail(err, KG_E_GYM, "judge: no problem is open");
    }
    struct kg_judge_entry *e = remove_entry(s, s->problem->sha256, number);
    if (e == NULL) {
        return KG_OK;
    }
    add_entry(s, e);
    if (!kg_judge_same_values(s->problem, &e->c, c)) {
        return KG_OK; /* the number now means other inputs: the caller computes and saves them */
    }
    use_entry(s, e, c);
    memcpy(s->bound, e->bound, sizeof s->bound);
    s->bound_there = *hit = true;
    return KG_OK;
}
