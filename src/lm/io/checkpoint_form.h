/* What writing, reading and placing of checkpoints share. */
#ifndef KG_LM_IO_CHECKPOINT_FORM_H
#define KG_LM_IO_CHECKPOINT_FORM_H

#include <jansson.h>

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

bool lm_checkpoint_has(const char *dir, const char *name);
/* An object of ours: its format is checked. The caller decrefs *out. */
enum kg_code lm_checkpoint_read_json(const char *dir, const char *name, json_t **out,
                                     struct kg_err *err) KG_MUST_USE;
/* A folder's names to disk. */
enum kg_code lm_checkpoint_sync(const char *dir, struct kg_err *err) KG_MUST_USE;
/* temporary, a whole folder beside dir, becomes dir. An older dir is gone, or is temporary now. On
 * an error dir is as it was. */
enum kg_code lm_checkpoint_put(const char *temporary, const char *dir,
                               struct kg_err *err) KG_MUST_USE;

#endif
