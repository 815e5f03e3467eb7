/* Reading the files of a run: JSON objects, one a line, as a stream. A line that is no object, or
 * is longer than RL_LINE_MAX, is left out and named by a note; nothing is guessed. Members of
 * another type than asked for are as good as missing. Not thread safe. */
#ifndef KG_RL_PAGE_LINES_H
#define KG_RL_PAGE_LINES_H

#include <stdio.h>

#include "base/json.h"

enum { RL_LINE_MAX = 4 << 20, RL_NOTES = 16 };

struct rl_notes {
    char text[RL_NOTES][240];
    int n, more; /* more: notes that found no room */
};
void rl_note(struct rl_notes *notes, const char *fmt, ...) KG_PRINTF(2, 3);

struct rl_lines {
    FILE *file;
    const char *name; /* for notes */
    struct kg_buf line;
    int64_t at, end;     /* bytes in the file before the line that was read last, and after it */
    long number;         /* of the line that was read last, from 1 */
    long used, bad, cut; /* objects; lines that are none; 1: the last line has no end */
    struct rl_notes *notes;
};
/* False: the file is not there, or cannot be read (noted). name must outlive it. */
bool rl_lines_open(struct rl_lines *l, const char *folder, const char *name,
                   struct rl_notes *notes);
/* The next line that is a JSON object, NULL at the end. The caller owns it. */
json_t *rl_lines_next(struct rl_lines *l);
/* The line that begins at a byte of the file, as `at` said; NULL: it is no object any more. The
 * caller owns it. A call of rl_lines_next then goes on behind it. */
json_t *rl_lines_again(struct rl_lines *l, int64_t at);
void rl_lines_close(struct rl_lines *l); /* notes how many lines were left out */

/* NaN where the member is no number; "" where it is no string; -1 where it is no integer. */
double rl_json_real(const json_t *o, const char *key);
const char *rl_json_text(const json_t *o, const char *key);
long rl_json_int(const json_t *o, const char *key);

#endif
