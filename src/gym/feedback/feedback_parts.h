/* The parts of a feedback text: private to gym/feedback. Filters make text of a candidate harmless,
 * facts are typed readings of a record, a page holds the text before it is cut to the budget. */
#ifndef KG_GYM_FEEDBACK_FEEDBACK_PARTS_H
#define KG_GYM_FEEDBACK_FEEDBACK_PARTS_H

#include "gym/feedback/feedback.h"
#include "gym/feedback/harmless.h"

#define KG_FB_LINE 200 /* bytes of a line of a listing; longer ones are cut */

/* Filters (clean.c, exception.c; the others are in harmless.h) */

/* What a compiler printed: cleaned, directories reduced to base names, addresses to 0x?, equal
 * lines that follow each other told once. Where the candidate's own process ran the compiler, as
 * for every language but C, it may have written the text: kg_fb_known_words is applied. */
void kg_fb_compiler(const struct kg_record *r, const char *s, struct kg_buf *out);
/* Words that are neither in the vocabulary nor in the source become `...`. ASCII and quotes. */
void kg_fb_known_words(const char *s, size_t n, const char *code, struct kg_buf *out);
/* All words, sorted, with a blank between two. */
extern const char kg_fb_vocabulary[];
/* Is each part of the name a word of errors and compilers? Parts end before `_` and capitals. */
bool kg_fb_in_vocabulary(const char *word, size_t len);
/* The last component of a dotted name if it is a well-known type, else "Error". Static string. */
const char *kg_fb_exception_type(const char *name);
/* One line of printable ASCII: numbers become N; words stay where they are in the vocabulary, name
 * a dtype or stand in code (may be NULL), of the last at most 8 that do not stand there side by
 * side; others become `...`; at most 300 bytes, head and tail. */
void kg_fb_exception_text(const char *message, const char *code, struct kg_buf *out);

/* Does the word stand in the candidate's source (may be NULL), as a word? */
bool kg_fb_stands_in(const char *code, const char *word, size_t len);

/* Facts (facts.c): typed readings of a record */

enum kg_fb_share { KG_FB_SHARE_NONE, KG_FB_SHARE_1, KG_FB_SHARE_10, KG_FB_SHARE_50, KG_FB_MORE };

enum kg_fb_share kg_fb_share(const struct kg_record *r);
/* In words, from a fixed list: "the default shape"; NULL unknown. */
const char *kg_fb_shape(const struct kg_record *r);
/* Is the shape that failed the published one? Only of that one dimensions may be told. */
bool kg_fb_shape_public(const json_t *entry);
/* The output's name or path of at most 32 bytes, if every part of it may be shown. */
bool kg_fb_output(const struct kg_record *r, char out[40]);
/* In words, from a fixed list: "an invalid memory access (SIGSEGV)". Never NULL. */
const char *kg_fb_signal(const struct kg_record *r);
/* From the entry `limit`, in seconds or MB; false: none, or none of this verdict. */
bool kg_fb_limit(const struct kg_record *r, double *out, const char **unit);
/* A C or Python identifier of at most 64 bytes? */
bool kg_fb_identifier(const char *s);
/* An integer under key that is a line of the candidate's source; 0 otherwise. */
int kg_fb_line(const struct kg_record *r, const json_t *entry, const char *key);

/* The page (page.c, listing.c) */

/* Text of several lines of which a part is shown. Lines end in \n. */
struct kg_fb_listing {
    struct kg_buf text;
    const char *title; /* "The source around line 6:" */
    char heading[64];  /* storage for a title */
    const char *tag;   /* of the fence: "c", "text" */
    int focus;         /* line, from 0, that stays to the last; -1: head and tail stay */
};

struct kg_fb_page {
    struct kg_buf status, facts, hint, speed, kernels, ask; /* lines that end in \n */
    struct kg_fb_listing source, output;
};

size_t kg_fb_count(const struct kg_feedback_spec *spec, const char *text, size_t n);
/* Append as much of the listing as fits room tokens; nothing where not even one line does. */
void kg_fb_listing_put(const struct kg_fb_listing *l, const struct kg_feedback_spec *spec,
                       size_t room, struct kg_buf *out);

/* The style brief (brief.c) */

/* Appends one line of at most `tokens`. KG_E_LIMIT: not even the verdict fits, or out is full. */
enum kg_code kg_fb_brief(const struct kg_record *r, const struct kg_feedback_spec *spec,
                         size_t tokens, struct kg_buf *out, struct kg_err *err) KG_MUST_USE;

/* From a record to a page (hints.c, source.c, diagnosis.c, speed.c) */

/* What a verdict means, and what usually helps: static text for every reason of
 * docs/record.md. */
struct kg_fb_advice {
    const char *what, *hint;
};
struct kg_fb_advice kg_fb_advice(enum kg_verdict v, const char *reason);
/* What helps this record in particular, by its league or a finding; else NULL. */
const char *kg_fb_record_hint(const struct kg_record *r);
/* The lines around `line` of the candidate's own source. */
void kg_fb_source(struct kg_fb_page *p, const struct kg_record *r, int line);
void kg_fb_diagnosis(struct kg_fb_page *p, const struct kg_record *r);
void kg_fb_speed(struct kg_fb_page *p, const struct kg_record *r);

#endif
