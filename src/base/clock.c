#include "base/clock.h"

#include <stdatomic.h>

static _Atomic int64_t wall_offset_ms;

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
