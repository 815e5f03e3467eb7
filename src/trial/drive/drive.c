/* Turns under way: asks of the policy, replies to the folder, then to the pool. */
#include "trial/drive/drive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "trial/bench/turns.h"
#include "trial/drive/drive_parts.h"

enum {
    SLICE_MS = 100,  /* how soon a wait sees that it was cancelled */
    SALVAGE_S = 300, /* most that replies under way are waited for after an error */
    UNREAD_MAX = 4,  /* asks in a row without a chat completion */
    AHEAD = 4,       /* turns that wait to be judged, for each worker */
};

/* --- life --- */

enum kg_code tr_drive_create(const struct tr_drive_options *o, struct tr_drive **out,
                             struct kg_err *err)
{
    struct kgym_info info = {.size = sizeof info};
    struct kgym_error why = {0};
    *out = NULL;
    if (kgym_info(o->pool, &info, &why) != KGYM_OK) {
        return kg_fail(err, (enum kg_code)why.code, "%s", why.message);
    }
    struct tr_drive *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for turns under way");
    }
    d->o = *o;
    d->workers = info.workers > 0 ? info.workers : 1;
    d->begun_ns = kg_clock_ns();
    snprintf(d->model, sizeof d->model, "%s", tr_folder_model(o->folder));
    *out = d;
    return KG_OK;
}

/* --- beginning --- */

int tr_drive_room(const struct tr_drive *d)
{
    int policy = d->o.policy->room(d->o.policy->self), slots = TR_SLOTS - d->pending;
    int judge = AHEAD * d->workers + 16 - d->to_judge;
    int room = policy < slots ? policy : slots;
    room = room < judge ? room : judge;
    return room > 0 ? room : 0;
}

int tr_drive_pending(const struct tr_drive *d)
{
    return d->pending;
}

void tr_drive_done(struct tr_drive *d, int i)
{
    struct tr_slot *s = &d->slot[i];
    s->step = TR_DONE;
    d->done[(d->done_at + d->ndone++) % TR_SLOTS] = i;
}

/* A free slot with an empty turn; -1: there is none, or no memory. */
static int take_slot(struct tr_drive *d, const struct tr_problem *p, uint32_t sample, uint32_t turn)
{
    int i = 0;
    while (i < TR_SLOTS && d->slot[i].step != TR_FREE) {
        i++;
    }
    struct tr_turn *t = i < TR_SLOTS ? calloc(1, sizeof *t) : NULL;
    if (t == NULL) {
        return -1;
    }
    *t = (struct tr_turn){.problem = p,
                          .sample = sample,
                          .turn = turn,
                          .speedup = (double)NAN,
                          .speedup_lo = (double)NAN,
                          .speedup_hi = (double)NAN,
                          .coverage = (double)NAN,
                          .reward = (double)NAN};
    d->slot[i] = (struct tr_slot){.turn = t, .waiter = -1};
    d->high = i < d->high ? d->high : i + 1;
    tr_key_write(p->name, sample, turn, d->slot[i].key);
    return i;
}

/* The turn in it is the caller's. */
static struct tr_turn *empty_slot(struct tr_drive *d, int i)
{
    struct tr_turn *t = d->slot[i].turn;
    d->slot[i] = (struct tr_slot){.step = TR_FREE};
    while (d->high > 0 && d->slot[d->high - 1].turn == NULL) {
        d->high--;
    }
    return t;
}

static enum kg_code ask(struct tr_drive *d, int i, const struct tr_message *message, int n,
                        struct kg_err *err)
{
    const struct tr_turn *t = d->slot[i].turn;
    const struct tr_ask a = {.tag = (uint64_t)i,
                             .message = message,
                             .n = n,
                             .max_tokens = d->o.max_tokens,
                             .seed = d->o.seed,
                             .who = {t->problem->name, t->sample, t->turn}};
    if (d->o.policy->room(d->o.policy->self) <= 0) {
        return kg_fail(err, KG_E_LIMIT, "%s: the policy takes no further ask now", d->slot[i].key);
    }
    enum kg_code code = d->o.policy->submit(d->o.policy->self, &a, err);
    if (code == KG_OK) {
        d->slot[i].step = TR_ASKED;
        d->asked++;
        d->counts.asked++;
    }
    return code;
}

/* A stored reply: its record where that is a verdict, else it is judged. */
static enum kg_code replay(struct tr_drive *d, int i, const json_t *line, struct kg_err *err)
{
    struct tr_slot *s = &d->slot[i];
    char *record = NULL;
    size_t len = 0;
    if (tr_reply_read(line, &s->turn->reply, err) != KG_OK) {
        return kg_err_prefix(err, "%s/replies.jsonl: `%s`", tr_folder_path(d->o.folder), s->key);
    }
    s->turn->replayed = true;
    d->counts.replayed++;
    if (tr_folder_record(d->o.folder, s->key, &record, &len, err) != KG_OK) {
        return err->code;
    }
    if (record != NULL && tr_turn_read(s->turn, &d->o, record, len)) {
        enum kg_code code = tr_drive_share(d, i, err);
        tr_drive_done(d, i);
        return code;
    }
    return tr_drive_judge(d, i, err);
}

