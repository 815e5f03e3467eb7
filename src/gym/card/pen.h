/* Text for a terminal within a width: nothing that goes through a pen is ever wider, and model text
 * can't move the cursor (control characters and direction overrides are replaced). In ASCII mode
 * everything beyond ASCII becomes `?`. Owner: the caller. Not thread safe. */
#ifndef KG_GYM_CARD_PEN_H
#define KG_GYM_CARD_PEN_H

#include "base/term.h"

struct kg_pen {
    struct kg_buf *out;
    bool colour, ascii;
    int width;
    int column; /* where the next character goes */
};

/* Append to the current line; what does not fit is cut and marked with an ellipsis. Newlines and
 * tabs become blanks. */
void kg_pen_put(struct kg_pen *p, enum kg_style style, const char *text);
void kg_pen_putf(struct kg_pen *p, enum kg_style style, const char *fmt, ...) KG_PRINTF(3, 4);
/* Append word by word, going on at column indent of the next line where a word does not fit; words
 * wider than a line are split. Starts with a blank unless at column indent. */
void kg_pen_wrap(struct kg_pen *p, enum kg_style style, int indent, const char *text);
void kg_pen_wrapf(struct kg_pen *p, enum kg_style style, int indent, const char *fmt, ...)
    KG_PRINTF(4, 5);
/* Blanks up to a column (none when already there). */
void kg_pen_to(struct kg_pen *p, int column);
void kg_pen_line(struct kg_pen *p); /* end the line */
/* One of two spellings. */
const char *kg_pen_pick(const struct kg_pen *p, const char *unicode, const char *ascii);

#endif
