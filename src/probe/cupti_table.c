/* Joins launches, graph nodes and records to a table of kernels, and prints it as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cupti_api.h"
#include "probe/profile.h"

static const char *const class_names[KG_PROF_CLASSES] = {"unknown", "own", "library", "compiler"};

void kg_prof_plain(const char *name, char out[KG_PROF_NAME])
{
    snprintf(out, KG_PROF_NAME, "%s", name ? name : "");
    for (char *c = out; *c; c++) { /* so that JSON needs no escape */
        bool plain = *c >= ' ' && *c < 127 && *c != '"' && *c != '\\';
        *c = plain ? *c : '?';
    }
}

uint32_t kg_prof_row_of(struct kg_prof_table *t, const char *name, enum kg_prof_class whose)
{
    char cut[KG_PROF_NAME];
    kg_prof_plain(name, cut);
    for (uint32_t i = 0; i < t->nrows; i++) {
        if (t->row[i].whose == whose && strcmp(t->row[i].name, cut) == 0) {
            return i;
        }
    }
    if (t->nrows == KG_PROF_ROWS) {
        return KG_PROF_ROWS;
    }
    struct kg_prof_row *r = &t->row[t->nrows];
    memset(r, 0, sizeof *r);
    memcpy(r->name, cut, sizeof cut);
    r->whose = whose;
    return t->nrows++;
}

/* The last entry of this id. Correlations rise, so the search begins at the end. */
static struct kg_prof_seen *find(struct kg_prof_seen *s, uint32_t n, uint64_t id)
{
    while (n > 0) {
        if (s[--n].id == id) {
            return &s[n];
        }
    }
    return NULL;
}

static void add(struct kg_prof_table *t, struct kg_prof_seen *s, uint32_t *n, uint64_t id,
                uint32_t row)
{
    if (*n == KG_PROF_LAUNCHES || row >= KG_PROF_ROWS) {
        t->dropped++;
        return;
    }
    s[(*n)++] = (struct kg_prof_seen){.id = id, .row = row};
}

void kg_prof_launched(struct kg_prof_table *t, uint32_t correlation, uint32_t row)
{
    add(t, t->launch, &t->nlaunches, correlation, row);
}

void kg_prof_captured(struct kg_prof_table *t, uint32_t correlation, uint32_t row, uint64_t node)
{
    struct kg_prof_seen *l = find(t->launch, t->nlaunches, correlation);
    if (l != NULL) {
        l->found = true;
    }
    add(t, t->node, &t->nnodes, node, row);
}

void kg_prof_cloned(struct kg_prof_table *t, uint64_t from, uint64_t to)
{
    const struct kg_prof_seen *n = find(t->node, t->nnodes, from);
    if (n != NULL) {
        add(t, t->node, &t->nnodes, to, n->row);
    }
}

void kg_prof_loaded(struct kg_prof_table *t, const char *by, enum kg_prof_class whose,
                    uint64_t bytes)
{
    char cut[KG_PROF_NAME];
    uint32_t i = 0;
    kg_prof_plain(by, cut);
    while (i < t->nloaders && (t->loader[i].whose != whose || strcmp(t->loader[i].by, cut) != 0)) {
        i++;
    }
    if (i == t->nloaders && i < KG_PROF_LOADERS) {
        bool last = i + 1 == KG_PROF_LOADERS;
        snprintf(t->loader[i].by, KG_PROF_BASE, "%s", last ? "others" : cut);
        t->loader[i].whose = last ? KG_PROF_UNKNOWN : whose;
        t->nloaders++;
    }
    i = i < KG_PROF_LOADERS ? i : KG_PROF_LOADERS - 1;
    t->loader[i].loaded++;
    t->loader[i].bytes += bytes;
}

static bool in_window(const struct kg_prof_table *t, const struct kg_prof_span *s)
{
    for (uint32_t i = 0; i < t->nwindows; i++) {
        if (s->start >= t->window[i].from && s->end <= t->window[i].to) {
            return true;
        }
    }
    return false;
}

void kg_prof_ran(struct kg_prof_table *t, uint32_t kind, uint64_t start, uint64_t end,
                 uint32_t correlation, uint64_t node)
{
    struct kg_prof_span s = {.start = start,
                             .end = end,
                             .id = node ? node : correlation,
                             .kind = kind,
                             .node = node != 0};
    if (!in_window(t, &s)) { /* an open window has no end yet */
        return;
    }
    if (t->nspans == KG_PROF_LAUNCHES) {
        t->dropped++;
        return;
    }
    t->span[t->nspans++] = s;
}

