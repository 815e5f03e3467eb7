/* Sends replies to the gym's pool, shares records of equal replies, and reads what the learner
 * needs out of a result. */
#include "rl/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"

#define TRIES 3

_Static_assert((int)KGYM_E_FULL == (int)KG_E_FULL, "the gym's codes are those of base/err.h");

enum state { EMPTY, WAITING, DONE };

struct entry {
    char hash[KG_SHA256_HEX];
    enum state state;
    int tries, waiter; /* first ticket that waits, -1: none */
    struct rl_chain chain;
    char *text; /* until it is judged */
    size_t len;
    struct rl_verdict *verdict;
};

struct rl_judge {
    struct kgym_pool *pool;
    struct rl_judge_options o;
    struct entry *entry;
    int n, cap;
    int *slot; /* [slots] hash table of entries; -1: free */
    int slots;
    int *next;     /* [tickets] the next ticket that waits for the same entry */
    int *entry_of; /* [tickets] */
    int *ready;    /* ring [tickets] */
    int ready_at, n_ready, pending;
    struct rl_judge_counts counts;
};

enum kg_code rl_judge_fail(struct kg_err *err, const struct kgym_error *e)
{
    return kg_fail(err, (enum kg_code)e->code, "%s", e->message);
}

void rl_judge_destroy(struct rl_judge *j)
{
    if (j == NULL) {
        return;
    }
    for (int i = 0; i < j->n; i++) {
        free(j->entry[i].text);
        free(j->entry[i].verdict);
    }
    free(j->entry);
    free(j->slot);
    free(j->next);
    free(j->entry_of);
    free(j->ready);
    free(j);
}

enum kg_code rl_judge_create(struct kgym_pool *pool, const struct rl_judge_options *o,
                             struct rl_judge **out, struct kg_err *err)
{
    size_t n = (size_t)o->tickets;
    struct rl_judge *j = calloc(1, sizeof *j);
    *out = NULL;
    if (j != NULL) {
        *j = (struct rl_judge){.pool = pool, .o = *o};
        j->next = calloc(n, sizeof *j->next);
        j->entry_of = calloc(n, sizeof *j->entry_of);
        j->ready = calloc(n, sizeof *j->ready);
    }
    if (j == NULL || j->next == NULL || j->entry_of == NULL || j->ready == NULL) {
        rl_judge_destroy(j);
        return kg_fail(err, KG_E_HOST, "judge: no memory for %d tickets", o->tickets);
    }
    *out = j;
    return KG_OK;
}

/* --- entries --- */

static int slot_of(const struct rl_judge *j, const char *hash)
{
    int at = (int)(strtoul((char[9]){hash[0], hash[1], hash[2], hash[3], hash[4], hash[5], hash[6],
                                     hash[7]},
                           NULL, 16) %
                   (unsigned long)j->slots);
    while (j->slot[at] >= 0 && strcmp(j->entry[j->slot[at]].hash, hash) != 0) {
        at = (at + 1) % j->slots;
    }
    return at;
}

/* Room for one more entry, and a table that is at most half full. */
static bool grow(struct rl_judge *j)
{
    if (j->n < j->cap) {
        return true;
    }
    int cap = j->cap == 0 ? 1024 : 2 * j->cap;
    struct entry *entry = realloc(j->entry, (size_t)cap * sizeof *entry);
    if (entry == NULL) {
        return false;
    }
    j->entry = entry;
    int *slot = malloc((size_t)cap * 2 * sizeof *slot);
    if (slot == NULL) {
        return false;
    }
    free(j->slot);
    j->slot = slot;
    j->slots = 2 * cap;
    j->cap = cap;
    memset(slot, -1, (size_t)j->slots * sizeof *slot);
    for (int i = 0; i < j->n; i++) {
        if (j->o.reuse) {
            slot[slot_of(j, entry[i].hash)] = i;
        }
    }
    return true;
}

