/* What monitoring reads: durations of stages as histograms, and the text of /metrics as Prometheus
 * takes it (format 0.0.4). Pure.
 *
 * Counters of the store have names of words between colons: "event:TYPE", "event:finished:OUTCOME"
 * (store.h), and of this module "time:STAGE:I", the records whose stage took at most bound I, and
 * "time:STAGE:us", their sum. A stage `evaluation` is the whole: setup and all stages. Ownership:
 * whoever calls. Threads: calls are independent. */
#ifndef KG_SVC_METRICS_H
#define KG_SVC_METRICS_H

#include "base/json.h"
#include "svc/store.h"

enum { KG_SVC_TIMES = 8, KG_SVC_BOUNDS = 12, KG_SVC_NAME_MAX = 104 };

struct kg_svc_times {
    int64_t n[KG_SVC_TIMES][KG_SVC_BOUNDS + 1]; /* the last one: above all bounds */
    int64_t sum_us[KG_SVC_TIMES];
    bool any;
};

/* Adds the stages of a record (kgym.record/1) that ran. Numbers that are none are left out. */
void kg_svc_times_add(struct kg_svc_times *t, const json_t *record);
/* As counters for tally(): calls each for those that are not 0. */
void kg_svc_times_each(const struct kg_svc_times *t, kg_svc_on_count *each, void *ctx);

struct kg_svc_seen {
    char name[KG_SVC_NAME_MAX];
    int64_t n;
};

/* Counters of the store. Zeroed: none. */
struct kg_svc_counted {
    struct kg_svc_seen *list; /* [n] */
    size_t n, cap;
};
/* A kg_svc_on_count over it. A name that is too long is left out. */
bool kg_svc_counted_add(void *counted, const char *name, int64_t n);
int64_t kg_svc_counted_get(const struct kg_svc_counted *c, const char *name); /* 0: not there */
void kg_svc_counted_deinit(struct kg_svc_counted *c);

struct kg_svc_requests { /* answers of one route with one status */
    const char *method, *route;
    int status; /* 0: the client had gone */
    int64_t n;
};

struct kg_svc_view {
    struct kg_svc_stats stats;
    struct kg_svc_counted counted;
    const struct kg_svc_requests *requests; /* [nrequests] of this process */
    size_t nrequests;
    int64_t in_bytes, out_bytes; /* bodies, of this process */
    int64_t open;                /* exchanges */
    int64_t now_ms, begun_ms;
    const char *store;
};

void kg_svc_metrics_text(const struct kg_svc_view *v, struct kg_buf *out);

#endif
