/* libkgops.so that counts: each operator adds the ticks that it took to the control block, and 1 to
 * the number of calls. Calls of one operator by another are not counted twice. The process that
 * holds it may be hostile, so both sums are claims. */
#include <stdatomic.h>

#include "gym/run/wire.h"
#include "profiled/inside.h"

static void count(uint64_t from)
{
    struct kg_wire *w = (struct kg_wire *)KG_ADDR_CTRL; // NOLINT(performance-no-int-to-ptr)
    atomic_fetch_add_explicit(&w->library_ticks, kg_wire_ticks() - from, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->library_calls, 1, memory_order_relaxed);
}

#define COUNTED(S, op, params, args, type, out, n)                                                 \
    void kgops_##op##_##S params                                                                   \
    {                                                                                              \
        uint64_t from = kg_wire_ticks();                                                           \
        kgops_inside_##op##_##S args;                                                              \
        count(from);                                                                               \
    }
KGOPS_OPERATORS(COUNTED, float, f32)
KGOPS_OPERATORS(COUNTED, double, f64)
