/* A run of `kgym train` that is watched: its lines of metrics.jsonl while they come, and the
 * resident memory of its process. One thread; a run that fails ends the bench. */
#ifndef KG_BENCH_TRAIN_RUN_H
#define KG_BENCH_TRAIN_RUN_H

#include "base/json.h"

struct kg_bench_train {
    const char *folder;     /* of the run, in the bench's own folder; made by the run */
    const char *config;     /* file, below the tree */
    const char *const *set; /* key=value, NULL-terminated */
    /* Called for each line once it is there; rss_kb is that of the moment. */
    void (*line)(const json_t *line, long rss_kb, void *ctx);
    void *ctx;
};

/* Runs to the end. The run's terminal goes to FOLDER.txt, which is printed if it fails. */
void kg_bench_train_run(const struct kg_bench_train *t);
/* Number of a line, or 0. */
double kg_bench_train_number(const json_t *line, const char *key);

#endif