enum kg_code tr_drive_begin(struct tr_drive *d, const struct tr_problem *p, uint32_t sample,
                            uint32_t turn, const struct tr_message *message, int n,
                            struct kg_err *err)
{
    json_t *line = NULL;
    int i = take_slot(d, p, sample, turn);
    if (i < 0) {
        return kg_fail(err, KG_E_LIMIT, "%d turns are under way", d->pending);
    }
    enum kg_code code = tr_folder_reply(d->o.folder, d->slot[i].key, &line, err);
    if (code == KG_OK) {
        code = line != NULL ? replay(d, i, line, err) : ask(d, i, message, n, err);
    }
    json_decref(line);
    if (code != KG_OK && d->slot[i].step == TR_FREE) {
        tr_turn_free(empty_slot(d, i));
        return code;
    }
    d->pending++;
    return code;
}

/* --- replies --- */

/* Bytes as they are stored, so that a run that goes on judges the same: valid UTF-8, at most max
 * bytes of whole characters. */
static enum kg_code clean_text(char **text, size_t *len, size_t max, struct kg_err *err)
{
    json_t *clean = kg_json_text(*text, *len < max ? *len : max);
    size_t n = json_string_length(clean);
    char *out = clean != NULL ? malloc(n + 1) : NULL;
    if (out == NULL) {
        json_decref(clean);
        return kg_fail_memory(err, KG_E_HOST, "no memory for a reply");
    }
    memcpy(out, json_string_value(clean), n + 1);
    json_decref(clean);
    n = n < max ? n : max;
    while (n > 0 && ((unsigned char)out[n] & 0xC0) == 0x80) {
        n--; /* not inside a character */
    }
    out[n] = '\0';
    free(*text);
    *text = out;
    *len = n;
    return KG_OK;
}

/* Text and reasoning, where a byte may become \u0001. */
_Static_assert(2 * 6 * TR_REPLY_BYTES + (1 << 20) < TR_BENCH_MOST_LINE,
               "the tables can read the line of each reply");

/* A reply that is so long is no kernel. */
static enum kg_code clean(struct tr_reply *r, struct kg_err *err)
{
    if (r->len > TR_REPLY_BYTES) {
        r->finish = TR_LENGTH;
    }
    enum kg_code code = clean_text(&r->text, &r->len, TR_REPLY_BYTES, err);
    return code == KG_OK && r->reasoning != NULL
               ? clean_text(&r->reasoning, &r->reasoning_len, TR_REPLY_BYTES, err)
               : code;
}

/* Stores a reply. KG_E_USAGE: it is another model's. */
static enum kg_code keep(struct tr_drive *d, const char *key, struct tr_reply *r,
                         struct kg_err *err)
{
    if (d->model[0] == '\0') {
        snprintf(d->model, sizeof d->model, "%s", r->model);
    }
    if (r->model[0] != '\0' && strcmp(r->model, d->model) != 0) {
        return tr_folder_put_refused(d->o.folder, key, r, "another model", err) != KG_OK
                   ? err->code
                   : kg_fail(err, KG_E_USAGE,
                             "the endpoint has changed its model: replies of this run are of "
                             "`%s`, and this one (%s) is of `%s`; use a new folder for that one",
                             d->model, key, r->model);
    }
    enum kg_code code = clean(r, err);
    code = code == KG_OK ? tr_folder_put_reply(d->o.folder, key, r, err) : code;
    d->counts.replied += code == KG_OK;
    return code;
}

/* There is none. KG_OK: the turn ends so, and others go on. */
static enum kg_code no_reply(struct tr_drive *d, int i, const struct tr_reply *r,
                             struct kg_err *err)
{
    bool unread = r->code == KG_E_INPUT;
    d->unread += unread;
    if (r->code != KG_E_LIMIT && (!unread || d->unread >= UNREAD_MAX)) {
        *err = r->err;
        return err->code = r->code;
    }
    d->slot[i].turn->state = TR_NO_REPLY;
    d->slot[i].turn->err = r->err;
    d->slot[i].turn->err.code = r->code;
    tr_drive_done(d, i);
    return KG_OK;
}

/* Takes the reply over; *stored: it is in the folder, and not yet on the disk. */
static enum kg_code take_reply(struct tr_drive *d, struct tr_reply *r, bool *stored,
                               struct kg_err *err)
{
    int i = (int)r->tag;
    KG_ASSERT(i >= 0 && i < TR_SLOTS && d->slot[i].step == TR_ASKED);
    d->asked--;
    *stored = false;
    if (r->code != KG_OK) {
        enum kg_code code = no_reply(d, i, r, err);
        tr_reply_free(r);
        return code;
    }
    d->unread = 0;
    d->slot[i].turn->reply = r;
    d->slot[i].step = TR_STORED;
    *stored = true;
    return keep(d, d->slot[i].key, r, err);
}

