/* Memory of the host for an oracle's values that are kept there (apart.c). */
#include "gym/device/device_state.h"

/* A block that nobody uses is kept for the next answer, since making its pages takes as long as
 * the copies to it. */
enum kg_code kg_dj_hosted_room(struct kg_dj_state *s, struct kg_dj_answer *a, uint64_t bytes,
                               struct kg_err *err)
{
    if (a->host_cap >= bytes && (bytes == 0) == (a->host_cap == 0)) {
        return KG_OK;
    }
    kg_dj_hosted_drop(s, a);
    if (bytes == 0) {
        return KG_OK;
    }
    if (s->spare_cap >= bytes) {
        a->host_block = s->spare;
        a->host_cap = s->spare_cap;
        s->spare = NULL;
        s->spare_cap = 0;
        return KG_OK;
    }
    kg_dj_hosted_drop_spare(s);
    a->host_block = bytes <= KG_DJM_MOST ? s->dev.ops->host_alloc(&s->dev, bytes) : NULL;
    if (a->host_block == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "judge: the host has no memory for %llu bytes",
                              (unsigned long long)bytes);
    }
    a->host_cap = bytes;
    return KG_OK;
}

void kg_dj_hosted_drop(struct kg_dj_state *s, struct kg_dj_answer *a)
{
    if (a->host_cap == 0) {
        return;
    }
    if (a->host_cap > s->spare_cap) {
        kg_dj_hosted_drop_spare(s);
        s->spare = a->host_block;
        s->spare_cap = a->host_cap;
    } else {
        s->dev.ops->host_free(&s->dev, a->host_block);
    }
    a->host_block = NULL;
    a->host_cap = 0;
}

void kg_dj_hosted_drop_spare(struct kg_dj_state *s)
{
    if (s->spare_cap == 0) {
        return;
    }
    s->dev.ops->host_free(&s->dev, s->spare);
    s->spare = NULL;
    s->spare_cap = 0;
}
