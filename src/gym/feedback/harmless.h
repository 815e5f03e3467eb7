/* Text that a model reads, made harmless: what candidates, compilers and problems wrote can neither
 * drive a terminal, nor forge a turn of a conversation, nor close the fence it stands in. Pure. */
#ifndef KG_GYM_FEEDBACK_HARMLESS_H
#define KG_GYM_FEEDBACK_HARMLESS_H

#include "base/buf.h"

/* Append text made harmless: valid UTF-8, lines end in \n, tabs are four blanks; escape sequences,
 * control, format and invisible characters are gone; kg_fb_defuse is applied. */
void kg_fb_clean(const char *s, size_t n, struct kg_buf *out);
/* Append text with the markers of chat templates (<|...|>, </s>, [INST], <think>) broken by a
 * blank, so that none of them is left. */
void kg_fb_defuse(const char *s, size_t n, struct kg_buf *out);
/* The same as kg_fb_clean on one line of at most cap bytes, backticks made apostrophes. */
void kg_fb_inline(const char *s, size_t cap, struct kg_buf *out);
/* Append lines, each of which ends in \n, in a fence of more backticks than any run in them has.
 * tag: "c", "python", or "". */
void kg_fb_fence(const char *lines, size_t n, const char *tag, struct kg_buf *out);

#endif
