/* Static check: findings come from the table, are ordered, say a line of the text, and a text that
 * surely defines the entry is never said to lack it. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "gym/reply/check.h"

static bool in_table(const struct kg_finding *f)
{
    const struct kg_check_rule *rules;
    size_t n = kg_check_rules(&rules);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rules[i].id, f->rule) == 0) {
            return rules[i].severity == f->severity;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    int lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    struct kg_finding f[64];
    size_t n = kg_check_c(text, size, "relu", f, 64);
    enum kg_defines d = kg_lex_defines(KG_LANG_C, text, size, "relu");
    KG_ASSERT(n <= 64);
    for (size_t i = 0; i < n; i++) {
        KG_ASSERT(in_table(&f[i]));
        KG_ASSERT(f[i].line >= 0 && f[i].line <= lines);
        KG_ASSERT(strlen(f[i].message) < sizeof f[i].message);
        KG_ASSERT(strchr(f[i].message, '\n') == NULL);
        KG_ASSERT(i == 0 || f[i].severity != KG_SEV_REJECT || f[i - 1].severity == KG_SEV_REJECT);
        bool lacks = strcmp(f[i].rule, "entry-missing") == 0;
        KG_ASSERT(!lacks || d == KG_DEF_NONE);
    }
    free(text);
    return 0;
}
