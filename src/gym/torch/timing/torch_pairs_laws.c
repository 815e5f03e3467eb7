/* Which law the inputs of a call have. Warm-ups, pairs and further calls draw it here alike, so
 * nothing that a process sees of its inputs tells whether its call is timed. */
#include "gym/torch/problem/own_law.h"
#include "gym/torch/timing/torch_pairs_private.h"

/* Touched inputs look like own ones to anybody who does not read everything, so what reads a sample
 * meets them in timed calls, too. */
#define OWN        9 /* of 16 */
#define TOUCHED    4
#define INSIDES    3    /* one in so many of the others has the probe inside the own range */
#define NEAR       0.25 /* of the bound, by which rounding its inputs moves an answer at most */
#define DRAWN_HERE (256 << 20) /* bytes: a host draws them in half a second */

static bool known(const struct kg_tpairs *s, enum kg_tlaw law)
{
    const struct kg_tcase *c = &s->instance->cases[law];
    return c->ready && c->applies && s->refused[law] < KG_TPAIRS_REFUSALS;
}

/* Is narrow arithmetic asked for in the timed process, too? Only where rounding hardly counts, so
 * that every draw is far from the probe's bound; and where a draw by the reference takes little. */
static bool asks_inside(const struct kg_tpairs *s)
{
    const struct kg_task_desc *d = &s->instance->desc;
    return known(s, KG_TL_INSIDE) && s->instance->cases[KG_TL_INSIDE].near < NEAR &&
           (d->draws_there || d->input_bytes <= DRAWN_HERE);
}

/* One that changes everything; the probes have a bound of their own. Who is careless only once its
 * process is timed meets as many of them as its calls allow. */
static enum kg_tlaw another(struct kg_tpairs *s)
{
    uint32_t laws = 0;
    for (int l = KG_TL_BF16; l < KG_TL_COUNT; l++) {
        bool whole = !kg_tlaw_probes((enum kg_tlaw)l) && !kg_tplan_touches((enum kg_tlaw)l);
        laws |= whole && known(s, (enum kg_tlaw)l) ? 1u << l : 0;
    }
    if (asks_inside(s) && kg_rng_below(&s->rng, INSIDES) == 0) {
        return KG_TL_INSIDE;
    }
    return laws != 0 ? (enum kg_tlaw)kg_rng_deal(&s->rng, laws, &s->dealt) : KG_TL_OWN;
}

enum kg_tlaw kg_tpairs_law(struct kg_tpairs *s)
{
    uint64_t sixteenth = kg_rng_below(&s->rng, 16);
    if (sixteenth < OWN) {
        return KG_TL_OWN;
    }
    if (sixteenth < OWN + TOUCHED) {
        return known(s, KG_TL_TOUCHED) ? KG_TL_TOUCHED : KG_TL_OWN;
    }
    return another(s);
}

bool kg_tpairs_counts(enum kg_tlaw law)
{
    return law == KG_TL_OWN || law == KG_TL_TOUCHED;
}

void kg_tpairs_watch(const struct kg_tpairs *s, bool timed)
{
    const struct kg_torch_test *test = &kg_torch_of(s->w)->test;
    if (test->watch) {
        test->watch(s->law, s->set, timed);
    }
}
