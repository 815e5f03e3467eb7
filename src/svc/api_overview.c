/* Counts for the dashboard: how the jobs ended, at which rate, and what is the fastest of each
 * problem. The store keeps them, so nothing is counted here. */
#include <string.h>

#include "svc/api_private.h"

static bool add_tally(void *ctx, const struct kg_svc_tally *t)
{
    json_array_append_new(ctx, json_pack("{s:o, s:o, s:o, s:I}", "verdict",
                                         kg_json_text(t->verdict, strlen(t->verdict)), "reason",
                                         kg_json_text(t->reason, strlen(t->reason)), "stage",
                                         kg_json_text(t->stage, strlen(t->stage)), "n",
                                         (json_int_t)t->n));
    return true;
}

void kg_svc_get_overview(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    struct kg_svc_stats s;
    int64_t now = kg_svc_now_ms(), minutes[KG_SVC_MINUTES];
    json_t *tallies = json_array();
    if (a->store->kind->stats(a->store, &s, &err) != KG_OK ||
        a->store->kind->tallies(a->store, add_tally, tallies, &err) != KG_OK ||
        a->store->kind->minutes(a->store, now, minutes, &err) != KG_OK) {
        json_decref(tallies);
        kg_svc_answer_error(x, &err, "");
        return;
    }
    json_t *jobs = json_object(), *done = json_array();
    for (int i = 0; i < KG_SVC_STATES; i++) {
        json_object_set_new(jobs, kg_svc_state_name((enum kg_svc_state)i), json_integer(s.jobs[i]));
    }
    for (int i = KG_SVC_MINUTES; i-- > 0;) {
        json_array_append_new(done, json_integer(minutes[i]));
    }
    kg_svc_reply_json(x, 200,
                      json_pack("{s:o, s:I, s:f, s:I, s:I, s:I, s:o, s:o}", "jobs", jobs, "lanes",
                                (json_int_t)s.lanes, "oldest_waiting_s",
                                s.oldest_ms > 0 ? (double)(now - s.oldest_ms) / 1000 : 0.0,
                                "claims_expired", (json_int_t)s.expired, "answers_refused",
                                (json_int_t)s.refused, "last_event", (json_int_t)s.last_event,
                                "ends", tallies, "done_per_minute", done));
}

static bool add_best(void *ctx, const struct kg_svc_best *b)
{
    bool timed = b->id[0] != '\0';
    json_array_append_new(ctx, json_pack("{s:s, s:I, s:I, s:o, s:o}", "problem", b->problem, "done",
                                         (json_int_t)b->done, "ok", (json_int_t)b->ok, "speedup",
                                         timed ? json_real(b->speedup) : json_null(), "id",
                                         timed ? json_string(b->id) : json_null()));
    return true;
}

void kg_svc_get_bests(struct kg_svc_exchange *x, void *ctx)
{
    struct kg_svc_api *a = ctx;
    struct kg_err err = KG_ERR_INIT;
    json_t *list = json_array();
    if (a->store->kind->bests(a->store, add_best, list, &err) != KG_OK) {
        json_decref(list);
        kg_svc_answer_error(x, &err, "");
        return;
    }
    kg_svc_reply_json(x, 200, json_pack("{s:o}", "problems", list));
}
