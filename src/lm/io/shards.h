/* The weights of a model folder: model.safetensors, or the files that model.safetensors.index.json
 * lists. Index and files must agree: every listed tensor is in the file that the index names, and
 * no file holds one that is not listed. An index names files of its own folder only.
 * Read only after opening: many threads may read it. */
#ifndef KG_LM_IO_SHARDS_H
#define KG_LM_IO_SHARDS_H

#include "lm/io/safetensors.h"

#define LM_SHARDS_MAX 1024 /* files of one model */

struct lm_shards; /* open files */

/* *out is closed by the caller. NOT_FOUND: neither file is in dir. INPUT, IO. */
enum kg_code lm_shards_open(const char *dir, struct lm_shards **out,
                            struct kg_err *err) KG_MUST_USE;
void lm_shards_close(struct lm_shards *s); /* NULL is nothing */

size_t lm_shards_files(const struct lm_shards *s);
const struct lm_st *lm_shards_file(const struct lm_shards *s, size_t i);
/* NULL: there is none of this name. *file (may be NULL): the path of its file, for messages. */
const struct lm_st_tensor *lm_shards_find(const struct lm_shards *s, const char *name,
                                          const char **file);
/* out [product of shape] f32. NOT_FOUND: no such tensor. INPUT: another shape or type. */
enum kg_code lm_shards_read_f32(const struct lm_shards *s, const char *name, const int64_t *shape,
                                int rank, float *out, struct kg_err *err) KG_MUST_USE;

#endif
