#include <string.h>

#include "gym/problem/law_name.h"
#include "gym/problem/parse.h"

static enum kg_code unknown_law(const struct kg_parse *c, int line, const char *word)
{
    const char *names[KG_LAW_COUNT];
    char shown[KG_EXPR_SHOW];
    for (int k = 0; k < KG_LAW_COUNT; k++) {
        names[k] = kg_law_name((enum kg_law)k);
    }
    const char *near = kg_nearest(word, names, KG_LAW_COUNT);
    kg_expr_show(word, strlen(word), shown);
    return near != NULL ? kg_parse_fail(c, line, "laws", "unknown law '%s' (did you mean '%s'?)",
                                        shown, near)
                        : kg_parse_fail(c, line, "laws",
                                        "unknown law '%s' (docs/problems.md lists "
                                        "them)",
                                        shown);
}

static enum kg_code read_law(const struct kg_parse *c, const struct kg_yaml *node)
{
    enum kg_law law;
    enum kg_code code = kg_parse_kind(c, node, "laws", KG_YAML_SCALAR);
    if (code != KG_OK) {
        return code;
    }
    bool off = node->text[0] == '-';
    const char *word = node->text + (off || node->text[0] == '+');
    if (!kg_law_parse(word, &law)) {
        return unknown_law(c, node->line, word);
    }
    if (off && law == KG_LAW_OWN) {
        return kg_parse_fail(c, node->line, "laws", "'own' cannot be left out (change the ranges)");
    }
    uint32_t bit = (uint32_t)1 << law;
    if (((c->p->laws_on | c->p->laws_off) & bit) != 0) {
        return kg_parse_fail(c, node->line, "laws", "'%s' is named twice", word);
    }
    if (off) {
        c->p->laws_off |= bit;
    } else {
        c->p->laws_on |= bit;
    }
    return KG_OK;
}

enum kg_code kg_parse_laws(struct kg_parse *c, const struct kg_yaml *list)
{
    enum kg_code code = kg_parse_kind(c, list, "laws", KG_YAML_LIST);
    for (const struct kg_yaml *e = code == KG_OK ? list->child : NULL; e != NULL && code == KG_OK;
         e = e->next) {
        code = read_law(c, e);
    }
    return code;
}
