/* What every bench prints with its numbers: the host, and one JSON line that a reader can keep. */
#ifndef KG_BENCH_HOST_H
#define KG_BENCH_HOST_H

#include <jansson.h>

/* {cpu, cores, kernel, compiler, kgym, date}. New reference. */
json_t *kg_bench_host(void);
/* Prints `{"bench": name, "host": {...}, "result": {...}}` on one line; steals result. */
void kg_bench_json(const char *name, json_t *result);

#endif
