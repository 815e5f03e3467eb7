/* The table of rounds.h over the drive; judging again opens a pool for each kernel. */
#include "trial/refine/drive_maker.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "trial/bench/facts.h"
#include "trial/bench/key.h"

static int room(void *self)
{
    return tr_drive_room(((struct tr_drive_maker *)self)->drive);
}

static enum kg_code begin(void *self, uint32_t sample, uint32_t turn,
                          const struct tr_message *message, int n, struct kg_err *err)
{
    struct tr_drive_maker *m = self;
    return tr_drive_begin(m->drive, m->problem, sample, turn, message, n, err);
}

static enum kg_code next(void *self, int timeout_ms, struct tr_turn **out, struct kg_err *err)
{
    return tr_drive_next(((struct tr_drive_maker *)self)->drive, timeout_ms, out, err);
}

static const char *spent(void *self)
{
    return tr_drive_spent(((struct tr_drive_maker *)self)->drive);
}

static bool kept(void *self, uint32_t sample, uint32_t turn)
{
    struct tr_drive_maker *m = self;
    struct kg_err unused = KG_ERR_INIT;
    json_t *reply = NULL;
    char key[TR_KEY_BYTES];
    tr_key_write(m->problem->name, sample, turn, key);
    bool there = tr_folder_reply(m->folder, key, &reply, &unused) == KG_OK && reply != NULL;
    json_decref(reply);
    return there;
}

static size_t count(void *self, const char *text, size_t len)
{
    struct tr_policy *p = ((struct tr_drive_maker *)self)->policy;
    return p->count(p->self, text, len);
}

static void release(void *self, struct tr_turn *t)
{
    (void)self;
    tr_turn_free(t);
}

void tr_again_read(char *record, size_t len, struct tr_again *out)
{
    struct kg_err err = KG_ERR_INIT;
    struct tr_facts f;
    struct kg_buf text;
    json_t *j = NULL;
    *out = (struct tr_again){
        .record = record, .record_len = len, .speedup = NAN, .speedup_lo = NAN, .speedup_hi = NAN};
    if (kg_json_parse(record, len, "record", &j, &err) != KG_OK || !tr_facts_read(j, &f)) {
        snprintf(out->message, sizeof out->message, "judging again gave no record");
        json_decref(j);
        return;
    }
    out->judged = f.state == TR_FACT_JUDGED;
    out->correct = f.correct;
    out->speedup = f.speedup;
    out->speedup_lo = f.speedup_lo;
    out->speedup_hi = f.speedup_hi;
    snprintf(out->verdict, sizeof out->verdict, "%s", f.verdict);
    if (!out->judged) {
        const json_t *why = json_object_get(json_object_get(j, "error"), "message");
        snprintf(out->message, sizeof out->message, "%s",
                 json_is_string(why) ? json_string_value(why) : "no verdict");
    }
    kg_buf_init(&text, (size_t)1 << 26);
    kg_json_dump(j, &text);
    kg_sha256_hex(text.data, text.len, out->record_hash);
    kg_buf_deinit(&text);
    json_decref(j);
}

static enum kg_code again(void *self, const struct tr_turn *t, struct tr_again *out,
                          struct kg_err *err)
{
    struct tr_drive_maker *m = self;
    struct kgym_pool *pool = NULL;
    struct kgym_error e = {0};
    struct kg_err why = KG_ERR_INIT;
    char *record = NULL;
    if (tr_round_log_again(m->log, t->sample, t->turn, out)) {
        return KG_OK;
    }
    *out = (struct tr_again){.judged = false};
    if (kgym_open(m->again, &pool, &e) != KGYM_OK) {
        snprintf(out->message, sizeof out->message, "%s", e.message);
        return KG_OK;
    }
    enum kg_code code =
        tr_drive_again(pool, m->problem, t->reply->text, t->reply->len, &record, &why);
    kgym_close(pool);
    if (code == KG_E_CANCELLED) {
        *err = why;
        return code;
    }
    if (code == KG_OK) {
        tr_again_read(record, strlen(record), out);
    } else {
        snprintf(out->message, sizeof out->message, "%s", why.message);
    }
    return KG_OK;
}

struct tr_maker tr_drive_maker_table(struct tr_drive_maker *m)
{
    return (struct tr_maker){.self = m,
                             .room = room,
                             .begin = begin,
                             .next = next,
                             .spent = spent,
                             .kept = kept,
                             .again = again,
                             .release = release,
                             .count = count};
}
