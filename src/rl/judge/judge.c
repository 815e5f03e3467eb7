/* Sends replies to the gym's pool, and shares records of equal replies. */
#include "rl/judge/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "rl/judge/index.h"
#include "rl/judge/judge_read.h"

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
    struct rl_index index;
    int *next; /* [tickets] the next ticket that waits for the same entry */
    uint32_t scope;
    uint32_t *nth;                   /* [tickets] replies in this scope */
    bool *shared;                    /* [tickets] */
    const struct rl_verdict **given; /* [tickets] */
    int *ready;                      /* ring [tickets] */
    int ready_at, n_ready, pending;
    struct rl_judge_counts counts;
    struct rl_verdict **old; /* [n_old] given out, and asked again since */
    size_t n_old;
};

enum kg_code rl_judge_fail(struct kg_err *err, const struct kgym_error *e)
{
    return kg_fail(err, (enum kg_code)e->code, "%s", e->message);
}

/* All entries. */
static void forget(struct rl_judge *j)
{
    for (int i = 0; i < j->n; i++) {
        free(j->entry[i].text);
        free(j->entry[i].verdict);
    }
    for (size_t i = 0; i < j->n_old; i++) {
        free(j->old[i]);
    }
    j->n = 0;
    j->n_old = 0;
    rl_index_clear(&j->index);
}

void rl_judge_destroy(struct rl_judge *j)
{
    if (j == NULL) {
        return;
    }
    forget(j);
    free(j->old);
    free(j->entry);
    rl_index_deinit(&j->index);
    free(j->next);
    free(j->nth);
    free(j->shared);
    free(j->given);
    free(j->ready);
    free(j);
}

static const char *hash_of(const void *owner, size_t i)
{
    const struct rl_judge *j = owner;
    return j->entry[i].hash;
}

enum kg_code rl_judge_create(struct kgym_pool *pool, const struct rl_judge_options *o,
                             struct rl_judge **out, struct kg_err *err)
{
    size_t n = (size_t)o->tickets;
    struct rl_judge *j = calloc(1, sizeof *j);
    *out = NULL;
    if (j != NULL) {
        *j = (struct rl_judge){.pool = pool, .o = *o, .index = {.owner = j, .key = hash_of}};
        j->next = calloc(n, sizeof *j->next);
        j->ready = calloc(n, sizeof *j->ready);
        j->nth = calloc(n, sizeof *j->nth);
        j->shared = calloc(n, sizeof *j->shared);
        j->given = calloc(n, sizeof(*j->given));
    }
    if (j == NULL || j->next == NULL || j->ready == NULL || j->nth == NULL || j->shared == NULL ||
        j->given == NULL) {
        rl_judge_destroy(j);
        return kg_fail(err, KG_E_HOST, "judge: no memory for %d tickets", o->tickets);
    }
    *out = j;
    return KG_OK;
}

/* --- entries --- */

/* Room for one more entry. */
static bool grow(struct rl_judge *j)
{
    if (j->n == j->cap) {
        int cap = j->cap == 0 ? 1024 : 2 * j->cap;
        struct entry *entry = realloc(j->entry, (size_t)cap * sizeof *entry);
        if (entry == NULL) {
            return false;
        }
        j->entry = entry;
        j->cap = cap;
    }
    return rl_index_grow(&j->index, (size_t)j->n);
}

/* What names this evaluation: the problem's text and the reply, for journals too. */
static void key_of(struct rl_judge *j, int ticket, const struct rl_chain *chain, const char *text,
                   size_t len, char key[KG_SHA256_HEX])
{
    const uint32_t place[3] = {j->scope, (uint32_t)ticket, j->nth[ticket]};
    struct kg_buf problem;
    struct kg_sha256 h;
    kg_buf_init(&problem, RL_CHAIN_BYTES);
    rl_chain_problem(chain, &problem);
    kg_sha256_begin(&h);
    kg_sha256_part(&h, problem.data, problem.len);
    kg_sha256_part(&h, text, len);
    if (!j->o.reuse) {
        kg_sha256_part(&h, place, sizeof place);
    }
    kg_sha256_end(&h, key);
    kg_buf_deinit(&problem);
}

