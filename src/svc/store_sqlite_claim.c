/* The SQLite store: claims. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "svc/lanes.h"
#include "svc/store_sqlite.h"

/* Lanes among which the choice is as among all. A kind is a class of device and a priority: the
 * rules of lanes.h compare lanes of one kind by when they were served, by their oldest job where
 * nobody holds them, and else by what waits there. So of each kind one lane more than there are
 * slots, in either order, is enough: each slot takes one lane out of an order at most. */
struct choice {
    struct kg_svc_lane *lane;
    size_t n, cap;
    size_t named, due;             /* of n, the first ones: slots' own, and those due of the kind */
    size_t kind;                   /* where its lanes begin */
    const struct kg_svc_offer *of; /* whose lanes these are; NULL: none are loaded */
};

/* A lane may be found by several rules. Those of other kinds are no others of this one. */
static bool is_there(const struct choice *c, int64_t id)
{
    for (size_t i = 0; i < c->due; i++) {
        if ((i < c->named || i >= c->kind) && c->lane[i].id == id) {
            return true;
        }
    }
    return false;
}

static struct kg_svc_lane *room(struct choice *c)
{
    if (c->n == c->cap) {
        size_t cap = c->cap > 0 ? 2 * c->cap : 64;
        struct kg_svc_lane *more = realloc(c->lane, cap * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        c->lane = more;
        c->cap = cap;
    }
    return &c->lane[c->n++];
}

/* Adds the lanes of a statement that the offer serves. *found: how many there were. */
static enum kg_code add(struct kg_svc_sqlite *s, sqlite3_stmt *st, struct choice *c, size_t *found,
                        struct kg_err *err)
{
    struct kg_err e = *err;
    *found = 0;
    while (st != NULL && kg_svc_sql_row(s, st, &e)) {
        ++*found;
        if (!kg_svc_offer_serves(c->of, (const char *)sqlite3_column_text(st, 5)) ||
            is_there(c, sqlite3_column_int64(st, 0))) {
            continue;
        }
        struct kg_svc_lane *l = room(c);
        if (l == NULL) {
            sqlite3_reset(st);
            return kg_fail_memory(err, KG_E_HOST, "no memory for %zu lanes", c->n);
        }
        l->id = sqlite3_column_int64(st, 0);
        snprintf(l->name, sizeof l->name, "%s", (const char *)sqlite3_column_text(st, 1));
        l->priority = sqlite3_column_int(st, 2);
        l->waiting = sqlite3_column_int64(st, 3);
        l->served_ms = sqlite3_column_int64(st, 4);
        l->holders = sqlite3_column_int64(st, 6);
        snprintf(l->first, sizeof l->first, "%s", (const char *)sqlite3_column_text(st, 7));
    }
    *err = e;
    return e.code;
}

static enum kg_code add_kind(struct kg_svc_sqlite *s, const struct kg_svc_ask *ask,
                             const char *device, int64_t priority, struct choice *c,
                             struct kg_err *err)
{
    const int64_t most = (int64_t)ask->nslots + 1, since = ask->now_ms - KG_SVC_LANE_WAIT_MS;
    size_t found;
    c->kind = c->n;
    sqlite3_stmt *st =
        kg_svc_sql_bind(s, SQL_LANES_DUE, err, "tiii", device, priority, since, most);
    if (add(s, st, c, &found, err) != KG_OK) {
        return err->code;
    }
    c->due = c->n;
    st = kg_svc_sql_bind(s, SQL_LANES_FREE, err, "tii", device, priority, most);
    if (add(s, st, c, &found, err) != KG_OK || found == (size_t)most) {
        return err->code; /* no slot joins in where others hold a lane */
    }
    st = kg_svc_sql_bind(s, SQL_LANES_HELD, err, "ti", device, priority);
    return add(s, st, c, &found, err);
}

/* The kind after this one. *there false: there is none. */
static enum kg_code next_kind(struct kg_svc_sqlite *s, char device[KG_SVC_DEVICE_MAX],
                              int64_t *priority, bool *there, struct kg_err *err)
{
    struct kg_err e = *err;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_LANES_NEXT, &e, "ti", device, *priority);
    *there = false;
    while (st != NULL && kg_svc_sql_row(s, st, &e)) {
        *there = true;
        snprintf(device, KG_SVC_DEVICE_MAX, "%s", (const char *)sqlite3_column_text(st, 0));
        *priority = sqlite3_column_int64(st, 1);
    }
    *err = e;
    return e.code;
}

