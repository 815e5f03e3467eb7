#include "fuzz.h"

#include <string.h>

#include "base/yaml.h"

static int check(const struct kg_yaml *node, int depth)
{
    int nodes = 1;
    KG_ASSERT(depth <= 16 && node->line >= 3);
    KG_ASSERT((node->kind == KG_YAML_SCALAR) == (node->text != NULL));
    for (const struct kg_yaml *e = node->child; e != NULL; e = e->next) {
        KG_ASSERT((node->kind == KG_YAML_MAP) == (e->key != NULL));
        KG_ASSERT(e->key == NULL || kg_yaml_get(node, e->key) == e);
        nodes += check(e, depth + 1);
    }
    return nodes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_arena arena;
    struct kg_err err = KG_ERR_INIT;
    struct kg_yaml *root;
    kg_arena_init(&arena, "fuzz", 1 << 20);
    enum kg_code code = kg_yaml_parse((const char *)data, size, "f", 3, &arena, &root, &err);
    if (code == KG_OK) {
        KG_ASSERT(check(root, 0) <= 10001);
    } else {
        KG_ASSERT(root == NULL && err.code == code);
        /* Whatever is wrong with the text is said with its line. */
        KG_ASSERT(code != KG_E_INPUT || strncmp(err.message, "f:", 2) == 0);
    }
    kg_arena_deinit(&arena);
    return 0;
}
