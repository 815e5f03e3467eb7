/* The parts of a card, from top to bottom: private to gym/card. Each writes whole lines and leaves
 * the pen at column 0; a part with nothing to say writes nothing. */
#ifndef KG_GYM_CARD_PARTS_H
#define KG_GYM_CARD_PARTS_H

#include "gym/card/pen.h"
#include "gym/record/record.h"

#define KG_CARD_INDENT 2  /* of every part */
#define KG_CARD_LABEL  13 /* column where text begins after a label */

/* Column INDENT, the label dimmed, then to column LABEL. */
void kg_card_label(struct kg_pen *p, const char *label);

void kg_card_source(struct kg_pen *p, const struct kg_record *r);   /* error in context */
void kg_card_evidence(struct kg_pen *p, const struct kg_record *r); /* and findings, output */
void kg_card_speed(struct kg_pen *p, const struct kg_record *r);

#endif
