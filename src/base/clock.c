#include "base/clock.h"

#include <stdatomic.h>

/* Longer than a busy host keeps a process waiting for its core, shorter than a pause that matters.
 */
#define PAUSE_NS 1000000000

static _Atomic int64_t wall_offset_ms, lost_ns;

int64_t kg_clock_lost(int64_t since_ns, int64_t asked_ns)
{
    int64_t more = kg_clock_ns() - since_ns - asked_ns;
    if (more <= PAUSE_NS) {
        return 0;
    }
    atomic_fetch_add(&lost_ns, more);
    return more;
}

int64_t kg_clock_lost_ns(void)
{
    return atomic_load(&lost_ns);
}

int64_t kg_clock_wall_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000 + atomic_load(&wall_offset_ms);
}

void kg_clock_wall_inject(int64_t offset_ms)
{
    atomic_store(&wall_offset_ms, offset_ms);
}
