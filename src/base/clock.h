/* Time. Durations and deadlines use the monotonic clock only; the wall clock is for ids and for
 * showing dates, so a wall clock that jumps never changes a verdict (tests inject jumps). */
#ifndef KG_BASE_CLOCK_H
#define KG_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t kg_clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Milliseconds since 1970. */
int64_t kg_clock_wall_ms(void);
/* Tests: add offset_ms to kg_clock_wall_ms(). */
void kg_clock_wall_inject(int64_t offset_ms);

#endif
