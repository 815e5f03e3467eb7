/* A runner between two calls. */
#include "gym/torch/process/pyrunner.h"

/* CPU time that one may use without being stopped: in each rest on the average, and once. What a
 * call has left to do, such as freeing memory, takes part of it. */
#define EACH_NS 300000
#define ONCE_NS 2000000

void kg_pyrunner_rest(struct kg_pyrunner *r, bool always)
{
    struct kg_pyrest *rest = &r->rest;
    if (r->sandbox.stopped) {
        return;
    }
    rest->resting = !always && !rest->restless;
    if (rest->resting) {
        rest->since_ns = kg_sandbox_cpu_ns(&r->sandbox);
    } else {
        (void)kg_sandbox_freeze(&r->sandbox);
    }
}

static void add_up(struct kg_pyrunner *r)
{
    struct kg_pyrest *rest = &r->rest;
    int64_t worked = kg_sandbox_cpu_ns(&r->sandbox) - rest->since_ns;
    rest->worked_ns += worked > 0 ? worked : 0; /* less: a child has ended */
    rest->times++;
    rest->restless = rest->worked_ns > ONCE_NS + rest->times * EACH_NS;
    rest->resting = false;
}

void kg_pyrunner_wake(struct kg_pyrunner *r)
{
    if (r->rest.resting) {
        add_up(r);
    }
    if (r->sandbox.stopped) {
        (void)kg_sandbox_thaw(&r->sandbox); /* one that ended is seen by who asks */
    }
}
