/* What a turn is, once it has a reply and a record. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "trial/drive/drive_parts.h"
#include "trial/drive/lines.h"

void tr_turn_free(struct tr_turn *t)
{
    if (t != NULL) {
        tr_reply_free(t->reply);
        free(t->record);
        free(t->feedback);
        json_decref(t->rewards);
        free(t);
    }
}

/* --- a stored reply --- */

static char *copy(const json_t *text, size_t *len)
{
    *len = json_string_length(text);
    char *out = malloc(*len + 1);
    if (out != NULL) {
        memcpy(out, json_string_value(text), *len);
        out[*len] = '\0';
    }
    return out;
}

static bool copy_ids(const json_t *ids, struct tr_reply *r)
{
    size_t n = json_array_size(ids);
    r->ids = json_is_array(ids) ? malloc((n + 1) * sizeof *r->ids) : NULL;
    for (size_t i = 0; r->ids != NULL && i < n; i++) {
        r->ids[r->nids++] = (int32_t)json_integer_value(json_array_get(ids, i));
    }
    return !json_is_array(ids) || r->ids != NULL;
}

enum kg_code tr_reply_read(const json_t *line, struct tr_reply **out, struct kg_err *err)
{
    const json_t *text = json_object_get(line, "text"), *why = json_object_get(line, "reasoning");
    const json_t *logprob = json_object_get(line, "logprob");
    const char *finish = json_string_value(json_object_get(line, "finish"));
    const char *model = json_string_value(json_object_get(line, "model"));
    *out = NULL;
    if (!json_is_string(text) || finish == NULL) {
        return kg_fail(err, KG_E_INPUT, "a stored reply has no `text` or no `finish`");
    }
    struct tr_reply *r = calloc(1, sizeof *r);
    if (r != NULL) {
        r->text = copy(text, &r->len);
        r->reasoning = json_is_string(why) ? copy(why, &r->reasoning_len) : NULL;
    }
    if (r == NULL || r->text == NULL || (json_is_string(why) && r->reasoning == NULL) ||
        !copy_ids(json_object_get(line, "ids"), r)) {
        tr_reply_free(r);
        return kg_fail_memory(err, KG_E_HOST, "no memory for a stored reply");
    }
    r->finish = strcmp(finish, tr_finish_name(TR_LENGTH)) == 0   ? TR_LENGTH
                : strcmp(finish, tr_finish_name(TR_FILTER)) == 0 ? TR_FILTER
                                                                 : TR_STOP;
    r->usage = (struct tr_usage){
        .tokens_in = tr_folder_tokens(line, "tokens_in"),
        .tokens_out = tr_folder_tokens(line, "tokens_out"),
        .counted = json_is_true(json_object_get(line, "counted")),
        .seconds = json_number_value(json_object_get(line, "seconds")),
        .tries = (int)json_integer_value(json_object_get(line, "tries")),
    };
    snprintf(r->model, sizeof r->model, "%s", model != NULL ? model : "");
    r->logprob = json_is_number(logprob) ? json_number_value(logprob) : (double)NAN;
    *out = r;
    return KG_OK;
}

/* --- a record --- */

/* {NAME: value} of all presets of the record. */
static json_t *rewards_of(const json_t *record)
{
    json_t *out = json_object();
    const char *name;
    const json_t *value;
    json_object_foreach(json_object_get(record, "rewards"), name, value)
    {
        const json_t *x = json_object_get(value, "value");
        json_object_set_new(out, name,
                            json_is_number(x) ? json_copy((json_t *)(uintptr_t)x) : json_null());
    }
    return out;
}

/* Of the first preset that is asked for, else of the first in the record. */
static double reward_of(const json_t *rewards, const char *presets)
{
    const char *name;
    const json_t *x;
    size_t n = presets != NULL ? strcspn(presets, ",") : 0;
    json_object_foreach((json_t *)(uintptr_t)rewards, name, x)
    {
        if (n == 0 || (strlen(name) == n && strncmp(name, presets, n) == 0)) {
            return json_is_number(x) ? json_number_value(x) : (double)NAN;
        }
    }
    return (double)NAN;
}