static enum kg_code load(struct kg_svc_sqlite *s, const struct kg_svc_ask *ask,
                         const struct kg_svc_offer *offer, struct choice *c, struct kg_err *err)
{
    char device[KG_SVC_DEVICE_MAX] = "";
    int64_t priority = -1;
    size_t found;
    bool there = true;
    enum kg_code code = KG_OK;
    *c = (struct choice){.lane = c->lane, .cap = c->cap, .of = offer};
    for (size_t i = 0; i < ask->nslots && code == KG_OK; i++) {
        if (ask->slots[i].lane[0] != '\0') {
            c->named = c->due = c->n;
            code = add(s, kg_svc_sql_bind(s, SQL_LANES_NAMED, err, "t", ask->slots[i].lane), c,
                       &found, err);
        }
    }
    c->named = c->due = c->n;
    while (code == KG_OK && (code = next_kind(s, device, &priority, &there, err)) == KG_OK &&
           there) {
        if (kg_svc_offer_serves(offer, device)) {
            code = add_kind(s, ask, device, priority, c, err);
        } else {
            priority = KG_SVC_PRIORITIES; /* none of this device */
        }
    }
    return code;
}

static enum kg_code take(struct kg_svc_sqlite *s, const struct kg_svc_ask *ask, int64_t lane,
                         const char *id, struct kg_svc_job *out, struct kg_err *err)
{
    struct kg_key secret;
    char claim[KG_SVC_CLAIM_LEN];
    if (kg_rng_secret(&secret, err) != KG_OK) {
        return err->code;
    }
    kg_key_hex(secret, claim);
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_CLAIM, err, "tttii", id, claim, ask->worker,
                                       ask->now_ms + ask->term_ms, ask->now_ms);
    if (kg_svc_sql_done(s, st, NULL, err) != KG_OK ||
        kg_svc_sql_done(s, kg_svc_sql_bind(s, SQL_SERVED, err, "ii", lane, ask->now_ms), NULL,
                        err) != KG_OK ||
        kg_svc_sql_event(s, ask->now_ms, id, "claimed", ask->worker, err) != KG_OK) {
        return err->code;
    }
    struct kg_err e = KG_ERR_INIT;
    st = kg_svc_sql_bind(s, SQL_JOB, &e, "t", id);
    if (st != NULL && kg_svc_sql_row(s, st, &e)) {
        (void)!kg_svc_sql_job(st, out, &e);
        sqlite3_reset(st);
    }
    st = e.code == KG_OK ? kg_svc_sql_bind(s, SQL_TASK, &e, "t", id) : NULL;
    if (st != NULL && kg_svc_sql_row(s, st, &e)) {
        (void)!kg_svc_job_keep(out, &out->task, (const char *)sqlite3_column_text(st, 0),
                               (size_t)sqlite3_column_bytes(st, 0), &e);
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

/* What the taken job has changed: its lane waits for less, and its problem has a holder more. */
static enum kg_code taken(struct kg_svc_sqlite *s, struct choice *c, size_t at, int64_t now_ms,
                          struct kg_err *err)
{
    struct kg_svc_lane *l = &c->lane[at];
    for (size_t i = 0; i < c->n; i++) {
        c->lane[i].holders += strcmp(c->lane[i].name, l->name) == 0;
    }
    l->served_ms = now_ms;
    if (--l->waiting == 0) {
        return KG_OK;
    }
    struct kg_err e = KG_ERR_INIT;
    sqlite3_stmt *st = kg_svc_sql_bind(s, SQL_FIRST, &e, "i", l->id);
    if (st != NULL && kg_svc_sql_row(s, st, &e) && sqlite3_column_text(st, 0) != NULL) {
        snprintf(l->first, sizeof l->first, "%s", (const char *)sqlite3_column_text(st, 0));
        sqlite3_reset(st);
    }
    if (e.code != KG_OK) {
        *err = e;
    }
    return e.code;
}

enum kg_code kg_svc_sqlite_claim(struct kg_svc_store *store, const struct kg_svc_ask *ask,
                                 struct kg_svc_job *out, size_t *of, size_t *n, struct kg_err *err)
{
    struct kg_svc_sqlite *s = (struct kg_svc_sqlite *)store;
    struct choice c = {.of = NULL};
    const struct kg_svc_offer all = {.words = ask->devices, .nwords = ask->ndevices};
    bool *busy = calloc(ask->nslots + 1, sizeof *busy);
    *n = 0;
    if (busy == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for %zu slots", ask->nslots);
    }
    enum kg_code code = KG_OK;
    size_t bytes = 0;
    for (int others = 0; others < 2 && code == KG_OK; others++) {
        for (size_t i = 0; i < ask->nslots && code == KG_OK && bytes < KG_SVC_CLAIM_BYTES; i++) {
            const struct kg_svc_offer *offer =
                ask->slots[i].offer != NULL ? ask->slots[i].offer : &all;
            if (busy[i] || (c.of != offer && (code = load(s, ask, offer, &c, err)) != KG_OK)) {
                continue;
            }
            size_t at = kg_svc_lanes_choose(c.lane, c.n, &ask->slots[i], ask->now_ms, others > 0);
            if (at == c.n || c.lane == NULL) {
                continue;
            }
            code = take(s, ask, c.lane[at].id, c.lane[at].first, &out[*n], err);
            busy[i] = true;
            bytes += strlen(out[*n].task);
            of[(*n)++] = i;
            code = code == KG_OK ? taken(s, &c, at, ask->now_ms, err) : code;
        }
    }
    free(c.lane);
    free(busy);
    return code;
}
