/* Claims: which slots ask, and what comes of an answer.
 *
 * An idle slot asks, and the claim waits until there is a job. A slot whose evaluations are short
 * would be idle most of the time then, as each claim is a round trip and a sync of the store. So
 * once no slot is idle, such slots claim ahead, without waiting: as many jobs as they will have
 * begun within AHEAD_MS. Other workers lose nothing by it, as their idle slots' claims, which wait,
 * have been served first. What has not begun after HAND_BACK_MS, because an evaluation took longer
 * than those before, goes back to the service. Nothing is claimed while many answers have not been
 * heard: their records are in memory here. */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "svc/lanes.h"
#include "svc/worker_private.h"

enum { CLAIM_WAIT_S = 20, AHEAD_MS = 250, AHEAD_MOST = 16, HAND_BACK_MS = 500 };

/* --- jobs that wait here --- */

static void enter(struct kg_svc_claimed *c, int slot)
{
    c->slot = slot;
    c->worker->slot[slot].waiting++;
}

void kg_svc_worker_leave_slot(struct kg_svc_claimed *c)
{
    if (c->waiting != NULL) {
        c->worker->slot[c->slot].waiting--;
        json_decref(c->waiting);
        c->waiting = NULL;
    }
}

static void start(struct kg_svc_claimed *c)
{
    struct kg_svc_worker *w = c->worker;
    struct kg_err err = KG_ERR_INIT;
    json_t *v = json_incref(c->waiting);
    double deadline = json_number_value(json_object_get(v, "deadline_s"));
    kg_svc_worker_leave_slot(c);
    w->slot[c->slot].busy = true;
    w->slot[c->slot].began_ns = c->began_ns = kg_clock_ns();
    if (deadline > 0) {
        double left = deadline - 1e-9 * (double)(c->began_ns - c->came_ns);
        deadline = left > 0.01 ? left : 0.01;
    }
    struct kg_svc_pool *p = kg_svc_pool_for(w, c->slot, json_object_get(v, "configuration"), &err);
    if (p != NULL &&
        kg_svc_pool_submit(p, json_object_get(v, "task"), deadline, &c->task, &err) == KG_OK) {
        c->pool = p;
    } else {
        kg_svc_worker_fail_attempt(c,
                                   kg_svc_worker_error(kg_code_name(err.code), "gym", err.message));
    }
    json_decref(v);
}

/* The job that has waited here for longest, of this slot's; else of one that waits for another slot
 * of the device, and is of the problem that this one holds. NULL: none. */
static struct kg_svc_claimed *oldest(struct kg_svc_worker *w, int slot)
{
    struct kg_svc_claimed *own = NULL, *other = NULL;
    for (struct kg_svc_claimed *c = w->held; c != NULL; c = c->next) { /* the newest is first */
        if (c->waiting == NULL) {
            continue;
        }
        if (c->slot == slot) {
            own = c;
        } else if (w->slot[c->slot].device == w->slot[slot].device &&
                   strcmp(c->lane, w->slot[slot].lane) == 0) {
            other = c;
        }
    }
    return own != NULL ? own : other;
}

void kg_svc_worker_go_on(struct kg_svc_worker *w)
{
    for (int i = 0; i < w->nslots && !w->stopping; i++) {
        struct kg_svc_claimed *c = w->slot[i].busy ? NULL : oldest(w, i);
        if (c != NULL) {
            w->slot[c->slot].waiting--;
            enter(c, i);
            start(c);
        }
    }
    kg_svc_worker_claim(w);
}

void kg_svc_worker_hand_back(struct kg_svc_worker *w)
{
    int64_t now = kg_clock_ns();
    for (struct kg_svc_claimed *c = w->held, *next; c != NULL; c = next) {
        next = c->next;
        if (c->waiting != NULL && now - c->came_ns > HAND_BACK_MS * INT64_C(1000000)) {
            kg_svc_worker_end_attempt(c, "handed_back", json_object());
        }
    }
}

void kg_svc_worker_took(struct kg_svc_claimed *c)
{
    int64_t took = kg_clock_ns() - c->began_ns, *usual = &c->worker->slot[c->slot].usual_ns;
    *usual = *usual > 0 ? (*usual + took) / 2 : took;
}

/* --- claims --- */

/* A slot takes up another problem. Its turn goes on where that was short: a slot whose problems
 * change with each job would never look for a lane that is due if each change began a turn. */
static void take_up(struct kg_svc_worker *w, int slot, const char *lane)
{
    int64_t now = kg_svc_now_ms(), *since = &w->slot[slot].since_ms;
    snprintf(w->slot[slot].lane, sizeof w->slot[slot].lane, "%s", lane);
    if (*since == 0 || now - *since >= KG_SVC_TURN_MS) {
        *since = now;
    }
}

