/* The parts of a first message: private to gym/prompt. */
#ifndef KG_GYM_PROMPT_PROMPT_PARTS_H
#define KG_GYM_PROMPT_PROMPT_PARTS_H

#include "gym/prompt/prompt.h"

struct kg_prompt_page;
/* The parts of a message that depend on the language of the problem. */
struct kg_prompt_kind {
    void (*goal)(const struct kg_prompt_page *p);
    void (*contract)(const struct kg_prompt_page *p);
    void (*types)(const struct kg_prompt_page *p); /* and precision */
    const char *reference;                         /* said before the reference; "" */
    bool language_chosen;                          /* the spec chooses the language of the answer */
    enum kg_prompt_language language;              /* else this one */
};
const struct kg_prompt_kind *kg_prompt_kind_of(enum kg_lang lang);

/* A message that is being written. */
struct kg_prompt_page {
    const struct kg_prompt_task *task;
    const struct kg_prompt_spec *spec;
    const struct kg_prompt_kind *kind;
    enum kg_prompt_language language; /* of the answer */
    struct kg_buf *out;
};

/* Prose, made harmless; without backticks in the style plain. kg_prompt_say takes at most 4095
 * bytes. */
void kg_prompt_text(const struct kg_prompt_page *p, const char *s);
void kg_prompt_say(const struct kg_prompt_page *p, const char *fmt, ...) KG_PRINTF(2, 3);
void kg_prompt_heading(const struct kg_prompt_page *p, const char *title);
/* A text of several lines as a listing: made harmless, without blank lines around it. */
void kg_prompt_listing(const struct kg_prompt_page *p, const char *text, size_t n);

/* The sections (contract.c). */
void kg_prompt_goal(const struct kg_prompt_page *p);
void kg_prompt_contract(const struct kg_prompt_page *p);

#endif
