/* The needs of each rung: what the judge holds, what the runners map, what one call allocates. */
#include "gym/torch/judging/memory_needs.h"

#define MB      ((uint64_t)1 << 20)
#define KEPT    (2 * KG_DJ_KEPT_SLOTS * 128 * MB) /* answers that wait for the oracle */
#define COMFORT 8         /* all cases stay where they need so small a part of the device, */
#define SHARE   4         /* and no more than this part is taken for comfort */
#define ROUNDED 4         /* an allocator keeps more than it gives, by such a part at most */
#define MASTERS 2         /* sets of parameters that the judge keeps, */
#define LEFT    2         /* and copies of what a call leaves of them, where it changes them */
#define SMALL   (48 * MB) /* what the judge rounds up, and holds besides */

/* What a rung should have room for, besides what it needs: nothing, what a candidate is owed, and
 * what both sides allocate while they are timed. */
enum wish { NOTHING, OWED, TIMED };

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What an allocator keeps of a call. */
static uint64_t kept_of(uint64_t call)
{
    return call + call / ROUNDED;
}

bool kg_trung_slices(enum kg_tmemory_rung rung)
{
    return rung == KG_TM_SLICED || rung == KG_TM_HOSTED;
}

bool kg_trung_apart(enum kg_tmemory_rung rung)
{
    return rung >= KG_TM_SLICED;
}

bool kg_trung_hosts(enum kg_tmemory_rung rung)
{
    return rung == KG_TM_HOSTED || rung == KG_TM_LAST;
}

bool kg_trung_is_single(enum kg_tmemory_rung rung)
{
    return rung == KG_TM_SINGLE || rung == KG_TM_LAST;
}

void kg_tneeds_of(const struct kg_tsizes *z, struct kg_tneeds *out)
{
    uint64_t in_double = 2 * z->in + 2 * z->call, kept = z->answer * 2 * KG_DJ_KEPT_SLOTS;
    uint64_t masters = (z->changes ? MASTERS + LEFT : MASTERS) * z->state;
    *out = (struct kg_tneeds){.rest = z->contexts + (z->parts ? 3 : 2) * z->state,
                              .call = z->call,
                              .in = z->in,
                              .in_out = z->ports_short < z->ports,
                              .owed = z->in + z->answer + z->state};
    for (enum kg_tmemory_rung rung = KG_TM_RESIDENT; rung < KG_TM_RUNGS; rung++) {
        bool single = kg_trung_is_single(rung);
        /* The oracle's: in float it calls with copies of its inputs, which are moved. */
        uint64_t call = single                  ? z->in + z->call
                        : kg_trung_slices(rung) ? in_double / KG_TM_SLICES
                                                : in_double;
        uint64_t wide = kg_trung_hosts(rung) ? 0 : kg_trung_apart(rung) ? z->wide / 2 : z->wide;
        out->judge[rung] = z->in + 2 * z->answer + wide + masters + z->part + SMALL;
        out->ports[rung] = (kg_trung_apart(rung) ? z->ports_short : z->ports) +
                           (kg_trung_slices(rung) ? z->joined : 0);
        out->least[rung] = out->rest + out->ports[rung] + out->judge[rung] + most(call, z->call) +
                           (single ? 0 : 2 * z->state);
    }
    out->all = out->least[KG_TM_ONE] + 2 * kept_of(z->call) +
               KG_TL_COUNT * (z->in + z->answer + z->wide) + least(kept, KEPT) + z->ports;
}

uint64_t kg_tneeds_timed(const struct kg_tneeds *n, enum kg_tmemory_rung rung)
{
    /* Both sides keep what their calls allocate beside OUT. Calls that allocate in it do so beside
     * it at the first one on its inputs alone, and give that back. */
    int calls = n->in_out && kg_trung_apart(rung) ? 1 : 2;
    uint64_t moved = kg_trung_is_single(rung) ? n->in : 0;
    return n->rest + n->ports[rung] + n->judge[rung] + (uint64_t)calls * n->call + moved;
}

/* The first rung of these, from the highest on, that fits. Where a candidate gets less than it is
 * owed in any case, from the lowest on, which leaves it most. */
static enum kg_tmemory_rung first_of(const struct kg_tneeds *n, enum kg_tmemory_rung from,
                                     enum kg_tmemory_rung to, bool slices, enum wish wish,
                                     uint64_t capacity)
{
    for (int i = 0; i <= (int)to - (int)from; i++) {
        enum kg_tmemory_rung rung = (enum kg_tmemory_rung)(wish > NOTHING ? from + i : to - i);
        uint64_t need = n->least[rung] + (wish >= OWED ? n->owed : 0);
        need = wish == TIMED ? most(need, kg_tneeds_timed(n, rung)) : need;
        if ((slices || !kg_trung_slices(rung)) && need <= capacity) {
            return rung;
        }
    }
    return KG_TM_NONE;
}

enum kg_tmemory_rung kg_tneeds_rung(const struct kg_tneeds *n, bool slices, uint64_t capacity)
{
    static const enum kg_tmemory_rung from[] = {KG_TM_ONE, KG_TM_SINGLE};
    static const enum kg_tmemory_rung to[] = {KG_TM_HOSTED, KG_TM_LAST};
    enum kg_tmemory_rung rung = n->all <= capacity / COMFORT ? KG_TM_RESIDENT : KG_TM_NONE;
    for (int oracle = 0; oracle < 2; oracle++) {
        for (int wish = TIMED; wish >= NOTHING && rung == KG_TM_NONE; wish--) {
            rung = first_of(n, from[oracle], to[oracle], slices, (enum wish)wish, capacity);
        }
    }
    return rung;
}

uint64_t kg_tneeds_reservation(const struct kg_tneeds *n, enum kg_tmemory_rung rung,
                               uint64_t capacity)
{
    uint64_t share = least(capacity / SHARE, n->all);
    uint64_t bytes = rung == KG_TM_RESIDENT ? n->all : most(n->least[rung], share);
    return least(bytes + n->owed, capacity);
}

uint64_t kg_tneeds_bare(const struct kg_tneeds *n, enum kg_tmemory_rung rung, uint64_t capacity)
{
    return least(n->least[rung] + n->owed, capacity);
}

struct kg_tshares kg_tneeds_shares(const struct kg_tneeds *n, enum kg_tmemory_rung rung,
                                   uint64_t held)
{
    uint64_t over = held > n->least[rung] ? held - n->least[rung] : 0;
    uint64_t spare = least(over, n->owed), call = kept_of(n->call);
    over -= spare;
    call = !kg_trung_apart(rung) && over >= 2 * call ? call : 0;
    return (struct kg_tshares){
        .judge = n->judge[rung] + over - 2 * call, .lacks = n->owed - spare, .calls = call};
}