static bool cancelled(const struct tr_drive *d)
{
    return d->o.cancel != NULL && *d->o.cancel != 0;
}

/* Before the end by an error: what the policy has received is kept, and what is under way is waited
 * for, since it is paid for. Whoever interrupts does not wait. */
static void salvage(struct tr_drive *d)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct tr_reply *r = NULL;
    const struct tr_policy *p = d->o.policy;
    int64_t end = kg_clock_ns() + (int64_t)SALVAGE_S * 1000000000;
    bool paid = p->last_call != NULL && !d->salvaged;
    d->salvaged = true;
    if (paid) {
        p->last_call(p->self);
    }
    if (paid && !cancelled(d) && p->pending(p->self) > 0) {
        kg_log(KG_LOG_WARN,
               "an error; waiting for replies that are under way, %d s at most (Ctrl-C drops them)",
               SALVAGE_S);
    }
    for (bool more = true; more;) {
        bool waits = paid && !cancelled(d) && kg_clock_ns() < end;
        if (p->next(p->self, -1, waits ? SLICE_MS : 0, &r, &ignored) != KG_OK) {
            break;
        }
        more = r != NULL || (waits && p->pending(p->self) > 0);
        if (r != NULL && r->code == KG_OK) {
            /* another model's is put aside; where there is no place for one, there is for none */
            enum kg_code code = keep(d, d->slot[r->tag].key, r, &ignored);
            more = more && (code == KG_OK || code == KG_E_USAGE);
        }
        tr_reply_free(r);
        r = NULL;
    }
    bool synced = tr_folder_sync(d->o.folder, true, &ignored) == KG_OK;
    (void)synced;
}

void tr_drive_destroy(struct tr_drive *d)
{
    if (d == NULL) {
        return;
    }
    if (d->asked > 0) {
        salvage(d);
    }
    for (int i = 0; i < TR_SLOTS; i++) {
        struct kgym_error ignored;
        if (d->slot[i].step == TR_JUDGING) {
            kgym_cancel(d->o.pool, d->slot[i].task, &ignored);
        }
        tr_turn_free(d->slot[i].turn);
    }
    for (size_t i = 0; i < d->nprompts; i++) {
        kgym_free(d->prompt[i].text);
    }
    free(d->prompt);
    tr_drive_forget(d);
    free(d);
}

/* --- the next one --- */

/* All replies that are there, after ms at most; one wait for the disk serves them all. Then they
 * are judged. */
static enum kg_code take_replies(struct tr_drive *d, int ms, struct kg_err *err)
{
    const struct tr_policy *p = d->o.policy;
    struct tr_reply *r = NULL;
    int fd = d->to_judge > 0 ? kgym_fd(d->o.pool) : -1, stored = 0;
    enum kg_code code = p->next(p->self, fd, ms, &r, err);
    while (code == KG_OK && r != NULL) {
        bool one = false;
        code = take_reply(d, r, &one, err);
        stored += one;
        r = NULL;
        code = code == KG_OK ? p->next(p->self, -1, 0, &r, err) : code;
    }
    if (code != KG_OK || stored == 0 || tr_folder_sync(d->o.folder, false, err) != KG_OK) {
        return code != KG_OK || stored == 0 ? code : err->code;
    }
    for (int i = 0; i < d->high && code == KG_OK; i++) {
        code = d->slot[i].step == TR_STORED ? tr_drive_judge(d, i, err) : KG_OK;
    }
    return code;
}

/* Waits for a reply or a result, ms at most, and takes what is there. */
static enum kg_code work(struct tr_drive *d, int ms, struct kg_err *err)
{
    tr_drive_measure(d);
    if (d->asked == 0) {
        return tr_drive_pump(d, ms, err);
    }
    enum kg_code code = take_replies(d, ms, err);
    return code == KG_OK ? tr_drive_pump(d, 0, err) : code;
}

static struct tr_turn *give(struct tr_drive *d)
{
    int i = d->done[d->done_at];
    d->done_at = (d->done_at + 1) % TR_SLOTS;
    d->ndone--;
    d->pending--;
    return empty_slot(d, i);
}

enum kg_code tr_drive_next(struct tr_drive *d, int timeout_ms, struct tr_turn **out,
                           struct kg_err *err)
{
    int64_t end = kg_clock_ns() + (int64_t)timeout_ms * 1000000;
    *out = NULL;
    while (d->ndone == 0 && d->pending > 0) {
        int64_t left = timeout_ms < 0 ? SLICE_MS : (end - kg_clock_ns()) / 1000000;
        int ms = left <= 0 ? 0 : left < SLICE_MS ? (int)left : SLICE_MS;
        enum kg_code code =
            cancelled(d) ? kg_fail(err, KG_E_CANCELLED, "interrupted") : work(d, ms, err);
        if (code != KG_OK) {
            salvage(d);
            return code;
        }
        if (timeout_ms >= 0 && left <= 0) {
            break;
        }
    }
    *out = d->ndone > 0 ? give(d) : NULL;
    return KG_OK;
}
