/* A loop, and a real pool that judges for it. */
#ifndef LOOP_POOL_RIG_H
#define LOOP_POOL_RIG_H

#include "kgym_rig.h"

#include "loop_rig.h"

static struct loop loop;
static struct kgym_pool *pool;

static int setup(void **state)
{
    /* the fewest calls that there can be: what is caught here is caught with every other option */
    static const char *const quick[] = {"timing.pairs=3", "timing.least_calls=1"};
    const struct kgym_options o = {
        .size = sizeof o, .preset = "train", .settings = quick, .nsettings = 2};
    struct kgym_error e;
    if (rig_setup(state) != 0) {
        return -1;
    }
    setenv("KGYM_PROGRAM", getenv("K"), 1);
    loop_open(&loop, 1024, 16);
    if (kgym_open(&o, &pool, &e) != KGYM_OK) {
        print_error("%s\n", e.message);
        return -1;
    }
    return 0;
}

static int teardown(void **state)
{
    kgym_close(pool);
    loop_close(&loop);
    return rig_teardown(state);
}

#endif
