/* What `kgym generate` was asked for; shared by its files. */
#ifndef KG_CLI_LEARN_GENERATE_H
#define KG_CLI_LEARN_GENERATE_H

#include "lm/infer/sample.h"
#include "rl/run/source.h"

enum { KG_GENERATE_SAMPLES = 256 }; /* at most */

struct kg_generate {
    struct rl_source source;
    const char *prompt, *prompt_file, *messages, *problem; /* one of them */
    const char *system;
    bool raw;         /* the prompt is no message: the model goes on with it */
    bool full_prompt; /* a chain has the gym's message, not its short one */
    bool json, help;
    struct lm_sampling sampling;
    int64_t max_tokens, samples, threads; /* samples: 1 to KG_GENERATE_SAMPLES */
};

/* Appends the ids of the prompt. Errors: those of reading, KG_E_INPUT (messages in another form),
 * KG_E_USAGE. */
enum kg_code kg_generate_prompt(const struct kg_generate *g, const struct rl_talker *t,
                                struct lm_ids *out, struct kg_err *err) KG_MUST_USE;
/* Opens the model, samples, prints. Errors: those of its parts, KG_E_CANCELLED. */
enum kg_code kg_generate_run(const struct kg_generate *g, struct kg_err *err) KG_MUST_USE;

#endif
