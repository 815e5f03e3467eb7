/* config.json of Hugging Face <-> struct lm_config. Reads Qwen2.x (Qwen2ForCausalLM) and Qwen3
 * dense (Qwen3ForCausalLM) in both spellings: rope_theta and torch_dtype of transformers 4, and
 * rope_parameters and dtype of transformers 5. It refuses, by name, what the engine would compute
 * wrongly: other architectures, scaled rope, sliding windows, quantized weights, biases. Nothing
 * is assumed that differs between models: a size that is not there is an error. */
#ifndef KG_LM_IO_HFCONFIG_H
#define KG_LM_IO_HFCONFIG_H

#include "lm/io/dtype.h"
#include "lm/model/config.h"

/* Most bytes of a config.json. */
#define LM_HFCONFIG_MAX_BYTES (1u << 20)

/* source is for messages. INPUT: malformed, or not supported; the message names the key. */
enum kg_code lm_hfconfig_parse(const char *text, size_t len, const char *source,
                               struct lm_config *out, struct kg_err *err) KG_MUST_USE;
/* dir/config.json */
enum kg_code lm_hfconfig_read(const char *dir, struct lm_config *out,
                              struct kg_err *err) KG_MUST_USE;

/* What a config.json says beside the shape. */
struct lm_hfconfig_extra {
    enum lm_dtype dtype; /* of the weights beside it: F32, F16, BF16 */
    int eos_id, pad_id;  /* -1: not written */
};

/* dir/config.json, atomically, in both spellings at once, so that either transformers reads it.
 * Reading it back gives the same struct. INPUT: c is neither of the two architectures. */
enum kg_code lm_hfconfig_write(const char *dir, const struct lm_config *c,
                               const struct lm_hfconfig_extra *extra,
                               struct kg_err *err) KG_MUST_USE;

/* The shortest decimal number that reads back as this float: .1, not .100000001. */
double lm_hfconfig_shortest(float f);

#endif
