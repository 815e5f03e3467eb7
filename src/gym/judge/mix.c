/* Mixes what a fill leaves in the caches.
 *
 * A fill writes from the first element to the last. With more data than the caches hold, the end is
 * still there when the call begins, so a pass from the back would be faster for the same work. So
 * each line of the case is written again, with its own contents, in blocks of random order. Both
 * sides of a pair get the same order, because it comes from the case's key. */
#include "gym/judge/state.h"

#define LINE  64
#define BLOCK 16384

/* Blocks of the inputs come first, then those of the outputs. */
struct zones {
    unsigned char *start[2];
    uint64_t bytes[2], blocks[2], block;
};

static void plan(struct zones *z, const struct kg_case *c, const struct kg_judge_place *place)
{
    const struct kg_region *r[2] = {place->in, place->out};
    const uint64_t from[2] = {c->in_base / LINE * LINE, c->out_base / LINE * LINE};
    const uint64_t end[2] = {place->layout.in_end, place->layout.out_end};
    z->block = BLOCK;
    for (int i = 0; i < 2; i++) {
        z->start[i] = r[i]->map + from[i];
        z->bytes[i] = end[i] - from[i];
    }
    while ((z->bytes[0] + z->bytes[1]) / z->block + 2 > KG_JUDGE_BLOCKS) {
        z->block *= 2;
    }
    for (int i = 0; i < 2; i++) {
        z->blocks[i] = (z->bytes[i] + z->block - 1) / z->block;
    }
}

static void write_again(const struct zones *z, uint64_t k)
{
    int i = k >= z->blocks[0];
    uint64_t from = (k - (i ? z->blocks[0] : 0)) * z->block;
    uint64_t end = from + z->block < z->bytes[i] ? from + z->block : z->bytes[i];
    for (uint64_t at = from; at < end; at += LINE) {
        volatile unsigned char *p = z->start[i] + at;
        unsigned char same = *p;
        *p = same;
    }
}

void kg_judge_mix_order(struct kg_key key, uint16_t *order, size_t n)
{
    struct kg_rng r;
    kg_rng_init(&r, kg_key_derive(key, "mix", 0), 0);
    for (size_t i = 0; i < n; i++) { /* Source: Durstenfeld's shuffle, from within */
        size_t k = kg_rng_below(&r, i + 1);
        order[i] = (uint16_t)i;
        order[i] = order[k];
        order[k] = (uint16_t)i;
    }
    kg_rng_deinit(&r);
}

void kg_judge_mix(const struct kg_case *c, const struct kg_judge_place *place)
{
    struct zones z;
    uint16_t order[KG_JUDGE_BLOCKS];
    plan(&z, c, place);
    size_t n = (size_t)(z.blocks[0] + z.blocks[1]);
    kg_judge_mix_order(c->key, order, n);
    for (size_t i = 0; i < n; i++) {
        write_again(&z, order[i]);
    }
}
