#include "gym/torch/judging/memory_needs.h"

#define MB      ((uint64_t)1 << 20)
#define KEPT    (2 * KG_DJ_KEPT_SLOTS * 128 * MB) /* answers that wait for the oracle */
#define COMFORT 8         /* all cases stay where they need so small a part of the device, */
#define SHARE   4         /* and no more than this part is taken for comfort */
#define SMALL   (64 * MB) /* what the judge rounds up, and holds besides */

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void kg_tneeds_of(const struct kg_tsizes *z, struct kg_tneeds *out)
{
    uint64_t in_double = 2 * z->in + 2 * z->call, kept = z->answer * 2 * KG_DJ_KEPT_SLOTS;
    uint64_t base = z->contexts + z->ports + 3 * z->state;
    out->judge = z->in + 2 * z->answer + z->wide + 4 * z->state + z->left + SMALL;
    base += out->judge;
    out->one = base + most(in_double, z->call) + 2 * z->state;
    out->sliced = base + most(in_double / KG_TM_SLICES, z->call) + 2 * z->state;
    out->single = base + z->call;
    out->timed = base + 2 * z->call;
    out->owed = z->in + z->answer;
    out->all = out->one + 2 * z->call + KG_TL_COUNT * (z->in + z->answer + z->wide + z->left) +
               least(kept, KEPT) + z->ports;
}

enum kg_tmemory_rung kg_tneeds_rung(const struct kg_tneeds *n, bool slices, uint64_t capacity)
{
    return n->all <= capacity / COMFORT      ? KG_TM_RESIDENT
           : n->one <= capacity              ? KG_TM_ONE
           : slices && n->sliced <= capacity ? KG_TM_SLICED
           : n->single <= capacity           ? KG_TM_SINGLE
                                             : KG_TM_NONE;
}

uint64_t kg_tneeds_least(const struct kg_tneeds *n, enum kg_tmemory_rung rung)
{
    return rung == KG_TM_SINGLE ? n->single : rung == KG_TM_SLICED ? n->sliced : n->one;
}

uint64_t kg_tneeds_reservation(const struct kg_tneeds *n, enum kg_tmemory_rung rung,
                               uint64_t capacity)
{
    uint64_t share = least(capacity / SHARE, n->all), bytes = kg_tneeds_least(n, rung);
    bytes = rung == KG_TM_RESIDENT ? n->all : most(bytes, share);
    return least(bytes + n->owed, capacity);
}

struct kg_tshares kg_tneeds_shares(const struct kg_tneeds *n, enum kg_tmemory_rung rung,
                                   uint64_t held)
{
    uint64_t bytes = kg_tneeds_least(n, rung), over = held > bytes ? held - bytes : 0;
    uint64_t spare = least(over, n->owed);
    return (struct kg_tshares){.judge = n->judge + over - spare, .lacks = n->owed - spare};
}
