/* The common way of timing, to compare with in bench/bench_timing.c: no primer, one side after the
 * other, means. Outputs are not compared, so it never sets a reward. */
#include "gym/timing/session.h"

static enum kg_flow block(struct kg_session *s, enum kg_side side, size_t n, struct kg_err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct kg_case c;
        struct kg_pair *p = &s->process->pair[i];
        kg_session_draw(s, &c);
        int64_t *ns = side == KG_SIDE_CANDIDATE ? &p->cand_ns : &p->ref_ns;
        enum kg_flow flow = kg_session_ask(s, &c, side, ns, err);
        if (flow != KG_FLOW_ON && flow != KG_FLOW_VOID) {
            return flow;
        }
    }
    return KG_FLOW_ON;
}

enum kg_flow kg_naive_blocks(struct kg_session *s, size_t n, struct kg_err *err)
{
    enum kg_flow flow = block(s, KG_SIDE_FLOAT, n, err);
    flow = flow == KG_FLOW_ON ? block(s, KG_SIDE_CANDIDATE, n, err) : flow;
    s->process->n = flow == KG_FLOW_ON ? n : 0;
    return flow;
}
