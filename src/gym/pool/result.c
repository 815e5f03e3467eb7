/* Heads of RESULT frames. */
#include "gym/pool/result.h"

#include <string.h>

#include "base/json.h"
#include "gym/kgym.h"
#include "gym/pool/channel.h"

#define NAME_MOST    256         /* bytes of a verdict, a reason, the name of a reward */
#define MESSAGE_MOST (64u << 10) /* of a message */

static json_t *text(const char *s)
{
    return s ? kg_json_text(s, strlen(s)) : json_null();
}

static json_t *rewards_of(const struct kg_record *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->nrewards; i++) {
        json_array_append_new(list, json_pack("[s, f]", r->rewards[i].name, r->rewards[i].value));
    }
    return list;
}

json_t *kg_result_of_record(int64_t id, const struct kg_record *r)
{
    const char *message = r->has_error ? r->error.message : r->message;
    bool trusted = r->has_speedup && r->timing.status == KG_T_MEASURED;
    json_t *speedup = trusted ? json_pack("[o, o, o]", kg_json_real(r->speedup.ratio),
                                          kg_json_real(r->speedup.lo), kg_json_real(r->speedup.hi))
                              : json_null();
    return json_pack("{s:I, s:i, s:o, s:o, s:i, s:o, s:i, s:o, s:o}", "id", (json_int_t)id, "kind",
                     KGYM_EVALUATE, "verdict", text(kg_verdict_name(r->verdict)), "reason",
                     text(r->reason), "error", r->has_error ? r->error.code : KG_OK, "message",
                     text(message), "correct", r->correct, "speedup", speedup, "rewards",
                     rewards_of(r));
}

json_t *kg_result_of_check(int64_t id, const json_t *json)
{
    bool fit = json_is_true(json_object_get(json, "pass"));
    return json_pack("{s:I, s:i, s:s, s:i, s:i}", "id", (json_int_t)id, "kind", KGYM_CHECK,
                     "verdict", fit ? "fit" : "defect", "error", KG_OK, "correct", -1);
}

static bool claim_int(const json_t *claim, const char *key, int64_t lo, int64_t hi, json_t *out)
{
    json_t *v = json_object_get(claim, key);
    return json_is_integer(v) && json_integer_value(v) >= lo && json_integer_value(v) <= hi &&
           json_object_set(out, key, v) == 0;
}

static bool claim_text(const json_t *claim, const char *key, size_t most, json_t *out)
{
    json_t *v = json_object_get(claim, key);
    if (!v || json_is_null(v)) {
        return true;
    }
    return json_is_string(v) && json_string_length(v) <= most && json_object_set(out, key, v) == 0;
}

static bool claim_speedup(const json_t *claim, json_t *out)
{
    json_t *v = json_object_get(claim, "speedup");
    if (!v || json_is_null(v)) {
        return true;
    }
    bool good = json_is_array(v) && json_array_size(v) == 3;
    for (size_t i = 0; good && i < 3; i++) {
        good = json_is_number(json_array_get(v, i)) || json_is_null(json_array_get(v, i));
    }
    return good && json_object_set(out, "speedup", v) == 0;
}

static bool claim_rewards(const json_t *claim, json_t *out)
{
    json_t *v = json_object_get(claim, "rewards");
    if (!v) {
        return true;
    }
    bool good = json_is_array(v) && json_array_size(v) <= KG_MAX_REWARDS;
    for (size_t i = 0; good && i < json_array_size(v); i++) {
        const json_t *pair = json_array_get(v, i), *name = json_array_get(pair, 0);
        good = json_array_size(pair) == 2 && json_is_string(name) &&
               json_string_length(name) <= NAME_MOST && json_is_number(json_array_get(pair, 1));
    }
    return good && json_object_set(out, "rewards", v) == 0;
}

