/* Why a job waits: no worker, no device that offers what it needs, none that is not put aside, or
 * other jobs come first. */
#include "svc/api_worker.h"

struct reason {
    const char *needs;
    size_t there, serve, aside;     /* devices: of workers that are there; that could; put aside */
    bool met[KG_SVC_NEEDS_MAX + 1]; /* each need by itself, by some device */
};

static void look_at(struct reason *r, const struct kg_svc_api *a, const json_t *device)
{
    const char *words[KG_SVC_WORDS_MAX], *word, *at = r->needs;
    struct kg_svc_offer o;
    if (!kg_svc_offer_read(device, words, &o)) {
        return;
    }
    bool aside = kg_svc_is_aside(a, json_string_value(json_object_get(device, "name")));
    bool serves = kg_svc_offer_serves(&o, r->needs);
    r->there++;
    r->serve += serves && !aside;
    r->aside += serves && aside;
    for (size_t i = 0, n; i <= KG_SVC_NEEDS_MAX && (n = kg_svc_needs_next(&at, &word)) > 0; i++) {
        r->met[i] = r->met[i] || kg_svc_offer_meets(&o, word, n);
    }
}

/* Needs that no device meets; where each is met by some, all: none meets them together. */
static json_t *lacking(const struct reason *r)
{
    for (int all = 0; all < 2; all++) {
        const char *word, *at = r->needs;
        json_t *list = json_array();
        for (size_t i = 0, n; i <= KG_SVC_NEEDS_MAX && (n = kg_svc_needs_next(&at, &word)) > 0;
             i++) {
            if (all || !r->met[i]) {
                json_array_append_new(list, json_stringn(word, n));
            }
        }
        if (json_array_size(list) > 0) {
            return list;
        }
        json_decref(list);
    }
    return json_array();
}

/* Each device of each worker that is there. */
static struct reason look_at_all(struct kg_svc_api *a, const char *needs)
{
    struct reason r = {.needs = needs};
    const char *worker;
    json_t *w, *d;
    size_t i;
    kg_svc_notices_tick(a);
    json_object_foreach(a->workers, worker, w)
    {
        bool there = kg_svc_worker_is_there(w, kg_svc_now_ms());
        json_array_foreach(json_object_get(w, "devices"), i, d)
        {
            if (there) {
                look_at(&r, a, d);
            }
        }
    }
    return r;
}

bool kg_svc_is_served(struct kg_svc_api *a, const char *needs)
{
    struct reason r = look_at_all(a, needs);
    if (r.there == 0) { /* one may have joined since they were read */
        kg_svc_notices_read(a);
        r = look_at_all(a, needs);
    }
    return r.there == 0 || r.serve > 0;
}

json_t *kg_svc_waits_for(struct kg_svc_api *a, const struct kg_svc_job *job)
{
    const struct reason r = look_at_all(a, job->device);
    struct kg_svc_stats s = {.lanes = 0};
    struct kg_err ignored = KG_ERR_INIT;
    (void)!a->store->kind->stats(a->store, &s, &ignored);
    const char *code = r.there == 0  ? "no_worker"
                       : r.serve > 0 ? "turn"
                       : r.aside > 0 ? "aside"
                                     : "no_device";
    const char *message = r.there == 0  ? "no worker has joined"
                          : r.serve > 0 ? "devices that can run it have other jobs first"
                          : r.aside > 0
                              ? "each device that can run it is put aside: GET /v1/devices says why"
                              : "no device of a worker offers what it needs";
    json_t *out = json_pack("{s:s, s:s, s:I, s:I}", "code", code, "message", message, "devices",
                            (json_int_t)r.serve, "waiting", (json_int_t)s.jobs[KG_SVC_WAITING]);
    json_object_set_new(out, "lacks",
                        r.there > 0 && r.serve + r.aside == 0 ? lacking(&r) : json_array());
    return out;
}
