/* Extraction: any bytes give code that defines the entry, or a reason; the same bytes the same
 * answer; and what was extracted as a bare file is extracted again unchanged. First byte: language
 * and finish reason; the rest: the reply. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gym/reply/extract.h"

static const char *const reasons[] = {"empty",         "no_block", "missing_entry",
                                      "thinking_only", "diff",     "cut_off"};

static void check(const struct kg_extract *x)
{
    KG_ASSERT(x->found == (x->code != NULL) && x->found == (x->rule != NULL));
    KG_ASSERT(x->found != (x->reason != NULL) && x->found != (x->message != NULL));
    KG_ASSERT(x->flags < 1u << KG_XF_COUNT);
    if (x->found) {
        KG_ASSERT(x->bytes > 0 && x->code[x->bytes] == '\0' && strlen(x->code) == x->bytes);
        KG_ASSERT(memchr(x->code, '\r', x->bytes) == NULL);
        return;
    }
    bool known = false;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        known |= strcmp(reasons[i], x->reason) == 0;
    }
    KG_ASSERT(known && strchr(x->message, '\n') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    enum kg_lang lang = (data[0] & 1) != 0 ? KG_LANG_PYTHON : KG_LANG_C;
    const char *finish = (data[0] & 2) != 0 ? "length" : NULL;
    const char *entry = lang == KG_LANG_C ? "relu" : "ModelNew";
    const char *text = (const char *)data + 1;
    struct kg_arena arena;
    struct kg_err err = KG_ERR_INIT;
    struct kg_extract x, again;
    kg_arena_init(&arena, "fuzz", 16u << 20);
    KG_ASSERT(kg_extract_reply(text, size - 1, finish, lang, entry, &arena, &x, &err) == KG_OK);
    check(&x);
    KG_ASSERT(kg_extract_reply(text, size - 1, finish, lang, entry, &arena, &again, &err) == KG_OK);
    KG_ASSERT(x.found == again.found && x.flags == again.flags && x.bytes == again.bytes);
    KG_ASSERT(!x.found || memcmp(x.code, again.code, x.bytes) == 0);
    if (x.found && strcmp(x.rule, "bare") == 0 && (x.flags & KG_XF_ENTITIES) == 0) {
        KG_ASSERT(kg_extract_reply(x.code, x.bytes, finish, lang, entry, &arena, &again, &err) ==
                  KG_OK);
        KG_ASSERT(again.found);
    }
    kg_arena_deinit(&arena);
    return 0;
}
