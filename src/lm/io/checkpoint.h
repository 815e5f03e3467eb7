/* Checkpoints: folders that hold a model or an adapter, its tokenizer, and what training needs to
 * go on with the same bits.
 *
 *   model    config.json, model.safetensors under the names of Hugging Face; a tied head is not
 *            stored, so transformers reads the folder (folders of others may store it: it is not
 *            read)
 *   adapter  adapter_config.json, adapter_model.safetensors, as PEFT reads and writes them
 *   both     tokenizer.json, optim.safetensors (moments of AdamW), state.json (counters, what the
 *            caller gave), DONE (all files and their bytes)
 *
 * A save writes a folder beside the final one, with DONE last, syncs it and renames it; a
 * checkpoint of that name is exchanged in the same rename. File systems that cannot exchange (NFS,
 * CephFS, 9p) take two renames: the old one is DIR.replaced meanwhile, and reading puts it back
 * where a crash left no DIR. So a crash leaves the old one or the new one, and a folder without
 * DONE is refused. Folders of others, without state.json, need no DONE.
 *
 * Not thread safe per model. Messages name the file and the tensor or key. */
#ifndef KG_LM_IO_CHECKPOINT_H
#define KG_LM_IO_CHECKPOINT_H

#include <jansson.h>

#include "lm/io/dtype.h"
#include "lm/model/lora.h"
#include "lm/tok/bpe_def.h"
#include "lm/train/trainer.h"

/* A small file beside the weights: its name, without folders, and its text. */
struct lm_checkpoint_file {
    const char *name, *text;
    size_t len;
};

struct lm_checkpoint {
    const struct lm_bpe_def *tokenizer; /* NULL: no tokenizer.json */
    const char *base;                   /* adapter: where its model lies, a text for PEFT; NULL */
    enum lm_dtype dtype;                /* of the weights: F32 keeps their bits; F16, BF16 */
    int eos_id, pad_id;                 /* of a model, -1: none */
    const json_t *run;                  /* any JSON value to find again; NULL */
    const struct lm_checkpoint_file *extra; /* [n_extra] as they are: templates, defaults */
    size_t n_extra;
};

/* A model with an adapter gives an adapter folder, without the base; another one a model folder.
 * t: the trainer of m, whose state is stored too; NULL: weights only. Weights must not change
 * meanwhile. On an error nothing new is there, and an older folder of that name is as it was.
 * Errors: KG_E_IO (disk full too), KG_E_INPUT (a configuration without a name in Hugging Face),
 * KG_E_HOST (memory). */
enum kg_code lm_checkpoint_save(const char *dir, const struct lm_model *m, struct lm_trainer *t,
                                const struct lm_checkpoint *o, struct kg_err *err) KG_MUST_USE;

/* Puts dir back where a save was killed between its two renames; else does nothing. The functions
 * below do so first; call it before you ask whether dir is there. Errors: KG_E_INPUT (DIR.replaced
 * is not whole), KG_E_IO. */
enum kg_code lm_checkpoint_recover(const char *dir, struct kg_err *err) KG_MUST_USE;
/* dir goes, and what a killed save left beside it. Errors: KG_E_IO. */
enum kg_code lm_checkpoint_remove(const char *dir, struct kg_err *err) KG_MUST_USE;

/* Whether dir is complete: DONE is there and every file has the bytes that it names; or it is a
 * folder of others. Errors: KG_E_INPUT, KG_E_NOT_FOUND, KG_E_IO. */
enum kg_code lm_checkpoint_check(const char *dir, struct kg_err *err) KG_MUST_USE;

/* A model folder, of ours or of Hugging Face, several files too; weights of F32, F16, BF16, F64
 * become f32. *out is destroyed by the caller. Errors: those of lm_checkpoint_check(); KG_E_INPUT
 * (a missing, additional or otherwise shaped tensor; the configuration), KG_E_HOST. */
enum kg_code lm_checkpoint_open(const char *dir, struct lm_model **out,
                                struct kg_err *err) KG_MUST_USE;

/* Gives m, which has none, the adapter of a folder. Of a folder of ours the base must have the
 * weights with which it was saved, bit for bit. Errors: as above; KG_E_INPUT too for an adapter
 * whose rank, alpha or targets differ from layer to layer, which the engine does not have. */
enum kg_code lm_checkpoint_open_adapter(const char *dir, struct lm_model *m,
                                        struct kg_err *err) KG_MUST_USE;

/* Fills the state of t, a trainer of the model that was opened from dir. *run, unless NULL: the
 * value of lm_checkpoint.run, the caller decrefs; NULL if there was none. Errors: KG_E_INPUT (no
 * state of a trainer, or of another one), KG_E_IO, KG_E_NOT_FOUND. On an error t is to be
 * destroyed. */
enum kg_code lm_checkpoint_resume(const char *dir, struct lm_trainer *t, json_t **run,
                                  struct kg_err *err) KG_MUST_USE;

#endif
