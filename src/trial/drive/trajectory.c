/* Puts a turn and a conversation into JSON. */
#include "trial/drive/trajectory.h"

#include <string.h>

#include "base/json.h"

static json_t *text(const char *s)
{
    return s != NULL ? kg_json_text(s, strlen(s)) : json_null();
}

static json_t *text_or_null(const char *s)
{
    return text(s != NULL && s[0] != '\0' ? s : NULL);
}

static json_t *extra_of(const struct tr_reply *r)
{
    json_t *x =
        json_pack("{s:I, s:I, s:f}", "tokens_in", (json_int_t)r->usage.tokens_in, "tokens_out",
                  (json_int_t)r->usage.tokens_out, "seconds", r->usage.seconds);
    if (r->reasoning != NULL) {
        json_object_set_new(x, "reasoning", kg_json_text(r->reasoning, r->reasoning_len));
    }
    if (r->finish == TR_FILTER) {
        json_object_set_new(x, "finish", json_string(tr_finish_name(TR_FILTER)));
    }
    return x;
}

json_t *tr_trajectory_turn(const struct tr_turn *t, const char *feedback)
{
    json_t *rewards = t->rewards != NULL ? json_incref(t->rewards) : json_object();
    return json_pack("{s:I, s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "turn",
                     (json_int_t)t->turn, "reply", kg_json_text(t->reply->text, t->reply->len),
                     "finish", tr_finish_name(t->reply->finish == TR_LENGTH ? TR_LENGTH : TR_STOP),
                     "record", text_or_null(t->record_hash), "verdict", t->verdict, "reason",
                     text(t->reason), "speedup", kg_json_real(t->speedup), "speedup_lo",
                     kg_json_real(t->speedup_lo), "coverage", kg_json_real(t->coverage), "rewards",
                     rewards, "feedback", text(feedback), "shared", t->shared, "extra",
                     extra_of(t->reply));
}

json_t *tr_trajectory(const struct tr_trajectory *t)
{
    size_t n = json_array_size(t->turns);
    KG_ASSERT(n > 0);
    json_object_set_new(json_array_get(t->turns, n - 1), "feedback", json_null());
    json_t *problem =
        json_pack("{s:o, s:s, s:o}", "name", text(t->problem->name), "hash", t->problem->hash,
                  "level", t->problem->level > 0 ? json_integer(t->problem->level) : json_null());
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:s, s:o}", "schema",
                     "kgym.trajectory/1", "id", text(t->id), "group", text(t->group), "problem",
                     problem, "configuration", t->configuration, "source", "bench", "system",
                     text(t->system), "prompt", text(t->prompt), "turns", t->turns, "end", t->end,
                     "extra", t->extra != NULL ? t->extra : json_object());
}
