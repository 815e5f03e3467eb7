#include "fuzz.h"

#include <string.h>

#include "base/json.h"

static void dump_reads_back(const json_t *j)
{
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    json_t *again;
    kg_buf_init(&text, 64 << 20);
    kg_json_dump(j, &text);
    KG_ASSERT(kg_buf_ok(&text) && memchr(text.data, '\n', text.len) == NULL);
    KG_ASSERT(kg_json_parse(text.data, text.len, "again", &again, &err) == KG_OK);
    KG_ASSERT(json_equal(j, again));
    json_decref(again);
    kg_buf_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *j;
    enum kg_code code = kg_json_parse((const char *)data, size, "f", &j, &err);
    if (code == KG_OK) {
        dump_reads_back(j);
        json_decref(j);
    } else {
        KG_ASSERT(j == NULL && strncmp(err.message, "f:", 2) == 0);
    }
    json_t *text = kg_json_text((const char *)data, size);
    KG_ASSERT(text != NULL);
    dump_reads_back(text);
    json_decref(text);
    return 0;
}