/* The entry of this key, made if there is none. -1: memory. */
static int entry_find(struct rl_judge *j, const struct rl_chain *chain, const char *key)
{
    struct entry e = {.waiter = -1, .chain = *chain};
    if (!grow(j)) {
        return -1;
    }
    size_t *slot = rl_index_slot(&j->index, key);
    if (*slot > 0) {
        return (int)*slot - 1;
    }
    memcpy(e.hash, key, sizeof e.hash);
    e.verdict = calloc(1, sizeof *e.verdict);
    if (e.verdict == NULL) {
        return -1;
    }
    j->entry[j->n] = e;
    *slot = (size_t)++j->n;
    return j->n - 1;
}

/* A new entry takes the verdict of a journal, if one has it. *shared: this run asked before. */
static enum kg_code from_journal(struct rl_judge *j, struct entry *e, bool *shared,
                                 struct kg_err *err)
{
    bool found = false;
    enum kg_code code =
        j->o.own ? rl_journal_ask(j->o.own, e->hash, &found, e->verdict, shared, err) : KG_OK;
    if (code == KG_OK && !found && j->o.replay != NULL) {
        code = rl_journal_ask(j->o.replay, e->hash, &found, e->verdict, NULL, err);
        code = code == KG_OK && found && j->o.own != NULL
                   ? rl_journal_add(j->o.own, e->hash, e->verdict, err)
                   : code;
    }
    if (code == KG_OK && found) {
        e->state = DONE;
        j->counts.read += !*shared;
    }
    return code;
}

/* --- to the pool --- */

static void push(struct rl_judge *j, int ticket, const struct rl_verdict *v)
{
    KG_ASSERT(j->n_ready < j->o.tickets);
    j->given[ticket] = v;
    j->ready[(j->ready_at + j->n_ready++) % j->o.tickets] = ticket;
}

/* There is a verdict, or there will be none: those who wait for it are ready. */
static enum kg_code finish(struct rl_judge *j, struct entry *e, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    e->state = DONE;
    free(e->text);
    e->text = NULL;
    if (j->o.own != NULL && e->verdict->state != RL_NO_VERDICT) {
        code = rl_journal_add(j->o.own, e->hash, e->verdict, err);
    }
    for (int t = e->waiter; t >= 0; t = j->next[t]) {
        j->counts.failed += e->verdict->state == RL_NO_VERDICT;
        push(j, t, e->verdict);
    }
    e->waiter = -1;
    return code;
}

enum kg_code rl_judge_send(struct kgym_pool *pool, const struct rl_chain *chain, const char *text,
                           size_t len, size_t number, const char *rewards, struct kg_err *err)
{
    char name[RL_CHAIN_NAME], file[RL_CHAIN_NAME + 4], tag[24];
    struct kg_buf problem;
    struct kgym_error why = {0};
    rl_chain_name(chain, name);
    snprintf(file, sizeof file, "%s.c", name);
    snprintf(tag, sizeof tag, "%zu", number);
    kg_buf_init(&problem, RL_CHAIN_BYTES);
    rl_chain_problem(chain, &problem);
    const struct kgym_task task = {.size = sizeof task,
                                   .problem = file,
                                   .problem_text = problem.data,
                                   .problem_text_len = problem.len,
                                   .text = text,
                                   .text_len = len,
                                   .tag = tag,
                                   .rewards = rewards};
    enum kgym_code code = kgym_submit(pool, &task, NULL, &why);
    kg_buf_deinit(&problem);
    return code == KGYM_OK ? KG_OK : rl_judge_fail(err, &why);
}

static enum kg_code send(struct rl_judge *j, int i, struct kg_err *err)
{
    struct entry *e = &j->entry[i];
    e->tries++;
    j->counts.sent++;
    e->state = WAITING;
    if (j->o.script != NULL) {
        j->o.script(j->o.script_user, &e->chain, e->text, e->len, e->verdict);
        return KG_OK;
    }
    if (j->pool == NULL && j->o.open(j->o.open_user, &j->pool, err) != KG_OK) {
        return err->code;
    }
    return rl_judge_send(j->pool, &e->chain, e->text, e->len, (size_t)i, j->o.reward, err);
}

