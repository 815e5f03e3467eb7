/* One call of a runner: write the words, release, wait, and bring it to rest. */
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "gym/run/drain.h"
#include "gym/run/rest.h"
#include "gym/run/wait.h"

/* Longest sleep in one wait. The drain thread wakes the waiter when the runner dies, so the long
 * slice only covers a wake that came just before the wait. The short one is for hosts without
 * pidfd. The end of a slice disturbs the call, so slices are long. */
#define SLICE_NS       20000000
#define SLICE_BLIND_NS 2000000

enum kg_run_status kg_wait_word(struct kg_runner *r, const _Atomic uint32_t *word, uint32_t until,
                                bool not_equal, int64_t deadline_ns)
{
    for (;;) {
        uint32_t seen = atomic_load_explicit(word, memory_order_acquire);
        if ((seen == until) != not_equal) {
            return KG_RUN_OK;
        }
        if (kg_drain_dead(r->drain) || r->sandbox.pidfd < 0) {
            if (kg_sandbox_poll(&r->sandbox)) {
                seen = atomic_load_explicit(word, memory_order_acquire);
                return (seen == until) != not_equal ? KG_RUN_OK : KG_RUN_DIED;
            }
        }
        int64_t now = kg_clock_ns(), left = deadline_ns - now;
        if (left <= 0 || (r->cancelled && *r->cancelled)) {
            return KG_RUN_TIMEOUT;
        }
        int64_t slice = r->sandbox.pidfd >= 0 ? SLICE_NS : SLICE_BLIND_NS;
        slice = left < slice ? left : slice;
        struct timespec ts = {.tv_sec = 0, .tv_nsec = slice};
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &ts, NULL, 0);
        deadline_ns += kg_clock_lost(now, slice);
    }
}

void kg_wait_wake(const _Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The window: from t0 over release and wait to t1. A runner that was stopped is continued inside
 * it, because only a candidate's own threads make that necessary. */
static enum kg_run_status release(struct kg_runner *r, int64_t deadline_ns, int64_t *window_ns)
{
    uint32_t number = ++r->calls;
    int64_t t0 = kg_clock_ns();
    if (r->frozen) {
        r->frozen = false;
        if (!kg_sandbox_thaw(&r->sandbox)) {
            return KG_RUN_DIED;
        }
    }
    atomic_store_explicit(&r->wire->go, number, memory_order_release);
    kg_wait_wake(&r->wire->go);
    enum kg_run_status status = kg_wait_word(r, &r->wire->done, number, false, deadline_ns);
    *window_ns = kg_clock_ns() - t0;
    return status;
}

void kg_runner_call(struct kg_runner *r, const struct kg_wire_call *call, int64_t deadline_ns,
                    bool faults, struct kg_call_report *out)
{
    *out = (struct kg_call_report){.status = r->status, .faults = -1, .delayed_ns = -1};
    if (r->status != KG_RUN_OK) {
        return;
    }
    /* With another number there the call would be over before it is made. kgym's own runner writes
     * the number of a call that it has read in `go`. */
    if (atomic_load(&r->wire->done) != r->calls) {
        out->status = r->status = KG_RUN_PROTOCOL;
        return;
    }
    memcpy(&r->wire->call, call, sizeof *call);
    struct kg_task_stat before = {0}, after = {0};
    bool counted = faults && kg_rest_stat(r, &before);
    int64_t delay = faults ? kg_rest_delay_ns(r) : -1;
    out->idle_cpu_ns = kg_runner_idle_ns(r);
    int64_t released_cpu_ns = r->idle_from_cpu_ns + out->idle_cpu_ns;
    out->status = release(r, deadline_ns, &out->window_ns);
    if (out->status != KG_RUN_OK) {
        r->status = out->status;
        return;
    }
    out->delayed_ns = delay;
    kg_rest_settle(r, out, &after);
    out->cpu_ns = r->idle_from_cpu_ns - released_cpu_ns;
    if (counted && after.faults >= before.faults) {
        out->faults = after.faults - before.faults;
    }
    int tasks = out->threads > 1 ? out->threads : 1;
    if (out->idle_cpu_ns > r->idle_slack_ns || out->tail_cpu_ns > tasks * KG_TAIL_SLACK_NS ||
        out->unstopped) {
        out->status = KG_RUN_ACTIVE;
    }
}

int64_t kg_runner_idle_ns(struct kg_runner *r)
{
    int64_t now = kg_rest_cpu_ns(r);
    return now > r->idle_from_cpu_ns ? now - r->idle_from_cpu_ns : 0;
}

void kg_runner_rest_again(struct kg_runner *r)
{
    r->idle_from_cpu_ns = kg_rest_cpu_ns(r);
}
