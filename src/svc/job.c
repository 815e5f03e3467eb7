/* Jobs as plain data. */
#include "svc/job.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"

static const char *const states[KG_SVC_STATES] = {"waiting", "running", "done", "cancelled",
                                                  "dead"};
static const char *const priorities[KG_SVC_PRIORITIES] = {"high", "normal", "low"};

static bool parse(const char *name, const char *const *names, int n, int *out)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

const char *kg_svc_state_name(enum kg_svc_state s)
{
    return states[s];
}

bool kg_svc_state_parse(const char *name, enum kg_svc_state *out)
{
    int at = 0;
    bool known = parse(name, states, KG_SVC_STATES, &at);
    *out = (enum kg_svc_state)at;
    return known;
}

const char *kg_svc_priority_name(enum kg_svc_priority p)
{
    return priorities[p];
}

bool kg_svc_priority_parse(const char *name, enum kg_svc_priority *out)
{
    int at = 0;
    bool known = parse(name, priorities, KG_SVC_PRIORITIES, &at);
    *out = (enum kg_svc_priority)at;
    return known;
}

void kg_svc_job_init(struct kg_svc_job *job)
{
    memset(job, 0, sizeof *job);
    kg_arena_init(&job->arena, "job", (size_t)KG_SVC_TASK_MAX + (1u << 20));
    job->key = job->device = job->configuration = job->problem = job->task = job->batch = "";
    job->worker = job->verdict = job->reason = job->error = job->blame = job->message = "";
    job->priority = KG_SVC_NORMAL;
}

void kg_svc_job_deinit(struct kg_svc_job *job)
{
    kg_arena_deinit(&job->arena);
}

enum kg_code kg_svc_job_keep(struct kg_svc_job *job, const char **field, const char *text, size_t n,
                             struct kg_err *err)
{
    const char *copy = n > 0 ? kg_arena_dup(&job->arena, text, n, err) : "";
    if (copy == NULL) {
        return err->code;
    }
    *field = copy;
    return KG_OK;
}

bool kg_svc_job_was_lost(const struct kg_svc_job *job)
{
    bool done =
        job->state == KG_SVC_DONE && job->error[0] != '\0' && strcmp(job->blame, "candidate") != 0;
    return (done || job->state == KG_SVC_DEAD || job->state == KG_SVC_CANCELLED) &&
           strcmp(job->blame, "problem") != 0;
}

void kg_svc_lane_name(const struct kg_svc_job *job, char out[KG_SHA256_HEX])
{
    struct kg_sha256 h;
    kg_sha256_begin(&h);
    kg_sha256_part(&h, job->device, strlen(job->device));
    kg_sha256_part(&h, job->configuration, strlen(job->configuration));
    kg_sha256_part(&h, job->problem, strlen(job->problem));
    kg_sha256_end(&h, out);
}

static _Atomic int64_t wall_less_monotonic_ms;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_zero(void)
{
    wall_less_monotonic_ms = kg_clock_wall_ms() - kg_clock_ns() / 1000000;
}

int64_t kg_svc_now_ms(void)
{
    pthread_once(&once, set_zero);
    return wall_less_monotonic_ms + kg_clock_ns() / 1000000;
}

void kg_svc_now_is(int64_t ms)
{
    pthread_once(&once, set_zero);
    wall_less_monotonic_ms = ms - kg_clock_ns() / 1000000;
}
