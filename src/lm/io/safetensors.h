/* Reading one safetensors file: a length, a JSON header, the tensors' bytes one after the other.
 * The file is mapped, so opening costs the header only. Everything is checked before a tensor can
 * be seen: the header's length, unique names, shapes against byte counts, and that the tensors
 * tile the data without a hole or an overlap. Messages name file, tensor and what is wrong.
 * A file that another process makes shorter while it is open ends this process with SIGBUS, so
 * files are replaced (lm/io/safetensors_write.h), never rewritten in place. Read only afterwards:
 * many threads may read one struct lm_st.
 * Source: https://huggingface.co/docs/safetensors (format, and the limits of its own reader). */
#ifndef KG_LM_IO_SAFETENSORS_H
#define KG_LM_IO_SAFETENSORS_H

#include "lm/io/dtype.h"

#define LM_ST_MAX_RANK   8
#define LM_ST_MAX_HEADER 100000000u /* bytes of JSON */

struct lm_st_tensor {
    const char *name;
    enum lm_dtype dtype;    /* LM_DTYPE_OTHER: only its bytes are known */
    const char *dtype_name; /* as in the file */
    int rank;               /* 0 is one element */
    int64_t shape[LM_ST_MAX_RANK];
    size_t count; /* elements */
    size_t bytes;
    const unsigned char *data; /* at any address, row-major, little-endian */
};

struct lm_st; /* an open file */

/* *out is closed by the caller. NOT_FOUND, IO, INPUT (malformed). */
enum kg_code lm_st_open(const char *path, struct lm_st **out, struct kg_err *err) KG_MUST_USE;
/* The same from memory, which stays the caller's and must outlive *out; source is for messages. */
enum kg_code lm_st_parse(const void *bytes, size_t n, const char *source, struct lm_st **out,
                         struct kg_err *err) KG_MUST_USE;
void lm_st_close(struct lm_st *st); /* NULL is nothing */

const char *lm_st_source(const struct lm_st *st); /* the path, for messages */
size_t lm_st_count(const struct lm_st *st);
/* i < count, in the order of the data. Lives as long as st. */
const struct lm_st_tensor *lm_st_at(const struct lm_st *st, size_t i);
/* NULL: there is none of this name. */
const struct lm_st_tensor *lm_st_find(const struct lm_st *st, const char *name);
/* A value of __metadata__; NULL: none. */
const char *lm_st_metadata(const struct lm_st *st, const char *key);

/* out [count] f32 from a tensor of exactly this shape and of a float type; source is for messages.
 * INPUT: another shape or type. */
enum kg_code lm_st_read_f32(const struct lm_st_tensor *t, const char *source, const int64_t *shape,
                            int rank, float *out, struct kg_err *err) KG_MUST_USE;
/* "[2, 3]", "[]" */
const char *lm_st_shape_text(const int64_t *shape, int rank, char *out, size_t cap);

#endif
