/* A body of a trainer's remote reward: what is accepted lies within the body and names no path. */
#include "fuzz.h"

#include <string.h>

#include "svc/trainers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_trainers_request r;
    struct kg_svc_refusal no;
    if (!kg_trainers_read((const char *)data, size, &r, &no)) {
        KG_ASSERT(no.status == 400 && r.body == NULL);
        return 0;
    }
    KG_ASSERT(r.n > 0 && r.n <= KG_TRAINERS_ITEMS);
    for (size_t i = 0; i < r.n; i++) {
        KG_ASSERT(!strchr(r.item[i].problem, '/') && r.item[i].reply_len <= size);
        KG_ASSERT(r.item[i].reply[r.item[i].reply_len] == '\0');
        KG_ASSERT(strlen(r.item[i].key) == 64);
    }
    kg_trainers_deinit(&r);
    return 0;
}
