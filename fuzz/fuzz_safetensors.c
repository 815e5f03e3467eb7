#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "lm/io/safetensors.h"

/* Every byte of the data belongs to one tensor, and all of it can be read. */
static void read_all(const struct lm_st *st, const uint8_t *data, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    const unsigned char *at = NULL;
    for (size_t i = 0; i < lm_st_count(st); i++) {
        const struct lm_st_tensor *t = lm_st_at(st, i);
        KG_ASSERT(t->data >= data && t->data + t->bytes <= data + size);
        KG_ASSERT(at == NULL || t->data == at);
        KG_ASSERT(lm_st_find(st, t->name) == t);
        at = t->data + t->bytes;
        if (t->bytes <= size && t->count <= 4 * size && t->dtype != LM_DTYPE_OTHER) {
            float *values = malloc((t->count + 1) * sizeof *values);
            KG_ASSERT(values != NULL);
            enum kg_code code = lm_st_read_f32(t, "f", t->shape, t->rank, values, &err);
            KG_ASSERT((code == KG_OK) == lm_dtype_is_float(t->dtype));
            free(values);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_st *st;
    if (lm_st_parse(data, size, "f", &st, &err) == KG_OK) {
        read_all(st, data, size);
        lm_st_close(st);
    } else {
        KG_ASSERT(st == NULL && strncmp(err.message, "f:", 2) == 0);
    }
    return 0;
}
