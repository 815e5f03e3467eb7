/* Heads of RESULT frames. */
#include "gym/pool/result.h"

#include <math.h>
#include <string.h>

#include "gym/kgym.h"
#include "gym/pool/channel.h"

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
    json_t *speedup = r->has_speedup
                          ? json_pack("[f, f, f]", r->speedup.ratio, r->speedup.lo, r->speedup.hi)
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
