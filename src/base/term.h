/* What a person sees on a terminal: colours (only on a terminal, never with NO_COLOR or
 * TERM=dumb), width, and a progress bar with rate and time left that becomes plain lines (at most
 * one per second) when the stream is not a terminal. */
#ifndef KG_BASE_TERM_H
#define KG_BASE_TERM_H

#include <stdio.h>

#include "base/buf.h"

enum kg_style { KG_PLAIN, KG_BOLD, KG_DIM, KG_RED, KG_GREEN, KG_YELLOW, KG_BLUE, KG_CYAN };

bool kg_term_tty(FILE *f); /* a terminal that can move its cursor */
bool kg_term_colour(FILE *f);
int kg_term_width(FILE *f); /* 80 when unknown; 40..200 */
/* Append s to out in a style; no escape codes when colour is false. s is text, possibly a model's:
 * control characters but newline and tab, overrides of the writing direction and invalid UTF-8 are
 * shown as U+FFFD, so that it cannot drive the terminal. */
void kg_term_add(struct kg_buf *out, bool colour, enum kg_style style, const char *s);
/* The same, plain and on the line: line breaks and tabs are spaces. */
void kg_term_add_line(struct kg_buf *out, const char *s);
/* Display columns of UTF-8 text (wide characters count 2, escapes 0, combining marks 0). */
size_t kg_term_columns(const char *s);

struct kg_progress {
    FILE *out;
    const char *label;
    int64_t total, done, start_ns, shown_ns;
    int64_t kept; /* of done: was there before, so the rate leaves it out; the caller may set it */
    bool tty;
};
void kg_progress_init(struct kg_progress *p, FILE *out, const char *label, int64_t total);
void kg_progress_step(struct kg_progress *p, int64_t done, const char *note); /* note may be NULL */
void kg_progress_end(struct kg_progress *p);

#endif
