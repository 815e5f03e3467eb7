/* Private to turns*.c: reading of the files of lines into the turns. */
#ifndef KG_TRIAL_BENCH_TURNS_PARTS_H
#define KG_TRIAL_BENCH_TURNS_PARTS_H

#include <stdio.h>

#include "trial/bench/turns.h"

/* A file of a run that is read into b. */
struct tr_turns_reader {
    struct tr_bench *b;
    const char *file; /* its name in the folder */
    size_t line;      /* from 1 */
    bool quiet;       /* it was read before: notes are there */
    void *user;
};

/* Takes one line; false: it was left out, and a note says why. */
typedef bool tr_turns_take(struct tr_turns_reader *r, json_t *line);

/* Reads all lines of a file; one that is not there has none. Errors: KG_E_IO, KG_E_HOST. */
enum kg_code tr_turns_lines(struct tr_turns_reader *r, tr_turns_take *take,
                            struct kg_err *err) KG_MUST_USE;
/* The same of a stream. */
enum kg_code tr_turns_stream(struct tr_turns_reader *r, FILE *f, tr_turns_take *take,
                             struct kg_err *err) KG_MUST_USE;
/* Leaves the line out, and says so once for each of the first ones. Always false. */
bool tr_turns_leave(struct tr_turns_reader *r, const char *fmt, ...) KG_PRINTF(2, 3);

/* The turn that a member of the line names; NULL: none, and it was left out. turn false: the member
 * names a conversation, whose first turn it is. */
struct tr_bench_turn *tr_turns_place(struct tr_turns_reader *r, const json_t *line,
                                     const char *member, bool turn, size_t *problem);

tr_turns_take tr_turns_reply, tr_turns_record, tr_turns_full, tr_turns_trajectory;

#endif
