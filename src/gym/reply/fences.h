/* Is a position of a block inside a comment or string that spans lines? Asked for positions that
 * only grow; the lexer continues where it stopped. Internal to src/gym/reply. */
#ifndef KG_GYM_REPLY_FENCES_H
#define KG_GYM_REPLY_FENCES_H

#include "gym/reply/extract_private.h"
#include "gym/reply/lex_private.h"

/* A string that is still open is read again at each question, so questions are bounded. */
#define KG_FENCE_PROBES 16

struct kg_fence_probe {
    struct kg_lexer lx;
    struct kg_tok last;
    int asked;
};

void kg_fence_probe_init(struct kg_fence_probe *p, enum kg_lang lang, struct kg_slice text,
                         size_t at);
bool kg_fence_probe_inside(struct kg_fence_probe *p, size_t at); /* at: in the text */

#endif
