/* Feedback: a record as text for the model that wrote the candidate, within a token budget. It says
 * what went wrong and where in the candidate's own source, how much of an output is wrong, which
 * kind of shape failed, how fast it was, and one general hint.
 *
 * Allow-list by construction: every line is a template of this module whose fields are typed: names
 * of enumerations, bounded numbers, the candidate's own source, what the compiler said of it, and
 * the text of an exception without its numbers. Nothing else of a record is read: no seed, no
 * expected value, no tolerance, no position, no dimension of a hidden shape, nothing that the
 * candidate printed, nothing under `private`, no message as a whole. What a candidate says after it
 * has seen an input is a channel: of that only an exception's words (numbers, addresses and
 * unknown words with digits removed, 300 bytes), shapes relative to the expected one and times come
 * through. Words that are neither in a fixed vocabulary nor in the source are dropped.
 * docs/feedback.md has the list.
 *
 * The text is valid UTF-8 without control characters, escape sequences, invisible characters or
 * chat markers, and a listing cannot close its fence. Pure and deterministic. */
#ifndef KG_GYM_FEEDBACK_FEEDBACK_H
#define KG_GYM_FEEDBACK_FEEDBACK_H

#include "gym/record/record.h"

#define KG_FEEDBACK_TOKENS     600 /* default budget; source: learning method, section 1.2 */
#define KG_FEEDBACK_MIN_TOKENS 96  /* verdict and request fit, and a little more */
#define KG_FEEDBACK_MAX_TOKENS 1000000
#define KG_FEEDBACK_BRIEF      24 /* default of the style brief; there 1 is the least */

enum kg_feedback_style {
    KG_FEEDBACK_MARKDOWN,   /* listings in fences */
    KG_FEEDBACK_PLAIN,      /* listings indented by four blanks, no backticks of ours */
    KG_FEEDBACK_BRIEF_LINE, /* one line: verdict and reason, then as many facts as fit */
    KG_FEEDBACK_STYLES
};
const char *kg_feedback_style_name(enum kg_feedback_style s); /* "markdown", "plain",
                                                                     "brief" */
bool kg_feedback_style_parse(const char *name, enum kg_feedback_style *out);

int64_t kg_feedback_least(enum kg_feedback_style s); /* tokens: KG_FEEDBACK_MIN_TOKENS, brief 1 */

struct kg_feedback_spec {
    int64_t tokens; /* budget, kg_feedback_least(style)..KG_FEEDBACK_MAX_TOKENS; 0: the default */
    enum kg_feedback_style style;
    /* Tokens of text by the model's own tokenizer; NULL: kg_feedback_tokens. Need not be additive.
     */
    size_t (*count)(void *user, const char *text, size_t len);
    void *user;
};

/* An estimate where no tokenizer is at hand, for byte-level BPE: a token per started four letters
 * of a word (per two beyond twelve letters), per digit, sign and line, per started four blanks, and
 * per byte that is not ASCII; at least bytes / 3.5. Not a bound for letters in an order that no
 * language has. Measured against GPT-2's own tokens: docs/feedback.md. */
size_t kg_feedback_tokens(const char *text, size_t len);

/* Append the text, which ends in a newline, to out (out->max of 4 * budget bytes suffices with the
 * estimate). The budget holds for what is appended, as spec->count counts it. KG_E_USAGE: a budget
 * out of range; KG_E_LIMIT: not even verdict and request fit it by spec->count, or out is full; out
 * is then as before. */
enum kg_code kg_feedback_render(const struct kg_record *r, const struct kg_feedback_spec *spec,
                                struct kg_buf *out, struct kg_err *err) KG_MUST_USE;

#endif
