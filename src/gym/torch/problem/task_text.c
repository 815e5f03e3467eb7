/* Tells of a description again what others are told: strides, structure, shapes. */
#include <stdio.h>

#include "gym/torch/problem/task.h"

json_t *kg_task_structure(const struct kg_task_input *in)
{
    json_t *kinds = json_array();
    for (int x = 0; x < KG_TX_COUNT; x++) {
        if (in->structure & 1u << x) {
            json_array_append_new(kinds, json_string(kg_tstructure_name((enum kg_tstructure)x)));
        }
    }
    return kinds;
}

json_t *kg_task_strides(const struct kg_tleaf *leaf)
{
    json_t *all = json_array();
    for (uint32_t d = 0; d < leaf->rank; d++) {
        json_array_append_new(all, json_integer(leaf->stride[d]));
    }
    return all;
}

json_t *kg_task_layout(const struct kg_task_desc *d)
{
    json_t *all = json_array();
    for (size_t i = 0; i < d->ninputs; i++) {
        json_array_append_new(all, kg_task_strides(&d->input[i].leaf));
    }
    return all;
}

void kg_task_leaf_text(const struct kg_tleaf *leaf, char *out, size_t cap)
{
    size_t n = (size_t)snprintf(out, cap, "[");
    for (uint32_t d = 0; d < leaf->rank && d < KG_TWIRE_RANK && n < cap; d++) {
        n += (size_t)snprintf(out + n, cap - n, "%s%lld", d ? "," : "", (long long)leaf->shape[d]);
    }
    if (n < cap) {
        snprintf(out + n, cap - n, "] %s",
                 leaf->dtype < KG_TD_COUNT ? kg_tdtype_name((enum kg_tdtype)leaf->dtype) : "?");
    }
}
