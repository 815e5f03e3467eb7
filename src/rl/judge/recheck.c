/* Keeps what was chosen, sends it to a pool of another configuration, and compares. */
#include "rl/judge/recheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "rl/methods/streams.h"

#define LOOK_MS 200 /* between two looks at cancel */

struct rl_recheck {
    struct rl_recheck_options o;
    struct kgym_pool *pool; /* NULL: not started */
    struct rl_recheck_item *item;
    size_t n, cap, sent, done; /* done: of those that were sent */
    struct rl_recheck_counts counts;
};

const char *rl_recheck_state_name(enum rl_recheck_state s)
{
    static const char *const name[] = {"waits", "held", "wrong", "slower", "untimed", "no_verdict"};
    return name[s];
}

bool rl_recheck_counts_in(enum rl_recheck_state s)
{
    return s == RL_RECHECK_HELD || s == RL_RECHECK_WRONG || s == RL_RECHECK_SLOWER;
}

enum kg_code rl_recheck_create(const struct rl_recheck_options *o, struct rl_recheck **out,
                               struct kg_err *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return kg_fail(err, KG_E_HOST, "recheck: no memory");
    }
    (*out)->o = *o;
    return KG_OK;
}

void rl_recheck_destroy(struct rl_recheck *r)
{
    if (r == NULL) {
        return;
    }
    kgym_close(r->pool);
    for (size_t i = 0; i < r->n; i++) {
        free(r->item[i].text);
    }
    free(r->item);
    free(r);
}

/* The item's own text is not read. */
static enum kg_code append(struct rl_recheck *r, const struct rl_recheck_item *item,
                           const char *from, struct kg_err *err)
{
    if (r->n == r->cap) {
        size_t cap = r->cap == 0 ? 64 : 2 * r->cap;
        struct rl_recheck_item *grown = realloc(r->item, cap * sizeof *grown);
        if (grown == NULL) {
            return kg_fail(err, KG_E_HOST, "recheck: no memory");
        }
        r->item = grown;
        r->cap = cap;
    }
    char *text = malloc(item->len + 1);
    if (text == NULL) {
        return kg_fail(err, KG_E_HOST, "recheck: no memory for a reply");
    }
    memcpy(text, from, item->len);
    text[item->len] = '\0';
    r->item[r->n] = *item;
    r->item[r->n++].text = text;
    return KG_OK;
}

enum kg_code rl_recheck_offer(struct rl_recheck *r, uint32_t step, uint32_t index,
                              const struct rl_chain *chain, const char *text, size_t len,
                              const struct rl_verdict *first, struct kg_err *err)
{
    if (r->o.one_in <= 0 || first->state != RL_JUDGED || !first->correct) {
        return KG_OK;
    }
    r->counts.offered++;
    if (rl_draw_below(r->o.seed, RL_STREAM_RECHECK, step, 0, index, (size_t)r->o.one_in) != 0) {
        return KG_OK;
    }
    const struct rl_recheck_item item = {
        .step = step, .index = index, .chain = *chain, .len = len, .first_speedup = first->speedup};
    if (append(r, &item, text, err) != KG_OK) {
        return err->code;
    }
    r->counts.chosen++;
    return KG_OK;
}

/* --- the pool --- */

static enum kg_code open_pool(struct rl_recheck *r, struct kg_err *err)
{
    struct kgym_error e = {0};
    const struct kgym_options o = {.size = sizeof o,
                                   .preset = r->o.preset ? r->o.preset : "default",
                                   .settings = r->o.settings,
                                   .nsettings = r->o.nsettings,
                                   .workers = r->o.workers,
                                   .gym = r->o.gym,
                                   .token_file = r->o.token_file};
    return r->pool != NULL || kgym_open(&o, &r->pool, &e) == KGYM_OK ? KG_OK
                                                                     : rl_judge_fail(err, &e);
}

static enum kg_code send(struct rl_recheck *r, struct kg_err *err)
{
    const struct rl_recheck_item *item = &r->item[r->sent];
    enum kg_code code =
        rl_judge_send(r->pool, &item->chain, item->text, item->len, r->sent, NULL, err);
    r->sent += code == KG_OK;
    return code;
}

static double number(double x)
{
    return isnan(x) ? 0 : x;
}

static void count_speed(struct rl_recheck_counts *c, const struct rl_recheck_item *item)
{
    if (item->first_speedup > 0 && item->speedup > 0) {
        c->timed++;
        c->first_log += log(item->first_speedup);
        c->again_log += log(item->speedup);
    }
}

void rl_recheck_speeds(const struct rl_recheck_counts *c, double *first, double *again)
{
    *first = exp(c->first_log / (double)c->timed); /* 0 / 0 is NaN */
    *again = exp(c->again_log / (double)c->timed);
}