static enum kg_code ask(struct rl_judge *j, int i, const char *text, size_t len, struct kg_err *err)
{
    struct entry *e = &j->entry[i];
    e->text = malloc(len + 1);
    if (e->text == NULL) {
        return kg_fail(err, KG_E_HOST, "judge: no memory for a reply");
    }
    memcpy(e->text, text, len);
    e->text[len] = '\0';
    e->len = len;
    e->tries = 0;
    return send(j, i, err);
}

/* A reply on which the gym had no verdict is asked again. Who has been given that stays without a
 * verdict: its trajectory has ended by it. */
static enum kg_code put_aside(struct rl_judge *j, struct entry *e, struct kg_err *err)
{
    void *more = realloc(j->old, (j->n_old + 1) * sizeof(*j->old));
    if (more == NULL) {
        return kg_fail(err, KG_E_HOST, "judge: no memory for a verdict");
    }
    j->old = more;
    j->old[j->n_old++] = e->verdict;
    e->verdict = calloc(1, sizeof *e->verdict);
    if (e->verdict == NULL) {
        e->verdict = j->old[--j->n_old];
        return kg_fail(err, KG_E_HOST, "judge: no memory for a verdict");
    }
    return KG_OK;
}

enum kg_code rl_judge_submit(struct rl_judge *j, int ticket, const struct rl_chain *chain,
                             const char *text, size_t len, struct kg_err *err)
{
    char key[KG_SHA256_HEX];
    enum kg_code code = KG_OK;
    KG_ASSERT(ticket >= 0 && ticket < j->o.tickets);
    key_of(j, ticket, chain, text, len, key);
    j->nth[ticket]++;
    int i = entry_find(j, chain, key);
    if (i < 0) {
        return kg_fail(err, KG_E_HOST, "judge: no memory for a reply");
    }
    struct entry *e = &j->entry[i];
    bool shared = e->state != EMPTY;
    code = e->state == EMPTY ? from_journal(j, e, &shared, err) : KG_OK;
    bool anew = e->state == DONE && e->verdict->state == RL_NO_VERDICT;
    code = code == KG_OK && anew ? put_aside(j, e, err) : code;
    if (e->state == EMPTY || anew) {
        shared = false;
        code = code == KG_OK ? ask(j, i, text, len, err) : code;
    }
    if (code != KG_OK) {
        return code;
    }
    j->counts.shared += shared;
    j->counts.asked++;
    j->pending++;
    j->shared[ticket] = shared;
    if (e->state == DONE) {
        push(j, ticket, e->verdict);
        return KG_OK;
    }
    j->next[ticket] = e->waiter;
    e->waiter = ticket;
    return j->o.script != NULL ? finish(j, e, err) : KG_OK;
}

/* --- from the pool --- */

static enum kg_code take(struct rl_judge *j, const struct kgym_result *r, struct kg_err *err)
{
    int i = atoi(r->tag);
    KG_ASSERT(i >= 0 && i < j->n);
    struct entry *e = &j->entry[i];
    rl_judge_read(r, &j->o, e->verdict);
    return e->verdict->state == RL_NO_VERDICT && e->tries < TRIES ? send(j, i, err)
                                                                  : finish(j, e, err);
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
        *verdict = j->given[*ticket];
    }
    return KG_OK;
}

void rl_judge_scope(struct rl_judge *j, uint32_t scope)
{
    j->scope = scope;
    if (j->o.own != NULL && j->pending == 0) { /* the journal has them */
        forget(j);
    }
    memset(j->nth, 0, (size_t)j->o.tickets * sizeof *j->nth);
}

bool rl_judge_shared(const struct rl_judge *j, int ticket)
{
    return j->shared[ticket];
}

void rl_judge_set_counts(struct rl_judge *j, const struct rl_judge_counts *c)
{
    j->counts = *c;
}

int rl_judge_pending(const struct rl_judge *j)
{
    return j->pending;
}

struct rl_judge_counts rl_judge_counts(const struct rl_judge *j)
{
    return j->counts;
}