static size_t count_tokens(void *user, const char *text, size_t len)
{
    const struct tr_policy *policy = user;
    return policy->count(policy->self, text, len);
}

/* A reply that was cut is told so first: its verdict alone may not show it. */
static char *feedback_of(const struct tr_turn *t, const struct tr_drive_options *o)
{
    static const char cut[] = "Your reply was cut off: it reached the limit of tokens before its "
                              "end. Write a shorter one.\n\n";
    const struct kgym_text_options options = {.size = sizeof options,
                                              .limit = o->feedback,
                                              .count = o->policy->count ? count_tokens : NULL,
                                              .user = (void *)(uintptr_t)o->policy};
    struct kgym_error ignored;
    char *text = NULL;
    struct kg_buf out;
    if (kgym_feedback(t->record, t->record_len, &options, &text, &ignored) != KGYM_OK) {
        return NULL;
    }
    kg_buf_init(&out, 1u << 20);
    kg_buf_adds(&out, t->reply->finish == TR_LENGTH ? cut : "");
    kg_buf_adds(&out, text);
    kgym_free(text);
    char *said = kg_buf_detach(&out);
    kg_buf_deinit(&out);
    return said;
}

/* Why there is no verdict, in the record's own words. */
static void read_error(struct tr_turn *t, const json_t *record)
{
    const json_t *error = json_object_get(record, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    kg_fail(&t->err, t->state == TR_DEFECT ? KG_E_PROBLEM : KG_E_GYM, "%s",
            message != NULL ? message : "the gym gave no verdict");
}

static void take_facts(struct tr_turn *t, const struct tr_facts *f)
{
    _Static_assert(sizeof t->verdict == sizeof f->verdict && sizeof t->reason == sizeof f->reason,
                   "a turn holds what a record says");
    t->state = f->state == TR_FACT_JUDGED   ? TR_JUDGED
               : f->state == TR_FACT_DEFECT ? TR_DEFECT
                                            : TR_NO_VERDICT;
    memcpy(t->verdict, f->verdict, sizeof t->verdict);
    memcpy(t->reason, f->reason, sizeof t->reason);
    t->correct = f->correct;
    t->hack = f->hack;
    t->extracted = f->extracted;
    t->valid = f->valid;
    t->compiled = f->compiled;
    t->numerics = f->numerics;
    t->speedup = f->speedup;
    t->speedup_lo = f->speedup_lo;
    t->speedup_hi = f->speedup_hi;
    t->coverage = f->coverage;
}

/* "" where there is none. */
static void hash_json(const json_t *value, char out[KG_SHA256_HEX])
{
    struct kg_buf text;
    out[0] = '\0';
    if (value == NULL) {
        return;
    }
    kg_buf_init(&text, TR_LINE_BYTES);
    kg_json_dump(value, &text);
    kg_sha256_hex(text.data, text.len, out);
    kg_buf_deinit(&text);
}

bool tr_turn_read(struct tr_turn *t, const struct tr_drive_options *o, char *record, size_t len)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct tr_facts facts;
    json_t *json = NULL;
    free(t->record);
    t->record = record;
    t->record_len = len;
    t->err = (struct kg_err)KG_ERR_INIT;
    if (kg_json_parse(record, len, "record", &json, &ignored) != KG_OK ||
        !tr_facts_read(json, &facts)) {
        json_decref(json);
        t->state = TR_NO_VERDICT;
        kg_fail(&t->err, KG_E_GYM, "the gym gave no record");
        return false;
    }
    take_facts(t, &facts);
    json_decref(t->rewards);
    t->rewards = t->state == TR_JUDGED ? rewards_of(json) : json_object();
    t->reward = reward_of(t->rewards, o->rewards);
    kg_sha256_hex(record, len, t->record_hash);
    hash_json(json_object_get(json, "config"), t->config_hash);
    const char *code =
        json_string_value(json_object_get(json_object_get(json, "candidate"), "sha256"));
    snprintf(t->code_hash, sizeof t->code_hash, "%s", code != NULL ? code : "");
    if (t->state != TR_JUDGED) {
        read_error(t, json);
    } else {
        free(t->feedback);
        t->feedback = feedback_of(t, o);
    }
    json_decref(json);
    return t->state != TR_NO_VERDICT;
}
