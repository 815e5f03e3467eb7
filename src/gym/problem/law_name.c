#include "gym/problem/law_name.h"

#include <string.h>

static const char *const names[KG_LAW_COUNT] = {
    [KG_LAW_OWN] = "own",           [KG_LAW_NORMAL] = "normal",   [KG_LAW_UNIFORM] = "uniform",
    [KG_LAW_HEAVY] = "heavy",       [KG_LAW_SPARSE] = "sparse",   [KG_LAW_OUTLIER] = "outlier",
    [KG_LAW_SORTED] = "sorted",     [KG_LAW_OFFSET] = "offset",   [KG_LAW_SMALL] = "small",
    [KG_LAW_LARGE] = "large",       [KG_LAW_MIXED] = "mixed",     [KG_LAW_PIECEWISE] = "piecewise",
    [KG_LAW_SMALLINT] = "smallint", [KG_LAW_WIDEINT] = "wideint", [KG_LAW_EQUAL] = "equal",
    [KG_LAW_BF16] = "bf16",         [KG_LAW_SPIKE] = "spike",     [KG_LAW_PRECISION] = "precision",
    [KG_LAW_STRAYS] = "strays",
};

const char *kg_law_name(enum kg_law law)
{
    return names[law];
}

bool kg_law_parse(const char *name, enum kg_law *out)
{
    for (int k = 0; k < KG_LAW_COUNT; k++) {
        if (strcmp(name, names[k]) == 0) {
            *out = (enum kg_law)k;
            return true;
        }
    }
    return false;
}