json_t *kg_result_of_claim(const json_t *task, const json_t *claim)
{
    int64_t id = kg_frame_int(task, "id"), kind = kg_frame_int(task, "kind");
    json_t *out = json_object();
    bool good = claim_int(claim, "id", id, id, out) && claim_int(claim, "kind", kind, kind, out) &&
                claim_int(claim, "error", KG_OK, KG_E_FULL, out) &&
                claim_int(claim, "correct", -1, 1, out) &&
                claim_text(claim, "verdict", NAME_MOST, out) &&
                claim_text(claim, "reason", NAME_MOST, out) &&
                claim_text(claim, "message", MESSAGE_MOST, out) && claim_speedup(claim, out) &&
                claim_rewards(claim, out);
    if (!good || (kg_frame_int(out, "error") != KG_OK && kg_frame_text(out, "verdict"))) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* A reader of lines may take any control character as the end of one. */
static bool is_one_line(const char *text, size_t len)
{
    unsigned controls = 0;
    for (size_t i = 0; i < len; i++) {
        controls += (unsigned char)text[i] < 0x20;
    }
    return controls == 0;
}

static bool fits(const char *body, size_t len)
{
    size_t marks = 0;
    bool in_string = false;
    for (size_t i = 0; i < len && len <= KG_POOL_RECORD_MAX; i++) {
        char c = body[i];
        if (in_string && c == '\\') {
            i++;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string) {
            marks += c == ',' || c == ':' || c == '[' || c == '{';
        }
    }
    return len <= KG_POOL_RECORD_MAX && marks <= KG_POOL_MARKS_MAX;
}

bool kg_result_is_record(const char *body, size_t len)
{
    struct kg_err ignored = KG_ERR_INIT;
    json_t *j = NULL;
    bool good = fits(body, len) && is_one_line(body, len) &&
                kg_json_parse(body, len, "record", &j, &ignored) == KG_OK && json_is_object(j);
    json_decref(j);
    return good;
}

static void error_of_check(const json_t *task, const struct kg_err *e, struct kg_buf *body)
{
    json_t *j =
        json_pack("{s:o, s:n, s:{s:s, s:s, s:o}}", "problem", text(kg_frame_text(task, "problem")),
                  "pass", "error", "code", kg_code_name(e->code), "blame", kg_blame_name(e->blame),
                  "message", text(e->message));
    if (json_is_true(json_object_get(task, "lacks"))) {
        json_object_set_new(json_object_get(j, "error"), "lacks", json_true());
    }
    kg_json_dump(j, body);
    json_decref(j);
}

static void error_of_record(const char *tag, const struct kg_err *e, bool public_only,
                            struct kg_buf *body)
{
    struct kg_record r;
    struct kg_err ignored = KG_ERR_INIT;
    kg_record_init(&r);
    if (kg_ulid_new(r.id, &ignored) != KG_OK) {
        r.id[0] = 0;
    }
    r.batch_id = tag;
    kg_record_error(&r, e);
    json_t *j = kg_record_json(&r, public_only);
    kg_json_dump(j, body);
    json_decref(j);
    kg_record_deinit(&r);
}

json_t *kg_result_of_error(const json_t *task, const struct kg_err *e, bool public_only,
                           struct kg_buf *body)
{
    int kind = (int)kg_frame_int(task, "kind");
    if (kind == KGYM_CHECK) {
        error_of_check(task, e, body);
    } else {
        error_of_record(kg_frame_text(task, "tag"), e, public_only, body);
    }
    return json_pack("{s:I, s:i, s:n, s:n, s:i, s:o, s:i}", "id",
                     (json_int_t)kg_frame_int(task, "id"), "kind", kind, "verdict", "reason",
                     "error", e->code, "message", text(e->message), "correct", -1);
}

json_t *kg_result_within(const json_t *task, json_t *head, bool public_only, struct kg_buf *body)
{
    struct kg_err e = KG_ERR_INIT;
    if (kg_buf_ok(body) && fits(body->data, body->len)) {
        return head;
    }
    json_decref(head);
    kg_buf_reset(body);
    kg_fail(&e, KG_E_LIMIT,
            "the task's record has more than %u MiB or %u values, or there is no "
            "memory for it",
            KG_POOL_RECORD_MAX >> 20, KG_POOL_MARKS_MAX);
    return kg_result_of_error(task, &e, public_only, body);
}
