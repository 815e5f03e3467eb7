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

/* For loops that wait in short slices. One wait began at since_ns and was to take asked_ns at most.
 * If it took a second more, this process stood still: it was stopped, or its container or virtual
 * machine was paused. Returns the time lost, by which the loop moves its deadline; else 0. */
int64_t kg_clock_lost(int64_t since_ns, int64_t asked_ns);
/* The sum of what kg_clock_lost() returned in this process. By all threads. */
int64_t kg_clock_lost_ns(void);

/* Milliseconds since 1970. */
int64_t kg_clock_wall_ms(void);
/* Tests: add offset_ms to kg_clock_wall_ms(). */
void kg_clock_wall_inject(int64_t offset_ms);

#endif
