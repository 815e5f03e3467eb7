#include "gym/device/device_state.h"

enum kg_code kg_dj_reserve(struct kg_dj_state *s, uint64_t *block, uint64_t *cap, uint64_t bytes,
                           struct kg_err *err)
{
    if (*cap >= bytes && *block != 0) {
        return KG_OK;
    }
    kg_dj_release(s, block, cap);
    if (bytes > KG_DJM_MOST || s->held + (int64_t)bytes > s->cap) {
        return kg_fail_memory(
            err, KG_E_LIMIT,
            "judge: %llu bytes more than the %lld that tensors may take (%lld are held)",
            (unsigned long long)bytes, (long long)s->cap, (long long)s->held);
    }
    if (s->dev.ops->alloc(&s->dev, bytes, block, err) != KG_OK) {
        *block = 0;
        return err->code;
    }
    *cap = bytes;
    s->held += (int64_t)bytes;
    return KG_OK;
}

void kg_dj_release(struct kg_dj_state *s, uint64_t *block, uint64_t *cap)
{
    if (*block != 0) {
        s->dev.ops->free(&s->dev, *block);
        s->held -= (int64_t)*cap;
    }
    *block = *cap = 0;
}
