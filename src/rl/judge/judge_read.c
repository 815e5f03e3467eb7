/* Reads what the learner needs out of a result of the gym. */
#include "rl/judge/judge_read.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"

/* As much as fits, and valid UTF-8: a journal must give the same text again. */
static void copy(char *to, size_t cap, const char *from)
{
    json_t *text = kg_json_text(from ? from : "", from ? strlen(from) : 0);
    size_t n = json_string_length(text) < cap ? json_string_length(text) : cap - 1;
    const char *s = json_string_value(text);
    while (n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80) {
        n--;
    }
    memcpy(to, s, n);
    to[n] = '\0';
    json_decref(text);
}

static double number(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static void read_terms(const json_t *terms, struct rl_verdict *v)
{
    const char *name;
    const json_t *x;
    json_object_foreach((json_t *)(uintptr_t)terms, name, x)
    {
        if (v->nterms < RL_TERMS) {
            struct rl_term *t = &v->term[v->nterms++];
            copy(t->name, sizeof t->name, name);
            t->value = json_number_value(x);
        }
    }
}

/* What only the record says. A candidate that its league does not admit is not correct. */
static void read_record(const struct kgym_result *r, const char *reward, struct rl_verdict *v)
{
    struct kg_buf text;
    struct kg_err unused = KG_ERR_INIT;
    json_t *record = NULL;
    if (r->record == NULL ||
        kg_json_parse(r->record, r->record_len, "record", &record, &unused) != KG_OK) {
        return;
    }
    v->coverage = number(record, "coverage");
    const json_t *eligible = json_object_get(json_object_get(record, "league"), "eligible");
    v->correct = v->correct && !json_is_false(eligible);
    read_terms(
        json_object_get(json_object_get(json_object_get(record, "rewards"), reward), "terms"), v);
    kg_buf_init(&text, (size_t)1 << 26);
    kg_json_dump(record, &text);
    kg_sha256_hex(text.data, text.len, v->record);
    kg_buf_deinit(&text);
    json_decref(record);
}

static void read_feedback(const struct rl_judge_options *judge, const struct kgym_result *r,
                          struct rl_verdict *v)
{
    const struct kgym_text_options o = {.size = sizeof o,
                                        .limit = judge->feedback,
                                        .brief = 1,
                                        .count = judge->count,
                                        .user = judge->user};
    struct kgym_error unused;
    char *text = NULL;
    if (r->record != NULL &&
        kgym_feedback(r->record, r->record_len, &o, &text, &unused) == KGYM_OK) {
        text[strcspn(text, "\n")] = '\0';
        copy(v->feedback, sizeof v->feedback, text);
    }
    kgym_free(text);
}

void rl_judge_read(const struct kgym_result *r, const struct rl_judge_options *o,
                   struct rl_verdict *v)
{
    *v = (struct rl_verdict){.coverage = (double)NAN};
    /* An error with rewards is one that the candidate may have brought about: a failure. */
    bool failure = r->error != KGYM_OK && r->nrewards > 0;
    v->state = r->verdict || failure        ? RL_JUDGED
               : r->error == KGYM_E_PROBLEM ? RL_DEFECT
                                            : RL_NO_VERDICT;
    copy(v->name, sizeof v->name, failure ? kg_code_name((enum kg_code)r->error) : r->verdict);
    copy(v->reason, sizeof v->reason, r->reason);
    copy(v->message, sizeof v->message, r->message);
    if (v->state != RL_JUDGED) {
        return;
    }
    v->correct = strcmp(v->name, "ok") == 0;
    read_record(r, o->reward, v);
    if (v->correct) {
        v->speedup = isnan(r->speedup) ? 0 : r->speedup;
        v->speedup_lo = isnan(r->speedup_lo) ? 0 : r->speedup_lo;
    }
    v->reward = r->nrewards > 0 ? r->rewards[0].value : (double)NAN;
    if (!isfinite(v->reward)) {
        v->state = RL_NO_VERDICT;
        copy(v->message, sizeof v->message, "the record has no reward");
    }
    read_feedback(o, r, v);
}
