/* All turns of a run of `kgym bench`, read from its folder alone: run.json, replies.jsonl,
 * records.jsonl, full.jsonl, trajectories.jsonl (trial/drive/folder.h). A run under way, or one
 * that was broken off, is read as far as it is there.
 *
 * Files are read line by line. A line that is torn, malformed, or about a turn that the run does
 * not have is left out, counted, and named in the notes; it is never guessed at. Of records with
 * one key the last counts, tokens of all replies count: they were paid for. Memory: about 200 bytes
 * a turn. Not thread safe. */
#ifndef KG_TRIAL_BENCH_TURNS_H
#define KG_TRIAL_BENCH_TURNS_H

#include "base/buf.h"
#include "base/hash.h"
#include "trial/bench/facts.h"

enum {
    TR_BENCH_NOTES = 8,            /* that are named; all are counted */
    TR_BENCH_MOST_TURNS = 4 << 20, /* problems x samples x turns */
    TR_BENCH_MOST_LINE = 64 << 20  /* bytes; a longer line is left out */
};

enum tr_bench_end {
    TR_BENCH_OPEN,   /* turns that are missing may still come */
    TR_BENCH_DONE,   /* done or full: they will not */
    TR_BENCH_DEFECT, /* the problem is at fault */
};

struct tr_bench_problem {
    char *name;
    size_t place;             /* in run.json, from 0 */
    int level, id;            /* level 0: none */
    char hash[KG_SHA256_HEX]; /* "" */
    bool defect;              /* a record or a conversation says so: left out of all metrics */
    char why[160];            /* of a defect */
};

struct tr_bench_turn {
    struct tr_facts facts;
    bool replied;
    bool cut; /* the reply reached the limit of its length */
    int64_t tokens_in, tokens_out;
};

struct tr_bench {
    char *folder;               /* as it was given */
    json_t *run;                /* run.json */
    const char *suite, *subset; /* in run; subset "": all */
    size_t of;                  /* problems of the whole suite */
    double price_in, price_out; /* per million tokens */
    char device[96];            /* that the records name: of a GPU, else the CPU's; "" */
    bool devices_differ;
    size_t problems, samples, turns;
    struct tr_bench_problem *problem; /* [problems] by level, then in the order of run.json */
    size_t *by_name;                  /* [problems] indices, sorted by name */
    struct tr_bench_turn *turn;       /* [problems][samples][turns] */
    unsigned char *ended;             /* [problems][samples] of enum tr_bench_end */
    const json_t *aside;        /* in run: [{name, why}] that the suite put aside; NULL: none */
    size_t left_out;            /* lines */
    char *note[TR_BENCH_NOTES]; /* "records.jsonl:12: ..."; the first ones, then NULL */
};

/* Errors: KG_E_NOT_FOUND (no folder, no run.json), KG_E_USAGE (a run of another kind), KG_E_INPUT
 * (run.json), KG_E_LIMIT (too many turns), KG_E_IO, KG_E_HOST. After success the caller deinits. */
enum kg_code tr_bench_read(const char *folder, struct tr_bench *out,
                           struct kg_err *err) KG_MUST_USE;
void tr_bench_deinit(struct tr_bench *b);

/* Gives the record of a turn (from 1) of each sample, in the order of the file; of several with one
 * key the last. problem, sample: from 0; record: borrowed, and may be changed. Stops at the first
 * error of take, and returns it. Errors: KG_E_IO, KG_E_HOST. */
typedef enum kg_code tr_bench_take(void *user, size_t problem, size_t sample, json_t *record,
                                   struct kg_err *err);
enum kg_code tr_bench_records(struct tr_bench *b, size_t turn, tr_bench_take *take, void *user,
                              struct kg_err *err) KG_MUST_USE;

static inline struct tr_bench_turn *tr_bench_turn(const struct tr_bench *b, size_t problem,
                                                  size_t sample, size_t turn)
{
    return &b->turn[(problem * b->samples + sample) * b->turns + turn]; /* all from 0 */
}

/* The problem of this name [len]; b->problems: there is none. */
size_t tr_bench_find(const struct tr_bench *b, const char *name, size_t len);

#endif
