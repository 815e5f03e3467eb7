#include "bench/common/torch_set.h"

#include <string.h>

#include "base/file.h"
#include "bench/common/host.h"

/* The long ones compute for about 0.7 ms on an H200, on tensors of 3 to 50 MB; the short ones,
 * which ship with the project, are bound by memory, and nearly all take less than the 0.1 ms below
 * which no reward pays for speed. */
static const struct kg_bench_set sets[] = {
    {"long",
     "bench/torch/problems",
     8,
     {{"matmul", NULL},
      {"gated_linear", NULL},
      {"linear_gelu", NULL},
      {"max_pool2d", NULL},
      {"depthwise_conv1d", NULL},
      {"depthwise_conv2d", NULL},
      {"cumsum", NULL},
      {"reverse_cumsum", NULL}}},
    {"short",
     "problems/torch",
     8,
     {{"relu", "level1/27_relu"},
      {"silu", "level1/24_silu"},
      {"gelu_tanh", "level1/04_gelu_tanh"},
      {"softmax", "level1/01_softmax"},
      {"rms_norm", "level1/03_rms_norm"},
      {"layer_norm", "level1/02_layer_norm"},
      {"row_sum", "level1/05_row_sum"},
      {"residual_rms_norm", "level2/04_residual_rms_norm"}}},
};

const struct kg_bench_set *kg_bench_set_named(const char *name)
{
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        if (strcmp(name, sets[i].name) == 0) {
            return &sets[i];
        }
    }
    kg_bench_need(false, "no problems are called %s: long, short", name);
    return NULL;
}

int kg_bench_set_operator(const struct kg_bench_set *set, int i)
{
    return i % set->n;
}

const char *kg_bench_set_problem(const struct kg_bench_set *set, int i)
{
    static char path[640];
    int at = kg_bench_set_operator(set, i);
    const char *own = set->operators[at].problem;
    snprintf(path, sizeof path, "%s/%s/%s.py", kg_bench_tree(), set->folder,
             own != NULL ? own : set->operators[at].name);
    return path;
}

void kg_bench_set_source(const struct kg_bench_set *set, int i, struct kg_buf *text)
{
    static const int blocks[] = {1024, 2048, 4096}, warps[] = {4, 8};
    char path[640];
    struct kg_err err = KG_ERR_INIT;
    int turn = i / set->n;
    snprintf(path, sizeof path, "%s/bench/torch/%s.py.in", kg_bench_tree(),
             set->operators[kg_bench_set_operator(set, i)].name);
    kg_buf_init(text, 1u << 20);
    kg_bench_need_ok(kg_file_read(path, text, &err), &err);
    kg_bench_fill(text, "@number@", i);
    kg_bench_fill(text, "@block@", blocks[turn % 3]);
    kg_bench_fill(text, "@warps@", warps[turn / 3 % 2]);
}
