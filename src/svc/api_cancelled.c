/* Running jobs that were cancelled, perhaps through another api process: their workers are told. */
#include <stdlib.h>
#include <string.h>

#include "svc/api_worker.h"

enum { EVENTS_AT_ONCE = 1000 };

struct cancelled {
    char id[EVENTS_AT_ONCE][KG_ULID_LEN];
    size_t n, seen;
    int64_t last;
};

static bool add_cancelled(void *ctx, const struct kg_svc_event *e)
{
    struct cancelled *c = ctx;
    if (strcmp(e->type, "cancelled") == 0) {
        snprintf(c->id[c->n++], KG_ULID_LEN, "%s", e->id);
    }
    c->seen++;
    c->last = e->seq;
    return true;
}

void kg_svc_tell_cancelled(struct kg_svc_api *a, int64_t after)
{
    struct cancelled *c = calloc(1, sizeof *c);
    struct kg_err err = KG_ERR_INIT;
    KG_ASSERT(c != NULL);
    c->last = after;
    do {
        c->n = c->seen = 0;
        enum kg_code code =
            a->store->kind->events(a->store, c->last, NULL, EVENTS_AT_ONCE, add_cancelled, c, &err);
        for (size_t i = 0; i < c->n && code == KG_OK; i++) {
            struct kg_svc_job job;
            kg_svc_job_init(&job);
            code = a->store->kind->get(a->store, c->id[i], false, &job, &err);
            if (code == KG_OK && job.worker[0] != '\0') {
                kg_svc_tell_worker(a, &job);
            }
            kg_svc_job_deinit(&job);
        }
    } while (c->seen == EVENTS_AT_ONCE && err.code == KG_OK);
    free(c);
}
