/* A Redis server in the bench's folder, as a store needs it. */
#ifndef KG_BENCH_SVC_REDIS_H
#define KG_BENCH_SVC_REDIS_H

#include <stdbool.h>
#include <sys/types.h>

/* place [n]: its address for --store. False: redis-server is not installed. */
bool kg_bench_redis_start(char *place, int n, pid_t *pid);
void kg_bench_redis_stop(pid_t pid);

#endif