static void begin(struct kg_svc_worker *w, json_t *v)
{
    struct kg_svc_claimed *c = calloc(1, sizeof *c);
    KG_ASSERT(c != NULL);
    json_int_t slot = json_integer_value(json_object_get(v, "slot"));
    const char *lane = json_string_value(json_object_get(v, "lane"));
    const char *id = json_string_value(json_object_get(v, "id"));
    const char *secret = json_string_value(json_object_get(v, "claim"));
    c->worker = w;
    c->fence = json_integer_value(json_object_get(v, "fence"));
    w->term_ms = json_integer_value(json_object_get(v, "term_ms"));
    const char *needs = json_string_value(json_object_get(v, "needs"));
    c->torch = needs != NULL && strstr(needs, "torch") != NULL;
    c->came_ns = kg_clock_ns();
    c->until_ms = kg_svc_now_ms() + w->term_ms;
    c->canaries = -1;
    snprintf(c->id, sizeof c->id, "%s", id != NULL ? id : "");
    snprintf(c->claim, sizeof c->claim, "%s", secret != NULL ? secret : "");
    c->next = w->held;
    c->link = &w->held;
    if (c->next != NULL) {
        c->next->link = &c->next;
    }
    w->held = c;
    c->waiting = json_incref(v);
    enter(c, slot >= 0 && slot < w->nasked ? w->asked[slot] : 0);
    snprintf(c->lane, sizeof c->lane, "%s", lane != NULL ? lane : "");
    if (lane != NULL && strcmp(lane, w->slot[c->slot].lane) != 0) {
        take_up(w, c->slot, lane);
    }
    if (w->stopping) {
        kg_svc_worker_end_attempt(c, "handed_back", json_object());
    }
}

static void on_claimed(void *ctx, int status, const json_t *answer)
{
    struct kg_svc_worker *w = ctx;
    size_t i;
    json_t *v;
    w->claiming = false;
    if (!kg_svc_worker_heard(w, status)) {
        kg_svc_worker_end_if_done(w);
        return;
    }
    json_t *claims = json_object_get(answer, "claims");
    w->claiming = true; /* slots are claimed for below */
    json_array_foreach(claims, i, v)
    {
        begin(w, v);
    }
    w->claiming = false;
    w->dry = w->ahead && json_array_size(claims) < (size_t)w->nasked;
    kg_svc_worker_go_on(w);
    kg_svc_worker_renew(w);
    kg_svc_worker_end_if_done(w);
}

static void ask(struct kg_svc_worker *w, json_t *slots, int slot)
{
    int64_t since = w->slot[slot].since_ms;
    w->asked[w->nasked++] = slot;
    json_array_append_new(slots, json_pack("{s:s, s:I, s:i}", "lane", w->slot[slot].lane, "held_ms",
                                           (json_int_t)(since > 0 ? kg_svc_now_ms() - since : 0),
                                           "device", w->slot[slot].device));
}

/* How many more jobs a busy slot should have, once it has used up half of what it may have. */
static int ahead(const struct kg_svc_worker *w, int slot)
{
    int64_t usual = w->slot[slot].usual_ns, runs = kg_clock_ns() - w->slot[slot].began_ns;
    if (usual == 0) {
        return 0;
    }
    int64_t most = AHEAD_MS * INT64_C(1000000) / (usual > runs ? usual : runs);
    most = most < AHEAD_MOST ? most : AHEAD_MOST;
    return 2 * w->slot[slot].waiting <= most ? (int)most - w->slot[slot].waiting : 0;
}

void kg_svc_worker_claim(struct kg_svc_worker *w)
{
    if (w->claiming || w->stopping || w->unheard >= KG_SVC_WORKER_UNHEARD) {
        return;
    }
    json_t *slots = json_array();
    w->nasked = 0;
    for (int i = 0; i < w->nslots; i++) {
        if (!w->slot[i].busy && w->slot[i].waiting == 0) {
            ask(w, slots, i);
        }
    }
    w->ahead = w->nasked == 0;
    for (int i = 0; w->ahead && !w->dry && i < w->nslots; i++) {
        for (int n = ahead(w, i); n > 0 && w->nasked < KG_SVC_WORKER_SLOTS; n--) {
            ask(w, slots, i);
        }
    }
    if (w->nasked == 0) {
        json_decref(slots);
        return;
    }
    w->claiming = true;
    kg_svc_client_post(w->claims, "/v1/worker/claim",
                       json_pack("{s:s, s:o, s:o, s:i}", "worker", w->name, "devices",
                                 kg_svc_devices_json(w, false), "slots", slots, "wait_s",
                                 w->ahead ? 0 : CLAIM_WAIT_S),
                       on_claimed, w);
}
