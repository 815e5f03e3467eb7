/* A runner between two calls. */
#include "base/clock.h"
#include "gym/torch/process/pyrunner.h"

/* CPU time that one may use without being stopped: a share of its rests, and once. On a GPU the
 * runner itself gives memory back and takes other memory after a call, for longer where others
 * make contexts. */
#define SHARE   20
#define ONCE_NS 3000000

void kg_pyrunner_rest(struct kg_pyrunner *r, bool always)
{
    struct kg_pyrest *rest = &r->rest;
    if (r->sandbox.stopped) {
        return;
    }
    rest->resting = !always && !rest->restless;
    if (rest->resting) {
        rest->since_ns = kg_clock_ns();
        rest->cpu_ns = kg_sandbox_cpu_ns(&r->sandbox);
    } else {
        rest->told = true;
        rest->stops += kg_sandbox_freeze(&r->sandbox);
    }
}

static void add_up(struct kg_pyrunner *r)
{
    struct kg_pyrest *rest = &r->rest;
    int64_t now = kg_sandbox_cpu_ns(&r->sandbox), worked = now - rest->cpu_ns;
    bool known = now >= 0 && rest->cpu_ns >= 0;
    rest->worked_ns += known && worked > 0 ? worked : 0; /* less: a child has ended */
    rest->rested_ns += kg_clock_ns() - rest->since_ns;
    rest->restless = rest->worked_ns > ONCE_NS + rest->rested_ns / SHARE;
    rest->resting = false;
}

void kg_pyrunner_wake(struct kg_pyrunner *r)
{
    if (r->rest.resting) {
        add_up(r);
    }
    if (r->rest.told) {
        (void)kg_sandbox_thaw(&r->sandbox); /* one that ended is seen by who asks */
        r->rest.told = false;
    }
}

void kg_pyrunner_rest_anew(struct kg_pyrunner *r)
{
    kg_pyrunner_wake(r);
    r->rest = (struct kg_pyrest){.resting = false};
}