/* A busy host may have no time of a candidate, or one in too wide an interval. */
static bool is_timed(const struct kgym_result *k)
{
    struct kg_err ignored = KG_ERR_INIT;
    json_t *record = NULL;
    if (k->record == NULL ||
        kg_json_parse(k->record, k->record_len, "record", &record, &ignored) != KG_OK) {
        return false;
    }
    const char *status =
        json_string_value(json_object_get(json_object_get(record, "timing"), "status"));
    bool timed = status != NULL && strcmp(status, "measured") == 0 && k->speedup > 0;
    json_decref(record);
    return timed;
}

static void judge(struct rl_recheck_item *item, const struct kgym_result *k)
{
    bool fast = item->first_speedup > RL_RECHECK_FAST;
    snprintf(item->name, sizeof item->name, "%s", k->verdict ? k->verdict : "");
    if (k->verdict == NULL) {
        item->state = RL_RECHECK_NO_VERDICT;
        return;
    }
    if (strcmp(k->verdict, "ok") != 0 || k->correct == 0) {
        item->state = RL_RECHECK_WRONG;
        return;
    }
    if (!is_timed(k)) {
        item->state = fast ? RL_RECHECK_UNTIMED : RL_RECHECK_HELD;
        return;
    }
    item->speedup = k->speedup;
    item->speedup_lo = number(k->speedup_lo);
    item->speedup_hi = number(k->speedup_hi);
    item->state = fast && !(item->speedup > RL_RECHECK_FAST) ? RL_RECHECK_SLOWER : RL_RECHECK_HELD;
}

/* *took: a result was there. */
static enum kg_code take(struct rl_recheck *r, int timeout_ms, bool *took, struct kg_err *err)
{
    struct kgym_error e = {0};
    struct kgym_result *k = NULL;
    *took = false;
    if (kgym_next(r->pool, timeout_ms, &k, &e) != KGYM_OK) {
        return rl_judge_fail(err, &e);
    }
    if (k == NULL) {
        return KG_OK;
    }
    size_t i = strtoul(k->tag, NULL, 10);
    KG_ASSERT(i < r->sent);
    judge(&r->item[i], k);
    kgym_result_free(k);
    enum rl_recheck_state s = r->item[i].state;
    r->done++;
    bool counts = rl_recheck_counts_in(s);
    r->counts.failed += !counts;
    r->counts.checked += counts;
    r->counts.held += s == RL_RECHECK_HELD;
    r->counts.disagreed += counts && s != RL_RECHECK_HELD;
    count_speed(&r->counts, &r->item[i]);
    *took = true;
    return KG_OK;
}

enum kg_code rl_recheck_poll(struct rl_recheck *r, struct kg_err *err)
{
    bool took = r->sent > r->done;
    while (took) {
        if (take(r, 0, &took, err) != KG_OK) {
            return err->code;
        }
        took = took && r->sent > r->done;
    }
    if (r->sent > r->done || r->sent == r->n) {
        return KG_OK;
    }
    return open_pool(r, err) == KG_OK ? send(r, err) : err->code;
}

enum kg_code rl_recheck_finish(struct rl_recheck *r, double seconds, struct kg_err *err)
{
    int64_t until = kg_clock_ns() + (int64_t)(seconds * 1e9);
    enum kg_code code = r->sent < r->n ? open_pool(r, err) : KG_OK;
    struct kgym_info info = {.size = sizeof info, .workers = 1};
    struct kgym_error e = {0};
    if (code == KG_OK && r->sent < r->n && kgym_info(r->pool, &info, &e) != KGYM_OK) {
        return rl_judge_fail(err, &e);
    }
    while (code == KG_OK && r->done < r->n) {
        bool took, over = seconds > 0 && kg_clock_ns() >= until;
        if (r->o.cancel != NULL && *r->o.cancel) {
            return kg_fail(err, KG_E_CANCELLED, "interrupted");
        }
        if (over && r->sent == r->done) {
            break;
        }
        /* Two for each worker are in flight: what waits here can be left when the time is up. */
        while (code == KG_OK && !over && r->sent < r->n &&
               r->sent - r->done < 2 * (size_t)info.workers) {
            code = send(r, err);
        }
        code = code == KG_OK ? take(r, LOOK_MS, &took, err) : code;
    }
    return code;
}

struct rl_recheck_counts rl_recheck_counts(const struct rl_recheck *r)
{
    return r->counts;
}

const struct rl_recheck_item *rl_recheck_items(const struct rl_recheck *r, size_t *n)
{
    *n = r->n;
    return r->item;
}

enum kg_code rl_recheck_list(const struct rl_recheck_options *o, struct rl_recheck_item *item,
                             size_t n, struct rl_recheck_counts *counts, struct kg_err *err)
{
    struct rl_recheck *r;
    enum kg_code code = rl_recheck_create(o, &r, err);
    for (size_t i = 0; i < n && code == KG_OK; i++) {
        code = append(r, &item[i], item[i].text, err);
    }
    code = code == KG_OK ? rl_recheck_finish(r, 0, err) : code;
    for (size_t i = 0; i < n && code == KG_OK; i++) {
        char *text = item[i].text;
        item[i] = r->item[i];
        item[i].text = text;
    }
    *counts = r ? r->counts : (struct rl_recheck_counts){0};
    rl_recheck_destroy(r);
    return code;
}
