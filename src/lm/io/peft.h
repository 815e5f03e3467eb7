/* LoRA adapters in the files of PEFT: adapter_config.json and adapter_model.safetensors.
 * Seven projections of each layer can carry an adapter y += scale * B (A x), with A [rank, in] and
 * B [out, rank]. Reads target_modules as a list, a regular expression or "all-linear",
 * rank_pattern, alpha_pattern and use_rslora; refuses, by name, every other kind: dora, biases,
 * saved modules, target parameters, some layers only, adapters on embeddings or head, and initial
 * values that change the base (PiSSA, OLoRA, CorDA, LoftQ). */
#ifndef KG_LM_IO_PEFT_H
#define KG_LM_IO_PEFT_H

#include "lm/io/safetensors.h"
#include "lm/model/config.h"

#define LM_PEFT_MAX_BYTES (4u << 20) /* of adapter_config.json */
#define LM_PEFT_MAX_RANK  65536

enum lm_peft_proj {
    LM_PEFT_Q,
    LM_PEFT_K,
    LM_PEFT_V,
    LM_PEFT_O,
    LM_PEFT_GATE,
    LM_PEFT_UP,
    LM_PEFT_DOWN,
    LM_PEFT_PROJS,
};

struct lm_peft_slot {
    int rank; /* 0: no adapter here */
    double alpha;
};

struct lm_peft {
    char base[512]; /* base_model_name_or_path; "" if none */
    float dropout;  /* of the inputs in training, 0 to below 1 */
    bool rslora;    /* scale = alpha / sqrt(rank) instead of alpha / rank */
    int layers;
    struct lm_peft_slot *slot; /* [layers][LM_PEFT_PROJS] */
};

/* All slots without adapter; freed by deinit. HOST: memory. */
enum kg_code lm_peft_init(struct lm_peft *p, int layers, struct kg_err *err) KG_MUST_USE;
void lm_peft_deinit(struct lm_peft *p);
struct lm_peft_slot *lm_peft_at(const struct lm_peft *p, int layer, enum lm_peft_proj proj);
double lm_peft_scale(const struct lm_peft *p, const struct lm_peft_slot *slot);

/* "q_proj", ... */
const char *lm_peft_proj_name(enum lm_peft_proj proj);
/* "base_model.model.model.layers.3.self_attn.q_proj.lora_A.weight"; which: 'A' or 'B'. */
void lm_peft_tensor_name(int layer, enum lm_peft_proj proj, char which, char out[128]);
/* Of A or B at this rank. */
void lm_peft_shape(const struct lm_config *c, enum lm_peft_proj proj, char which, int rank,
                   int64_t shape[2]);

/* adapter_config.json for a model of c; *p is initialised by this call, empty on error. */
enum kg_code lm_peft_parse(const char *text, size_t len, const char *source,
                           const struct lm_config *c, struct lm_peft *p,
                           struct kg_err *err) KG_MUST_USE;
/* Both files of dir. The tensors are exactly those that the config names, with the model's shapes.
 * *st is closed by the caller. */
enum kg_code lm_peft_open(const char *dir, const struct lm_config *c, struct lm_peft *p,
                          struct lm_st **st, struct kg_err *err) KG_MUST_USE;

/* Both files, each atomically, the weights first. a, b: [layers * LM_PEFT_PROJS] matrices f32, NULL
 * where the slot has no adapter. dtype: F32, F16 or BF16. INPUT: no slot has an adapter. */
enum kg_code lm_peft_write(const char *dir, const struct lm_config *c, const struct lm_peft *p,
                           const float *const *a, const float *const *b, enum lm_dtype dtype,
                           struct kg_err *err) KG_MUST_USE;

#endif
