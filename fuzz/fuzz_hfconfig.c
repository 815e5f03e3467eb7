#include "fuzz.h"

#include <string.h>

#include "lm/io/hfconfig.h"
#include "lm/io/peft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    struct lm_config c;
    struct lm_peft p;
    const struct lm_config small = {
        .hidden = 8, .inter = 8, .layers = 2, .heads = 2, .kv_heads = 1, .head_dim = 4};
    if (lm_hfconfig_parse((const char *)data, size, "f", &c, &err) == KG_OK) {
        KG_ASSERT(c.qkv_bias != c.qk_norm && c.heads % c.kv_heads == 0 && c.head_dim % 2 == 0);
        KG_ASSERT(c.vocab > 0 && c.hidden > 0 && c.inter > 0 && c.layers > 0 && c.head_dim > 0);
        KG_ASSERT(c.max_pos > 0 && c.rope_theta > 0 && c.rms_eps > 0);
    } else {
        KG_ASSERT(strncmp(err.message, "f:", 2) == 0);
    }
    if (lm_peft_parse((const char *)data, size, "f", &small, &p, &err) == KG_OK) {
        bool any = false;
        for (int i = 0; i < small.layers * LM_PEFT_PROJS; i++) {
            KG_ASSERT(p.slot[i].rank >= 0 && p.slot[i].rank <= LM_PEFT_MAX_RANK);
            any = any || p.slot[i].rank > 0;
        }
        KG_ASSERT(any);
        lm_peft_deinit(&p);
    } else {
        KG_ASSERT(p.slot == NULL && strncmp(err.message, "f:", 2) == 0);
    }
    return 0;
}
