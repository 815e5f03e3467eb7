/* Names that writing and reading of checkpoints share. */
#ifndef KG_LM_IO_CHECKPOINT_FORM_H
#define KG_LM_IO_CHECKPOINT_FORM_H

#include "base/hash.h"
#include "lm/model/model.h"

#define LM_CHECKPOINT_FORMAT "kgym.checkpoint/1"
#define LM_CHECKPOINT_STATE  "state.json"
#define LM_CHECKPOINT_OPTIM  "optim.safetensors"
#define LM_CHECKPOINT_DONE   "DONE"
#define LM_CHECKPOINT_ROOM   300         /* bytes that names below a folder may take */
#define LM_CHECKPOINT_MAX    (64u << 20) /* bytes of state.json, of DONE */

/* Names the weights of the base, by their bits. */
static inline void lm_checkpoint_hash(const struct lm_model *m, char out[KG_SHA256_HEX])
{
    kg_sha256_hex(m->base.w, m->base.n * sizeof *m->base.w, out);
}

#endif
