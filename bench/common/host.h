/* What the benches share: one JSON line with host facts that a reader can keep, a folder of their
 * own below /tmp that is gone when they end, and batches judged by the kgym beside them, taken
 * apart by stage. A bench that cannot measure says why on stderr and ends with status 2: half a
 * result is none. One thread. */
#ifndef KG_BENCH_HOST_H
#define KG_BENCH_HOST_H

#include <sys/types.h>

#include "base/json.h"
#include "gym/record/record.h"

/* {cpu, cores, kernel, compiler, kgym, date, load_1_min at the start of the bench}. New reference.
 */
json_t *kg_bench_host(void);
/* Prints `{"bench": name, "host": {...}, "result": {...}}` on one line; steals result. */
void kg_bench_json(const char *name, json_t *result);

/* Ends the bench with status 2 and the message unless ok. */
void kg_bench_need(bool ok, const char *fmt, ...) KG_PRINTF(2, 3);
void kg_bench_need_ok(enum kg_code code, const struct kg_err *err);
/* A whole number from least to most in argument i, or usual if there are fewer. */
int kg_bench_count(int argc, char **argv, int i, int least, int most, int usual);

const char *kg_bench_folder(void); /* made on first use, removed at exit */
const char *kg_bench_build(void);  /* $KGYM_BUILD, else the folder above the bench's own */
const char *kg_bench_tree(void);   /* $KGYM_TREE, else two folders above that */
void kg_bench_write(const char *name, const char *text, size_t n); /* into the folder */
/* gcc alone, as a candidate is compiled: NAME.c of the folder to NAME.so. Returns its pid. */
pid_t kg_bench_gcc_start(const char *name);
/* No GPU, no measurement: a number from anywhere else would be quoted as one. Ends the bench unless
 * device is a GPU with a clock that counts; prints what it is, and returns its name (static). */
const char *kg_bench_need_gpu(const char *device);
/* A template's text: every occurrence of word, which it must have, becomes the number. */
void kg_bench_fill(struct kg_buf *text, const char *word, int value);
/* A line of a batch whose candidate, or reply, is text. */
void kg_bench_line(struct kg_buf *lines, int number, const char *problem, const char *kind,
                   const char *text);

struct kg_bench_batch {
    const char *in, *out; /* names in the folder; out is made anew */
    int jobs;
    const char *const *set; /* key=value, NULL-terminated; they come after cache=none */
};
/* `kgym eval --batch`, its progress thrown away; its trace in OUT.trace of $KGYM_BENCH_TRACE, a
 * folder, if that is set. */
pid_t kg_bench_batch_start(const struct kg_bench_batch *b);
/* Start to end in seconds; ends the bench if it failed. The records are kept beside the trace, too.
 */
double kg_bench_batch_run(const struct kg_bench_batch *b);

/* What the records of a batch say. */
struct kg_bench_tally {
    int n, errors, verdict[KG_V_COUNT];
    double stage_ms[KG_ST_COUNT]; /* mean over all records; 0 where a stage did not run */
    double steady_per_s; /* the second half, by the ids' clock: without the start of workers,
                            and the building of references */
};
/* look at every record of a batch's output. */
void kg_bench_records_of(const char *path, void (*look)(const json_t *record, void *ctx),
                         void *ctx);
/* The same of one in the folder. */
void kg_bench_records(const char *out, void (*look)(const json_t *record, void *ctx), void *ctx);
void kg_bench_tally(const char *out, struct kg_bench_tally *t);
/* {stage: ms}. New reference. */
json_t *kg_bench_stages(const struct kg_bench_tally *t);
/* Stages as rows, and a row for what an evaluation costs besides; n columns. rest_ms[i] is that of
 * column i. Each cell: milliseconds and share of the column. */
void kg_bench_print_stages(const char *const *head, const struct kg_bench_tally *t,
                           const double *rest_ms, int n);

#endif