/* The entry of this reply, made if there is none. -1: memory. */
static int entry_find(struct rl_judge *j, const struct rl_chain *chain, const char *text,
                      size_t len)
{
    char name[RL_CHAIN_NAME];
    struct entry e = {.waiter = -1, .chain = *chain};
    struct kg_sha256 h;
    if (!grow(j)) {
        return -1;
    }
    rl_chain_name(chain, name);
    kg_sha256_begin(&h);
    kg_sha256_part(&h, name, strlen(name));
    kg_sha256_part(&h, text, len);
    kg_sha256_end(&h, e.hash);
    int at = j->o.reuse ? slot_of(j, e.hash) : -1;
    if (at >= 0 && j->slot[at] >= 0) {
        return j->slot[at];
    }
    e.verdict = calloc(1, sizeof *e.verdict);
    if (e.verdict == NULL) {
        return -1;
    }
    if (at >= 0) {
        j->slot[at] = j->n;
    }
    j->entry[j->n] = e;
    return j->n++;
}

/* --- to the pool --- */

static enum kg_code send(struct rl_judge *j, int i, struct kg_err *err)
{
    struct entry *e = &j->entry[i];
    char name[RL_CHAIN_NAME], file[RL_CHAIN_NAME + 4], tag[16];
    struct kg_buf problem;
    struct kgym_error why = {0};
    rl_chain_name(&e->chain, name);
    snprintf(file, sizeof file, "%s.c", name);
    snprintf(tag, sizeof tag, "%d", i);
    kg_buf_init(&problem, RL_CHAIN_BYTES);
    rl_chain_problem(&e->chain, &problem);
    const struct kgym_task task = {.size = sizeof task,
                                   .problem = file,
                                   .problem_text = problem.data,
                                   .problem_text_len = problem.len,
                                   .text = e->text,
                                   .text_len = e->len,
                                   .tag = tag,
                                   .rewards = j->o.reward};
    enum kgym_code code = kgym_submit(j->pool, &task, NULL, &why);
    kg_buf_deinit(&problem);
    if (code != KGYM_OK) {
        return rl_judge_fail(err, &why);
    }
    e->state = WAITING;
    e->tries++;
    j->counts.sent++;
    return KG_OK;
}

static void push(struct rl_judge *j, int ticket)
{
    KG_ASSERT(j->n_ready < j->o.tickets);
    j->ready[(j->ready_at + j->n_ready++) % j->o.tickets] = ticket;
}

enum kg_code rl_judge_submit(struct rl_judge *j, int ticket, const struct rl_chain *chain,
                             const char *text, size_t len, struct kg_err *err)
{
    KG_ASSERT(ticket >= 0 && ticket < j->o.tickets);
    int i = entry_find(j, chain, text, len);
    if (i < 0) {
        return kg_fail(err, KG_E_HOST, "judge: no memory for a reply");
    }
    struct entry *e = &j->entry[i];
    bool again = e->state == DONE && e->verdict->state == RL_NO_VERDICT;
    if (e->state == EMPTY || again) {
        e->text = malloc(len + 1);
        if (e->text == NULL) {
            return kg_fail(err, KG_E_HOST, "judge: no memory for a reply");
        }
        memcpy(e->text, text, len);
        e->text[len] = '\0';
        e->len = len;
        e->tries = 0;
        if (send(j, i, err) != KG_OK) {
            return err->code;
        }
    } else {
        j->counts.shared++;
    }
    j->counts.asked++;
    j->pending++;
    j->entry_of[ticket] = i;
    if (e->state == DONE) {
        push(j, ticket);
        return KG_OK;
    }
    j->next[ticket] = e->waiter;
    e->waiter = ticket;
    return KG_OK;
}

/* --- from the pool --- */

static void copy(char *to, size_t cap, const char *from)
{
    snprintf(to, cap, "%s", from ? from : "");
}

