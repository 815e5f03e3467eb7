/* Writing safetensors: one file, or a model folder with one file or several and their index.
 * Readers of a path see the old file or the new, never half: path.tmp.PID, fsync, rename. The same
 * tensors always give the same bytes, those of the safetensors library: they lie sorted by element
 * type (wide ones first) and name, the header is padded with spaces to 8 bytes, and __metadata__ is
 * {"format":"pt"}. A folder of several files is as a whole not atomic: write it to a new folder. */
#ifndef KG_LM_IO_SAFETENSORS_WRITE_H
#define KG_LM_IO_SAFETENSORS_WRITE_H

#include "lm/io/safetensors.h"

struct lm_st_item {
    const char *name;
    enum lm_dtype dtype; /* as which it is written */
    int rank;
    int64_t shape[LM_ST_MAX_RANK];
    const void *data; /* [count] of dtype; with from_f32, f32 that is converted while writing */
    bool from_f32;    /* dtype is F32, F16 or BF16 */
};

/* items [n], in any order. INPUT: two of one name, or a name that is not UTF-8; IO. */
enum kg_code lm_st_write(const char *path, const struct lm_st_item *items, size_t n,
                         struct kg_err *err) KG_MUST_USE;

/* Below dir, which exists: model.safetensors, or, where the tensors have more than shard_bytes,
 * model-00001-of-0000N.safetensors, each of at most shard_bytes or of one tensor, in the order of
 * items, and model.safetensors.index.json. A model.safetensors or an index of an earlier model that
 * would be read instead is removed. shard_bytes 0: one file. */
enum kg_code lm_st_write_model(const char *dir, const struct lm_st_item *items, size_t n,
                               uint64_t shard_bytes, struct kg_err *err) KG_MUST_USE;

#endif
