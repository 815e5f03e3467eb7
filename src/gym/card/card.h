/* The verdict card: one record as a person reads it on a terminal: verdict with its message, the
 * funnel, the error in its context, the first mismatch, the speed-up with its interval and a
 * histogram of the pairs, evidence, isolation, rewards. For the gym's owner: it shows secret values
 * and positions, and must not be sent to a model. Never wider than the width; text of the model
 * can't move the cursor. Pure but for the locale (kg_card_unicode). */
#ifndef KG_GYM_CARD_CARD_H
#define KG_GYM_CARD_CARD_H

#include "gym/record/record.h"

struct kg_card_style {
    bool colour; /* escape codes */
    bool ascii;  /* no character beyond ASCII */
    int width;   /* columns; 40..200 are useful, others are brought there */
};

void kg_card_render_style(const struct kg_record *r, const struct kg_card_style *style,
                          struct kg_buf *out);
/* The same, in ASCII unless the locale's character set is UTF-8. */
void kg_card_render(const struct kg_record *r, bool colour, int width, struct kg_buf *out);
/* From LC_ALL, LC_CTYPE, LANG, in this order: is the character set UTF-8? */
bool kg_card_unicode(void);

#endif