static double number(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

/* What only the record says. A candidate that its league does not admit is not correct. */
static void read_record(const struct kgym_result *r, struct rl_verdict *v)
{
    struct kg_err unused = KG_ERR_INIT;
    json_t *record = NULL;
    if (r->record == NULL ||
        kg_json_parse(r->record, r->record_len, "record", &record, &unused) != KG_OK) {
        return;
    }
    v->coverage = number(record, "coverage");
    const json_t *eligible = json_object_get(json_object_get(record, "league"), "eligible");
    v->correct = v->correct && !json_is_false(eligible);
    json_decref(record);
}

static void read_feedback(const struct rl_judge *j, const struct kgym_result *r,
                          struct rl_verdict *v)
{
    const struct kgym_text_options o = {.size = sizeof o,
                                        .limit = j->o.feedback,
                                        .brief = 1,
                                        .count = j->o.count,
                                        .user = j->o.user};
    struct kgym_error unused;
    char *text = NULL;
    if (r->record != NULL &&
        kgym_feedback(r->record, r->record_len, &o, &text, &unused) == KGYM_OK) {
        text[strcspn(text, "\n")] = '\0';
        copy(v->feedback, sizeof v->feedback, text);
    }
    kgym_free(text);
}

static void read_result(const struct rl_judge *j, const struct kgym_result *r, struct rl_verdict *v)
{
    *v = (struct rl_verdict){.coverage = (double)NAN};
    v->state = r->verdict ? RL_JUDGED : r->error == KGYM_E_PROBLEM ? RL_DEFECT : RL_NO_VERDICT;
    copy(v->name, sizeof v->name, r->verdict);
    copy(v->reason, sizeof v->reason, r->reason);
    copy(v->message, sizeof v->message, r->message);
    if (v->state != RL_JUDGED) {
        return;
    }
    v->correct = strcmp(v->name, "ok") == 0;
    read_record(r, v);
    if (v->correct) {
        v->speedup = isnan(r->speedup) ? 0 : r->speedup;
        v->speedup_lo = isnan(r->speedup_lo) ? 0 : r->speedup_lo;
    }
    v->reward = r->nrewards > 0 ? r->rewards[0].value : (double)NAN;
    if (!isfinite(v->reward)) {
        v->state = RL_NO_VERDICT;
        copy(v->message, sizeof v->message, "the record has no reward");
    }
    read_feedback(j, r, v);
}

static enum kg_code take(struct rl_judge *j, const struct kgym_result *r, struct kg_err *err)
{
    int i = atoi(r->tag);
    KG_ASSERT(i >= 0 && i < j->n);
    struct entry *e = &j->entry[i];
    read_result(j, r, e->verdict);
    if (e->verdict->state == RL_NO_VERDICT && e->tries < TRIES) {
        return send(j, i, err);
    }
    e->state = DONE;
    free(e->text);
    e->text = NULL;
    for (int t = e->waiter; t >= 0; t = j->next[t]) {
        j->counts.failed += e->verdict->state == RL_NO_VERDICT;
        push(j, t);
    }
    e->waiter = -1;
    return KG_OK;
}

enum kg_code rl_judge_next(struct rl_judge *j, int timeout_ms, int *ticket,
                           const struct rl_verdict **verdict, struct kg_err *err)
{
    *ticket = -1;
    while (j->n_ready == 0 && j->pending > 0) {
        struct kgym_error why = {0};
        struct kgym_result *r = NULL;
        if (kgym_next(j->pool, timeout_ms, &r, &why) != KGYM_OK) {
            return rl_judge_fail(err, &why);
        }
        if (r == NULL) {
            return KG_OK;
        }
        enum kg_code code = take(j, r, err);
        kgym_result_free(r);
        if (code != KG_OK) {
            return code;
        }
    }
    if (j->n_ready > 0) {
        *ticket = j->ready[j->ready_at];
        j->ready_at = (j->ready_at + 1) % j->o.tickets;
        j->n_ready--;
        j->pending--;
        *verdict = j->entry[j->entry_of[*ticket]].verdict;
    }
    return KG_OK;
}

int rl_judge_pending(const struct rl_judge *j)
{
    return j->pending;
}

struct rl_judge_counts rl_judge_counts(const struct rl_judge *j)
{
    return j->counts;
}
