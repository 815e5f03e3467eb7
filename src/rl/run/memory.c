/* Estimates of memory, and what the host has. */
#include "rl/run/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lm/model/model.h"

#define GB 1e9

struct widths {
    uint64_t hidden, inter, q, kv, layers, vocab;
};

static struct widths widths_of(const struct lm_config *c)
{
    return (struct widths){.hidden = (uint64_t)c->hidden,
                           .inter = (uint64_t)c->inter,
                           .q = (uint64_t)c->heads * (uint64_t)c->head_dim,
                           .kv = (uint64_t)c->kv_heads * (uint64_t)c->head_dim,
                           .layers = (uint64_t)c->layers,
                           .vocab = (uint64_t)c->vocab};
}

/* Of the linear layers. */
static uint64_t linear(const struct widths *w)
{
    return w->layers * (2 * w->hidden * (w->q + w->kv) + 3 * w->hidden * w->inter);
}

uint64_t rl_memory_parameters(const struct lm_config *c)
{
    struct widths w = widths_of(c);
    uint64_t embed = w.vocab * w.hidden, rest = w.hidden + 2 * w.layers * w.hidden;
    rest += c->qkv_bias ? w.layers * (w.q + 2 * w.kv) : 0;
    rest += c->qk_norm ? 2 * w.layers * (uint64_t)c->head_dim : 0;
    return linear(&w) + embed * (c->tied ? 1 : 2) + rest;
}

uint64_t rl_memory_model(const struct lm_config *c)
{
    struct widths w = widths_of(c);
    uint64_t packed = linear(&w) + w.vocab * w.hidden;
    uint64_t angles = (uint64_t)c->max_pos * (uint64_t)c->head_dim;
    return 4 * (rl_memory_parameters(c) + packed + angles);
}

/* Numbers that a row takes in a forward: of `layers` layers that are kept. */
static uint64_t row(const struct widths *w, uint64_t layers)
{
    return w->hidden + layers * (2 * w->hidden + 3 * w->q + 2 * w->kv + 2 * w->inter) + w->hidden;
}

uint64_t rl_memory_engine(const struct lm_config *c, int seqs, int tokens, int rows)
{
    struct widths w = widths_of(c);
    uint64_t keys = (uint64_t)seqs * (uint64_t)tokens * 2 * w.kv * w.layers;
    uint64_t logits = ((uint64_t)seqs + 2) * w.vocab;
    return 4 * (keys + logits + (uint64_t)rows * row(&w, 1) + (uint64_t)seqs * (uint64_t)tokens);
}

uint64_t rl_memory_trainer(const struct lm_config *c, uint64_t trained, int rows)
{
    struct widths w = widths_of(c);
    uint64_t keys = 2 * w.kv * w.layers;
    uint64_t backward = 6 * w.hidden + 3 * w.q + 4 * w.kv + 3 * w.inter;
    uint64_t logits = 64 * w.vocab > (4u << 20) ? 64 * w.vocab : (4u << 20);
    return 4 * (3 * trained + (uint64_t)rows * (row(&w, w.layers) + keys + backward) + logits);
}

uint64_t rl_memory_adapter(const struct lm_config *c, int r, unsigned targets)
{
    struct widths w = widths_of(c);
    const uint64_t sides[LM_PARTS] = {w.hidden + w.q,    w.hidden + w.kv,    w.hidden + w.kv,
                                      w.hidden + w.q,    w.hidden + w.inter, w.hidden + w.inter,
                                      w.hidden + w.inter};
    uint64_t sum = 0;
    for (int i = 0; i < LM_PARTS; i++) {
        sum += targets >> i & 1 ? sides[i] : 0;
    }
    return sum * (uint64_t)r * w.layers;
}

/* --- the host --- */

/* The number behind `key` in a file of lines; without a key the first word. False: none. */
static bool number_in(const char *path, const char *key, uint64_t *out)
{
    char line[256];
    bool found = false;
    FILE *f = fopen(path, "re");
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        size_t n = strlen(key);
        char *end = NULL;
        if (strncmp(line, key, n) == 0) {
            *out = strtoull(line + n, &end, 10);
            found = end != line + n;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return found;
}

/* Room below the limit of the control group that /proc/self/cgroup names. */
static bool group_room(uint64_t *out)
{
    char line[1024], path[1200];
    uint64_t most, used;
    bool found = false;
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::", 3) == 0) {
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
            found = number_in(path, "", &most);
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", line + 3);
            found = found && number_in(path, "anon ", &used); /* files can be given up */
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    *out = found && most > used ? most - used : 0;
    return found;
}

uint64_t rl_memory_free(void)
{
    uint64_t host = 0, room = 0;
    bool known = number_in("/proc/meminfo", "MemAvailable:", &host);
    host *= 1024;
    if (group_room(&room) && (!known || room < host)) {
        return room;
    }
    return known ? host : 0;
}

enum kg_code rl_memory_check(uint64_t need, const char *what, struct kg_err *err)
{
    uint64_t free_bytes = rl_memory_free();
    if (free_bytes == 0 || need <= free_bytes) {
        return KG_OK;
    }
    return kg_fail_memory(err, KG_E_HOST, "%s needs %.2f GB of memory, and %.2f GB are free", what,
                          (double)need / GB, (double)free_bytes / GB);
}
