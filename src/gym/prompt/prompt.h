/* The first message for a model: what to write, by which contract, with one demonstration, what is
 * known of the device, the reference, and the form of the answer. docs/prompts.md shows it.
 *
 * It never holds what judges: no value law, no tolerance, no seed, no shape but the published one.
 * A problem that does not fit the limit is an error; nothing is ever cut.
 *
 * The text is valid UTF-8 and made harmless as feedback's is (gym/feedback/harmless.h): no control
 * characters, no chat markers, and no listing can close its fence. Pure and deterministic, and may
 * be called from several threads. Whoever loads problems fills a task and renders it: an executor's
 * `prompt` (gym/eval/executor.h). */
#ifndef KG_GYM_PROMPT_PROMPT_H
#define KG_GYM_PROMPT_PROMPT_H

#include "base/buf.h"
#include "gym/feedback/feedback.h"
#include "gym/prompt/demonstration.h"

#define KG_PROMPT_BYTES     16384      /* default limit without a tokenizer */
#define KG_PROMPT_TOKENS    4096       /* with one. Source: the learning method, section 1.1 */
#define KG_PROMPT_MIN       256        /* smallest limit, of either kind */
#define KG_PROMPT_MAX_BYTES (4u << 20) /* no message is longer, whatever the limit */

/* What the caller chooses. All zero: the defaults. */
struct kg_prompt_spec {
    int64_t limit; /* bytes; with `count` tokens. 0: the default */
    enum kg_feedback_style style;
    /* Tokens of a text by the model's own tokenizer; NULL: bytes count. */
    size_t (*count)(void *user, const char *text, size_t len);
    void *user;
    enum kg_prompt_language language; /* of the answer to a PyTorch problem */
    /* What is known of the device, in one line. NULL: what an executor finds out of `device`, on
     * this host; "": nothing is said of it. */
    const char *hardware;
    const char *device; /* of PyTorch problems: "cpu", "cuda:0", "auto"; NULL: not known */
    const char *league; /* "fp32" (NULL), "tf32", or "": nothing is said of precision */
    bool unloaded;      /* PyTorch: nothing is loaded into a candidate, as in KernelBench */
};

/* What a problem says of itself. Borrowed for the call; NULL where there is none. entry and model
 * are identifiers of at most 127 bytes. */
struct kg_prompt_task {
    enum kg_lang lang;     /* of the reference: C, or Python for a PyTorch module */
    const char *name;      /* for messages */
    const char *entry;     /* what a candidate defines: "softmax", "ModelNew" */
    const char *model;     /* PyTorch: the class of the reference, "Model" */
    const char *desc;      /* one line */
    const char *signature; /* C: the function that a candidate defines, with its semicolon */
    const char *arguments; /* C: a line for each argument, which ends in \n */
    const char *operators; /* C: a line for each operator of kgops.h that the reference calls */
    const char *source;    /* the reference */
    size_t source_len;
    const char *hardware; /* as in the spec */
};

/* Which problem a message is of. */
struct kg_prompt_about {
    enum kg_lang lang;
    char name[128];
    char sha256[KG_SHA256_HEX]; /* a record's problem.sha256 */
};
/* NULL is fine. */
void kg_prompt_about_set(struct kg_prompt_about *about, enum kg_lang lang, const char *name,
                         const char *sha256);

/* Append the message, which ends in a newline, to out. KG_E_LIMIT: it is longer than the limit, or
 * than out has room for; KG_E_USAGE: the limit is out of range. out is then as before. */
enum kg_code kg_prompt_render(const struct kg_prompt_task *task, const struct kg_prompt_spec *spec,
                              struct kg_buf *out, struct kg_err *err) KG_MUST_USE;

/* Does a message that was rendered elsewhere keep the spec's limit? name: the problem's, for the
 * message. KG_E_LIMIT, KG_E_USAGE as above. */
enum kg_code kg_prompt_check_limit(const struct kg_prompt_spec *spec, const char *name,
                                   const char *text, size_t len, struct kg_err *err) KG_MUST_USE;

/* The text of a C problem behind its YAML block, which says how answers are checked and is never
 * shown: the first line of code. A text without a block is returned as it is. */
const char *kg_prompt_after_block(const char *source);

#endif