static int by_start(const void *a, const void *b)
{
    const struct kg_prof_span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

struct sums {
    uint64_t memcpy_ns, memset_ns, first, last;
};

/* The row of a kernel's record; NULL for other records. */
static struct kg_prof_row *row_for(struct kg_prof_table *t, const struct kg_prof_span *s)
{
    struct kg_prof_seen *l =
        s->node ? find(t->node, t->nnodes, s->id) : find(t->launch, t->nlaunches, s->id);
    uint32_t row = l ? l->row : kg_prof_row_of(t, "", KG_PROF_UNKNOWN);
    if (l != NULL) {
        l->found = true;
    }
    return row < KG_PROF_ROWS ? &t->row[row] : NULL;
}

static void sum_up(struct kg_prof_table *t, struct sums *out)
{
    uint64_t covered = 0;
    *out = (struct sums){0};
    qsort(t->span, t->nspans, sizeof t->span[0], by_start);
    for (uint32_t i = 0; i < t->nspans; i++) {
        const struct kg_prof_span *s = &t->span[i];
        if (!in_window(t, s)) {
            continue;
        }
        uint64_t from = s->start > covered ? s->start : covered;
        uint64_t ns = s->end > from ? s->end - from : 0;
        covered = s->end > covered ? s->end : covered;
        out->first = out->first ? out->first : s->start;
        out->last = covered;
        struct kg_prof_row *r = NULL;
        if (s->kind == KG_CUPTI_MEMSET) {
            out->memset_ns += ns;
        } else if (s->kind == KG_CUPTI_MEMCPY || s->kind == KG_CUPTI_MEMCPY_PEER) {
            out->memcpy_ns += ns;
        } else if ((r = row_for(t, s)) != NULL) {
            r->calls++;
            r->ns += ns;
        } else {
            t->dropped++;
        }
    }
}

struct text {
    char *at;
    size_t left;
    bool full;
};

static void say(struct text *o, const char *s, size_t n)
{
    if (n >= o->left) {
        o->full = true;
        return;
    }
    memcpy(o->at, s, n);
    o->at += n;
    o->left -= n;
}

static void say_text(struct text *o, const char *s)
{
    say(o, s, strlen(s));
}

static void say_number(struct text *o, const char *key, uint64_t v)
{
    char s[80];
    say(o, s, (size_t)snprintf(s, sizeof s, "%s%llu", key, (unsigned long long)v));
}

static void say_modules(struct text *o, const struct kg_prof_table *t)
{
    say_text(o, "],\"modules\":[");
    for (uint32_t i = 0; i < t->nloaders; i++) {
        say_text(o, i > 0 ? ",{\"by\":\"" : "{\"by\":\"");
        say_text(o, t->loader[i].by);
        say_text(o, "\",\"class\":\"");
        say_text(o, class_names[t->loader[i].whose]);
        say_number(o, "\",\"loaded\":", t->loader[i].loaded);
        say_number(o, ",\"bytes\":", t->loader[i].bytes);
        say_text(o, "}");
    }
}

long kg_prof_print(struct kg_prof_table *t, char *out, size_t cap)
{
    struct text o = {.at = out, .left = cap};
    struct sums s;
    uint64_t missing = 0;
    const char *comma = "";
    sum_up(t, &s);
    for (uint32_t i = 0; i < t->nlaunches; i++) {
        missing += !t->launch[i].found;
    }
    say_text(&o, "{\"kernels\":[");
    for (uint32_t i = 0; i < t->nrows; i++) {
        const struct kg_prof_row *r = &t->row[i];
        if (r->calls == 0) {
            continue;
        }
        say_text(&o, comma);
        say_text(&o, "{\"name\":\"");
        say_text(&o, r->name);
        say_text(&o, "\",\"class\":\"");
        say_text(&o, class_names[r->whose]);
        say_number(&o, "\",\"calls\":", r->calls);
        say_number(&o, ",\"ns\":", r->ns);
        say_text(&o, "}");
        comma = ",";
    }
    say_modules(&o, t);
    say_number(&o, "],\"memcpy_ns\":", s.memcpy_ns);
    say_number(&o, ",\"memset_ns\":", s.memset_ns);
    say_number(&o, ",\"span_ns\":", s.last - s.first);
    say_number(&o, ",\"dropped\":", t->dropped);
    say_number(&o, ",\"missing\":", missing);
    say_number(&o, ",\"suppressed\":", t->suppressed);
    say_number(&o, ",\"graphs\":", t->graphs);
    say_text(&o, "}");
    if (o.full || o.left == 0) {
        return -1;
    }
    *o.at = '\0';
    return o.at - out;
}

void kg_prof_forget(struct kg_prof_table *t)
{
    t->nlaunches = t->nspans = t->nwindows = 0;
    t->dropped = t->suppressed = t->graphs = 0;
    for (uint32_t i = 0; i < t->nrows; i++) {
        t->row[i].calls = t->row[i].ns = 0;
    }
}
