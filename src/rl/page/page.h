/* What the pages of all runs are made of: one look, light and dark, and pieces that insert text
 * only escaped. A page is one file that asks nobody for anything: its policy forbids every source
 * but its own style and, where there is one, the script whose hash it names. Thread safe. */
#ifndef KG_RL_PAGE_PAGE_H
#define KG_RL_PAGE_PAGE_H

#include "base/html.h"
#include "rl/page/lines.h"

extern const char rl_page_style[];

/* From the document's type to the heading, whose line below the caller writes into the open
 * <header>. style: added to the page's own, "" for none. script: kgym's own constant, which the
 * policy allows by its hash; NULL: no script runs. */
void rl_page_open(const char *title, const char *style, const char *script, struct kg_buf *out);
/* Ends the document; script: as given to rl_page_open. */
void rl_page_end(const char *script, struct kg_buf *out);

/* "–" for NaN. digits after the point; sign: with a plus. */
void rl_page_number(double x, int digits, bool sign, struct kg_buf *out);
/* class: "", "good", "bad", "warn", "hack". name: kgym's own; number and note are escaped. */
void rl_page_tile(const char *class, const char *number, const char *name, const char *note,
                  struct kg_buf *out);
/* What could not be read; nothing where there are no notes. */
void rl_page_notes(const struct rl_notes *notes, struct kg_buf *out);
/* In a frame, as it is, 20 000 bytes of it at most. */
void rl_page_text(const char *s, struct kg_buf *out);
/* A verdict with its reason and, if it is ok and finite, its speed-up. "": no verdict. */
void rl_page_chip(const char *verdict, const char *reason, double speedup, struct kg_buf *out);

/* Two texts: what is gone, what came, what stayed. Word by word, because replies of small models
 * have few and long lines; by lines where there are more than 1600 words; the later text alone
 * where there are more than 4000 lines. */
void rl_page_diff(const char *a, const char *b, struct kg_buf *out);
/* By lines, with three equal lines around what changed. */
void rl_page_diff_lines(const char *a, const char *b, struct kg_buf *out);

#endif
